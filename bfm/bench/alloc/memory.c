#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t mapped_bytes;

void memory_die(const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    int length = snprintf(sentence, sizeof sentence, "bench_alloc: ");
    length += vsnprintf(sentence + length, sizeof sentence - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof sentence - 2)
        length = (int)sizeof sentence - 2;
    sentence[length++] = '\n';
    if (write(STDERR_FILENO, sentence, (size_t)length) < 0)
        _exit(126);
    _exit(125);
}

static size_t memory_whole_pages(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

void *memory_map(size_t bytes)
{
    bytes = memory_whole_pages(bytes ? bytes : 1);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        memory_die("no %zu MiB for the harness itself; free some memory or ask for less (--bytes)",
                   bytes >> 20);
    atomic_fetch_add(&mapped_bytes, bytes);
    return memory;
}

void memory_unmap(void *memory, size_t bytes)
{
    bytes = memory_whole_pages(bytes ? bytes : 1);
    munmap(memory, bytes);
    atomic_fetch_sub(&mapped_bytes, bytes);
}

uint64_t memory_mapped_bytes(void)
{
    return atomic_load(&mapped_bytes);
}

/* The value of "KEY:   123 kB" in bytes. */
static uint64_t memory_kib_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) << 10 : MEMORY_UNKNOWN;
}

static void memory_read_text(const char *path, char *text, size_t size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? 0 : read(descriptor, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    if (descriptor >= 0)
        close(descriptor);
}

void memory_status(struct memory_status *status)
{
    char text[4096];
    memory_read_text("/proc/self/status", text, sizeof text);
    status->rss_peak_bytes = memory_kib_after(text, "\nVmHWM:");
    status->vm_bytes = memory_kib_after(text, "\nVmSize:");
    status->vm_peak_bytes = memory_kib_after(text, "\nVmPeak:");
    status->file_bytes = memory_kib_after(text, "\nRssFile:");
    /* The counters of status lag behind by up to 64 pages a processor; the roll-up counts. */
    memory_read_text("/proc/self/smaps_rollup", text, sizeof text);
    status->rss_bytes = memory_kib_after(text, "\nRss:");
    if (status->rss_bytes != MEMORY_UNKNOWN && status->rss_peak_bytes != MEMORY_UNKNOWN &&
        status->rss_peak_bytes < status->rss_bytes)
        status->rss_peak_bytes = status->rss_bytes;
}

void memory_reset_peak(void)
{
    int descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (descriptor < 0 || write(descriptor, "5", 1) != 1)
        memory_die("cannot reset the peak of the resident set (/proc/self/clear_refs): %s",
                   strerror(errno));
    close(descriptor);
}

static uint64_t memory_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t memory_cpu_ns(void)
{
    return memory_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t memory_user_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000000u + (uint64_t)usage.ru_utime.tv_usec * 1000u;
}

uint64_t memory_wall_ns(void)
{
    return memory_clock_ns(CLOCK_MONOTONIC);
}

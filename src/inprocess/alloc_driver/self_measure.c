/* Measures the driver itself (self_measure.h): resident memory from /proc/self, processor time,
 * page faults. The times of all readings of /proc are added up, and measure_end() takes the sums
 * off the driver's times. */
#include "alloc_driver/self_measure.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "base/ticks.h"

static struct {
    int rollup, status;
    uint64_t wall_ns, ticks;
    struct rusage usage;
    _Atomic uint64_t reading_cpu_ns, reading_wall_ns;
} measure_begun;

static uint64_t measure_clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t measure_thread_ns(void)
{
    return measure_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* The number of KiB behind `key` in a file of /proc, in bytes; DRIVER_UNKNOWN: there is none. */
static uint64_t measure_read_kib(int fd, const char *key)
{
    char text[4096];
    ssize_t count = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    const char *at;
    uint64_t number = 0;

    if (count <= 0)
        return DRIVER_UNKNOWN;
    text[count] = '\0';
    if (!(at = strstr(text, key)))
        return DRIVER_UNKNOWN;
    for (at += strlen(key); *at == ' ' || *at == '\t';)
        at++;
    if (*at < '0' || *at > '9')
        return DRIVER_UNKNOWN;
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number * 1024;
}

static uint64_t measure_less_files(uint64_t resident)
{
    uint64_t files = measure_read_kib(measure_begun.status, "\nRssFile:");

    if (resident == DRIVER_UNKNOWN || files == DRIVER_UNKNOWN)
        return DRIVER_UNKNOWN;
    return resident > files ? resident - files : 0;
}

/* smaps_rollup walks the page tables and is exact. VmRSS and VmHWM come from counters that each
 * processor updates in batches. */
static uint64_t measure_resident_now(void)
{
    uint64_t exact = measure_read_kib(measure_begun.rollup, "\nRss:");

    return measure_less_files(
        exact != DRIVER_UNKNOWN ? exact : measure_read_kib(measure_begun.status, "\nVmRSS:"));
}

/* Resets VmHWM. If the kernel refuses, the peak is at least that of the driver's start, which is
 * small. */
static void measure_forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    ssize_t wrote = fd < 0 ? -1 : write(fd, "5", 1);

    (void)wrote;
    if (fd >= 0)
        close(fd);
}

void measure_begin(struct driver_result *result)
{
    measure_begun.rollup = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    measure_begun.status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < STREAM_READINGS; i++)
        result->readings[i] = DRIVER_UNKNOWN;
    measure_resident_now();
    measure_forget_peak();
    result->start_bytes = measure_resident_now();
    getrusage(RUSAGE_SELF, &measure_begun.usage);
    measure_begun.wall_ns = measure_clock_ns(CLOCK_MONOTONIC);
    measure_begun.ticks = ticks_now();
    result->cpu_ns = measure_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void measure_reading(struct driver_result *result, uint32_t number)
{
    uint64_t cpu_ns = measure_thread_ns();
    uint64_t wall_ns = measure_clock_ns(CLOCK_MONOTONIC);

    if (number < STREAM_READINGS)
        result->readings[number] = measure_resident_now();
    atomic_fetch_add(&measure_begun.reading_cpu_ns, measure_thread_ns() - cpu_ns);
    atomic_fetch_add(&measure_begun.reading_wall_ns, measure_clock_ns(CLOCK_MONOTONIC) - wall_ns);
}

/* ---- The end ------------------------------------------------------------------------------- */

static uint64_t measure_since(struct timeval now, struct timeval then)
{
    return (uint64_t)(now.tv_sec - then.tv_sec) * 1000000000u +
           (uint64_t)((now.tv_usec - then.tv_usec) * 1000);
}

static uint64_t measure_less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

static void measure_settle_peak(struct driver_result *result)
{
    uint64_t peak = measure_less_files(measure_read_kib(measure_begun.status, "\nVmHWM:"));

    for (unsigned i = 0; i < STREAM_READINGS; i++)
        if (result->readings[i] != DRIVER_UNKNOWN &&
            (peak == DRIVER_UNKNOWN || result->readings[i] > peak))
            peak = result->readings[i];
    result->peak_bytes = peak;
}

void measure_end(struct driver_result *result)
{
    uint64_t cpu_ns = measure_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - result->cpu_ns;
    uint64_t wall_ns = measure_clock_ns(CLOCK_MONOTONIC) - measure_begun.wall_ns;
    uint64_t ticks = ticks_now() - measure_begun.ticks;
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    measure_reading(result, STREAM_SAMPLES - 1);
    measure_settle_peak(result);
    result->reading_ns = atomic_load(&measure_begun.reading_cpu_ns);
    result->cpu_ns = measure_less(cpu_ns, result->reading_ns);
    result->user_ns = measure_since(usage.ru_utime, measure_begun.usage.ru_utime);
    result->system_ns = measure_since(usage.ru_stime, measure_begun.usage.ru_stime);
    result->minor_faults = (uint64_t)(usage.ru_minflt - measure_begun.usage.ru_minflt);
    result->major_faults = (uint64_t)(usage.ru_majflt - measure_begun.usage.ru_majflt);
    result->tick_ns = ticks ? (double)wall_ns / (double)ticks : 0;
    /* With several threads a reading delays only one of them, so at most this much was lost. */
    result->wall_ns = measure_less(wall_ns, atomic_load(&measure_begun.reading_wall_ns));
}

_Noreturn void measure_fail(struct driver_result *result, const char *what, int error)
{
    const char *reason = error ? strerrordesc_np(error < 0 ? -error : error) : NULL;
    size_t room = sizeof result->sentence - 1;

    strncpy(result->sentence, what, room);
    if (reason) {
        strncat(result->sentence, ": ", room - strlen(result->sentence));
        strncat(result->sentence, reason, room - strlen(result->sentence));
    }
    atomic_store(&result->state, DRIVER_FAILED);
    _exit(1);
}

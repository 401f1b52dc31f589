/* Wraps the system calls of the allocator (os.h). Each keeps errno: free() promises that, and
 * malloc() that errno is ENOMEM. A mapping of an alignment is cut out of a larger one. */
#include "bfm/os.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "bfm/layout.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define META_BYTES ((size_t)256 << 10)

size_t os_page_bytes(void)
{
    static size_t bytes;

    if (!bytes)
        bytes = getauxval(AT_PAGESZ);
    return bytes;
}

/* Without sysconf(), which may read files. 1 where there are more than a cpu_set_t holds. */
unsigned os_processors(void)
{
    int saved = errno, count;
    cpu_set_t set;

    CPU_ZERO(&set);
    count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    errno = saved;
    return count > 0 ? (unsigned)count : 1;
}

static void *os_map_anywhere(size_t bytes, int protection, int flags)
{
    int saved = errno;
    void *start = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    errno = saved;
    return start == MAP_FAILED ? NULL : start;
}

static void *os_map_aligned(size_t bytes, size_t align, int protection, int flags)
{
    uintptr_t start, first;

    if (align <= os_page_bytes())
        return os_map_anywhere(bytes, protection, flags);
    if (bytes + align < bytes)
        return NULL;
    start = (uintptr_t)os_map_anywhere(bytes + align, protection, flags);
    if (!start)
        return NULL;
    first = layout_round_up(start, align);
    if (first != start)
        os_unmap((void *)start, first - start);
    if (start + align != first)
        os_unmap((void *)(first + bytes), start + align - first);
    return (void *)first;
}

void *os_map(size_t bytes, size_t align)
{
    return os_map_aligned(bytes, align, PROT_READ | PROT_WRITE, MAP_NORESERVE);
}

void *os_reserve(size_t bytes, size_t align)
{
    return os_map_aligned(bytes, align, PROT_NONE, MAP_NORESERVE);
}

static bool os_protect(void *start, size_t bytes, int protection)
{
    int saved = errno;
    bool done = !mprotect(start, bytes, protection);

    errno = saved;
    return done;
}

bool os_open(void *start, size_t bytes)
{
    return os_protect(start, bytes, PROT_READ | PROT_WRITE);
}

bool os_close(void *start, size_t bytes)
{
    return os_protect(start, bytes, PROT_NONE);
}

bool os_reserve_again(void *start, size_t bytes)
{
    int saved = errno, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    bool done = mmap(start, bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED;

    errno = saved;
    return done;
}

void *os_map_block(size_t bytes, size_t align)
{
    return os_map_aligned(bytes, align, PROT_READ | PROT_WRITE, 0);
}

void os_unmap(void *start, size_t bytes)
{
    int saved = errno;

    /* The process has too many mappings to cut this one; at least its memory is given back. */
    if (munmap(start, bytes))
        madvise(start, bytes, MADV_DONTNEED);
    errno = saved;
}

bool os_discard(void *start, size_t bytes)
{
    int saved = errno;
    bool done = !madvise(start, bytes, MADV_DONTNEED);

    errno = saved;
    return done;
}

void os_use_huge_pages(void *start, size_t bytes, bool use)
{
    int saved = errno;

    madvise(start, bytes, use ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    errno = saved;
}

void os_populate(void *start, size_t bytes)
{
    static _Atomic bool refused;
    int saved = errno;

    if (!refused && madvise(start, bytes, MADV_POPULATE_WRITE) && errno == EINVAL)
        refused = true; /* Linux before 5.14 */
    errno = saved;
}

bool os_is_resident(void *start, size_t bytes)
{
    unsigned char state[1024];
    size_t pages = bytes / os_page_bytes(), resident = 0;
    int saved = errno;
    bool known = pages <= sizeof state && !mincore(start, bytes, state);

    errno = saved;
    for (size_t i = 0; known && i < pages; i++)
        resident += state[i] & 1;
    return known && resident * 10 >= pages * 9;
}

int os_pagemap_open(void)
{
    int saved = errno, file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    errno = saved;
    return file;
}

void os_pagemap_close(int file)
{
    int saved = errno;

    if (file >= 0)
        close(file);
    errno = saved;
}

/* PAGEMAP_SCAN, which this system's linux/fs.h may not have. Finds pages that are present and are
 * not the system's page of zeros, which it maps for reads. */
static bool os_pagemap_scan(int file, uintptr_t start, size_t bytes, unsigned char *state)
{
    struct {
        uint64_t start, end, categories;
    } found[OS_PAGES_MOST / 2 + 1];
    const uint64_t present = 1 << 3, zeros = 1 << 5;
    struct {
        uint64_t size, flags, start, end, walk_end, found, found_most, pages_most, inverted, mask,
            any, wanted;
    } scan = {.size = sizeof scan,
              .start = start,
              .end = start + bytes,
              .found = (uintptr_t)found,
              .found_most = sizeof found / sizeof *found,
              .inverted = zeros,
              .mask = present | zeros,
              .wanted = present};
    int count =
        file < 0 ? -1 : ioctl(file, _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, sizeof scan), &scan);

    memset(state, 0, bytes / os_page_bytes());
    for (int i = 0; i < count; i++)
        memset(state + (found[i].start - start) / os_page_bytes(), 1,
               (found[i].end - found[i].start) / os_page_bytes());
    return count >= 0;
}

int os_pages_resident(int file, void *start, size_t bytes, unsigned char *state)
{
    int saved = errno, failed = 0;

    if (!os_pagemap_scan(file, (uintptr_t)start, bytes, state) && mincore(start, bytes, state))
        failed = -errno;
    errno = saved;
    return failed;
}

void *os_remap(void *start, size_t old_bytes, size_t new_bytes)
{
    int saved = errno;
    void *moved = mremap(start, old_bytes, new_bytes, MREMAP_MAYMOVE);

    errno = saved;
    return moved == MAP_FAILED ? NULL : moved;
}

void os_move_back(void *start, size_t bytes, size_t old_bytes, void *to)
{
    int saved = errno;

    mremap(start, bytes, old_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    errno = saved;
}

uint64_t os_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t os_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t os_cpu_ns(void)
{
    return os_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t os_thread_cpu_ns(void)
{
    return os_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_random(void)
{
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    uint64_t words[2] = {0}, mixed = (uint64_t)(uintptr_t)&bytes ^ os_now_ms();

    if (bytes)
        __builtin_memcpy(words, bytes, sizeof words); /* where they lie is not aligned */
    mixed ^= words[0] ^ words[1] << 1;
    mixed *= 0x9E3779B97F4A7C15ull;
    return mixed ^ mixed >> 29;
}

static struct lock meta_lock;
static uintptr_t meta_next, meta_end;
static const struct os_meta *meta_newest;

void os_meta_lock(void)
{
    lock_take(&meta_lock);
}

void os_meta_unlock(void)
{
    lock_give(&meta_lock);
}

const struct os_meta *os_meta_newest(void)
{
    return meta_newest;
}

static bool os_meta_map(size_t bytes)
{
    size_t mapped = layout_round_up(bytes + 64, os_page_bytes());
    struct os_meta *meta;

    mapped = mapped > META_BYTES ? mapped : META_BYTES;
    meta = os_map(mapped, 1);
    if (!meta)
        return false;
    *meta = (struct os_meta){.before = meta_newest, .bytes = mapped};
    meta_newest = meta;
    meta_next = (uintptr_t)meta + 64;
    meta_end = (uintptr_t)meta + mapped;
    return true;
}

void *os_meta(size_t bytes)
{
    void *given = NULL;

    bytes = layout_round_up(bytes, 64);
    lock_take(&meta_lock);
    if (meta_end - meta_next >= bytes || os_meta_map(bytes)) {
        given = (void *)meta_next;
        meta_next += bytes;
    }
    lock_give(&meta_lock);
    return given;
}

void os_say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

    (void)ignored;
}

_Noreturn void os_fatal(const char *what, const void *address)
{
    static const char digits[] = "0123456789abcdef";
    char line[160], *at = line;

    memcpy(at, "BFM: ", 5);
    at += 5;
    at += strlen(strncpy(at, what, 110));
    memcpy(at, " (0x", 4);
    at += 4;
    for (int shift = 44; shift >= 0; shift -= 4)
        *at++ = digits[(uintptr_t)address >> shift & 15];
    memcpy(at, ")\n", 3);
    os_say(line);
    abort();
}

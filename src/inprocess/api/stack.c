/* Measures how deep the caller's stack goes, by painting it, or by asking the kernel for its
 * touched pages. Both use the bounds of the thread's stack, which glibc knows. Of another stack (a
 * fiber's, an alternate signal stack) the bounds are not known, and nothing is touched. */
#include "tidemark/tidemark.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
    GAP_BYTES = 512, /* of our own frames, which cannot be painted */
    OWN_BYTES = 256, /* of the frame that paints, with its red zone */
    /* if the stack pointer is moved, there has to be room for a signal handler */
    SAFETY_BYTES = 32 << 10,
    /* The main thread's stack does not grow nearer than that to the mapping below it
     * (stack_guard_gap); twice that is safe. */
    GROWTH_GAP_PAGES = 2 * 256,
};

struct bounds {
    uintptr_t low, high;
};

/* The mapping of the address, and the end of the mapping below. Reads lines "start-end …" of
 * /proc/self/maps. */
static bool api_stack_mapping_of(uintptr_t address, struct bounds *mapping, uintptr_t *below)
{
    char text[4096];
    uintptr_t number = 0, start = 0;
    bool in_numbers = true, found = false;
    ssize_t got;
    *mapping = (struct bounds){0, 0};
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (!found && (got = read(fd, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < got && !found; i++) {
            char c = text[i];
            if (c == '\n') {
                in_numbers = true;
                number = 0;
            } else if (in_numbers && c == '-') {
                start = number;
                number = 0;
            } else if (in_numbers && c == ' ') {
                in_numbers = false;
                *below = mapping->high;
                *mapping = (struct bounds){start, number};
                found = start <= address && address < number;
            } else if (in_numbers) {
                number = number << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
        }
    }
    close(fd);
    return found;
}

/* The bounds of the stack of the address. False: they are not known. *grows: it is the main
 * thread's. */
static bool api_stack_of(uintptr_t address, struct bounds *stack, bool *grows)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return false;
    bool known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    if (!known || address < (uintptr_t)low || address - (uintptr_t)low >= bytes)
        return false;
    *stack = (struct bounds){(uintptr_t)low, (uintptr_t)low + bytes};
    *grows = getpid() == gettid();
    return true;
}

/* A different value for each word, so that a value that a program writes often is not taken for
 * paint. */
static inline uint64_t api_stack_paint_at(uintptr_t address)
{
    return (address ^ 0x5ea1e5ea1e5ea1e5u) * 0x9E3779B97F4A7C15u;
}

/* On a stack that grows, the stack pointer is moved down first, because kernels before 5.0 take a
 * write below it for a fault. Writes go downwards, as the stack grows. On other stacks the pointer
 * stays, so that a signal handler has as much room as ever, even at the end of a small stack; its
 * frames are painted over. */
__attribute__((noinline)) static uintptr_t api_stack_paint_below(size_t bytes, bool grows)
{
    uintptr_t room = grows ? (uintptr_t)__builtin_alloca(bytes)
                           : (uintptr_t)__builtin_frame_address(0) - OWN_BYTES - bytes;
    uintptr_t low = (room + 15) & ~(uintptr_t)15;
    for (uintptr_t at = low + ((bytes - 16) & ~(size_t)15); at > low;) {
        at -= 8;
        *(volatile uint64_t *)at = api_stack_paint_at(at);
    }
    return low;
}

static size_t api_stack_room_below(uintptr_t here, bool *grows)
{
    struct bounds stack, mapping;
    uintptr_t below;
    if (!api_stack_of(here, &stack, grows) || !api_stack_mapping_of(here, &mapping, &below))
        return 0;
    uintptr_t nearest = mapping.low; /* mapped pages may be painted in any case */
    if (*grows) {
        uintptr_t reachable = below + GROWTH_GAP_PAGES * (uintptr_t)sysconf(_SC_PAGESIZE);
        nearest = reachable < nearest ? reachable : nearest;
    }
    uintptr_t low = nearest > stack.low ? nearest : stack.low;
    low += *grows ? SAFETY_BYTES : 0;
    return here > low + GAP_BYTES ? here - low - GAP_BYTES : 0;
}

API __attribute__((noinline)) int tidemark_stack_paint(struct tidemark_painted_stack *paint,
                                                       size_t bytes)
{
    int saved_errno = errno;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t);
    bool grows;
    size_t room = api_stack_room_below(here, &grows);
    *paint = (struct tidemark_painted_stack){here, here};
    errno = saved_errno;
    if (!room)
        return -ENOTSUP;
    if (bytes > room)
        bytes = room;
    if (bytes < 64)
        return -EINVAL;
    paint->down_to = api_stack_paint_below(bytes, grows);
    return 0;
}

API __attribute__((noinline)) uint64_t
tidemark_stack_depth(const struct tidemark_painted_stack *paint)
{
    uintptr_t at = paint->down_to, end = paint->from - GAP_BYTES;
    if (paint->down_to >= paint->from)
        return TIDEMARK_UNKNOWN;
    while (at < end && *(volatile uint64_t *)at == api_stack_paint_at(at))
        at += 8;
    return paint->from - at;
}

/* ---- Pages ---- */

/* Is the page present, or swapped out? */
static bool api_stack_was_touched(uint64_t entry)
{
    return entry >> 63 || (entry >> 62 & 1);
}

/* The lowest page from `low` on that was ever touched; 0: the kernel does not tell. */
static uintptr_t api_stack_lowest_touched(uintptr_t low, uintptr_t high)
{
    uint64_t entries[256];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), found = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && low < high) {
        ssize_t got = pread(fd, entries, sizeof entries, (off_t)(low / page * sizeof *entries));
        if (got < (ssize_t)sizeof *entries)
            break;
        for (size_t i = 0; i < (size_t)got / sizeof *entries && !found; i++)
            if (api_stack_was_touched(entries[i]))
                found = low + i * page;
        low += (size_t)got / sizeof *entries * page;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

API uint64_t tidemark_stack_touched(void)
{
    int saved_errno = errno;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), lowest = 0;
    struct bounds stack, mapping;
    uintptr_t below;
    bool grows;
    if (api_stack_of(here, &stack, &grows) && api_stack_mapping_of(here, &mapping, &below))
        lowest =
            api_stack_lowest_touched(mapping.low > stack.low ? mapping.low : stack.low, stack.high);
    errno = saved_errno;
    return lowest && lowest < stack.high ? stack.high - lowest : TIDEMARK_UNKNOWN;
}

/* Settings of glibc's malloc for our own long-lived processes (allocator.h). mallopt() fixes the
 * thresholds from which freed memory goes back to the kernel, and limits the number of arenas.
 * malloc_trim() gives back free pages between used blocks. */
#include "base/allocator.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/now.h"

void allocator_give_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 512 << 10); /* a block of 1,024 sites takes 304 KiB, 170 times a
                                           * flush */
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void allocator_give_back_soon(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

void allocator_share_arenas(int count)
{
    mallopt(M_ARENA_MAX, count);
}

/* A pass takes as long as all heaps have free chunks, and who calls has one of the heaps. */
enum { TRIM_PART = 32 };
static _Atomic uint64_t allocator_next_ns; /* a pass may begin then */
static atomic_bool allocator_owes;

static void allocator_trim_now(size_t least_free_bytes)
{
    atomic_store(&allocator_owes, false);
    if (mallinfo2().fordblks >= least_free_bytes)
        malloc_trim(0);
}

void allocator_trim(size_t least_free_bytes)
{
    uint64_t since_ns = now_monotonic_ns(), next_ns = atomic_load(&allocator_next_ns);
    if (since_ns < next_ns ||
        !atomic_compare_exchange_strong(&allocator_next_ns, &next_ns, UINT64_MAX)) {
        atomic_store(&allocator_owes, true);
        return;
    }
    allocator_trim_now(least_free_bytes);
    uint64_t now_ns = now_monotonic_ns();
    atomic_store(&allocator_next_ns, now_ns + TRIM_PART * (now_ns - since_ns));
}

void allocator_trim_owed(void)
{
    if (atomic_load(&allocator_owes))
        allocator_trim(0);
}

/* Growing arrays by mremap() (arena.h). An arena of 4 MiB or more asks for huge pages, because it
 * is accessed at random, and a TLB miss for each event would cost more than the metrics. */
#include "blocks/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST_BYTES ((size_t)1 << 16)
#define HUGE_FROM      ((size_t)4 << 20)
/* Arenas that are kept: KEPT_OF_A_SIZE of each of KEPT_SIZES sizes from SMALLEST_BYTES on, if no
 * more than KEPT_USED_MOST bytes of them have to be cleared. */
#define KEPT_SIZES     5
#define KEPT_OF_A_SIZE 32
#define KEPT_USED_MOST ((size_t)256 << 10) /* a new mapping costs a fault for each page */

/* Nobody waits for the lock: a new mapping is as good. In the child of a fork it may be held for
 * good, by a thread that only the parent has. */
static struct {
    pthread_mutex_t lock;
    void *bases[KEPT_SIZES][KEPT_OF_A_SIZE];
    size_t counts[KEPT_SIZES];
} arena_kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *arena_or_die(void *memory, size_t bytes)
{
    if (memory == NULL || memory == MAP_FAILED) {
        fprintf(stderr,
                "tidemark: replaying the events needs %zu bytes more, which the system does not "
                "give; raise the memory limit or record fewer call paths (--max-depth)\n",
                bytes);
        abort();
    }
    return memory;
}

/* KEPT_SIZES: arenas of that size are not kept. */
static unsigned arena_size_class(size_t bytes)
{
    unsigned size = 0;

    while (size < KEPT_SIZES && SMALLEST_BYTES << size != bytes)
        size++;
    return size;
}

/* A kept arena, all zero. NULL: none of that size is kept, or another thread looks. */
static void *arena_take_kept(size_t bytes)
{
    unsigned size = arena_size_class(bytes);
    void *base = NULL;

    if (size == KEPT_SIZES || pthread_mutex_trylock(&arena_kept.lock) != 0)
        return NULL;
    if (arena_kept.counts[size])
        base = arena_kept.bases[size][--arena_kept.counts[size]];
    pthread_mutex_unlock(&arena_kept.lock);
    return base;
}

/* False: enough are kept, arenas of that size are not kept, or another thread looks. */
static bool arena_keep(void *base, size_t bytes)
{
    unsigned size = arena_size_class(bytes);
    bool has_room;

    if (size == KEPT_SIZES || pthread_mutex_trylock(&arena_kept.lock) != 0)
        return false;
    has_room = arena_kept.counts[size] < KEPT_OF_A_SIZE;
    if (has_room)
        arena_kept.bases[size][arena_kept.counts[size]++] = base;
    pthread_mutex_unlock(&arena_kept.lock);
    return has_room;
}

static void *arena_map(size_t bytes)
{
    void *base = arena_take_kept(bytes);

    return base ? base
                : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void arena_grow(struct arena *region, size_t bytes)
{
    size_t wanted = region->bytes ? region->bytes : SMALLEST_BYTES;

    if (bytes <= region->bytes)
        return;
    while (wanted < bytes)
        wanted *= 2;
    if (region->base)
        region->base = mremap(region->base, region->bytes, wanted, MREMAP_MAYMOVE);
    else
        region->base = arena_map(wanted);
    arena_or_die(region->base, wanted);
    region->bytes = wanted;
    if (wanted >= HUGE_FROM)
        (void)madvise(region->base, wanted, MADV_HUGEPAGE);
}

void arena_release_used(struct arena *region, size_t used_bytes)
{
    /* callers may count one element more than there is room for */
    size_t used = used_bytes < region->bytes ? used_bytes : region->bytes;
    bool keep = region->base && used <= KEPT_USED_MOST;

    if (keep)
        memset(region->base, 0, used);
    if (region->base && !(keep && arena_keep(region->base, region->bytes)))
        munmap(region->base, region->bytes);
    *region = (struct arena){0};
}

void arena_release(struct arena *region)
{
    arena_release_used(region, region->bytes);
}

void *arena_calloc(size_t count, size_t bytes)
{
    return arena_or_die(calloc(count, bytes), count * bytes);
}

void *arena_realloc(void *old, size_t bytes)
{
    return arena_or_die(realloc(old, bytes), bytes);
}

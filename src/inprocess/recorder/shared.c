/* Maps the chunks of the shared memory one after the other, and private memory (shared.h). Runs
 * inside the profiled program: system calls only, no malloc, no stdio. */
#include "recorder/shared.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/large_static.h"
#include "interpose/program_locks.h"
#include "unwind/arch.h"
#include "unwind/signal_lock.h"

enum { RING_CHUNKS = 512, NODE_CHUNKS = 4096, FEW = 8 };

/* All state that must not survive a fork, in memory that the kernel wipes in the child. */
struct shared {
    struct wire_header *header;
    struct lock lock;
    char *last_chunk; /* where the next one is mapped from */
    uint32_t chunk_count;
    uint32_t window; /* so many chunks were mapped with the header */
    uint32_t ring_count, ring_scan;
    uint32_t node_chunks;
    char *module_log;
    size_t module_used;
    bool unlocked;        /* new memory is grown from the seed */
    _Atomic(char *) seed; /* memory that is not locked; NULL: none, or a thread is growing it */
    /* The beginning of each list below: a short process touches this page alone. */
    char *few_chunks[FEW];
    struct wire_ring *few_rings[FEW];
    char *few_ring_data[FEW];
    struct wire_node *few_nodes[FEW];
    char *chunks[WIRE_MAX_CHUNKS];        /* all of them, to unmap them when the session is
                                           * renewed */
    struct wire_ring *rings[RING_CHUNKS]; /* chunks of ring headers */
    char *ring_data[WIRE_MAX_CHUNKS];     /* chunks of ring data */
    struct wire_node *nodes[NODE_CHUNKS];
};
static struct shared *shared;

#define SHARED_PLACE(list, index)                                                                  \
    ((index) < FEW ? &shared->few_##list[index] : &shared->list[index])

enum { SEED_BYTES = 1 << 16 }; /* the largest size of a page */

/* Keeps errno, because a call inside the program's malloc may fail here. */
static long shared_call(long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    int saved_errno = errno;
    long result = syscall(number, a, b, c, d);
    errno = saved_errno;
    return result;
}

static void *shared_map(void *at, size_t bytes, int protection, int flags, int fd)
{
    if (permitted_calls_is_forbidden(CALL_MAP))
        return NULL;
    int saved_errno = errno;
    long address = syscall(SYS_mmap, at, bytes, protection, flags, fd, 0);
    errno = saved_errno;
    return address == -1 ? NULL : (void *)address;
}

static bool shared_advise(const void *at, size_t bytes, int advice)
{
    return shared_call(SYS_madvise, (uintptr_t)at, bytes, (uintptr_t)advice, 0) == 0;
}

static void shared_unmap(const void *at, size_t bytes)
{
    shared_call(SYS_munmap, (uintptr_t)at, bytes, 0, 0);
}

static size_t shared_whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* ---- Private memory ---- */

enum range_kind {
    RANGE_KEPT,   /* a fork copies it */
    RANGE_WIPED,  /* reads as zero in the child of a fork, and is given back with the session */
    RANGE_LASTING /* reads as zero there too, and stays */
};
enum range_use {
    RANGE_USED,
    RANGE_SPARE, /* given back: the next session uses it again … */
    /* … or it is unmapped at the end of that. So the memory is bounded by that of two sessions. */
};

struct shared_range {
    uint64_t start, bytes;
    enum range_kind kind;
    _Atomic uint32_t use;
    struct shared_pool
        *pool; /* the range is this pool; NULL: it is a piece with a mapping of its own */
};

/* The first pieces of each kind lie in one mapping, because most processes are short. Each mapping
 * costs system calls, an entry in the kernel's list, and one in the collector's. A piece that has
 * no room in the pool gets a mapping of its own.
 *
 *   start │ piece │ piece │ … │ not yet given │       used: up to here; the range is all of it */
struct shared_pool {
    _Atomic uintptr_t start; /* 0: not mapped */
    _Atomic size_t used;
    size_t bytes;
};
static struct shared_pool shared_pools[] = {[RANGE_KEPT] = {.bytes = 448 << 10},
                                            [RANGE_WIPED] = {.bytes = 448 << 10},
                                            [RANGE_LASTING] = {.bytes = 96 << 10}};

/* The ranges so far, in memory that a fork copies, as it copies the mappings. */
enum { MORE_RANGES = 1 << 16 };
LARGE_STATIC static struct shared_range shared_kept[WIRE_PRIVATE_RANGES];
static struct shared_range *_Atomic shared_more_kept; /* behind them, mapped when needed */
static _Atomic uint32_t shared_kept_count, shared_spare_count;

static uint32_t shared_range_count(void)
{
    uint32_t count = atomic_load_explicit(&shared_kept_count, memory_order_acquire);
    uint32_t most = WIRE_PRIVATE_RANGES + (atomic_load(&shared_more_kept) ? MORE_RANGES : 0);
    return count < most ? count : most;
}

static struct shared_range *shared_range_at(uint32_t index)
{
    return index < WIRE_PRIVATE_RANGES
               ? &shared_kept[index]
               : &atomic_load(&shared_more_kept)[index - WIRE_PRIVATE_RANGES];
}

/* NULL: there are too many ranges; this one is not remembered, and never given back. */
static struct shared_range *shared_range_new(uint32_t index)
{
    struct shared_range *expected = NULL, *made;
    if (index >= WIRE_PRIVATE_RANGES + MORE_RANGES)
        return NULL;
    if (index >= WIRE_PRIVATE_RANGES && !atomic_load(&shared_more_kept)) {
        made = private_borrow(MORE_RANGES * sizeof *made);
        if (made && !atomic_compare_exchange_strong(&shared_more_kept, &expected, made))
            private_return(made, MORE_RANGES * sizeof *made);
    }
    return index < WIRE_PRIVATE_RANGES || atomic_load(&shared_more_kept) ? shared_range_at(index)
                                                                         : NULL;
}

static void shared_publish_range(struct wire_header *header, uint32_t index)
{
    struct wire_range *range = wire_private_range(header, index);
    atomic_store_explicit(&range->start, shared_kept[index].start, memory_order_relaxed);
    atomic_store_explicit(&range->bytes, shared_kept[index].bytes, memory_order_release);
}

static void shared_count_private(int64_t bytes)
{
    if (shared && shared->header)
        atomic_fetch_add_explicit(&shared->header->private_bytes, (uint64_t)bytes,
                                  memory_order_relaxed);
}

/* Adds a range to the list and tells the collector. Of a pool only the pieces count as bytes. */
static void shared_tell_range(void *memory, size_t bytes, enum range_kind kind,
                              struct shared_pool *pool)
{
    struct wire_header *header = shared ? shared->header : NULL;
    uint32_t index = atomic_fetch_add_explicit(&shared_kept_count, 1, memory_order_acq_rel);
    struct shared_range *range = shared_range_new(index);
    if (range) {
        range->start = (uintptr_t)memory;
        range->kind = kind;
        range->pool = pool;
        range->bytes = bytes;
    }
    if (!header)
        return;
    if (index < WIRE_PRIVATE_RANGES)
        shared_publish_range(header, index);
    atomic_fetch_add_explicit(&header->private_count, 1, memory_order_release);
    if (!pool)
        shared_count_private((int64_t)bytes);
}

static uint64_t shared_range_used(const struct shared_range *range)
{
    if (atomic_load(&range->use) != RANGE_USED)
        return 0;
    return range->pool ? atomic_load(&range->pool->used) : range->bytes;
}

/* Tells the collector of ranges that were mapped before it was there, and in the child of a fork of
 * those that it has from its parent. */
static void shared_tell_all_ranges(struct wire_header *header)
{
    uint32_t count = shared_range_count();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i < WIRE_PRIVATE_RANGES)
            shared_publish_range(header, i);
        bytes += shared_range_used(shared_range_at(i));
    }
    atomic_store_explicit(&header->private_count, count, memory_order_release);
    atomic_store_explicit(&header->private_bytes, bytes, memory_order_relaxed);
}

/* Anonymous memory, which is locked if the program locks new mappings. */
static void *shared_map_plain(size_t bytes)
{
    return shared_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Leaves our memory out of the program's core file, whose size may be limited (ulimit -c). */
static void shared_leave_out_of_cores(void *memory, size_t bytes)
{
    if (!permitted_calls_is_forbidden(CALL_LIMITS))
        shared_advise(memory, bytes, MADV_DONTDUMP);
}

/* ---- Memory that mlockall() does not lock ----
 * After mlockall(MCL_FUTURE) each new mapping is locked, and fails beyond the program's limit. But
 * a mapping that mremap() makes longer stays unlocked. So a seed that is not locked is grown by the
 * wanted bytes, and its beginning is the next seed.
 *
 *   mremap(seed, SEED_BYTES, SEED_BYTES + bytes)  ─▶  │ seed │ bytes … │ */

/* Takes the seed; NULL: a thread has had it too long. A signal handler that interrupts its own
 * thread's use waits in vain, but not for long. */
static char *shared_take_seed(void)
{
    enum { TRIES = 10000 };
    char *seed = NULL;
    for (int i = 0; i < TRIES && !(seed = atomic_exchange(&shared->seed, NULL)); i++)
        signal_lock_let_others();
    return seed;
}

static char *shared_grow_seed(size_t bytes)
{
    char *seed = permitted_calls_is_forbidden(CALL_MAP) ? NULL : shared_take_seed();
    if (!seed)
        return NULL;
    long grown =
        shared_call(SYS_mremap, (uintptr_t)seed, SEED_BYTES, SEED_BYTES + bytes, MREMAP_MAYMOVE);
    atomic_store(&shared->seed, grown == -1 ? seed : (char *)grown);
    return grown == -1 ? NULL : (char *)grown + SEED_BYTES;
}

/* If the seed cannot be had: maps memory, which is locked for a moment. */
static char *shared_map_and_unlock(size_t bytes)
{
    char *memory = shared_map_plain(bytes);
    if (memory)
        shared_call(SYS_munlock, (uintptr_t)memory, bytes, 0, 0);
    return memory;
}

/* Private memory that is not locked. A fork copies it as any mapping. */
static void *shared_map_unlocked(size_t bytes)
{
    if (!shared || !shared->unlocked)
        return shared_map_plain(bytes);
    char *memory = shared_grow_seed(bytes);
    return memory || permitted_calls_is_forbidden(CALL_LIMITS) ? memory
                                                               : shared_map_and_unlock(bytes);
}

void shared_keep_unlocked(void)
{
    if (!shared || shared->unlocked || permitted_calls_is_forbidden(CALL_LIMITS))
        return;
    char *seed = shared_map_and_unlock(SEED_BYTES);
    if (!seed)
        return;
    shared_leave_out_of_cores(seed, SEED_BYTES);
    atomic_store(&shared->seed, seed);
    shared->unlocked = true;
}

void shared_each_range(void (*visit)(void *context, uintptr_t start, uint64_t bytes), void *context)
{
    program_locks_visit_library(visit, context);
    for (uint32_t i = 0, count = shared_range_count(); i < count; i++)
        if (shared_range_at(i)->bytes)
            visit(context, shared_range_at(i)->start, shared_range_at(i)->bytes);
    for (uint32_t i = 0; shared && i < shared->chunk_count; i++)
        visit(context, (uintptr_t)*SHARED_PLACE(chunks, i), WIRE_CHUNK_BYTES);
    char *seed = shared && shared->unlocked ? shared_take_seed() : NULL;
    if (seed) {
        visit(context, (uintptr_t)seed, SEED_BYTES);
        atomic_store(&shared->seed, seed);
    }
}

/* A range of the last session of that size, zeroed; NULL: there is none. */
static void *shared_take_spare(size_t bytes)
{
    if (!atomic_load_explicit(&shared_spare_count, memory_order_relaxed))
        return NULL;
    for (uint32_t i = 0, count = shared_range_count(); i < count; i++) {
        struct shared_range *range = shared_range_at(i);
        uint32_t spare = RANGE_SPARE;
        if (range->bytes != bytes || atomic_load(&range->use) != RANGE_SPARE ||
            !atomic_compare_exchange_strong(&range->use, &spare, RANGE_USED))
            continue;
        atomic_fetch_sub(&shared_spare_count, 1);
        shared_count_private((int64_t)bytes);
        return (void *)(uintptr_t)range->start;
    }
    return NULL;
}

/* If the memory cannot be wiped at a fork, there is none: with its parent's state a child would
 * write into the parent's rings. */
static void *shared_map_kind(size_t bytes, enum range_kind kind)
{
    void *memory = shared_map_unlocked(bytes);
    if (memory && kind != RANGE_KEPT && !shared_advise(memory, bytes, MADV_WIPEONFORK)) {
        shared_unmap(memory, bytes);
        memory = NULL;
    }
    if (memory)
        shared_leave_out_of_cores(memory, bytes);
    return memory;
}

/* The pool's address; 0: no memory. If two threads map it at once, one unmaps its own. */
static uintptr_t shared_pool_start(enum range_kind kind)
{
    struct shared_pool *pool = &shared_pools[kind];
    uintptr_t start = atomic_load_explicit(&pool->start, memory_order_acquire);
    void *made = start ? NULL : shared_map_kind(pool->bytes, kind);
    if (!made)
        return start;
    if (!atomic_compare_exchange_strong(&pool->start, &start, (uintptr_t)made)) {
        shared_unmap(made, pool->bytes);
        return start;
    }
    shared_tell_range(made, pool->bytes, kind, pool);
    return (uintptr_t)made;
}

static void *shared_take_from_pool(size_t bytes, enum range_kind kind)
{
    struct shared_pool *pool = &shared_pools[kind];
    size_t used = atomic_load(&pool->used);
    if (bytes > pool->bytes - used)
        return NULL;
    uintptr_t start = shared_pool_start(kind);
    if (!start)
        return NULL;
    do
        if (bytes > pool->bytes - used)
            return NULL;
    while (!atomic_compare_exchange_weak(&pool->used, &used, used + bytes));
    shared_count_private((int64_t)bytes);
    char *memory = (char *)start + used;
    /* Written, because the caller will write it anyway, and a page that is read first costs two
     * faults. */
    *(volatile char *)memory = 0;
    return memory;
}

static void *shared_map_private(size_t bytes, enum range_kind kind)
{
    bytes = shared_whole_pages(bytes);
    void *memory = shared_take_from_pool(bytes, kind);
    if (memory || !(memory = shared_map_kind(bytes, kind)))
        return memory;
    shared_tell_range(memory, bytes, kind, NULL);
    return memory;
}

void *private_map_kept(size_t bytes)
{
    return shared_map_private(bytes, RANGE_KEPT);
}

void *private_map_lasting(size_t bytes)
{
    return shared_map_private(bytes, RANGE_LASTING);
}

void *private_map(size_t bytes)
{
    void *spare = shared_take_spare(shared_whole_pages(bytes));
    return spare ? spare : shared_map_private(bytes, RANGE_WIPED);
}

void private_give_back(void *memory, size_t bytes)
{
    bytes = shared_whole_pages(bytes);
    if (permitted_calls_is_forbidden(CALL_MAP))
        return;
    shared_advise(memory, bytes, MADV_DONTNEED);
    shared_count_private(-(int64_t)bytes);
}

void *private_borrow(size_t bytes)
{
    return shared_map_unlocked(shared_whole_pages(bytes));
}

void private_return(void *memory, size_t bytes)
{
    shared_unmap(memory, shared_whole_pages(bytes));
}

struct wire_header *shared_header(void)
{
    return shared ? shared->header : NULL;
}

/* The header, and what the first thread needs: ring headers, their data, and the log of modules. */
enum { WINDOW_CHUNKS = 4 };

static struct wire_header *shared_map_window(int fd, uint32_t chunks)
{
    size_t bytes = (size_t)chunks * WIRE_CHUNK_BYTES;
    struct wire_header *header =
        shared_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
    if (!header)
        return NULL;
    /* MADV_DONTFORK, because the child of a fork must not write into its parent's rings */
    if (header->magic != WIRE_MAGIC || !shared_advise(header, bytes, MADV_DONTFORK)) {
        shared_unmap(header, bytes);
        return NULL;
    }
    shared_leave_out_of_cores(header, bytes); /* this holds for chunks that are mapped from it
                                               * too */
    shared->window = shared->chunk_count = chunks;
    for (uint32_t i = 0; i < chunks; i++)
        *SHARED_PLACE(chunks, i) = (char *)header + (size_t)i * WIRE_CHUNK_BYTES;
    shared->last_chunk = *SHARED_PLACE(chunks, chunks - 1);
    return header;
}

struct wire_header *shared_open(int fd)
{
    if (!shared)
        shared = private_map(sizeof *shared);
    if (!shared)
        return NULL;
    struct wire_header *header = shared_map_window(fd, WINDOW_CHUNKS);
    if (!header) /* there is too little address space, or mappings are locked */
        header = shared_map_window(fd, 1);
    if (!header)
        return NULL;
    atomic_store(&header->chunk_kind[0], WIRE_CHUNK_HEADER);
    atomic_store(&header->chunk_count, 1);
    shared_tell_all_ranges(header);
    shared->header = header;
    return header;
}

/* Maps the chunk after the last one. A shared mapping can be mapped a second time, and longer, by
 * mremap with an old size of 0; the second half of that is the next chunk. */
static char *shared_chunk_map(void)
{
    if (permitted_calls_is_forbidden(CALL_MAP))
        return NULL;
    long both = shared_call(SYS_mremap, (uintptr_t)shared->last_chunk, 0,
                            2 * (size_t)WIRE_CHUNK_BYTES, MREMAP_MAYMOVE);
    if (both == -1)
        return NULL;
    char *chunk = (char *)both + WIRE_CHUNK_BYTES;
    shared_unmap((char *)both, WIRE_CHUNK_BYTES);
    if (!shared_advise(chunk, WIRE_CHUNK_BYTES, MADV_DONTFORK)) {
        shared_unmap(chunk, WIRE_CHUNK_BYTES);
        return NULL;
    }
    shared->last_chunk = chunk;
    if (shared->chunk_count < WIRE_MAX_CHUNKS) {
        *SHARED_PLACE(chunks, shared->chunk_count) = chunk;
        shared->chunk_count++;
    }
    return chunk;
}

static char *shared_chunk_new(enum wire_chunk_kind kind)
{
    struct wire_header *header = shared->header;
    uint32_t index = atomic_load_explicit(&header->chunk_count, memory_order_relaxed);
    if (index >= header->chunk_limit || index >= WIRE_MAX_CHUNKS)
        return NULL;
    char *chunk = index < shared->window ? *SHARED_PLACE(chunks, index) : shared_chunk_map();
    if (!chunk)
        return NULL;
    atomic_store_explicit(&header->chunk_kind[index], kind, memory_order_relaxed);
    atomic_store_explicit(&header->chunk_count, index + 1, memory_order_release);
    return chunk;
}

/* ---- Giving back ---- */

/* Empties a pool. False: it was unmapped, because nothing was taken from it for a whole session. */
static bool shared_give_back_pool(struct shared_range *range)
{
    struct shared_pool *pool = range->pool;
    size_t used = atomic_exchange(&pool->used, 0);
    if (used && shared_advise((void *)(uintptr_t)range->start, used, MADV_DONTNEED))
        return true;
    atomic_store(&pool->start, 0);
    shared_unmap((void *)(uintptr_t)range->start, range->bytes);
    return false;
}

static bool shared_give_back_range(struct shared_range *range)
{
    if (range->kind != RANGE_WIPED)
        return true;
    if (range->pool)
        return shared_give_back_pool(range);
    /* not used for a whole session; or it cannot be emptied, because it is locked */
    if (atomic_load(&range->use) == RANGE_SPARE ||
        !shared_advise((void *)(uintptr_t)range->start, range->bytes, MADV_DONTNEED)) {
        shared_unmap((void *)(uintptr_t)range->start, range->bytes);
        return false;
    }
    atomic_store(&range->use, RANGE_SPARE);
    return true;
}

static void shared_give_back_private(void)
{
    uint32_t count = shared_range_count(), left = 0, spare = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct shared_range *range = shared_range_at(i);
        if (!shared_give_back_range(range))
            continue;
        spare += atomic_load(&range->use) == RANGE_SPARE;
        *shared_range_at(left++) = *range;
    }
    for (uint32_t i = left; i < count; i++) /* a place may be read before a new range fills it */
        *shared_range_at(i) = (struct shared_range){.use = RANGE_USED};
    atomic_store(&shared_kept_count, left);
    atomic_store(&shared_spare_count, spare);
}

void shared_renew(void)
{
    for (uint32_t i = 0; shared && i < shared->chunk_count; i++)
        shared_unmap(*SHARED_PLACE(chunks, i), WIRE_CHUNK_BYTES);
    char *seed = shared ? atomic_exchange(&shared->seed, NULL) : NULL;
    if (seed)
        shared_unmap(seed, SEED_BYTES);
    shared = NULL;
    shared_give_back_private();
}

/* ---- A child that goes on inside a hook ---- */

/* All that a hook reads of a header is in its first page (wire.h). */
static char shared_first_page[PAGE_BYTES];

static void shared_advise_for_child(int advice)
{
    for (uint32_t i = 0, count = shared_range_count(); i < count; i++) {
        const struct shared_range *range = shared_range_at(i);
        if (range->kind != RANGE_KEPT && range->bytes)
            shared_advise((void *)(uintptr_t)range->start, range->bytes, advice);
    }
}

void shared_keep_for_child(void)
{
    memcpy(shared_first_page, (const void *)shared->header, sizeof shared_first_page);
    shared_advise_for_child(MADV_KEEPONFORK);
}

void shared_wipe_for_child(void)
{
    shared_advise_for_child(MADV_WIPEONFORK);
}

void shared_stand_in(void)
{
    for (uint32_t i = 0; i < shared->chunk_count; i++)
        shared_map(*SHARED_PLACE(chunks, i), WIRE_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
    memcpy((void *)shared->header, shared_first_page, sizeof shared_first_page);
    atomic_store(&shared->header->stop, 1); /* who waits for room, waits no more */
}

void shared_wipe(void)
{
    for (uint32_t i = 0; i < shared->chunk_count; i++)
        shared_unmap(*SHARED_PLACE(chunks, i), WIRE_CHUNK_BYTES);
    shared_wipe_for_child();
    for (uint32_t i = 0, count = shared_range_count(); i < count; i++) {
        const struct shared_range *range = shared_range_at(i);
        if (range->kind != RANGE_KEPT && range->bytes &&
            !shared_advise((void *)(uintptr_t)range->start, range->bytes, MADV_DONTNEED))
            memset((void *)(uintptr_t)range->start, 0, range->bytes); /* it is locked */
    }
}

/* ---- Rings ---- */

static struct wire_ring *shared_ring_at(uint32_t index)
{
    return &(*SHARED_PLACE(rings, index / WIRE_RINGS_PER_CHUNK))[index % WIRE_RINGS_PER_CHUNK];
}

static char *shared_ring_data_at(uint32_t index)
{
    uint32_t ring_bytes = shared->header->ring_bytes;
    unsigned per_chunk = wire_rings_per_data_chunk(ring_bytes);
    return *SHARED_PLACE(ring_data, index / per_chunk) +
           (size_t)(index % per_chunk) * (ring_bytes + WIRE_RING_SPILL);
}

bool shared_thread_is_gone(uint32_t tid)
{
    return !permitted_calls_is_forbidden(CALL_GONE) &&
           syscall(SYS_tgkill, syscall(SYS_getpid), tid, 0) == -1;
}

/* A ring whose thread has ended; NULL: none was found. Tests a few rings in turn, so that the call
 * stays cheap with ten thousand rings. If it finds none, a new ring is made. */
static struct wire_ring *shared_ring_reuse(uint32_t *found)
{
    for (unsigned tries = 0; tries < 16 && tries < shared->ring_count; tries++) {
        uint32_t index = shared->ring_scan++ % shared->ring_count;
        struct wire_ring *ring = shared_ring_at(index);
        if (atomic_load_explicit(&ring->state, memory_order_acquire) == WIRE_RING_ENDING &&
            shared_thread_is_gone(atomic_load_explicit(&ring->tid, memory_order_relaxed))) {
            *found = index;
            return ring;
        }
    }
    return NULL;
}

static struct wire_ring *shared_ring_new(uint32_t *made)
{
    uint32_t index = shared->ring_count;
    unsigned per_chunk = wire_rings_per_data_chunk(shared->header->ring_bytes);
    if (index / WIRE_RINGS_PER_CHUNK >= RING_CHUNKS || index / per_chunk >= WIRE_MAX_CHUNKS)
        return NULL;
    struct wire_ring **headers = SHARED_PLACE(rings, index / WIRE_RINGS_PER_CHUNK);
    if (!*headers && !(*headers = (void *)shared_chunk_new(WIRE_CHUNK_RINGS)))
        return NULL;
    char **chunk = SHARED_PLACE(ring_data, index / per_chunk);
    if (!*chunk && !(*chunk = shared_chunk_new(WIRE_CHUNK_RING_DATA)))
        return NULL;
    *made = index;
    shared->ring_count = index + 1;
    atomic_store_explicit(&shared->header->ring_count, index + 1, memory_order_release);
    return shared_ring_at(index);
}

/* Tells the collector the thread pointer of the ring's last thread, because the C library may keep
 * that thread's stack for another thread. */
static void shared_tell_ended(const struct wire_ring *ring)
{
    struct wire_header *header = shared->header;
    uint32_t count = atomic_load_explicit(&header->ended_count, memory_order_relaxed);
    uint64_t pointer = atomic_load_explicit(&ring->thread_pointer, memory_order_relaxed);
    if (!pointer) /* the ring is new */
        return;
    atomic_store_explicit(&header->ended_pointers[count % WIRE_ENDED_POINTERS], pointer,
                          memory_order_relaxed);
    atomic_store_explicit(&header->ended_count, count + 1, memory_order_relaxed);
}

struct wire_ring *shared_take_ring(uint32_t tid, char **data, uint32_t *index)
{
    signal_lock_take(&shared->lock);
    struct wire_ring *ring = shared_ring_reuse(index);
    if (!ring)
        ring = shared_ring_new(index);
    if (ring) {
        *data = shared_ring_data_at(*index);
        shared_tell_ended(ring);
        atomic_store_explicit(&ring->tid, tid, memory_order_relaxed);
        atomic_store_explicit(&ring->thread_pointer, arch_thread_pointer(), memory_order_relaxed);
        atomic_store_explicit(&ring->signal_stack, 0, memory_order_relaxed);
        atomic_store_explicit(&ring->state, WIRE_RING_ACTIVE, memory_order_release);
    }
    signal_lock_release(&shared->lock);
    return ring;
}

/* ---- Nodes ---- */

struct wire_node *shared_map_nodes(uint32_t index)
{
    if (!shared || index >= NODE_CHUNKS || index > shared->node_chunks)
        return NULL;
    if (index < shared->node_chunks)
        return *SHARED_PLACE(nodes, index);
    signal_lock_take(&shared->lock);
    struct wire_node *chunk = (void *)shared_chunk_new(WIRE_CHUNK_NODES);
    if (chunk) {
        *SHARED_PLACE(nodes, index) = chunk;
        shared->node_chunks = index + 1;
    }
    signal_lock_release(&shared->lock);
    return chunk;
}

void shared_publish_nodes(uint32_t count)
{
    _Atomic uint32_t *told = &shared->header->node_count;
    uint32_t before = atomic_load_explicit(told, memory_order_relaxed);
    while (before < count && !atomic_compare_exchange_weak(told, &before, count)) {
    }
}

/* ---- Names ---- */

struct wire_name *shared_map_names(void)
{
    signal_lock_take(&shared->lock);
    struct wire_name *chunk = (void *)shared_chunk_new(WIRE_CHUNK_NAMES);
    signal_lock_release(&shared->lock);
    return chunk;
}

/* ---- Modules ---- */

struct wire_module *shared_log_module(const struct wire_module *entry, const char *path)
{
    size_t path_bytes = strlen(path) + 1;
    size_t bytes = (offsetof(struct wire_module, path) + path_bytes + 7) & ~(size_t)7;
    signal_lock_take(&shared->lock);
    struct wire_module *slot = NULL;
    /* The word after the last entry stays 0: it ends the log. */
    if (!shared->module_log || shared->module_used + bytes + 8 > WIRE_CHUNK_BYTES) {
        shared->module_log = shared_chunk_new(WIRE_CHUNK_MODULES);
        shared->module_used = 0;
    }
    if (shared->module_log && bytes + 8 <= WIRE_CHUNK_BYTES) {
        slot = (void *)(shared->module_log + shared->module_used);
        memcpy((char *)slot + sizeof slot->entry_bytes,
               (const char *)entry + sizeof entry->entry_bytes,
               offsetof(struct wire_module, path) - sizeof entry->entry_bytes);
        memcpy(slot->path, path, path_bytes);
        shared->module_used += bytes;
        __atomic_store_n(&slot->entry_bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
    }
    signal_lock_release(&shared->lock);
    return slot;
}

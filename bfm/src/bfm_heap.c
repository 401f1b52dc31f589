/* Creates and ends heaps, arenas and thread caches. A thread takes an arena from a list of those
 * that ended threads left, or maps a new one with its cache behind it. Before fork() all locks are
 * taken, in one order, so that the child's heaps are whole. */
#include "bfm/bfm_heap.h"
#include <pthread.h>
#include <string.h>
#include "bfm/bucket.h"
#include "bfm/chunk.h"
#include "bfm/empty.h"
#include "bfm/guard.h"
#include "bfm/large.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

static struct arena common_arena = {.heap = &bfm_default_heap};
struct heap bfm_default_heap = {.common = &common_arena, .arenas = &common_arena, .arena_count = 1};

static struct lock heaps_list_lock;
static struct heap *independent_heaps;
/* Of a library that BFM is a part of: called once a process, in its first call of malloc's family,
 * without locks. It may set a hook, which is told of this call too. */
#ifdef BFM_BEGUN
extern void BFM_BEGUN(void);
#else
#define BFM_BEGUN() ((void)0)
#endif

static pthread_key_t end_key;
static _Atomic bool ready;
static struct lock begin_lock;

/* Depends on the processors that the process may use at the first call. */
unsigned heap_sharers(void)
{
    static _Atomic unsigned sharers;
    unsigned known = atomic_load_explicit(&sharers, memory_order_relaxed);

    if (known)
        return known;
    known = os_processors() * SHARERS_PER_CPU;
    known = known < SHARERS_LEAST ? SHARERS_LEAST : known > SHARERS_MOST ? SHARERS_MOST : known;
    atomic_store_explicit(&sharers, known, memory_order_relaxed);
    return known;
}

/* ---- fork ---- */

/* Locks are taken in this order everywhere: list of heaps, threads, arenas, heap, large, empty,
 * guard, meta. */
static void bfm_heap_lock(struct heap *heap)
{
    lock_take(&heap->threads_lock);
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all)
        lock_take(&arena->lock);
    lock_take(&heap->lock);
}

static void bfm_heap_unlock(struct heap *heap)
{
    lock_give(&heap->lock);
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all)
        lock_give(&arena->lock);
    lock_give(&heap->threads_lock);
}

void heaps_lock(void)
{
    lock_take(&heaps_list_lock);
    bfm_heap_lock(&bfm_default_heap);
    for (struct heap *heap = independent_heaps; heap; heap = heap->next)
        bfm_heap_lock(heap);
    large_lock();
    empty_lock();
    guard_lock();
    os_meta_lock();
}

void heaps_unlock(void)
{
    os_meta_unlock();
    guard_unlock();
    empty_unlock();
    large_unlock();
    for (struct heap *heap = independent_heaps; heap; heap = heap->next)
        bfm_heap_unlock(heap);
    bfm_heap_unlock(&bfm_default_heap);
    lock_give(&heaps_list_lock);
}

struct heap *heaps_next(const struct heap *heap)
{
    return heap == &bfm_default_heap ? independent_heaps : heap->next;
}

/* Offers the arena of a thread that ended to the next thread. Under the heap's threads_lock. */
static void bfm_heap_cache_leave(struct heap *heap, struct arena *home)
{
    struct arena **list = &heap->free_arenas[home->number >= heap_sharers()];

    home->owned = false;
    home->next_free = *list;
    *list = home;
}

/* A process with one thread needs no locks for a fork, as nobody else changes anything. And it may
 * not take them: a signal handler that runs before this fork is over may fork, too. */
static bool fork_has_locks;

static void bfm_heap_before_fork(void)
{
    if (*lock_single_threaded)
        return;
    heaps_lock();
    fork_has_locks = true;
}

static void bfm_heap_after_fork(void)
{
    if (!fork_has_locks)
        return;
    fork_has_locks = false;
    heaps_unlock();
}

/* The child has one thread. The arenas of the others are offered to new threads. The blocks in
 * their caches are lost, as a thread may have been moving them. */
static void bfm_heap_after_fork_in_child(void)
{
    struct heap *heap = &bfm_default_heap;

    if (!fork_has_locks)
        return;
    for (struct arena *arena = heap->arenas; arena; arena = arena->next_all)
        if (arena->owned && arena != bfm_cache->home) {
            cache_init(arena->cache, arena, arena->cache->arena);
            bfm_heap_cache_leave(heap, arena);
        }
    bfm_heap_after_fork();
}

/* ---- threads ---- */

static void bfm_heap_thread_end(void *cache)
{
    struct arena *arena = bfm_cache->arena, *home = bfm_cache->home;
    struct heap *heap = &bfm_default_heap;

    (void)cache;
    if (!arena)
        return;
    cache_flush_all(bfm_cache);
    /* Destructors that run after this one use the common arena. */
    bfm_cache = &bfm_late_cache;
    arena_enter(arena);
    arena_trim(arena);
    arena_leave(arena);
    lock_take(&heap->threads_lock);
    bfm_heap_cache_leave(heap, home);
    lock_give(&heap->threads_lock);
}

/* glibc has no pthread_atfork() in its library but __register_atfork(); musl has the former. */
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                             void *library) __attribute__((weak));
extern int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void bfm_heap_watch_forks(void)
{
    if (__register_atfork)
        __register_atfork(bfm_heap_before_fork, bfm_heap_after_fork, bfm_heap_after_fork_in_child,
                          &__dso_handle);
    else if (pthread_atfork)
        pthread_atfork(bfm_heap_before_fork, bfm_heap_after_fork, bfm_heap_after_fork_in_child);
}

/* Several threads may come here at the same time; the first does the work, and returns true. */
static bool bfm_heap_begin_once(void)
{
    bool first;

    lock_take(&begin_lock);
    first = !atomic_load(&ready);
    if (first) {
        bfm_secret = os_random() | 1;
        bfm_options_read();
        pthread_key_create(&end_key, bfm_heap_thread_end);
        bfm_heap_watch_forks();
        atomic_store(&ready, true);
    }
    lock_give(&begin_lock);
    return first;
}

/* arena_count includes the common arena. */
static struct arena *bfm_heap_arena_new(struct heap *heap)
{
    unsigned number = (unsigned)heap->arena_count - 1;
    bool shares = number >= heap_sharers();
    struct arena *home = os_meta(sizeof *home + cache_bytes(shares));

    if (!home)
        return NULL;
    home->heap = heap;
    home->number = number;
    home->cache = (struct cache *)(home + 1);
    if (!shares)
        heap->sharers[number] = home;
    cache_init(home->cache, home,
               shares ? heap->sharers[heap->share_next++ % heap_sharers()] : home);
    home->next_all = heap->arenas;
    heap->arenas = home;
    heap->arena_count++;
    return home;
}

/* The arena of a thread that ended, preferably one with records of its own, or a new one. */
static struct arena *bfm_heap_arena_get(struct heap *heap)
{
    struct arena **list, *home;

    lock_take(&heap->threads_lock);
    list = heap->free_arenas[0] ? &heap->free_arenas[0] : &heap->free_arenas[1];
    home = *list;
    if (home)
        *list = home->next_free;
    else
        home = bfm_heap_arena_new(heap);
    if (home)
        home->owned = true;
    lock_give(&heap->threads_lock);
    return home;
}

static void bfm_heap_cache_begin(void)
{
    struct arena *arena;

    if (options.check)
        return;
    arena = bfm_heap_arena_get(&bfm_default_heap);
    if (!arena)
        return;
    pthread_setspecific(end_key, arena);
    bfm_cache = arena->cache;
}

void heap_thread_begin(void)
{
    bool first = false;

    /* While this thread is set up, what it allocates comes from the common arena. */
    bfm_cache = &bfm_late_cache;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        lock_begin();
        first = bfm_heap_begin_once();
    }
    bfm_heap_cache_begin();
    if (first)
        BFM_BEGUN();
}

/* musl's pthread_atfork() allocates; this lets it do so before the program runs. */
__attribute__((constructor(200))) static void bfm_heap_begin_early(void)
{
    if (!__register_atfork && !atomic_load(&ready))
        heap_thread_begin();
}

/* ---- independent heaps ---- */

struct heap *heap_create(void)
{
    /* Not os_meta(): heaps come and go. */
    size_t bytes = layout_round_up(sizeof(struct heap) + sizeof(struct arena), os_page_bytes());
    struct heap *heap;

    lock_begin();
    heap = os_map(bytes, 1);

    if (!heap)
        return NULL;
    heap->independent = true;
    heap->common = heap->arenas = (struct arena *)(heap + 1);
    heap->common->heap = heap;
    heap->arena_count = 1;
    lock_take(&heaps_list_lock);
    heap->next = independent_heaps;
    independent_heaps = heap;
    lock_give(&heaps_list_lock);
    return heap;
}

void heap_destroy(struct heap *heap)
{
    lock_take(&heaps_list_lock);
    for (struct heap **link = &independent_heaps; *link; link = &(*link)->next)
        if (*link == heap) {
            *link = heap->next;
            break;
        }
    lock_give(&heaps_list_lock);
    large_release(heap);
    tree_release(heap);
    os_unmap(heap, layout_round_up(sizeof *heap + sizeof(struct arena), os_page_bytes()));
}

/* ---- from a block to its heap ---- */

struct place bfm_heap_place_of(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    struct leaf *leaf = address >> 48 ? NULL : layout_leaf_of(address);
    const struct region *region = leaf ? pagemap_region_of(address) : NULL;
    enum record_kind kind = KIND_NONE;
    struct record *record = NULL;

    if (leaf) {
        kind = atomic_load_explicit(&leaf->kind[layout_leaf_page(address)], memory_order_relaxed);
        record = &leaf->record[layout_leaf_page(address)];
    }
    if (kind == KIND_RECORD)
        return (struct place){BLOCK_SMALL, record->arena->heap, record};
    if (kind == KIND_LARGE && ((struct large *)record)->start == address) {
        if (!((struct large *)record)->heap)
            os_fatal("free of a block that is free already", block);
        return (struct place){BLOCK_LARGE, ((struct large *)record)->heap, record};
    }
    if (likely(region && address >= region->start &&
               address < __atomic_load_n(&region->open, __ATOMIC_RELAXED)))
        return (struct place){BLOCK_TREE, region->heap, NULL};
    if (empty_has(block))
        return (struct place){BLOCK_EMPTY, &bfm_default_heap, NULL};
    if (guard_has(block))
        return (struct place){BLOCK_GUARDED, &bfm_default_heap, NULL};
    os_fatal("this pointer is no block of BFM's", block);
}

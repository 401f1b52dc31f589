/* BFM: a best-fit allocator for Linux in which no single operation does more than O(log n) work
 * (bfm/doc/BFM.md, bfm(3)). The functions of the C library's malloc family under names of their
 * own, independent heaps, statistics, and a hook.
 *
 *   link libbfm.a    these functions; malloc() and its family stay the C library's
 *   link libbfm.so, or LD_PRELOAD=libbfm.so    malloc() and its family are these functions
 *
 * Everything here may be called from any thread at any time, but not from signal handlers. Blocks
 * are aligned to 16 bytes or to what was asked for. A null result means ENOMEM, or what is said;
 * freeing keeps errno. A pointer that is no block, or not any more, ends the program with a
 * sentence on stderr when that is noticed. */
#ifndef TIDEMARK_BFM_H
#define TIDEMARK_BFM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BFM_API         __attribute__((visibility("default")))
#define BFM_MALLOC      __attribute__((malloc, warn_unused_result))
#define BFM_SIZE(n)     __attribute__((alloc_size(n)))
#define BFM_SIZE2(n, m) __attribute__((alloc_size(n, m)))
#else
#define BFM_API
#define BFM_MALLOC
#define BFM_SIZE(n)
#define BFM_SIZE2(n, m)
#endif

/* ---- the malloc family: malloc(3), posix_memalign(3), malloc_usable_size(3), malloc_trim(3) -- */

BFM_API void *bfm_malloc(size_t bytes) BFM_MALLOC BFM_SIZE(1);
BFM_API void *bfm_calloc(size_t count, size_t bytes) BFM_MALLOC BFM_SIZE2(1, 2);
BFM_API void *bfm_realloc(void *block, size_t bytes) BFM_SIZE(2);
BFM_API void *bfm_reallocarray(void *block, size_t count, size_t bytes) BFM_SIZE2(2, 3);
BFM_API void bfm_free(void *block);
/* An alignment that is no power of two is rounded up to one, as the C library does. */
BFM_API void *bfm_memalign(size_t align, size_t bytes) BFM_MALLOC BFM_SIZE(2);
BFM_API void *bfm_aligned_alloc(size_t align, size_t bytes) BFM_MALLOC BFM_SIZE(2);
BFM_API int bfm_posix_memalign(void **block, size_t align, size_t bytes);
BFM_API void *bfm_valloc(size_t bytes) BFM_MALLOC BFM_SIZE(1);
BFM_API void *bfm_pvalloc(size_t bytes) BFM_MALLOC;
BFM_API size_t bfm_malloc_usable_size(void *block);

/* Gives back to the system all memory that no block needs, but `keep` bytes at the heap's end. 1
 * when something was given back, else 0. Takes as long as it takes. */
BFM_API int bfm_malloc_trim(size_t keep);

/* ---- independent heaps ---- */

/* Blocks of their own regions, which can be given back all at once. Slower than bfm_malloc(): no
 * thread caches. bfm_free(), bfm_realloc() and bfm_malloc_usable_size() take their blocks too; a
 * reallocated block stays in its heap. */
typedef struct bfm_heap bfm_heap;

BFM_API bfm_heap *bfm_heap_create(void);
BFM_API void *bfm_heap_malloc(bfm_heap *heap, size_t bytes) BFM_MALLOC BFM_SIZE(2);
BFM_API void *bfm_heap_calloc(bfm_heap *heap, size_t count, size_t bytes) BFM_MALLOC
    BFM_SIZE2(2, 3);
BFM_API void *bfm_heap_memalign(bfm_heap *heap, size_t align, size_t bytes) BFM_MALLOC BFM_SIZE(3);

/* All its blocks are gone. Nobody may use the heap or its blocks any more. */
BFM_API void bfm_heap_destroy(bfm_heap *heap);

/* ---- statistics ---- */

/* In bytes unless said otherwise. `size` is sizeof(struct bfm_statistics) of who asks, set by the
 * caller: later versions add fields at the end. The sums are exact when no other thread
 * allocates. */
struct bfm_statistics {
    size_t size;
    size_t reserved;     /* addresses of all regions */
    size_t dirty;        /* of them, pages that were written and not given back */
    size_t tree_used;    /* in blocks of the tree component, with their tags */
    size_t records;      /* in page records */
    size_t records_free; /* of them, free blocks (those in thread caches count as in use) */
    size_t large_used;   /* in mappings of their own */
    size_t large_kept;   /* mappings kept for reuse, as far as they may be resident */
    size_t purged;       /* given back since the start */
    size_t large_count;  /* blocks */
    size_t region_count;
    size_t arena_count; /* bucket components: the most threads that there were at once */
};

/* `heap` NULL: what bfm_malloc() uses. 0, or -EINVAL when `size` is too small to be one. */
BFM_API int bfm_statistics(bfm_heap *heap, struct bfm_statistics *statistics);

/* What each resident byte of BFM's own mappings is there for, in bytes; `resident` is the sum of all
 * others but `rounding`. `size` is sizeof(struct bfm_account) of who asks, set by the caller. */
struct bfm_account {
    size_t size;
    size_t resident;
    size_t blocks;           /* of the program: all that it may write to */
    size_t rounding;         /* of them, what it has not asked for, canaries included. Known with
                      * BFM_OPTIONS=canary, else BFM_UNKNOWN: a block does not keep its request */
    size_t record_tails;     /* behind the last block of records */
    size_t records_free;     /* free blocks of records */
    size_t records_spare;    /* pages for the next records */
    size_t tags;             /* of blocks of more than 512 bytes; ends of areas */
    size_t trees_free;       /* free chunks, with their tags */
    size_t top;              /* the end of the newest region: free, or made resident ahead */
    size_t kept;             /* freed mappings */
    size_t caches;           /* free blocks of threads, or on their way to another thread's */
    size_t descriptors;      /* of records and mappings */
    size_t descriptors_idle; /* places for descriptors, in the same pages */
    size_t page_map;         /* the rest of it */
    size_t threads;          /* arenas, and the caches without what is in them */
    size_t heaps;
};

#define BFM_UNKNOWN SIZE_MAX

/* Of all heaps. 0; -EINVAL when `size` is too small to be one; -EFAULT when a tag was overwritten;
 * what mincore(2) says. Exact when no other thread allocates, but before Linux 6.7 a page that was
 * only read counts as resident. Other threads wait meanwhile. O(heap). */
BFM_API int bfm_account(struct bfm_account *account);

/* Verifies every structure of a heap (NULL: what bfm_malloc() uses): the trees' colours, order and
 * sums, the tags, the page map, the lists, and every free bit. NULL when all holds, else a
 * sentence. Other threads wait meanwhile. O(heap). */
BFM_API const char *bfm_check(bfm_heap *heap);

/* ---- the event hook ---- */

/* Told when a page record (8 KiB of small blocks of one size) or a block of 64 KiB or more changes
 * hands, and of other blocks about one for each 8 KiB of them: few events, from which the use of
 * memory by call path can be estimated (bfm/doc/BFM.md, "Events"). */
enum bfm_event_kind {
    BFM_RECORD_TAKEN = 1, /* a record was fetched for a size; bytes: 8192, block_bytes: that
                             * size */
    BFM_RECORD_RETURNED,  /* all its blocks are free and it is another's */
    /* Of more than 512 usable bytes. bytes: usable, block_bytes: requested. From 65,536 usable bytes
     * on each, below with the probability 1 - exp(-bytes / 8192), drawn when it is taken and when its
     * size changes. One of which this was told is told of when it is returned. */
    BFM_BLOCK_TAKEN,
    BFM_BLOCK_RETURNED, /* bytes: usable */
    BFM_BLOCK_RESIZED,  /* in place; as TAKEN */
    /* One small block in 8192 / `bytes` is a sample for all of them, drawn when it comes from its
     * record; from then on it is told of whenever the program gets it or frees it. Not of
     * independent heaps. */
    BFM_SAMPLE_TAKEN, /* as BLOCK_TAKEN; at most 512 bytes */
    BFM_SAMPLE_RETURNED,
    BFM_SAMPLE_RESIZED
};

struct bfm_event {
    enum bfm_event_kind kind;
    const void *address;
    size_t bytes;
    size_t block_bytes;
    const void *caller; /* the return address of the call that did it, in its caller */
    const void *caller_stack, *caller_frame; /* stack and frame pointer there, to unwind from */
};

/* Runs in the thread whose call made the event, while no lock is held: it may
 * allocate and free; what it does makes no events. It must return. That a block is returned is told
 * before anyone else can get it, all else at the end of the call. */
typedef void bfm_hook(const struct bfm_event *event, void *context);

/* NULL: none. 0, or -ENOMEM. An event that is under way may still reach the old hook. */
BFM_API int bfm_set_hook(bfm_hook *hook, void *context);

#ifdef __cplusplus
}
#endif

#endif

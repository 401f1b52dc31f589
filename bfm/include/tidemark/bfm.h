/* BFM: a best-fit allocator for Linux in which no single operation does more than O(log n) work
 * (bfm/doc/BFM.md, bfm(3)). The functions of the C library's malloc family under names of their
 * own, independent heaps, statistics, and a hook.
 *
 *   link libbfm.a    these functions; malloc() and its family stay the C library's
 *   link libbfm.so, or LD_PRELOAD=libbfm.so    malloc() and its family are these functions
 *
 * Everything here may be called from any thread at any time, but not from signal handlers. Blocks
 * are aligned to 16 bytes or to what was asked for. A null result means ENOMEM unless another error
 * is named. Freeing keeps errno. If a pointer is found to be no block, or a block that is free
 * already, the program ends with a sentence on stderr. */
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

/* Gives back to the system all memory that no block needs, except `keep` bytes at the heap's end.
 * 1: something was given back; otherwise 0. Not bounded. */
BFM_API int bfm_malloc_trim(size_t keep);

/* ---- independent heaps ---- */

/* A heap with regions of its own, whose blocks can be freed all at once. It is slower than
 * bfm_malloc(), as it has no thread caches. bfm_free(), bfm_realloc() and bfm_malloc_usable_size()
 * take their blocks too; a reallocated block stays in its heap. */
typedef struct bfm_heap bfm_heap;

BFM_API bfm_heap *bfm_heap_create(void);
BFM_API void *bfm_heap_malloc(bfm_heap *heap, size_t bytes) BFM_MALLOC BFM_SIZE(2);
BFM_API void *bfm_heap_calloc(bfm_heap *heap, size_t count, size_t bytes) BFM_MALLOC
    BFM_SIZE2(2, 3);
BFM_API void *bfm_heap_memalign(bfm_heap *heap, size_t align, size_t bytes) BFM_MALLOC BFM_SIZE(3);

/* Frees the heap and all its blocks. No thread may use them meanwhile or afterwards. */
BFM_API void bfm_heap_destroy(bfm_heap *heap);

/* ---- statistics ---- */

/* In bytes unless said otherwise. The caller sets `size` to sizeof(struct bfm_statistics); later
 * versions add fields at the end. The sums are exact when no other thread
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

/* `heap` NULL: the heap of bfm_malloc(). 0, or -EINVAL: `size` is too small. */
BFM_API int bfm_statistics(bfm_heap *heap, struct bfm_statistics *statistics);

/* The resident bytes of BFM's own mappings by their use. `resident` is the sum of all uses;
 * `rounding` is part of `blocks`. The caller sets `size` to sizeof(struct bfm_account). */
struct bfm_account {
    size_t size;
    size_t resident;
    size_t blocks;        /* the program's, to their usable sizes */
    size_t rounding;      /* beyond the requested sizes, canaries included. BFM_UNKNOWN without
                              * BFM_OPTIONS=canary, as blocks do not keep their requested sizes */
    size_t record_tails;  /* behind the last block of records */
    size_t records_free;  /* free blocks of records */
    size_t records_spare; /* pages for the next records */
    size_t tags;          /* of blocks of more than 512 bytes; ends of areas; what fills the pages
                              * of guarded blocks */
    size_t trees_free;    /* free chunks, with their tags */
    size_t top;           /* the end of the newest region: free, or made resident ahead */
    size_t kept;          /* freed mappings */
    size_t caches;        /* free blocks of threads, or on their way to another thread's */
    size_t descriptors;   /* of records and mappings */
    size_t descriptors_idle; /* places for descriptors, in the same pages */
    size_t page_map;         /* the rest of it */
    size_t threads;          /* arenas, and the caches without what is in them */
    size_t heaps;
};

#define BFM_UNKNOWN SIZE_MAX

/* Of all heaps. 0; -EINVAL: `size` is too small; -EFAULT: a tag was overwritten; or mincore(2)'s
 * error, negative. Exact when no other thread allocates; but before Linux 6.7 a page that was only
 * read counts as resident. Threads that need a lock of BFM's wait meanwhile. O(heap). */
BFM_API int bfm_account(struct bfm_account *account);

/* Verifies every structure of a heap (NULL: what bfm_malloc() uses): the trees' colours, order and
 * sums, the tags, the page map, the lists, and every free bit. NULL when all holds, else a
 * sentence. Threads that need a lock of BFM's wait meanwhile. O(heap). */
BFM_API const char *bfm_check(bfm_heap *heap);

/* ---- the event hook ---- */

/* The hook is called when a page record (8 KiB of small blocks of one size) or a block of 64 KiB or
 * more is taken or returned, and for about one other block in each 8 KiB. From these few events the
 * use of memory by call path can be estimated (bfm/doc/BFM.md, "Events"). */
enum bfm_event_kind {
    BFM_RECORD_TAKEN = 1, /* bytes: 8192; block_bytes: the size of the record's blocks */
    BFM_RECORD_RETURNED,  /* all its blocks are free */
    /* A block of more than 512 usable bytes. bytes: usable, block_bytes: requested. Each block from
     * 65,536 usable bytes on has events, a smaller one with the probability 1 - exp(-bytes /
     * mean_bytes), drawn when it is taken and when its size changes. A block whose taking was told
     * has an event when it is returned. */
    BFM_BLOCK_TAKEN,
    BFM_BLOCK_RETURNED, /* bytes: usable */
    BFM_BLOCK_RESIZED,  /* in place; as TAKEN */
    /* One small block in 8192 / `bytes` is a sample for all of them, drawn when it comes from its
     * record. From then on each malloc and free of it is an event. Not in independent heaps. */
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
    /* Of BLOCK_TAKEN and BLOCK_RESIZED: 8192, or up to eight times that in a thread that would
     * otherwise have more than one of these in 98 microseconds of its processor time for long. */
    size_t mean_bytes;
};

/* Runs in the thread whose call made the event. No lock is held, so the hook may allocate and free;
 * that makes no events. It must return. The return of a block is told before another thread can get
 * the block, all else at the end of the call. */
typedef void bfm_hook(const struct bfm_event *event, void *context);

/* `hook` NULL: no hook. 0, or -ENOMEM. An event under way may still reach the old hook. */
BFM_API int bfm_set_hook(bfm_hook *hook, void *context);

#ifdef __cplusplus
}
#endif

#endif

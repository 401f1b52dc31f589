/* How BFM's memory is laid out: the glossary of this room. bfm/doc/BFM.md says why, with
 * measurements.
 *
 *   page     8 KiB (1024 pointers), aligned: the unit of the page map
 *   record   a page that holds blocks of one class (the report's page record)
 *   chunk    a piece of the tree component's memory, with a tag of 8 bytes in front of its payload
 *   area     neighbouring pages that hold chunks
 *   region   one mapping: areas, records, and at its end the top. Behind the top it has no access
 *            until the top needs it, nor have the 2 MiB before it
 *   top      the end of the newest region, from which nothing was cut yet. It is not written to,
 *            except for a tag where it begins in a page that was written to (top_near)
 *   leaf     the page map of 1 GiB of addresses
 *   arena    a bucket component: the records of one thread (many over one tree component)
 *   heap     one tree component and its arenas
 *
 *   region  │8│chunk│chunk│chunk│8│ record │ record │8│chunk│chunk│8│ record │8│chunk│ top …      │
 *            └──────── area ─────┘                   └─── area ────┘
 *
 * A slot is 2 MiB at a multiple of 2 MiB. A region begins one page before a slot, so that its first
 * tag, too, lies in a small page.
 *
 * A tag lies 8 bytes before an address that 16 divides. So an area begins with 8 idle bytes and
 * ends with a tag that stands for no chunk (the fence): 16 bytes an area, and a record keeps all of
 * its 8192 bytes. */
#ifndef TIDEMARK_BFM_LAYOUT_H
#define TIDEMARK_BFM_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bfm/bfm_lock.h"
#include "bfm/rb.h"

/* Not exported, so that it is read without the global offset table. */
#define HIDDEN __attribute__((visibility("hidden")))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PAGE_SHIFT 13
#define PAGE_BYTES ((size_t)1 << PAGE_SHIFT)
#define ALIGN      ((size_t)16)

/* Requests up to here come from buckets: 64 pointers. */
#define SMALL_MAX ((size_t)512)
/* Requests from here on get a mapping of their own. A smaller block has at most 4097 pages, in 66
 * words of the page map, which bounds every loop over the pages of one block. */
#define LARGE_MIN ((size_t)32 << 20)
/* If the system refuses a mapping, a block below this size may be a chunk. */
#define CHUNK_MOST ((size_t)1 << 30)

/* Heaps from the second size on try huge pages; from the first size on if the program does little
 * else than fill its memory. So small programs stay small. */
#define HUGE_EARLY ((size_t)8 << 20)
#define HUGE_FROM  ((size_t)16 << 20)
/* From here on the cost of small pages is measured. */
#define PACE_FROM (HUGE_EARLY - 3 * SLOT_BYTES)

#define LEAF_SHIFT  30
#define LEAF_PAGES  ((size_t)1 << (LEAF_SHIFT - PAGE_SHIFT))
#define LEAF_COUNT  ((size_t)1 << (48 - LEAF_SHIFT))
#define SLOT_SHIFT  21
#define SLOT_BYTES  ((size_t)1 << SLOT_SHIFT)
#define LEAF_SLOTS  ((size_t)1 << (LEAF_SHIFT - SLOT_SHIFT))
#define GROUP_PAGES ((size_t)512) /* 4 MiB, with 32 KiB of records */
/* 1 MiB, whose records and part of `tiny` are whole pages of the system. */
#define FORGET_PAGES ((size_t)128)
#define FORGET_BYTES (FORGET_PAGES * PAGE_BYTES)

/* The code of a page. 0: no record of the default heap. CODE_TREE: a page of the default heap's
 * tree component. Who cuts a block from the top or from a long chunk sets it, and otherwise the
 * first free of a block of the page (middle.c), so that the next ones take the short way. */
enum { CLASS_COUNT = 29, CLASS_CODES = CLASS_COUNT + 1, CODE_TREE = CLASS_CODES };

/* A free block of a record in an arena's `remote` list. Other free blocks are not written to. */
struct block {
    uintptr_t next; /* mixed with a secret and the block's address */
};

enum record_kind { KIND_NONE, KIND_RECORD, KIND_LARGE };

/* One cache line for each page in use. Each set bit of `free_bits` is a free block, used before or
 * not. The lowest is taken first, so untouched blocks stay at the end (the report's unfractured
 * rest). A class of 16 bytes has 512 blocks; its other 256 bits are in the leaf's `tiny`.
 *
 *   free_count = number of set bits <= bfm_class_blocks[code]
 *   free_count == 0: the record is in its arena's `black` list, else in `white`
 *   free_count == bfm_class_blocks[code]: the record is alone in its list */
struct record {
    struct record *next, *prev; /* of its class and colour, in its arena */
    struct arena *arena;
    uint32_t page_low; /* address >> PAGE_SHIFT, 35 bits */
    uint8_t page_high : 7;
    uint8_t marked : 1; /* all its blocks are marked: mark.h */
    uint8_t code;       /* class + 1 */
    uint16_t free_count;
    uint64_t free_bits[4];
};
_Static_assert(sizeof(struct record) == 64, "one cache line");

/* Describes a mapping of its own, in the place of the record of its first page. */
struct large {
    struct large *next, *prev; /* of its heap, or of the kept ones */
    struct heap *heap;         /* NULL: it is kept */
    uint64_t stamp_ms;         /* when it was freed */
    uintptr_t start;
    size_t bytes;
    uintptr_t resident_end; /* of a kept one: after it nothing is resident */
    uint64_t unused;
};
_Static_assert(sizeof(struct large) == 64, "stands in for a record");

/* start < open <= end. Up to `open` the region can be read and written. What lies behind, and the
 * rest of the slot before `start`, has no access. */
struct region {
    uintptr_t start, open, end;
    struct heap *heap;
    struct region *next;
    uint64_t huge_slots[9]; /* where huge pages were asked for, by 2 MiB */
};

/* The owner of a block may read the `code` and the record of its page without a lock. All is
 * written under the lock of the heap (code, dirty, taken, populated, region) or the arena (records,
 * tiny). */
struct leaf {
    uint8_t code[LEAF_PAGES];          /* what free() looks at: class + 1, CODE_TREE, or 0 */
    _Atomic uint8_t kind[LEAF_PAGES];  /* enum record_kind */
    uint64_t taken[LEAF_PAGES / 64];   /* the page is a record or spare, and holds no chunks */
    uint64_t dirty[LEAF_PAGES / 64];   /* the page may hold something else than zeros */
    struct region *region[LEAF_SLOTS]; /* by 2 MiB */
    /* Aligned to pages of the system, so that the part of 1 MiB can be given back. */
    struct record record[LEAF_PAGES] __attribute__((aligned(4096)));
    uint64_t tiny[LEAF_PAGES][4] __attribute__((aligned(4096)));
    _Atomic bool populated[LEAF_PAGES / GROUP_PAGES]; /* their records are resident */
    bool described[LEAF_PAGES / FORGET_PAGES];        /* some of their records may be resident */
};

/* A chunk. The next chunk is found by the size, and the previous one, if it is free, by the 8 bytes
 * before the tag.
 *
 *   tag = size | flags | check of 16 bits (chunk.h);  size % ALIGN == 0
 *   chunk % ALIGN == 8
 *   free = not CHUNK_USED: the last 8 bytes hold the size, neither neighbour is free or the top
 *   free, size >= TREE_MIN: in the list (below BIN_EXACT_END) or tree of bin_of(size)
 *   free, size >= AGED_MIN, stamp_ms != PURGED: in the list from `oldest` to `newest`
 *   free: its bytes outside the pages that could be given back count in `slivers` (age.h) */
struct chunk {
    uint64_t tag;
    /* In free chunks only, and the last 8 bytes of a free chunk repeat its size: */
    union {
        struct {
            struct chunk *next, *prev; /* of its bin, from TREE_MIN on */
        };
        struct rb_node node; /* from BIN_EXACT_END on */
    };
    struct chunk *older, *newer; /* from AGED_MIN on */
    uint64_t stamp_ms;
    uintptr_t cursor; /* pages before it have been given back; see CURSOR_FRONT */
};

/* A bit of a cursor: memory before it has become free since, and is looked at after the end. */
#define CURSOR_FRONT ((uintptr_t)1)

#define CHUNK_USED      ((uint64_t)1)
#define CHUNK_PREV_FREE ((uint64_t)2) /* the 8 bytes before this tag are the size of a free chunk */
#define CHUNK_FENCE     ((uint64_t)4) /* end of an area */
/* freed, but not joined yet and still CHUNK_USED: in the heap's `late` */
#define CHUNK_LATE  ((uint64_t)8)
#define CHUNK_FLAGS ((uint64_t)15)
#define CHUNK_TAG   sizeof(uint64_t)
/* In use, and the hook is told of its free (mark.h). No size has this bit, nor a chunk on a
 * shelf. */
#define CHUNK_MARKED    ((uint64_t)1 << 31)
#define CHUNK_SIZE_MASK ((((uint64_t)1 << 48) - 1) & ~CHUNK_FLAGS & ~CHUNK_MARKED)

/* The smallest chunk that a request takes. Smaller free chunks are in no bin until they are
 * joined. */
#define TREE_MIN ((size_t)528)
/* Free chunks from this size on hold at least one whole page of the system between their tags,
 * which can be given back. */
#define AGED_MIN ((size_t)8272)

/* The stamp of a free chunk that has nothing to give back: it is not in the list by age. */
#define PURGED UINT64_MAX

/* At most so many arenas have records: SHARERS_PER_CPU for each processor. */
enum { SHARERS_MOST = 128, SHARERS_PER_CPU = 4, SHARERS_LEAST = 8 };

/* Bins by size: each multiple of 16 below 16 KiB has its own, a list: what was freed last is taken
 * first. From there there are 16 per power of two, each a tree ordered by (size, address), so the
 * first that fits is the best and lowest fit. */
#define BIN_EXACT_END ((size_t)16384)
/* clang-format off */
enum { BIN_EXACT = 1024, BIN_OCTAVES = 17, BIN_TREES = 16 * BIN_OCTAVES, BIN_COUNT = BIN_EXACT + BIN_TREES,
       BIN_WORDS = (BIN_COUNT + 63) / 64 };
/* clang-format on */

/* At most so many freed chunks wait to be joined: bfm_tree.c. */
enum { LATE_MOST = 8 };

struct record_list {
    struct record *first;
};

/* The next mark of each class (mark.h): how many blocks are handed out before the marked one, and
 * how many of its stratum after it. */
struct marks {
    uint64_t random; /* 0: nothing is drawn yet */
    uint16_t before[CLASS_CODES], after[CLASS_CODES];
};

/* A bucket component. Its owner takes the lock at each refill. Other threads try to take it when
 * they free, and otherwise leave their blocks in `remote`, so no free waits. */
struct arena {
    struct lock lock;
    bool owned;      /* a living thread has its cache; under the heap's threads_lock */
    unsigned number; /* in order of creation; from heap_sharers() on without records: cache.h */
    struct heap *heap;
    struct record_list white[CLASS_CODES], black[CLASS_CODES];
    struct record_list marked_white[CLASS_CODES], marked_black[CLASS_CODES];
    struct marks marks;             /* under the lock */
    _Atomic(struct block *) remote; /* pushed by any thread, taken whole under the lock */
    struct block *pending;          /* taken from `remote`, not yet put: under the lock */
    struct arena *next_all;         /* never leaves the list */
    struct arena *next_free;        /* its cache is without a thread */
    struct cache *cache;
    size_t record_count; /* under the lock */
    size_t free_bytes;   /* of its records, under the lock */
};

/* The largest free chunk that an operation has taken out of the list by age. The chunk that it
 * becomes a part of, or that is a part of it, takes its place in the list. */
struct heir {
    size_t size; /* 0: none */
    uintptr_t start, cursor;
    uint64_t stamp_ms;
    struct chunk *older; /* the chunk before it in the list */
};

/* How long the program takes to fill 2 MiB of the top: see pace.h. */
struct pace {
    uint64_t small_ns, huge_ns; /* 0: not known */
    uint64_t took_ns;           /* what the last slot took; 0: not known */
    uint64_t entered_ns;        /* processor time when the top came into its slot; 0: not known */
    uintptr_t slot_next;        /* the slot after it */
    uintptr_t stretch_end;      /* up to here huge pages were asked for; 0 */
    unsigned small_seen;        /* how many slots of small pages were measured */
    bool unclear;               /* the last slot of huge pages took too long to tell */
    unsigned huge_stretch;      /* the last one, in slots */
    unsigned rest;              /* slots until huge pages are tried again */
};

/* bfm_check() looks at all of these (bfm_check.c):
 *
 *   top <= top_end = top_region->open - 8
 *   tree_used = sum of the sizes of the chunks with CHUNK_USED
 *   late_count = number of chunks with CHUNK_LATE <= LATE_MOST
 *   bin_bits has bit b   <=>  first[b] != NULL  (<=>  root[b - BIN_EXACT] != NULL)
 *   bin_summary has bit w  <=>  bin_bits[w] != 0
 *   stamp_ms ascends from `oldest` to `newest`
 *   dirty_pages = number of set bits of `dirty` in the heap's regions
 *   slivers = sum over the free chunks of the bytes outside pages that could be given back
 *   kept = dirty_pages * PAGE_BYTES - tree_used - record_pages * PAGE_BYTES - slivers
 *                                                                              (age_kept) */
struct heap {
    struct lock lock;
    /* The tree component. */
    uintptr_t top, top_end; /* the top is [top, top_end); both 0 without a region */
    uintptr_t top_near;     /* the end of the page in which the top begins, if that page was
                             * written to, else 0. While it is set, a tag stands at the top */
    uintptr_t top_used;     /* the top from here on was never used */
    uint64_t top_stamp_ms;  /* when something was last joined to the top; PURGED */
    uintptr_t top_cursor;   /* pages before it have been purged since */
    uintptr_t populated;    /* pages up to here are populated, or are not to be */
    bool large_blocks;      /* the top's slot has blocks that may never be filled */
    bool fills;             /* such blocks in the slot before were filled */
    struct pace pace;
    uintptr_t spare, spare_end;    /* pages for records that were cut from the top together */
    struct chunk *oldest, *newest; /* free chunks from AGED_MIN on, by when they became free */
    struct heir heir;              /* during one operation */
    uint64_t bin_summary;
    uint64_t bin_bits[BIN_WORDS];
    struct chunk *late[LATE_MOST]; /* chunks that are free and not yet joined */
    unsigned late_count;
    struct chunk *first[BIN_COUNT];  /* of each bin: what a request takes */
    struct rb_node *root[BIN_TREES]; /* of those that are trees */
    struct region *regions;          /* newest first */
    struct region *top_region;
    size_t reserved_bytes; /* of all regions */
    size_t reserved_peak;
    size_t tree_used;    /* tags included */
    size_t record_pages; /* taken, spare ones not counted */
    size_t dirty_pages;  /* set bits of `dirty` in its regions */
    size_t purged_bytes;
    size_t slivers;
    size_t in_vain;      /* while less is kept, no whole huge page is searched for */
    unsigned idle;       /* how many chunks in a row had no whole huge page */
    size_t owed;         /* how much frees may still give back while too much is kept */
    size_t backlog;      /* the most that was kept since memory became due */
    size_t due;          /* bytes to be given back by age, a step at each operation */
    unsigned looks_in;   /* operations until the next look at the clock */
    struct large *large; /* in use */
    size_t large_bytes, large_count;
    uint64_t now_ms; /* of the last look at the clock */
    /* The bucket components. */
    struct lock threads_lock;
    struct arena *arenas;
    struct arena *free_arenas[2];        /* [0]: those with records */
    struct arena *sharers[SHARERS_MOST]; /* arenas with records, by number */
    unsigned share_next;
    size_t arena_count;
    struct arena *common; /* for threads that are ending, and independent heaps */
    bool independent;
    struct heap *next;
};

extern struct heap bfm_default_heap;
extern HIDDEN _Atomic(struct leaf *) bfm_leaves[LEAF_COUNT];

static inline struct leaf *layout_leaf_of(uintptr_t address)
{
    return atomic_load_explicit(&bfm_leaves[address >> LEAF_SHIFT & (LEAF_COUNT - 1)],
                                memory_order_acquire);
}

static inline size_t layout_leaf_page(uintptr_t address)
{
    return address >> PAGE_SHIFT & (LEAF_PAGES - 1);
}

/* Atomic, as several threads may set a page's CODE_TREE at the same time. */
static inline unsigned layout_code(const struct leaf *leaf, uintptr_t address)
{
    return __atomic_load_n(&leaf->code[layout_leaf_page(address)], __ATOMIC_RELAXED);
}

static inline void layout_set_code(struct leaf *leaf, uintptr_t address, unsigned code)
{
    __atomic_store_n(&leaf->code[layout_leaf_page(address)], (uint8_t)code, __ATOMIC_RELAXED);
}

static inline struct record *layout_record_of(uintptr_t address)
{
    return &layout_leaf_of(address)->record[layout_leaf_page(address)];
}

static inline uintptr_t layout_record_page(const struct record *record)
{
    return (((uintptr_t)record->page_high << 32) | record->page_low) << PAGE_SHIFT;
}

static inline size_t layout_round_up(size_t value, size_t to)
{
    return (value + to - 1) & ~(to - 1);
}

static inline size_t layout_round_down(size_t value, size_t to)
{
    return value & ~(to - 1);
}

#endif

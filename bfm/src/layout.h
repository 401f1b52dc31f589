/* How BFM's memory is laid out: the glossary of this room. bfm/doc/BFM.md says why, with
 * measurements.
 *
 *   page     8 KiB (1024 pointers), aligned: the unit of the page map
 *   record   a page that holds blocks of one class (the report's page record)
 *   chunk    any stretch of a tree component, with a tag of 8 bytes in front of its payload
 *   area     pages that lie beside each other and belong to the tree component's chunks
 *   region   what was mapped at one go: areas, records, and at its end the top
 *   top      the end of the newest region that was never cut: never written to but for a tag
 *            where it begins in a page that was (top_near)
 *   leaf     the page map of 1 GiB of addresses
 *   arena    a bucket component: the records of one thread (many over one tree component)
 *   heap     one tree component and its arenas
 *
 *   region  │8│chunk│chunk│chunk│8│ record │ record │8│chunk│chunk│8│ record │8│chunk│ top …      │
 *            └──────── area ─────┘                   └─── area ────┘
 *
 * A region begins one page before a multiple of 2 MiB (a slot), so that its first tag, too, lies in
 * a small page.
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

/* Of this library alone: read without a look into a table of addresses. */
#define HIDDEN __attribute__((visibility("hidden")))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PAGE_SHIFT 13
#define PAGE_BYTES ((size_t)1 << PAGE_SHIFT)
#define ALIGN      ((size_t)16)

/* Requests up to here come from buckets: 64 pointers. */
#define SMALL_MAX ((size_t)512)
/* Requests from here on get a mapping of their own. Below, a block's pages are at most 4097, in 66
 * words of the page map: what bounds every loop over the pages of one block. */
#define LARGE_MIN ((size_t)32 << 20)
/* But when there is no mapping to be had, a block may be a chunk of less than this. */
#define CHUNK_MOST ((size_t)1 << 30)

/* Huge pages are thought of once a heap has this size: small programs stay small. From the first
 * size on where the program does little else than fill its memory. */
#define HUGE_EARLY ((size_t)8 << 20)
#define HUGE_FROM  ((size_t)16 << 20)
/* What small pages cost is found out just before. */
#define PACE_FROM (HUGE_EARLY - 3 * SLOT_BYTES)

#define LEAF_SHIFT  30
#define LEAF_PAGES  ((size_t)1 << (LEAF_SHIFT - PAGE_SHIFT))
#define LEAF_COUNT  ((size_t)1 << (48 - LEAF_SHIFT))
#define SLOT_SHIFT  21
#define SLOT_BYTES  ((size_t)1 << SLOT_SHIFT)
#define LEAF_SLOTS  ((size_t)1 << (LEAF_SHIFT - SLOT_SHIFT))
#define GROUP_PAGES ((size_t)512) /* 4 MiB, with 32 KiB of records */
/* 1 MiB: its records and its part of `tiny` are whole pages of the system's. */
#define FORGET_PAGES ((size_t)128)
#define FORGET_BYTES (FORGET_PAGES * PAGE_BYTES)

/* code 0: no record of the default heap. CODE_TREE: a page of the default heap's tree component,
 * which a free has found out (middle.c): the next free of a block of the page needs no closer
 * look. */
enum { CLASS_COUNT = 29, CLASS_CODES = CLASS_COUNT + 1, CODE_TREE = CLASS_CODES };

/* A free block of a record on its way between threads; nothing is written to other free blocks. */
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
    uint8_t marked : 1; /* its blocks are: see mark.h */
    uint8_t code;       /* class + 1 */
    uint16_t free_count;
    uint64_t free_bits[4];
};
_Static_assert(sizeof(struct record) == 64, "one cache line");

/* A mapping of its own, kept in the record of its first page: no page is spent on it. */
struct large {
    struct large *next, *prev; /* of its heap, or of the cache */
    struct heap *heap;         /* NULL: in the cache */
    uint64_t stamp_ms;         /* when it came into the cache */
    uintptr_t start;
    size_t bytes;
    uintptr_t resident_end; /* in the cache: behind it nothing is resident */
    uint64_t unused;
};
_Static_assert(sizeof(struct large) == 64, "stands in for a record");

struct region {
    uintptr_t start, end;
    struct heap *heap;
    struct region *next;
    uint64_t huge_slots[9]; /* where huge pages were asked for, by 2 MiB */
};

/* Whoever owns a page's block may read its `code` and record without a lock; all is written under
 * the lock of the heap (code, dirty, taken, populated, region) or the arena (records, tiny). */
struct leaf {
    uint8_t code[LEAF_PAGES];          /* what free() looks at: class + 1, CODE_TREE, or 0 */
    _Atomic uint8_t kind[LEAF_PAGES];  /* enum record_kind */
    uint64_t taken[LEAF_PAGES / 64];   /* the page is not the tree component's */
    uint64_t dirty[LEAF_PAGES / 64];   /* the page may hold something else than zeros */
    struct region *region[LEAF_SLOTS]; /* by 2 MiB */
    /* Along pages of the system's, so that those of 1 MiB can be given back. */
    struct record record[LEAF_PAGES] __attribute__((aligned(4096)));
    uint64_t tiny[LEAF_PAGES][4] __attribute__((aligned(4096)));
    _Atomic bool populated[LEAF_PAGES / GROUP_PAGES]; /* their records are resident */
    bool described[LEAF_PAGES / FORGET_PAGES];        /* some of their records may be resident */
};

/* A chunk. Its neighbours are found without a list: the next by the size, the previous, if free, by
 * the 8 bytes before the tag.
 *
 *   tag = size | flags | check of 16 bits (chunk.h);  size % ALIGN == 0
 *   chunk % ALIGN == 8
 *   free = not CHUNK_USED: the last 8 bytes hold the size, neither neighbour is free or the top
 *   free, size >= TREE_MIN: in the list (below BIN_EXACT_END) or tree of bin_of(size)
 *   free, size >= AGED_MIN, stamp_ms != PURGED: in the list from `oldest` to `newest`
 *   free: what of it lies in no whole page counts in `slivers` (age.h) */
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
    uintptr_t cursor; /* pages before it have been purged; see CURSOR_FRONT */
};

/* A bit of a cursor: what became free before it since then is looked at when the end is reached. */
#define CURSOR_FRONT ((uintptr_t)1)

#define CHUNK_USED      ((uint64_t)1)
#define CHUNK_PREV_FREE ((uint64_t)2) /* the 8 bytes before this tag are the size of a free chunk */
#define CHUNK_FENCE     ((uint64_t)4) /* end of an area */
/* in use for its neighbours, but freed: among the heap's `late` */
#define CHUNK_LATE  ((uint64_t)8)
#define CHUNK_FLAGS ((uint64_t)15)
#define CHUNK_TAG   sizeof(uint64_t)
/* In use, and the hook is told of it (mark.h). No size has this bit, and no chunk on a shelf. */
#define CHUNK_MARKED    ((uint64_t)1 << 31)
#define CHUNK_SIZE_MASK ((((uint64_t)1 << 48) - 1) & ~CHUNK_FLAGS & ~CHUNK_MARKED)

/* The smallest chunk that a request can want: smaller free ones are in no tree; they wait to be
 * joined. */
#define TREE_MIN ((size_t)528)
/* Free chunks from here on hold at least one whole page of the system's between their tags: what is
 * given back. */
#define AGED_MIN ((size_t)8272)

/* The stamp of a free chunk that has nothing to give back: it is not in the list by age. */
#define PURGED UINT64_MAX

/* So many arenas have records at most: SHARERS_PER_CPU a processor. */
enum { SHARERS_MOST = 128, SHARERS_PER_CPU = 4, SHARERS_LEAST = 8 };

/* Bins by size: each multiple of 16 below 16 KiB has its own, a list: what was freed last is taken
 * first. From there there are 16 per power of two, each a tree ordered by (size, address), so the
 * first that fits is the best and lowest fit. */
#define BIN_EXACT_END ((size_t)16384)
/* clang-format off */
enum { BIN_EXACT = 1024, BIN_OCTAVES = 17, BIN_TREES = 16 * BIN_OCTAVES, BIN_COUNT = BIN_EXACT + BIN_TREES,
       BIN_WORDS = (BIN_COUNT + 63) / 64 };
/* clang-format on */

/* So many chunks that are freed one after the other wait to be joined: see bfm_tree.c. */
enum { LATE_MOST = 8 };

struct record_list {
    struct record *first;
};

/* When the next block of each class is marked (mark.h): so many blocks are handed out before it,
 * and so many of its stratum after it. */
struct marks {
    uint64_t random; /* 0: nothing is drawn yet */
    uint16_t before[CLASS_CODES], after[CLASS_CODES];
};

/* A bucket component. Its owner takes its lock at each refill, others try to and otherwise leave
 * their blocks on `remote`, so nobody waits to free. */
struct arena {
    struct lock lock;
    bool owned;      /* its cache, by a living thread; under the heap's threads_lock */
    unsigned number; /* by age; from heap_sharers() on without records: see cache.h */
    struct heap *heap;
    struct record_list white[CLASS_CODES], black[CLASS_CODES];
    struct record_list marked_white[CLASS_CODES], marked_black[CLASS_CODES];
    struct marks marks;             /* under the lock */
    _Atomic(struct block *) remote; /* pushed by anyone, taken whole by who has the lock */
    struct block *pending;          /* taken from `remote`, not yet put: under the lock */
    struct arena *next_all;         /* never leaves the list */
    struct arena *next_free;        /* its cache is without a thread */
    struct cache *cache;
    size_t record_count; /* under the lock */
    size_t free_bytes;   /* of its records, under the lock */
};

/* The largest free chunk that an operation has taken out of the list by age so far. What it
 * becomes, larger or smaller, takes its place in the list. */
struct heir {
    size_t size; /* 0: none */
    uintptr_t start, cursor;
    uint64_t stamp_ms;
    struct chunk *older; /* it stood behind this */
};

/* How long the program takes to fill 2 MiB of the top: see pace.h. */
struct pace {
    uint64_t small_ns, huge_ns; /* 0: not known */
    uint64_t took_ns;           /* what the last slot took; 0: not known */
    uint64_t entered_ns;        /* processor time when the top came into its slot; 0: not known */
    uintptr_t slot_next;        /* the slot after it */
    uintptr_t stretch_end;      /* up to here huge pages were asked for; 0 */
    unsigned small_seen;        /* slots of small pages that went into small_ns */
    bool unclear;               /* the last slot of huge pages said nothing of pages */
    unsigned huge_stretch;      /* the last one, in slots */
    unsigned rest;              /* so many slots until they are asked for again */
};

/* bfm_check() looks at all of these (bfm_check.c):
 *
 *   top <= top_end = top_region->end - 8
 *   tree_used = sum of the sizes of the chunks with CHUNK_USED
 *   late_count = number of chunks with CHUNK_LATE <= LATE_MOST
 *   bin_bits has bit b   <=>  first[b] != NULL  (<=>  root[b - BIN_EXACT] != NULL)
 *   bin_summary has bit w  <=>  bin_bits[w] != 0
 *   stamp_ms ascends from `oldest` to `newest`
 *   dirty_pages = number of set bits of `dirty` in the heap's regions
 *   slivers = sum over the free chunks of what lies in no page that could be given back
 *   kept = dirty_pages * PAGE_BYTES - tree_used - record_pages * PAGE_BYTES - slivers
 *                                                                              (heap_kept) */
struct heap {
    struct lock lock;
    /* The tree component. */
    uintptr_t top, top_end; /* the top is [top, top_end); both 0 without a region */
    uintptr_t top_near;     /* up to here it may move with no more ado: the end of a page that was
                             * written to. While there is one, a tag stands at the top. 0: none */
    uintptr_t top_used;     /* the top from here on was never used */
    uint64_t top_stamp_ms;  /* when something was last joined to the top; PURGED */
    uintptr_t top_cursor;   /* pages before it have been purged since */
    uintptr_t populated;    /* the kernel was asked for pages up to here */
    bool large_blocks;      /* the top's slot has blocks that may never be filled */
    bool fills;             /* those of the slot before were */
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
    size_t in_vain;      /* below this no whole huge page is searched for */
    unsigned idle;       /* so many chunks in a row had none */
    size_t owed;         /* may be given back by who freed so much, while too much is kept */
    size_t backlog;      /* the most that was kept since something is due */
    size_t due;          /* is to be given back because of its age, a step at each operation */
    unsigned looks_in;   /* so many operations until the next look at the clock */
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

/* Threads with blocks of one page of the tree component may find out at the same time that it
 * is. */
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

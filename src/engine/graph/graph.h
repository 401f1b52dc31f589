/* The live blocks of a process at one moment as a graph: which block holds the address of which.
 *
 *   roots     ┊ ──▶ 7, 3 …                                  variables, stacks, registers
 *   blocks    ┊ 0 ──▶ 4, 9   ┊ 1 ──▶        ┊ 2 ──▶ 0 …               by the words that lie in them
 *   ranges    ┊ 0 ──▶ 5, 2   ┊ 1 ──▶ …                       what the program has mapped itself
 *
 * The graph is conservative: each aligned word that is an address in a live block counts as a
 * pointer, as in valgrind's memcheck. A pointer is a *start* pointer if it is the address of the
 * block, or one of those that C++ makes of it (graph_scan.c). Any other address inside is an
 * *interior* pointer.
 *
 * Order of use: graph_begin(), graph_keep_holders() if graph_dominate() will be asked,
 * graph_add_roots() for all roots, graph_add_words() for the blocks and graph_add_range_words() for
 * the ranges in the order of their numbers, then graph_reach() and graph_chain_find(), and at last
 * graph_dominate(), which takes the edges.
 *
 * Invariants
 *   blocks[i].address + size <= blocks[i + 1].address                  (a block of 0 bytes takes 1)
 *   first[i] <= first[i + 1],  edges of block i = to[first[i] .. first[i + 1])
 *   block number of an edge = edge & GRAPH_NUMBER < count
 *   roots [roots.count - name_count, roots.count) are names
 *
 * Memory: 4 bytes an edge, 5 bytes a block and 1 MiB for each GiB of addresses with blocks, beside
 * what reach (5 bytes a block) and dominators take; 8 bytes a root where holders are kept. Not
 * thread-safe; different graphs are independent. */
#ifndef TIDEMARK_GRAPH_GRAPH_H
#define TIDEMARK_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed from the caller, sorted by address and disjoint. */
struct graph_block {
    uint64_t address, size_bytes;
};

/* What is looked up beside the words that are added. Both may be called for any address. */
struct graph_memory {
    /* Copies `count` words from an aligned address. False: they cannot be read. */
    bool (*read)(void *context, uint64_t address, uint64_t *words, size_t count);
    /* Does a table of virtual functions begin there? */
    bool (*is_vtable)(void *context, uint64_t address);
    /* Is it an address of code? NULL: the program has no objects of GLib's. */
    bool (*is_code)(void *context, uint64_t address);
    void *context;
};

#define GRAPH_INTERIOR  (1u << 31)
#define GRAPH_BORROWED  (1u << 30) /* leads somewhere, and holds nothing: a weak reference */
#define GRAPH_NUMBER    (GRAPH_BORROWED - 1)
#define GRAPH_NONE      UINT32_MAX
#define GRAPH_MAX_COUNT GRAPH_NUMBER

struct graph_edges {
    uint32_t *to;
    size_t count, room;
};

/* How much of a block is in use, as the words beside a pointer to it say (graph_fill.c). */
enum graph_fill_shape {
    GRAPH_FILL_VECTOR = 0, /* begin, end, end of the room */
    GRAPH_FILL_STRING,
    GRAPH_FILL_HASH, /* buckets of a table */
    GRAPH_FILL_RUST_HASH,
    GRAPH_FILL_RUST_VEC, /* weak: three small numbers can look like it */
    GRAPH_FILL_SHAPES
};
struct graph_fill {
    uint32_t block;
    uint32_t unit; /* bytes of an element; 0: the shape does not say */
    uint64_t used_bytes;
    enum graph_fill_shape shape;
};

struct graph {
    const struct graph_block *blocks;
    uint32_t count;
    struct graph_memory memory;
    uint64_t low, span; /* no block has an address outside [low, low + span) */
    uint32_t **leaves;  /* by GiB: number + 1 of the first block that reaches into a page; NULL: the
                           blocks are few */
    uint32_t *large;    /* numbers of the blocks that are not in there */
    size_t large_count, large_room;
    struct graph_edges roots, edges;
    size_t name_count;
    uint32_t *first; /* count + 1 of them */
    uint32_t next;   /* the block after the one whose words were added last */
    uint8_t *known;  /* of each block: what graph_scan.c found out about its beginning */
    bool no_memory;

    bool finds_fill; /* set by the caller before words are added */
    struct graph_fill *fills;
    size_t fill_count, fill_room;

    /* with graph_keep_holders() */
    bool keeps_holders;
    uint64_t *root_at; /* by root: where its word lies; 0: in no memory */
    size_t root_room;
    const struct graph_block *ranges;
    uint32_t range_count;
    struct graph_edges range_edges;
    uint32_t *range_first; /* range_count + 1 of them */
    uint32_t next_range;
};

/* 0, -ENOMEM, or -ERANGE: more blocks, or higher addresses, than fit. `blocks` must outlive the
 * graph. */
int graph_begin(struct graph *graph, const struct graph_block *blocks, size_t count,
                const struct graph_memory *memory);
void graph_release(struct graph *graph);

/* Roots' places are kept, and ranges become nodes: memory that is no block, and that pointers lead
 * from and to. Sorted by address and disjoint, beside blocks too; they must outlive the graph.
 * Before anything is added. 0 or -ENOMEM. */
int graph_keep_holders(struct graph *graph, const struct graph_block *ranges, size_t count);

/* The words of memory that is no block: of a variable, a stack, a register. They lie from `address`
 * on; 0: in no memory. */
void graph_add_roots(struct graph *graph, uint64_t address, const uint64_t *words, size_t count);
/* The next words of a block, aligned ones only. Blocks come in the order of their numbers; those
 * without words may be left out. */
void graph_add_words(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);
/* The same of words that hold nothing. What they lead to can be reached. */
void graph_add_borrowed_words(struct graph *graph, uint32_t block, const uint64_t *words,
                              size_t count);
/* The next words of a range, likewise. To graph_reach() they are roots. */
void graph_add_range_words(struct graph *graph, uint32_t range, const uint64_t *words,
                           size_t count);
/* After all words of the block, of which these are the first ones: what fontconfig points to by
 * offsets (graph_offsets.c). Where the program has that library only. */
void graph_add_offsets(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);

/* ---- What a run-time knows of its own objects, after all words were added ---- */

/* A block's edges to those blocks that have a bit of `mask` in `marks` (one byte a block) hold
 * nothing. */
void graph_borrow(struct graph *graph, uint32_t block, const uint8_t *marks, uint8_t mask);
/* The last words of a block hold nothing, of which these are copies. */
void graph_borrow_last(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);
/* A root for holders alone, with graph_keep_holders(): what the run-time calls the block. It says
 * nothing of what can be reached. `address`: where the word lies that holds it. No other root may
 * come after it. */
void graph_add_name(struct graph *graph, uint64_t address, uint32_t block);
/* Edges that hold nothing go: before graph_dominate(), after graph_reach(). */
void graph_forget_borrowed(struct graph *graph);

/* The number of the block that an address lies in; GRAPH_NONE: in none. */
uint32_t graph_find(const struct graph *graph, uint64_t address);
/* The same of ranges. */
uint32_t graph_find_range(const struct graph *graph, uint64_t address);

/* ---- How full blocks are
 * ---------------------------------------------------------------------- */

/* The word `at` points into the block. */
void graph_fill_see(struct graph *graph, uint32_t number, const uint64_t *words, size_t at,
                    size_t count);
/* After all words: `fills` has one row for each block whose holders agree, by number. */
void graph_fill_settle(struct graph *graph);
void graph_fill_forget(struct graph *graph);

/* ---- What can be reached --------------------------------------------------------------------- */

/* The classes of memcheck's leak check (mc_leakcheck.c of valgrind), by the same rules. */
enum graph_class {
    GRAPH_LOST = 0,  /* no pointer to it was found ("definitely lost"): the head of an island */
    GRAPH_INDIRECT,  /* only lost blocks point to it */
    GRAPH_POSSIBLE,  /* every chain of pointers from a root has an interior one */
    GRAPH_REACHABLE, /* a chain of start pointers leads to it */
    GRAPH_CLASSES
};

/* An island: a lost block and what hangs below it. */
struct graph_island {
    uint32_t head;                           /* block number */
    uint64_t indirect_count, indirect_bytes; /* without the head */
};

struct graph_reach {
    uint8_t *classes;             /* enum graph_class, by block number */
    uint32_t *heads;              /* by block number: of an indirect block the head of its island */
    struct graph_island *islands; /* by the number of the head */
    size_t island_count;
    uint64_t counts[GRAPH_CLASSES], bytes[GRAPH_CLASSES];
};

/* Finishes the edges. 0 or -ENOMEM. */
int graph_reach(struct graph *graph, struct graph_reach *reach);
void graph_reach_release(struct graph_reach *reach);

/* ---- Who keeps it ---------------------------------------------------------------------------- */

/* A holder is what the caller makes of roots: a variable, a stack. Holders have a *rank*, and what
 * one of a lower rank leads to is not looked for in those of higher ranks: a stack that points into
 * a table for a moment does not keep what the table keeps. So each node belongs to the lowest rank
 * from which it can be reached, and only edges within a rank count. A range that nothing points to
 * is a holder itself, of a rank behind all others. */
struct graph_holders {
    const uint32_t *of_roots; /* by root */
    const uint8_t *ranks;     /* by holder, rising */
    uint32_t count;
};

/* Nodes are the root (0), the holders, the blocks and the ranges, in this order. A node *dominates*
 * another if every chain of pointers within its rank passes through it: if it let go, that one
 * would be lost, or kept by a higher rank.
 *
 * Nodes that can be reached have an *order* in which a search from the root meets them; a dominator
 * comes before what it dominates. */
struct graph_dominators {
    uint32_t holder_count, node_count;
    uint32_t count;       /* orders; order 0 is the root */
    uint32_t unheld;      /* the first order of ranges that nothing points to, and what they hold */
    uint32_t *nodes;      /* by order */
    uint32_t *orders;     /* by node; GRAPH_NONE: it cannot be reached */
    uint32_t *dominators; /* by order: the order of the nearest one; of 0: 0 */
};

/* The last thing that is asked: it takes the edges. 0, -ENOMEM, or -ERANGE: more edges
 * than fit. */
int graph_dominate(struct graph *graph, const struct graph_holders *holders,
                   struct graph_dominators *out);
void graph_dominators_release(struct graph_dominators *dominators);

static inline uint32_t graph_node_of_block(const struct graph_dominators *dominators,
                                           uint32_t block)
{
    return 1 + dominators->holder_count + block;
}

/* A chain of pointers: from a root's word to nodes[0], from that to nodes[1], and so on. */
enum { GRAPH_CHAIN_RANKS = 8 };
struct graph_chain {
    uint32_t root;   /* index into roots; GRAPH_NONE: nodes[0] is a range that nothing points to */
    uint32_t *nodes; /* blocks; from graph.count on ranges. malloc'd */
    uint32_t count;  /* 0: nothing leads there */
};
/* The shortest one to the block, from roots of the lowest rank that has one, without edges that
 * hold nothing. `ranks`: by root,
 * below GRAPH_CHAIN_RANKS. With graph_keep_holders(). 0, -ENOMEM or -ERANGE. */
int graph_chain_find(struct graph *graph, const uint8_t *ranks, uint32_t block,
                     struct graph_chain *out);

#endif

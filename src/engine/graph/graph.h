/* The live blocks of a process at one moment as a graph: which block holds the address of which.
 *
 *   roots     ┊ ──▶ 7, 3 …                                  variables, stacks, registers
 *   blocks    ┊ 0 ──▶ 4, 9   ┊ 1 ──▶        ┊ 2 ──▶ 0 …               by the words in them
 *   ranges    ┊ 0 ──▶ 5, 2   ┊ 1 ──▶ …                       what the program has mapped itself
 *
 * The graph is conservative: each aligned word that is an address in a live block counts as a
 * pointer, as in valgrind's memcheck. A pointer is a *start* pointer if it is the address of the
 * block, or an address inside that stands for its beginning (graph_scan.c). Any other address
 * inside is an *interior* pointer.
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

/* The process's memory, for what is looked up beside the words that are added. The functions may be
 * called for any address. */
struct graph_memory {
    /* Copies `count` words from an aligned address. False: they cannot be read. */
    bool (*read)(void *context, uint64_t address, uint64_t *words, size_t count);
    /* Does a table of virtual functions begin at the address? */
    bool (*is_vtable)(void *context, uint64_t address);
    /* Is it an address of code? NULL: the program does not use GLib's objects. */
    bool (*is_code)(void *context, uint64_t address);
    void *context;
};

#define GRAPH_INTERIOR  (1u << 31)
#define GRAPH_BORROWED  (1u << 30) /* a weak reference: its block is reached, but not held */
#define GRAPH_NUMBER    (GRAPH_BORROWED - 1)
#define GRAPH_NONE      UINT32_MAX
#define GRAPH_MAX_COUNT GRAPH_NUMBER

struct graph_edges {
    uint32_t *to;
    size_t count, room;
};

/* How much of a block is in use, by the words beside a pointer to it (graph_fill.c). */
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
    uint32_t unit; /* bytes of an element; 0: not known from the shape */
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
    uint32_t *large;    /* numbers of the blocks that are too large for `leaves` */
    size_t large_count, large_room;
    struct graph_edges roots, edges;
    size_t name_count;
    uint32_t *first; /* count + 1 entries: see the invariants */
    uint32_t next;   /* the block after the one whose words were added last */
    uint8_t *known;  /* by block: what graph_scan.c has found at its beginning */
    bool no_memory;

    bool finds_fill; /* set by the caller before words are added */
    struct graph_fill *fills;
    size_t fill_count, fill_room;

    /* with graph_keep_holders() */
    bool keeps_holders;
    uint64_t *root_at; /* by root: the address of its word; 0: a register */
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

/* Keeps the addresses of roots, and makes nodes of ranges: memory that is no block, and that
 * pointers lead from and to. Ranges are sorted by address and disjoint, and must outlive the graph.
 * An address in a block is the block's, whatever range is around it. Called before anything is
 * added. 0, -ENOMEM, or -ERANGE: too many ranges, or too high addresses. */
int graph_keep_holders(struct graph *graph, const struct graph_block *ranges, size_t count);

/* Adds words outside of blocks: of a variable, a stack, a register. They lie from `address` on; 0:
 * registers. */
void graph_add_roots(struct graph *graph, uint64_t address, const uint64_t *words, size_t count);
/* Adds the next aligned words of a block. Blocks come in the order of their numbers; blocks without
 * words may be left out. */
void graph_add_words(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);
/* The same for weak references: what they point to is reached, but not held by them. */
void graph_add_borrowed_words(struct graph *graph, uint32_t block, const uint64_t *words,
                              size_t count);
/* Adds the next words of a range, likewise. For graph_reach() they are roots. */
void graph_add_range_words(struct graph *graph, uint32_t range, const uint64_t *words,
                           size_t count);
/* Adds edges for the offsets that fontconfig uses as pointers (graph_offsets.c). Called after all
 * words of the block were added, with its first words, and only where the program has that
 * library. */
void graph_add_offsets(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);

/* ---- What a run-time says of its own objects, after all words were added ---- */

/* Makes weak references of a block's edges to those blocks that have a bit of `mask` in `marks`
 * (one byte a block). */
void graph_borrow(struct graph *graph, uint32_t block, const uint8_t *marks, uint8_t mask);
/* Makes weak references of the edges of a block's last words. `words`: copies of these words. */
void graph_borrow_last(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);
/* The same for all edges but those of a block's first words. */
void graph_borrow_after(struct graph *graph, uint32_t block, const uint64_t *words, size_t count);
/* Adds a root that only graph_dominate() uses, with graph_keep_holders(): the run-time has a name
 * for the block. graph_reach() ignores it. `address`: of the word that holds the block. No other
 * root may be added after it. */
void graph_add_name(struct graph *graph, uint64_t address, uint32_t block);
/* Removes the weak references: after graph_reach(), before graph_dominate(). */
void graph_forget_borrowed(struct graph *graph);

/* The number of the block that an address lies in; GRAPH_NONE: in none. */
uint32_t graph_find(const struct graph *graph, uint64_t address);
/* The same of ranges. */
uint32_t graph_find_range(const struct graph *graph, uint64_t address);

/* ---- How full blocks are --------------------------------------------------------------------- */

/* Looks for an owner of the block: words[at] points into the block. */
void graph_fill_see(struct graph *graph, uint32_t number, const uint64_t *words, size_t at,
                    size_t count);
/* After all words: leaves in `fills` one row for each block whose owners agree, by block number. */
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

/* Classifies all blocks. Nothing can be added afterwards. 0 or -ENOMEM. */
int graph_reach(struct graph *graph, struct graph_reach *reach);
void graph_reach_release(struct graph_reach *reach);

/* ---- Who keeps it ---------------------------------------------------------------------------- */

/* A holder is a group of roots that the caller names: a variable, a stack. Holders have a *rank*.
 * Each node belongs to the lowest rank from which it can be reached, and only edges within a rank
 * count: a stack that points into a table for a moment does not hold what the table holds. A range
 * that nothing points to is a holder itself, of a rank behind all others. */
struct graph_holders {
    const uint32_t *of_roots; /* by root */
    const uint8_t *ranks;     /* by holder, rising */
    uint32_t count;
};

/* In front of a top's number in graph_dominators.leads: the pointer lies in the top itself, and not
 * below it. */
#define GRAPH_LEAD_OWN (1u << 31)
#define GRAPH_LEAD_TOP (GRAPH_LEAD_OWN - 1)

/* Nodes are the root (0), the holders, the blocks and the ranges, in this order. A node *dominates*
 * another if every chain of pointers within the rank to the other node passes through it. Without
 * the dominator the other node would be lost, or held by a higher rank only.
 *
 * Nodes that can be reached are numbered in the *order* in which a search from the root finds them.
 * A dominator comes before the nodes that it dominates. */
struct graph_dominators {
    uint32_t holder_count, node_count;
    uint32_t count;   /* of orders; order 0 is the root */
    uint32_t unheld;  /* from this order on: ranges that nothing points to, and what they hold */
    uint32_t *nodes;  /* by order */
    uint32_t *orders; /* by node; GRAPH_NONE: it cannot be reached */
    uint32_t *dominators; /* by order: the order of the nearest one; of 0: 0 */

    /* A *top* is dominated by nothing but the root: a holder, or what no holder holds alone. All
     * pointers between nodes of different tops lead to tops. */
    uint32_t *tops;       /* by order: the order of the top that dominates it, or is it */
    uint32_t *leads;      /* orders of the tops that pointers to a top come from; 0: the root, which
                             makes the top a holder. Some stand more than once */
    uint32_t *lead_first; /* by order, count + 1 of them: where its leads begin */
};

/* Finds the nearest dominator of each node. It frees the edges, so it is the last call but for
 * graph_release(). 0, -ENOMEM, or -ERANGE: more than 2^31 nodes, or 2^32 edges. */
int graph_dominate(struct graph *graph, const struct graph_holders *holders,
                   struct graph_dominators *out);
/* Frees the tops and their leads, which only graph_share() asks for. */
void graph_dominators_forget_tops(struct graph_dominators *dominators);
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
    uint32_t count;  /* 0: there is no chain to the block */
};
/* The shortest chain to the block from the roots of the lowest rank that has one, without weak
 * references. `ranks`: by root, below GRAPH_CHAIN_RANKS. With graph_keep_holders(). The caller
 * frees out->nodes. 0, -ENOMEM, or -ERANGE: too many roots. */
int graph_chain_find(struct graph *graph, const uint8_t *ranks, uint32_t block,
                     struct graph_chain *out);

#endif

/* The memory of a thread's last capture, and the structures that a capture works with. */
#ifndef TIDEMARK_UNWIND_CAPTURE_MEMORY_H
#define TIDEMARK_UNWIND_CAPTURE_MEMORY_H

#include "unwind/unwind_rules.h"
#include "unwind/stack_bounds.h"

/* A word of the stack that a walk read, and what it read. */
struct word {
    uintptr_t at, value;
};

/* The other data of a remembered frame. */
struct frame_state {
    uintptr_t bp;
    uint64_t hash;   /* of the path up to here */
    uint32_t node;   /* of the path up to here; 0: not looked up yet */
    uint32_t extras; /* extra words of frames 1 … this one */
    bool needs_bp;   /* this frame's caller, or one further out, follows from bp */
};

/* The remembered frames, outermost first:
 *
 *   index      0          1           2        …   count
 *   slots      at = max   return slot and address of each frame, descending addresses
 *   states     the root   …
 *   extras     1 … states[count].extras: saved frame pointers that outer frames need, CFA words of
 *              realigned frames, the zero that ends a stack; in the order of their frames
 *
 * Invariant: if every word of slots[1 … i-1] and of extras[1 … states[i].extras] has its value, and
 * a walk is at slots[i] with that ip (and states[i].bp, if it needs bp), then what is outside of it
 * is frames i-1 … 1. Two extras at most per frame, and the terminating zero. */
struct remembered {
    uint32_t capacity; /* frames, the sentinel 0 included */
    struct word *slots;
    struct frame_state *states;
    struct word *extras;
};

/* A frame as it is walked. */
struct fresh_frame {
    uintptr_t ip, sp, bp;
    rule what;
};

/* The frames of the walk under way, innermost first. */
struct fresh {
    uint32_t capacity;
    struct fresh_frame frames[];
};

/* Rules that this thread's walks have used lately: as in rules_cache, but densely.
 * There each address has nearly a cache line to itself, and those 700 KiB drive the program's own
 * data out of the second cache (cc1plus: 12,000 addresses, 600 of them are 95 % of what is asked
 * for). */
#define HOT_BITS 12
#define HOT_MASK ((1u << HOT_BITS) - 1)

/* A path of one frame. The words share memory with `hot`, and are never taken for a rule: neither
 * of them, without its lower 16 bits, is an address. */
struct capture_caller {
    uintptr_t ip; /* inverted */
    uint64_t node;
};

enum {
    ROUTE_WORDS = 20,
    ROUTE_WAYS = 4,
    ROUTE_SETS = 64, /* bits of a word */
    ROUTES_SEEN = 512,
};

/* A way from a hook to a remembered frame, its base (routes.h). */
struct known_route {
    struct word words[1 + ROUTE_WORDS]; /* [0]: slot and address of the start, which is not read;
                                         * [1]: of the base */
    uintptr_t bp;                       /* at the start, if needs_bp */
    uint64_t base_hash;                 /* the base's state then */
    uintptr_t base_bp;
    uint32_t node;
    uint32_t known; /* the base's number */
    uint16_t count; /* of words behind [0] */
    bool needs_bp, base_needs_bp;
};

struct route_set {
    uint32_t tags[ROUTE_WAYS]; /* 0: none */
    uint32_t next;             /* how many were put here */
    struct known_route routes[ROUTE_WAYS];
};

struct unwind_memory {
    /* The generation that the memory is good for; 0 while a capture is under way. If a capture
     * finds 0, a longjmp out of a signal handler has cut one short. */
    _Atomic uint32_t valid_for;
    uint32_t count;       /* remembered frames */
    bool unwalkable_root; /* the remembered frames begin with a mark */
    uint8_t why;          /* of a walk that has just ended early: the mark (enum wire_mark) */
    struct remembered *remembered;
    struct fresh *fresh;
    struct stack stack;
    /* written by the thread, read by whoever counts */
    _Atomic uint64_t unwalkable, cut;
    /* of scratches: the thread pointer of the thread that is using it; 0: free */
    _Atomic uintptr_t user;
    struct unwind_memory *next;         /* of all */
    struct unwind_memory *next_scratch; /* of the scratches, which captures without a memory
                                         * share */
    union {                             /* these are of the generation `valid_for` as well */
        _Alignas(64) uint64_t hot[HOT_MASK + 1];
        struct capture_caller
            callers[(HOT_MASK + 1) / 2]; /* where paths are callers: UNWIND_NONE */
    };
    uint32_t routes_tried, routes_found; /* of the captures that are being counted */
    uint32_t routes_rest;                /* captures that do without routes, which do not pay */
    uint32_t seen[ROUTES_SEEN];          /* nodes that were walked to, by number */
    uint64_t route_sets;                 /* a bit for each set that has routes */
    _Alignas(64) struct route_set routes[ROUTE_SETS];
};

/* Grows the room for frames; contents stay. False: no memory. A single pointer changes, when all is
 * ready, so the memory is consistent at every instruction. */
bool capture_memory_grow_remembered(struct unwind_memory *memory, uint32_t frames);
bool capture_memory_grow_fresh(struct unwind_memory *memory);

static inline uint64_t *memory_hot(struct unwind_memory *memory, uintptr_t ip)
{
    return &memory->hot[(ip ^ ip >> HOT_BITS ^ ip >> 2 * HOT_BITS) & HOT_MASK];
}

static inline struct capture_caller *memory_caller(struct unwind_memory *memory, uintptr_t ip)
{
    return &memory->callers[(ip ^ ip >> HOT_BITS) & (HOT_MASK >> 1)];
}

/* As rules_find(). Only rules that stay valid while the code is loaded are kept. */
static inline rule memory_rule(struct unwind_memory *memory, uintptr_t ip)
{
    uint64_t *hot = memory_hot(memory, ip);
    rule what;
    if (likely(*hot >> 16 == ip)) {
        return (rule)*hot;
    }
    what = rules_find(ip);
    if (likely(what < RULE_SPECIAL)) {
        *hot = (uint64_t)ip << 16 | what;
    }
    return what;
}

#endif

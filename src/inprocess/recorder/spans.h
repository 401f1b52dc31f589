/* Spans of addresses that do not overlap, in a treap: a binary tree by address whose nodes have
 * random priorities, which makes it as flat as a tree of random insertions. Nodes are taken from
 * batches, which a fork copies and which are never given back.
 *
 * One lock guards what is made of the nodes of one `struct spans`, several trees perhaps. A signal
 * handler that interrupts its holder does without. Runs inside the profiled program: no malloc,
 * errno kept. */
#ifndef TIDEMARK_RECORDER_SPANS_H
#define TIDEMARK_RECORDER_SPANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

enum { SPANS_BATCH_LOG2 = 14, SPANS_BATCHES = 4096 };

struct span {
    uintptr_t address;
    size_t bytes;
    uintptr_t tag; /* the user's */
};

struct span_node {
    struct span span;
    uint32_t left, right, priority;
    uint32_t before, after; /* in a list of the user's, 0: none; a free node: after */
    bool is_chunk;          /* the user's */
};

struct spans {
    struct span_node *batches[SPANS_BATCHES];
    uint32_t count, free; /* nodes ever used; the first free one */
    _Atomic(struct thread *) holder;
    bool is_stuck; /* the holder will not come back: nobody waits for it any more */
};

/* False: it could not be had, and nothing may be touched. */
bool spans_lock(struct spans *spans, struct thread *thread);
void spans_unlock(struct spans *spans);
/* All nodes are free: the caller empties its trees, and nobody else is at it. */
void spans_forget(struct spans *spans);
/* In the child of a fork. True: half of a change may be there, so all nodes were taken back, and
 * the caller empties its trees. */
bool spans_begin_in_child(struct spans *spans);

static inline struct span_node *spans_node(const struct spans *spans, uint32_t number)
{
    return &spans->batches[number >> SPANS_BATCH_LOG2][number & ((1u << SPANS_BATCH_LOG2) - 1)];
}

/* A node that is in no tree. 0: there is no memory. */
uint32_t spans_new(struct spans *spans, const struct span *span);
void spans_free(struct spans *spans, uint32_t number);

void spans_insert(struct spans *spans, uint32_t *root, uint32_t number);
/* The node stays the caller's. */
void spans_cut_out(struct spans *spans, uint32_t *root, uint32_t number);
/* The last one that begins at or below the address; 0: none. */
uint32_t spans_floor(const struct spans *spans, uint32_t root, uintptr_t address);
/* The first one that begins at or above it; 0: none. */
uint32_t spans_ceiling(const struct spans *spans, uint32_t root, uintptr_t address);
/* One that lies in [start, end) in part, the last one; 0: none. */
uint32_t spans_overlapping(const struct spans *spans, uint32_t root, uintptr_t start,
                           uintptr_t end);
/* Nothing of [from, to) lies in a span any more; what is left of one on either side is one. */
void spans_clear(struct spans *spans, uint32_t *root, uintptr_t from, uintptr_t to);

#endif

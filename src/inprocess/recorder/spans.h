/* Spans of addresses that do not overlap, in a treap: a binary tree by address whose nodes have
 * random priorities, so that it is as flat as a tree of random insertions. Nodes are taken from
 * batches, which a fork copies and which are never unmapped.
 *
 * One lock guards all trees that are made of the nodes of one `struct spans`. A signal handler that
 * interrupts the lock's holder cannot get it. Runs inside the profiled program: no malloc, errno
 * kept. */
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
    uintptr_t tag; /* the caller's */
};

struct span_node {
    struct span span;
    uint32_t left, right, priority;
    uint32_t before, after; /* in a list of the caller's, 0: none; of a free node, `after` is the
                             * next free one */
    bool is_chunk;          /* the caller's */
};

struct spans {
    struct span_node *batches[SPANS_BATCHES];
    uint32_t count, free; /* nodes ever used; the first free one */
    _Atomic(struct thread *) holder;
    bool is_stuck; /* the holder did not release the lock in time, so others try only once */
};

/* False: the lock could not be taken, and the caller may not use the trees. */
bool spans_lock(struct spans *spans, struct thread *thread);
void spans_unlock(struct spans *spans);
/* Frees all nodes. The caller empties its trees. While no other thread uses them. */
void spans_forget(struct spans *spans);
/* In the child of a fork. True: a thread of the parent held the lock, so a change may be half done.
 * Then all nodes were freed, and the caller empties its trees. */
bool spans_begin_in_child(struct spans *spans);

static inline struct span_node *spans_node(const struct spans *spans, uint32_t number)
{
    return &spans->batches[number >> SPANS_BATCH_LOG2][number & ((1u << SPANS_BATCH_LOG2) - 1)];
}

/* Makes a node that is in no tree yet. 0: no memory. */
uint32_t spans_new(struct spans *spans, const struct span *span);
void spans_free(struct spans *spans, uint32_t number);

void spans_insert(struct spans *spans, uint32_t *root, uint32_t number);
/* Takes the node out of the tree; it is not freed. */
void spans_cut_out(struct spans *spans, uint32_t *root, uint32_t number);
/* The last span that begins at or below the address; 0: none. */
uint32_t spans_floor(const struct spans *spans, uint32_t root, uintptr_t address);
/* The first span that begins at or above the address; 0: none. */
uint32_t spans_ceiling(const struct spans *spans, uint32_t root, uintptr_t address);
/* The last span that overlaps [start, end); 0: none. */
uint32_t spans_overlapping(const struct spans *spans, uint32_t root, uintptr_t start,
                           uintptr_t end);
/* Removes [from, to) from all spans; their rests on both sides stay as spans. */
void spans_clear(struct spans *spans, uint32_t *root, uintptr_t from, uintptr_t to);

#endif

/* Routes: the ways from hooks to remembered frames that were walked more than once.
 *
 * A program that takes blocks in turn at several places of one function, or of an interpreter's
 * loop, has another few frames on top of the same stack each time:
 *
 *   remembered   root ─▶ … ─▶ base ─▶ frames of the last walk
 *   a route                     └──▶ word ─▶ … ─▶ word ─▶ start {ip, sp, bp}     node
 *
 * A route has the words that a walk from `start` to the base reads, and the node that it led to. If
 * the start is the same, these words have their values, the base is the remembered frame that it
 * was, and what is outside of the base is as it is remembered, then a walk would find the same
 * frames again (unwind.h, "remember, then verify"). What is remembered stays as it is, so that the
 * next route finds it.
 *
 * All words of a route lie on the thread's own stack above the place of its start, so they are
 * mapped wherever a capture starts there. Routes belong to a memory, and are void when it is. */
#ifndef TIDEMARK_UNWIND_ROUTES_H
#define TIDEMARK_UNWIND_ROUTES_H

#include "unwind/capture_memory.h"
#include "unwind/unwind.h"

/* The node of a stack that is known by a route; 0: there is none. Writes nothing but counts, so it
 * may be interrupted and abandoned anywhere. */
uint32_t routes_find(struct unwind_memory *memory, const struct unwind_start *start);

/* To be called when a walk has met the remembered frame `known` and led to `node`, and all of its
 * frames are remembered. What comes a second time becomes a route. */
void routes_learn(struct unwind_memory *memory, uint32_t known, uint32_t node);

/* Drops all routes. */
void routes_forget(struct unwind_memory *memory);

#endif

/* What lies where, for allocators of the program's own that have no word for us but the names of
 * their functions (--allocator-functions). Their blocks lie in other blocks or in mappings, and end
 * in ways that nobody tells: with the memory that they lie in, with their pool, or when their place
 * is given away again.
 *
 *   memory   every live block of malloc's and every mapping, by address
 *   blocks   every live block of a pool, by address; and in a list with others of its pool
 *
 * The memory that a block of a pool is cut from counts no more from then on: it is told to be a
 * chunk. Both are under one lock, which is taken only where such functions are named. A signal
 * handler that interrupts its holder does without: a block is recorded then, and its place is not
 * known. Runs inside the profiled program: no malloc, errno kept. */
#ifndef TIDEMARK_RECORDER_POOLS_H
#define TIDEMARK_RECORDER_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recorder/spans.h"

struct thread;
struct unwind_start;

/* Set once by the session's beginning. */
extern bool pools_are_followed;
void pools_begin(bool follow);

/* After the real call; 0 is no memory. */
void pools_memory_begins(struct thread *thread, uintptr_t address, size_t bytes);
/* Before it. The blocks of pools that lie there end. */
void pools_memory_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                       uintptr_t address);
void pools_memory_is_unmapped(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, uintptr_t address, size_t bytes);

/* The tag of a block is its pool; 0: not known. */
/* What lay there ends, and the memory around it is a chunk's. To be recorded behind that. */
void pools_block_begins(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct span *block);
/* It ends, and is recorded to. False: none that is known begins there. */
bool pools_block_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      uintptr_t address, struct span *block);
/* All of a pool's. */
void pools_pool_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                     uintptr_t pool);

#endif

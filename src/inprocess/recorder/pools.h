/* The blocks of allocators of the program's own, of which we know only the names of their functions
 * (--allocator-functions). Their blocks lie in other blocks or in mappings. They may end without a
 * call for each: with the memory that they lie in, with their pool, or when their place is used
 * again.
 *
 *   memory   every live block of malloc's and every mapping, by address
 *   blocks   every live block of a pool, by address; and in a list with others of its pool
 *
 * Memory from which a pool's block is cut is recorded as a chunk, and does not count from then on.
 * One lock guards both sets, and is taken only if such functions are named. A signal handler that
 * interrupts the lock's holder goes on without: its block is recorded, but is not in the set. Runs
 * inside the profiled program: no malloc, errno kept. */
#ifndef TIDEMARK_RECORDER_POOLS_H
#define TIDEMARK_RECORDER_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recorder/spans.h"

struct thread;
struct unwind_start;

/* Are there such functions? Set when a session begins. */
extern bool pools_are_followed;
void pools_begin(bool follow);

/* To be called after the real call; address 0: no memory. */
void pools_memory_begins(struct thread *thread, uintptr_t address, size_t bytes);
/* To be called before the real call. The blocks of pools in this memory end. */
void pools_memory_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                       uintptr_t address);
void pools_memory_is_unmapped(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, uintptr_t address, size_t bytes);

/* The tag of a block is its pool; 0: not known. */
/* Ends blocks that were at this place, and records the memory around the block as a chunk. The
 * caller then records the block. */
void pools_block_begins(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct span *block);
/* Ends the block and records its end. False: no known block begins there. */
bool pools_block_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      uintptr_t address, struct span *block);
/* Ends all blocks of a pool. */
void pools_pool_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                     uintptr_t pool);

#endif

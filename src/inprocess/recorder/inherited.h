/* What the program has mapped, by address, with the call path of each range: the child of a fork
 * has that mapped too, and its recording begins with it. It has none of its parent's records, and
 * the numbers of its call paths are its own.
 *
 *   spans   every range that is mapped; its tag says which path, and what WIRE_MMAP says of it
 *   paths   the return addresses of each call path that has mapped something, in memory that a fork
 *           copies
 *
 * Kept only where children are recorded. Runs inside the profiled program: no malloc, errno
 * kept. */
#ifndef TIDEMARK_RECORDER_INHERITED_H
#define TIDEMARK_RECORDER_INHERITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

/* Set by the session's beginning. */
extern bool inherited_is_kept;
void inherited_begin(bool follow, bool is_child);
/* What was mapped is not known any more: the program ran on unrecorded. While nobody else is at
 * it. */
void inherited_forget(void);
/* By the first thread of a child, before its first event. */
void inherited_tell(struct thread *thread);

/* After the call. `said`: as WIRE_MMAP says it; of unknown kind: as the memory at `old`. */
void inherited_maps(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                    uint32_t said, uintptr_t old);
/* Before it. */
void inherited_unmaps(struct thread *thread, uintptr_t address, size_t bytes);
void inherited_detaches(struct thread *thread, uintptr_t address);
/* What was reserved and is memory now is `node`'s. */
void inherited_protects(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                        bool is_reserved);

#endif

/* The program's mappings by address, each with its call path. The child of a fork has the same
 * mappings, and its recording begins with them, because it has none of its parent's records. Its
 * call paths have numbers of their own.
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

/* Are mappings kept? Set when a session begins. */
extern bool inherited_is_kept;
void inherited_begin(bool follow, bool is_child);
/* Forgets all, because the program has run without a recording. While no other thread uses this. */
void inherited_forget(void);
/* Records the mappings, in the first thread of a child before its first event. */
void inherited_tell(struct thread *thread);

/* To be called after the real call. `said`: kind and flags of WIRE_MMAP; of unknown kind: as the
 * memory at `old`. */
void inherited_maps(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                    uint32_t said, uintptr_t old);
/* To be called before the real call. */
void inherited_unmaps(struct thread *thread, uintptr_t address, size_t bytes);
void inherited_detaches(struct thread *thread, uintptr_t address);
/* To be called after the real call. Memory that was only reserved before belongs to `node`. */
void inherited_protects(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                        bool is_reserved);

#endif

/* The recorder's side of the shared memory: chunks that are mapped on demand, rings, path nodes and
 * the module log. No descriptor is kept (wire/wire.h). The memory stays until the process image
 * ends, and the child of a fork does not have it. */
#ifndef TIDEMARK_RECORDER_SHARED_H
#define TIDEMARK_RECORDER_SHARED_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/wire.h"

/* Maps chunk 0 of `fd`; the descriptor may be closed afterwards. NULL on failure. */
struct wire_header *shared_open(int fd);
struct wire_header *shared_header(void); /* NULL before open and in the child of a fork */

/* Gives back all memory of a session that is over, shared and what private_map() gave: the next
 * session takes it again, or it is not there any more. Nobody may be using it. */
void shared_renew(void);

/* A ring that no living thread uses, set to active, with its data and number; NULL when memory or
 * chunks have run out. */
struct wire_ring *shared_take_ring(uint32_t tid, char **data, uint32_t *index);

/* Has a thread of this process ended for good, as far as may be asked? */
bool shared_thread_is_gone(uint32_t tid);

/* For the unwinder: chunk `index` of the nodes. */
struct wire_node *shared_map_nodes(uint32_t index);
void shared_publish_nodes(uint32_t count);

/* The chunk of names, made when first asked for; NULL: there is no room. One caller at a time. */
struct wire_name *shared_map_names(void);

/* Appends to the module log; `entry` is complete but for entry_bytes. NULL: no room. */
struct wire_module *shared_log_module(const struct wire_module *entry, const char *path);

/* Private memory: zeroed, counted in private_bytes. private_map() is the session's, and reads as
 * zero again in the child of a fork; private_map_lasting() does too, and outlives the session;
 * private_map_kept() outlives it and is copied in a fork as usual. NULL when there is none. */
void *private_map(size_t bytes);
void *private_map_lasting(size_t bytes);
void *private_map_kept(size_t bytes);
/* Whole pages of it: they read as zero and count no more. */
void private_give_back(void *memory, size_t bytes);

/* The program is about to have all its new memory locked (mlockall): ours is mapped without a lock
 * from here on, and counts against no limit on locks. */
void shared_keep_unlocked(void);
/* All that is ours: the library itself, private memory (the first WIRE_PRIVATE_RANGES), chunks. */
void shared_each_range(void (*visit)(void *context, uintptr_t start, uint64_t bytes),
                       void *context);

/* Private memory for a moment, which nobody is told of. NULL when there is none. */
void *private_borrow(size_t bytes);
void private_return(void *memory, size_t bytes);

#endif

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

/* Gives back all memory of a session that is over: the shared memory, and that of private_map(),
 * which the next session may use again. No thread may be using it. */
void shared_renew(void);

/* Takes a ring that no living thread uses and makes it active. *data: its records; *index: its
 * number. NULL: no memory, or no chunks are left. */
struct wire_ring *shared_take_ring(uint32_t tid, char **data, uint32_t *index);

/* Has this thread of the process ended? False also if a filter forbids to ask. */
bool shared_thread_is_gone(uint32_t tid);

/* For the unwinder: maps chunk `index` of the nodes; NULL: there is no more. And publishes
 * nodes. */
struct wire_node *shared_map_nodes(uint32_t index);
void shared_publish_nodes(uint32_t count);

/* Makes the chunk of names; NULL: there is no room. To be called once, by one thread. */
struct wire_name *shared_map_names(void);

/* Appends to the module log; `entry` is complete but for entry_bytes. Returns the entry in the log;
 * NULL: there is no room. */
struct wire_module *shared_log_module(const struct wire_module *entry, const char *path);

/* Private memory, zeroed and counted in private_bytes; NULL: no memory. That of private_map()
 * belongs to the session, and is zero in the child of a fork. That of private_map_lasting() is zero
 * there too, and outlives the session. That of private_map_kept() outlives the session, and a fork
 * copies it. */
void *private_map(size_t bytes);
void *private_map_lasting(size_t bytes);
void *private_map_kept(size_t bytes);
/* Gives back whole pages of such memory: they are zero afterwards, and do not count. */
void private_give_back(void *memory, size_t bytes);

/* To be called before the program has all its new memory locked (mlockall). From now on our memory
 * is mapped unlocked, and does not count against the limit. */
void shared_keep_unlocked(void);
/* Calls `visit` for all our memory: the library itself, private ranges, and chunks. */
void shared_each_range(void (*visit)(void *context, uintptr_t start, uint64_t bytes),
                       void *context);

/* For a fork whose child goes on inside a hook (forked.h). Between the first two functions, which
 * the parent calls, the child gets the private memory as it is. The third gives the child memory in
 * place of the shared one: the header's beginning, else zeros; nobody waits for a collector. */
void shared_keep_for_child(void);
void shared_wipe_for_child(void);
void shared_stand_in(void);
/* In the child: wipes its memory, as the kernel does otherwise. */
void shared_wipe(void);

/* Private memory for a short time, which is not counted; NULL: no memory. The contents are zero. */
void *private_borrow(size_t bytes);
void private_return(void *memory, size_t bytes);

#endif

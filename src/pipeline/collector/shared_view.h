/* The collector's view of one process image's shared memory: the file of chunks, which is made here
 * and mapped as it grows. The program can write anything into it, so all values are checked before
 * they are used. */
#ifndef TIDEMARK_COLLECTOR_SHARED_VIEW_H
#define TIDEMARK_COLLECTOR_SHARED_VIEW_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile_build/origins.h"
#include "wire/wire.h"

/* A robust list with one entry, as glibc's robust mutexes use. When the thread that made it ends,
 * the kernel marks a word in the shared memory. The list's links lie here and not in the shared
 * memory, because the program could overwrite them there. `before` is the list that the thread
 * had. */
struct death_mark {
    struct robust_list_head list;
    struct robust_list entry;
    struct robust_list_head *before;
    pid_t holder;
};

/* Chunks of one kind. The profile's writer reads the list on another thread while it grows, so the
 * list must not move. Most processes have the first few only. */
enum { CHUNKS_FIRST = 4 };
struct chunk_list {
    size_t count;
    void *first[CHUNKS_FIRST];
    void **rest; /* room for all that there can be, mapped when there are more */
};

struct view {
    int fd;              /* -1 after it was sent to the process */
    char *last;          /* the chunk that was mapped last; NULL: no more are wanted */
    uint32_t last_index; /* its number */
    struct wire_header *header;
    uint32_t window;                  /* how many chunks from the header on are mapped at once */
    uint32_t ring_bytes, chunk_limit; /* our own copies: the program can change the header's */
    uint32_t chunks_seen;
    struct death_mark death;       /* marks header->collector */
    const struct wire_name *names; /* NULL: there are none */
    struct chunk_list rings, data, nodes, modules;
};

/* For the header, rings, their data, nodes and modules, and as many again. */
enum { VIEW_LEAST_CHUNKS = 10 };
/* The chunks of short processes are mapped and unmapped in one piece. */
enum { VIEW_WINDOW_CHUNKS = 8 };

/* The limit on the size of files (ulimit -f). It holds for the shared memory too, which is a file
 * without a disk. */
uint64_t shared_view_most_bytes(void);

/* Makes the memory with the session's options, as large as it may get. The header's `collector`
 * shows that the calling thread lives. Until shared_view_leave() the thread must hold no robust
 * mutex and open no other view. `view` must not move. 0 or -errno; -EFBIG: fewer chunks are allowed
 * than are needed. */
int shared_view_open(struct view *view, const struct wire_header *options);
/* By the thread that opened it: marks the memory as if the thread had died. The thread may then
 * open another view. The mappings stay. */
void shared_view_leave(struct view *view);
/* Unmaps everything. By any thread, after shared_view_leave() by the thread that opened it. */
void shared_view_close(struct view *view);

/* Closes the descriptor after it was sent to the process. Our mapping suffices. */
void shared_view_close_descriptor(struct view *view);
/* The rings have been read to their end: their memory is given back. Nothing new is mapped from now
 * on. Counters of rings, nodes and modules stay. */
void shared_view_leave_rings(struct view *view);

/* Maps what the recorder has added since. */
void shared_view_refresh(struct view *view);

uint32_t shared_view_ring_count(const struct view *view); /* as far as it is mapped */
struct wire_ring *shared_view_ring(const struct view *view, uint32_t index);
/* The record bytes of a ring: ring_bytes and WIRE_RING_SPILL more. */
char *shared_view_ring_data(const struct view *view, uint32_t index);

/* Published nodes, as far as they are mapped; number 0 is the root. */
uint32_t shared_view_node_count(const struct view *view);
const struct wire_node *shared_view_node(const struct view *view, uint32_t index);
/* Takes the nodes below `count` out of our resident set; the program and later reads still have
 * them. They are hardly read again. */
void shared_view_leave_nodes(const struct view *view, uint32_t count);

/* Calls visit for each module logged from position *cursor on (0 at first) and moves it. Entries
 * that do not make sense end the log. */
void shared_view_modules(const struct view *view, size_t *cursor,
                         void (*visit)(void *context, const struct wire_module *module),
                         void *context);

/* Calls visit for each name published from number *next on (1 at first), and moves it. Bytes that
 * would not print are '?'. */
void shared_view_names(const struct view *view, uint32_t *next,
                       void (*visit)(void *context, uint32_t number, const char *name),
                       void *context);

/* The view as the origins of a profile (origins.h). The view must not move. */
struct origins shared_view_origins(struct view *view);

/* Bytes of the shared memory that the program has touched, about. */
uint64_t shared_view_touched_bytes(const struct view *view);

#endif

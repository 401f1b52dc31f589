/* Snapshots of a process image, which the user or a trigger asks for. They are written beside the
 * profile as NAME.snap-1.tmk, NAME.snap-2.tmk and so on. Each is a profile of its own. It gets its
 * name only when it is whole and synced to disk, so it survives if the program and the collector
 * are killed afterwards. */
#ifndef TIDEMARK_COLLECTOR_SNAPSHOTS_H
#define TIDEMARK_COLLECTOR_SNAPSHOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile_build/profile_build.h"
#include "wire/wire.h"

struct snapshot_request {
    char why[96];
    struct wire_wish wish;
    bool urgent; /* memory may run out at any moment, so no look is made first */
    int answer;  /* socket on which an answer is awaited; -1: none */
};

enum { SNAPSHOTS_WAITING = 16 };

struct snapshots {
    /* any thread */
    pthread_mutex_t lock;
    struct snapshot_request waiting[SNAPSHOTS_WAITING];
    size_t waiting_count;
    _Atomic bool any;
    /* the thread that writes */
    unsigned number; /* of the last one; 0: none yet */
    size_t written;
};

void snapshots_init(struct snapshots *snapshots);
/* Answers those that still wait: the process has ended. */
void snapshots_release(struct snapshots *snapshots);

/* Queues the request and takes over its socket. If the queue is full, an error is answered. Any
 * thread. */
void snapshots_ask(struct snapshots *snapshots, const struct snapshot_request *request);
/* Removes the oldest request; its socket is the caller's then. False: there is none. */
bool snapshots_take(struct snapshots *snapshots, struct snapshot_request *request);

/* Writes a copy of what the writer has committed last. `path`: malloc'd. 0 or -errno with
 * error_text()'s sentence. */
int snapshots_write(struct snapshots *snapshots, struct writer *writer, const char *profile,
                    const struct snapshot_request *request, char **path);

/* Sends the answer and closes the socket. `error` NULL: the snapshot is at `path`. */
void snapshot_answer(struct snapshot_request *request, const char *path, const char *error);

#endif

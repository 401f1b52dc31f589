/* A snapshot being written while the replay goes on. Inside the room. */
#ifndef TIDEMARK_OFFLINE_SNAPSHOT_WRITING_H
#define TIDEMARK_OFFLINE_SNAPSHOT_WRITING_H

#include <pthread.h>
#include <stdbool.h>
#include "profile_build/origins.h"
#include "profile_build/snapshot.h"
#include "profile_build/profile_build.h"

struct writing {
    struct writer *writer;
    const struct origins *origins;
    struct snapshot snapshot; /* the writing's own from writing_begin() on */
    pthread_t thread;
    bool is_under_way;
    int status;
    char sentence[1024];
};

/* Writes `snapshot`; `beside`: on a thread of its own. Call writing_end() first if a writing is
 * under way, also before any other use of the writer. 0 or -errno with a sentence. */
int writing_begin(struct writing *writing, bool beside);
/* Waits. 0 or -errno of the writing that was under way, with a sentence. */
int writing_end(struct writing *writing);

#endif

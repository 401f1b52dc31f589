/* How far the profiles of a job's ranks have been read, while a first profile of the job is shown.
 * One thread reads and says so here; the server asks. Thread-safe. */
#ifndef TIDEMARK_SERVER_SERVED_READING_H
#define TIDEMARK_SERVER_SERVED_READING_H

#include <pthread.h>
#include <stddef.h>

struct served_reading {
    pthread_mutex_t lock;
    size_t done, of;
    char error[200]; /* why there will be no profile of the job; "": there will be, or is */
};

void served_reading_init(struct served_reading *reading, size_t of);
void served_reading_release(struct served_reading *reading);
void served_reading_tell(struct served_reading *reading, size_t done);
void served_reading_fail(struct served_reading *reading, const char *sentence);

struct served_reading_state {
    size_t done, of;
    char error[200];
};
void served_reading_get(struct served_reading *reading, struct served_reading_state *out);

#endif

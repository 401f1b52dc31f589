/* How far a job has been read while a first profile of the job is shown: first the entries of its
 * directory, then the profiles of its ranks. One thread reads and says so here; the server asks.
 * Thread-safe. */
#ifndef TIDEMARK_SERVER_SERVED_READING_H
#define TIDEMARK_SERVER_SERVED_READING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct served_source;

struct served_reading {
    pthread_mutex_t lock;
    bool lists;      /* the entries are being read: how many ranks there are is not known */
    size_t done, of; /* profiles, or entries */
    const struct served_source *ranks; /* that came after the server had begun; NULL: none yet */
    size_t rank_count;
    bool is_wanted;  /* somebody asked for what only the ranks' profiles say */
    char error[200]; /* why there will be no profile of the job; "": there will be, or is */
};

void served_reading_init(struct served_reading *reading, size_t of);
void served_reading_release(struct served_reading *reading);
void served_reading_tell(struct served_reading *reading, size_t done);
/* So many of so many entries; once at least before it begins where they are read meanwhile. */
void served_reading_tell_entries(struct served_reading *reading, size_t done, size_t of);
/* All entries are read, and `of` profiles are to be. The ranks are served from now on; they must
 * live as long as the server. */
void served_reading_listed(struct served_reading *reading, size_t of,
                           const struct served_source *ranks, size_t rank_count);
/* The ranks of above, once. */
size_t served_reading_take_ranks(struct served_reading *reading,
                                 const struct served_source **ranks);
/* Somebody asks for what only the profiles of the ranks say; has anybody? */
void served_reading_want(struct served_reading *reading);
bool served_reading_is_wanted(struct served_reading *reading);
void served_reading_fail(struct served_reading *reading, const char *sentence);

struct served_reading_state {
    bool lists;
    size_t done, of;
    char error[200];
};
void served_reading_get(struct served_reading *reading, struct served_reading_state *out);

#endif

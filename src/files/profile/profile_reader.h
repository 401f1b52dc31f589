/* What the files of the reader share: source.c opens whatever the file is as a database,
 * profile_reader.c turns its rows and blocks into arrays, profile_unpack.c turns its blocks into
 * rows. Inside the room. */
#ifndef TIDEMARK_PROFILE_PROFILE_READER_H
#define TIDEMARK_PROFILE_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

struct source {
    struct sqlite3 *database;
    unsigned char *image; /* the database in memory, NULL if it is read from its file */
    uint64_t bytes;       /* of the database, for limits */
    bool packed;
    bool being_written;
    uint64_t inode; /* of the file that was opened; 0: none */
    bool damaged;   /* something is missing at its end */
    char *note;     /* of FILE@PID: what else could have been meant; or NULL */
    char *left_log; /* the file whose log is taken in when it is closed (left_log.h); or NULL */
};

/* Opens plain, packed and live profiles and what FILE@PID chooses (process_choice.h), and refuses
 * what is none. 0 or -errno with a sentence. */
int source_open(struct source *source, const char *path);
/* The same for a packed one that is in memory; `name` is for the sentence. */
int source_open_packed(struct source *source, const void *packed, size_t count, const char *name);
void source_close(struct source *source);

#endif

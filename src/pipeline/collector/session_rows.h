/* The session's file of small processes (session/session_file.h): one row for each, in place of a
 * profile of its own. Which processes are small is decided here, and nowhere else.
 *
 * For any thread but where it says otherwise. */
#ifndef TIDEMARK_COLLECTOR_SESSION_ROWS_H
#define TIDEMARK_COLLECTOR_SESSION_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile/profile_session.h"

/* A process beyond these bounds has a profile of its own. So has a process that lived until its
 * first flush (IMAGE_FLUSH_NS). */
#define SESSION_ROWS_PEAK_BYTES (8u << 20)
#define SESSION_ROWS_EVENTS     200000u

static inline bool session_rows_is_small(uint64_t peak_bytes, uint64_t events)
{
    return peak_bytes < SESSION_ROWS_PEAK_BYTES && events < SESSION_ROWS_EVENTS;
}

struct session_rows;

struct session_rows *session_rows_new(void);
void session_rows_free(struct session_rows *rows);

/* Names the file after the session's first profile: NAME.tmk gives NAME.session.tmk. Only the first
 * call counts; it comes before any row. */
void session_rows_name(struct session_rows *rows, const char *profile);
/* NULL: it has no name yet. The file may not exist yet. */
const char *session_rows_path(const struct session_rows *rows);
/* 0 or -errno, with error_text()'s sentence. */
int session_rows_append(struct session_rows *rows, const struct session_row *row, const void *body,
                        size_t bytes);
size_t session_rows_count(struct session_rows *rows);
/* At the end, by one thread: tries for five seconds to write the rows for which the disk was full.
 * Returns how many found no room; then error_text() says why. */
size_t session_rows_settle(struct session_rows *rows);

/* The row with the highest peak; pid 0: there is none whose peak is known. */
struct session_rows_largest {
    pid_t pid;
    uint64_t peak_bytes; /* requested */
    char program[64];    /* file name of the executable, perhaps cut */
};
struct session_rows_largest session_rows_largest(struct session_rows *rows);

#endif

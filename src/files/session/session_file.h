/* The session file: the small finished processes of one recording, a row each, in one file that is
 * only appended to (doc/FORMAT-session.md). It can be read while it grows and after its writer was
 * killed: a row is appended by one write(), and a row that was cut off costs only itself.
 *
 *   file     ┌────────┬────────┬─────┬─────┬─ …      a record is a layout or a row
 *            │ header │ layout │ row │ row │
 *            └────────┴────────┴─────┴─────┴─ …
 *   record   ┌──────┬───────┬──────┬─────────┐
 *            │ kind │ bytes │ hash │ content │       hash: XXH64 of the content
 *            └──────┴───────┴──────┴─────────┘
 *               4       4      8
 *
 * A record can be a whole profile too, of a process that had a file of its own (session_whole.h).
 *
 * The room knows nothing of profiles. A row has a head, which says who the process was and how
 * large, and a body of any bytes. A layout says what bodies mean; its hash is the layout's name,
 * and rows name theirs. Room `profile` makes and reads both (profile_session.h). */
#ifndef TIDEMARK_SESSION_SESSION_FILE_H
#define TIDEMARK_SESSION_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "model/figure.h"

#define SESSION_FILE_SUFFIX ".session.tmk"

/* How a process ended; the numbers stand in files. */
enum session_end {
    SESSION_END_UNKNOWN = 0,
    SESSION_END_EXIT,   /* end_status: the exit status */
    SESSION_END_SIGNAL, /* end_status: the signal's number */
    SESSION_END_EXEC,
    SESSION_END_DETACHED,
    SESSION_ENDS
};

struct session_row {
    pid_t pid, parent; /* parent 0: not known */
    uint64_t start_unix_ns;
    struct figure duration_ns, peak_bytes, resident_bytes, alloc_count, alloc_bytes;
    int end, end_status; /* enum session_end */
    bool lossy;          /* events were lost or came late */
    const char *program; /* file name of the executable */
    const char *command; /* the command line, quoted for a shell */
};

/* ---- Writing ------------------------------------------------------------------------------- */

struct session_file;

/* For appending rows whose bodies are of this layout. The file comes into being with its first row,
 * mode 0600; a session file of that name, or a profile, steps aside as .old. 0 or -errno with a
 * sentence. */
int session_file_open(struct session_file **out, const char *path, const void *layout,
                      size_t layout_bytes);
/* From any thread; rows come one after the other. A row for which the disk has no room is taken
 * back and waits in memory, up to 16 MiB of them: it comes with a later row, or by
 * session_file_settle(). 0 or -errno with a sentence. */
int session_file_append(struct session_file *file, const struct session_row *row, const void *body,
                        size_t bytes);
/* Tries rows again that wait. How many still do; then the sentence says why. */
size_t session_file_settle(struct session_file *file);
/* How many rows are in the file. */
size_t session_file_rows(struct session_file *file);
/* Frees it; NULL is nothing. */
void session_file_close(struct session_file *file);

/* ---- Reading ------------------------------------------------------------------------------- */

struct session_entry {
    struct session_row row;
    uint64_t layout;  /* name of its body's; 0: the body is a profile's file as it was … */
    bool is_whole;    /* … and then this is set */
    const char *said; /* then: the process's entry of a job (jobdir/entry.h); else NULL */
    size_t said_bytes;
    const void *body; /* NULL: it was not read, see session_load() */
    size_t bytes;
    uint64_t body_at;  /* in the file */
    uint64_t model_at; /* body_at of the row that a whole profile is packed against; 0: none */
};

struct session {
    struct session_entry *entries; /* in the order of their ends */
    size_t count;
    uint64_t lost_bytes; /* of the file, that make no sense */
    bool cut;            /* its last record is not whole: the writer was killed, or is writing */
    bool being_written;
    struct session_private *own;
};

/* Does a file begin like that? */
bool session_is_head(const void *head, size_t bytes);
bool session_is_file(const char *path); /* false if it cannot be read */
/* Reads all of it and distrusts everything. What is damaged is left out and counted, and a row that
 * stands twice is listed once. 0 or -errno with a sentence. */
int session_read(struct session **out, const char *path);
/* The same, but of a file of whole profiles none of them is read: only what is before each. A file
 * with other rows is read by session_read(). */
int session_list(struct session **out, const char *path);
/* Reads the body of an entry that session_list() has left out. Then it is there until the next
 * call. 0 or -errno with a sentence. */
int session_load(struct session *session, size_t number);
/* The row whose whole profile begins there in the file, for session_load(): a number beyond `count`
 * is that of a row that stands twice. false: there is none. */
bool session_find_body(const struct session *session, uint64_t at, size_t *number);
void session_free(struct session *session);
/* NULL: the file does not have it. */
const void *session_layout(const struct session *session, uint64_t name, size_t *bytes);
/* The name that a layout of these bytes has. */
uint64_t session_layout_name(const void *layout, size_t bytes);

#endif

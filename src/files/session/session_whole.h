/* Appends whole profiles to a session file: the file of a node in a job's directory, in place of a
 * profile and an entry for each of its processes (doc/FORMAT-session.md).
 *
 *   record   ┌──────┬───────┬──────┬──────┬───────────────────────┬─────────┐
 *            │ kind │ bytes │ hash │ head │ program command entry │ profile │
 *            └──────┴───────┴──────┴──────┴───────────────────────┴─────────┘
 *                              of ╰──────────── this ────────────╯
 *
 * The profile is a packed profile's file with its appendix: it has checksums of its own. It may be
 * packed against the profile of an earlier row, which the head names then. What is before it is
 * written last, so that a record is there whole or not at all, and threads write their records at
 * once: each has its place in the file before it writes. */
#ifndef TIDEMARK_SESSION_SESSION_WHOLE_H
#define TIDEMARK_SESSION_SESSION_WHOLE_H

#include <stddef.h>
#include "session/session_file.h"

struct session_whole_file;

/* Creates the file, which has a lock as long as it is open. -EEXIST: there is such a file, and it
 * is left alone. 0 or -errno (no sentence). */
int session_whole_open(struct session_whole_file **out, const char *path);
const char *session_whole_path(const struct session_whole_file *file);

struct session_whole_body {
    const void *profile;
    size_t bytes;
    uint64_t model_at; /* where the profile begins that it is packed against; 0: none */
};

/* From any thread. `at`: where the profile begins in the file. 0, -EFBIG: it is too long for a
 * record; or -errno (no sentence). On failure there is no such row. */
int session_whole_append(struct session_whole_file *file, const struct session_row *row,
                         const char *said, const struct session_whole_body *body, uint64_t *at);

/* Closes the descriptor until the next row, so that the file system may be unmounted. While nobody
 * appends. */
void session_whole_rest(struct session_whole_file *file);

/* Frees it; NULL is nothing. */
void session_whole_close(struct session_whole_file *file);

#endif

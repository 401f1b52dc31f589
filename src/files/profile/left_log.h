/* A profile whose collector was killed has its last commits in a log beside it (NAME-wal,
 * NAME-shm). Whoever copies the file alone loses them. So a reader that has read such a profile
 * takes the log in, and the profile is one file again; it goes on saying that its recording was cut
 * short. */
#ifndef TIDEMARK_PROFILE_LEFT_LOG_H
#define TIDEMARK_PROFILE_LEFT_LOG_H

#include <stdbool.h>

struct sqlite3;

/* May it be taken in when the reader has closed `database`, of the file at `path`? Only if nobody
 * writes it: its writer would hold a lock that we would see, because it ran on this machine since
 * it was started. Only if file and log are the reader's own. */
bool left_log_is_ours(struct sqlite3 *database, const char *path);

/* What cannot be done is left as it is. */
void left_log_take_in(const char *path);

#endif

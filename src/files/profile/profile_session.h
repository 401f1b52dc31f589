/* Profiles as rows of a session file (session/session_file.h). A row's body is the log of what the
 * profile's writer was told (profile_log.h), and the file's layout names the tables and columns of
 * the log's statements. Read again, the log goes into an ordinary database in memory, so a row has
 * all that a profile of its own has. */
#ifndef TIDEMARK_PROFILE_PROFILE_SESSION_H
#define TIDEMARK_PROFILE_PROFILE_SESSION_H

#include "session/session_file.h"

/* A session file for bodies that profile_writer_finish_log() makes. 0 or -errno with a sentence. */
int profile_session_open(struct session_file **out, const char *path);

#endif

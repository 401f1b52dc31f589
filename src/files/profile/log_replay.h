/* A log (profile_log.h) becomes a database in memory again. A layout says what the numbers of its
 * statements mean, as text:
 *
 *   tidemark layout 1
 *   format 2                                  of the profile
 *   name path_block 0 parent_distance         number 0 of the columns in that table's blocks
 *   put meta key value                        statement 0: a row of these columns
 *   drop location_frame location              statement 6: the rows where it is the value
 *   drop timeline                             statement 13: all rows
 *
 * Only tables and columns that this version knows are written to: nothing of a layout is run as
 * SQL. Inside the room. */
#ifndef TIDEMARK_PROFILE_LOG_REPLAY_H
#define TIDEMARK_PROFILE_LOG_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

struct sqlite3;

/* The layout of the logs that this version writes. */
void log_replay_layout(struct strbuf *out);

/* Makes *database from `rows`. *damaged: they make no sense from somewhere on, and what stands
 * before that is in it. 0, -ENOMEM or -EBADMSG (the layout makes no sense). No sentence. */
int log_replay(struct sqlite3 **database, const char *layout, size_t layout_bytes, const void *rows,
               size_t bytes, bool *damaged);

#endif

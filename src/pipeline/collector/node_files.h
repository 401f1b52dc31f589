/* The file of a node in a job's directory (session/session_whole.h): the collector of a node's
 * ranks moves the files of each process that has ended into it. Until then a process has an entry
 * and a profile of its own, which outlive the collector and the machine.
 *
 *     DIR/JOB/rank-00003.NAME.HOST.PID.entry, .tmk   ─▶   DIR/JOB/node.HOST.PID.session.tmk
 *
 * A process that cannot be moved keeps its files: readers take both. */
#ifndef TIDEMARK_COLLECTOR_NODE_FILES_H
#define TIDEMARK_COLLECTOR_NODE_FILES_H

#include <stdbool.h>
#include "session/session_file.h"

struct node_files;

struct node_files *node_files_new(void);
void node_files_free(struct node_files *files); /* NULL is nothing */

/* A process that may come into a file later begins, and has ended: while there are none, no file is
 * open. */
void node_files_enter(struct node_files *files);
void node_files_leave(struct node_files *files);

/* Had a profile that is in a file now this path? Its name stays its own. NULL has none. */
bool node_files_had(struct node_files *files, const char *path);

/* Appends the complete profile at `path`, with its process's last entry as text, to the file of its
 * directory, and removes `path`. From any thread; none waits for another's writing. `operand`:
 * FILE@PID, malloc'd. 0 or -errno (no sentence): nothing has changed. */
int node_files_take(struct node_files *files, const char *path, const char *host,
                    const struct session_row *row, const char *said, char **operand);

#endif

/* Where the files of a process go in a directory of jobs (doc/FORMAT-job.md):
 *
 *     DIR/<job id>/rank-00003.NAME.HOST.PID.entry    who it is, how it ended (jobdir/entry.h)
 *                                          .tmk      its profile
 *     DIR/<job id>/node.HOST.PID.session.tmk         those of processes that have ended
 *
 * Host and pid make names that no other process of the job has, on a file system that all its
 * machines share; the entry's creation settles the rest. */
#ifndef TIDEMARK_COLLECTOR_JOB_PLACE_H
#define TIDEMARK_COLLECTOR_JOB_PLACE_H

#include <sys/types.h>
#include "procfs/launcher.h"
#include "jobdir/entry.h"

struct node_files;

/* Which rank of which job `pid` is: by its own environment, or else by the collector's (the program
 * may have emptied its environment). `executable`: NULL if it is not known yet. One thread at a
 * time. */
void job_place_identify(struct launcher *launcher, pid_t pid, const char *executable);
/* From now on the collector's own rank says nothing about other processes: it collects for many
 * ranks. */
void job_place_disown(void);

/* Makes the directory and those above it if needed, and tests whether files can be made there: 0 or
 * -errno with error_text()'s sentence. */
int job_place_prepare(const char *directory);

/* Takes a name in `directory` (made if need be) for the process that `entry` describes: writes the
 * entry, and sets entry->profile. Names of profiles that went into one of `nodes` (NULL: none do)
 * are taken. `path`: the profile's, malloc'd. 0 or -errno with error_text()'s sentence. Threads
 * may do so at once. */
int job_place_take(const char *directory, struct node_files *nodes, struct entry *entry,
                   struct entry_writer **writer, char **path);

/* The `number`-th name for the file of this collector's processes, malloc'd. */
char *job_place_node_path(const char *directory, const char *host, unsigned number);

/* Is an MPI library mapped in the process? */
bool job_place_maps_mpi(pid_t pid);
bool job_place_is_mpi(const char *module_path);

#endif

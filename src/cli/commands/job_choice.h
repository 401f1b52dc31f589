/* Which job of a directory is meant. */
#ifndef TIDEMARK_COMMANDS_JOB_CHOICE_H
#define TIDEMARK_COMMANDS_JOB_CHOICE_H

#include <stddef.h>
#include "job/job_files.h"
#include "jobdir/manifest.h"

/* The job that is meant among those in `paths` (directories of one job or several, or profiles):
 * the one with that id, or the only one if `id` is NULL. The job is a part of *manifest, which the
 * caller frees. 0, or an exit status after a sentence by `command` ("tidemark job"), with a list
 * where the directory has several jobs. `making`: as manifest_open()'s. */
int job_choice_find(const char *command, const char *const *paths, size_t count, const char *id,
                    struct manifest_making *making, struct manifest **manifest,
                    const struct manifest_job **job);
/* The same, and the files of that job instead. */
int job_choice_make(const char *command, const char *const *paths, size_t count, const char *id,
                    struct manifest_making *making, struct job_files *files);

#endif

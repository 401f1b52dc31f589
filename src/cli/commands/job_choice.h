/* Which job of a directory is meant. */
#ifndef TIDEMARK_COMMANDS_JOB_CHOICE_H
#define TIDEMARK_COMMANDS_JOB_CHOICE_H

#include <stddef.h>
#include "job/job_files.h"
#include "jobdir/manifest.h"

/* The one job in `paths` (directories of one job or several, or profiles) that is meant: of that
 * id, or (NULL) the only one. *manifest has it and is the caller's to free. 0, or an exit status,
 * with a sentence by `command` ("tidemark job"), and the jobs that there are where it is one of
 * several. */
int job_choice_find(const char *command, const char *const *paths, size_t count, const char *id,
                    struct manifest **manifest, const struct manifest_job **job);
/* The same; its files. */
int job_choice_make(const char *command, const char *const *paths, size_t count, const char *id,
                    struct job_files *files);

#endif

/* Reads the processes of directories and profiles into a manifest, in no order. Inside the room. */
#ifndef TIDEMARK_JOBDIR_SCAN_H
#define TIDEMARK_JOBDIR_SCAN_H

#include "jobdir/manifest.h"

/* A directory with jobs, that of one job, or a profile. 0 or -errno with a sentence; a directory
 * without any process is no error. */
int scan_path(struct manifest *manifest, const char *path);

#endif

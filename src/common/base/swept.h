/* A directory for files that others open by name, which goes when its maker does, however that
 * ends: a guard, a process apart in a session of its own, waits for the maker's end and removes
 * what is left. It knows the name before the directory is there. Where no guard can be started
 * there is a directory all the same. */
#ifndef TIDEMARK_BASE_SWEPT_H
#define TIDEMARK_BASE_SWEPT_H

#include <limits.h>

struct swept {
    char path[PATH_MAX];
    int guard; /* a pipe to it; -1: there is none */
};

/* PARENT/STEM.RANDOM, for its owner alone, in `path`. 0 or -errno. */
int swept_make(struct swept *swept, const char *parent, const char *stem);
/* Removes its files, and the directory. */
void swept_remove(struct swept *swept);

#endif

/* A directory for files that other processes open by name. It is removed when its maker ends,
 * however that ends: a guard, which is a process in a session of its own, waits for the maker's end
 * and removes what is left. The guard starts before the directory is made. If no guard can be
 * started, the directory is made all the same. */
#ifndef TIDEMARK_BASE_SWEPT_H
#define TIDEMARK_BASE_SWEPT_H

#include <limits.h>

struct swept {
    char path[PATH_MAX];
    int guard; /* the pipe to the guard; -1: there is none */
};

/* Makes PARENT/STEM.RANDOM, which only its owner can enter; swept->path is its name. 0 or
 * -errno. */
int swept_make(struct swept *swept, const char *parent, const char *stem);
/* Removes the files in the directory, the directory and the guard. */
void swept_remove(struct swept *swept);

#endif

/* A directory of the test's own, removed at its end. */
#ifndef TIDEMARK_TESTS_SCRATCH_H
#define TIDEMARK_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char scratch_directory[64];

static inline int scratch_begin(void **state)
{
    (void)state;
    strcpy(scratch_directory, "/tmp/tidemark-test-XXXXXX");
    return mkdtemp(scratch_directory) ? 0 : -1;
}

static inline int scratch_end(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", scratch_directory);
    return system(command);
}

/* The path of `name` in it; a few are kept at a time. */
static inline const char *scratch(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, 128, "%s/%s", scratch_directory, name);
    return path;
}

#endif

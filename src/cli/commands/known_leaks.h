/* Files of suppressions (budget/suppressions.h), as commands are given them. */
#ifndef TIDEMARK_COMMANDS_KNOWN_LEAKS_H
#define TIDEMARK_COMMANDS_KNOWN_LEAKS_H

#include "budget/suppressions.h"

/* The files that an option has named, in their order. */
struct known_leaks {
    const char **files; /* to be freed; the names are the command line's */
    size_t count, room;
};
/* 0 or -ENOMEM. */
int known_leaks_name(struct known_leaks *known, const char *file);

/* Adds the suppressions of a file. 0, or the exit status after a sentence on stderr. */
int known_leaks_read(const char *command, struct suppressions *suppressions, const char *path);

#endif

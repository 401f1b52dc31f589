/* Files of suppressions (budget/suppressions.h), as commands are given them. */
#ifndef TIDEMARK_COMMANDS_KNOWN_LEAKS_H
#define TIDEMARK_COMMANDS_KNOWN_LEAKS_H

#include "budget/suppressions.h"

/* Adds those of a file. 0, or the exit status after a sentence on stderr. */
int known_leaks_read(const char *command, struct suppressions *suppressions, const char *path);

#endif

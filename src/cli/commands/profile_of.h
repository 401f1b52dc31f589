/* What leaks, held and content are asked about: a profile, or a process of which one is written for
 * it. */
#ifndef TIDEMARK_COMMANDS_PROFILE_OF_H
#define TIDEMARK_COMMANDS_PROFILE_OF_H

#include <stdbool.h>
#include "profile/profile.h"
#include "wire/wire.h"

/* A number that is no file's name. */
bool profile_of_is_process(const char *operand);
/* Reads it. Of a process a snapshot is taken, read and removed. `wish`: of it. 0, or the exit
 * status: it has been complained about. */
int profile_of(struct profile **out, const char *command, const char *operand,
               const struct wire_wish *wish);

#endif

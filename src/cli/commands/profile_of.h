/* The operand of leaks, held and content: a profile, or a process, of which a profile is then
 * written. */
#ifndef TIDEMARK_COMMANDS_PROFILE_OF_H
#define TIDEMARK_COMMANDS_PROFILE_OF_H

#include <stdbool.h>
#include "profile/profile.h"
#include "wire/wire.h"

/* True of a number that is not the name of a file. */
bool profile_of_is_process(const char *operand);
/* Reads the profile. Of a process a snapshot is taken, read and removed; `wish` says what the
 * snapshot needs. 0, or the exit status after a complaint. */
int profile_of(struct profile **out, const char *command, const char *operand,
               const struct wire_wish *wish);

#endif

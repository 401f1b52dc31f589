/* Limits that a recorded program shares with what records it. Most are the program's alone: the
 * recorder keeps no descriptor, locks nothing, and its memory is in no core. What it cannot keep
 * out of is said before the program starts. */
#ifndef TIDEMARK_COMMANDS_SHARED_LIMITS_H
#define TIDEMARK_COMMANDS_SHARED_LIMITS_H

/* One sentence on stderr, or nothing where no such limit is set. */
void shared_limits_say(const char *command);

#endif

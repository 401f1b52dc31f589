/* Limits that a recorded program shares with its recording. Most are the program's alone: the
 * recorder keeps no descriptor, locks nothing, and its memory is in no core. The limits of which
 * recording takes a part are named before the program starts. */
#ifndef TIDEMARK_COMMANDS_SHARED_LIMITS_H
#define TIDEMARK_COMMANDS_SHARED_LIMITS_H

/* One sentence on stderr, or nothing where no such limit is set. */
void shared_limits_say(const char *command);

#endif

/* Turns at reading files for names. The collectors of a job's ranks start at the same time on one
 * machine, and each would have the same debug files in memory. So only a few of them read at once,
 * and the others wait for a while. The program does not wait for names.
 *
 * A turn is the name of an abstract socket, which the kernel frees when its process dies. It is no
 * file, so other machines have turns of their own. A collector that has waited too long goes on
 * without a turn, and never waits again. */
#ifndef TIDEMARK_PROFILE_BUILD_NAME_TURN_H
#define TIDEMARK_PROFILE_BUILD_NAME_TURN_H

#include <stdbool.h>

/* From now on turns are taken. Before there are any threads. */
void name_turns_take(void);
bool name_turns_are_taken(void);

/* Turns for names of functions and for variables are separate, because a thread with a turn for
 * functions may wait for a thread that waits for a turn for variables. */
enum name_turn_kind { NAME_TURN_CODE, NAME_TURN_VARIABLES };
/* A descriptor for name_turn_end(), or -1. */
int name_turn_begin(enum name_turn_kind kind);
void name_turn_end(int turn);

#endif

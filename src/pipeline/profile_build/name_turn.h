/* Whose turn it is to read files for names. The collectors of a job's ranks start at one time on
 * one machine, and each would have the same debug files in memory. So only a few of them read at
 * once, and the others wait for a while: nothing in the program waits for names.
 *
 * A turn is an abstract socket's name of this user, which the kernel takes back from whoever dies.
 * There is no file, and so no other machine in it. Who has waited for long goes on without one,
 * and does not wait again. */
#ifndef TIDEMARK_PROFILE_BUILD_NAME_TURN_H
#define TIDEMARK_PROFILE_BUILD_NAME_TURN_H

#include <stdbool.h>

/* From now on turns are taken. Before there are any threads. */
void name_turns_take(void);
bool name_turns_are_taken(void);

/* Names of functions, and of variables: who has a turn for the former may wait for who waits for
 * one for the latter. */
enum name_turn_kind { NAME_TURN_CODE, NAME_TURN_VARIABLES };
/* A descriptor for name_turn_end(), or -1. */
int name_turn_begin(enum name_turn_kind kind);
void name_turn_end(int turn);

#endif

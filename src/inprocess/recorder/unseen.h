/* What the recorder knows that it does not see: told to the collector, in children of a fork once
 * more. Runs inside the profiled program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_UNSEEN_H
#define TIDEMARK_RECORDER_UNSEEN_H

#include "wire/wire.h"

/* `function`, `module`: NULL is not known. What was told before is not told again. */
void unseen_tell(enum wire_unseen_what what, enum wire_unseen_why why, const char *function,
                 const char *module);
/* Of functions that the user had named: another session may name others. */
void unseen_forget_pools(void);
/* To a collector that has heard nothing yet. */
void unseen_tell_again(void);

#endif

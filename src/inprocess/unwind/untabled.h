/* Ways over code that no unwind table describes and whose frame pointer leads nowhere on its own
 * stack. Each takes nothing for a return address that is not behind a call instruction. */
#ifndef TIDEMARK_UNWIND_UNTABLED_H
#define TIDEMARK_UNWIND_UNTABLED_H

#include "unwind/walk.h"

/* To the caller: WALK_BARRIER. There is none: WALK_END. No way is certain enough: WALK_STUCK. */
enum walk_outcome untabled_step(struct walk *walk);

#endif

/* Steps over code that no unwind table describes, and whose frame pointer gives no caller on its
 * own stack. A return address is accepted only behind a call instruction. */
#ifndef TIDEMARK_UNWIND_UNTABLED_H
#define TIDEMARK_UNWIND_UNTABLED_H

#include "unwind/walk.h"

/* Steps to the caller: WALK_BARRIER. WALK_END: there is none. WALK_STUCK: no step is certain
 * enough. */
enum walk_outcome untabled_step(struct walk *walk);

#endif

/* Runs the operations of all lanes. */
#ifndef TIDEMARK_ALLOC_DRIVER_PLAY_H
#define TIDEMARK_ALLOC_DRIVER_PLAY_H

#include "alloc_driver/stage.h"

/* Runs the first seat in this thread, and the others in threads of their own. Returns when all have
 * ended. */
void play(struct stage *stage);

#endif

/* Lanes run their operations. */
#ifndef TIDEMARK_ALLOC_DRIVER_PLAY_H
#define TIDEMARK_ALLOC_DRIVER_PLAY_H

#include "alloc_driver/stage.h"

/* Runs the first seat here and the others in threads of their own, until all are at their ends. */
void play(struct stage *stage);

#endif

/* Lanes run their operations. */
#ifndef TIDEMARK_CHURN_PLAY_H
#define TIDEMARK_CHURN_PLAY_H

#include "churn/stage.h"

/* Runs the first seat here and the others in threads of their own, until all are at their ends. */
void play(struct stage *stage);

#endif

/* The screen of one program, on a terminal that was begun (top_terminal.h). */
#ifndef TIDEMARK_TOP_SCREEN_H
#define TIDEMARK_TOP_SCREEN_H

#include "top/top_model.h"

/* Shows the model until the user leaves it. `one_of_many`: Esc goes back to all of them. True: the
 * user wants to quit. */
bool top_screen_of(struct top_model *model, bool one_of_many);

#endif

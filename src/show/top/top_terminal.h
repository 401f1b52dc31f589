/* The terminal while top has it: ncurses, and the way back to how it was, whatever happens. */
#ifndef TIDEMARK_TOP_TOP_TERMINAL_H
#define TIDEMARK_TOP_TOP_TERMINAL_H

#include <stdbool.h>
#include "base/strbuf.h"

/* 0, or -errno with a sentence: there is no terminal, or none that is known. */
int terminal_begin(bool colour, struct strbuf *why);
/* Gives it back; then a signal that ended us does so now. */
void terminal_end(void);

/* Were we told to end? */
bool terminal_is_over(void);
/* The next key within so many ms, as ncurses names it; ERR: none. KEY_RESIZE when the size has
 * changed. */
int terminal_key(int milliseconds);

#endif

/* The terminal while top uses it: ncurses, and restoring the terminal on every way out. */
#ifndef TIDEMARK_TOP_TOP_TERMINAL_H
#define TIDEMARK_TOP_TOP_TERMINAL_H

#include <stdbool.h>
#include "base/strbuf.h"

/* 0, or -errno with a sentence: there is no terminal, or none that is known. */
int terminal_begin(bool colour, struct strbuf *why);
/* Restores the terminal. If a signal asked us to end, ends the process by it. */
void terminal_end(void);

/* Did a signal ask us to end, or is the terminal gone? */
bool terminal_is_over(void);
/* The next key within so many ms, as ncurses names it; ERR: none. KEY_RESIZE when the size has
 * changed. */
int terminal_key(int milliseconds);

#endif

/* Streams that make all text safe, for stdout and stderr of a command. Names come from strangers,
 * and a command may forget to make one of them safe. Characters that could control a terminal
 * (control characters, escape sequences, bidirectional overrides) and bytes that are not UTF-8 are
 * written as \xNN or \u{NNNN}. Newlines, tabs, line ends of CSV (CR LF) and, where colour is
 * wanted, colours (ESC [ … m) pass. Safe text passes unchanged, byte for byte. */
#ifndef TIDEMARK_BASE_TERM_GUARD_H
#define TIDEMARK_BASE_TERM_GUARD_H

#include <stdio.h>

/* From now on `stdout` and `stderr` are guarded. To be called once, before anything is printed. A
 * lack of memory ends the process with a sentence. */
void term_guard_begin(void);

/* A guarded stream to `fd`, which fclose() closes if it is above 2. NULL: out of memory; the
 * descriptor stays open then. */
FILE *term_guard_open(int fd);

/* The unguarded stdout, for bytes that are no text: pictures, packed files, curses. */
FILE *term_guard_raw(void);

/* Colours may pass from now on (term_wants_colour() says so). */
void term_guard_allow_colour(void);

/* Writes the bytes that stdout and stderr still hold: the beginning of a character or a sequence
 * that was never completed. To be called after the last output. */
void term_guard_end(void);

#endif

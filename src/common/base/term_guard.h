/* The one way out for text: stdout and stderr of a command. Names come from strangers, and a
 * command may forget to make one of them safe. What could drive a terminal (control characters,
 * escape sequences, bidirectional overrides) or is not UTF-8 leaves as \xNN or \u{NNNN}, whoever
 * printed it. Newlines, tabs, line ends of CSV (CR LF) and, where colour is wanted, colours
 * (ESC [ … m) pass. What is safe passes unchanged, byte for byte. */
#ifndef TIDEMARK_BASE_TERM_GUARD_H
#define TIDEMARK_BASE_TERM_GUARD_H

#include <stdio.h>

/* From now on `stdout` and `stderr` are guarded. To be called once, before anything is printed.
 * Without memory for that the process ends with a sentence. */
void term_guard_begin(void);

/* A guarded stream to `fd`, which fclose() closes if it is above 2. NULL: out of memory; the
 * descriptor stays open then. */
FILE *term_guard_open(int fd);

/* stdout itself, for bytes that are no text for people: pictures, packed files, curses. */
FILE *term_guard_raw(void);

/* Colours may pass from now on (term_wants_colour() says so). */
void term_guard_allow_colour(void);

/* Writes what a stream still holds: the beginning of a character or sequence that was never
 * completed. After the last print of a guarded stream. */
void term_guard_end(void);

#endif

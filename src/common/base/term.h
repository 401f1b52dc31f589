/* What the terminal is like: width, colour, progress, pager. */
#ifndef TIDEMARK_BASE_TERM_H
#define TIDEMARK_BASE_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* In the order of the choice "auto|always|never". */
enum term_colour { TERM_COLOUR_AUTO = 0, TERM_COLOUR_ALWAYS, TERM_COLOUR_NEVER };
#define TERM_COLOUR_CHOICE "auto|always|never"

/* auto: on a terminal that is not "dumb", unless NO_COLOR is set and not empty (no-color.org). */
bool term_wants_colour(enum term_colour policy, FILE *out);

/* Columns of the terminal behind `out`, else $COLUMNS, else 80; at least 40. */
size_t term_columns(FILE *out);

/* Does the locale use UTF-8? By LC_ALL, LC_CTYPE and LANG; true if none is set or none names an
 * encoding; "C" and "POSIX" do not. */
bool term_is_utf8(void);

/* Writes one line, made safe, to stderr, which has to be a terminal. The line replaces that of the
 * call before. term_progress_end() removes it. For one thread at a time. */
void term_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void term_progress_end(void);

/* A pager for what goes to stdout: $TIDEMARK_PAGER, else $PAGER, else "less"; LESS is FRX unless
 * set. `out` is a guarded stream (term_guard.h). It is stdout itself where stdout is no terminal,
 * no pager is wanted (`wanted`, or the command is "cat" or empty), or the pager cannot be started.
 * To be closed in any case. */
struct term_pager {
    FILE *out;
    pid_t pid; /* 0: none */
};
struct term_pager term_pager_open(bool wanted);
int term_pager_close(struct term_pager *pager); /* waits for the pager; 0 or -errno of writing;
                                                 * -EPIPE is no error */

#endif

/* One line of text without stdio, for code inside other programs. A longer line is cut. */
#ifndef TIDEMARK_COUNTERS_LINE_H
#define TIDEMARK_COUNTERS_LINE_H

#include <stddef.h>
#include <stdint.h>
#include "counters/counter_state.h"

struct line {
    size_t length;
    char text[1024];
};

void line_add(struct line *line, const char *text);
/* With a comma at every third digit: 12,582,912. */
void line_add_grouped(struct line *line, int64_t number);
void line_add_number(struct line *line, int64_t number);
/* Writes it to a descriptor and empties it; keeps errno. */
void line_write(struct line *line, int descriptor);

/* "exiting, total: 12,582,912, peak: 4,194,304, current: 0", in malloc_count's words; a peak that
 * is not exact has a "~". */
void line_add_totals(struct line *line, const struct count_figures *figures, const char *what);
/* ", not counted: another malloc is in front, that of libjemalloc.so.2" (count_nothing_came()). */
void line_add_in_front(struct line *line, const struct count_state *state);
/* "tidemark count ### NAME[PID] exiting, total: …", calls by kind and threads. */
void line_add_process(struct line *line, const struct count_state *state,
                      const struct count_figures *figures, const char *what);

#endif

/* See output.h. */
#include "cli/output.h"

#include <stdio.h>
#include "base/strbuf.h"
#include "base/text.h"

enum { LEAST_COLUMNS = 72, MOST_COLUMNS = 1000 };

int output_complain(const char *command, const char *sentence)
{
    struct strbuf safe = STRBUF_INIT;

    text_add_safe_string(&safe, sentence);
    fprintf(stderr, "tidemark %s: %s\n", command, safe.data);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

size_t output_columns(uint64_t width, size_t usual_most)
{
    size_t columns = term_columns(stdout);

    columns = width ? width : columns > usual_most ? usual_most : columns;
    return columns < LEAST_COLUMNS  ? LEAST_COLUMNS
           : columns > MOST_COLUMNS ? MOST_COLUMNS
                                    : columns;
}

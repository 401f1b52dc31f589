/* See moments.h. */
#include "cli/moments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { LEAST_COLUMNS = 72, USUAL_COLUMNS = 160, MOST_COLUMNS = 1000 };

void moments_settle(const struct moments_arguments *arguments, struct moment_style *style)
{
    size_t columns = term_columns(stdout);

    columns = arguments->width          ? arguments->width
              : columns > USUAL_COLUMNS ? USUAL_COLUMNS
                                        : columns;
    *style = (struct moment_style){
        .json = arguments->json,
        .colour = term_wants_colour((enum term_colour)arguments->colour, stdout),
        .utf8 = term_is_utf8(),
        .columns = columns < LEAST_COLUMNS  ? LEAST_COLUMNS
                   : columns > MOST_COLUMNS ? MOST_COLUMNS
                                            : columns,
        .top = arguments->top,
        .depth = arguments->depth,
        .hide_std = arguments->hide_std,
    };
}

int moments_complain(const char *command, const char *sentence)
{
    struct strbuf safe = STRBUF_INIT;

    text_add_safe_string(&safe, sentence);
    fprintf(stderr, "tidemark %s: %s\n", command, safe.data);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

struct trace *moments_open(const char *command, const char *path)
{
    struct trace *trace;

    if (trace_open(&trace, path) == 0)
        return trace;
    moments_complain(command, trace_error());
    return NULL;
}

struct term_pager moments_pager(const struct moments_arguments *arguments,
                                const struct moment_style *style)
{
    return term_pager_open(arguments->pager && !style->json);
}

int moments_close(const char *command, struct term_pager *pager, int error)
{
    int close_error = term_pager_close(pager);

    if (error == -ENOMEM || error == -EBADMSG || error == -EINVAL)
        return moments_complain(command, moment_error());
    if (error == -EPIPE || close_error == -EPIPE)
        return 0;
    if (!error)
        error = close_error;
    if (!error)
        return 0;
    fprintf(stderr, "tidemark %s: cannot write: %s\n", command, strerror(-error));
    return OPTIONS_EXIT_FAILURE;
}

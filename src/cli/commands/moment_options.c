/* Options and output that the commands for moments of a trace share (moment_options.h): parse and
 * resolve moments, open the trace, and turn errors into sentences and a status. */
#include "commands/moment_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "commands/output.h"

enum { USUAL_COLUMNS = 160 };

void moments_settle(const struct moments_arguments *arguments, struct heap_at_style *style)
{
    *style = (struct heap_at_style){
        .json = arguments->json,
        .colour = term_wants_colour((enum term_colour)arguments->colour, stdout),
        .utf8 = term_is_utf8(),
        .columns = output_columns(arguments->width, USUAL_COLUMNS),
        .top = arguments->top,
        .depth = arguments->depth,
        .hide_std = arguments->hide_std,
    };
}

int moments_parse(const struct options_command *command, const char *text,
                  struct offline_moment *moment)
{
    return text && offline_moment_parse(text, moment)
               ? options_usage_error(command, "%s", error_text())
               : 0;
}

int moments_resolve(const char *command, const struct trace *trace, struct offline_moment *moment,
                    bool within)
{
    int error = offline_moment_resolve(trace, moment);
    if (!error)
        error = within ? offline_moment_within(trace, moment) : offline_has_events(trace);
    return error ? output_complain(command, error_text()) : 0;
}

struct trace *moments_open(const char *command, const char *path)
{
    struct trace *trace;

    if (trace_open(&trace, path) == 0)
        return trace;
    output_complain(command, error_text());
    return NULL;
}

/* Only of a trace that is cut off: damage within is said by the functions that read it. */
void moments_say_cut(const char *command, const struct trace *trace)
{
    struct trace_damage damage;
    char sentence[512];
    trace_damage(trace, &damage, sentence, sizeof sentence);
    if (damage.cut_off && !damage.blocks)
        output_complain(command, sentence);
}

struct term_pager moments_pager(const struct moments_arguments *arguments,
                                const struct heap_at_style *style)
{
    return term_pager_open(arguments->pager && !style->json);
}

int moments_close(const char *command, struct term_pager *pager, int error)
{
    int close_error = term_pager_close(pager);

    if (error == -ENOMEM || error == -EBADMSG || error == -EINVAL)
        return output_complain(command, error_text());
    if (error == -EPIPE || close_error == -EPIPE)
        return 0;
    if (!error)
        error = close_error;
    if (!error)
        return 0;
    fprintf(stderr, "tidemark %s: cannot write: %s\n", command, strerror(-error));
    return OPTIONS_EXIT_FAILURE;
}

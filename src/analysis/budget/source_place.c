/* Chooses the source line that a violated limit is reported at (source_place.h): the worst
 * offender's first frame below the working directory, else its first frame with a line, else the
 * limit's line in the budget file. */
#include "budget/source_place.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *budget_relative(const char *file)
{
    char here[PATH_MAX];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = length > 1 && !strncmp(file, here, length) && file[length] == '/';
    return strdup(below ? file + length + 1 : file);
}

static bool source_place_is_placed(const struct budget_frame *frame)
{
    return frame->file && frame->line;
}

static const struct budget_frame *source_place_find_frame(const struct budget_offender *offender,
                                                          bool below)
{
    for (size_t i = 0; i < offender->frame_count; i++) {
        const struct budget_frame *frame = &offender->frames[i];
        if (!source_place_is_placed(frame))
            continue;
        char *relative = budget_relative(frame->file);
        bool is_below = relative && *relative != '/';
        free(relative);
        if (is_below || !below)
            return frame;
    }
    return NULL;
}

struct budget_place budget_place_of(const struct budget_check *check,
                                    const struct budget_verdict *verdict)
{
    const struct budget_frame *frame = NULL;
    if (verdict->offender_count)
        frame = source_place_find_frame(&verdict->offenders[0], true);
    if (verdict->offender_count && !frame)
        frame = source_place_find_frame(&verdict->offenders[0], false);
    if (frame)
        return (struct budget_place){budget_relative(frame->file), frame->line};
    if (verdict->limit && verdict->limit->line && check->budget->path)
        return (struct budget_place){budget_relative(check->budget->path), verdict->limit->line};
    return (struct budget_place){NULL, 1};
}

void budget_add_message(struct strbuf *out, const struct budget_verdict *verdict)
{
    budget_add_verdict(out, verdict, true);
    for (size_t i = 0; i < verdict->offender_count; i++) {
        const struct budget_offender *offender = &verdict->offenders[i];
        enum budget_unit unit = budget_metric_unit(verdict->limit->metric);
        strbuf_add_string(out, isnan(offender->before) ? "\n" : "\n+");
        budget_add_amount(out, unit == BUDGET_UNIT_RATE ? BUDGET_UNIT_COUNT : unit,
                          offender->value);
        for (size_t j = 0; j < offender->frame_count; j++) {
            const struct budget_frame *frame = &offender->frames[j];
            strbuf_addf(out, "%s%s", j ? " < " : "  ", frame->function);
            if (source_place_is_placed(frame)) {
                char *file = budget_relative(frame->file);
                strbuf_addf(out, " (%s:%u)", file ? file : "?", frame->line);
                free(file);
            }
        }
    }
}

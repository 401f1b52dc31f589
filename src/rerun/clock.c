/* Times of a trace, and moments as people name them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "rerun/error.h"
#include "rerun/rerun.h"

/* ---- The clock ----------------------------------------------------------------------------- */

static double fact_number(const struct trace *trace, const char *key, double otherwise)
{
    const char *text = trace_fact(trace, key);
    double number = text ? strtod(text, NULL) : 0;
    return isfinite(number) && number > 0 && number < 1e9 ? number : otherwise;
}

void rerun_clock(const struct trace *trace, struct rerun_clock *clock)
{
    struct trace_options options;
    const char *end = trace_fact(trace, TRACE_FACT_END_TICKS);
    size_t count = trace_block_count(trace);
    trace_options(trace, &options);
    clock->start_ticks = clock->end_ticks = options.start_ticks;
    clock->first_tick_ns = fact_number(trace, TRACE_FACT_FIRST_TICK_NS, 1);
    clock->tick_ns = fact_number(trace, TRACE_FACT_TICK_NS, clock->first_tick_ns);
    if (end)
        clock->end_ticks = strtoull(end, NULL, 10);
    if (count && trace_block(trace, count - 1)->last_ticks > clock->end_ticks)
        clock->end_ticks = trace_block(trace, count - 1)->last_ticks;
    if (clock->end_ticks < clock->start_ticks)
        clock->end_ticks = clock->start_ticks;
}

/* ---- Moments ------------------------------------------------------------------------------- */

static bool parse_percent(const char *text, double *part)
{
    char *end;
    double percent = strtod(text, &end);
    *part = percent / 100;
    return end != text && !strcmp(end, "%") && percent >= 0 && percent <= 100;
}

static bool parse_event(const char *text, uint64_t *event)
{
    char *end;
    if (*text != '#' || text[1] < '0' || text[1] > '9')
        return false;
    errno = 0;
    *event = strtoull(text + 1, &end, 10);
    return !*end && !errno;
}

int rerun_moment_parse(const char *text, struct rerun_moment *moment)
{
    *moment = (struct rerun_moment){0};
    if (!strcmp(text, "peak"))
        moment->kind = RERUN_PEAK;
    else if (parse_percent(text, &moment->part))
        moment->kind = RERUN_PERCENT;
    else if (parse_event(text, &moment->value))
        moment->kind = RERUN_EVENT;
    else if (!strncmp(text, "mark:", 5))
        return rerun_fail(-EINVAL, "'%s': marks are not recorded yet; name a time (12.5s), a part of "
                                   "the run (73%%), 'peak' or an event (#123456)",
                          text);
    else if (human_parse_duration(text, &moment->value) == 0)
        moment->kind = RERUN_TIME;
    else
        return rerun_fail(-EINVAL, "'%s' is no moment: a time (12.5s), a part of the run (73%%), 'peak' "
                                   "or an event (#123456)",
                          text);
    return 0;
}

static uint64_t ticks_of_ns(const struct rerun_clock *clock, uint64_t ns)
{
    double ticks = (double)ns / clock->tick_ns;
    return ticks < (double)(UINT64_MAX - clock->start_ticks)
               ? clock->start_ticks + (uint64_t)(ticks + 0.5)
               : UINT64_MAX;
}

uint64_t rerun_moment_ticks(const struct trace *trace, const struct rerun_moment *moment)
{
    struct rerun_clock clock;
    size_t count = trace_block_count(trace);
    rerun_clock(trace, &clock);
    switch (moment->kind) {
    case RERUN_TIME:
        return ticks_of_ns(&clock, moment->value);
    case RERUN_PERCENT:
        return clock.start_ticks +
               (uint64_t)(moment->part * (double)(clock.end_ticks - clock.start_ticks) + 0.5);
    case RERUN_PEAK:
        return count ? trace_block(trace, trace_block_of_peak(trace))->max_ticks
                     : clock.start_ticks;
    case RERUN_EVENT:
        return count ? trace_block(trace, trace_block_of_event(trace, moment->value))->start_ticks
                     : clock.start_ticks;
    default:
        return clock.start_ticks;
    }
}

/* Converts between a trace's ticks and time, and parses the moments that users write: a time, a
 * percentage, an event's number, the peak or a mark. A mark is searched in the marks that are kept
 * as text in the trace's facts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/error.h"
#include "offline/offline.h"

/* ---- The clock ----------------------------------------------------------------------------- */

static double trace_clock_fact_number(const struct trace *trace, const char *key, double otherwise)
{
    const char *text = trace_fact(trace, key);
    double number = text ? strtod(text, NULL) : 0;
    return isfinite(number) && number > 0 && number < 1e9 ? number : otherwise;
}

void offline_clock(const struct trace *trace, struct offline_clock *clock)
{
    struct trace_options options;
    const char *end = trace_fact(trace, TRACE_FACT_END_TICKS);
    size_t count = trace_block_count(trace);
    trace_options(trace, &options);
    clock->start_ticks = clock->end_ticks = options.start_ticks;
    clock->first_tick_ns = trace_clock_fact_number(trace, TRACE_FACT_FIRST_TICK_NS, 1);
    clock->tick_ns = trace_clock_fact_number(trace, TRACE_FACT_TICK_NS, clock->first_tick_ns);
    if (end)
        clock->end_ticks = strtoull(end, NULL, 10);
    if (count && trace_block(trace, count - 1)->last_ticks > clock->end_ticks)
        clock->end_ticks = trace_block(trace, count - 1)->last_ticks;
    if (clock->end_ticks < clock->start_ticks)
        clock->end_ticks = clock->start_ticks;
}

/* ---- Moments ------------------------------------------------------------------------------- */

static bool trace_clock_parse_percent(const char *text, double *part)
{
    const char *end;
    double percent;
    if (human_parse_decimal(text, &end, &percent))
        return false;
    *part = percent / 100;
    return !strcmp(end, "%") && percent <= 100;
}

static bool trace_clock_parse_event(const char *text, uint64_t *event)
{
    char *end;
    if (*text != '#' || text[1] < '0' || text[1] > '9')
        return false;
    errno = 0;
    *event = strtoull(text + 1, &end, 10);
    return !*end && !errno;
}

int offline_moment_parse(const char *text, struct offline_moment *moment)
{
    *moment = (struct offline_moment){0};
    if (!strcmp(text, "peak"))
        moment->kind = OFFLINE_PEAK;
    else if (!strcmp(text, "node-peak"))
        moment->kind = OFFLINE_NODE_PEAK;
    else if (!strcmp(text, "job-peak"))
        moment->kind = OFFLINE_JOB_PEAK;
    else if (trace_clock_parse_percent(text, &moment->part))
        moment->kind = OFFLINE_PERCENT;
    else if (trace_clock_parse_event(text, &moment->value))
        moment->kind = OFFLINE_EVENT;
    else if (!strncmp(text, "mark:", 5) && text[5])
        *moment = (struct offline_moment){.kind = OFFLINE_MARK, .name = text + 5};
    else if (human_parse_duration(text, &moment->value) == 0)
        moment->kind = OFFLINE_TIME;
    else
        return error_set(-EINVAL,
                         "'%s' is no moment: a time (12.5s), a part of the run (73%%), "
                         "'peak', a mark (mark:NAME) or an event (#123456)",
                         text);
    return 0;
}

static uint64_t trace_clock_ticks_of_ns(const struct offline_clock *clock, uint64_t ns)
{
    double ticks = (double)ns / clock->tick_ns;
    return ticks < (double)(UINT64_MAX - clock->start_ticks)
               ? clock->start_ticks + (uint64_t)(ticks + 0.5)
               : UINT64_MAX;
}

uint64_t offline_moment_ticks(const struct trace *trace, const struct offline_moment *moment)
{
    struct offline_clock clock;
    size_t count = trace_block_count(trace);
    offline_clock(trace, &clock);
    switch (moment->kind) {
    case OFFLINE_TIME:
        return trace_clock_ticks_of_ns(&clock, moment->value);
    case OFFLINE_TICKS:
        return moment->value;
    case OFFLINE_PERCENT:
        return clock.start_ticks +
               (uint64_t)(moment->part * (double)(clock.end_ticks - clock.start_ticks) + 0.5);
    case OFFLINE_PEAK:
        return count ? trace_block(trace, trace_block_of_peak(trace))->max_ticks
                     : clock.start_ticks;
    case OFFLINE_EVENT:
        return count ? trace_block(trace, trace_block_of_event(trace, moment->value))->start_ticks
                     : clock.start_ticks;
    default:
        return clock.start_ticks;
    }
}

/* ---- Marks --------------------------------------------------------------------------------- */

/* Goes through the marks in the trace's facts. */
struct mark_walk {
    const struct trace *trace;
    size_t piece;
    const char *at; /* in the piece; NULL: none is begun */
    uint64_t ticks;
    const char *name;
    size_t name_bytes;
};

static bool trace_clock_next_piece(struct mark_walk *walk)
{
    char key[32];
    snprintf(key, sizeof key, TRACE_FACT_MARKS "%zu", walk->piece++);
    walk->at = trace_fact(walk->trace, key);
    return walk->at;
}

/* "TICKS NAME"; a line of another form ends the piece. */
static bool trace_clock_read_line(struct mark_walk *walk)
{
    char *end;
    const char *line = walk->at, *stop = strchr(line, '\n');
    if (!stop)
        return false;
    walk->ticks = strtoull(line, &end, 10);
    if (end == line || *end != ' ')
        return false;
    walk->name = end + 1;
    walk->name_bytes = (size_t)(stop - walk->name);
    walk->at = stop + 1;
    return walk->name <= stop;
}

static bool trace_clock_next_mark(struct mark_walk *walk)
{
    while (!walk->at || !trace_clock_read_line(walk))
        if (!trace_clock_next_piece(walk))
            return false;
    return true;
}

static bool trace_clock_find_mark(const struct trace *trace, const char *name, size_t bytes,
                                  uint64_t number, uint64_t *ticks)
{
    struct mark_walk walk = {.trace = trace};
    while (trace_clock_next_mark(&walk)) {
        if (walk.name_bytes != bytes || memcmp(walk.name, name, bytes) || --number)
            continue;
        *ticks = walk.ticks;
        return true;
    }
    return false;
}

/* The number behind the last '#', 0: there is none. */
static uint64_t trace_clock_number_behind(const char *name, size_t *bytes)
{
    const char *sign = strrchr(name, '#');
    char *end;
    if (!sign || sign[1] < '1' || sign[1] > '9')
        return 0;
    uint64_t number = strtoull(sign + 1, &end, 10);
    *bytes = (size_t)(sign - name);
    return *end ? 0 : number;
}

static int trace_clock_no_such_mark(const struct trace *trace, const char *name)
{
    struct mark_walk walk = {.trace = trace};
    char names[160];
    size_t used = 0;
    while (used < 100 && trace_clock_next_mark(&walk))
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used ? ", " : "",
                                 (int)(walk.name_bytes < 59 ? walk.name_bytes : 59), walk.name);
    return used ? error_set(-ENOENT, "there is no mark '%s' in the trace: it has %s", name, names)
                : error_set(-ENOENT,
                            "there is no mark '%s' in the trace: the program has made none "
                            "(tidemark-api(3) tells how)",
                            name);
}

int offline_moment_resolve(const struct trace *trace, struct offline_moment *moment)
{
    size_t bytes;
    uint64_t number, ticks;
    if (moment->kind == OFFLINE_NODE_PEAK || moment->kind == OFFLINE_JOB_PEAK)
        return error_set(-ENOENT, "that moment is of all ranks of a job: give its directory to "
                                  "tidemark at");
    if (moment->kind != OFFLINE_MARK)
        return 0;
    if (!trace_clock_find_mark(trace, moment->name, strlen(moment->name), 1, &ticks)) {
        number = trace_clock_number_behind(moment->name, &bytes);
        if (!number || !trace_clock_find_mark(trace, moment->name, bytes, number, &ticks))
            return trace_clock_no_such_mark(trace, moment->name);
    }
    *moment = (struct offline_moment){.kind = OFFLINE_TICKS, .value = ticks};
    return 0;
}

/* ---- The end ------------------------------------------------------------------------------- */

int offline_has_events(const struct trace *trace)
{
    struct trace_damage damage;
    trace_damage(trace, &damage, NULL, 0);
    if (trace_block_count(trace) || !(damage.cut_off || damage.blocks))
        return 0;
    return error_set(-ERANGE, "the trace %s: nothing is known of any moment",
                     damage.cut_off ? "is cut off before its first whole block of events"
                                    : "has no block of events that can be read");
}

static uint64_t trace_clock_event_count(const struct trace *trace)
{
    size_t count = trace_block_count(trace);
    const struct trace_block *last = count ? trace_block(trace, count - 1) : NULL;
    return last ? last->first_event + last->events : 0;
}

static bool trace_clock_is_behind(const struct offline_clock *clock, uint64_t ticks)
{
    double span = (double)(clock->end_ticks - clock->start_ticks);
    return ticks > clock->start_ticks && (double)(ticks - clock->start_ticks) > span * 1.005;
}

int offline_moment_within(const struct trace *trace, const struct offline_moment *moment)
{
    struct offline_clock clock;
    uint64_t events = trace_clock_event_count(trace);
    int error = offline_has_events(trace);
    offline_clock(trace, &clock);
    bool behind = moment->kind == OFFLINE_EVENT ? moment->value >= events
                  : moment->kind == OFFLINE_TIME || moment->kind == OFFLINE_TICKS
                      ? trace_clock_is_behind(&clock, offline_moment_ticks(trace, moment))
                      : false;
    if (error || !behind)
        return error;
    double span_ns = (double)(clock.end_ticks - clock.start_ticks) * clock.tick_ns;
    return error_set(-ERANGE,
                     "the moment lies behind the end of the trace, which spans %s and has %s "
                     "event%s",
                     human_duration((uint64_t)(span_ns + 0.5)).text, human_exact(events).text,
                     human_plural(events));
}

/* ---- Names --------------------------------------------------------------------------------- */

enum { NAME_BYTES = 256 };

/* Lines of "NUMBER NAME". */
static int trace_clock_each_name_of(const char *lines,
                                    int (*visit)(void *context, uint32_t number, const char *name),
                                    void *context)
{
    const char *stop;
    int error = 0;
    for (; !error && (stop = strchr(lines, '\n')); lines = stop + 1) {
        char *end, name[NAME_BYTES];
        unsigned long number = strtoul(lines, &end, 10);
        if (*end != ' ' || end > stop || number >= MARKS_NAMES)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(stop - end - 1), end + 1);
        error = visit(context, (uint32_t)number, name);
    }
    return error;
}

int offline_each_name(const struct trace *trace,
                      int (*visit)(void *context, uint32_t number, const char *name), void *context)
{
    const char *lines;
    char key[32];
    int error = 0;
    for (unsigned piece = 0; !error; piece++) {
        snprintf(key, sizeof key, TRACE_FACT_NAMES "%u", piece);
        if (!(lines = trace_fact(trace, key)))
            break;
        error = trace_clock_each_name_of(lines, visit, context);
    }
    return error;
}

/* Call paths, call sites and functions over time, as figure 14 of BFM's report. A profile's curves
 * are step functions of single call paths; those of one site or function are added up.
 *
 * Time is cut into columns. Lines show each series' highest level in a column. A stack shows each
 * column as it was at one moment, the one with the highest sum. So its outline is right, and no
 * column adds up levels of different moments. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/human.h"
#include "base/text.h"
#include "plot/plot.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "aggregate/match.h"
#include "format/names.h"

enum { COLUMNS = 720, USUAL_TOP = 8, MOST_TOP = 40, NAME_COLUMNS = 90, PATH_FRAMES = 4 };

/* At this time the group's level changes by so much. */
struct plot_curves_step {
    uint64_t time_ns;
    int64_t change;
    uint32_t group;
};
struct plot_curves_held {
    uint64_t key;
    uint32_t curve, group;
};
struct plot_curves_group {
    uint32_t node; /* of one of its curves */
    int64_t level, top;
    bool shown;
    size_t series;
};

struct plot_curves {
    const struct profile *profile;
    enum plot_view view;
    bool *hidden, *wanted; /* by line; by node, NULL: all */
    struct plot_curves_held *held;
    size_t held_count;
    struct plot_curves_group *groups;
    size_t group_count;
    struct plot_curves_step *steps;
    size_t step_count;
};

/* ---- Groups -------------------------------------------------------------------------------- */

/* Call paths whose frames look the same (two calls on one line, or in a function without lines) are
 * one series, since a reader could not tell their lines apart. */
static uint64_t plot_curves_path_key(const struct plot_curves *curves, uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, curves->profile, curves->hidden, node);
    uint64_t key = 0;
    do
        key = hash_u64(key ^ frame_key(curves->profile, frame));
    while (frame_walk_next(&walk, &frame));
    return key;
}

static uint64_t plot_curves_key_of(const struct plot_curves *curves, uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, curves->profile, curves->hidden, node);
    if (curves->view == PLOT_PATHS)
        return plot_curves_path_key(curves, node);
    if (curves->view == PLOT_SITES)
        return frame_key(curves->profile, frame);
    struct strbuf name = STRBUF_INIT;
    frame_add_name(&name, curves->profile, frame);
    uint64_t key = hash_bytes(name.data, name.length);
    strbuf_release(&name);
    return key;
}

static int plot_curves_by_key(const void *a, const void *b)
{
    const struct plot_curves_held *left = a, *right = b;
    return left->key < right->key ? -1 : left->key > right->key;
}

static void plot_curves_group(struct plot_curves *curves)
{
    for (size_t i = 0; i < curves->profile->curve_count; i++) {
        uint32_t node = curves->profile->curves[i].node;
        if (!curves->wanted || curves->wanted[node])
            curves->held[curves->held_count++] = (struct plot_curves_held){
                .key = plot_curves_key_of(curves, node), .curve = (uint32_t)i};
    }
    qsort(curves->held, curves->held_count, sizeof *curves->held, plot_curves_by_key);
    for (size_t i = 0; i < curves->held_count; i++) {
        if (!i || curves->held[i].key != curves->held[i - 1].key)
            curves->groups[curves->group_count++].node =
                curves->profile->curves[curves->held[i].curve].node;
        curves->held[i].group = (uint32_t)curves->group_count - 1;
    }
}

static int plot_curves_by_time(const void *a, const void *b)
{
    const struct plot_curves_step *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->group < right->group ? -1 : left->group > right->group;
}

static void plot_curves_collect_steps(struct plot_curves *curves)
{
    for (size_t i = 0; i < curves->held_count; i++) {
        const struct curve *curve = &curves->profile->curves[curves->held[i].curve];
        uint64_t level = 0;
        for (size_t j = 0; j < curve->count; j++) {
            curves->steps[curves->step_count++] = (struct plot_curves_step){
                curve->points[j].ticks, (int64_t)(curve->points[j].bytes - level),
                curves->held[i].group};
            level = curve->points[j].bytes;
        }
    }
    qsort(curves->steps, curves->step_count, sizeof *curves->steps, plot_curves_by_time);
}

/* A level counts after the last of the group's steps at one time. */
static void plot_curves_find_tops(struct plot_curves *curves)
{
    for (size_t i = 0; i < curves->step_count; i++) {
        struct plot_curves_group *group = &curves->groups[curves->steps[i].group];
        const struct plot_curves_step *next =
            i + 1 < curves->step_count ? &curves->steps[i + 1] : NULL;
        group->level += curves->steps[i].change;
        bool settled = !next || next->time_ns != curves->steps[i].time_ns ||
                       next->group != curves->steps[i].group;
        if (settled && group->level > group->top)
            group->top = group->level;
    }
}

static int plot_curves_init(struct plot_curves *curves, const struct profile *profile,
                            const struct plot_options *options, struct strbuf *why)
{
    size_t points = 0;
    for (size_t i = 0; i < profile->curve_count; i++)
        points += profile->curves[i].count;
    *curves = (struct plot_curves){.profile = profile, .view = options->view};
    int error = options->filter ? match_paths(profile, options->filter, &curves->wanted) : 0;
    if (error == -EINVAL)
        strbuf_addf(why, "'%s' is no regular expression", options->filter);
    if (error)
        return error;
    if (options->wanted && !options->filter) {
        curves->wanted = calloc(profile->node_count + 1, sizeof *curves->wanted);
        if (!curves->wanted)
            return -ENOMEM;
        memcpy(curves->wanted, options->wanted, profile->node_count * sizeof *curves->wanted);
    }
    curves->hidden = options->hide_std ? frames_of_libraries(profile)
                                       : calloc(profile->line_count + 1, sizeof *curves->hidden);
    curves->held = calloc(profile->curve_count + 1, sizeof *curves->held);
    curves->groups = calloc(profile->curve_count + 1, sizeof *curves->groups);
    curves->steps = calloc(points + 1, sizeof *curves->steps);
    if (!curves->hidden || !curves->held || !curves->groups || !curves->steps)
        return -ENOMEM;
    plot_curves_group(curves);
    plot_curves_collect_steps(curves);
    plot_curves_find_tops(curves);
    return 0;
}

static void plot_curves_release(struct plot_curves *curves)
{
    free(curves->hidden);
    free(curves->wanted);
    free(curves->held);
    free(curves->groups);
    free(curves->steps);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void plot_curves_add_frame(struct strbuf *out, const struct profile *profile,
                                  struct frame frame, size_t columns)
{
    /* A caller behind a wrapper gets half of the room, and the wrapper the other half. */
    frame_add_owner(out, profile, frame, " ← ", frame.through ? columns / 2 : columns);
}

/* How many frames two paths have in common, from the innermost on. */
static size_t plot_curves_common_frames(const struct plot_curves *curves, uint32_t a, uint32_t b)
{
    struct frame_walk walks[2];
    struct frame frames[2] = {frame_walk_begin(&walks[0], curves->profile, curves->hidden, a),
                              frame_walk_begin(&walks[1], curves->profile, curves->hidden, b)};
    size_t common = 0;
    while (frame_key(curves->profile, frames[0]) == frame_key(curves->profile, frames[1])) {
        common++;
        if (!frame_walk_next(&walks[0], &frames[0]) || !frame_walk_next(&walks[1], &frames[1]))
            break;
    }
    return common;
}

/* "push ← build ← main": the callers tell the paths of one function apart. If the first callers are
 * those of another path in the chart, they are left out: "push ← build ← … ← load ← main". */
static void plot_curves_add_path(struct strbuf *out, const struct plot_curves *curves,
                                 uint32_t node, size_t common)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, curves->profile, curves->hidden, node);
    size_t second = common < PATH_FRAMES ? 2 : common, frames = 1;
    plot_curves_add_frame(out, curves->profile, frame, NAME_COLUMNS / 2);
    for (size_t at = 1; frames < PATH_FRAMES && frame_walk_next(&walk, &frame); at++) {
        if (at > 1 && at < second)
            continue;
        strbuf_add_string(out, at == second && second > 2 ? " ← … ← " : " ← ");
        plot_curves_add_frame(out, curves->profile, frame, NAME_COLUMNS / 4);
        frames++;
    }
}

/* Adds the place behind a name; nothing if the place is not known. */
static void plot_curves_add_place(struct strbuf *out, const struct plot_curves *curves,
                                  struct frame frame)
{
    strbuf_add_string(out, "  ");
    size_t before = out->length;
    frame_add_place(out, curves->profile, frame, NAME_COLUMNS / 2);
    if (out->length == before)
        strbuf_truncate(out, before - 2);
}

static void plot_curves_name_group(struct strbuf *out, const struct plot_curves *curves,
                                   uint32_t node, size_t common)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, curves->profile, curves->hidden, node);
    if (curves->view == PLOT_PATHS) {
        plot_curves_add_path(out, curves, node, common);
        return;
    }
    if (curves->view != PLOT_SITES) /* a function may ask through many */
        frame.through = 0;
    plot_curves_add_frame(out, curves->profile, frame, NAME_COLUMNS / 2);
    if (curves->view == PLOT_SITES)
        plot_curves_add_place(out, curves, frame);
}

/* ---- Columns ------------------------------------------------------------------------------- */

static uint64_t plot_curves_span_of(const struct plot_curves *curves)
{
    uint64_t span = curves->profile->bucket_count * curves->profile->bucket_ns;
    if (curves->step_count && curves->steps[curves->step_count - 1].time_ns > span)
        span = curves->steps[curves->step_count - 1].time_ns;
    return span ? span : 1;
}

/* values[column * shown + series] */
struct plot_curves_columns {
    double *values;
    int64_t *levels; /* now, by series */
    size_t shown;
    bool stacked;
};

static int64_t plot_curves_sum_of(const struct plot_curves_columns *columns)
{
    int64_t sum = 0;
    for (size_t i = 0; i < columns->shown; i++)
        sum += columns->levels[i];
    return sum;
}

/* Updates a column after the levels have settled at a moment in it. */
static void plot_curves_see(struct plot_curves_columns *columns, double *column, int64_t *highest)
{
    int64_t sum = columns->stacked ? plot_curves_sum_of(columns) : 0;
    bool better = columns->stacked && sum > *highest;
    for (size_t i = 0; i < columns->shown; i++)
        if (columns->stacked ? better : (double)columns->levels[i] > column[i])
            column[i] = (double)columns->levels[i];
    if (better)
        *highest = sum;
}

static void plot_curves_fill(struct plot_curves_columns *columns, const struct plot_curves *curves,
                             uint64_t span)
{
    size_t at = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        double end = (double)span * (double)(i + 1) / COLUMNS;
        int64_t highest = -1;
        double *column = &columns->values[i * columns->shown];
        plot_curves_see(columns, column, &highest);
        while (at < curves->step_count && (double)curves->steps[at].time_ns <= end) {
            const struct plot_curves_group *group = &curves->groups[curves->steps[at].group];
            uint64_t time_ns = curves->steps[at].time_ns;
            if (group->shown)
                columns->levels[group->series] += curves->steps[at].change;
            if (++at == curves->step_count || curves->steps[at].time_ns != time_ns)
                plot_curves_see(columns, column, &highest);
        }
    }
}

static void plot_curves_add_columns(struct chart *chart, const struct plot_curves_columns *columns,
                                    uint64_t span)
{
    for (size_t series = 0; series < columns->shown; series++) {
        for (size_t i = 0; i < COLUMNS; i++)
            chart_add_point(&chart->series[series], (double)span * (double)i / COLUMNS,
                            columns->values[i * columns->shown + series]);
        chart_add_point(&chart->series[series], (double)span,
                        columns->values[(COLUMNS - 1) * columns->shown + series]);
        if (!columns->stacked)
            chart_thin(&chart->series[series]);
    }
}

static int plot_curves_draw(struct chart *chart, const struct plot_curves *curves, bool stacked)
{
    uint64_t span = plot_curves_span_of(curves);
    struct plot_curves_columns columns = {.shown = chart->count, .stacked = stacked};
    columns.values = calloc(COLUMNS * chart->count + 1, sizeof *columns.values);
    columns.levels = calloc(chart->count + 1, sizeof *columns.levels);
    bool room = columns.values && columns.levels;
    if (room) {
        plot_curves_fill(&columns, curves, span);
        plot_curves_add_columns(chart, &columns, span);
    }
    free(columns.values);
    free(columns.levels);
    return room ? 0 : -ENOMEM;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static size_t plot_curves_highest_left(const struct plot_curves *curves)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < curves->group_count; i++)
        if (!curves->groups[i].shown && curves->groups[i].top > 0 &&
            (best == SIZE_MAX || curves->groups[i].top > curves->groups[best].top))
            best = i;
    return best;
}

/* The most frames that this path has in common with another one in the chart. */
static size_t plot_curves_most_common(const struct plot_curves *curves, const uint32_t *nodes,
                                      size_t count, size_t index)
{
    size_t most = 0;
    for (size_t i = 0; i < count && curves->view == PLOT_PATHS; i++) {
        size_t common = i == index ? 0 : plot_curves_common_frames(curves, nodes[i], nodes[index]);
        most = common > most ? common : most;
    }
    return most;
}

/* Adds the place where two paths part, if both have the same name because only lines differ. */
static void plot_curves_add_where_they_part(struct strbuf *out, const struct plot_curves *curves,
                                            const struct strbuf *names, const uint32_t *nodes,
                                            size_t count, size_t index)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, curves->profile, curves->hidden, nodes[index]);
    size_t most = 0;
    bool alike = false;
    for (size_t i = 0; i < count; i++) {
        if (i == index || strcmp(names[i].data, names[index].data) != 0)
            continue;
        size_t common = plot_curves_common_frames(curves, nodes[i], nodes[index]);
        most = common > most ? common : most;
        alike = true;
    }
    for (size_t at = 0; at < most && frame_walk_next(&walk, &frame); at++)
        ;
    if (alike)
        plot_curves_add_place(out, curves, frame);
}

static void plot_curves_choose(struct chart *chart, struct plot_curves *curves, size_t top)
{
    uint32_t nodes[MOST_TOP];
    size_t count = 0, best;
    while (count < top && count < MOST_TOP &&
           (best = plot_curves_highest_left(curves)) != SIZE_MAX) {
        curves->groups[best].shown = true;
        curves->groups[best].series = count;
        nodes[count++] = curves->groups[best].node;
    }
    struct strbuf names[MOST_TOP];
    for (size_t i = 0; i < count; i++) {
        names[i] = (struct strbuf)STRBUF_INIT;
        plot_curves_name_group(&names[i], curves, nodes[i],
                               plot_curves_most_common(curves, nodes, count, i));
    }
    for (size_t i = 0; i < count; i++) {
        struct strbuf name = STRBUF_INIT;
        strbuf_add_string(&name, names[i].data);
        if (curves->view == PLOT_PATHS)
            plot_curves_add_where_they_part(&name, curves, names, nodes, count, i);
        chart_add(chart, name.data, CHART_STEPS, (unsigned)i);
        strbuf_release(&name);
    }
    for (size_t i = 0; i < count; i++)
        strbuf_release(&names[i]);
}

/* The largest error of the series in the chart, where it can be seen; else 0. */
static uint64_t plot_curves_bound(const struct plot_curves *curves)
{
    uint64_t most = 0, sum = 0, threshold;
    for (size_t i = 0; i < curves->held_count; i++) {
        const struct plot_curves_held *held = &curves->held[i];
        if (i == 0 || held->group != held[-1].group)
            sum = 0;
        if (curves->groups[held->group].shown &&
            figure_get(curves->profile->curves[held->curve].threshold_bytes, &threshold))
            sum += threshold;
        most = sum > most ? sum : most;
    }
    return most < CURVE_COARSE_BYTES ? 0 : most;
}

/* The longest stretch of time of which a curve in the chart has only highest, lowest and last
 * level. */
static uint64_t plot_curves_stretch(const struct plot_curves *curves)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < curves->held_count; i++) {
        const struct curve *curve = &curves->profile->curves[curves->held[i].curve];
        if (curves->groups[curves->held[i].group].shown && curve->stretch_ticks > longest)
            longest = curve->stretch_ticks;
    }
    return longest;
}

static void plot_curves_note(struct chart *chart, const struct plot_curves *curves)
{
    struct strbuf bound = STRBUF_INIT;
    uint64_t bytes = plot_curves_bound(curves);
    strbuf_add_string(&bound, curves->profile->sample_bytes ? "; estimated from samples" : "");
    if (bytes)
        strbuf_addf(&bound, "; within %s or 5 %% of the truth", human_bytes(bytes).text);
    uint64_t stretch = plot_curves_stretch(curves);
    if (stretch > plot_curves_span_of(curves) / COLUMNS)
        strbuf_addf(&bound, "; of swings within %s highest and lowest",
                    human_duration(stretch).text);
    chart_set_note(chart, "the %zu that held most, of %zu%s", chart->count, curves->group_count,
                   bound.data ? bound.data : "");
    strbuf_release(&bound);
}

/* Adds all that was requested, behind the others: the difference is what they leave out. */
static void plot_curves_add_whole(struct chart *chart, const struct profile *profile)
{
    struct chart memory = {0};
    plot_memory(&memory, profile, PLOT_REQUESTED);
    struct chart_series *whole = chart_add(chart, "all of the program", CHART_STEPS, 7);
    whole->faint = true;
    for (size_t i = 0; i < memory.series[0].count; i++)
        chart_add_point(whole, memory.series[0].points[i].x, memory.series[0].points[i].y);
    chart_release(&memory);
}

int plot_curves(struct chart *chart, const struct profile *profile,
                const struct plot_options *options, struct strbuf *why)
{
    static const char *const kinds[] = {
        [PLOT_PATHS] = "call paths", [PLOT_SITES] = "call sites", [PLOT_FUNCTIONS] = "functions"};
    struct plot_curves curves = {0};
    struct strbuf program = STRBUF_INIT;
    size_t top = options->top ? options->top : USUAL_TOP;
    int error = plot_curves_init(&curves, profile, options, why);
    if (error)
        goto done;
    plot_curves_choose(chart, &curves, top > MOST_TOP ? MOST_TOP : top);
    if (!chart->count) {
        strbuf_addf(why, "%s",
                    options->filter ? "no call path with memory over time matches"
                                    : "the profile has no call paths over time");
        error = -ENODATA;
        goto done;
    }
    chart->stacked = options->stacked;
    chart->stack_count = options->stacked ? chart->count : 0;
    chart->x = (struct chart_axis){.title = "time since the start", .unit = CHART_TIME};
    chart->y = (struct chart_axis){.title = "live memory", .unit = CHART_BYTES};
    facts_add_text(&program, profile, PROFILE_META_PROGRAM);
    chart_set_title(chart, "%s: %s over time", program.data, kinds[options->view]);
    plot_curves_note(chart, &curves);
    error = plot_curves_draw(chart, &curves, options->stacked);
    if (!error && profile->bucket_count)
        plot_curves_add_whole(chart, profile);
done:
    strbuf_release(&program);
    plot_curves_release(&curves);
    return error;
}

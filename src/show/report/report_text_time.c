/* Writes the sections on time: separate peaks, and how the largest call sites grew. Peaks are
 * listed with their call sites. The steps of all paths of a site are added up to levels, and drawn
 * as a row of small bars. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "model/figure_human.h"

/* Peaks that stand out by less, as a part of the highest, are not in the overview. */
#define LEAST_PEAK 0.10
enum { FIGURE = 11, WHEN = 20, SHARE = 9, GAP = 2, OVERVIEW_PEAKS = 4, MAX_SPARK = 80 };
static const struct text_column report_text_time_peak_columns[] = {{NULL, FIGURE, TEXT_RIGHT, 0},
                                                                   {NULL, WHEN, TEXT_LEFT, 0},
                                                                   {NULL, SHARE, TEXT_RIGHT, 0},
                                                                   {NULL, 0, TEXT_LEFT, GAP}};
/* Indented, so that the figure of the peak stands out. */
static const struct text_column report_text_time_share_columns[] = {
    {NULL, 2 * FIGURE, TEXT_RIGHT, 0}, {NULL, SHARE, TEXT_RIGHT, 0}, {NULL, 0, TEXT_LEFT, GAP}};
static const struct text_column report_text_time_curve_columns[] = {{NULL, FIGURE, TEXT_RIGHT, 0},
                                                                    {NULL, 0, TEXT_LEFT, GAP}};

static uint64_t report_text_time_duration(const struct profile *profile)
{
    return profile->bucket_count * profile->bucket_ns;
}

/* ---- Peaks --------------------------------------------------------------------------------- */

/* A peak's shares by call site, most first: the shares of one site's call paths are added up. */
struct peak_sites {
    struct peak_share *items;
    size_t count;
};

static int report_text_time_by_bytes(const void *a, const void *b)
{
    const struct peak_share *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Is that the highest peak? What each call path held then is known; of other peaks, what the
 * largest paths held. */
static bool report_text_time_is_highest(const struct profile *profile, const struct peak *peak)
{
    const struct call_metrics *total = &profile->program.total;
    return figure_equal(figure_of(peak->bytes), total->peak_bytes) &&
           figure_equal(figure_of(peak->ticks), total->peak_ticks) &&
           figure_equal(total->at_peak_bytes, total->peak_bytes);
}

static struct peak_sites report_text_time_sites_of(const struct report_text *text,
                                                   const struct peak *peak)
{
    const struct profile *profile = text->profile;
    bool exact = report_text_time_is_highest(profile, peak);
    size_t count = exact ? profile->site_count : peak->share_count;
    struct peak_sites sites = {calloc(count + 1, sizeof *sites.items), 0};
    uint32_t *nodes = calloc(count + 1, sizeof *nodes), *groups = NULL;
    for (size_t i = 0; nodes && i < count; i++)
        nodes[i] = exact ? profile_site_path(profile, i) : peak->shares[i].node;
    if (nodes && sites.items)
        groups = report_part_groups(text, nodes, count, &sites.count);
    for (size_t i = 0; groups && i < count; i++) {
        sites.items[groups[i]].node = nodes[i];
        sites.items[groups[i]].bytes +=
            exact ? figure_or(profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)), 0)
                  : peak->shares[i].bytes;
    }
    if (groups)
        qsort(sites.items, sites.count, sizeof *sites.items, report_text_time_by_bytes);
    free(nodes);
    free(groups);
    return sites;
}

/* Adds "   26.3 MiB  after 812 ms" and, if there is one, the largest site. */
static void report_text_time_add_peak_line(struct report_text *text, const struct peak *peak)
{
    struct strbuf when = STRBUF_INIT;
    struct peak_sites sites = report_text_time_sites_of(text, peak);
    report_part_row(text, report_text_time_peak_columns);
    report_part_next_figure(text, human_bytes(peak->bytes).text);
    strbuf_addf(&when, "  after %s", human_duration(peak->ticks).text);
    report_part_next(text, when.data);
    if (sites.count) {
        const struct peak_share *site = &sites.items[0];
        bool all = !peak->rest_bytes || report_text_time_is_highest(text->profile, peak);
        struct human share = human_percent((double)site->bytes, (double)peak->bytes);
        struct strbuf cell = STRBUF_INIT;
        strbuf_addf(&cell, "%s%s", all ? "" : text->style.utf8 ? "≥ " : "> ", share.text);
        report_part_next(text, cell.data);
        strbuf_release(&cell);
        report_part_next(text, "");
        report_part_path(text, site->node, FIGURE + WHEN + SHARE + GAP, false);
    } else {
        report_part_end(text);
    }
    free(sites.items);
    strbuf_release(&when);
}

/* Of two equally high peaks the earlier one is higher. */
static bool report_text_time_is_higher(const struct peak *peaks, size_t left, size_t right)
{
    return peaks[left].bytes != peaks[right].bytes ? peaks[left].bytes > peaks[right].bytes
                                                   : left < right;
}

/* The lowest level on the way to the next higher peak, `step` (1 or -1) by step. 0: there is no
 * higher one, or the level is not known. */
static uint64_t report_text_time_saddle(const struct peak *peaks, size_t count, size_t of, int step)
{
    uint64_t low = peaks[of].bytes;
    for (size_t i = of; step > 0 ? i + 1 < count : i > 0; i += (size_t)step) {
        uint64_t valley = figure_or(peaks[step > 0 ? i : i - 1].valley_bytes, 0);
        low = valley < low ? valley : low;
        if (report_text_time_is_higher(peaks, i + (size_t)step, of))
            return low;
    }
    return 0;
}

/* By how much a peak stands out: from the higher one of its two saddles to its top. */
static uint64_t report_text_time_prominence(const struct peak *peaks, size_t count, size_t of)
{
    uint64_t before = report_text_time_saddle(peaks, count, of, -1);
    uint64_t after = report_text_time_saddle(peaks, count, of, 1);
    return peaks[of].bytes - (before > after ? before : after);
}

/* The order of the notable peaks, highest first: those that stand out by a good part of the
 * highest. `*notable`: how many. The caller frees it; NULL: no memory. */
static uint32_t *report_text_time_peaks_by_height(const struct profile *profile, size_t *notable)
{
    struct figure heights[PEAKS_MAX] = {figure_of(0)};
    uint64_t most = 0;
    size_t count = profile->peak_count < PEAKS_MAX ? profile->peak_count : PEAKS_MAX;
    for (size_t i = 0; i < count; i++)
        most = profile->peaks[i].bytes > most ? profile->peaks[i].bytes : most;
    *notable = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t stands_out = report_text_time_prominence(profile->peaks, count, i);
        bool is_notable = (double)stands_out >= LEAST_PEAK * (double)most;
        heights[i] = is_notable ? figure_of(profile->peaks[i].bytes) : FIGURE_UNKNOWN;
        *notable += is_notable;
    }
    return order_values(heights, count);
}

void report_overview_peaks(struct report_text *text)
{
    const struct profile *profile = text->profile;
    bool shown[PEAKS_MAX] = {false};
    size_t count;
    uint32_t *order = report_text_time_peaks_by_height(profile, &count);
    if (count < 2) {
        free(order);
        return;
    }
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "%s%zu, with the call site that holds most",
                count > OVERVIEW_PEAKS ? "the highest of " : "", count);
    report_part_title(text, "Separate peaks", rest.data);
    strbuf_release(&rest);
    for (size_t i = 0; order && i < OVERVIEW_PEAKS && i < count; i++)
        shown[order[i]] = true;
    for (size_t i = 0; i < PEAKS_MAX; i++)
        if (shown[i])
            report_text_time_add_peak_line(text, &profile->peaks[i]);
    free(order);
}

static void report_text_time_add_share(struct report_text *text, uint64_t bytes, uint64_t of,
                                       const char *instead, uint32_t node)
{
    report_part_row(text, report_text_time_share_columns);
    report_part_next(text, human_bytes(bytes).text);
    report_part_next(text, human_percent((double)bytes, (double)of).text);
    report_part_next(text, instead ? instead : "");
    if (instead)
        strbuf_add_char(&text->out, '\n');
    else
        report_part_path(text, node, 2 * FIGURE + SHARE + GAP, false);
}

static void report_text_time_add_peak(struct report_text *text, const struct peak *peak)
{
    struct strbuf line = STRBUF_INIT;
    report_part_row(text, report_text_time_peak_columns);
    report_part_next_figure(text, human_bytes(peak->bytes).text);
    strbuf_addf(&line, "  after %s", human_duration(peak->ticks).text);
    if (figure_known(peak->valley_bytes))
        strbuf_addf(&line, ", then down to %s", figure_human_bytes(peak->valley_bytes).text);
    strbuf_addf(&text->out, "%s\n", line.data);
    uint64_t rest = report_text_time_is_highest(text->profile, peak) ? 0 : peak->rest_bytes;
    struct peak_sites sites = report_text_time_sites_of(text, peak);
    for (size_t i = 0; i < sites.count; i++) {
        if (i < text->options->top)
            report_text_time_add_share(text, sites.items[i].bytes, peak->bytes, NULL,
                                       sites.items[i].node);
        else
            rest += sites.items[i].bytes;
    }
    free(sites.items);
    if (!peak->share_count)
        style_add(&text->out, &text->style, TONE_DIM,
                  "                                 its call paths were not kept\n");
    else if (rest)
        report_text_time_add_share(text, rest, peak->bytes, "the rest", 0);
    strbuf_release(&line);
}

int report_section_peaks(struct report_text *text)
{
    report_part_title(text, "Separate peaks", "with the call sites that held most");
    for (size_t i = 0; i < text->profile->peak_count; i++)
        report_text_time_add_peak(text, &text->profile->peaks[i]);
    if (!text->profile->peak_count)
        report_part_note(text, "not recorded");
    return 0;
}

/* ---- Evolution of call sites --------------------------------------------------------------- */

/* At this time the site's level changes by so much. */
struct time_step {
    uint64_t time_ns;
    int64_t change;
    uint32_t site;
};

/* The steps of all paths of a site: steps[first … first + count - 1]. */
struct time_site_curve {
    uint32_t node;
    size_t first, count;
    uint64_t top_bytes;
    uint64_t threshold_bytes; /* the sum of its call paths' */
};

struct site_curves {
    struct time_site_curve *items;
    struct time_step *steps;
    size_t count;
};

static int report_text_time_by_site_and_time(const void *a, const void *b)
{
    const struct time_step *left = a, *right = b;
    if (left->site != right->site)
        return left->site < right->site ? -1 : 1;
    return left->time_ns < right->time_ns ? -1 : left->time_ns > right->time_ns;
}

/* The level after the step, which may be one of several at its time. */
static uint64_t report_text_time_level_after(uint64_t level, const struct time_step *step)
{
    return level + (uint64_t)step->change;
}

/* Did the level after this step last, so that no other step has its time? */
static bool report_text_time_is_settled(const struct time_site_curve *curve,
                                        const struct time_step *steps, size_t i)
{
    return i + 1 == curve->count || steps[i + 1].time_ns != steps[i].time_ns;
}

static void report_text_time_add_steps(struct site_curves *curves, const struct curve *curve,
                                       uint32_t site, size_t *count)
{
    uint64_t level = 0, threshold = 0;
    if (figure_get(curve->threshold_bytes, &threshold))
        curves->items[site].threshold_bytes += threshold;
    for (size_t i = 0; i < curve->count; i++) {
        curves->steps[(*count)++] = (struct time_step){
            curve->points[i].ticks, (int64_t)(curve->points[i].bytes - level), site};
        level = curve->points[i].bytes;
    }
}

static void report_text_time_find_tops(struct site_curves *curves, size_t step_count)
{
    for (size_t i = 0; i < step_count; i++)
        curves->items[curves->steps[i].site].count++;
    for (size_t i = 0, first = 0; i < curves->count; i++) {
        struct time_site_curve *item = &curves->items[i];
        uint64_t level = 0;
        item->first = first;
        first += item->count;
        for (size_t j = 0; j < item->count; j++) {
            level = report_text_time_level_after(level, &curves->steps[item->first + j]);
            if (level > item->top_bytes &&
                report_text_time_is_settled(item, &curves->steps[item->first], j))
                item->top_bytes = level;
        }
    }
}

static void report_text_time_site_curves_release(struct site_curves *curves)
{
    free(curves->items);
    free(curves->steps);
}

static int report_text_time_site_curves_init(struct site_curves *curves,
                                             const struct report_text *text)
{
    const struct profile *profile = text->profile;
    size_t points = 0, steps = 0;
    for (size_t i = 0; i < profile->curve_count; i++)
        points += profile->curves[i].count;
    *curves = (struct site_curves){calloc(profile->curve_count + 1, sizeof *curves->items),
                                   calloc(points + 1, sizeof *curves->steps), 0};
    uint32_t *nodes = calloc(profile->curve_count + 1, sizeof *nodes), *sites = NULL;
    for (size_t i = 0; nodes && i < profile->curve_count; i++)
        nodes[i] = profile->curves[i].node;
    if (nodes && curves->items && curves->steps)
        sites = report_part_groups(text, nodes, profile->curve_count, &curves->count);
    for (size_t i = 0; sites && i < profile->curve_count; i++) {
        curves->items[sites[i]].node = nodes[i];
        report_text_time_add_steps(curves, &profile->curves[i], sites[i], &steps);
    }
    bool complete = sites != NULL;
    if (complete) {
        qsort(curves->steps, steps, sizeof *curves->steps, report_text_time_by_site_and_time);
        report_text_time_find_tops(curves, steps);
    } else {
        report_text_time_site_curves_release(curves);
    }
    free(nodes);
    free(sites);
    return complete ? 0 : -ENOMEM;
}

/* The highest level in each of `columns` parts of the run; a level holds until the next step. */
static void report_text_time_sample_curve(const struct time_site_curve *curve,
                                          const struct time_step *steps, uint64_t span_ns,
                                          uint64_t *values, size_t columns)
{
    uint64_t level = 0;
    size_t at = 0;
    for (size_t column = 0; column < columns; column++) {
        double end = (double)span_ns * (double)(column + 1) / (double)columns;
        values[column] = level;
        for (; at < curve->count && (double)steps[at].time_ns <= end; at++) {
            level = report_text_time_level_after(level, &steps[at]);
            if (level > values[column] && report_text_time_is_settled(curve, steps, at))
                values[column] = level;
        }
    }
}

/* The timeline's span, or as far as points reach. */
static uint64_t report_text_time_span_of(const struct profile *profile)
{
    uint64_t span = report_text_time_duration(profile);
    for (size_t i = 0; i < profile->curve_count; i++) {
        const struct curve *curve = &profile->curves[i];
        if (curve->count && curve->points[curve->count - 1].ticks > span)
            span = curve->points[curve->count - 1].ticks;
    }
    return span ? span : 1;
}

static void report_text_time_add_curve(struct report_text *text,
                                       const struct time_site_curve *curve,
                                       const struct time_step *steps, uint64_t span, size_t columns)
{
    uint64_t values[MAX_SPARK];
    report_text_time_sample_curve(curve, steps, span, values, columns);
    report_part_row(text, report_text_time_curve_columns);
    report_part_next_figure(text, human_bytes(curve->top_bytes).text);
    report_part_next(text, "");
    style_add_spark(&text->out, &text->style, values, columns, curve->top_bytes);
    strbuf_add_repeated(&text->out, " ", GAP);
    report_part_path(text, curve->node, FIGURE + 2 * GAP + columns, false);
}

/* Says how far from the truth the curves may be, where that is more than every curve of the heap
 * begins with. */
static void report_text_time_add_bound(struct strbuf *rest, const struct report_text *text,
                                       const struct site_curves *curves, const uint32_t *order)
{
    uint64_t bound = 0;
    for (size_t i = 0; i < curves->count && i < text->options->top; i++)
        if (curves->items[order[i]].threshold_bytes > bound)
            bound = curves->items[order[i]].threshold_bytes;
    if (bound >= CURVE_COARSE_BYTES)
        strbuf_addf(rest, ", within %s or 5 %% of the truth", human_bytes(bound).text);
}

static void report_text_time_add_curves(struct report_text *text, const struct site_curves *curves,
                                        const uint32_t *order)
{
    size_t columns = text->style.columns / 3 > MAX_SPARK ? MAX_SPARK : text->style.columns / 3;
    uint64_t span = report_text_time_span_of(text->profile);
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "each on its own scale, over %s", human_duration(span).text);
    report_text_time_add_bound(&rest, text, curves, order);
    report_part_title(text, "Call sites over time", curves->count ? rest.data : NULL);
    for (size_t i = 0; i < curves->count && i < text->options->top; i++) {
        const struct time_site_curve *curve = &curves->items[order[i]];
        report_text_time_add_curve(text, curve, &curves->steps[curve->first], span, columns);
    }
    if (!curves->count)
        report_part_note(text, "not recorded");
    strbuf_release(&rest);
}

int report_section_paths(struct report_text *text)
{
    struct site_curves curves;
    if (report_text_time_site_curves_init(&curves, text))
        return -ENOMEM;
    struct figure *tops = calloc(curves.count + 1, sizeof *tops);
    for (size_t i = 0; tops && i < curves.count; i++)
        tops[i] = figure_of(curves.items[i].top_bytes);
    uint32_t *order = tops ? order_values(tops, curves.count) : NULL;
    if (order)
        report_text_time_add_curves(text, &curves, order);
    report_text_time_site_curves_release(&curves);
    free(tops);
    free(order);
    return order ? 0 : -ENOMEM;
}

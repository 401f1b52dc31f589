/* Separated peaks, and how the largest call paths went over time. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE = 11, OVERVIEW_PEAKS = 4, MAX_SPARK = 80 };

static uint64_t duration(const struct profile *profile)
{
    return profile->bucket_count * profile->bucket_ns;
}

/* ---- Peaks --------------------------------------------------------------------------------- */

/* "   26.3 MiB  after 812 ms" and, if there is one, its largest path. */
static void add_peak_line(struct text *text, const struct peak *peak)
{
    struct strbuf when = STRBUF_INIT;
    part_figure(text, human_bytes(peak->bytes).text, FIGURE);
    strbuf_addf(&when, "  after %s", human_duration(peak->ticks).text);
    part_name(text, when.data, 20);
    if (peak->share_count) {
        const struct peak_share *share = &peak->shares[0];
        part_cell(text, human_percent((double)share->bytes, (double)peak->bytes).text, 8);
        strbuf_add_string(&text->out, "  ");
        part_path(text, share->node, FIGURE + 20 + 10, false);
    } else {
        part_end(text);
    }
    strbuf_release(&when);
}

static uint32_t *peaks_by_height(const struct profile *profile)
{
    uint64_t heights[PEAKS_MAX] = {0};
    size_t count = profile->peak_count < PEAKS_MAX ? profile->peak_count : PEAKS_MAX;
    for (size_t i = 0; i < count; i++)
        heights[i] = profile->peaks[i].bytes;
    return order_values(heights, count);
}

void overview_peaks(struct text *text)
{
    const struct profile *profile = text->profile;
    bool shown[PEAKS_MAX] = {false};
    if (profile->peak_count < 2)
        return;
    uint32_t *order = peaks_by_height(profile);
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "%zu, with the call site that holds most", profile->peak_count);
    part_title(text, "Separate peaks", rest.data);
    strbuf_release(&rest);
    for (size_t i = 0; order && i < OVERVIEW_PEAKS && i < profile->peak_count && i < PEAKS_MAX; i++)
        shown[order[i]] = true;
    for (size_t i = 0; i < PEAKS_MAX; i++)
        if (shown[i])
            add_peak_line(text, &profile->peaks[i]);
    free(order);
}

static void add_share(struct text *text, uint64_t bytes, uint64_t of, const char *instead,
                      uint32_t node)
{
    part_cell(text, human_bytes(bytes).text, 2 * FIGURE);
    part_cell(text, human_percent((double)bytes, (double)of).text, 9);
    strbuf_add_string(&text->out, "  ");
    if (instead)
        strbuf_addf(&text->out, "%s\n", instead);
    else
        part_path(text, node, 2 * FIGURE + 11, false);
}

static void add_peak(struct text *text, const struct peak *peak)
{
    struct strbuf line = STRBUF_INIT;
    part_figure(text, human_bytes(peak->bytes).text, FIGURE);
    strbuf_addf(&line, "  after %s", human_duration(peak->ticks).text);
    if (peak->valley_bytes != UINT64_MAX)
        strbuf_addf(&line, ", then down to %s", human_bytes(peak->valley_bytes).text);
    strbuf_addf(&text->out, "%s\n", line.data);
    uint64_t rest = peak->rest_bytes;
    for (size_t i = 0; i < peak->share_count; i++) {
        if (i < text->options->top)
            add_share(text, peak->shares[i].bytes, peak->bytes, NULL, peak->shares[i].node);
        else
            rest += peak->shares[i].bytes;
    }
    if (!peak->share_count)
        style_add(&text->out, &text->style, TONE_DIM,
                  "                                 its call paths were not kept\n");
    else if (rest)
        add_share(text, rest, peak->bytes, "the rest", 0);
    strbuf_release(&line);
}

int section_peaks(struct text *text)
{
    part_title(text, "Separate peaks", "with the call sites that held most");
    for (size_t i = 0; i < text->profile->peak_count; i++)
        add_peak(text, &text->profile->peaks[i]);
    if (!text->profile->peak_count)
        part_note(text, "not recorded");
    return 0;
}

/* ---- Evolution of call paths --------------------------------------------------------------- */

/* The highest level in each of `columns` parts of the run; a level holds until the next point. */
static void sample_curve(const struct curve *curve, uint64_t span_ns, uint64_t *values,
                         size_t columns)
{
    uint64_t level = 0;
    size_t at = 0;
    for (size_t column = 0; column < columns; column++) {
        double end = (double)span_ns * (double)(column + 1) / (double)columns;
        values[column] = level;
        for (; at < curve->count && (double)curve->points[at].ticks <= end; at++) {
            level = curve->points[at].bytes;
            if (level > values[column])
                values[column] = level;
        }
    }
}

static uint64_t curve_top(const struct curve *curve)
{
    uint64_t top = 0;
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].bytes > top)
            top = curve->points[i].bytes;
    return top;
}

/* The timeline's span, or as far as points reach. */
static uint64_t span_of(const struct profile *profile)
{
    uint64_t span = duration(profile);
    for (size_t i = 0; i < profile->curve_count; i++) {
        const struct curve *curve = &profile->curves[i];
        if (curve->count && curve->points[curve->count - 1].ticks > span)
            span = curve->points[curve->count - 1].ticks;
    }
    return span ? span : 1;
}

static void add_curve(struct text *text, const struct curve *curve, uint64_t span, size_t columns)
{
    uint64_t values[MAX_SPARK], top = curve_top(curve);
    sample_curve(curve, span, values, columns);
    part_figure(text, human_bytes(top).text, FIGURE);
    strbuf_add_string(&text->out, "  ");
    part_spark(text, values, columns, top);
    strbuf_add_string(&text->out, "  ");
    part_path(text, curve->node, FIGURE + 4 + columns, false);
}

int section_paths(struct text *text)
{
    const struct profile *profile = text->profile;
    uint64_t *tops = calloc(profile->curve_count + 1, sizeof *tops);
    for (size_t i = 0; tops && i < profile->curve_count; i++)
        tops[i] = curve_top(&profile->curves[i]);
    uint32_t *order = tops ? order_values(tops, profile->curve_count) : NULL;
    free(tops);
    if (!order)
        return -ENOMEM;
    size_t columns = text->style.columns / 3 > MAX_SPARK ? MAX_SPARK : text->style.columns / 3;
    uint64_t span = span_of(profile);
    struct strbuf rest = STRBUF_INIT;
    strbuf_addf(&rest, "each on its own scale, over %s", human_duration(span).text);
    part_title(text, "Call paths over time", profile->curve_count ? rest.data : NULL);
    for (size_t i = 0; i < profile->curve_count && i < text->options->top; i++)
        add_curve(text, &profile->curves[order[i]], span, columns);
    if (!profile->curve_count)
        part_note(text, "not recorded");
    strbuf_release(&rest);
    free(order);
    return 0;
}

/* Draws memory over time in text (memory_graph.h):
 *
 *   18.4 MiB ┤            ▂▄▆█▇        rows of eighths of a character; "·" is the resident line,
 *            │     ▁▃▅▇██████████      drawn where the area does not cover it
 *          0 └───────────────────
 *            0 s              1.2 s
 */
#include "report/memory_graph.h"

#include <stdio.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "model/figure_human.h"

enum { ROWS = 6, MAX_COLUMNS = 400, LEFT = 12 };

struct memory_graph {
    size_t columns;
    uint64_t top, resident_top;
    bool resident_fits; /* false: the scale is that of the requested bytes alone */
    uint64_t requested[MAX_COLUMNS], resident[MAX_COLUMNS];
    bool has_resident[MAX_COLUMNS], any_resident;
};

static void memory_graph_raise_to(uint64_t *value, uint64_t to)
{
    if (to > *value)
        *value = to;
}

/* Fewer buckets than columns: a bucket is several columns wide. */
static void memory_graph_collect(struct memory_graph *graph, const struct profile *profile)
{
    size_t count = profile->bucket_count;
    uint64_t last_resident = 0;
    bool resident_seen = false;
    for (size_t column = 0; column < graph->columns; column++) {
        size_t first = column * count / graph->columns;
        size_t end = (column + 1) * count / graph->columns;
        bool sampled = false;
        for (size_t i = first; i < (end > first ? end : first + 1); i++) {
            const struct timeline_bucket *bucket = &profile->buckets[i];
            sampled |= figure_known(bucket->physical.max);
            memory_graph_raise_to(&graph->requested[column], figure_or(bucket->requested.max, 0));
            memory_graph_raise_to(&graph->resident[column], figure_or(bucket->physical.max, 0));
        }
        if (!sampled)
            graph->resident[column] = last_resident; /* a level holds until the next sample */
        resident_seen |= sampled;
        last_resident = graph->resident[column];
        graph->has_resident[column] = resident_seen;
        memory_graph_raise_to(&graph->top, graph->requested[column]);
        memory_graph_raise_to(&graph->resident_top, graph->resident[column]);
    }
    graph->resident_fits = graph->resident_top / 4 < graph->top;
    if (graph->resident_fits)
        memory_graph_raise_to(&graph->top, graph->resident_top);
    graph->any_resident = resident_seen;
}

static unsigned memory_graph_eighths(const struct memory_graph *graph, uint64_t value)
{
    double level = (double)value / (double)graph->top * ROWS * 8;
    return value && level < 1 ? 1 : (unsigned)(level + 0.5);
}

struct cell {
    const char *sign;
    enum tone tone; /* TONE_COUNT: none */
};

static struct cell memory_graph_cell_at(const struct style *style, const struct memory_graph *graph,
                                        size_t column, unsigned row)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    unsigned area = memory_graph_eighths(graph, graph->requested[column]);
    unsigned filled = area > row * 8 ? area - row * 8 : 0;
    unsigned line = graph->has_resident[column] && graph->resident_fits
                        ? memory_graph_eighths(graph, graph->resident[column])
                        : 0;
    if (filled && style->utf8)
        return (struct cell){blocks[filled > 8 ? 8 : filled], TONE_AREA};
    if (filled)
        return (struct cell){filled >= 4 ? "#" : ".", TONE_AREA};
    if (line && (line - 1) / 8 == row)
        return (struct cell){style_sign(style, "·", "-"), TONE_WARNING};
    return (struct cell){" ", TONE_COUNT};
}

static void memory_graph_add_row(struct strbuf *out, const struct style *style,
                                 const struct memory_graph *graph, unsigned row)
{
    enum tone now = TONE_COUNT;
    for (size_t column = 0; column < graph->columns; column++) {
        struct cell cell = memory_graph_cell_at(style, graph, column, row);
        if (cell.tone != now && now != TONE_COUNT)
            style_end(out, style);
        if (cell.tone != now && cell.tone != TONE_COUNT)
            style_begin(out, style, cell.tone);
        now = cell.tone;
        strbuf_add_string(out, cell.sign);
    }
    if (now != TONE_COUNT)
        style_end(out, style);
}

static void memory_graph_add_label(struct strbuf *out, const struct style *style,
                                   const struct memory_graph *graph, unsigned row)
{
    bool labelled = row == ROWS - 1 || row == ROWS / 2 - 1;
    uint64_t value = graph->top / ROWS * (row + 1);
    const char *label = labelled ? human_bytes(row == ROWS - 1 ? graph->top : value).text : "";
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%*s %s", LEFT - 2, label,
                labelled ? style_sign(style, "┤", "|") : style_sign(style, "│", "|"));
    style_add(out, style, TONE_DIM, text.data);
    strbuf_release(&text);
}

static void memory_graph_trim_spaces(struct strbuf *out)
{
    size_t length = out->length;
    while (length && out->data[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
}

static void memory_graph_add_axis(struct strbuf *out, const struct style *style,
                                  const struct memory_graph *graph, uint64_t duration_ns)
{
    struct human end = human_duration(duration_ns);
    struct strbuf axis = STRBUF_INIT;
    strbuf_addf(&axis, "%*s %s", LEFT - 2, "0", style_sign(style, "└", "+"));
    strbuf_add_repeated(&axis, style_sign(style, "─", "-"), graph->columns);
    strbuf_addf(&axis, "\n%*s0 s", LEFT, "");
    size_t gap = graph->columns - 3 - text_width(end.text);
    strbuf_addf(&axis, "%*s%s\n", (int)gap, "", end.text);
    style_add(out, style, TONE_DIM, axis.data);
    strbuf_release(&axis);
}

/* Of a short run resident memory may be known from its end alone. */
static void memory_graph_add_no_curve(struct strbuf *out, struct figure resident)
{
    if (figure_known(resident))
        strbuf_addf(out, "   (resident, %s at most, is not known over time)",
                    figure_human_bytes(resident).text);
    else
        strbuf_add_string(out, "   (resident memory was not measured)");
}

static void memory_graph_add_legend(struct strbuf *out, const struct style *style,
                                    const struct memory_graph *graph, const struct profile *profile)
{
    strbuf_addf(out, "%*s", LEFT, "");
    style_add(out, style, TONE_AREA, style_sign(style, "█", "#"));
    strbuf_add_string(out, " requested");
    if (graph->any_resident && !graph->resident_fits) {
        strbuf_addf(out, "   (resident, %s at most, is off this scale)",
                    human_bytes(graph->resident_top).text);
    } else if (graph->any_resident) {
        strbuf_add_string(out, "   ");
        style_add(out, style, TONE_WARNING, style_sign(style, "·", "-"));
        strbuf_add_string(out, " resident");
    } else {
        memory_graph_add_no_curve(out, facts_resident_peak(profile));
    }
    strbuf_add_char(out, '\n');
}

void memory_graph_add(struct strbuf *out, const struct style *style, const struct profile *profile)
{
    struct memory_graph graph = {.columns = style->columns - LEFT - 1};
    if (graph.columns > MAX_COLUMNS)
        graph.columns = MAX_COLUMNS;
    if (!profile->bucket_count)
        return;
    memory_graph_collect(&graph, profile);
    if (!graph.top)
        return;
    for (unsigned row = ROWS; row-- > 0;) {
        memory_graph_add_label(out, style, &graph, row);
        memory_graph_add_row(out, style, &graph, row);
        memory_graph_trim_spaces(out);
        strbuf_add_char(out, '\n');
    }
    uint64_t span = profile->bucket_count * profile->bucket_ns;
    memory_graph_add_axis(out, style, &graph, span);
    memory_graph_add_legend(out, style, &graph, profile);
}

/* Writes the section on types: what the program allocates, for how much of its memory a type is
 * known, and what was alive at a look. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/estimate.h"
#include "aggregate/live_types.h"
#include "aggregate/order.h"
#include "aggregate/path_types.h"
#include "base/text.h"
#include "format/names.h"
#include "model/figure_human.h"

enum { CELL = 10, CELLS = 3, BY = 8 };

static const struct text_column columns[] = {{"at peak", CELL, TEXT_RIGHT, 0},
                                             {"allocated", CELL, TEXT_RIGHT, 0},
                                             {"blocks", CELL, TEXT_RIGHT, 0},
                                             {"by", BY, TEXT_LEFT, 2},
                                             {"type", 0, TEXT_LEFT, 0}};
enum { COLUMNS = sizeof columns / sizeof *columns, USED = CELLS * CELL + 2 + BY };

static const char *report_text_types_source(const struct path_type *type)
{
    const char *name = "";
    unsigned count = 0;
    for (unsigned i = 0; i < PATH_TYPE_SOURCES; i++)
        if (type->sources[i] && count++ == 0)
            name = path_type_source_names[i];
    return count < 2 ? name : count == 2 ? "both" : "all";
}

static void report_text_types_add(struct report_text *text, const struct merged_metrics *merged,
                                  const char *source, const char *name)
{
    const struct call_metrics *call = &merged->metrics;
    size_t columns_left = text->style.columns > USED ? text->style.columns - USED : 0;
    report_part_row(text, columns);
    report_part_next_figure(text, figure_human_bytes(call->at_peak_bytes).text);
    report_part_next(text, figure_human_bytes(call->alloc_bytes).text);
    report_part_next(text, estimate_count(text->profile, call->alloc_count).text);
    report_part_next(text, source);
    report_part_next(text, "");
    name_add_type(&text->out, name, columns_left);
    report_part_end(text);
}

/* The metric that types are sorted by: what was alive at the peak, without --sort. */
static size_t report_text_types_metric(const struct report_text *text)
{
    return metric_choice_of(text->profile, text->options->metric);
}

static void report_text_types_say_share(struct report_text *text, const struct path_types *types)
{
    struct strbuf line = STRBUF_INIT;
    size_t metric = metric_choice_that_adds_up(text->profile, text->options->metric);
    struct figure total = text->sites.totals[metric];
    struct figure unknown = metric_of(&metrics[metric], &types->unknown.metrics);
    strbuf_addf(&line, "Of %s the type is not known.",
                human_percent(figure_double(unknown), figure_double(total)).text);
    if (types->mixed)
        strbuf_addf(&line, " On %s call path%s live blocks have several classes.",
                    human_exact(types->mixed).text, types->mixed == 1 ? "" : "s");
    if (!types->has_classes)
        strbuf_add_string(&line, " What live blocks begin with is not known.");
    report_part_note(text, line.data);
    strbuf_release(&line);
}

static int report_text_types_add_all(struct report_text *text, const struct path_types *types)
{
    uint32_t *order = path_types_order(types, report_text_types_metric(text));
    if (!order)
        return -ENOMEM;
    if (types->count)
        report_part_headings(text, columns, COLUMNS);
    for (size_t i = 0; i < types->count && i < text->options->top; i++)
        report_text_types_add(text, &types->rows[order[i]].merged,
                              report_text_types_source(&types->rows[order[i]]),
                              types->rows[order[i]].name);
    report_part_more(text, types->count);
    free(order);
    return 0;
}

/* ---- What of it is padding ------------------------------------------------------------------- */

enum { SIZE = 9, HOLES = 14 };
static const struct text_column padding_columns[] = {
    {"unused", CELL, TEXT_RIGHT, 0}, {"of", CELL, TEXT_RIGHT, 0},     {"size", SIZE, TEXT_RIGHT, 0},
    {"holes", HOLES, TEXT_RIGHT, 0}, {"at end", SIZE, TEXT_RIGHT, 0}, {"type", 0, TEXT_LEFT, 2}};
enum {
    PADDING_COLUMNS = sizeof padding_columns / sizeof *padding_columns,
    PADDING_USED = 2 * CELL + 2 * SIZE + HOLES + 2
};

static void report_text_types_add_padding(struct report_text *text, const struct path_type *type)
{
    const struct profile_call_type *layout = type->layout;
    struct strbuf holes = STRBUF_INIT;
    size_t left = text->style.columns > PADDING_USED ? text->style.columns - PADDING_USED : 0;
    uint64_t count = figure_or(layout->hole_count, 0);
    if (count)
        strbuf_addf(&holes, "%s in %s", human_bytes(figure_or(layout->hole_bytes, 0)).text,
                    human_count(count).text);
    report_part_row(text, padding_columns);
    report_part_next_figure(text, figure_human_bytes(path_types_padding(type)).text);
    report_part_next(text, figure_human_bytes(type->merged.metrics.at_peak_bytes).text);
    report_part_next(text, human_bytes(layout->bytes).text);
    report_part_next(text, count ? holes.data : "-");
    report_part_next(text, figure_positive(layout->padding_bytes)
                               ? figure_human_bytes(layout->padding_bytes).text
                               : "-");
    report_part_next(text, "");
    name_add_type(&text->out, type->name, left);
    report_part_end(text);
    strbuf_release(&holes);
}

/* Adds the types with padding at the peak, most first. */
static int report_text_types_add_paddings(struct report_text *text, const struct path_types *types)
{
    struct figure *values = calloc(types->count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < types->count; i++) {
        values[i] = path_types_padding(&types->rows[i]);
        count += figure_positive(values[i]);
    }
    uint32_t *order = values ? order_values(values, types->count) : NULL;
    free(values);
    if (!order)
        return -ENOMEM;
    if (count) {
        report_part_title(text, "Padding", "of types, at the peak: bytes of no member");
        report_part_headings(text, padding_columns, PADDING_COLUMNS);
    }
    size_t shown = count < text->options->top ? count : text->options->top;
    for (size_t i = 0; i < shown; i++)
        report_text_types_add_padding(text, &types->rows[order[i]]);
    report_part_more(text, count);
    free(order);
    return 0;
}

/* ---- What was alive -------------------------------------------------------------------------- */

enum { LIVE_SHARE = 8, LIVE_BLOCKS = 9, LIVE_TYPE = 24 };

static const struct text_column live_columns[] = {{"alive", CELL, TEXT_RIGHT, 0},
                                                  {"", LIVE_SHARE, TEXT_RIGHT, 0},
                                                  {"blocks", LIVE_BLOCKS, TEXT_RIGHT, 0},
                                                  {"type", LIVE_TYPE, TEXT_LEFT, 2},
                                                  {"most by", 0, TEXT_LEFT, 2}};
enum {
    LIVE_COLUMNS = sizeof live_columns / sizeof *live_columns,
    LIVE_USED = CELL + LIVE_SHARE + LIVE_BLOCKS + LIVE_TYPE + 4
};

static void report_text_types_add_live(struct report_text *text, const struct live_type *type,
                                       struct figure whole)
{
    report_part_row(text, live_columns);
    report_part_next_figure(text, human_bytes(type->bytes).text);
    report_part_next(text, human_percent((double)type->bytes, figure_double(whole)).text);
    report_part_next(text, human_count(type->count).text);
    report_part_next_name(text, type->name);
    report_part_next(text, "");
    report_part_path(text, type->path, LIVE_USED, false);
}

static void report_text_types_say_live(struct report_text *text, const struct live_types *types)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "after %s, of %s in %s blocks", human_duration(types->sample->time_ns).text,
                human_bytes(types->bytes).text, human_exact(types->blocks).text);
    report_part_title(text, "Alive", line.data);
    strbuf_reset(&line);
    if (figure_known(types->unknown_bytes))
        strbuf_addf(&line,
                    "As the blocks themselves say. Of %s more in %s blocks the type is not known.",
                    human_bytes(figure_or(types->unknown_bytes, 0)).text,
                    figure_human_count(types->unknown_count).text);
    else
        strbuf_add_string(&line, "As the blocks themselves say.");
    report_part_note(text, line.data);
    strbuf_release(&line);
}

static void report_text_types_add_alive(struct report_text *text, const struct live_types *types)
{
    struct figure whole = figure_add(figure_of(types->bytes), types->unknown_bytes);
    size_t shown = types->count < text->options->top ? types->count : text->options->top;
    report_text_types_say_live(text, types);
    report_part_headings(text, live_columns, LIVE_COLUMNS);
    for (size_t i = 0; i < shown; i++)
        report_text_types_add_live(text, &types->rows[i], whole);
    report_part_more(text, types->count);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int report_text_types_add_allocated(struct report_text *text, const struct path_types *types)
{
    report_part_title(text, "Types", "of what call paths allocate");
    report_text_types_say_share(text, types);
    return report_text_types_add_all(text, types);
}

/* If no call path has a type, but blocks themselves have, those are the answer. */
int report_section_types(struct report_text *text)
{
    struct path_types types;
    struct live_types alive;
    int error = path_types_init(&types, text->profile, text->sites.wanted);
    if (error)
        return error;
    error = live_types_init(&alive, text->profile, text->sites.wanted);
    if (!error && (types.count || !alive.count))
        error = report_text_types_add_allocated(text, &types);
    if (!error)
        error = report_text_types_add_paddings(text, &types);
    if (!error && alive.count)
        report_text_types_add_alive(text, &alive);
    live_types_release(&alive);
    path_types_release(&types);
    return error;
}

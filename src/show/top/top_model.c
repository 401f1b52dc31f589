/* What `tidemark top` shows: the profile read again when its signature changes (top_model.h). Rows
 * of the reading before are kept sorted by a hash of name and place, so that growth and rate can be
 * found by a binary search. */
#include "top/top_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/alive.h"
#include "base/hash.h"
#include "base/human.h"
#include "base/search.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/memory.h"
#include "base/now.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "format/names.h"

enum { PLACE_COLUMNS = 60 };

static double top_model_seconds_now(void)
{
    return (double)now_monotonic_ns() / 1e9;
}

void top_model_init(struct top_model *model, const struct top_options *options)
{
    *model = (struct top_model){.options = options, .before_ns = FIGURE_UNKNOWN};
}

static void top_model_drop_rows(struct top_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rows[i].name);
        free(rows[i].place);
        free(rows[i].wrapper);
    }
    free(rows);
}

static void top_model_drop_reading(struct top_model *model)
{
    if (!model->profile)
        return;
    top_model_drop_rows(model->rows, model->row_count);
    call_sites_release(&model->sites);
    profile_free(model->profile);
    model->profile = NULL;
    model->rows = NULL;
    model->row_count = 0;
}

void top_model_release(struct top_model *model)
{
    top_model_drop_reading(model);
    free(model->before);
    model->before = NULL;
    free(model->base);
    model->base = NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static char *top_model_owned(struct strbuf *text)
{
    char *copy = strdup(text->data);
    strbuf_release(text);
    if (!copy)
        memory_exhausted();
    return copy;
}

/* Indices of functions and lines differ from one reading to the next: names do not. */
static uint64_t top_model_key_of(const struct profile *profile, struct frame frame,
                                 const char *name)
{
    uint32_t line = 0;
    const char *file = frame_file(profile, frame, &line), *module = frame_module(profile, frame);
    uint64_t key = hash_bytes(name, strlen(name)) + line;
    key = hash_u64(key) ^ (file ? hash_bytes(file, strlen(file)) : 0);
    return hash_u64(key) ^ (module ? hash_bytes(module, strlen(module)) : 0);
}

static struct top_row top_model_row_of(const struct top_model *model, size_t group)
{
    const struct site_group *of = &model->sites.groups[group];
    const struct call_metrics *call = &of->merged.metrics;
    struct strbuf name = STRBUF_INIT, safe = STRBUF_INIT, place = STRBUF_INIT,
                  wrapper = STRBUF_INIT;
    frame_add_name(&name, model->profile, of->frame);
    text_add_safe_string(&safe, name.data);
    frame_add_place(&place, model->profile, of->frame, PLACE_COLUMNS);
    struct top_row row = {
        .key = top_model_key_of(model->profile, of->frame, name.data),
        .group = group,
        .live_bytes = call->live_bytes,
        .live_count = call->live_count,
        .alloc_count = call_metrics_blocks(call),
        .alloc_bytes = call_metrics_bytes(call),
        .at_peak_bytes = call->at_peak_bytes,
    };
    row.name = top_model_owned(&safe);
    row.place = top_model_owned(&place);
    strbuf_reset(&name);
    if (of->frame.through)
        frame_add_through(&name, model->profile, of->frame);
    text_add_safe_string(&wrapper, name.data);
    row.wrapper = top_model_owned(&wrapper);
    strbuf_release(&name);
    return row;
}

static const struct top_before *top_model_find_before(const struct top_before *before, size_t count,
                                                      uint64_t key)
{
    size_t first = 0;
    SEARCH_FIRST(first, count, at, before[at].key < key);
    return first < count && before[first].key == key ? &before[first] : NULL;
}

static double top_model_rate_between(const struct top_model *model, struct figure now,
                                     struct figure before)
{
    double span_ns = figure_double(model->duration_ns) - figure_double(model->before_ns);
    double calls = figure_double(now) - figure_double(before);
    if (!(span_ns > 0) || isnan(calls))
        return NAN;
    return calls > 0 ? calls * 1e9 / span_ns : 0; /* an estimate may go back */
}

static double top_model_growth_since(const struct top_model *model, struct figure now,
                                     struct figure before)
{
    bool known = model->base || figure_known(model->before_ns);
    return known ? figure_double(now) - figure_double(before) : NAN;
}

static void top_model_compare(const struct top_model *model, struct top_row *row)
{
    const struct top_before *before =
        top_model_find_before(model->before, model->before_count, row->key);
    const struct top_before *from =
        model->base ? top_model_find_before(model->base, model->base_count, row->key) : before;
    struct figure none = figure_of(0);
    row->rate =
        top_model_rate_between(model, row->alloc_count, before ? before->alloc_count : none);
    row->growth_bytes =
        top_model_growth_since(model, row->live_bytes, from ? from->live_bytes : none);
}

static int top_model_make_rows(struct top_model *model)
{
    model->rows = calloc(model->sites.group_count + 1, sizeof *model->rows);
    if (!model->rows)
        return -ENOMEM;
    for (size_t i = 0; i < model->sites.group_count; i++) {
        model->rows[i] = top_model_row_of(model, i);
        top_model_compare(model, &model->rows[i]);
    }
    model->row_count = model->sites.group_count;
    return 0;
}

/* ---- Looks --------------------------------------------------------------------------------- */

static int top_model_by_key(const void *a, const void *b)
{
    const struct top_before *left = a, *right = b;
    return left->key < right->key ? -1 : left->key > right->key;
}

static struct top_before *top_model_copy_rows(const struct top_model *model)
{
    struct top_before *copy = memory_need(calloc(model->row_count + 1, sizeof *copy));
    for (size_t i = 0; i < model->row_count; i++)
        copy[i] = (struct top_before){model->rows[i].key, model->rows[i].live_bytes,
                                      model->rows[i].alloc_count};
    qsort(copy, model->row_count, sizeof *copy, top_model_by_key);
    return copy;
}

static void top_model_compare_all(struct top_model *model)
{
    for (size_t i = 0; i < model->row_count; i++)
        top_model_compare(model, &model->rows[i]);
}

void top_model_set_base(struct top_model *model)
{
    if (!model->profile || !model->profile->has_program)
        return;
    free(model->base);
    model->base = top_model_copy_rows(model);
    model->base_count = model->row_count;
    model->base_ns = model->duration_ns;
    model->base_live = model->profile->program.total.live_bytes;
    top_model_compare_all(model);
}

void top_model_drop_base(struct top_model *model)
{
    free(model->base);
    model->base = NULL;
    model->base_count = 0;
    top_model_compare_all(model);
}

/* Keeps the rows of this reading, to compare the next one with them. */
static void top_model_keep_before(struct top_model *model)
{
    if (!model->profile || !model->profile->has_program)
        return;
    free(model->before);
    model->before = top_model_copy_rows(model);
    model->before_count = model->row_count;
    model->before_ns = model->duration_ns;
    model->before_live = model->profile->program.total.live_bytes;
    model->before_allocs = call_metrics_blocks(&model->profile->program.total);
}

static int top_model_take(struct top_model *model, struct profile *profile, struct strbuf *why)
{
    struct call_sites sites;
    int error = call_sites_init(&sites, profile, model->options->filter, model->options->hide_std);
    if (error) {
        strbuf_add_string(why, strerror(-error));
        profile_free(profile);
        return error;
    }
    top_model_keep_before(model);
    top_model_drop_reading(model);
    model->profile = profile;
    model->sites = sites;
    model->sites.profile = profile;
    model->duration_ns = figure_of(facts_number(profile, PROFILE_META_DURATION));
    error = top_model_make_rows(model);
    if (error)
        strbuf_add_string(why, strerror(-error));
    return error;
}

int top_model_look(struct top_model *model, struct strbuf *why)
{
    struct profile *profile;
    double begun = top_model_seconds_now();
    uint64_t signature = profile_signature(model->options->path);
    /* If the writer was killed, the file stays as it is: ask whether it is still being written. */
    if (model->profile && signature && signature == model->signature &&
        alive_is_written(model->options->path) == model->profile->being_written)
        return 0;
    int error = profile_read(&profile, model->options->path);
    if (error) {
        strbuf_add_string(why, error_text());
        return error;
    }
    error = top_model_take(model, profile, why);
    model->signature = signature;
    model->read_seconds = top_model_seconds_now() - begun;
    return error ? error : 1;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* NAN: not known. */
static double top_model_sort_value(const struct top_row *row, enum top_sort sort)
{
    switch (sort) {
    case TOP_GROWTH:
        return row->growth_bytes;
    case TOP_RATE:
        return row->rate;
    case TOP_COUNT:
        return figure_double(row->alloc_count);
    case TOP_BYTES:
        return figure_double(row->alloc_bytes);
    case TOP_PEAK:
        return figure_double(row->at_peak_bytes);
    default:
        return figure_double(row->live_bytes);
    }
}

struct order {
    enum top_sort sort;
    bool ascending;
};

static int top_model_compare_rows(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    const struct top_row *left = a, *right = b;
    double x = top_model_sort_value(left, order->sort),
           y = top_model_sort_value(right, order->sort);
    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1; /* unknown figures are last in both orders */
    if (x < y || x > y)
        return (x < y) == order->ascending ? -1 : 1;
    int live = figure_compare(right->live_bytes, left->live_bytes);
    if (live)
        return live;
    return left->key < right->key ? -1 : left->key > right->key;
}

void top_model_sort(struct top_model *model, enum top_sort sort, bool ascending)
{
    struct order order = {sort, ascending};
    qsort_r(model->rows, model->row_count, sizeof *model->rows, top_model_compare_rows, &order);
}

const struct top_row *top_model_find(const struct top_model *model, uint64_t key)
{
    for (size_t i = 0; i < model->row_count; i++)
        if (model->rows[i].key == key)
            return &model->rows[i];
    return NULL;
}

/* ---- Figures ------------------------------------------------------------------------------- */

double top_model_growth(const struct top_model *model)
{
    return top_model_growth_since(model, model->profile->program.total.live_bytes,
                                  model->base ? model->base_live : model->before_live);
}

double top_model_rate(const struct top_model *model)
{
    const struct call_metrics *total = &model->profile->program.total;
    return top_model_rate_between(model, call_metrics_blocks(total), model->before_allocs);
}

void top_add_field(struct strbuf *out, const char *text)
{
    text_cell_add(out, text, (struct text_column){NULL, TOP_FIGURE - 1, TEXT_RIGHT, 1});
}

size_t top_figures_shown(size_t columns)
{
    size_t room = columns > TOP_LEAST_FOR_SITE + 2 ? columns - TOP_LEAST_FOR_SITE - 2 : 0;
    return room >= TOP_FIGURES * TOP_FIGURE ? TOP_FIGURES
           : room >= TOP_FIGURE             ? room / TOP_FIGURE
                                            : 1;
}

void top_add_figure(struct strbuf *out, size_t column, enum top_sort sort, size_t columns,
                    const char *text)
{
    static const size_t sorted_by[TOP_SORTS] = {[TOP_LIVE] = 0,  [TOP_GROWTH] = 1, [TOP_RATE] = 2,
                                                [TOP_COUNT] = 3, [TOP_BYTES] = 3,  [TOP_PEAK] = 3};
    size_t sorted = sorted_by[sort];
    size_t rank = column == sorted ? 0 : column + (column < sorted);
    if (rank < top_figures_shown(columns))
        top_add_field(out, text);
}

void top_add_growth(struct strbuf *out, double bytes)
{
    if (isnan(bytes))
        strbuf_add_char(out, '-');
    else if (bytes == 0)
        strbuf_add_char(out, '0');
    else
        strbuf_addf(out, "%c%s", bytes < 0 ? '-' : '+', human_bytes((uint64_t)fabs(bytes)).text);
}

void top_add_site(struct strbuf *out, const struct top_row *row, const struct style *style,
                  size_t room)
{
    size_t used = *row->wrapper ? frame_add_wrapper(out, style, row->wrapper, row->name, room) : 0;
    name_add_short(out, row->name, room - used);
}

void top_add_rate(struct strbuf *out, double rate)
{
    if (isnan(rate))
        strbuf_add_char(out, '-');
    else if (rate > 0 && rate < 10)
        strbuf_addf(out, "%.1f/s", rate);
    else
        strbuf_addf(out, "%s/s", human_count((uint64_t)rate).text);
}

static bool top_model_ends_part(const char *at)
{
    static const char *const ends[] = {", ", "; ", " in ", "  "};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(at, ends[i], strlen(ends[i])) == 0)
            return true;
    return *at == '\0';
}

void top_add_whole_parts(struct strbuf *out, const char *line, size_t columns)
{
    struct strbuf part = STRBUF_INIT;
    size_t whole = 0;
    for (size_t at = 1; at <= strlen(line); at++) {
        if (!top_model_ends_part(line + at))
            continue;
        strbuf_reset(&part);
        strbuf_addf(&part, "%.*s", (int)at, line);
        whole = text_width(part.data) <= columns ? at : whole;
    }
    strbuf_release(&part);
    if (whole)
        strbuf_addf(out, "%.*s", (int)whole, line);
    else
        text_add_cut(out, line, columns);
}

void top_add_state(struct strbuf *out, const struct top_model *model)
{
    const struct program_metrics *program = &model->profile->program;
    const char *about = model->profile->sample_bytes ? "~" : "";
    struct figure resident = facts_resident_peak(model->profile);
    if (!model->profile->has_program) {
        strbuf_add_string(out, "no figures yet: the first are there after two seconds");
        return;
    }
    strbuf_addf(out, "live %s%s", about, figure_human_bytes(program->total.live_bytes).text);
    if (model->base || figure_known(model->before_ns)) {
        strbuf_add_string(out, " (");
        top_add_growth(out, top_model_growth(model));
        if (model->base)
            strbuf_addf(out, " since %s", figure_human_duration(model->base_ns).text);
        strbuf_add_char(out, ')');
    }
    strbuf_addf(out, " in %s block%s, peak %s%s",
                figure_human_count(program->total.live_count).text,
                human_plural(figure_or(program->total.live_count, 0)), about,
                figure_human_bytes(program->total.peak_bytes).text);
    if (figure_known(resident))
        strbuf_addf(out, ", most resident %s", figure_human_bytes(resident).text);
    strbuf_add_string(out, ", allocations ");
    top_add_rate(out, top_model_rate(model));
}

/* See model.h. */
#include "top/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/alive.h"
#include "base/hash.h"
#include "base/human.h"
#include "base/text.h"
#include "present/facts.h"
#include "present/frames.h"

enum { PLACE_COLUMNS = 60 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void top_model_init(struct top_model *model, const struct top_options *options)
{
    *model = (struct top_model){.options = options, .before_ns = UINT64_MAX};
}

static void drop_rows(struct top_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rows[i].name);
        free(rows[i].place);
    }
    free(rows);
}

static void drop_reading(struct top_model *model)
{
    if (!model->profile)
        return;
    drop_rows(model->rows, model->row_count);
    call_sites_release(&model->sites);
    profile_free(model->profile);
    model->profile = NULL;
    model->rows = NULL;
    model->row_count = 0;
}

void top_model_release(struct top_model *model)
{
    drop_reading(model);
    free(model->before);
    model->before = NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static char *owned(struct strbuf *text)
{
    char *copy = strdup(text->data);
    strbuf_release(text);
    if (!copy)
        abort();
    return copy;
}

/* Indices of functions and lines differ from one reading to the next: names do not. */
static uint64_t key_of(const struct profile *profile, struct frame frame, const char *name)
{
    uint32_t line = 0;
    const char *file = frame_file(profile, frame, &line), *module = frame_module(profile, frame);
    uint64_t key = hash_bytes(name, strlen(name)) + line;
    key = hash_u64(key) ^ (file ? hash_bytes(file, strlen(file)) : 0);
    return hash_u64(key) ^ (module ? hash_bytes(module, strlen(module)) : 0);
}

static struct top_row row_of(const struct top_model *model, size_t group)
{
    const struct site_group *of = &model->sites.groups[group];
    const struct call_metrics *call = &of->merged.metrics;
    struct strbuf name = STRBUF_INIT, safe = STRBUF_INIT, place = STRBUF_INIT;
    frame_add_name(&name, model->profile, of->frame);
    text_add_safe_string(&safe, name.data);
    frame_add_place(&place, model->profile, of->frame, PLACE_COLUMNS);
    struct top_row row = {
        .key = key_of(model->profile, of->frame, name.data),
        .group = group,
        .live_bytes = call->live_bytes,
        .live_count = call->live_count,
        .alloc_count = call_metrics_blocks(call),
        .alloc_bytes = call_metrics_bytes(call),
        .at_peak_bytes = call->at_peak_bytes,
    };
    row.name = owned(&safe);
    row.place = owned(&place);
    strbuf_release(&name);
    return row;
}

static const struct top_before *before_of(const struct top_model *model, uint64_t key)
{
    size_t low = 0, high = model->before_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->before[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->before_count && model->before[low].key == key ? &model->before[low] : NULL;
}

static double rate_between(const struct top_model *model, uint64_t now, uint64_t before)
{
    if (model->before_ns == UINT64_MAX || model->duration_ns <= model->before_ns ||
        now == UINT64_MAX)
        return NAN;
    /* An estimate may go back. */
    return now < before
               ? 0
               : (double)(now - before) * 1e9 / (double)(model->duration_ns - model->before_ns);
}

static double growth_since(const struct top_model *model, uint64_t now, uint64_t before)
{
    return model->before_ns == UINT64_MAX ? NAN : (double)now - (double)before;
}

static void compare(const struct top_model *model, struct top_row *row)
{
    const struct top_before *before = before_of(model, row->key);
    row->rate = rate_between(model, row->alloc_count, before ? before->alloc_count : 0);
    row->growth_bytes = growth_since(model, row->live_bytes, before ? before->live_bytes : 0);
}

static int make_rows(struct top_model *model)
{
    model->rows = calloc(model->sites.group_count + 1, sizeof *model->rows);
    if (!model->rows)
        return -ENOMEM;
    for (size_t i = 0; i < model->sites.group_count; i++) {
        model->rows[i] = row_of(model, i);
        compare(model, &model->rows[i]);
    }
    model->row_count = model->sites.group_count;
    return 0;
}

/* ---- Looks --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct top_before *left = a, *right = b;
    return left->key < right->key ? -1 : left->key > right->key;
}

/* What is shown becomes what was before. */
static void keep_before(struct top_model *model)
{
    if (!model->profile || !model->profile->has_program)
        return;
    struct top_before *before = calloc(model->row_count + 1, sizeof *before);
    if (!before)
        abort();
    for (size_t i = 0; i < model->row_count; i++)
        before[i] = (struct top_before){model->rows[i].key, model->rows[i].live_bytes,
                                        model->rows[i].alloc_count};
    qsort(before, model->row_count, sizeof *before, by_key);
    free(model->before);
    model->before = before;
    model->before_count = model->row_count;
    model->before_ns = model->duration_ns;
    model->before_live = model->profile->program.total.live_bytes;
    model->before_allocs = call_metrics_blocks(&model->profile->program.total);
}

static int take(struct top_model *model, struct profile *profile, struct strbuf *why)
{
    struct report_options options = {.filter = model->options->filter,
                                     .hide_std = model->options->hide_std,
                                     .metric = REPORT_ALL_METRICS};
    struct call_sites sites;
    int error = call_sites_init(&sites, profile, &options);
    if (error) {
        strbuf_add_string(why, strerror(-error));
        profile_free(profile);
        return error;
    }
    keep_before(model);
    drop_reading(model);
    model->profile = profile;
    model->sites = sites;
    model->sites.profile = profile;
    model->duration_ns = facts_number(profile, PROFILE_META_DURATION);
    error = make_rows(model);
    if (error)
        strbuf_add_string(why, strerror(-error));
    return error;
}

int top_model_look(struct top_model *model, struct strbuf *why)
{
    struct profile *profile;
    double begun = seconds_now();
    uint64_t signature = profile_signature(model->options->path);
    /* Whoever wrote it may have gone without a word: then nothing changes but that. */
    if (model->profile && signature && signature == model->signature &&
        alive_is_written(model->options->path) == model->profile->being_written)
        return 0;
    int error = profile_read(&profile, model->options->path);
    if (error) {
        strbuf_add_string(why, profile_error());
        return error;
    }
    error = take(model, profile, why);
    model->signature = signature;
    model->read_seconds = seconds_now() - begun;
    return error ? error : 1;
}

/* ---- Order --------------------------------------------------------------------------------- */

static double sort_value(const struct top_row *row, enum top_sort sort)
{
    switch (sort) {
    case TOP_GROWTH:
        return isnan(row->growth_bytes) ? 0 : row->growth_bytes;
    case TOP_RATE:
        return isnan(row->rate) ? -1 : row->rate;
    case TOP_COUNT:
        return (double)row->alloc_count;
    case TOP_BYTES:
        return (double)row->alloc_bytes;
    case TOP_PEAK:
        return (double)row->at_peak_bytes;
    default:
        return (double)row->live_bytes;
    }
}

struct order {
    enum top_sort sort;
    bool ascending;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    const struct top_row *left = a, *right = b;
    double x = sort_value(left, order->sort), y = sort_value(right, order->sort);
    if (x != y)
        return (x < y) == order->ascending ? -1 : 1;
    if (left->live_bytes != right->live_bytes)
        return left->live_bytes < right->live_bytes ? 1 : -1;
    return left->key < right->key ? -1 : left->key > right->key;
}

void top_model_sort(struct top_model *model, enum top_sort sort, bool ascending)
{
    struct order order = {sort, ascending};
    qsort_r(model->rows, model->row_count, sizeof *model->rows, compare_rows, &order);
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
    return growth_since(model, model->profile->program.total.live_bytes, model->before_live);
}

double top_model_rate(const struct top_model *model)
{
    const struct call_metrics *total = &model->profile->program.total;
    return rate_between(model, call_metrics_blocks(total), model->before_allocs);
}

struct human top_count(uint64_t count)
{
    return count == UINT64_MAX ? (struct human){"-"} : human_count(count);
}

struct human top_bytes(uint64_t bytes)
{
    return bytes == UINT64_MAX ? (struct human){"-"} : human_bytes(bytes);
}

void top_add_field(struct strbuf *out, const char *text)
{
    strbuf_add_char(out, ' ');
    text_add_right(out, text, TOP_FIGURE - 1);
}

size_t top_figures_shown(size_t columns)
{
    size_t room = columns > TOP_LEAST_FOR_SITE + 2 ? columns - TOP_LEAST_FOR_SITE - 2 : 0;
    return room >= TOP_FIGURES * TOP_FIGURE ? TOP_FIGURES : room >= TOP_FIGURE ? room / TOP_FIGURE : 1;
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

void top_add_rate(struct strbuf *out, double rate)
{
    if (isnan(rate))
        strbuf_add_char(out, '-');
    else if (rate > 0 && rate < 10)
        strbuf_addf(out, "%.1f/s", rate);
    else
        strbuf_addf(out, "%s/s", human_count((uint64_t)rate).text);
}

void top_add_state(struct strbuf *out, const struct top_model *model)
{
    const struct program_metrics *program = &model->profile->program;
    const char *about = model->profile->sample_bytes ? "~" : "";
    uint64_t resident;
    if (!model->profile->has_program) {
        strbuf_add_string(out, "no figures yet: the first are there after two seconds");
        return;
    }
    strbuf_addf(out, "live %s%s", about, human_bytes(program->total.live_bytes).text);
    if (model->before_ns != UINT64_MAX) {
        strbuf_add_string(out, " (");
        top_add_growth(out, top_model_growth(model));
        strbuf_add_char(out, ')');
    }
    strbuf_addf(out, " in %s block%s, peak %s%s", human_count(program->total.live_count).text,
                human_plural(program->total.live_count), about, human_bytes(program->total.peak_bytes).text);
    if (facts_resident_peak(model->profile, &resident))
        strbuf_addf(out, ", most resident %s", human_bytes(resident).text);
    strbuf_add_string(out, ", allocations ");
    top_add_rate(out, top_model_rate(model));
}

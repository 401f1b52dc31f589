/* Keeps a model for each program that is watched (watched.h). Each profile is read again when it
 * has changed. A program that ended stays in the list. Figures of programs are of different
 * moments, within two seconds. */
#include "top/watched.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "format/names.h"

static void watched_add(struct watched *programs, const char *path)
{
    for (size_t i = 0; i < programs->count; i++)
        if (!strcmp(programs->items[i]->path, path))
            return;
    struct watched_program *program = memory_need(calloc(1, sizeof *program));
    program->path = memory_need(strdup(path));
    program->options = *programs->options;
    program->options.path = program->path;
    top_model_init(&program->model, &program->options);
    array_need_room(&programs->items, &programs->room, programs->count, sizeof *programs->items);
    programs->items[programs->count++] = program;
}

static void watched_find(struct watched *programs)
{
    struct top_paths found = {0};
    top_find_all(&found);
    for (size_t i = 0; i < found.count; i++)
        watched_add(programs, found.items[i]);
    top_paths_release(&found);
}

void watched_init(struct watched *programs, const struct top_options *options)
{
    *programs = (struct watched){.options = options};
    for (size_t i = 0; i < options->path_count; i++)
        watched_add(programs, options->paths[i]);
}

void watched_release(struct watched *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        top_model_release(&programs->items[i]->model);
        free(programs->items[i]->path);
        free(programs->items[i]);
    }
    free(programs->items);
    *programs = (struct watched){0};
}

bool watched_look(struct watched *programs)
{
    size_t before = programs->count;
    bool changed = false;
    if (!programs->options->path_count)
        watched_find(programs);
    for (size_t i = 0; i < programs->count; i++) {
        struct strbuf why = STRBUF_INIT;
        changed |= top_model_look(&programs->items[i]->model, &why) != 0;
        strbuf_release(&why);
    }
    return changed || programs->count > before;
}

bool watched_any_is_written(const struct watched *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        const struct profile *profile = programs->items[i]->model.profile;
        if (profile && profile->being_written)
            return true;
    }
    return false;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* NAN: not known. */
static double watched_value(const struct watched_program *program, enum watched_sort sort)
{
    const struct top_model *model = &program->model;
    if (!model->profile || !model->profile->has_program)
        return NAN;
    const struct call_metrics *total = &model->profile->program.total;
    switch (sort) {
    case WATCHED_GROWTH:
        return top_model_growth(model);
    case WATCHED_RATE:
        return top_model_rate(model);
    case WATCHED_PEAK:
        return figure_double(total->peak_bytes);
    case WATCHED_RESIDENT:
        return figure_double(facts_resident_peak(model->profile));
    default:
        return figure_double(total->live_bytes);
    }
}

static void watched_add_name(struct strbuf *out, const struct watched_program *program)
{
    const struct profile *profile = program->model.profile;
    const char *name = profile ? profile_get(profile, PROFILE_META_PROGRAM) : NULL;
    text_add_safe_string(out, name_base(name ? name : program->path));
    if (!profile)
        return;
    strbuf_add_string(out, " (");
    facts_add_text(out, profile, PROFILE_META_PID);
    facts_add_rank(out, profile);
    strbuf_add_char(out, ')');
}

static int watched_compare_names(const struct watched_program *a, const struct watched_program *b)
{
    struct strbuf names[2] = {STRBUF_INIT, STRBUF_INIT};
    watched_add_name(&names[0], a);
    watched_add_name(&names[1], b);
    int order = strcmp(names[0].data, names[1].data);
    strbuf_release(&names[0]);
    strbuf_release(&names[1]);
    return order ? order : strcmp(a->path, b->path);
}

static int watched_compare(const void *left, const void *right, void *context)
{
    const struct watched_program *a = *(struct watched_program *const *)left,
                                 *b = *(struct watched_program *const *)right;
    enum watched_sort sort = *(enum watched_sort *)context;
    double x = watched_value(a, sort), y = watched_value(b, sort);
    if (sort == WATCHED_NAME || (isnan(x) && isnan(y)) || x == y)
        return watched_compare_names(a, b);
    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    return x > y ? -1 : 1;
}

void watched_sort(struct watched *programs, enum watched_sort sort)
{
    if (programs->count)
        qsort_r(programs->items, programs->count, sizeof *programs->items, watched_compare, &sort);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void watched_add_figure(struct strbuf *out, const struct watched_program *program,
                               enum watched_sort column)
{
    struct strbuf text = STRBUF_INIT;
    double value = watched_value(program, column);
    if (column == WATCHED_GROWTH)
        top_add_growth(&text, value);
    else if (column == WATCHED_RATE)
        top_add_rate(&text, value);
    else
        strbuf_add_string(&text, isnan(value) ? "-" : human_bytes((uint64_t)value).text);
    top_add_field(out, text.data);
    strbuf_release(&text);
}

size_t watched_columns(size_t columns)
{
    size_t room = columns > TOP_LEAST_FOR_SITE ? columns - TOP_LEAST_FOR_SITE : 0;
    size_t shown = room / TOP_FIGURE < WATCHED_NAME ? room / TOP_FIGURE : WATCHED_NAME;
    return shown ? shown : 1;
}

void watched_add_line(struct strbuf *out, const struct watched_program *program, size_t columns)
{
    static const char *const titles[] = {"live", "growth", "rate", "peak", "resident"};
    size_t shown = watched_columns(columns);
    struct strbuf name = STRBUF_INIT, outcome = STRBUF_INIT;
    for (size_t i = 0; i < shown; i++) {
        if (program)
            watched_add_figure(out, program, (enum watched_sort)i);
        else
            top_add_field(out, titles[i]);
    }
    strbuf_add_string(out, "  ");
    size_t used = shown * TOP_FIGURE + 2, left = columns > used ? columns - used : 4;
    if (program)
        watched_add_name(&name, program);
    else
        strbuf_add_string(&name, "program");
    if (program && program->model.profile && !program->model.profile->being_written)
        facts_add_outcome(&outcome, program->model.profile);
    if (outcome.length)
        strbuf_addf(&name, "  %s", outcome.data);
    text_add_cut(out, name.data, left);
    strbuf_release(&name);
    strbuf_release(&outcome);
}

void watched_add_state(struct strbuf *out, const struct watched *programs)
{
    double live = 0;
    size_t written = 0, unknown = 0;
    for (size_t i = 0; i < programs->count; i++) {
        const struct profile *profile = programs->items[i]->model.profile;
        double value = watched_value(programs->items[i], WATCHED_LIVE);
        written += profile && profile->being_written;
        unknown += isnan(value);
        live += isnan(value) ? 0 : value;
    }
    strbuf_addf(out, "%s program%s, %s still being recorded, live ",
                human_exact(programs->count).text, human_plural(programs->count),
                human_exact(written).text);
    if (unknown == programs->count)
        strbuf_add_string(out, "not known");
    else
        strbuf_addf(out, "%s together", human_bytes((uint64_t)live).text);
    if (unknown && unknown < programs->count)
        strbuf_addf(out, ", not known of %s", human_exact(unknown).text);
}

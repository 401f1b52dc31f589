/* Writes `tidemark top` as lines, for pipes and files: one look after another. Each look is a
 * line about the process and a table of its largest call sites. It is written at once, so that a
 * reader never sees half of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/human.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "format/names.h"
#include "top/watched.h"

enum { USUAL_COLUMNS = 100 };

static void top_plain_add_figure(struct strbuf *out, const struct top_options *options,
                                 size_t column, const char *text)
{
    top_add_figure(out, column, options->sort, options->style.columns, text);
}

static void top_plain_add_row(struct strbuf *out, const struct top_row *row,
                              const struct top_options *options)
{
    struct strbuf growth = STRBUF_INIT, rate = STRBUF_INIT;
    top_add_growth(&growth, row->growth_bytes);
    top_add_rate(&rate, row->rate);
    top_plain_add_figure(out, options, 0, figure_human_bytes(row->live_bytes).text);
    top_plain_add_figure(out, options, 1, growth.data);
    top_plain_add_figure(out, options, 2, rate.data);
    top_plain_add_figure(out, options, 3, figure_human_count(row->alloc_count).text);
    strbuf_add_string(out, "  ");
    size_t room =
        options->style.columns - top_figures_shown(options->style.columns) * TOP_FIGURE - 2;
    size_t place = text_width(row->place);
    place = place > room / 2 ? room / 2 : place;
    top_add_site(out, row, &options->style, room - place - 2);
    if (place) {
        strbuf_add_string(out, "  ");
        text_add_cut(out, row->place, place);
    }
    strbuf_add_char(out, '\n');
    strbuf_release(&growth);
    strbuf_release(&rate);
}

/* One line, which other programs may look for; several if the output is narrower than usual. */
static void top_plain_add_state(struct strbuf *out, struct top_model *model)
{
    size_t columns = model->options->style.columns;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s  ", figure_human_duration(model->duration_ns).text);
    top_add_state(&line, model);
    if (!model->profile->being_written) {
        strbuf_add_string(&line, "; ");
        facts_add_outcome(&line, model->profile);
    }
    if (columns < USUAL_COLUMNS)
        text_add_wrapped(out, line.data, 2, columns);
    else
        strbuf_add_string(out, line.data);
    strbuf_add_char(out, '\n');
    strbuf_release(&line);
}

static void top_plain_add_look(struct strbuf *out, struct top_model *model)
{
    top_plain_add_state(out, model);
    top_model_sort(model, model->options->sort, false);
    if (model->row_count) {
        top_plain_add_figure(out, model->options, 0, "live");
        top_plain_add_figure(out, model->options, 1, "growth");
        top_plain_add_figure(out, model->options, 2, "rate");
        top_plain_add_figure(out, model->options, 3, "allocations");
        strbuf_add_string(out, "  call site\n");
    }
    for (size_t i = 0; i < model->row_count && i < model->options->rows; i++)
        top_plain_add_row(out, &model->rows[i], model->options);
}

static int top_plain_write_look(struct top_model *model)
{
    struct strbuf out = STRBUF_INIT;
    top_plain_add_look(&out, model);
    fwrite(out.data, 1, out.length, stdout);
    strbuf_release(&out);
    return fflush(stdout) ? -errno : 0;
}

static void top_plain_pause_for(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

int top_plain(const struct top_options *options, struct strbuf *why)
{
    struct top_model model;
    int error = 0;
    top_model_init(&model, options);
    for (uint64_t look = 0; !error && (!options->count || look < options->count); look++) {
        if (look)
            top_plain_pause_for(options->interval_ns);
        int changed = top_model_look(&model, why);
        error = changed < 0 ? changed : top_plain_write_look(&model);
        if (!error && !model.profile->being_written)
            break;
    }
    top_model_release(&model);
    if (error == -EPIPE)
        error = 0;
    if (error && !why->length)
        strbuf_addf(why, "cannot write: %s", strerror(-error));
    return error;
}

/* ---- Several programs ---------------------------------------------------------------------- */

static int top_plain_write_programs(struct watched *programs)
{
    static const enum watched_sort sorts[TOP_SORTS] = {
        [TOP_GROWTH] = WATCHED_GROWTH, [TOP_RATE] = WATCHED_RATE, [TOP_PEAK] = WATCHED_PEAK};
    const struct top_options *options = programs->options;
    struct strbuf out = STRBUF_INIT;
    watched_sort(programs, sorts[options->sort]);
    watched_add_state(&out, programs);
    strbuf_add_char(&out, '\n');
    for (size_t i = 0; i <= programs->count && programs->count; i++) {
        watched_add_line(&out, i ? programs->items[i - 1] : NULL, options->style.columns);
        strbuf_add_char(&out, '\n');
    }
    fwrite(out.data, 1, out.length, stdout);
    strbuf_release(&out);
    return fflush(stdout) ? -errno : 0;
}

int top_plain_overview(const struct top_options *options, struct strbuf *why)
{
    struct watched programs;
    int error = 0;
    watched_init(&programs, options);
    for (uint64_t look = 0; !error && (!options->count || look < options->count); look++) {
        if (look)
            top_plain_pause_for(options->interval_ns);
        watched_look(&programs);
        error = top_plain_write_programs(&programs);
        if (!watched_any_is_written(&programs))
            break;
    }
    watched_release(&programs);
    if (error == -EPIPE)
        error = 0;
    if (error)
        strbuf_addf(why, "cannot write: %s", strerror(-error));
    return error;
}

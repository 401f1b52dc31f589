/* Memory over time for all ranks: a row for each rank, or for as many as there are rows for, with
 * the maximum kept; a column for a part of each rank's own run. */
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "base/memory.h"
#include "job/job_text.h"

enum { HEAT_COLUMNS = 100, HEAT_LEVELS = 9 };

struct job_heat {
    size_t columns, label_columns;
    uint64_t top; /* of the scale */
};

/* The step that begins column `column`, and the next one's. */
static void job_text_heat_find_steps(const struct job_heat *heat, size_t column, size_t *first,
                                     size_t *past)
{
    *first = column * JOB_STEPS / heat->columns;
    *past = ((column + 1) * JOB_STEPS + heat->columns - 1) / heat->columns;
}

static void job_text_heat_raise_row(uint64_t *row, const struct job_heat *heat,
                                    const struct job_rank *rank)
{
    for (size_t column = 0; column < heat->columns; column++) {
        size_t first, past;
        job_text_heat_find_steps(heat, column, &first, &past);
        for (size_t step = first; step < past && step < JOB_STEPS; step++) {
            uint64_t bytes =
                job_share_max(rank->requested_max[step], figure_or(rank->peak_bytes, 0));
            if (bytes > row[column])
                row[column] = bytes;
        }
    }
}

/* Levels 0 … 8 of 8: 0 is nothing at all. */
static unsigned job_text_heat_level_of(const struct job_heat *heat, uint64_t bytes)
{
    if (!bytes || !heat->top)
        return 0;
    uint64_t level = (uint64_t)(((job_u128)bytes * (HEAT_LEVELS - 1) + heat->top - 1) / heat->top);
    return level < HEAT_LEVELS ? (unsigned)level : HEAT_LEVELS - 1;
}

static void job_text_heat_add_cell(struct job_text *text, unsigned level, unsigned before)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    /* From blue over green to red, in the colours that a terminal of 256 has. */
    static const unsigned char colours[] = {17, 19, 25, 30, 35, 71, 142, 172, 160};
    if (text->style.colour && level != before)
        strbuf_addf(&text->out, "\033[38;5;%um", colours[level]);
    strbuf_add_string(&text->out, text->style.utf8 ? blocks[level] : ascii[level]);
}

static void job_text_heat_add_row(struct job_text *text, const struct job_heat *heat,
                                  const char *label, const uint64_t *row, uint64_t most)
{
    unsigned before = HEAT_LEVELS;
    strbuf_add_string(&text->out, "  ");
    job_figure(text, label, heat->label_columns);
    strbuf_add_string(&text->out, style_sign(&text->style, " │", " |"));
    for (size_t column = 0; column < heat->columns; column++) {
        unsigned level = job_text_heat_level_of(heat, row[column]);
        job_text_heat_add_cell(text, level, before);
        before = level;
    }
    if (text->style.colour)
        strbuf_add_string(&text->out, "\033[0m");
    strbuf_add_string(&text->out, style_sign(&text->style, "│", "|"));
    job_bytes(text, figure_of(most), 10);
    strbuf_add_char(&text->out, '\n');
}

static void job_text_heat_add_axis(struct job_text *text, const struct job_heat *heat)
{
    strbuf_add_repeated(&text->out, " ", heat->label_columns + 4);
    strbuf_add_string(&text->out, "0 %");
    strbuf_add_repeated(&text->out, " ", heat->columns / 2 - 5);
    strbuf_add_string(&text->out, "50 %");
    size_t used = 3 + heat->columns / 2 - 5 + 4;
    strbuf_add_repeated(&text->out, " ", heat->columns > used + 5 ? heat->columns - used - 5 : 1);
    strbuf_add_string(&text->out, "100 %\n");
}

static void job_text_heat_add_label(struct strbuf *out, const struct job_rank *first,
                                    const struct job_rank *last)
{
    if (first == last)
        strbuf_addf(out, "%u", first->rank);
    else
        strbuf_addf(out, "%u-%u", first->rank, last->rank);
}

static size_t job_text_heat_label_columns(const struct job_rank **ranks, size_t count,
                                          size_t per_row)
{
    size_t columns = 4;
    struct strbuf label = STRBUF_INIT;
    for (size_t i = 0; i < count; i += per_row) {
        size_t last = i + per_row <= count ? i + per_row - 1 : count - 1;
        strbuf_reset(&label);
        job_text_heat_add_label(&label, ranks[i], ranks[last]);
        columns = label.length > columns ? label.length : columns;
    }
    strbuf_release(&label);
    return columns;
}

static void job_text_heat_add_rows(struct job_text *text, const struct job_heat *heat,
                                   const struct job_rank **ranks, size_t count, size_t per_row)
{
    struct strbuf label = STRBUF_INIT;
    uint64_t row[HEAT_COLUMNS];
    for (size_t i = 0; i < count; i += per_row) {
        size_t past = i + per_row < count ? i + per_row : count;
        uint64_t most = 0;
        memset(row, 0, sizeof row);
        for (size_t j = i; j < past; j++) {
            job_text_heat_raise_row(row, heat, ranks[j]);
            uint64_t peak = figure_or(ranks[j]->peak_bytes, 0); /* known of all of these */
            most = peak > most ? peak : most;
        }
        strbuf_reset(&label);
        job_text_heat_add_label(&label, ranks[i], ranks[past - 1]);
        job_text_heat_add_row(text, heat, label.data, row, most);
    }
    strbuf_release(&label);
}

void job_add_heat(struct job_text *text)
{
    const struct job *job = text->job;
    const struct job_rank **ranks = memory_resize(NULL, job->ranks, sizeof *ranks);
    size_t count = 0, rows = text->options->rows ? text->options->rows : 1;
    for (size_t i = 0; i < job->summary.rank_count; i++)
        if (job_rank_counts(&job->summary.ranks[i]) &&
            figure_known(job->summary.ranks[i].peak_bytes))
            ranks[count++] = &job->summary.ranks[i];
    size_t per_row = (count + rows - 1) / rows;
    if (count && job->peaks.max) {
        struct job_heat heat = {.top = job->peaks.max};
        heat.label_columns = job_text_heat_label_columns(ranks, count, per_row);
        size_t room = text->style.columns - heat.label_columns - 15;
        heat.columns = room > HEAT_COLUMNS ? HEAT_COLUMNS : room < 20 ? 20 : room;
        job_title(text, "Memory over time",
                  per_row > 1 ? "the most of the ranks in a row; right: their high-water mark"
                              : "a row for each rank; right: its high-water mark");
        job_text_heat_add_rows(text, &heat, ranks, count, per_row);
        job_text_heat_add_axis(text, &heat);
    }
    free(ranks);
}

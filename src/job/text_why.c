/* Why ranks differ, and what functions and libraries hold. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/human.h"
#include "base/text.h"
#include "job/text.h"

/* ---- The ranks at both ends ---------------------------------------------------------------- */

struct difference {
    uint32_t entry;
    uint64_t most, least;
    int64_t bytes;
};

static int compare_differences(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    uint64_t a_far = (uint64_t)llabs(a->bytes), b_far = (uint64_t)llabs(b->bytes);
    if (a_far != b_far)
        return a_far > b_far ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static struct difference *find_differences(const struct job_summary *summary, size_t *count)
{
    struct difference *all = bytes_resize(NULL, summary->entry_count, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; i < summary->entry_count; i++) {
        if (summary->entries[i].kind != JOB_FUNCTION)
            continue;
        uint64_t most = job_end_bytes(&summary->ends[JOB_HIGHEST], i, JOB_AT_PEAK);
        uint64_t least = job_end_bytes(&summary->ends[JOB_LOWEST], i, JOB_AT_PEAK);
        if (most || least)
            all[(*count)++] = (struct difference){i, most, least, (int64_t)(most - least)};
    }
    if (*count)
        qsort(all, *count, sizeof *all, compare_differences);
    return all;
}

static void add_signed(struct job_text *text, int64_t bytes, size_t columns)
{
    struct strbuf figure = STRBUF_INIT;
    if (bytes)
        strbuf_add_string(&figure, bytes > 0 ? "+" : style_sign(&text->style, "−", "-"));
    strbuf_add_string(&figure, human_bytes((uint64_t)llabs(bytes)).text);
    job_figure(text, figure.data, columns);
    strbuf_release(&figure);
}

/* "94.2 % of the difference is preload_mesh." */
static void add_cause(struct job_text *text, const struct difference *first, double whole)
{
    const struct job_entry *entry = &text->job->summary.entries[first->entry];
    struct strbuf line = STRBUF_INIT;
    if (first->bytes <= 0 || whole <= 0)
        return;
    if ((double)first->bytes > whole)
        strbuf_addf(&line, "More than the difference of %s", human_bytes((uint64_t)whole).text);
    else
        strbuf_addf(&line, "%s of the difference of %s",
                    human_percent((double)first->bytes, whole).text,
                    human_bytes((uint64_t)whole).text);
    strbuf_add_string(&line, " is what ");
    text_add_safe_string(&line, *entry->name ? entry->name : entry->module);
    strbuf_add_string(&line, " asked for.");
    job_note(text, line.data);
    strbuf_release(&line);
}

/* A thousandth of the largest difference explains nothing. */
static bool is_worth_it(const struct difference *one, const struct difference *largest)
{
    return one->bytes && llabs(one->bytes) >= llabs(largest->bytes) / 1000;
}

static void add_difference(struct job_text *text, const struct difference *one)
{
    const struct job_entry *entry = &text->job->summary.entries[one->entry];
    strbuf_add_string(&text->out, "  ");
    style_begin(&text->out, &text->style, TONE_FIGURE);
    add_signed(text, one->bytes, 11);
    style_end(&text->out, &text->style);
    job_bytes(text, one->most, 10);
    job_bytes(text, one->least, 10);
    strbuf_add_string(&text->out, "  ");
    job_name(text, entry->name, entry->module, 35);
}

void job_add_why(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    const struct statistics *peaks = &text->job->peaks;
    if (peaks->count < 2 || job_is_even(peaks))
        return;
    struct strbuf rest = STRBUF_INIT;
    job_add_rank_name(&rest, &summary->ranks[peaks->max_index]);
    strbuf_add_string(&rest, " (most) against ");
    job_add_rank_name(&rest, &summary->ranks[peaks->min_index]);
    strbuf_add_string(&rest, " (least), each at its peak");
    job_title(text, "Why", rest.data);
    strbuf_release(&rest);
    size_t count;
    struct difference *all = find_differences(summary, &count);
    if (count)
        add_cause(text, &all[0], (double)(peaks->max - peaks->min));
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, "   difference      most     least  function\n");
    style_end(&text->out, &text->style);
    size_t shown = 0;
    for (; shown < count && shown < text->options->top && is_worth_it(&all[shown], &all[0]);
         shown++)
        add_difference(text, &all[shown]);
    free(all);
}

/* ---- Functions over all ranks -------------------------------------------------------------- */

static void add_sum(struct job_text *text, const struct job_entry *entry, double whole)
{
    const struct job_sum *sum = &entry->of[JOB_AT_PEAK];
    size_t ranks = text->job->ranks;
    double mean = statistics_sum_mean(sum, ranks);
    char imbalance[24], rank[24];
    snprintf(imbalance, sizeof imbalance, "%.2f", mean > 0 ? (double)sum->max / mean : 0);
    snprintf(rank, sizeof rank, "%u", sum->max_rank);
    strbuf_add_string(&text->out, "  ");
    job_figure(text, human_percent((double)sum->sum, whole).text, 7);
    job_bytes(text, job_whole(mean), 10);
    job_bytes(text, sum->max, 10);
    job_figure(text, rank, 7);
    job_figure(text, imbalance, 7);
    strbuf_add_string(&text->out, "  ");
    job_name(text, entry->name, entry->module, 45);
}

void job_add_functions(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    size_t count;
    uint32_t *order = job_order(summary, 1u << JOB_FUNCTION, JOB_AT_PEAK, &count);
    if (count && summary->entries[order[0]].of[JOB_AT_PEAK].ranks) {
        job_title(text, "Functions", "at each rank's own peak, over all ranks");
        style_begin(&text->out, &text->style, TONE_DIM);
        strbuf_add_string(&text->out, "    share      mean      most    rank  imbal.  function\n");
        style_end(&text->out, &text->style);
    }
    for (size_t i = 0; i < count && i < text->options->top; i++)
        if (summary->entries[order[i]].of[JOB_AT_PEAK].ranks)
            add_sum(text, &summary->entries[order[i]], (double)text->job->peaks.sum);
    free(order);
}

/* ---- Libraries ----------------------------------------------------------------------------- */

struct group {
    job_u128 figures[JOB_FIGURES];
};

static struct group group_of(const struct job_summary *summary, enum job_kind kind)
{
    struct group group = {0};
    for (size_t i = 0; i < summary->entry_count; i++)
        for (int j = 0; j < JOB_FIGURES && summary->entries[i].kind == kind; j++)
            group.figures[j] += summary->entries[i].of[j].sum;
    return group;
}

static void add_library(struct job_text *text, const char *name, const job_u128 *figures,
                        uint64_t most, bool is_group)
{
    const struct job *job = text->job;
    double mean = (double)figures[JOB_AT_PEAK] / (double)job->ranks;
    strbuf_add_string(&text->out, "  ");
    job_figure(text, human_percent((double)figures[JOB_AT_PEAK], (double)job->peaks.sum).text, 7);
    job_bytes(text, job_whole(mean), 10);
    job_bytes(text, most, 10);
    job_bytes(text, job_whole((double)figures[JOB_AT_EXIT] / (double)job->ranks), 10);
    job_bytes(text, job_whole((double)figures[JOB_CUMULATED] / (double)job->ranks), 12);
    strbuf_add_string(&text->out, is_group ? "  " : "    ");
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, *name ? name : "no module");
    size_t used = is_group ? 53 : 55;
    if (is_group)
        style_begin(&text->out, &text->style, TONE_TITLE);
    text_add_cut(&text->out, safe.data,
                 text->style.columns > used + 10 ? text->style.columns - used : 10);
    if (is_group)
        style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&safe);
}

static void add_libraries_of(struct job_text *text, enum job_kind kind)
{
    const struct job_summary *summary = &text->job->summary;
    size_t count;
    uint32_t *order = job_order(summary, 1u << kind, JOB_AT_PEAK, &count);
    for (size_t i = 0; i < count && i < text->options->top; i++) {
        const struct job_entry *entry = &summary->entries[order[i]];
        job_u128 figures[JOB_FIGURES];
        for (int j = 0; j < JOB_FIGURES; j++)
            figures[j] = entry->of[j].sum;
        add_library(text, entry->module, figures, entry->of[JOB_AT_PEAK].max, false);
    }
    free(order);
}

static uint64_t most_of_mpi(const struct job_summary *summary)
{
    uint64_t most = 0;
    for (size_t i = 0; i < summary->rank_count; i++)
        if (job_rank_counts(&summary->ranks[i]) && summary->ranks[i].mpi_peak_bytes > most)
            most = summary->ranks[i].mpi_peak_bytes;
    return most;
}

void job_add_libraries(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    struct group mpi = group_of(summary, JOB_LIBRARY_MPI);
    struct group others = group_of(summary, JOB_LIBRARY);
    if (!text->job->ranks)
        return;
    job_title(text, "Libraries", "by who asked; per rank: means, but for the column \"most\"");
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, "    share   at peak      most   at exit   cumulated  library\n");
    style_end(&text->out, &text->style);
    if (mpi.figures[JOB_CUMULATED]) {
        add_library(text, "MPI and what it calls", mpi.figures, most_of_mpi(summary), true);
        add_libraries_of(text, JOB_LIBRARY_MPI);
    }
    add_library(text, "all else", others.figures, JOB_UNKNOWN, true);
    add_libraries_of(text, JOB_LIBRARY);
}

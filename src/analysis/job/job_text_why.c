/* Writes why ranks differ, and what functions and libraries hold. Differences are sorted by
 * their size, and small ones are left out. Functions of MPI and of other libraries are summed in
 * groups of their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/human.h"
#include "base/text.h"
#include "base/memory.h"
#include "job/job_text.h"

/* ---- The ranks at both ends ---------------------------------------------------------------- */

struct job_why_diff {
    uint32_t entry;
    uint64_t most, least;
    int64_t bytes;
};

static int job_why_compare_differences(const void *left, const void *right)
{
    const struct job_why_diff *a = left, *b = right;
    uint64_t a_far = (uint64_t)llabs(a->bytes), b_far = (uint64_t)llabs(b->bytes);
    if (a_far != b_far)
        return a_far > b_far ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static struct job_why_diff *job_why_find_differences(const struct job_summary *summary,
                                                     size_t *count)
{
    struct job_why_diff *all = memory_resize(NULL, summary->entry_count, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; i < summary->entry_count; i++) {
        if (summary->entries[i].kind != JOB_FUNCTION)
            continue;
        uint64_t most = job_end_bytes(&summary->ends[JOB_HIGHEST], i, JOB_AT_PEAK);
        uint64_t least = job_end_bytes(&summary->ends[JOB_LOWEST], i, JOB_AT_PEAK);
        if (most || least)
            all[(*count)++] = (struct job_why_diff){i, most, least, (int64_t)(most - least)};
    }
    if (*count)
        qsort(all, *count, sizeof *all, job_why_compare_differences);
    return all;
}

static void job_why_signed(struct job_text *text, int64_t bytes)
{
    struct strbuf figure = STRBUF_INIT;
    if (bytes)
        strbuf_add_string(&figure, bytes > 0 ? "+" : style_sign(&text->style, "−", "-"));
    strbuf_add_string(&figure, human_bytes((uint64_t)llabs(bytes)).text);
    job_cell(text, figure.data);
    strbuf_release(&figure);
}

/* "94.2 % of the difference is preload_mesh." */
static void job_why_cause(struct job_text *text, const struct job_why_diff *first, double whole)
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
    if (entry->through && *entry->through) {
        strbuf_add_string(&line, ", through ");
        text_add_safe_string(&line, entry->through);
        strbuf_add_char(&line, ',');
    }
    strbuf_addf(&line, " %s.", job_words(text->job)->has);
    job_note(text, line.data);
    strbuf_release(&line);
}

/* A thousandth of the largest difference explains nothing. */
static bool job_why_is_worth_it(const struct job_why_diff *one, const struct job_why_diff *largest)
{
    return one->bytes && llabs(one->bytes) >= llabs(largest->bytes) / 1000;
}

static const struct text_column job_why_columns[] = {{"difference", 11, TEXT_RIGHT, 0},
                                                     {"most", 10, TEXT_RIGHT, 0},
                                                     {"least", 10, TEXT_RIGHT, 0},
                                                     {"function", 0, TEXT_LEFT, 2}};

static void job_why_diff(struct job_text *text, const struct job_why_diff *one)
{
    const struct job_entry *entry = &text->job->summary.entries[one->entry];
    job_row(text, job_why_columns);
    style_begin(&text->out, &text->style, TONE_FIGURE);
    job_why_signed(text, one->bytes);
    style_end(&text->out, &text->style);
    job_cell_bytes(text, figure_of(one->most));
    job_cell_bytes(text, figure_of(one->least));
    job_cell(text, "");
    job_name(text, entry->name, entry->through, entry->module, 35);
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
    struct job_why_diff *all = job_why_find_differences(summary, &count);
    if (count)
        job_why_cause(text, &all[0], (double)(peaks->max - peaks->min));
    job_headings(text, job_why_columns, sizeof job_why_columns / sizeof *job_why_columns);
    size_t shown = 0;
    for (; shown < count && shown < text->options->top && job_why_is_worth_it(&all[shown], &all[0]);
         shown++)
        job_why_diff(text, &all[shown]);
    free(all);
}

/* ---- Functions over all ranks -------------------------------------------------------------- */

static const struct text_column job_function_columns[] = {
    {"share", 7, TEXT_RIGHT, 0}, {"mean", 10, TEXT_RIGHT, 0},  {"most", 10, TEXT_RIGHT, 0},
    {"rank", 7, TEXT_RIGHT, 0},  {"imbal.", 7, TEXT_RIGHT, 0}, {"function", 0, TEXT_LEFT, 2}};

static void job_why_sum(struct job_text *text, const struct job_entry *entry, double whole)
{
    const struct job_sum *sum = &entry->of[JOB_AT_PEAK];
    size_t ranks = text->job->ranks;
    double mean = statistics_sum_mean(sum, ranks);
    char imbalance[24], rank[24];
    snprintf(imbalance, sizeof imbalance, "%.2f", mean > 0 ? (double)sum->max / mean : 0);
    snprintf(rank, sizeof rank, "%u", sum->max_rank);
    job_row(text, job_function_columns);
    job_cell(text, human_percent((double)sum->sum, whole).text);
    job_cell_bytes(text, job_whole(mean));
    job_cell_bytes(text, figure_of(sum->max));
    job_cell(text, rank);
    job_cell(text, imbalance);
    job_cell(text, "");
    job_name(text, entry->name, entry->through, entry->module, 45);
}

/* Ranks of which nothing is known at the peak have no part in the sums. */
static void job_why_title_functions(struct job_text *text)
{
    struct strbuf rest = STRBUF_INIT;
    strbuf_add_string(&rest, "at each rank's own peak, over ");
    job_text_add_how_many(&rest, text->job);
    strbuf_add_string(&rest, "ranks");
    job_title(text, "Functions", rest.data);
    strbuf_release(&rest);
}

void job_add_functions(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    size_t count;
    uint32_t *order = job_order(summary, 1u << JOB_FUNCTION, JOB_AT_PEAK, &count);
    if (count && summary->entries[order[0]].of[JOB_AT_PEAK].ranks) {
        job_why_title_functions(text);
        job_headings(text, job_function_columns,
                     sizeof job_function_columns / sizeof *job_function_columns);
    }
    for (size_t i = 0; i < count && i < text->options->top; i++)
        if (summary->entries[order[i]].of[JOB_AT_PEAK].ranks)
            job_why_sum(text, &summary->entries[order[i]], (double)text->job->peaks.sum);
    free(order);
}

/* ---- Libraries ----------------------------------------------------------------------------- */

struct job_why_group {
    job_u128 figures[JOB_FIGURES];
};

static struct job_why_group job_why_group_of(const struct job_summary *summary, enum job_kind kind)
{
    struct job_why_group group = {0};
    for (size_t i = 0; i < summary->entry_count; i++)
        for (int j = 0; j < JOB_FIGURES && summary->entries[i].kind == kind; j++)
            group.figures[j] += summary->entries[i].of[j].sum;
    return group;
}

/* Bytes of a rank on average; unknown where any rank does not say. */
static struct figure job_why_mean_of(const struct job *job, const job_u128 *figures,
                                     enum job_figure figure)
{
    return job->knows[figure] ? job_whole((double)figures[figure] / (double)job->ranks)
                              : FIGURE_UNKNOWN;
}

static const struct text_column job_library_columns[] = {
    {"share", 7, TEXT_RIGHT, 0},    {"at peak", 10, TEXT_RIGHT, 0},   {"most", 10, TEXT_RIGHT, 0},
    {"at exit", 10, TEXT_RIGHT, 0}, {"cumulated", 12, TEXT_RIGHT, 0}, {"library", 0, TEXT_LEFT, 2}};

static void job_why_library(struct job_text *text, const char *name, const job_u128 *figures,
                            struct figure most, bool is_group)
{
    const struct job *job = text->job;
    bool is_known = job->knows[JOB_AT_PEAK];
    double all = is_known ? (double)job->peaks.sum : 0; /* of 0 there is no share */
    job_row(text, job_library_columns);
    job_cell(text, human_percent((double)figures[JOB_AT_PEAK], all).text);
    job_cell_bytes(text, job_why_mean_of(job, figures, JOB_AT_PEAK));
    job_cell_bytes(text, is_known ? most : FIGURE_UNKNOWN);
    job_cell_bytes(text, job_why_mean_of(job, figures, JOB_AT_EXIT));
    job_cell_bytes(text, job_why_mean_of(job, figures, JOB_CUMULATED));
    job_cell(text, is_group ? "" : "  ");
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

static void job_why_libraries_of(struct job_text *text, enum job_kind kind)
{
    const struct job_summary *summary = &text->job->summary;
    size_t count;
    uint32_t *order = job_order(summary, 1u << kind, JOB_AT_PEAK, &count);
    for (size_t i = 0; i < count && i < text->options->top; i++) {
        const struct job_entry *entry = &summary->entries[order[i]];
        job_u128 figures[JOB_FIGURES];
        for (int j = 0; j < JOB_FIGURES; j++)
            figures[j] = entry->of[j].sum;
        job_why_library(text, entry->module, figures, figure_of(entry->of[JOB_AT_PEAK].max), false);
    }
    free(order);
}

static struct figure job_why_most_of_mpi(const struct job_summary *summary)
{
    struct figure most = FIGURE_UNKNOWN;
    for (size_t i = 0; i < summary->rank_count; i++)
        if (job_rank_counts(&summary->ranks[i]))
            most = figure_max(most, summary->ranks[i].mpi_peak_bytes);
    return most;
}

void job_add_libraries(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    struct job_why_group mpi = job_why_group_of(summary, JOB_LIBRARY_MPI);
    struct job_why_group others = job_why_group_of(summary, JOB_LIBRARY);
    if (!text->job->ranks)
        return;
    job_title(text, "Libraries", "by who asked; per rank: means, but for the column \"most\"");
    job_headings(text, job_library_columns,
                 sizeof job_library_columns / sizeof *job_library_columns);
    if (mpi.figures[JOB_CUMULATED] || mpi.figures[JOB_AT_PEAK]) {
        job_why_library(text, "MPI and what it calls", mpi.figures, job_why_most_of_mpi(summary),
                        true);
        job_why_libraries_of(text, JOB_LIBRARY_MPI);
    }
    job_why_library(text, "all else", others.figures, FIGURE_UNKNOWN, true);
    job_why_libraries_of(text, JOB_LIBRARY);
}

/* Writes a job for people: what all ranks need together, how uneven they are and why, and then call
 * sites, times and nodes with most. Sections share a few helpers for labels and tables. */
#include "job/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "job/job_text.h"
#include "model/figure_human.h"
#include "format/names.h"

/* ---- Pieces -------------------------------------------------------------------------------- */

void job_label(struct job_text *text, const char *label)
{
    strbuf_add_string(&text->out, "  ");
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, label);
    style_end(&text->out, &text->style);
    size_t width = text_width(label) + 2;
    strbuf_add_repeated(&text->out, " ", width < JOB_LABEL ? JOB_LABEL - width : 1);
}

void job_title(struct job_text *text, const char *title, const char *rest)
{
    strbuf_add_char(&text->out, '\n');
    style_add(&text->out, &text->style, TONE_TITLE, title);
    if (rest) {
        strbuf_add_string(&text->out, "  ");
        text_add_wrapped(&text->out, rest, text_width(title) + 2, text->style.columns);
    }
    strbuf_add_char(&text->out, '\n');
}

void job_note(struct job_text *text, const char *string)
{
    strbuf_add_string(&text->out, "  ");
    style_add_wrapped(&text->out, &text->style, TONE_DIM, string, 2);
}

void job_figure(struct job_text *text, const char *figure, size_t columns)
{
    text_cell_add(&text->out, figure, (struct text_column){NULL, columns, TEXT_RIGHT, 0});
}

void job_bytes(struct job_text *text, struct figure bytes, size_t columns)
{
    job_figure(text, figure_human_bytes(bytes).text, columns);
}

void job_headings(struct job_text *text, const struct text_column *columns, size_t count)
{
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, "  ");
    text_row_add_headings(&text->out, columns, count);
    strbuf_add_char(&text->out, '\n');
    style_end(&text->out, &text->style);
}

void job_row(struct job_text *text, const struct text_column *columns)
{
    strbuf_add_string(&text->out, "  ");
    text->row = text_row_begin(&text->out, columns);
}

void job_cell(struct job_text *text, const char *cell)
{
    text_row_add(&text->row, cell);
}

void job_cell_bytes(struct job_text *text, struct figure bytes)
{
    job_cell(text, figure_human_bytes(bytes).text);
}

struct figure job_whole(double bytes)
{
    return figure_of_double(bytes);
}

/* "[libx.so] without names"; who it is goes before what it lacks. */
static void job_text_add_nameless(struct job_text *text, const char *module, size_t columns)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_add_char(&line, '[');
    text_add_safe_string(&line, *module ? module : "code in no module");
    strbuf_add_char(&line, ']');
    if (*module && text_width(line.data) + strlen(" without names") <= columns)
        strbuf_add_string(&line, " without names");
    text_add_cut(&text->out, line.data, columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

void job_name(struct job_text *text, const char *name, const char *through, const char *module,
              size_t used)
{
    size_t columns = text->style.columns > used + 12 ? text->style.columns - used : 12;
    struct strbuf place = STRBUF_INIT, shown = STRBUF_INIT;
    if (!*name) {
        job_text_add_nameless(text, module, columns);
        return;
    }
    name_add_place(&place, module, 0, columns * 2 / 5);
    size_t place_width = *module ? text_width(place.data) : 0;
    if (through && *through)
        columns -= frame_add_wrapper(&text->out, &text->style, through, name,
                                     columns - (place_width ? place_width + 2 : 0));
    name_add_short(&shown, name, columns - (place_width ? place_width + 2 : 0));
    strbuf_add_string(&text->out, shown.data);
    if (place_width) {
        size_t width = text_width(shown.data);
        strbuf_add_repeated(&text->out, " ", columns - place_width - width);
        style_add(&text->out, &text->style, TONE_DIM, place.data);
    }
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&place);
    strbuf_release(&shown);
}

void job_add_rank_name(struct strbuf *out, const struct job_rank *rank)
{
    if (rank->rank_known) {
        strbuf_addf(out, "rank %u", rank->rank);
        return;
    }
    text_add_safe_string(out, name_base(rank->file));
}

static void job_text_add_node_name(struct strbuf *out, const struct job_rank *rank)
{
    if (!rank->node)
        return;
    strbuf_add_string(out, " on ");
    text_add_safe_string(out, rank->node);
}

/* ---- Head ---------------------------------------------------------------------------------- */

static void job_text_add_head(struct job_text *text)
{
    const struct job *job = text->job;
    const struct job_summary *summary = &job->summary;
    struct strbuf title = STRBUF_INIT;
    text_add_safe_string(&title, summary->program ? summary->program : "?");
    style_add(&text->out, &text->style, TONE_TITLE, title.data);
    strbuf_addf(&text->out, "  %s rank%s on %zu node%s", human_exact(job->size).text,
                job->size == 1 ? "" : "s", job->node_count, job->node_count == 1 ? "" : "s");
    if (*job->id) {
        strbuf_add_string(&text->out, ", job ");
        text_add_safe_string(&text->out, job->id);
    }
    strbuf_add_char(&text->out, '\n');
    if (summary->command) {
        strbuf_reset(&title);
        text_add_safe_string(&title, summary->command);
        job_label(text, "command");
        text_add_cut(&text->out, title.data, text->style.columns - JOB_LABEL);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&title);
}

static void job_text_add_level(struct job_text *text)
{
    const char *sentence = memory_level_sentence(text->job->level);
    if (!sentence)
        return;
    job_label(text, "of");
    text_add_wrapped(&text->out, sentence, JOB_LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
}

static void job_text_add_choice(struct job_text *text)
{
    const struct job *job = text->job;
    if (!job->recorded_ranks)
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "ranks %s; the other %s of %s ran bare and are in no figure",
                job->recorded_ranks, human_exact(job->left_out).text, human_exact(job->size).text);
    job_label(text, "recorded");
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

/* Where the machines have more than one each: the job took more memory and processor time beside
 * its ranks than it had to. */
static void job_text_add_collectors(struct job_text *text)
{
    const struct job *job = text->job;
    if (!job->node_count || job->collectors <= job->node_count)
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line,
                "%s on %zu node%s: ranks in containers or roots of their own, of another "
                "user or other options, or later than a collector's end have another; those with "
                "limits (ulimit -v, -d, -t), --job-collector=rank or --for, --until … have one "
                "each",
                human_exact(job->collectors).text, job->node_count,
                job->node_count == 1 ? "" : "s");
    job_label(text, "collectors");
    text_add_wrapped(&text->out, line.data, JOB_LABEL, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void job_text_add_run(struct job_text *text)
{
    struct job_course course;
    struct strbuf ran = STRBUF_INIT;
    job_course_init(&course, &text->job->summary, 1);
    if (course.duration_ns)
        strbuf_addf(&ran, "%s from %s, first start to last end",
                    human_duration(course.duration_ns).text,
                    human_time((int64_t)(course.start_unix_ns / 1000000000)).text);
    if (course.undated)
        strbuf_addf(&ran, "%s%s process%s not say when %s began",
                    ran.length ? "; " : "not known: ", human_exact(course.undated).text,
                    course.undated == 1 ? " does" : "es do", course.undated == 1 ? "it" : "they");
    if (ran.length) {
        job_label(text, "ran");
        text_add_wrapped(&text->out, ran.data, JOB_LABEL, text->style.columns);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&ran);
    job_course_release(&course);
}

static void job_text_add_extreme(struct job_text *text, const char *label, uint64_t bytes,
                                 size_t index)
{
    const struct job_rank *rank = &text->job->summary.ranks[index];
    job_label(text, label);
    style_begin(&text->out, &text->style, TONE_FIGURE);
    job_bytes(text, figure_of(bytes), 9);
    style_end(&text->out, &text->style);
    strbuf_add_string(&text->out, "  ");
    struct strbuf who = STRBUF_INIT;
    job_add_rank_name(&who, rank);
    job_text_add_node_name(&who, rank);
    if (figure_known(rank->peak_ns))
        strbuf_addf(&who, ", after %s", figure_human_duration(rank->peak_ns).text);
    if (figure_known(rank->peak_ns) && rank->duration_ns)
        strbuf_addf(&who, " (%s of its run)",
                    human_percent(figure_double(rank->peak_ns), (double)rank->duration_ns).text);
    text_add_wrapped(&text->out, who.data, JOB_LABEL + 9 + 2, text->style.columns);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&who);
}

static const char *job_text_verdict(double imbalance)
{
    return isnan(imbalance)   ? "there is nothing to compare"
           : imbalance < 1.05 ? "even"
           : imbalance < 1.2  ? "nearly even"
           : imbalance < 1.5  ? "uneven"
                              : "very uneven";
}

void job_text_add_how_many(struct strbuf *out, const struct job *job)
{
    uint64_t all = job->size - job->left_out;
    if (job->ranks < all)
        strbuf_addf(out, "%zu of %s ", job->ranks, human_exact(all).text);
    else
        strbuf_addf(out, "all %s", job->recorded_ranks ? "recorded " : "");
}

static void job_text_add_spread(struct job_text *text)
{
    const struct statistics *peaks = &text->job->peaks;
    double imbalance = statistics_imbalance(peaks);
    job_label(text, "mean");
    job_bytes(text, job_whole(peaks->mean), 9);
    strbuf_addf(&text->out, "  %s in ",
                human_bytes(peaks->sum > UINT64_MAX ? UINT64_MAX : (uint64_t)peaks->sum).text);
    job_text_add_how_many(&text->out, text->job);
    strbuf_add_string(&text->out, "ranks, each at its own moment\n");
    job_label(text, "deviation");
    job_bytes(text, job_whole(peaks->deviation), 9);
    strbuf_addf(&text->out, "  %s of the mean\n",
                human_percent(peaks->deviation, peaks->mean).text);
    job_label(text, "imbalance");
    char figure[32] = "-";
    if (!isnan(imbalance))
        snprintf(figure, sizeof figure, "%.2f", imbalance);
    style_begin(&text->out, &text->style, imbalance >= 1.2 ? TONE_WARNING : TONE_GOOD);
    job_figure(text, figure, 9);
    style_end(&text->out, &text->style);
    strbuf_addf(&text->out, "  most over mean: %s\n", job_text_verdict(imbalance));
}

enum { PERCENTILE = 9 };

/* A line without room for all leaves out the second and the last but one. */
static bool job_text_percentile_fits(const struct job_text *text, int i)
{
    return JOB_LABEL + STATISTICS_PERCENTILES * PERCENTILE <= text->style.columns ||
           (i != 1 && i != STATISTICS_PERCENTILES - 2);
}

static void job_text_add_percentiles(struct job_text *text)
{
    const struct statistics *peaks = &text->job->peaks;
    job_label(text, "percentile");
    for (int i = 0; i < STATISTICS_PERCENTILES; i++) {
        char percent[16];
        snprintf(percent, sizeof percent, "%u", statistics_percent[i]);
        if (job_text_percentile_fits(text, i))
            job_figure(text, percent, PERCENTILE);
    }
    strbuf_add_char(&text->out, '\n');
    strbuf_add_repeated(&text->out, " ", JOB_LABEL);
    for (int i = 0; i < STATISTICS_PERCENTILES; i++)
        if (job_text_percentile_fits(text, i))
            job_bytes(text, figure_of(peaks->percentile[i]), PERCENTILE);
    strbuf_add_char(&text->out, '\n');
}

bool job_is_even(const struct statistics *peaks)
{
    return peaks->max - peaks->min <= peaks->max / 1000;
}

/* How many bars of the histogram, and what the ranks in each are called. */
enum { CLASSES = 8 };

static uint64_t job_text_class_width(const struct statistics *peaks, uint64_t count)
{
    return (peaks->max - peaks->min) / count + 1;
}

/* So many that both ends of each print as two figures: "4.54 MiB – 4.54 MiB" says nothing. */
static uint64_t job_text_class_count(const struct statistics *peaks)
{
    for (uint64_t count = CLASSES; count > 1; count--) {
        uint64_t width = job_text_class_width(peaks, count), i = 0;
        while (i < count) {
            uint64_t begin = peaks->min + width * i, end = begin + width;
            end = end > peaks->max ? peaks->max : end;
            if (begin >= end || !strcmp(human_bytes(begin).text, human_bytes(end).text))
                break;
            i++;
        }
        if (i == count)
            return count;
    }
    return 0;
}

static void job_text_add_histogram(struct job_text *text)
{
    const struct job *job = text->job;
    const struct statistics *peaks = &job->peaks;
    size_t classes[CLASSES] = {0}, most = 0;
    uint64_t count = job_text_class_count(peaks);
    if (job_is_even(peaks) || peaks->count < 3 || !count)
        return;
    uint64_t width = job_text_class_width(peaks, count);
    for (size_t i = 0; i < job->summary.rank_count; i++) {
        const struct job_rank *rank = &job->summary.ranks[i];
        uint64_t peak;
        if (!job_rank_counts(rank) || !figure_get(rank->peak_bytes, &peak))
            continue;
        size_t class = (size_t)((peak - peaks->min) / width);
        most = ++classes[class] > most ? classes[class] : most;
    }
    job_title(text, "Distribution", "ranks by their high-water mark");
    for (uint64_t i = 0; i < count; i++) {
        size_t bar = classes[i] ? 1 + classes[i] * (text->style.columns - 40) / most : 0;
        strbuf_add_string(&text->out, "  ");
        job_bytes(text, figure_of(peaks->min + width * i), 9);
        strbuf_add_string(&text->out, style_sign(&text->style, " – ", " - "));
        uint64_t end = peaks->min + width * (i + 1);
        job_bytes(text, figure_of(end > peaks->max ? peaks->max : end), 9);
        strbuf_addf(&text->out, "%7zu  ", classes[i]);
        style_begin(&text->out, &text->style, TONE_AREA);
        strbuf_add_repeated(&text->out, style_sign(&text->style, "█", "#"), bar);
        style_end(&text->out, &text->style);
        while (text->out.data[text->out.length - 1] == ' ')
            strbuf_truncate(&text->out, text->out.length - 1);
        strbuf_add_char(&text->out, '\n');
    }
}

const struct job_words *job_words(const struct job *job)
{
    static const struct job_words words[] = {
        [MEMORY_HEAP] = {"of the bytes that each rank requested", "requested", "asked for"},
        [MEMORY_MAPPED] = {"of what each rank had mapped", "had mapped", "has mapped"},
        [MEMORY_ALL] = {"of what each rank had in blocks and mappings",
                        "had in blocks and mappings", "has in blocks and mappings"},
        [MEMORY_RESIDENT] = {"of what each rank had resident", "had resident", "has resident"},
    };
    return &words[job->level];
}

static void job_text_add_marks(struct job_text *text)
{
    const struct job *job = text->job;
    job_title(text, "High-water marks", job_words(job)->marks);
    if (!job->ranks) {
        job_note(text, "No rank could be read.");
        return;
    }
    job_text_add_extreme(text, "most", job->peaks.max, job->peaks.max_index);
    job_text_add_extreme(text, "least", job->peaks.min, job->peaks.min_index);
    job_text_add_spread(text);
    job_text_add_percentiles(text);
    job_text_add_histogram(text);
}

/* ---- Ranks that are not as they should be -------------------------------------------------- */

/* Ended well, or recorded for as long as it was to be. */
static bool job_text_is_whole(const struct job_rank *rank)
{
    return rank->state == JOB_COMPLETE || rank->state == JOB_LEFT;
}

static void job_text_add_fate(struct strbuf *out, const struct job_rank *rank)
{
    const char *name = rank->signal ? sigabbrev_np((int)rank->signal) : NULL;
    switch (rank->state) {
    case JOB_DIED:
        if (name)
            strbuf_addf(out, "killed by SIG%s", name);
        else if (rank->signal)
            strbuf_addf(out, "killed by signal %u", rank->signal);
        else
            strbuf_addf(out, "ended with status %u", rank->status);
        if (rank->duration_ns)
            strbuf_addf(out, " after %s", human_duration(rank->duration_ns).text);
        if (figure_known(rank->live_bytes))
            strbuf_addf(out, "; it held %s then", figure_human_bytes(rank->live_bytes).text);
        break;
    case JOB_CUT:
        strbuf_add_string(out, "its recording was cut short");
        if (rank->duration_ns)
            strbuf_addf(out, " after %s", human_duration(rank->duration_ns).text);
        strbuf_add_string(out, ": figures are as last saved");
        break;
    case JOB_RUNNING:
        strbuf_add_string(out, "still being recorded: figures so far");
        break;
    case JOB_BEGUN:
        strbuf_add_string(out, "still being recorded: nothing can be read of it yet");
        return;
    case JOB_MISSING:
        strbuf_add_string(out, "no profile: ");
        break;
    case JOB_UNREADABLE:
        strbuf_add_string(out, "in no figure here: ");
        break;
    case JOB_DAMAGED:
        strbuf_add_string(out, "in no figure here, damaged: ");
        break;
    default:
        break;
    }
    if (!rank->note)
        return;
    if (job_rank_is_read(rank) && !job_text_is_whole(rank))
        strbuf_add_string(out, "; ");
    text_add_safe_string(out, rank->note);
}

/* A rank that ended well may have an entry that is damaged. */
static bool job_text_is_amiss(const struct job_rank *rank)
{
    return !job_text_is_whole(rank) || rank->note;
}

static void job_text_add_fates(struct job_text *text, size_t *shown)
{
    const struct job_summary *summary = &text->job->summary;
    size_t left = 0;
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct job_rank *rank = &summary->ranks[i];
        if (!job_text_is_amiss(rank))
            continue;
        if ((*shown)++ >= text->options->top) {
            left++;
            continue;
        }
        struct strbuf line = STRBUF_INIT;
        job_add_rank_name(&line, rank);
        if (rank->is_helper)
            strbuf_add_string(&line, " (a process beside it)");
        job_text_add_node_name(&line, rank);
        strbuf_add_string(&line, ": ");
        job_text_add_fate(&line, rank);
        strbuf_add_string(&text->out, "  ");
        style_add_wrapped(&text->out, &text->style, TONE_WARNING, line.data, 4);
        strbuf_release(&line);
    }
    if (left)
        strbuf_addf(&text->out, "  and %zu more\n", left);
}

static void job_text_add_missing(struct job_text *text)
{
    const struct job *job = text->job;
    size_t listed = 0;
    if (!job->missing)
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s of %s ranks left nothing here:", human_exact(job->missing).text,
                human_exact(job->size).text);
    for (int64_t first, last = -1; listed < 12 && job_next_missing(job, last, &first, &last);)
        strbuf_addf(&line, last > first ? "%s %lld-%lld" : "%s %lld", listed++ ? "," : "",
                    (long long)first, (long long)last);
    if (listed == 12)
        strbuf_add_string(&line, " …");
    strbuf_add_string(&text->out, "  ");
    style_add_wrapped(&text->out, &text->style, TONE_WARNING, line.data, 4);
    strbuf_release(&line);
}

static void job_text_add_unseen_lines(struct strbuf *out, const char *lines)
{
    struct facts_unseen unseen;
    const char *between = "";
    for (const char *at = NULL; facts_next_unseen_of(lines, &at, &unseen);) {
        strbuf_add_string(out, between);
        facts_add_one_unseen(out, &unseen);
        facts_release_unseen(&unseen);
        between = "; ";
    }
}

/* How many ranks lack what rank `of` lacks; 0: one before it does, and it was said there. */
static size_t job_text_count_alike(const struct job_summary *summary, size_t of)
{
    const char *lines = summary->ranks[of].unseen;
    size_t alike = 0;
    for (size_t i = 0; i < summary->rank_count; i++) {
        if (!summary->ranks[i].unseen || strcmp(summary->ranks[i].unseen, lines))
            continue;
        if (i < of)
            return 0;
        alike++;
    }
    return alike;
}

/* Each thing once, with how many ranks lack it: those of a job run the same programs. */
static void job_text_add_unseen(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    for (size_t i = 0; i < summary->rank_count; i++) {
        const char *lines = summary->ranks[i].unseen;
        struct strbuf line = STRBUF_INIT;
        size_t alike = lines ? job_text_count_alike(summary, i) : 0;
        if (!alike)
            continue;
        strbuf_addf(&line, "%zu rank%s a part of what was allocated: ", alike,
                    alike == 1 ? " lacks" : "s lack");
        job_text_add_unseen_lines(&line, lines);
        job_note(text, line.data);
        strbuf_release(&line);
    }
}

static void job_text_add_troubles(struct job_text *text)
{
    const struct job_summary *summary = &text->job->summary;
    size_t shown = 0, sampled = 0, losing = 0, unseen = 0, pathless = 0;
    bool any = text->job->missing;
    for (size_t i = 0; i < summary->rank_count; i++) {
        any |= job_text_is_amiss(&summary->ranks[i]);
        sampled += summary->ranks[i].sample_bytes > 0;
        losing += summary->ranks[i].lost_events > 0;
        unseen += summary->ranks[i].unseen != NULL;
        pathless += summary->ranks[i].unattributed > 0;
    }
    if (!any && !sampled && !losing && !unseen && !pathless)
        return;
    job_title(text, "Not as it should be", NULL);
    job_text_add_missing(text);
    job_text_add_fates(text, &shown);
    struct strbuf line = STRBUF_INIT;
    if (losing) {
        strbuf_addf(&line, "%zu ranks lost events: their figures are lower bounds", losing);
        job_note(text, line.data);
    }
    job_text_add_unseen(text);
    strbuf_reset(&line);
    if (pathless) {
        strbuf_addf(&line, "%zu rank%s events without a call path", pathless,
                    pathless == 1 ? " has" : "s have");
        job_note(text, line.data);
    }
    strbuf_reset(&line);
    if (sampled) {
        strbuf_addf(&line, "%zu ranks were sampled: their figures are estimates", sampled);
        job_note(text, line.data);
    }
    strbuf_release(&line);
}

/* ---- All of it ----------------------------------------------------------------------------- */

int job_text(FILE *out, const struct job *job, const struct job_options *options)
{
    struct job_text text = {
        .style = options->style, .out = STRBUF_INIT, .job = job, .options = options};
    job_text_add_head(&text);
    job_text_add_level(&text);
    job_text_add_choice(&text);
    job_text_add_run(&text);
    job_text_add_collectors(&text);
    job_text_add_marks(&text);
    job_text_add_troubles(&text);
    job_add_why(&text);
    job_add_heat(&text);
    job_add_nodes(&text);
    job_add_functions(&text);
    job_add_libraries(&text);
    errno = 0;
    bool written = fwrite(text.out.data, 1, text.out.length, out) == text.out.length;
    strbuf_release(&text.out);
    return written && !fflush(out) ? 0 : errno ? -errno : -EIO;
}

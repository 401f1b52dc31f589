/* See whatif.h: the trace becomes a script, every candidate runs it in turn, round by round, and the
 * figures of the rounds become rows. */
#include "whatif/whatif.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/human.h"
#include "base/text.h"
#include "process/process.h"
#include "trace/trace.h"
#include "whatif/author.h"
#include "whatif/survey.h"
#include "whatif/trial.h"

_Static_assert((int)WHATIF_READINGS == (int)SCRIPT_SAMPLES, "a reading for each sample");

static const enum script_kind kinds[WHATIF_CALLS] = {SCRIPT_MALLOC, SCRIPT_CALLOC, SCRIPT_ALIGNED,
                                                     SCRIPT_REALLOC, SCRIPT_FREE};

static int refuse(struct strbuf *sentence, int error, const char *why)
{
    strbuf_add_string(sentence, why);
    if (error != -EINVAL)
        strbuf_addf(sentence, ": %s", strerror(-error));
    return error;
}

/* ---- Figures of rounds --------------------------------------------------------------------- */

struct rounds {
    struct trial_outcome *outcomes; /* [round] */
    unsigned count;
};

struct contest {
    struct whatif *whatif;
    const struct whatif_candidates *candidates;
    struct trial trial;
    struct rounds *rows; /* the driver's first, then the candidates' */
};

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static struct whatif_figure figure_of(uint64_t *values, size_t count)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (values[i] != WHATIF_UNKNOWN)
            values[known++] = values[i];
    if (!known)
        return (struct whatif_figure){WHATIF_UNKNOWN, WHATIF_UNKNOWN, WHATIF_UNKNOWN};
    qsort(values, known, sizeof *values, compare);
    return (struct whatif_figure){values[(known - 1) / 2], values[0], values[known - 1]};
}

static uint64_t above(uint64_t value, uint64_t base)
{
    if (value == CHURN_UNKNOWN || base == CHURN_UNKNOWN)
        return WHATIF_UNKNOWN;
    return value > base ? value - base : 0;
}

typedef uint64_t (*take_figure)(const struct churn_result *result, const struct churn_result *idle);

static uint64_t take_peak(const struct churn_result *result, const struct churn_result *idle)
{
    return above(result->peak_bytes, idle->start_bytes);
}
static uint64_t take_at_peak(const struct churn_result *result, const struct churn_result *idle)
{
    return above(result->readings[SCRIPT_PEAK_SAMPLE], idle->start_bytes);
}
static uint64_t take_end(const struct churn_result *result, const struct churn_result *idle)
{
    return above(result->readings[SCRIPT_SAMPLES - 1], idle->start_bytes);
}
static uint64_t take_cpu(const struct churn_result *result, const struct churn_result *idle)
{
    if (result == idle)
        return result->cpu_ns;
    /* Where the driver's share varies by more than there is, there is nothing to be said. */
    return result->cpu_ns > idle->cpu_ns ? result->cpu_ns - idle->cpu_ns : WHATIF_UNKNOWN;
}
static uint64_t take_wall(const struct churn_result *result, const struct churn_result *idle)
{
    (void)idle;
    return result->wall_ns;
}
static uint64_t take_system(const struct churn_result *result, const struct churn_result *idle)
{
    (void)idle;
    return result->system_ns;
}
static uint64_t take_faults(const struct churn_result *result, const struct churn_result *idle)
{
    (void)idle;
    return result->minor_faults + result->major_faults;
}
static uint64_t take_failed(const struct churn_result *result, const struct churn_result *idle)
{
    (void)idle;
    return result->failed_calls;
}

static bool is_whole(const struct trial_outcome *outcome)
{
    return !outcome->failure.length;
}

/* Against the driver's run of the same round. */
static struct whatif_figure figure(const struct rounds *rounds, const struct rounds *idle,
                                   take_figure take)
{
    uint64_t *values = calloc(rounds->count, sizeof *values);
    size_t count = 0;
    struct whatif_figure made;

    for (unsigned i = 0; values && i < rounds->count; i++)
        if (is_whole(&rounds->outcomes[i]))
            values[count++] = take(&rounds->outcomes[i].result, &idle->outcomes[i].result);
    made = figure_of(values, count);
    free(values);
    return made;
}

static void fill_readings(struct whatif_row *row, const struct rounds *rounds,
                          const struct rounds *idle)
{
    for (unsigned at = 0; at < WHATIF_READINGS; at++) {
        uint64_t *values = calloc(rounds->count, sizeof *values);
        size_t count = 0;
        for (unsigned i = 0; values && i < rounds->count; i++)
            if (is_whole(&rounds->outcomes[i]) || !row->rounds)
                values[count++] = above(rounds->outcomes[i].result.readings[at],
                                        idle->outcomes[i].result.start_bytes);
        row->readings[at] = figure_of(values, count).median;
        free(values);
    }
}

/* The time that `share` of the calls of a kind took at most: the middle of its bin. */
static uint64_t quantile_ns(const uint32_t *bins, double share, double tick_ns)
{
    uint64_t whole = 0, sum = 0;

    for (unsigned bin = 0; bin < CHURN_BINS; bin++)
        whole += bins[bin];
    if (!whole)
        return WHATIF_UNKNOWN;
    for (unsigned bin = 0; bin < CHURN_BINS; bin++) {
        sum += bins[bin];
        if ((double)sum >= share * (double)whole)
            return (uint64_t)((double)(churn_bin_ticks(bin) + churn_bin_ticks(bin + 1)) / 2 *
                                  tick_ns + 0.5);
    }
    return WHATIF_UNKNOWN;
}

static double mean_ns(const uint32_t *bins, double tick_ns)
{
    double ticks = 0, count = 0;

    for (unsigned bin = 0; bin < CHURN_BINS; bin++) {
        ticks += (double)bins[bin] *
                 (double)(churn_bin_ticks(bin) + churn_bin_ticks(bin + 1) - 1) / 2;
        count += (double)bins[bin];
    }
    return count > 0 ? ticks / count * tick_ns : 0;
}

static uint64_t all_calls_ns(const struct churn_result *result, const uint64_t *counts)
{
    double whole_ns = 0;

    for (unsigned call = 0; call < WHATIF_CALLS; call++)
        whole_ns += mean_ns(result->bins[kinds[call]], result->tick_ns) * (double)counts[call];
    return whole_ns > 0 ? (uint64_t)whole_ns : WHATIF_UNKNOWN;
}

/* A thread that lost its processor in the middle of a timed call spoils a round's sum: hence the
 * median of the rounds. */
static void fill_calls_ns(struct whatif_row *row, const struct rounds *rounds,
                          const uint64_t *counts)
{
    uint64_t *values = calloc(rounds->count, sizeof *values);
    size_t count = 0;

    for (unsigned i = 0; values && i < rounds->count; i++)
        if (is_whole(&rounds->outcomes[i]))
            values[count++] = all_calls_ns(&rounds->outcomes[i].result, counts);
    row->calls_ns = figure_of(values, count).median;
    free(values);
}

static void fill_calls(struct whatif_row *row, const struct rounds *rounds)
{
    for (unsigned call = 0; call < WHATIF_CALLS; call++) {
        uint32_t bins[CHURN_BINS] = {0};
        double tick_ns = 0;
        for (unsigned i = 0; i < rounds->count; i++) {
            const struct churn_result *result = &rounds->outcomes[i].result;
            if (!is_whole(&rounds->outcomes[i]))
                continue;
            tick_ns = result->tick_ns;
            for (unsigned bin = 0; bin < CHURN_BINS; bin++)
                bins[bin] += result->bins[kinds[call]][bin];
        }
        row->calls[call].median_ns = quantile_ns(bins, 0.5, tick_ns);
        row->calls[call].p99_ns = quantile_ns(bins, 0.99, tick_ns);
    }
}

static void fill_failure(struct whatif_row *row, const struct rounds *rounds, uint64_t calls)
{
    for (unsigned i = 0; i < rounds->count; i++) {
        struct trial_outcome *outcome = &rounds->outcomes[i];
        if (outcome->result.allocator[0] && !row->allocator)
            row->allocator = strdup(outcome->result.allocator);
        if (is_whole(outcome)) {
            row->rounds++;
            continue;
        }
        if (row->failure)
            continue;
        row->failure = strbuf_detach(&outcome->failure);
        strbuf_add_string(&outcome->failure, "failed"); /* it stays a failure */
        row->reached = calls ? (double)outcome->calls / (double)calls : 0;
    }
}

static void fill_row(struct whatif_row *row, const struct rounds *rounds, const struct rounds *idle,
                     const struct whatif *whatif)
{
    fill_failure(row, rounds, whatif->call_count);
    row->peak_bytes = figure(rounds, idle, take_peak);
    row->at_peak_bytes = figure(rounds, idle, take_at_peak);
    row->end_bytes = figure(rounds, idle, take_end);
    row->cpu_ns = figure(rounds, idle, take_cpu);
    row->wall_ns = figure(rounds, idle, take_wall);
    row->system_ns = figure(rounds, idle, take_system);
    row->faults = figure(rounds, idle, take_faults);
    row->failed_calls = figure(rounds, idle, take_failed);
    fill_readings(row, rounds, idle);
    fill_calls(row, rounds);
    fill_calls_ns(row, rounds, whatif->call_counts);
}

/* ---- Rounds -------------------------------------------------------------------------------- */

/* What was preloaded must be what answers: else the row would be the C library's. */
static void check_allocator(const struct whatif_candidate *candidate,
                            const struct trial_outcome *idle, struct trial_outcome *outcome)
{
    if (!*candidate->library || !is_whole(outcome) ||
        strcmp(outcome->result.allocator, idle->result.allocator) != 0)
        return;
    strbuf_add_string(&outcome->failure,
                      "the library was not loaded, or has no malloc of its own");
    outcome->calls = 0;
    for (unsigned i = 0; i < SCRIPT_READINGS; i++)
        outcome->result.readings[i] = CHURN_UNKNOWN;
}

static int run_one(struct contest *contest, size_t row, unsigned round)
{
    const struct whatif_options *options = &contest->whatif->options;
    const struct whatif_candidate *candidate = row ? &contest->candidates->all[row - 1] : NULL;
    struct trial_outcome *outcome = &contest->rows[row].outcomes[round];
    int error;

    if (options->progress)
        options->progress(options->context, candidate ? candidate->name : "the driver alone",
                          round);
    error = trial_run(&contest->trial, candidate, outcome);
    if (!error && candidate)
        check_allocator(candidate, &contest->rows[0].outcomes[round], outcome);
    return error;
}

/* A candidate that hangs is not waited for again. */
static bool has_hung(const struct rounds *rounds, unsigned round)
{
    return round && !strncmp(rounds->outcomes[round - 1].failure.data, "hung", 4);
}

static int run_round(struct contest *contest, unsigned round, struct strbuf *sentence)
{
    for (size_t row = 0; row <= contest->candidates->count; row++) {
        struct rounds *rounds = &contest->rows[row];
        int error;
        if (has_hung(rounds, rounds->count))
            continue;
        error = run_one(contest, row, rounds->count);
        rounds->count++;
        if (error)
            return refuse(sentence, error, "cannot start a process for an allocator");
        if (row == 0 && !is_whole(&rounds->outcomes[round])) {
            strbuf_addf(sentence, "the stream cannot be run even without an allocator: %s",
                        rounds->outcomes[round].failure.data);
            return -EIO;
        }
    }
    return 0;
}

static int run_rounds(struct contest *contest, struct strbuf *sentence)
{
    struct whatif *whatif = contest->whatif;
    size_t count = contest->candidates->count;
    int error = 0;

    for (size_t row = 0; row <= count && !error; row++) {
        contest->rows[row].outcomes =
            calloc(whatif->options.rounds, sizeof *contest->rows[row].outcomes);
        if (!contest->rows[row].outcomes)
            error = refuse(sentence, -ENOMEM, "cannot keep the results");
    }
    for (unsigned round = 0; round < whatif->options.rounds && !error; round++)
        error = run_round(contest, round, sentence);
    if (error)
        return error;
    fill_row(&whatif->driver, &contest->rows[0], &contest->rows[0], whatif);
    for (size_t row = 0; row < count; row++) {
        whatif->rows[row].candidate = &contest->candidates->all[row];
        fill_row(&whatif->rows[row], &contest->rows[row + 1], &contest->rows[0], whatif);
    }
    return 0;
}

static void release_rounds(struct contest *contest)
{
    for (size_t row = 0; contest->rows && row <= contest->candidates->count; row++) {
        for (unsigned i = 0; i < contest->rows[row].count; i++)
            strbuf_release(&contest->rows[row].outcomes[i].failure);
        free(contest->rows[row].outcomes);
    }
    free(contest->rows);
}

static int hold_contest(struct whatif *whatif, const struct whatif_candidates *candidates,
                        int script, uint32_t seat_count, struct strbuf *sentence)
{
    struct contest contest = {
        .whatif = whatif,
        .candidates = candidates,
        .trial = {.script = script,
                  .seat_count = seat_count,
                  .call_count = whatif->call_count,
                  .touch = whatif->options.touch,
                  .patience_ns = whatif->options.patience_ns},
    };
    int error;

    if (!trial_find_churn(contest.trial.churn))
        return refuse(sentence, -ENOENT,
                      "tidemark-churn, which runs the stream, is not where it should be");
    contest.rows = calloc(candidates->count + 1, sizeof *contest.rows);
    whatif->rows = calloc(candidates->count, sizeof *whatif->rows);
    whatif->row_count = candidates->count;
    error = contest.rows && whatif->rows ? run_rounds(&contest, sentence)
                                         : refuse(sentence, -ENOMEM, "cannot keep the results");
    release_rounds(&contest);
    return error;
}

/* ---- The trace ----------------------------------------------------------------------------- */

static void keep_survey(struct whatif *whatif, const struct survey *survey)
{
    const struct flow_left_out *left_out = &survey->left_out;

    for (unsigned i = 0; i < WHATIF_CALLS; i++)
        whatif->call_counts[i] = survey->calls[kinds[i]];
    whatif->call_count = survey->call_count;
    whatif->peak_bytes = survey->peak_bytes;
    whatif->peak_blocks = survey->peak_blocks;
    whatif->end_bytes = survey->end_bytes;
    whatif->threads = survey->lanes;
    whatif->crossing_count = survey->crossing_count;
    whatif->unknown_frees = left_out->unknown_frees;
    whatif->unknown_reallocs = left_out->unknown_reallocs;
    whatif->failed_calls = left_out->failed_calls;
    whatif->stale_frees = left_out->stale_frees;
    whatif->implied_frees = left_out->implied_frees;
    whatif->mappings = left_out->mappings;
    whatif->lost_events = left_out->lost_events;
    whatif->nonsense = left_out->nonsense;
    whatif->damaged_blocks = left_out->damaged_blocks;
}

/* On disk rather than in memory: the kernel can write it out while an allocator needs the memory. */
static int open_script(void)
{
    const char *directory = getenv("TMPDIR");
    int fd = open(directory && *directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
                  0600);

    return fd >= 0 ? fd : memfd_create("tidemark-script", MFD_CLOEXEC);
}

static uint64_t available_bytes(void)
{
    char text[4096];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *at;

    if (fd >= 0)
        close(fd);
    text[count > 0 ? count : 0] = '\0';
    at = strstr(text, "MemAvailable:");
    return at ? strtoull(at + 13, NULL, 10) * 1024 : UINT64_MAX;
}

static int check_survey(const struct whatif *whatif, struct strbuf *sentence)
{
    uint64_t available = available_bytes();

    if (!whatif->call_count)
        return refuse(sentence, -EINVAL, "there are no allocations in this trace");
    if (whatif->options.touch != WHATIF_TOUCH_ALL || whatif->peak_bytes < available)
        return 0;
    strbuf_addf(sentence,
                "the program had up to %s at once, and %s is available here; if it did not use all "
                "of that, --touch=first or --touch=none may do",
                human_bytes(whatif->peak_bytes).text, human_bytes(available).text);
    return -EINVAL;
}

static int say_trace_error(struct strbuf *sentence, int error)
{
    if (error == -E2BIG)
        strbuf_add_string(sentence, "more than 4,294,967,295 blocks are more than can be run");
    else if (error == -EFBIG)
        strbuf_add_string(sentence, "too many changes between threads for --order=strict");
    else if (error == -EBADMSG)
        strbuf_add_string(sentence, "the trace has numbers of threads that cannot be");
    else
        strbuf_addf(sentence, "cannot make a script of the trace: %s", strerror(-error));
    return error;
}

static int write_and_run(struct whatif *whatif, const struct trace *trace,
                         const struct survey *survey, const struct whatif_candidates *candidates,
                         struct strbuf *sentence)
{
    struct script_header header;
    int script = open_script(), error;

    if (script < 0)
        return refuse(sentence, -errno, "cannot create a file for the stream");
    error = author_write(trace, survey, whatif->options.order, script, &header,
                         &whatif->script_bytes);
    error = error ? say_trace_error(sentence, error)
                  : hold_contest(whatif, candidates, script, header.seat_count, sentence);
    close(script);
    return error;
}

int whatif_run(struct whatif **whatif, const struct trace *trace,
               const struct whatif_candidates *candidates, const struct whatif_options *options,
               struct strbuf *sentence)
{
    struct trace_options recorded;
    struct survey survey;
    int error;

    *whatif = NULL;
    trace_options(trace, &recorded);
    if (recorded.sample_bytes)
        return refuse(sentence, -EINVAL,
                      "the trace is of a sample (--sample): most of its allocations are not in it, "
                      "so they cannot be run again");
    *whatif = calloc(1, sizeof **whatif);
    if (!*whatif)
        return refuse(sentence, -ENOMEM, "cannot begin");
    (*whatif)->options = *options;
    (*whatif)->page_bytes = process_page_bytes();
    if (options->progress)
        options->progress(options->context, "reading the trace", 0);
    error = survey_take(&survey, trace);
    if (error) {
        say_trace_error(sentence, error);
    } else {
        keep_survey(*whatif, &survey);
        error = check_survey(*whatif, sentence);
    }
    if (!error)
        error = write_and_run(*whatif, trace, &survey, candidates, sentence);
    survey_release(&survey);
    return error;
}

static void release_row(struct whatif_row *row)
{
    free(row->failure);
    free(row->allocator);
}

void whatif_free(struct whatif *whatif)
{
    if (!whatif)
        return;
    release_row(&whatif->driver);
    for (size_t i = 0; i < whatif->row_count && whatif->rows; i++)
        release_row(&whatif->rows[i]);
    free(whatif->rows);
    free(whatif);
}

bool whatif_waste(const struct whatif *whatif, const struct whatif_row *row, int64_t *bytes)
{
    uint64_t page = whatif->page_bytes;
    uint64_t requested = (whatif->peak_bytes + page - 1) / page * page;

    if (row->peak_bytes.median == WHATIF_UNKNOWN || whatif->options.touch != WHATIF_TOUCH_ALL)
        return false;
    *bytes = (int64_t)(row->peak_bytes.median - requested);
    return true;
}

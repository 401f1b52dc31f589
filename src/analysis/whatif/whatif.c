/* Compares allocators (whatif.h). The trace becomes a stream once; every candidate plays it in
 * turn, round by round; the figures of the rounds become rows. */
#include "whatif/whatif.h"
#include "model/figure_human.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/human.h"
#include "base/text.h"
#include "procfs/process.h"
#include "trace/trace.h"
#include "whatif/stream_author.h"
#include "whatif/survey.h"
#include "whatif/trial.h"

_Static_assert((int)WHATIF_READINGS == (int)STREAM_SAMPLES, "a reading for each sample");

static const enum stream_kind kinds[WHATIF_CALLS] = {STREAM_MALLOC, STREAM_CALLOC, STREAM_ALIGNED,
                                                     STREAM_REALLOC, STREAM_FREE};

static int whatif_refuse(struct strbuf *sentence, int error, const char *why)
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

static int whatif_compare(const void *a, const void *b)
{
    return figure_compare(*(const struct figure *)a, *(const struct figure *)b);
}

static struct whatif_figure whatif_figure_of(struct figure *values, size_t count)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (figure_known(values[i]))
            values[known++] = values[i];
    if (!known)
        return (struct whatif_figure){FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    qsort(values, known, sizeof *values, whatif_compare);
    return (struct whatif_figure){values[(known - 1) / 2], values[0], values[known - 1]};
}

/* A number of the driver's. The memory shared with the driver has DRIVER_UNKNOWN for the unknown;
 * nothing behind this function does. */
static struct figure whatif_driver_figure(uint64_t number)
{
    return number == DRIVER_UNKNOWN ? FIGURE_UNKNOWN : figure_of(number);
}

static struct figure whatif_above(uint64_t number, uint64_t base_number)
{
    struct figure value = whatif_driver_figure(number), base = whatif_driver_figure(base_number);
    return figure_less(value, base) ? figure_of(0) : figure_sub(value, base);
}

typedef struct figure (*take_figure)(const struct driver_result *result,
                                     const struct driver_result *idle);

static struct figure whatif_take_peak(const struct driver_result *result,
                                      const struct driver_result *idle)
{
    return whatif_above(result->peak_bytes, idle->start_bytes);
}
static struct figure whatif_take_at_peak(const struct driver_result *result,
                                         const struct driver_result *idle)
{
    return whatif_above(result->readings[STREAM_PEAK_SAMPLE], idle->start_bytes);
}
static struct figure whatif_take_end(const struct driver_result *result,
                                     const struct driver_result *idle)
{
    return whatif_above(result->readings[STREAM_SAMPLES - 1], idle->start_bytes);
}
static struct figure whatif_take_cpu(const struct driver_result *result,
                                     const struct driver_result *idle)
{
    if (result == idle)
        return figure_of(result->cpu_ns);
    /* Unknown where the driver's own share varies by more than the rest. */
    return result->cpu_ns > idle->cpu_ns ? figure_of(result->cpu_ns - idle->cpu_ns)
                                         : FIGURE_UNKNOWN;
}
static struct figure whatif_take_wall(const struct driver_result *result,
                                      const struct driver_result *idle)
{
    (void)idle;
    return figure_of(result->wall_ns);
}
static struct figure whatif_take_system(const struct driver_result *result,
                                        const struct driver_result *idle)
{
    (void)idle;
    return figure_of(result->system_ns);
}
static struct figure whatif_take_faults(const struct driver_result *result,
                                        const struct driver_result *idle)
{
    (void)idle;
    return figure_of(result->minor_faults + result->major_faults);
}
static struct figure whatif_take_failed(const struct driver_result *result,
                                        const struct driver_result *idle)
{
    (void)idle;
    return figure_of(result->failed_calls);
}

static bool whatif_is_whole(const struct trial_outcome *outcome)
{
    return !outcome->failure.length;
}

/* Against the driver's run of the same round. */
static struct whatif_figure whatif_figure_against(const struct rounds *rounds,
                                                  const struct rounds *idle, take_figure take)
{
    struct figure *values = calloc(rounds->count, sizeof *values);
    size_t count = 0;
    struct whatif_figure made;

    for (unsigned i = 0; values && i < rounds->count; i++)
        if (whatif_is_whole(&rounds->outcomes[i]))
            values[count++] = take(&rounds->outcomes[i].result, &idle->outcomes[i].result);
    made = whatif_figure_of(values, count);
    free(values);
    return made;
}

static void whatif_fill_readings(struct whatif_row *row, const struct rounds *rounds,
                                 const struct rounds *idle)
{
    for (unsigned at = 0; at < WHATIF_READINGS; at++) {
        struct figure *values = calloc(rounds->count, sizeof *values);
        size_t count = 0;
        for (unsigned i = 0; values && i < rounds->count; i++)
            if (whatif_is_whole(&rounds->outcomes[i]) || !row->rounds)
                values[count++] = whatif_above(rounds->outcomes[i].result.readings[at],
                                               idle->outcomes[i].result.start_bytes);
        row->readings[at] = whatif_figure_of(values, count).median;
        free(values);
    }
}

/* The time that `share` of the calls of a kind took at most: the middle of its bin. */
static struct figure whatif_quantile_ns(const uint32_t *bins, double share, double tick_ns)
{
    uint64_t whole = 0, sum = 0;

    for (unsigned bin = 0; bin < DRIVER_BINS; bin++)
        whole += bins[bin];
    if (!whole)
        return FIGURE_UNKNOWN;
    for (unsigned bin = 0; bin < DRIVER_BINS; bin++) {
        sum += bins[bin];
        if ((double)sum >= share * (double)whole)
            return figure_of_double((double)(driver_bin_ticks(bin) + driver_bin_ticks(bin + 1)) /
                                    2 * tick_ns);
    }
    return FIGURE_UNKNOWN;
}

static double whatif_mean_ns(const uint32_t *bins, double tick_ns)
{
    double ticks = 0, count = 0;

    for (unsigned bin = 0; bin < DRIVER_BINS; bin++) {
        ticks +=
            (double)bins[bin] * (double)(driver_bin_ticks(bin) + driver_bin_ticks(bin + 1) - 1) / 2;
        count += (double)bins[bin];
    }
    return count > 0 ? ticks / count * tick_ns : 0;
}

static struct figure whatif_all_calls_ns(const struct driver_result *result, const uint64_t *counts)
{
    double whole_ns = 0;

    for (unsigned call = 0; call < WHATIF_CALLS; call++)
        whole_ns +=
            whatif_mean_ns(result->bins[kinds[call]], result->tick_ns) * (double)counts[call];
    return whole_ns > 0 ? figure_of((uint64_t)whole_ns) : FIGURE_UNKNOWN;
}

/* A thread that lost its processor in the middle of a timed call spoils a round's sum: hence the
 * median of the rounds. */
static void whatif_fill_calls_ns(struct whatif_row *row, const struct rounds *rounds,
                                 const uint64_t *counts)
{
    struct figure *values = calloc(rounds->count, sizeof *values);
    size_t count = 0;

    for (unsigned i = 0; values && i < rounds->count; i++)
        if (whatif_is_whole(&rounds->outcomes[i]))
            values[count++] = whatif_all_calls_ns(&rounds->outcomes[i].result, counts);
    row->calls_ns = whatif_figure_of(values, count).median;
    free(values);
}

static void whatif_fill_calls(struct whatif_row *row, const struct rounds *rounds)
{
    for (unsigned call = 0; call < WHATIF_CALLS; call++) {
        uint32_t bins[DRIVER_BINS] = {0};
        double tick_ns = 0;
        for (unsigned i = 0; i < rounds->count; i++) {
            const struct driver_result *result = &rounds->outcomes[i].result;
            if (!whatif_is_whole(&rounds->outcomes[i]))
                continue;
            tick_ns = result->tick_ns;
            for (unsigned bin = 0; bin < DRIVER_BINS; bin++)
                bins[bin] += result->bins[kinds[call]][bin];
        }
        row->calls[call].median_ns = whatif_quantile_ns(bins, 0.5, tick_ns);
        row->calls[call].p99_ns = whatif_quantile_ns(bins, 0.99, tick_ns);
    }
}

static void whatif_fill_failure(struct whatif_row *row, const struct rounds *rounds, uint64_t calls)
{
    for (unsigned i = 0; i < rounds->count; i++) {
        struct trial_outcome *outcome = &rounds->outcomes[i];
        if (outcome->result.allocator[0] && !row->allocator)
            row->allocator = strdup(outcome->result.allocator);
        if (whatif_is_whole(outcome)) {
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

static void whatif_fill_row(struct whatif_row *row, const struct rounds *rounds,
                            const struct rounds *idle, const struct whatif *whatif)
{
    whatif_fill_failure(row, rounds, whatif->call_count);
    row->peak_bytes = whatif_figure_against(rounds, idle, whatif_take_peak);
    row->at_peak_bytes = whatif_figure_against(rounds, idle, whatif_take_at_peak);
    row->end_bytes = whatif_figure_against(rounds, idle, whatif_take_end);
    row->cpu_ns = whatif_figure_against(rounds, idle, whatif_take_cpu);
    row->wall_ns = whatif_figure_against(rounds, idle, whatif_take_wall);
    row->system_ns = whatif_figure_against(rounds, idle, whatif_take_system);
    row->faults = whatif_figure_against(rounds, idle, whatif_take_faults);
    row->failed_calls = whatif_figure_against(rounds, idle, whatif_take_failed);
    whatif_fill_readings(row, rounds, idle);
    whatif_fill_calls(row, rounds);
    whatif_fill_calls_ns(row, rounds, whatif->call_counts);
}

/* ---- Rounds -------------------------------------------------------------------------------- */

/* malloc must be in the library that was preloaded: else the row would be the C library's. */
static void whatif_check_allocator(const struct whatif_candidate *candidate,
                                   const struct trial_outcome *idle, struct trial_outcome *outcome)
{
    if (!*candidate->library || !whatif_is_whole(outcome) ||
        strcmp(outcome->result.allocator, idle->result.allocator) != 0)
        return;
    strbuf_add_string(&outcome->failure, "the library was not loaded, or has no malloc of its own");
    outcome->calls = 0;
    for (unsigned i = 0; i < STREAM_READINGS; i++)
        outcome->result.readings[i] = DRIVER_UNKNOWN;
}

static int whatif_run_one(struct contest *contest, size_t row, unsigned round)
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
        whatif_check_allocator(candidate, &contest->rows[0].outcomes[round], outcome);
    return error;
}

/* A candidate that hung is not run again. */
static bool whatif_has_hung(const struct rounds *rounds, unsigned round)
{
    return round && !strncmp(rounds->outcomes[round - 1].failure.data, "hung", 4);
}

static int whatif_run_round(struct contest *contest, unsigned round, struct strbuf *sentence)
{
    for (size_t row = 0; row <= contest->candidates->count; row++) {
        struct rounds *rounds = &contest->rows[row];
        int error;
        if (whatif_has_hung(rounds, rounds->count))
            continue;
        error = whatif_run_one(contest, row, rounds->count);
        rounds->count++;
        if (error)
            return whatif_refuse(sentence, error, "cannot start a process for an allocator");
        if (row == 0 && !whatif_is_whole(&rounds->outcomes[round])) {
            strbuf_addf(sentence, "the stream cannot be run even without an allocator: %s",
                        rounds->outcomes[round].failure.data);
            return -EIO;
        }
    }
    return 0;
}

static int whatif_run_rounds(struct contest *contest, struct strbuf *sentence)
{
    struct whatif *whatif = contest->whatif;
    size_t count = contest->candidates->count;
    int error = 0;

    for (size_t row = 0; row <= count && !error; row++) {
        contest->rows[row].outcomes =
            calloc(whatif->options.rounds, sizeof *contest->rows[row].outcomes);
        if (!contest->rows[row].outcomes)
            error = whatif_refuse(sentence, -ENOMEM, "cannot keep the results");
    }
    for (unsigned round = 0; round < whatif->options.rounds && !error; round++)
        error = whatif_run_round(contest, round, sentence);
    if (error)
        return error;
    whatif_fill_row(&whatif->driver, &contest->rows[0], &contest->rows[0], whatif);
    for (size_t row = 0; row < count; row++) {
        whatif->rows[row].candidate = &contest->candidates->all[row];
        whatif_fill_row(&whatif->rows[row], &contest->rows[row + 1], &contest->rows[0], whatif);
    }
    return 0;
}

static void whatif_release_rounds(struct contest *contest)
{
    for (size_t row = 0; contest->rows && row <= contest->candidates->count; row++) {
        for (unsigned i = 0; i < contest->rows[row].count; i++)
            strbuf_release(&contest->rows[row].outcomes[i].failure);
        free(contest->rows[row].outcomes);
    }
    free(contest->rows);
}

static int whatif_hold_contest(struct whatif *whatif, const struct whatif_candidates *candidates,
                               int stream_fd, uint32_t seat_count, struct strbuf *sentence)
{
    struct contest contest = {
        .whatif = whatif,
        .candidates = candidates,
        .trial = {.stream_fd = stream_fd,
                  .seat_count = seat_count,
                  .call_count = whatif->call_count,
                  .touch = whatif->options.touch,
                  .patience_ns = whatif->options.patience_ns},
    };
    int error;

    if (!trial_find_driver(contest.trial.driver_path))
        return whatif_refuse(
            sentence, -ENOENT,
            "tidemark-alloc-driver, which runs the stream, is not where it should be");
    contest.rows = calloc(candidates->count + 1, sizeof *contest.rows);
    whatif->rows = calloc(candidates->count, sizeof *whatif->rows);
    whatif->row_count = candidates->count;
    error = contest.rows && whatif->rows
                ? whatif_run_rounds(&contest, sentence)
                : whatif_refuse(sentence, -ENOMEM, "cannot keep the results");
    whatif_release_rounds(&contest);
    return error;
}

/* ---- The trace ----------------------------------------------------------------------------- */

static void whatif_keep_survey(struct whatif *whatif, const struct survey *survey)
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

/* On disk rather than in memory: the kernel can write it out while an allocator needs the
 * memory. */
static int whatif_open_stream(void)
{
    const char *directory = getenv("TMPDIR");
    int fd =
        open(directory && *directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("tidemark-stream", MFD_CLOEXEC);
}

static struct figure whatif_available_bytes(void)
{
    char text[4096];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *at;

    if (fd >= 0)
        close(fd);
    text[count > 0 ? count : 0] = '\0';
    at = strstr(text, "MemAvailable:");
    return at ? figure_of(strtoull(at + 13, NULL, 10) * 1024) : FIGURE_UNKNOWN;
}

static int whatif_check_survey(const struct whatif *whatif, struct strbuf *sentence)
{
    struct figure available = whatif_available_bytes();

    if (!whatif->call_count)
        return whatif_refuse(sentence, -EINVAL, "there are no allocations in this trace");
    if (whatif->options.touch != WHATIF_TOUCH_ALL || !figure_known(available) ||
        figure_less(figure_of(whatif->peak_bytes), available))
        return 0;
    strbuf_addf(sentence,
                "the program had up to %s at once, and %s is available here; if it did not use all "
                "of that, --touch=first or --touch=none may do",
                human_bytes(whatif->peak_bytes).text, figure_human_bytes(available).text);
    return -EINVAL;
}

static int whatif_say_trace_error(struct strbuf *sentence, int error)
{
    if (error == -E2BIG)
        strbuf_add_string(sentence, "more than 4,294,967,295 blocks are more than can be run");
    else if (error == -EFBIG)
        strbuf_add_string(sentence, "too many changes between threads for --order=strict");
    else if (error == -EBADMSG)
        strbuf_add_string(sentence, "the trace has numbers of threads that cannot be");
    else
        strbuf_addf(sentence, "cannot make a stream of the trace: %s", strerror(-error));
    return error;
}

static int whatif_write_and_run(struct whatif *whatif, const struct trace *trace,
                                const struct survey *survey,
                                const struct whatif_candidates *candidates, struct strbuf *sentence)
{
    struct stream_header header;
    int stream_fd = whatif_open_stream(), error;

    if (stream_fd < 0)
        return whatif_refuse(sentence, -errno, "cannot create a file for the stream");
    error = stream_author_write(trace, survey, whatif->options.order, stream_fd, &header,
                                &whatif->stream_bytes);
    error = error ? whatif_say_trace_error(sentence, error)
                  : whatif_hold_contest(whatif, candidates, stream_fd, header.seat_count, sentence);
    close(stream_fd);
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
        return whatif_refuse(
            sentence, -EINVAL,
            "the trace is of a sample (--sample): most of its allocations are not in it, "
            "so they cannot be run again");
    *whatif = calloc(1, sizeof **whatif);
    if (!*whatif)
        return whatif_refuse(sentence, -ENOMEM, "cannot begin");
    (*whatif)->options = *options;
    (*whatif)->page_bytes = process_page_bytes();
    if (options->progress)
        options->progress(options->context, "reading the trace", 0);
    error = survey_take(&survey, trace);
    if (error) {
        whatif_say_trace_error(sentence, error);
    } else {
        whatif_keep_survey(*whatif, &survey);
        error = whatif_check_survey(*whatif, sentence);
    }
    if (!error)
        error = whatif_write_and_run(*whatif, trace, &survey, candidates, sentence);
    survey_release(&survey);
    return error;
}

static void whatif_release_row(struct whatif_row *row)
{
    free(row->failure);
    free(row->allocator);
}

void whatif_free(struct whatif *whatif)
{
    if (!whatif)
        return;
    whatif_release_row(&whatif->driver);
    for (size_t i = 0; i < whatif->row_count && whatif->rows; i++)
        whatif_release_row(&whatif->rows[i]);
    free(whatif->rows);
    free(whatif);
}

bool whatif_waste(const struct whatif *whatif, const struct whatif_row *row, int64_t *bytes)
{
    uint64_t page = whatif->page_bytes;
    uint64_t requested = (whatif->peak_bytes + page - 1) / page * page;

    uint64_t peak;
    if (!figure_get(row->peak_bytes.median, &peak) || whatif->options.touch != WHATIF_TOUCH_ALL)
        return false;
    *bytes = (int64_t)(peak - requested);
    return true;
}

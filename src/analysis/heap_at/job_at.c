/* A job at a moment (job_at.h). Threads take the next rank, open its trace and list its holders.
 * What functions hold is added up by name over all ranks under a mutex. */
#include "heap_at/job_at.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "aggregate/frames.h"
#include "aggregate/functions.h"
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "heap_at/times.h"

struct job_at_reading {
    struct job_at *at;
    const struct job_at_options *options;
    size_t next, done;
    pthread_mutex_t lock; /* of the above and of the functions of `at` */
};

/* ---- Functions over ranks ------------------------------------------------------------------ */

static int job_at_compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int job_at_by_name(const void *left, const void *right)
{
    const struct job_at_function *a = left, *b = right;
    int names = strcmp(a->name, b->name);
    int modules = names ? names : job_at_compare_texts(a->module, b->module);
    return modules ? modules : (a->most_rank > b->most_rank) - (a->most_rank < b->most_rank);
}

static void job_at_function_release(struct job_at_function *function)
{
    free(function->name);
    free(function->file);
    free(function->module);
}

/* The same function of several ranks becomes one. Of equals the lower rank is the one with most. */
static void job_at_fold(struct job_at *at)
{
    size_t kept = 0;
    if (at->function_count)
        qsort(at->functions, at->function_count, sizeof *at->functions, job_at_by_name);
    for (size_t i = 0; i < at->function_count; i++) {
        struct job_at_function *one = &at->functions[i];
        struct job_at_function *last = kept ? &at->functions[kept - 1] : NULL;
        if (!last || strcmp(last->name, one->name) != 0 ||
            job_at_compare_texts(last->module, one->module)) {
            at->functions[kept++] = *one;
            continue;
        }
        last->exclusive += one->exclusive;
        last->inclusive += one->inclusive;
        last->count += one->count;
        last->ranks += one->ranks;
        if (one->most > last->most) {
            last->most = one->most;
            last->most_rank = one->most_rank;
        }
        job_at_function_release(one);
    }
    at->function_count = at->folded_count = kept;
}

static uint64_t job_at_live_of(const struct merged_metrics *merged)
{
    return merged->paths ? figure_or(merged->metrics.live_bytes, 0) : 0;
}

static void job_at_add_function(struct job_at_reading *reading, const struct profile *profile,
                                const struct function_row *row, size_t rank)
{
    struct job_at *at = reading->at;
    struct frame frame = frame_at(row->code, row->line);
    struct strbuf name = STRBUF_INIT;
    uint32_t line;
    uint64_t exclusive = job_at_live_of(&row->exclusive);
    uint64_t inclusive = job_at_live_of(&row->inclusive);
    if (!exclusive && !inclusive)
        return;
    function_key_add_name(&name, profile, row->key, frame);
    array_need_room(&at->functions, &at->function_room, at->function_count, sizeof *at->functions);
    at->functions[at->function_count++] = (struct job_at_function){
        .name = strbuf_detach(&name),
        .file = memory_copy_string(frame_file(profile, frame, &line)),
        .module = memory_copy_string(frame_module(profile, frame)),
        .exclusive = exclusive,
        .inclusive = inclusive,
        .count = row->exclusive.paths ? figure_or(row->exclusive.metrics.live_count, 0) : 0,
        .most = reading->options->inclusive ? inclusive : exclusive,
        .most_rank = rank,
        .ranks = 1,
    };
}

static int job_at_add_functions(struct job_at_reading *reading, const struct profile *profile,
                                size_t rank)
{
    enum { FOLD_FROM = 1 << 16 };
    struct functions functions;
    bool *hidden = reading->options->style.hide_std ? frames_of_libraries(profile)
                                                    : calloc(profile->line_count + 1, 1);
    int error = hidden ? functions_init(&functions, profile, hidden, NULL) : -ENOMEM;
    free(hidden);
    if (error)
        return error_set(error, "out of memory while looking at a trace");
    pthread_mutex_lock(&reading->lock);
    for (size_t i = 0; i < functions.count; i++)
        job_at_add_function(reading, profile, &functions.rows[i], rank);
    if (reading->at->function_count > 2 * reading->at->folded_count + FOLD_FROM)
        job_at_fold(reading->at);
    pthread_mutex_unlock(&reading->lock);
    functions_release(&functions);
    return 0;
}

static int job_at_by_exclusive(const void *left, const void *right)
{
    const struct job_at_function *a = left, *b = right;
    return a->exclusive != b->exclusive ? (a->exclusive < b->exclusive ? 1 : -1)
                                        : job_at_by_name(left, right);
}

static int job_at_by_inclusive(const void *left, const void *right)
{
    const struct job_at_function *a = left, *b = right;
    return a->inclusive != b->inclusive ? (a->inclusive < b->inclusive ? 1 : -1)
                                        : job_at_by_exclusive(left, right);
}

/* ---- One rank ------------------------------------------------------------------------------ */

/* A trace that ends as a finished one does says all of its rank. */
static bool job_at_is_whole(const struct trace *trace)
{
    struct trace_damage damage;
    trace_damage(trace, &damage, NULL, 0);
    return !damage.cut_off;
}

/* The job's moment becomes one of the rank's trace. 0 where the rank is alive then or known not to
 * be (rank->state); -errno with a sentence: that is unknown. */
static int job_at_find_moment(const struct job_at_reading *reading, struct job_at_rank *rank,
                              const struct trace *trace, struct offline_moment *moment)
{
    const struct entry *entry = &rank->process->entry;
    int64_t job_start = reading->at->job->start_unix_ns;
    rank->state = JOB_AT_ALIVE;
    if (moment->kind == OFFLINE_TIME) {
        if (entry->start_unix_ns < 0 || job_start < 0)
            return error_set(-ENOENT, "it is not known when the process began");
        uint64_t late =
            entry->start_unix_ns > job_start ? (uint64_t)(entry->start_unix_ns - job_start) : 0;
        if (moment->value < late)
            rank->state = JOB_AT_NOT_BEGUN;
        else
            moment->value -= late;
    }
    if (rank->state == JOB_AT_NOT_BEGUN)
        return 0;
    int error = offline_moment_resolve(trace, moment);
    if (!error)
        error = offline_moment_within(trace, moment);
    if (error == -ERANGE && moment->kind == OFFLINE_TIME && job_at_is_whole(trace) &&
        !offline_has_events(trace)) {
        rank->state = JOB_AT_ENDED;
        return 0;
    }
    return error;
}

static int job_at_take_holders(struct job_at_reading *reading, struct job_at_rank *rank,
                               const struct trace *trace, const struct offline_moment *moment)
{
    struct holders holders;
    struct trace_options recorded;
    int error = holders_init(&holders, trace, moment, reading->options->of);
    if (error)
        return error;
    trace_options(trace, &recorded);
    rank->estimated = recorded.sample_bytes != 0;
    rank->time_ns = heap_at_ns(&holders.clock, holders.ticks);
    rank->run_ns = heap_at_ns(&holders.clock, holders.clock.end_ticks);
    rank->bytes = holders.at.live_bytes;
    rank->count = heap_at_count(&holders, &holders.at);
    rank->peak_bytes = holders.peak.live_bytes;
    if (reading->options->filter)
        error = holders_filter(&holders, reading->options->filter);
    rank->filtered_bytes = holders.passing_bytes;
    if (!error)
        error = job_at_add_functions(reading, holders.profile, (size_t)(rank - reading->at->ranks));
    struct strbuf doubts = STRBUF_INIT;
    heap_at_add_doubts(&doubts, &holders);
    if (doubts.length)
        rank->why = strbuf_detach(&doubts);
    strbuf_release(&doubts);
    holders_release(&holders);
    return error;
}

static void job_at_read_rank(struct job_at_reading *reading, struct job_at_rank *rank)
{
    struct offline_moment moment = reading->options->moment;
    const struct manifest_process *process = rank->process;
    struct trace *trace = NULL;
    int error = process->trace_path
                    ? trace_open(&trace, process->trace_path)
                    : error_set(-ENOENT, "it has no trace here (tidemark record --trace)");
    if (!error)
        error = job_at_find_moment(reading, rank, trace, &moment);
    if (!error && rank->state == JOB_AT_ALIVE)
        error = job_at_take_holders(reading, rank, trace, &moment);
    if (error) {
        free(rank->why);
        *rank = (struct job_at_rank){
            .process = process, .state = JOB_AT_UNKNOWN, .why = memory_copy_string(error_text())};
    }
    if (trace)
        trace_close(trace);
}

static void *job_at_work(void *context)
{
    struct job_at_reading *reading = context;
    for (;;) {
        pthread_mutex_lock(&reading->lock);
        size_t index = reading->next < reading->at->rank_count ? reading->next++ : SIZE_MAX;
        pthread_mutex_unlock(&reading->lock);
        if (index == SIZE_MAX)
            return NULL;
        job_at_read_rank(reading, &reading->at->ranks[index]);
        pthread_mutex_lock(&reading->lock);
        reading->done++;
        if (reading->options->progress)
            reading->options->progress(reading->options->context, reading->done,
                                       reading->at->rank_count);
        pthread_mutex_unlock(&reading->lock);
    }
}

/* ---- All of them --------------------------------------------------------------------------- */

/* A rank's own process; where there are no ranks every process that is no launcher. */
static void job_at_list(struct job_at *at)
{
    const struct manifest_job *job = at->job;
    size_t most = job->rank_count ? job->rank_count : job->process_count;
    at->ranks = memory_zeroed(most, sizeof *at->ranks);
    for (size_t i = 0; i < job->rank_count; i++)
        at->ranks[at->rank_count++].process = &job->processes[job->rank[i].main];
    for (size_t i = 0; !job->rank_count && i < job->process_count; i++)
        if (job->processes[i].entry.is_launcher != 1)
            at->ranks[at->rank_count++].process = &job->processes[i];
}

static void job_at_read_all(struct job_at_reading *reading)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = reading->options->threads ? reading->options->threads
                     : processors > 0          ? (size_t)processors
                                               : 1;
    size_t others = threads > reading->at->rank_count ? reading->at->rank_count : threads;
    others -= others > 0; /* this thread works too */
    pthread_t *ids = memory_resize(NULL, others, sizeof *ids);
    size_t started = 0;
    while (started < others && !pthread_create(&ids[started], NULL, job_at_work, reading))
        started++;
    job_at_work(reading);
    for (size_t i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}

static int job_at_nodes_by_bytes(const void *left, const void *right)
{
    const struct job_at_node *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1)
                                : job_at_compare_texts(a->name, b->name);
}

static struct job_at_node *job_at_node_of(struct job_at *at, const char *name)
{
    for (size_t i = 0; i < at->node_count; i++)
        if (!job_at_compare_texts(at->nodes[i].name, name))
            return &at->nodes[i];
    at->nodes[at->node_count].name = name;
    return &at->nodes[at->node_count++];
}

static void job_at_sum_nodes(struct job_at *at)
{
    at->nodes = memory_zeroed(at->rank_count, sizeof *at->nodes);
    for (size_t i = 0; i < at->rank_count; i++) {
        struct job_at_node *node = job_at_node_of(at, at->ranks[i].process->entry.host);
        node->bytes += at->ranks[i].bytes;
        node->alive += at->ranks[i].state == JOB_AT_ALIVE;
        node->unknown += at->ranks[i].state == JOB_AT_UNKNOWN;
    }
    qsort(at->nodes, at->node_count, sizeof *at->nodes, job_at_nodes_by_bytes);
}

int job_at_init(struct job_at *at, const struct manifest_job *job,
                const struct job_at_options *options)
{
    struct job_at_reading reading = {
        .at = at, .options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
    *at = (struct job_at){.job = job};
    job_at_list(at);
    job_at_read_all(&reading);
    for (size_t i = 0; i < at->rank_count; i++)
        if (at->ranks[i].state != JOB_AT_UNKNOWN) {
            job_at_fold(at);
            if (at->function_count)
                qsort(at->functions, at->function_count, sizeof *at->functions,
                      options->inclusive ? job_at_by_inclusive : job_at_by_exclusive);
            job_at_sum_nodes(at);
            return 0;
        }
    int error = error_set(-ENOENT, "of none of the job's %zu ranks it is known: %s", at->rank_count,
                          at->rank_count ? at->ranks[0].why : "there are none");
    job_at_release(at);
    return error;
}

void job_at_release(struct job_at *at)
{
    for (size_t i = 0; i < at->rank_count; i++)
        free(at->ranks[i].why);
    for (size_t i = 0; i < at->function_count; i++)
        job_at_function_release(&at->functions[i]);
    free(at->ranks);
    free(at->functions);
    free(at->nodes);
    *at = (struct job_at){0};
}

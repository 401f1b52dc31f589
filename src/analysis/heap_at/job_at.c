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
#include "heap_at/node_mark.h"
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

/* ---- Moments ------------------------------------------------------------------------------ */

static bool job_at_is_together(const struct job_at_options *options)
{
    return options->moment.kind == OFFLINE_NODE_PEAK || options->moment.kind == OFFLINE_JOB_PEAK;
}

/* Is the trace complete, with all events of its rank? */
static bool job_at_is_whole(const struct trace *trace)
{
    struct trace_damage damage;
    trace_damage(trace, &damage, NULL, 0);
    return !damage.cut_off;
}

/* A time of the job becomes one of the rank's trace. */
static int job_at_find_time(struct job_at_rank *rank, const struct trace *trace, uint64_t time_ns,
                            struct offline_moment *moment)
{
    struct offline_clock own;
    if (!rank->has_clock)
        return error_set(-ENOENT, "it is not known when the process began");
    offline_clock(trace, &own);
    uint64_t begun_ns = node_mark_ns(&rank->clock, own.start_ticks);
    *moment = (struct offline_moment){.kind = OFFLINE_TICKS,
                                      .value = node_mark_ticks(&rank->clock, time_ns)};
    rank->state = time_ns < begun_ns ? JOB_AT_NOT_BEGUN : JOB_AT_ALIVE;
    return rank->state == JOB_AT_ALIVE ? offline_moment_within(trace, moment) : 0;
}

/* When ranks held most together is found to the tick: behind its end a rank holds nothing. */
static int job_at_find_together(struct job_at_rank *rank, const struct trace *trace,
                                struct offline_moment *moment)
{
    struct offline_clock own;
    uint64_t time_ns;
    if (!figure_get(rank->moment_ns, &time_ns))
        return error_set(-ENOENT, "when its machine's ranks held most is not known");
    offline_clock(trace, &own);
    int error = job_at_find_time(rank, trace, time_ns, moment);
    if (error || rank->state != JOB_AT_ALIVE)
        return error;
    if (time_ns > node_mark_ns(&rank->clock, own.end_ticks))
        return error_set(-ERANGE, "the moment lies behind the end of the trace");
    return 0;
}

/* The job's moment becomes one of the rank's trace. 0 where the rank is alive then or known not to
 * be (rank->state); -errno with a sentence: that is unknown. */
static int job_at_find_moment(const struct job_at_reading *reading, struct job_at_rank *rank,
                              const struct trace *trace, struct offline_moment *moment)
{
    bool is_together = job_at_is_together(reading->options), is_time;
    is_time = is_together || moment->kind == OFFLINE_TIME;
    rank->state = JOB_AT_ALIVE;
    int error = is_together ? job_at_find_together(rank, trace, moment)
                : is_time   ? job_at_find_time(rank, trace, moment->value, moment)
                            : offline_moment_resolve(trace, moment);
    if (!error && !is_time)
        error = offline_moment_within(trace, moment);
    if (error == -ERANGE && is_time && job_at_is_whole(trace) && !offline_has_events(trace)) {
        rank->state = JOB_AT_ENDED;
        return 0;
    }
    return error;
}

/* ---- One rank ------------------------------------------------------------------------------ */

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
            .process = process,
            .state = JOB_AT_UNKNOWN,
            .why = memory_copy_string(error_text()),
            .moment_ns = rank->moment_ns,
            .clock = rank->clock,
            .has_clock = rank->has_clock,
        };
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

/* ---- Machines ------------------------------------------------------------------------------ */

/* Machines with the same boot id are one, whatever they call themselves. */
static const char *job_at_machine(const struct job_at_rank *rank)
{
    const struct entry *entry = &rank->process->entry;
    return entry->boot ? entry->boot : entry->host ? entry->host : "";
}

static int job_at_compare_machines(const void *left, const void *right, void *context)
{
    const struct job_at_rank *ranks = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    int order = strcmp(job_at_machine(&ranks[a]), job_at_machine(&ranks[b]));
    return order ? order : (a > b) - (a < b);
}

/* Indices of the ranks in malloc'd memory, those of one machine side by side and in order. */
static size_t *job_at_by_machine(const struct job_at *at)
{
    size_t *order = memory_resize(NULL, at->rank_count, sizeof *order);
    for (size_t i = 0; i < at->rank_count; i++)
        order[i] = i;
    if (at->rank_count)
        qsort_r(order, at->rank_count, sizeof *order, job_at_compare_machines, at->ranks);
    return order;
}

/* Past the last of those that are on the machine of order[from]. */
static size_t job_at_past_machine(const struct job_at *at, const size_t *order, size_t from)
{
    const char *machine = job_at_machine(&at->ranks[order[from]]);
    size_t past = from + 1;
    while (past < at->rank_count && !strcmp(job_at_machine(&at->ranks[order[past]]), machine))
        past++;
    return past;
}

/* The ranks of machines of which a rank calls its machine so. */
static void job_at_keep_node(struct job_at *at, const char *name)
{
    size_t *order = job_at_by_machine(at), kept = 0;
    bool *is_there = memory_zeroed(at->rank_count, sizeof *is_there);
    for (size_t from = 0, past; from < at->rank_count; from = past) {
        bool is = false;
        past = job_at_past_machine(at, order, from);
        for (size_t i = from; i < past; i++)
            is |= !job_at_compare_texts(at->ranks[order[i]].process->entry.host, name);
        for (size_t i = from; i < past; i++)
            is_there[order[i]] = is;
    }
    for (size_t i = 0; i < at->rank_count; i++)
        if (is_there[i])
            at->ranks[kept++] = at->ranks[i];
    at->rank_count = kept;
    free(is_there);
    free(order);
}

/* ---- All of them --------------------------------------------------------------------------- */

static void job_at_add_rank(struct job_at *at, const struct manifest_process *process)
{
    at->ranks[at->rank_count++] =
        (struct job_at_rank){.process = process, .moment_ns = FIGURE_UNKNOWN};
}

/* A rank's own process; where there are no ranks every process that is no launcher. */
static void job_at_list(struct job_at *at, const char *node)
{
    const struct manifest_job *job = at->job;
    size_t most = job->rank_count ? job->rank_count : job->process_count;
    at->ranks = memory_zeroed(most, sizeof *at->ranks);
    for (size_t i = 0; i < job->rank_count; i++)
        job_at_add_rank(at, &job->processes[job->rank[i].main]);
    for (size_t i = 0; !job->rank_count && i < job->process_count; i++)
        if (job->processes[i].entry.is_launcher != 1)
            job_at_add_rank(at, &job->processes[i]);
    if (node)
        job_at_keep_node(at, node);
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

static void job_at_add_to_node(struct job_at_node *node, const struct job_at_rank *rank)
{
    node->name = node->name ? node->name : rank->process->entry.host;
    node->bytes += rank->bytes;
    node->peak_sum += rank->peak_bytes;
    node->moment_ns = rank->moment_ns;
    node->alive += rank->state == JOB_AT_ALIVE;
    node->unknown += rank->state == JOB_AT_UNKNOWN;
    node->ranks++;
}

static void job_at_sum_nodes(struct job_at *at)
{
    size_t *order = job_at_by_machine(at);
    at->nodes = memory_zeroed(at->rank_count, sizeof *at->nodes);
    for (size_t from = 0, past; from < at->rank_count; from = past) {
        struct job_at_node *node = &at->nodes[at->node_count++];
        past = job_at_past_machine(at, order, from);
        for (size_t i = from; i < past; i++)
            job_at_add_to_node(node, &at->ranks[order[i]]);
    }
    qsort(at->nodes, at->node_count, sizeof *at->nodes, job_at_nodes_by_bytes);
    free(order);
}

/* ---- When ranks held most together --------------------------------------------------------- */

static struct node_mark_rank *job_at_find_clocks(struct job_at *at)
{
    struct node_mark_rank *marks = memory_zeroed(at->rank_count, sizeof *marks);
    for (size_t i = 0; i < at->rank_count; i++) {
        const struct manifest_process *process = at->ranks[i].process;
        int64_t start = process->entry.start_unix_ns, job_start = at->job->start_unix_ns;
        marks[i] = (struct node_mark_rank){
            .trace_path = process->trace_path,
            .machine = job_at_machine(&at->ranks[i]),
            .start_ns = start < 0 || job_start < 0 ? FIGURE_UNKNOWN
                                                   : figure_of((uint64_t)(start - job_start)),
        };
    }
    node_mark_clocks(marks, at->rank_count);
    for (size_t i = 0; i < at->rank_count; i++) {
        at->ranks[i].has_clock = marks[i].has_clock;
        at->ranks[i].clock = marks[i].clock;
    }
    return marks;
}

/* These ranks get the moment at which they held most together. */
static int job_at_find_mark(struct job_at *at, const struct node_mark_rank *marks,
                            const size_t *ranks, size_t count)
{
    struct node_mark_rank *some = memory_resize(NULL, count, sizeof *some);
    struct node_mark mark;
    for (size_t i = 0; i < count; i++)
        some[i] = marks[ranks[i]];
    int error = node_mark_find(some, count, &mark);
    for (size_t i = 0; i < count && !error && mark.is_found; i++)
        at->ranks[ranks[i]].moment_ns = figure_of(mark.time_ns);
    free(some);
    return error;
}

static int job_at_find_marks(struct job_at *at, enum offline_moment_kind kind)
{
    int error = 0;
    if (kind != OFFLINE_TIME && kind != OFFLINE_NODE_PEAK && kind != OFFLINE_JOB_PEAK)
        return 0;
    struct node_mark_rank *marks = job_at_find_clocks(at);
    size_t *order = job_at_by_machine(at);
    if (kind == OFFLINE_JOB_PEAK)
        error = job_at_find_mark(at, marks, order, at->rank_count);
    for (size_t from = 0, past; kind == OFFLINE_NODE_PEAK && from < at->rank_count && !error;
         from = past) {
        past = job_at_past_machine(at, order, from);
        error = job_at_find_mark(at, marks, order + from, past - from);
    }
    free(order);
    free(marks);
    return error;
}

/* ---- The whole ----------------------------------------------------------------------------- */

int job_at_init(struct job_at *at, const struct manifest_job *job,
                const struct job_at_options *options)
{
    struct job_at_reading reading = {
        .at = at, .options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
    *at = (struct job_at){.job = job};
    job_at_list(at, options->node);
    if (!at->rank_count && options->node) {
        job_at_release(at);
        return error_set(-ENOENT, "no rank of the job ran on %s", options->node);
    }
    int marked = job_at_find_marks(at, options->moment.kind);
    if (marked) {
        job_at_release(at);
        return marked;
    }
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
    int error = error_set(
        -ENOENT, "of none of the job's %zu ranks it is known: %s%s", at->rank_count,
        at->rank_count ? at->ranks[0].why : "there are none",
        job_at_is_together(options) ? "; tidemark job has bounds of it, by the profiles" : "");
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

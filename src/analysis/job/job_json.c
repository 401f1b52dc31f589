/* Writes a job as JSON (doc/JOB-JSON.md): ranks, nodes, statistics over the ranks, functions and
 * what is missing. Sums of all ranks have 128 bits: beyond 64 bits they are written as
 * floating-point numbers. */
#include <math.h>
#include <stdlib.h>
#include "base/json.h"
#include "aggregate/facts.h"
#include "job/job.h"
#include "model/figure_json.h"

/* Sums beyond 64 bits: as near as a double is. */
static void job_json_write_sum(struct json *json, const char *key, job_u128 sum)
{
    if (sum <= UINT64_MAX)
        json_unsigned(json, key, (uint64_t)sum);
    else
        json_double(json, key, (double)sum);
}

static void job_json_write_levels(struct json *json, const char *key, const uint16_t *levels,
                                  struct figure of, bool is_max)
{
    uint64_t peak = 0;
    bool known = figure_get(of, &peak);
    json_array(json, key);
    for (int i = 0; i < JOB_STEPS; i += 2) {
        uint16_t a = levels[i], b = levels[i + 1];
        uint16_t share = is_max ? (a > b ? a : b) : a < b ? a : b;
        if (levels[i] == JOB_NO_SHARE || !known)
            json_null(json, NULL);
        else
            json_unsigned(json, NULL,
                          is_max ? job_share_max(share, peak) : job_share_min(share, peak));
    }
    json_end(json);
}

/* As `tidemark report --json` has it. */
static void job_json_write_unseen(struct json *json, const char *lines)
{
    struct facts_unseen unseen;
    json_array(json, "unseen");
    for (const char *at = NULL; facts_next_unseen_of(lines, &at, &unseen);) {
        json_object(json, NULL);
        json_string(json, "what", unseen.what);
        json_string(json, "module", *unseen.module ? unseen.module : NULL);
        json_string(json, "why", *unseen.why ? unseen.why : NULL);
        json_end(json);
        facts_release_unseen(&unseen);
    }
    json_end(json);
}

static void job_json_write_figures(struct json *json, const struct job_rank *rank)
{
    json_figure(json, "start_unix_ns", job_known(rank->start_unix_ns));
    json_figure(json, "duration_ns", job_known(rank->duration_ns));
    json_figure(json, "peak_bytes", rank->peak_bytes);
    json_figure(json, "peak_ns", rank->peak_ns);
    json_figure(json, "live_bytes", rank->live_bytes);
    json_figure(json, "live_count", rank->live_count);
    json_figure(json, "alloc_bytes", rank->alloc_bytes);
    json_figure(json, "alloc_count", rank->alloc_count);
    json_unsigned(json, "lost_events", rank->lost_events);
    json_unsigned(json, "unattributed", rank->unattributed);
    job_json_write_unseen(json, rank->unseen);
    json_unsigned(json, "sample_bytes", rank->sample_bytes);
    json_figure(json, "mpi_peak_bytes", rank->mpi_peak_bytes);
    json_figure(json, "resident_peak_bytes", rank->resident_peak_bytes);
    json_figure(json, "owned_bytes", rank->owned_bytes);
    json_object(json, "timeline");
    job_json_write_levels(json, "requested_max", rank->requested_max, rank->peak_bytes, true);
    job_json_write_levels(json, "requested_min", rank->requested_min, rank->peak_bytes, false);
    job_json_write_levels(json, "resident_max", rank->resident_max, rank->resident_peak_bytes,
                          true);
    json_end(json);
}

static void job_json_write_rank(struct json *json, const struct job_rank *rank)
{
    json_object(json, NULL);
    json_unsigned(json, "rank", rank->rank);
    json_bool(json, "rank_known", rank->rank_known);
    json_bool(json, "beside", rank->is_helper);
    json_string(json, "file", rank->file);
    json_string(json, "node", rank->node);
    json_unsigned(json, "pid", rank->pid);
    json_string(json, "state", job_state_name(rank->state));
    if (rank->state == JOB_DIED)
        json_unsigned(json, rank->signal ? "signal" : "status",
                      rank->signal ? rank->signal : rank->status);
    if (rank->note)
        json_string(json, "note", rank->note);
    if (job_rank_is_read(rank))
        job_json_write_figures(json, rank);
    json_end(json);
}

static void job_json_write_statistics(struct json *json, const struct job *job)
{
    const struct statistics *peaks = &job->peaks;
    json_object(json, "high_water_marks");
    json_unsigned(json, "ranks", peaks->count);
    if (peaks->count) {
        json_unsigned(json, "min", peaks->min);
        json_unsigned(json, "min_rank", job->summary.ranks[peaks->min_index].rank);
        json_unsigned(json, "max", peaks->max);
        json_unsigned(json, "max_rank", job->summary.ranks[peaks->max_index].rank);
        job_json_write_sum(json, "sum", peaks->sum);
        json_double(json, "mean", peaks->mean);
        json_double(json, "deviation", peaks->deviation);
        json_double(json, "imbalance", statistics_imbalance(peaks));
        json_array(json, "percentiles");
        for (int i = 0; i < STATISTICS_PERCENTILES; i++) {
            json_object(json, NULL);
            json_unsigned(json, "percent", statistics_percent[i]);
            json_unsigned(json, "bytes", peaks->percentile[i]);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

static void job_json_write_node(struct json *json, const struct job *job,
                                const struct job_node_peak *node)
{
    json_object(json, NULL);
    json_string(json, "name", node->name);
    json_unsigned(json, "ranks", node->ranks);
    json_unsigned(json, "beside", node->helpers);
    json_unsigned(json, "not_read", node->unread);
    json_figure(json, "lower_bytes", job_node_figure(node, node->lower_bytes));
    json_figure(json, "upper_bytes", job_node_figure(node, node->upper_bytes));
    json_bool(json, "exact", node->is_exact);
    json_figure(json, "at_unix_ns", job_known(node->at_unix_ns));
    json_figure(json, "step_ns", job_known(node->step_ns));
    json_figure(json, "peak_sum", job_node_figure(node, node->peak_sum));
    json_figure(json, "resident_bytes", node->resident_bytes);
    json_figure(json, "machine_bytes", node->machine_bytes);
    json_figure(json, "limit_bytes", node->limit_bytes);
    json_figure(json, "cgroup_peak_bytes", node->cgroup_peak_bytes);
    json_figure(json, "available_least_bytes", node->available_bytes);
    json_figure(json, "available_least_unix_ns", node->available_unix_ns);
    json_array(json, "held_by");
    for (size_t i = 0; i < node->top_count; i++) {
        json_object(json, NULL);
        json_unsigned(json, "rank", job->summary.ranks[node->top[i]].rank);
        json_unsigned(json, "bytes", node->top_bytes[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void job_json_write_sums(struct json *json, const char *key, const struct job *job,
                                const struct job_entry *entry, enum job_figure figure)
{
    const struct job_sum *sum = &entry->of[figure];
    size_t ranks = job->ranks;
    if (!job->knows[figure]) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    json_unsigned(json, "ranks", sum->ranks);
    if (sum->ranks) {
        job_json_write_sum(json, "sum", sum->sum);
        json_double(json, "mean", statistics_sum_mean(sum, ranks));
        json_double(json, "deviation", statistics_sum_deviation(sum, ranks));
        json_unsigned(json, "min", sum->ranks < ranks ? 0 : sum->min);
        json_unsigned(json, "max", sum->max);
        json_unsigned(json, "max_rank", sum->max_rank);
    }
    json_end(json);
}

static void job_json_write_end(struct json *json, const char *key, const struct job_end *end,
                               uint32_t entry)
{
    json_figure(json, key,
                end->is_there ? figure_of(job_end_bytes(end, entry, JOB_AT_PEAK)) : FIGURE_UNKNOWN);
}

static void job_json_write_entry(struct json *json, const struct job *job, uint32_t index)
{
    const struct job_entry *entry = &job->summary.entries[index];
    json_object(json, NULL);
    if (entry->kind == JOB_FUNCTION)
        json_string(json, "function", *entry->name ? entry->name : NULL);
    if (entry->kind == JOB_FUNCTION && entry->through && *entry->through)
        json_string(json, "through", entry->through);
    if (entry->kind != JOB_FUNCTION)
        json_bool(json, "mpi", entry->kind == JOB_LIBRARY_MPI);
    json_string(json, "module", *entry->module ? entry->module : NULL);
    job_json_write_sums(json, "at_peak", job, entry, JOB_AT_PEAK);
    job_json_write_sums(json, "at_exit", job, entry, JOB_AT_EXIT);
    job_json_write_sums(json, "cumulated", job, entry, JOB_CUMULATED);
    job_json_write_end(json, "at_peak_of_most", &job->summary.ends[JOB_HIGHEST], index);
    job_json_write_end(json, "at_peak_of_least", &job->summary.ends[JOB_LOWEST], index);
    json_end(json);
}

static void job_json_write_entries(struct json *json, const char *key, const struct job *job,
                                   unsigned kinds)
{
    size_t count;
    uint32_t *order = job_order(&job->summary, kinds, JOB_AT_PEAK, &count);
    json_array(json, key);
    for (size_t i = 0; i < count; i++)
        job_json_write_entry(json, job, order[i]);
    json_end(json);
    free(order);
}

/* ---- Whose the resident memory is ---------------------------------------------------------- */

/* Ranks that count and have a look. */
static size_t job_json_count_looked(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->summary.rank_count; i++)
        count += job_rank_counts(&job->summary.ranks[i]) &&
                 figure_known(job->summary.ranks[i].owned_bytes);
    return count;
}

static void job_json_write_owner(struct json *json, const struct job_entry *entry, size_t looked)
{
    const struct job_sum *sum = &entry->of[JOB_AT_PEAK];
    int kind = (int)entry->kind - JOB_OWNER;
    json_object(json, NULL);
    json_string(json, "kind", profile_owner_names[kind / 2]);
    json_string(json, kind % 2 ? "function" : "name", *entry->name ? entry->name : NULL);
    json_string(json, "module", *entry->module ? entry->module : NULL);
    json_unsigned(json, "ranks", sum->ranks);
    job_json_write_sum(json, "resident_bytes", sum->sum);
    json_unsigned(json, "min", sum->ranks < looked ? 0 : sum->min);
    json_unsigned(json, "max", sum->max);
    json_unsigned(json, "max_rank", sum->max_rank);
    json_end(json);
}

/* Of the looks with most resident memory, each rank's of its own moment. */
static void job_json_write_owners(struct json *json, const struct job *job)
{
    size_t count, looked = job_json_count_looked(job);
    job_u128 all = 0;
    json_unsigned(json, "owner_ranks", looked);
    if (!looked) {
        json_null(json, "resident_bytes");
        json_null(json, "owners");
        return;
    }
    unsigned kinds = ((1u << 2 * PROFILE_OWNER_KINDS) - 1) << JOB_OWNER;
    uint32_t *order = job_order(&job->summary, kinds, JOB_AT_PEAK, &count);
    for (size_t i = 0; i < count; i++)
        all += job->summary.entries[order[i]].of[JOB_AT_PEAK].sum;
    job_json_write_sum(json, "resident_bytes", all);
    json_array(json, "owners");
    for (size_t i = 0; i < count; i++)
        job_json_write_owner(json, &job->summary.entries[order[i]], looked);
    json_end(json);
    free(order);
}

/* Runs of missing ranks: [first, last]. */
static void job_json_write_missing(struct json *json, const struct job *job)
{
    json_string(json, "recorded_ranks", job->recorded_ranks);
    json_unsigned(json, "left_out_count", job->left_out);
    json_figure(json, "collectors", job_known(job->collectors));
    json_unsigned(json, "missing_count", job->missing);
    json_array(json, "missing");
    for (int64_t first, last = -1; job_next_missing(job, last, &first, &last);) {
        json_array(json, NULL);
        json_signed(json, NULL, first);
        json_signed(json, NULL, last);
        json_end(json);
    }
    json_end(json);
}

int job_json(FILE *out, const struct job *job)
{
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "program", job->summary.program);
    json_string(&json, "command", job->summary.command);
    json_string(&json, "launcher", job->summary.launcher);
    json_string(&json, "of", memory_level_name(job->level));
    json_string(&json, "id", job->id);
    json_unsigned(&json, "size", job->size);
    job_json_write_missing(&json, job);
    job_json_write_statistics(&json, job);
    json_array(&json, "ranks");
    for (size_t i = 0; i < job->summary.rank_count; i++)
        job_json_write_rank(&json, &job->summary.ranks[i]);
    json_end(&json);
    json_array(&json, "nodes");
    for (size_t i = 0; i < job->node_count; i++)
        job_json_write_node(&json, job, &job->nodes[i]);
    json_end(&json);
    job_json_write_entries(&json, "functions", job, 1u << JOB_FUNCTION);
    job_json_write_entries(&json, "libraries", job, 1u << JOB_LIBRARY | 1u << JOB_LIBRARY_MPI);
    job_json_write_owners(&json, job);
    json_end(&json);
    return json_finish(&json);
}

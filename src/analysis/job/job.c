/* Facts of a whole job and comparisons between jobs (job.h). Missing ranks are gaps in the sorted
 * list of ranks. Functions of several jobs are joined by name and module in a hash table, and a
 * slope is fitted over the jobs' sizes. */
#include "job/job.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/memory.h"
#include "base/array.h"
#include "base/search.h"

/* A rank of several processes counts once, and one whose file cannot be read counts too. */
static uint64_t job_count_ranks(const struct job_summary *summary)
{
    uint64_t count = 0;
    for (size_t i = 0; i < summary->rank_count; i++)
        count += !i || summary->ranks[i].rank != summary->ranks[i - 1].rank ||
                 !summary->ranks[i].rank_known;
    return count;
}

static uint64_t job_size_of(const struct job_summary *summary)
{
    uint64_t size = 0;
    bool numbered = false;
    for (size_t i = 0; i < summary->rank_count; i++) {
        size = summary->ranks[i].size > size ? summary->ranks[i].size : size;
        numbered |= summary->ranks[i].rank_known;
    }
    return size && numbered ? size : job_count_ranks(summary);
}

/* The first rank above `after` that has something here, or the job's size. */
static int64_t job_next_present(const struct job *job, int64_t after)
{
    const struct job_summary *summary = &job->summary;
    size_t first = 0;
    SEARCH_FIRST(first, summary->rank_count, at, summary->ranks[at].rank <= after);
    return first < summary->rank_count && summary->ranks[first].rank < (int64_t)job->size
               ? summary->ranks[first].rank
               : (int64_t)job->size;
}

/* The first rank in [from, to) that the choice of ranks has, or has not; `to` if there is none. */
static int64_t job_next_chosen(const struct job *job, int64_t from, int64_t to, bool has)
{
    if (!job->recorded.count)
        return has ? from : to;
    while (from < to && rank_choice_has(&job->recorded, from) != has)
        from++;
    return from;
}

bool job_next_missing(const struct job *job, int64_t after, int64_t *first, int64_t *last)
{
    for (;;) {
        int64_t present = job_next_present(job, after);
        *first = job_next_chosen(job, after + 1, present, true);
        *last = job_next_chosen(job, *first, present, false) - 1;
        if (*first <= *last)
            return true;
        if (present == (int64_t)job->size)
            return false;
        after = present;
    }
}

static void job_count_missing(struct job *job)
{
    uint64_t lacking = 0;
    for (int64_t after = -1, present; after < (int64_t)job->size; after = present) {
        present = job_next_present(job, after);
        lacking += (uint64_t)(present - after - 1);
    }
    for (int64_t first, last = -1; job_next_missing(job, last, &first, &last);)
        job->missing += (uint64_t)(last - first + 1);
    job->left_out = lacking - job->missing;
}

/* A size that no machine has comes from a damaged entry, and its ranks are not gone through. */
static void job_take_choice(struct job *job, const char *recorded_ranks)
{
    enum { MOST_RANKS = 1 << 24 };
    if (recorded_ranks && job->size <= MOST_RANKS &&
        rank_choice_parse(recorded_ranks, &job->recorded) == 0)
        job->recorded_ranks = recorded_ranks;
}

void job_init(struct job *job, struct job_summary *summary, const char *id, const char *name,
              const char *recorded_ranks)
{
    *job = (struct job){.id = id, .name = name, .summary = *summary};
    *summary = (struct job_summary){0};
    job_summary_sort(&job->summary);
    job->peaks = statistics_of(&job->summary, statistics_peak);
    job->ranks = job->peaks.count;
    job->size = job_size_of(&job->summary);
    job_take_choice(job, recorded_ranks);
    job_count_missing(job);
    for (int i = 0; i < JOB_FIGURES; i++)
        job->knows[i] = job_summary_knows(&job->summary, (enum job_figure)i);
    job->nodes = job_nodes(&job->summary, &job->node_count);
    job->rank_nodes = job_nodes_of_ranks(&job->summary, job->nodes, job->node_count);
}

void job_release(struct job *job)
{
    job_summary_release(&job->summary);
    free(job->nodes);
    free(job->rank_nodes);
    *job = (struct job){0};
}

uint64_t job_end_bytes(const struct job_end *end, uint32_t entry, enum job_figure figure)
{
    size_t first = 0;
    SEARCH_FIRST(first, end->share_count, at, end->shares[at].entry < entry);
    bool is_there = first < end->share_count && end->shares[first].entry == entry;
    return is_there ? end->shares[first].bytes[figure] : 0;
}

struct ordering {
    const struct job_summary *summary;
    enum job_figure figure;
};

static int job_compare_entries(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    job_u128 a_sum = ordering->summary->entries[a].of[ordering->figure].sum;
    job_u128 b_sum = ordering->summary->entries[b].of[ordering->figure].sum;
    if (a_sum != b_sum)
        return a_sum > b_sum ? -1 : 1;
    return (a > b) - (a < b);
}

uint32_t *job_order(const struct job_summary *summary, unsigned kinds, enum job_figure figure,
                    size_t *count)
{
    struct ordering ordering = {summary, figure};
    uint32_t *order = memory_resize(NULL, summary->entry_count, sizeof *order);
    *count = 0;
    for (size_t i = 0; i < summary->entry_count; i++)
        if (kinds >> summary->entries[i].kind & 1)
            order[(*count)++] = (uint32_t)i;
    if (*count)
        qsort_r(order, *count, sizeof *order, job_compare_entries, &ordering);
    return order;
}

/* ---- Several jobs -------------------------------------------------------------------------- */

static bool job_is_scaled(const void *array, uint32_t number, const void *key)
{
    const struct job_scaled *scaled = (const struct job_scaled *)array + number;
    const struct job_entry *entry = key;
    return !strcmp(scaled->name, entry->name) && !strcmp(scaled->module, entry->module);
}

static int job_compare_scaled(const void *left, const void *right, void *context)
{
    const struct job_scaled *a = left, *b = right;
    size_t last = *(size_t *)context - 1;
    if (a->means[last] != b->means[last])
        return a->means[last] > b->means[last] ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->module, b->module);
}

static struct job_scaled job_new_scaled(const struct job_entry *entry, size_t jobs)
{
    struct job_scaled scaled = {
        .name = entry->name, .module = entry->module, .through = entry->through};
    scaled.means = memory_resize(NULL, jobs, sizeof *scaled.means);
    scaled.most = memory_resize(NULL, jobs, sizeof *scaled.most);
    memset(scaled.means, 0, jobs * sizeof *scaled.means);
    memset(scaled.most, 0, jobs * sizeof *scaled.most);
    return scaled;
}

struct scaling {
    struct job *const *jobs;
    size_t job_count;
    struct job_scaled *all;
    size_t count, capacity;
    struct map map;
};

/* Functions with anything at the peak. */
static void job_take(struct scaling *scaling, size_t job)
{
    const struct job_summary *summary = &scaling->jobs[job]->summary;
    for (size_t i = 0; i < summary->entry_count; i++) {
        const struct job_entry *entry = &summary->entries[i];
        const struct job_sum *sum = &entry->of[JOB_AT_PEAK];
        bool is_new;
        if (entry->kind != JOB_FUNCTION || !sum->ranks)
            continue;
        uint64_t hash = hash_bytes(entry->name, strlen(entry->name)) * 3 +
                        hash_bytes(entry->module, strlen(entry->module));
        uint32_t number = map_number(&scaling->map, hash, job_is_scaled, scaling->all, entry,
                                     (uint32_t)scaling->count, &is_new);
        if (is_new) {
            array_need_room(&scaling->all, &scaling->capacity, scaling->count,
                            sizeof *scaling->all);
            scaling->all[scaling->count++] = job_new_scaled(entry, scaling->job_count);
        }
        if (entry->through && scaling->all[number].through &&
            strcmp(entry->through, scaling->all[number].through))
            scaling->all[number].through = "";
        scaling->all[number].means[job] = statistics_sum_mean(sum, scaling->jobs[job]->ranks);
        scaling->all[number].most[job] = sum->max;
    }
}

struct job_scaled *job_scaled(struct job *const *jobs, size_t job_count, size_t *count)
{
    struct scaling scaling = {.jobs = jobs, .job_count = job_count};
    double *sizes = memory_resize(NULL, job_count, sizeof *sizes);
    for (size_t i = 0; i < job_count; i++) {
        sizes[i] = (double)jobs[i]->size;
        job_take(&scaling, i);
    }
    for (size_t i = 0; i < scaling.count; i++)
        scaling.all[i].slope = statistics_slope(sizes, scaling.all[i].means, job_count);
    if (scaling.count)
        qsort_r(scaling.all, scaling.count, sizeof *scaling.all, job_compare_scaled, &job_count);
    map_release(&scaling.map);
    free(sizes);
    *count = scaling.count;
    return scaling.all;
}

void job_scaled_free(struct job_scaled *scaled, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(scaled[i].means);
        free(scaled[i].most);
    }
    free(scaled);
}

/* The sum of digests (job_summary.h). Entries are found by kind, name and module in a hash table.
 * Merging renumbers the second summary's entries, adds their sums, and keeps the extremes of both.
 */
#include "job/job_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/memory.h"
#include "base/array.h"

const char *job_state_name(enum job_state state)
{
    static const char *const names[JOB_STATES] = {
        [JOB_COMPLETE] = "complete", [JOB_DIED] = "died",       [JOB_LEFT] = "left",
        [JOB_CUT] = "cut",           [JOB_RUNNING] = "running", [JOB_BEGUN] = "begun",
        [JOB_DAMAGED] = "damaged",   [JOB_MISSING] = "missing", [JOB_UNREADABLE] = "unreadable",
    };
    return names[state];
}

/* ---- Levels -------------------------------------------------------------------------------- */

uint16_t job_share_above(uint64_t bytes, uint64_t peak)
{
    if (bytes >= peak)
        return bytes ? JOB_SHARE : 0;
    return (uint16_t)(((job_u128)bytes * JOB_SHARE + peak - 1) / peak);
}

uint16_t job_share_below(uint64_t bytes, uint64_t peak)
{
    if (bytes >= peak)
        return bytes ? JOB_SHARE : 0;
    return (uint16_t)((job_u128)bytes * JOB_SHARE / peak);
}

uint64_t job_share_max(uint16_t share, uint64_t peak)
{
    return (uint64_t)(((job_u128)share * peak + JOB_SHARE - 1) / JOB_SHARE);
}

uint64_t job_share_min(uint16_t share, uint64_t peak)
{
    return (uint64_t)((job_u128)share * peak / JOB_SHARE);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

int job_rank_order(const struct job_rank *a, const struct job_rank *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static void job_summary_rank_release(struct job_rank *rank)
{
    free(rank->node);
    free(rank->boot);
    free(rank->file);
    free(rank->note);
    free(rank->unseen);
}

/* Does `one` go before `other` as the rank whose facts are the job's? A rank that cannot be read
 * has none. */
static bool job_summary_goes_before(const struct job_rank *one, const struct job_rank *other)
{
    bool read = job_rank_is_read(one);
    return read != job_rank_is_read(other) ? read : job_rank_order(one, other) < 0;
}

void job_summary_add_rank(struct job_summary *summary, const struct job_rank *rank)
{
    array_need_room(&summary->ranks, &summary->rank_capacity, summary->rank_count,
                    sizeof *summary->ranks);
    summary->ranks[summary->rank_count] = *rank;
    if (job_summary_goes_before(rank, &summary->ranks[summary->first_rank]))
        summary->first_rank = summary->rank_count;
    summary->rank_count++;
}

bool job_summary_knows(const struct job_summary *summary, enum job_figure figure)
{
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct job_rank *rank = &summary->ranks[i];
        struct figure of = figure == JOB_AT_PEAK   ? rank->peak_bytes
                           : figure == JOB_AT_EXIT ? rank->live_bytes
                                                   : rank->alloc_bytes;
        if (job_rank_counts(rank) && !figure_known(of))
            return false;
    }
    return true;
}

/* ---- Entries ------------------------------------------------------------------------------- */

static uint64_t job_summary_entry_hash(enum job_kind kind, const char *name, const char *module)
{
    uint64_t hash = hash_bytes(name, strlen(name)) * 3 + (uint64_t)kind;
    return hash_u64(hash ^ hash_bytes(module, strlen(module)));
}

static bool job_summary_is_entry(const void *array, uint32_t number, const void *key)
{
    const struct job_entry *entry = (const struct job_entry *)array + number, *like = key;
    return entry->kind == like->kind && !strcmp(entry->name, like->name) &&
           !strcmp(entry->module, like->module);
}

static uint32_t job_summary_number_entry(struct job_summary *summary, const struct job_entry *like,
                                         uint32_t fresh, bool *is_new)
{
    return map_number(&summary->map, job_summary_entry_hash(like->kind, like->name, like->module),
                      job_summary_is_entry, summary->entries, like, fresh, is_new);
}

uint32_t job_summary_entry(struct job_summary *summary, enum job_kind kind, const char *name,
                           const char *module)
{
    struct job_entry like = {.kind = kind, .name = (char *)name, .module = (char *)module};
    bool is_new;
    uint32_t number =
        job_summary_number_entry(summary, &like, (uint32_t)summary->entry_count, &is_new);
    if (!is_new)
        return number;
    like.name = memory_copy_string(name);
    like.module = memory_copy_string(module);
    array_need_room(&summary->entries, &summary->entry_capacity, summary->entry_count,
                    sizeof *summary->entries);
    summary->entries[summary->entry_count++] = like;
    return number;
}

void job_summary_through(struct job_entry *entry, const char *through)
{
    if (!through || (entry->through && !strcmp(entry->through, through)))
        return;
    char *agreed = memory_copy_string(entry->through ? "" : through);
    free(entry->through);
    entry->through = agreed;
}

static void job_summary_index_entries(struct job_summary *summary)
{
    bool is_new;
    map_release(&summary->map);
    for (size_t i = 0; i < summary->entry_count; i++)
        job_summary_number_entry(summary, &summary->entries[i], (uint32_t)i, &is_new);
}

static void job_summary_release_entry(struct job_entry *entry)
{
    free(entry->name);
    free(entry->module);
    free(entry->through);
}

static void job_summary_sum_merge(struct job_sum *into, const struct job_sum *from)
{
    if (!from->ranks)
        return;
    bool none = !into->ranks;
    if (none || from->min < into->min ||
        (from->min == into->min && from->min_rank < into->min_rank)) {
        into->min = from->min;
        into->min_rank = from->min_rank;
    }
    if (none || from->max > into->max ||
        (from->max == into->max && from->max_rank < into->max_rank)) {
        into->max = from->max;
        into->max_rank = from->max_rank;
    }
    into->ranks += from->ranks;
    into->sum += from->sum;
    into->squares += from->squares;
}

void job_sum_add(struct job_sum *sum, uint64_t bytes, uint32_t rank)
{
    if (bytes)
        job_summary_sum_merge(
            sum, &(struct job_sum){1, bytes, (job_u128)bytes * bytes, bytes, bytes, rank, rank});
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static bool job_summary_is_further(int which, const struct job_end *a, const struct job_end *b)
{
    if (!a->is_there || !b->is_there)
        return a->is_there;
    if (a->peak_bytes != b->peak_bytes)
        return which == JOB_LOWEST ? a->peak_bytes < b->peak_bytes : a->peak_bytes > b->peak_bytes;
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void job_summary_number_shares(struct job_end *end, const uint32_t *new_numbers)
{
    for (size_t i = 0; i < end->share_count; i++)
        end->shares[i].entry = new_numbers[end->shares[i].entry];
}

static int job_summary_compare_shares(const void *left, const void *right)
{
    const struct job_share *a = left, *b = right;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void job_summary_facts_release(struct job_summary *summary)
{
    free(summary->program);
    free(summary->command);
    free(summary->launcher);
    free(summary->tool);
    summary->program = summary->command = summary->launcher = summary->tool = NULL;
}

void job_summary_release(struct job_summary *summary)
{
    for (size_t i = 0; i < summary->rank_count; i++)
        job_summary_rank_release(&summary->ranks[i]);
    for (size_t i = 0; i < summary->entry_count; i++)
        job_summary_release_entry(&summary->entries[i]);
    for (int i = 0; i < JOB_ENDS; i++)
        free(summary->ends[i].shares);
    job_summary_facts_release(summary);
    free(summary->ranks);
    free(summary->entries);
    map_release(&summary->map);
    *summary = (struct job_summary){0};
}

/* Facts are those of the rank that comes first in what was merged; one without any has none. */
static void job_summary_merge_facts(struct job_summary *into, struct job_summary *from)
{
    if (!from->rank_count ||
        (into->rank_count &&
         !job_summary_goes_before(&from->ranks[from->first_rank], &into->ranks[into->first_rank])))
        return;
    job_summary_facts_release(into);
    into->program = from->program;
    into->command = from->command;
    into->launcher = from->launcher;
    into->tool = from->tool;
    from->program = from->command = from->launcher = from->tool = NULL;
}

static void job_summary_merge_ends(struct job_summary *into, struct job_summary *from,
                                   const uint32_t *new_numbers)
{
    for (int i = 0; i < JOB_ENDS; i++) {
        if (!job_summary_is_further(i, &from->ends[i], &into->ends[i]))
            continue;
        free(into->ends[i].shares);
        into->ends[i] = from->ends[i];
        from->ends[i] = (struct job_end){0};
        job_summary_number_shares(&into->ends[i], new_numbers);
    }
}

void job_summary_merge(struct job_summary *into, struct job_summary *from)
{
    uint32_t *new_numbers = memory_resize(NULL, from->entry_count, sizeof *new_numbers);
    job_summary_merge_facts(into, from);
    for (size_t i = 0; i < from->rank_count; i++)
        job_summary_add_rank(into, &from->ranks[i]);
    from->rank_count = 0;
    for (size_t i = 0; i < from->entry_count; i++) {
        const struct job_entry *entry = &from->entries[i];
        new_numbers[i] = job_summary_entry(into, entry->kind, entry->name, entry->module);
        job_summary_through(&into->entries[new_numbers[i]], entry->through);
        for (int figure = 0; figure < JOB_FIGURES; figure++)
            job_summary_sum_merge(&into->entries[new_numbers[i]].of[figure], &entry->of[figure]);
    }
    job_summary_merge_ends(into, from, new_numbers);
    free(new_numbers);
    job_summary_release(from);
}

static int job_summary_compare_ranks(const void *left, const void *right)
{
    return job_rank_order(left, right);
}

static int job_summary_compare_entries(const void *left, const void *right)
{
    const struct job_entry *a = *(struct job_entry *const *)left,
                           *b = *(struct job_entry *const *)right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->module, b->module);
}

static void job_summary_sort_entries(struct job_summary *summary)
{
    size_t count = summary->entry_count;
    struct job_entry **order = memory_resize(NULL, count, sizeof *order);
    struct job_entry *sorted = memory_resize(NULL, count, sizeof *sorted);
    uint32_t *new_numbers = memory_resize(NULL, count, sizeof *new_numbers);
    for (size_t i = 0; i < count; i++)
        order[i] = &summary->entries[i];
    qsort(order, count, sizeof *order, job_summary_compare_entries);
    for (size_t i = 0; i < count; i++) {
        new_numbers[order[i] - summary->entries] = (uint32_t)i;
        sorted[i] = *order[i];
    }
    free(order);
    free(summary->entries);
    summary->entries = sorted;
    summary->entry_capacity = count;
    for (int i = 0; i < JOB_ENDS; i++) {
        job_summary_number_shares(&summary->ends[i], new_numbers);
        if (summary->ends[i].share_count > 0)
            qsort(summary->ends[i].shares, summary->ends[i].share_count, sizeof(struct job_share),
                  job_summary_compare_shares);
    }
    free(new_numbers);
    job_summary_index_entries(summary);
}

void job_summary_sort(struct job_summary *summary)
{
    if (summary->rank_count)
        qsort(summary->ranks, summary->rank_count, sizeof *summary->ranks,
              job_summary_compare_ranks);
    summary->first_rank = 0;
    for (size_t i = 1; i < summary->rank_count; i++)
        if (job_summary_goes_before(&summary->ranks[i], &summary->ranks[summary->first_rank]))
            summary->first_rank = i;
    job_summary_sort_entries(summary);
}

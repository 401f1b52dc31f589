#include "collector/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "collector/residency.h"
#include "process/cgroup.h"
#include "process/pages.h"
#include "process/process.h"
#include "process/stacks.h"
#include "process/usage.h"

_Static_assert(PROCESS_UNKNOWN == UINT64_MAX, "what process/ does not know, a sample does not");

void look_init(struct look *look, pid_t pid)
{
    const uint64_t unknown = PROCESS_UNKNOWN;
    *look = (struct look){
        .pid = pid,
        .blocks = LIVE_LIST_INIT,
        .smaps = SMAPS_INIT,
        .sample = {.resident_bytes = unknown, .proportional_bytes = unknown,
                   .unique_bytes = unknown, .swapped_bytes = unknown, .virtual_bytes = unknown,
                   .minor_faults = unknown, .major_faults = unknown,
                   .voluntary_switches = unknown, .involuntary_switches = unknown,
                   .cgroup_bytes = unknown, .cgroup_limit_bytes = unknown,
                   .cgroup_peak_bytes = unknown, .machine_available_bytes = unknown,
                   .machine_bytes = unknown, .ooms = unknown, .live_touched_bytes = unknown,
                   .slack_bytes = unknown, .mmap_bytes = unknown, .file_bytes = unknown,
                   .stack_bytes = unknown, .globals_bytes = unknown, .shared_bytes = unknown,
                   .tool_bytes = unknown, .other_bytes = unknown, .untouched_bytes = unknown,
                   .live_swapped_bytes = unknown, .returnable_bytes = unknown,
                   .pinned_bytes = unknown}};
}

void look_release(struct look *look)
{
    live_list_release(&look->blocks);
    free(look->claims);
    free(look->places);
    free(look->mappings);
    free(look->rows);
    free(look->cells);
    free(look->threads);
    smaps_release(&look->smaps);
    look_init(look, look->pid);
}

static void note_error(struct look *look, int error)
{
    if (error && !look->error)
        look->error = error;
}

/* ---- What the kernel counts ---------------------------------------------------------------- */

static void read_usage(struct look *look)
{
    struct usage usage;
    if (usage_read(look->pid, &usage) < 0)
        return;
    look->sample.minor_faults = usage.minor_faults;
    look->sample.major_faults = usage.major_faults;
    look->sample.voluntary_switches = usage.voluntary_switches;
    look->sample.involuntary_switches = usage.involuntary_switches;
}

static void read_limits(struct look *look)
{
    struct cgroup_memory *group = malloc(sizeof *group); /* paths make it 12 KiB */
    struct cgroup_machine machine;
    struct profile_sample *sample = &look->sample;
    if (group && cgroup_read(look->pid, group) == 0) {
        bool has_limit = group->limit_bytes != CGROUP_UNLIMITED;
        sample->cgroup_limit_bytes = has_limit ? group->limit_bytes : PROCESS_UNKNOWN;
        sample->cgroup_bytes = has_limit ? group->limit_current_bytes : group->current_bytes;
        sample->cgroup_peak_bytes = group->peak_bytes;
        sample->ooms = group->oom_kill_events;
    }
    free(group);
    if (cgroup_machine_read(&machine) == 0) {
        sample->machine_bytes = machine.total_bytes;
        sample->machine_available_bytes = machine.available_bytes;
    }
}

/* ---- Mappings ------------------------------------------------------------------------------ */

/* What the recorder says is its own, and where threads' stack pointers are. */
static int classify(struct look *look)
{
    struct smaps_hint *tool = calloc(look->claim_count + 1, sizeof *tool);
    uint64_t *pointers = NULL;
    size_t count = 0, pointer_count = 0;
    int error = tool ? 0 : -ENOMEM;
    if (error)
        return error;
    for (size_t i = 0; i < look->claim_count; i++)
        if (look->claims[i].owner == AREA_TOOL)
            tool[count++] = (struct smaps_hint){look->claims[i].start, look->claims[i].end,
                                                SMAPS_TOOL};
    if (look->over_pages && stacks_pointers(look->pid, look->places, look->place_count,
                                           &pointers, &pointer_count) < 0) {
        pointers = NULL;
        pointer_count = 0;
    }
    struct smaps_hints hints = {tool, count, pointers, pointer_count};
    error = smaps_classify(&look->smaps, &hints);
    free(pointers);
    free(tool);
    return error;
}

static void take_totals(struct look *look)
{
    struct smaps_totals totals;
    smaps_sum(&look->smaps, &totals);
    look->sample.resident_bytes = totals.all.rss;
    look->sample.proportional_bytes = totals.all.pss;
    look->sample.unique_bytes = totals.all.uss;
    look->sample.swapped_bytes = totals.all.swap;
    look->sample.virtual_bytes = totals.all.size;
    look->tool_rss_bytes = areas_tool_rss(&look->smaps);
}

static int row_compare(const void *left, const void *right)
{
    const struct profile_mapping *a = left, *b = right;
    int by_kind = strcmp(a->kind, b->kind);
    return by_kind ? by_kind : strcmp(a->path, b->path);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a == PROCESS_UNKNOWN || b == PROCESS_UNKNOWN ? PROCESS_UNKNOWN : a + b;
}

static void join(struct profile_mapping *to, const struct profile_mapping *from)
{
    to->count += from->count;
    to->virtual_bytes = sum(to->virtual_bytes, from->virtual_bytes);
    to->resident_bytes = sum(to->resident_bytes, from->resident_bytes);
    to->proportional_bytes = sum(to->proportional_bytes, from->proportional_bytes);
    to->unique_bytes = sum(to->unique_bytes, from->unique_bytes);
    to->swapped_bytes = sum(to->swapped_bytes, from->swapped_bytes);
}

/* One row for each kind and file. */
static int take_mappings(struct look *look)
{
    const struct smaps *smaps = &look->smaps;
    size_t kept = 0;
    look->mappings = calloc(smaps->count + 1, sizeof *look->mappings);
    if (!look->mappings)
        return -ENOMEM;
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        const struct smaps_bytes *bytes = &mapping->bytes;
        look->mappings[i] = (struct profile_mapping){
            .kind = smaps_kind_name(mapping->kind), .path = mapping->path, .count = 1,
            .virtual_bytes = bytes->size, .resident_bytes = bytes->rss,
            .proportional_bytes = bytes->pss, .unique_bytes = bytes->uss,
            .swapped_bytes = bytes->swap};
    }
    qsort(look->mappings, smaps->count, sizeof *look->mappings, row_compare);
    for (size_t i = 0; i < smaps->count; i++)
        if (kept && row_compare(&look->mappings[kept - 1], &look->mappings[i]) == 0)
            join(&look->mappings[kept - 1], &look->mappings[i]);
        else
            look->mappings[kept++] = look->mappings[i];
    look->mapping_count = kept;
    return 0;
}

static int read_mappings(struct look *look)
{
    int error = smaps_read(&look->smaps, look->pid);
    if (!error)
        error = classify(look);
    if (error)
        return error;
    take_totals(look);
    return take_mappings(look);
}

/* ---- Pages --------------------------------------------------------------------------------- */

static int visit_run(const struct pages_run *run, void *context)
{
    residency_run(context, run);
    return 0;
}

static int sweep(struct pages *pages, const struct areas *areas, struct residency *residency)
{
    struct pages_range *ranges = calloc(areas->count + 1, sizeof *ranges);
    size_t count = 0;
    if (!ranges)
        return -ENOMEM;
    for (size_t i = 0; i < areas->count; i++)
        if (area_needs_pages(&areas->list[i]))
            ranges[count++] = (struct pages_range){areas->list[i].start, areas->list[i].end};
    int error = pages_visit(pages, ranges, count, visit_run, residency);
    free(ranges);
    return error;
}

static int row_bytes_compare(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    uint64_t bytes_a = a->resident_bytes + a->pinned_bytes;
    uint64_t bytes_b = b->resident_bytes + b->pinned_bytes;
    return bytes_a != bytes_b ? (bytes_a < bytes_b ? 1 : -1) : a->path < b->path ? -1 : 1;
}

static int row_path_compare(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    return a->path < b->path ? -1 : a->path > b->path;
}

size_t look_choose_rows(struct profile_residency *rows, size_t count, size_t limit)
{
    if (limit && count > limit) {
        qsort(rows, count, sizeof *rows, row_bytes_compare);
        count = limit;
    }
    if (count)
        qsort(rows, count, sizeof *rows, row_path_compare);
    return count;
}

static void take_residency(struct look *look, struct residency *residency)
{
    residency_sum(residency, &look->sample);
    look->rows = residency->rows;
    look->row_count = look_choose_rows(residency->rows, residency->row_count, look->row_limit);
    residency->rows = NULL;
    residency->row_count = residency->row_capacity = 0;
    look->cells = heap_map_take(&residency->heap, &look->cell_count);
}

static int make_ledger(struct look *look, struct pages *pages)
{
    struct areas areas = AREAS_INIT;
    struct residency residency = RESIDENCY_INIT;
    int error = residency_count(&residency, &look->blocks);
    if (error)
        goto done;
    live_list_sort(&look->blocks);
    live_list_part(&look->blocks);
    error = areas_find(&areas, &look->smaps, look->claims, look->claim_count, &look->blocks);
    if (!error)
        error = residency_begin(&residency, &areas, &look->blocks, process_page_bytes(),
                                HEAP_MAP_CELLS);
    if (!error)
        error = sweep(pages, &areas, &residency);
    if (!error)
        take_residency(look, &residency);
done:
    areas_release(&areas);
    residency_release(&residency);
    return error;
}

/* ---- Threads ------------------------------------------------------------------------------- */

static int keep_thread(const struct usage_thread *thread, void *context)
{
    struct look *look = context;
    size_t count = look->thread_count;
    if ((count & (count - 1)) == 0) { /* full at every power of two */
        struct look_thread *threads =
            realloc(look->threads, (count ? 2 * count : 1) * sizeof *threads);
        if (!threads)
            return -ENOMEM;
        look->threads = threads;
    }
    look->threads[look->thread_count++] =
        (struct look_thread){.tid = thread->tid, .stack_touched_bytes = PROCESS_UNKNOWN,
                             .stack_reach_bytes = PROCESS_UNKNOWN};
    memcpy(look->threads[count].name, thread->name, sizeof look->threads[count].name);
    return 0;
}

static int thread_compare(const void *left, const void *right)
{
    const struct look_thread *a = left, *b = right;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct look_thread *thread_find(const struct look *look, pid_t tid)
{
    const struct look_thread key = {.tid = tid};
    if (!look->thread_count)
        return NULL;
    return bsearch(&key, look->threads, look->thread_count, sizeof key, thread_compare);
}

static void read_threads(struct look *look)
{
    usage_threads(look->pid, keep_thread, look);
    if (look->thread_count)
        qsort(look->threads, look->thread_count, sizeof *look->threads, thread_compare);
}

static void read_stacks(struct look *look, struct pages *pages)
{
    struct stacks stacks = STACKS_INIT;
    if (stacks_read(&stacks, look->pid, &look->smaps, pages, look->places, look->place_count) == 0)
        for (size_t i = 0; i < stacks.count; i++) {
            struct look_thread *thread = thread_find(look, stacks.threads[i].tid);
            if (!thread || stacks.threads[i].evidence == STACKS_UNKNOWN)
                continue;
            thread->stack_touched_bytes = stacks.threads[i].touched_bytes;
            thread->stack_reach_bytes = stacks.threads[i].reach_bytes;
        }
    stacks_release(&stacks);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void look_at_pages(struct look *look)
{
    struct pages pages;
    int error = pages_open(&pages, look->pid);
    if (error) {
        note_error(look, error);
        return;
    }
    note_error(look, make_ledger(look, &pages));
    if (look->at_threads)
        read_stacks(look, &pages);
    pages_close(&pages);
}

void look_take(struct look *look)
{
    uint64_t begin_ns = thread_cpu_ns();
    look->claim_count = areas_prune_claims(look->claims, look->claim_count);
    read_threads(look);
    int error = read_mappings(look);
    note_error(look, error);
    if (look->over_pages && !error)
        look_at_pages(look); /* at once: a process that runs does not stand still in between */
    read_usage(look);
    read_limits(look);
    live_list_release(&look->blocks);
    look->cpu_ns += thread_cpu_ns() - begin_ns;
    look->sample.pass_ms = (double)look->cpu_ns / 1e6;
}

struct sighting look_sighting(struct look *look)
{
    return (struct sighting){.sample = &look->sample,
                             .mappings = look->mappings,
                             .mapping_count = look->mapping_count,
                             .rows = look->rows,
                             .row_count = look->row_count,
                             .cells = look->cells,
                             .cell_count = look->cell_count};
}

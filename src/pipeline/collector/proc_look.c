/* One look at a process (proc_look.h). It reads smaps, sorts the live blocks, cuts the mappings
 * into areas, and sweeps the page table over both. Mappings are then summed by kind and file. */
#include "collector/proc_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/array.h"
#include "base/now.h"
#include "collector/graph_look.h"
#include "collector/hotspot_spaces.h"
#include "collector/look_sweep.h"
#include "collector/quota.h"
#include "collector/residency.h"
#include "procfs/cgroup_recent.h"
#include "procfs/module_end.h"
#include "procfs/numa.h"
#include "procfs/page_table.h"
#include "procfs/process.h"
#include "procfs/stacks.h"
#include "procfs/usage.h"
#include "wire/wire.h"

void look_init(struct look *look, pid_t pid)
{
    const struct figure unknown = FIGURE_UNKNOWN;
    /* clang-format off */
    *look = (struct look){
        .pid = pid,
        .blocks = LIVE_LIST_INIT,
        .smaps = SMAPS_INIT,
        .stacks = STACKS_INIT,
        .owners = OWNERS_INIT,
        .parts = CGROUP_PARTS_INIT,
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
                   .pinned_bytes = unknown, .lost_count = unknown, .lost_bytes = unknown,
                   .indirect_count = unknown, .indirect_bytes = unknown,
                   .possible_count = unknown, .possible_bytes = unknown,
                   .reachable_count = unknown, .reachable_bytes = unknown, .high_water_bytes = unknown,
                   .class_count = unknown, .fill_count = unknown}};
    /* clang-format on */
}

void look_release(struct look *look)
{
    live_list_release(&look->blocks);
    free(look->claims);
    free(look->places);
    free(look->mappings);
    free(look->rows);
    free(look->cells);
    free(look->islands);
    held_free(look->held);
    block_types_release(&look->types);
    block_fills_release(&look->fills);
    owners_release(&look->owners);
    free(look->containers);
    cgroup_parts_release(&look->parts);
    free(look->threads);
    smaps_release(&look->smaps);
    stacks_release(&look->stacks);
    look_init(look, look->pid);
}

static void look_note_error(struct look *look, int error)
{
    if (error && !look->error)
        look->error = error;
}

/* ---- What the kernel counts ---------------------------------------------------------------- */

static void look_read_usage(struct look *look)
{
    struct usage usage;
    if (usage_read(look->pid, &usage) < 0)
        return;
    look->sample.minor_faults = usage.minor_faults;
    look->sample.major_faults = usage.major_faults;
    look->sample.voluntary_switches = usage.voluntary_switches;
    look->sample.involuntary_switches = usage.involuntary_switches;
    look->sample.high_water_bytes = usage.peak_resident_bytes;
    look->is_alone = look->waits && look->exit_pointer && figure_equal(usage.threads, FIGURE_OF(1));
    memcpy(look->name, usage.name, sizeof look->name);
}

static void look_read_limits(struct look *look)
{
    struct cgroup_memory *group = malloc(sizeof *group); /* paths make it 12 KiB */
    struct cgroup_machine machine;
    struct profile_sample *sample = &look->sample;
    if (group && cgroup_recent_read_again(look->pid, group, CGROUP_RECENT_WAITS) == 0) {
        bool has_none = figure_equal(group->limit_bytes, CGROUP_UNLIMITED);
        sample->cgroup_limit_bytes = has_none ? FIGURE_UNKNOWN : group->limit_bytes;
        sample->cgroup_bytes = has_none ? group->current_bytes : group->limit_current_bytes;
        sample->cgroup_peak_bytes = group->peak_bytes;
        sample->ooms = group->oom_kill_events;
    }
    free(group);
    if (cgroup_recent_machine_read(&machine, CGROUP_RECENT_WAITS) == 0) {
        sample->machine_bytes = machine.total_bytes;
        sample->machine_available_bytes = machine.available_bytes;
    }
}

_Static_assert((int)CGROUP_PROCESS == PROFILE_CONTAINER_PROCESS &&
                   (int)CGROUP_PAGE_CACHE == PROFILE_CONTAINER_PAGE_CACHE &&
                   (int)CGROUP_SLAB == PROFILE_CONTAINER_SLAB &&
                   (int)CGROUP_PAGE_TABLES == PROFILE_CONTAINER_PAGE_TABLES &&
                   (int)CGROUP_SOCKETS == PROFILE_CONTAINER_SOCKETS &&
                   (int)CGROUP_TMPFS == PROFILE_CONTAINER_TMPFS &&
                   (int)CGROUP_KERNEL_OTHER == PROFILE_CONTAINER_KERNEL_OTHER &&
                   (int)CGROUP_OTHER == PROFILE_CONTAINER_OTHER,
               "parts of a group are numbered alike");

/* The rows add up to what the sample says of the group. */
static void look_read_container(struct look *look)
{
    if (cgroup_parts_recent(&look->parts, look->pid) < 0)
        return;
    look->containers = calloc(look->parts.count + 1, sizeof *look->containers);
    if (!look->containers)
        return;
    look->sample.cgroup_bytes = look->parts.current_bytes;
    for (size_t i = 0; i < look->parts.count; i++)
        look->containers[i] =
            (struct profile_container){.kind = (int)look->parts.list[i].kind,
                                       .name = look->parts.list[i].name,
                                       .bytes = figure_of(look->parts.list[i].bytes)};
}

/* ---- Mappings ------------------------------------------------------------------------------ */

/* A mapping up to this long is taken for variables alone: most modules' are, and a short process
 * would pay for opening each of them. */
enum { LOOK_BSS_SMALL = 64 << 10 };

/* Classifies the mappings by the ranges that the recorder claims as its own and by the threads'
 * stack pointers. */
static int look_classify(struct look *look)
{
    struct smaps_hint *tool = calloc(look->claim_count + 1, sizeof *tool);
    uint64_t *pointers = NULL;
    size_t count = 0, pointer_count = 0;
    int error = tool ? 0 : -ENOMEM;
    if (error)
        return error;
    for (size_t i = 0; i < look->claim_count; i++)
        if (look->claims[i].owner == AREA_TOOL)
            tool[count++] =
                (struct smaps_hint){look->claims[i].start, look->claims[i].end, SMAPS_TOOL};
    if (look->over_pages)
        stacks_pointers(&look->stacks, look->places, look->place_count, &pointers, &pointer_count);
    struct smaps_hints hints = {tool, count, pointers, pointer_count};
    error = smaps_classify(&look->smaps, &hints);
    if (!error && look->over_pages)
        module_ends_find(&look->smaps, look->pid, LOOK_BSS_SMALL, wire_is_recorder);
    free(pointers);
    free(tool);
    return error;
}

static void look_take_totals(struct look *look)
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

static int look_row_compare(const void *left, const void *right)
{
    const struct profile_mapping *a = left, *b = right;
    int by_kind = strcmp(a->kind, b->kind);
    return by_kind ? by_kind : strcmp(a->path, b->path);
}

static void look_join(struct profile_mapping *to, const struct profile_mapping *from)
{
    to->count += from->count;
    to->virtual_bytes = figure_add(to->virtual_bytes, from->virtual_bytes);
    to->resident_bytes = figure_add(to->resident_bytes, from->resident_bytes);
    to->proportional_bytes = figure_add(to->proportional_bytes, from->proportional_bytes);
    to->unique_bytes = figure_add(to->unique_bytes, from->unique_bytes);
    to->swapped_bytes = figure_add(to->swapped_bytes, from->swapped_bytes);
}

/* One row for each kind and file. */
static int look_take_mappings(struct look *look)
{
    const struct smaps *smaps = &look->smaps;
    size_t kept = 0;
    look->mappings = calloc(smaps->count + 1, sizeof *look->mappings);
    if (!look->mappings)
        return -ENOMEM;
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        const struct smaps_bytes *bytes = &mapping->bytes;
        look->mappings[i] = (struct profile_mapping){.kind = smaps_kind_name(mapping->kind),
                                                     .path = mapping->path,
                                                     .count = 1,
                                                     .virtual_bytes = bytes->size,
                                                     .resident_bytes = bytes->rss,
                                                     .proportional_bytes = bytes->pss,
                                                     .unique_bytes = bytes->uss,
                                                     .swapped_bytes = bytes->swap};
    }
    qsort(look->mappings, smaps->count, sizeof *look->mappings, look_row_compare);
    for (size_t i = 0; i < smaps->count; i++)
        if (kept && look_row_compare(&look->mappings[kept - 1], &look->mappings[i]) == 0)
            look_join(&look->mappings[kept - 1], &look->mappings[i]);
        else
            look->mappings[kept++] = look->mappings[i];
    look->mapping_count = kept;
    return 0;
}

static int look_read_mappings(struct look *look)
{
    int error = smaps_read(&look->smaps, look->pid);
    if (look->is_alone)
        stacks_list_one(&look->stacks, look->pid, look->exit_pointer);
    else
        stacks_list(&look->stacks, look->pid);
    if (!error)
        error = look_classify(look);
    if (error)
        return error;
    look_take_totals(look);
    return 0;
}

/* ---- Pages --------------------------------------------------------------------------------- */

static int look_row_bytes_compare(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    int by_bytes = figure_compare(figure_add(b->resident_bytes, b->pinned_bytes),
                                  figure_add(a->resident_bytes, a->pinned_bytes));
    return by_bytes ? by_bytes : a->path < b->path ? -1 : 1;
}

static int look_row_path_compare(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    return a->path < b->path ? -1 : a->path > b->path;
}

size_t look_choose_rows(struct profile_residency *rows, size_t count, size_t limit)
{
    if (limit && count > limit) {
        qsort(rows, count, sizeof *rows, look_row_bytes_compare);
        count = limit;
    }
    if (count)
        qsort(rows, count, sizeof *rows, look_row_path_compare);
    return count;
}

static void look_take_residency(struct look *look, struct residency *residency)
{
    if (!look->is_sample) {
        look->rows = residency->rows;
        look->row_count = look_choose_rows(residency->rows, residency->row_count, look->row_limit);
        array_fit(&look->rows, &residency->row_capacity, look->row_count, sizeof *look->rows);
        residency->rows = NULL;
        residency->row_count = residency->row_capacity = 0;
    }
    if (!look->unknown)
        look->cells = heap_map_take(&residency->heap, &look->cell_count);
}

/* What is free in the allocator's memory cannot be told from blocks that are not known. */
static void look_forget_free(struct look *look, struct residency *residency)
{
    struct profile_sample *sample = &look->sample;
    sample->has_ledger = false;
    sample->slack_bytes = sample->returnable_bytes = sample->pinned_bytes = FIGURE_UNKNOWN;
    if (look->is_sample)
        sample->live_touched_bytes = sample->untouched_bytes = sample->live_swapped_bytes =
            FIGURE_UNKNOWN;
    for (size_t i = 0; i < residency->row_count; i++)
        residency->rows[i].pinned_bytes = residency->rows[i].pinning_count = FIGURE_UNKNOWN;
}

/* The request's threads are the caller's to free. NULL threads: no memory. */
static struct owners_request look_owners_request(const struct look *look,
                                                 const struct residency *residency,
                                                 struct owners_thread **threads)
{
    *threads = calloc(look->thread_count + 1, sizeof **threads);
    for (size_t i = 0; *threads && i < look->thread_count; i++)
        (*threads)[i] = (struct owners_thread){look->threads[i].tid, look->threads[i].name};
    return (struct owners_request){.residency = residency,
                                   .smaps = &look->smaps,
                                   .pid = look->pid,
                                   .threads = *threads,
                                   .thread_count = *threads ? look->thread_count : 0,
                                   .unknown = look->unknown,
                                   .has_all_blocks = !look->is_sample,
                                   .knows_mappings = look->knows_mappings,
                                   .limit = look->owner_limit};
}

static int look_make_owners(struct look *look, const struct residency *residency,
                            const struct look_sweep *sweep)
{
    struct owners_thread *threads;
    struct owners_request request = look_owners_request(look, residency, &threads);
    if (!threads)
        return -ENOMEM;
    request.knows_huge = sweep->tells_zero;
    request.knows_content = sweep->knows_content;
    request.knows_heat = sweep->heat != NULL;
    request.knows_nodes = sweep->ask_nodes != NULL;
    int error = owners_make(&look->owners, &request);
    free(threads);
    return error;
}

/* If it fails, the look's other figures are still valid. */
static void look_take_graph(struct look *look, struct pages *pages, const struct areas *areas,
                            const struct residency *residency)
{
    struct graph_look graph;
    struct owners_thread *threads;
    const struct owners_request names = look_owners_request(look, residency, &threads);
    const struct graph_look_asked asked = {.pid = look->pid,
                                           .smaps = &look->smaps,
                                           .areas = areas,
                                           .blocks = &look->blocks,
                                           .pages = pages,
                                           .exit_stack = look->exit_stack,
                                           .exit_registers = look->exit_registers,
                                           .waits = look->waits,
                                           .without_links = look->without_links,
                                           .threads = &look->stacks,
                                           .has_unknown = look->unknown != NULL,
                                           .view = look->view,
                                           .rows = residency->rows,
                                           .row_count = residency->row_count,
                                           .names = look->wants_held ? &names : NULL,
                                           .places = look->places,
                                           .place_count = look->place_count,
                                           .path_to = look->path_to};
    look->graph_error = graph_look_take(&asked, &graph);
    free(threads);
    if (look->graph_error)
        return;
    graph_look_sum(&asked, &look->sample);
    look->islands = graph.islands;
    look->island_count = graph.island_count;
    look->held = graph.held;
    look->types = graph.types;
    look->sample.class_count = block_types_count(&graph.types);
    look->fills = graph.fills;
    look->sample.fill_count = block_fills_count(&graph.fills);
}

/* Without the graph. */
static void look_take_types(struct look *look, struct pages *pages, const struct areas *areas)
{
    const struct graph_look_asked asked = {.pid = look->pid,
                                           .smaps = &look->smaps,
                                           .areas = areas,
                                           .blocks = &look->blocks,
                                           .pages = pages};
    if (!graph_look_take_types(&asked, &look->types))
        look->sample.class_count = block_types_count(&look->types);
}

static int look_sweep_areas(struct look *look, struct pages *pages, struct areas *areas,
                            struct residency *residency)
{
    struct look_sweep sweep = {.pid = look->pid,
                               .smaps = &look->smaps,
                               .areas = areas,
                               .residency = residency,
                               .wants_content = look->wants_content,
                               .ask_nodes = numa_has_several() ? numa_ask : NULL,
                               .heat = look->heat,
                               .is_last = look->is_last};
    int error = look_sweep(&sweep, pages);
    if (error)
        return error;
    residency_sum(residency, &look->smaps, &look->sample);
    error = look_make_owners(look, residency, &sweep);
    if (look->unknown)
        look_forget_free(look, residency);
    if (look->over_graph && !look->is_sample && !error)
        look_take_graph(look, pages, areas, residency);
    else if (look->wants_types && !look->is_sample && !error)
        look_take_types(look, pages, areas);
    look_take_residency(look, residency);
    return error;
}

/* Names what run-times have in their mappings. */
static int look_label_areas(struct look *look, struct areas *areas)
{
    struct hotspot_spaces spaces = HOTSPOT_SPACES_INIT;
    int error = hotspot_spaces_look(&spaces, look->pid, &look->smaps);
    if (!error)
        error = areas_label(areas, spaces.list, spaces.count);
    hotspot_spaces_release(&spaces);
    return error;
}

static int look_make_ledger(struct look *look, struct pages *pages)
{
    struct areas areas = AREAS_INIT;
    struct residency residency = RESIDENCY_INIT;
    int error = residency_take_blocks(&residency, &look->blocks);
    if (error)
        goto done;
    error = areas_find(&areas, &look->smaps, look->claims, look->claim_count, &look->blocks);
    if (!error)
        error = look_label_areas(look, &areas);
    if (!error && look->allocators)
        area_memory_recall(look->allocators, &areas, !look->unknown && !look->is_sample);
    if (!error && (look->wants_content || numa_has_several()))
        areas_want_content(&areas);
    else if (!error && look->heat)
        areas_want_heat(&areas, &look->smaps);
    if (!error)
        error = residency_begin(&residency, &areas, &look->blocks, process_page_bytes(),
                                HEAP_MAP_CELLS);
    if (!error)
        error = look_sweep_areas(look, pages, &areas, &residency);
done:
    areas_release(&areas);
    residency_release(&residency);
    return error;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Sorted by number, as the stacks are. */
static int look_keep_thread(struct look *look, pid_t tid)
{
    char name[sizeof look->threads->name];
    if (look->is_alone)
        memcpy(name, look->name, sizeof name);
    else if (process_thread_name(look->pid, tid, name) < 0)
        return 0; /* ended since it was listed */
    if (!array_make_bare_room(&look->threads, &look->thread_room, look->thread_count,
                              sizeof *look->threads))
        return -ENOMEM;
    struct look_thread *thread = &look->threads[look->thread_count++];
    *thread = (struct look_thread){
        .tid = tid, .stack_touched_bytes = FIGURE_UNKNOWN, .stack_reach_bytes = FIGURE_UNKNOWN};
    memcpy(thread->name, name, sizeof name);
    return 0;
}

static int look_thread_compare(const void *left, const void *right)
{
    const struct look_thread *a = left, *b = right;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct look_thread *look_thread_find(const struct look *look, pid_t tid)
{
    const struct look_thread key = {.tid = tid};
    if (!look->thread_count)
        return NULL;
    return bsearch(&key, look->threads, look->thread_count, sizeof key, look_thread_compare);
}

static void look_read_threads(struct look *look)
{
    for (size_t i = 0; i < look->stacks.count; i++)
        if (look_keep_thread(look, look->stacks.threads[i].tid))
            return;
}

static void look_tell_stack(struct look *look, const struct stacks_thread *stack)
{
    struct look_thread *thread = look_thread_find(look, stack->tid);
    if (!thread || !look->at_threads)
        return;
    thread->stack_touched_bytes = stack->touched_bytes;
    thread->stack_reach_bytes = stack->reach_bytes;
}

/* The extents of stacks are claims too. Without memory for them stacks are of no thread. */
static void look_read_stacks(struct look *look, struct pages *pages)
{
    struct stacks *stacks = &look->stacks;
    bool has_room =
        stacks_read(stacks, look->pid, &look->smaps, pages, look->places, look->place_count) == 0 &&
        array_make_bare_room(&look->claims, &look->claim_room, look->claim_count + stacks->count,
                             sizeof *look->claims);
    for (size_t i = 0; has_room && i < stacks->count; i++) {
        const struct stacks_thread *stack = &stacks->threads[i];
        if (stack->evidence == STACKS_UNKNOWN)
            continue;
        look_tell_stack(look, stack);
        look->claims[look->claim_count++] = (struct area_claim){
            .start = stack->start, .end = stack->end, .owner = AREA_STACK, .tid = stack->tid};
    }
    if (has_room)
        look->claim_count = areas_prune_claims(look->claims, look->claim_count);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void look_at_pages(struct look *look)
{
    struct pages pages;
    int error = page_table_open(&pages, look->pid);
    if (error) {
        look_note_error(look, error);
        return;
    }
    look_read_stacks(look, &pages);
    look_note_error(look, look_make_ledger(look, &pages));
    page_table_close(&pages);
}

void look_take(struct look *look)
{
    uint64_t begin_ns = now_thread_cpu_ns();
    quota_take(QUOTA_LOOK);
    look->claim_count = areas_prune_claims(look->claims, look->claim_count);
    look_read_usage(look); /* first: how many threads there are */
    int error = look_read_mappings(look);
    look_read_threads(look);
    look_note_error(look, error);
    if (look->over_pages && !error)
        look_at_pages(look); /* at once: a process that runs does not stand still in between */
    if (!error)              /* as the look at the pages has corrected them */
        look_note_error(look, look_take_mappings(look));
    look_read_limits(look);
    if (look->of_container && look->owners.count)
        look_read_container(look);
    quota_give(QUOTA_LOOK);
    live_list_release(&look->blocks);
    look->cpu_ns += now_thread_cpu_ns() - begin_ns;
    look->sample.pass_ms = (double)look->cpu_ns / 1e6;
}

void look_scale_times(struct look *look, struct clock_scale scale)
{
    for (size_t i = 0; i < look->island_count; i++) {
        struct profile_island *island = &look->islands[i];
        island->oldest_ns = clock_moment_figure(scale, island->oldest_ns);
        island->newest_ns = clock_moment_figure(scale, island->newest_ns);
    }
}

struct proc_sample look_proc_sample(struct look *look)
{
    return (struct proc_sample){.sample = &look->sample,
                                .mappings = look->mappings,
                                .mapping_count = look->mapping_count,
                                .rows = look->rows,
                                .row_count = look->row_count,
                                .cells = look->cells,
                                .cell_count = look->cell_count,
                                .islands = look->islands,
                                .island_count = look->island_count,
                                .held = look->held,
                                .types = look->types.rows,
                                .type_count = look->types.row_count,
                                .fills = look->fills.rows,
                                .fill_count = look->fills.count,
                                .owners = look->owners.rows,
                                .owner_count = look->owners.count,
                                .touched = look->owners.touched,
                                .touched_count = look->owners.touched_count,
                                .containers = look->containers,
                                .container_count = look->containers ? look->parts.count : 0};
}

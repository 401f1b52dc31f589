/* Makes a profile one of a level of memory: what the program mapped itself, that and its blocks
 * together, or what was resident. Call paths, totals, timeline and curves are replaced, so that
 * no presenter has to know of levels. What is known of blocks alone is removed. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/profile_reading.h"

/* ---- What is of blocks alone --------------------------------------------------------------- */

static void profile_levels_leave_out_blocks(struct profile *profile)
{
    profile->thread_count = profile->distribution_count = profile->peak_count = 0;
    profile->exchange_count = profile->residency_count = profile->heap_page_count = 0;
    profile->mark_count = profile->region_count = profile->region_site_count = 0;
    profile->stack_peak_count = profile->stack_layer_count = 0;
    profile->program.live_peak_count = FIGURE_UNKNOWN;
}

/* ---- Mapped -------------------------------------------------------------------------------- */

/* A job's profile holds sums over ranks, of one level of memory. */
static int profile_levels_refuse_job(enum memory_level level)
{
    return error_set(-ENOENT,
                     "this is the profile of a job, and of blocks of the heap alone: tidemark job "
                     "--of=%s -o FILE DIR makes one of that memory",
                     memory_level_name(level));
}

static int profile_levels_need_mapped(const struct profile *profile, enum memory_level level)
{
    if (figure_known(profile->program.mapped.live_bytes))
        return 0;
    if (profile_get(profile, PROFILE_META_JOB_RANKS))
        return profile_levels_refuse_job(level);
    return error_set(-ENOENT,
                     "this profile does not say what is %s: it was written by a version that did "
                     "not follow mappings, or imported; record the program again",
                     level == MEMORY_ALL ? "held by heap and mappings together" : "mapped");
}

/* What was asked of mmap stands with the heap's sites. Both are by path. */
static void profile_levels_keep_calls_of_mmap(struct profile *profile)
{
    size_t heap = 0;
    for (size_t i = 0; i < profile->mapped_site_count; i++) {
        struct profile_site *site = &profile->mapped_sites[i];
        while (heap < profile->site_count && profile_site_path(profile, heap) < site->path)
            heap++;
        if (heap == profile->site_count || profile_site_path(profile, heap) != site->path)
            continue;
        site->metrics.map_count = profile_site_figure(profile, heap, METRIC_ROW(map_count));
        site->metrics.map_bytes = profile_site_figure(profile, heap, METRIC_ROW(map_bytes));
    }
    profile->program.mapped.map_count = profile->program.total.map_count;
    profile->program.mapped.map_bytes = profile->program.total.map_bytes;
}

static int profile_levels_take_mapped(struct profile *profile)
{
    int error = profile_levels_need_mapped(profile, MEMORY_MAPPED);
    if (error)
        return error;
    profile_levels_keep_calls_of_mmap(profile);
    profile_set_sites(profile, profile->mapped_sites, profile->mapped_site_count);
    profile->mapped_sites = NULL;
    profile->mapped_site_count = 0;
    profile->program.total = profile->program.mapped;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        profile->buckets[i].requested = profile->buckets[i].mapped;
        profile->buckets[i].blocks = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
        timeline_bucket_forget_calls(&profile->buckets[i]);
    }
    if (profile->mapped_curve_count)
        memmove(profile->curves, profile->mapped_curves,
                profile->mapped_curve_count * sizeof *profile->curves);
    profile->curve_count = profile->mapped_curve_count;
    profile->mapped_curve_count = 0;
    return 0;
}

/* ---- Heap and mappings --------------------------------------------------------------------- */

static void profile_levels_at_joint_peak(struct call_metrics *metrics)
{
    metrics->at_peak_bytes = metrics->at_all_peak_bytes;
    metrics->at_peak_count = metrics->at_peak_variance = FIGURE_UNKNOWN;
}

/* Both are by path. `to` has room for both. */
static size_t profile_levels_merge_sites(const struct profile *profile, struct profile_site *to)
{
    const struct profile_site *mapped = profile->mapped_sites;
    const struct profile_site *mapped_end = mapped + profile->mapped_site_count;
    size_t count = 0, heap = 0, heap_end = profile->site_count;
    while (heap < heap_end || mapped < mapped_end) {
        struct profile_site *site = &to[count++];
        uint32_t path = heap < heap_end ? profile_site_path(profile, heap) : 0;
        bool of_heap = heap < heap_end && (mapped == mapped_end || path <= mapped->path);
        bool of_mapped = mapped < mapped_end && (heap == heap_end || mapped->path <= path);
        const struct profile_site *from = of_heap ? profile_site_at(profile, heap, site) : mapped;
        if (from != site)
            *site = *from;
        if (of_heap && of_mapped)
            call_metrics_merge(&site->metrics, &mapped->metrics);
        profile_levels_at_joint_peak(&site->metrics);
        heap += of_heap;
        mapped += of_mapped;
    }
    return count;
}

static int profile_levels_take_all(struct profile *profile)
{
    struct program_metrics *program = &profile->program;
    int error = profile_levels_need_mapped(profile, MEMORY_ALL);
    if (error)
        return error;
    size_t room = profile->site_count + profile->mapped_site_count;
    struct profile_site *sites = calloc(room + 1, sizeof *sites);
    if (!sites)
        return error_set(-ENOMEM, "out of memory");
    profile_set_sites(profile, sites, profile_levels_merge_sites(profile, sites));
    call_metrics_merge(&program->total, &program->mapped);
    profile_levels_at_joint_peak(&program->total);
    program->total.peak_bytes = program->all_peak_bytes;
    program->total.peak_ticks = program->all_peak_ticks;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        profile->buckets[i].requested = profile->buckets[i].all;
        profile->buckets[i].blocks = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
        timeline_bucket_forget_calls(&profile->buckets[i]);
    }
    /* Curves of blocks and of mappings change at different times, so they are not added up. */
    profile->curve_count = 0;
    return 0;
}

/* ---- Resident ------------------------------------------------------------------------------ */

/* Looks that count, and which of them is the best one. */
struct profile_levels_choice {
    uint64_t least_resident, least_alive;
    bool (*is_better)(const struct profile_sample *, const struct profile_sample *);
};

static bool profile_levels_has_more_resident(const struct profile_sample *a,
                                             const struct profile_sample *b)
{
    return figure_less(b->resident_bytes, a->resident_bytes);
}

static bool profile_levels_has_more_alive(const struct profile_sample *a,
                                          const struct profile_sample *b)
{
    return figure_or(a->live_touched_bytes, 0) > figure_or(b->live_touched_bytes, 0);
}

static bool profile_levels_is_later(const struct profile_sample *a, const struct profile_sample *b)
{
    return a->id > b->id;
}

static bool profile_levels_counts(const struct profile_sample *sample,
                                  const struct profile_levels_choice *choice)
{
    return figure_or(sample->resident_bytes, 0) >= choice->least_resident &&
           figure_or(sample->live_touched_bytes, 0) >= choice->least_alive;
}

/* The best of the samples that have owners and count. */
static const struct profile_sample *profile_levels_best(const struct profile *profile,
                                                        const struct profile_levels_choice *choice,
                                                        size_t *first, size_t *count)
{
    const struct profile_sample *found = NULL;
    size_t owner = 0;
    *first = *count = 0;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        while (owner < profile->owner_count && profile->owners[owner].sample < sample->id)
            owner++;
        size_t begin = owner;
        while (owner < profile->owner_count && profile->owners[owner].sample == sample->id)
            owner++;
        if (owner == begin || !profile_levels_counts(sample, choice) ||
            (found && !choice->is_better(sample, found)))
            continue;
        found = sample;
        *first = begin;
        *count = owner - begin;
    }
    return found;
}

static bool profile_levels_has_heat(const struct profile *profile, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        if (figure_known(profile->owners[i].unwritten_1s_bytes))
            return true;
    return false;
}

enum { NEAR_PART = 50, FREED_PART = 4 };

/* Of the resident bytes, those on pages that were freed. */
static uint64_t profile_levels_free_bytes(const struct profile *profile, size_t first, size_t count)
{
    uint64_t free_bytes = 0;
    for (size_t i = first; i < first + count; i++)
        if (profile->owners[i].kind == PROFILE_OWNER_ALLOCATOR && !profile->owners[i].path)
            free_bytes += figure_or(profile->owners[i].resident_bytes, 0);
    return free_bytes;
}

/* How much less a look may have than `most` does, whose owners are *first to *count. */
static uint64_t profile_levels_near(const struct profile *profile,
                                    const struct profile_sample *most, size_t first, size_t count)
{
    uint64_t resident = figure_or(most->resident_bytes, 0);
    bool is_freed = profile_levels_free_bytes(profile, first, count) > resident / 2;
    struct profile_levels_choice choice = {.is_better = profile_levels_has_more_alive,
                                           .least_resident = resident - resident / FREED_PART,
                                           .least_alive = resident / 2};
    if (is_freed && profile_levels_best(profile, &choice, &first, &count))
        return resident / FREED_PART;
    return resident / NEAR_PART;
}

const struct profile_sample *profile_owners_sample(const struct profile *profile, size_t *first,
                                                   size_t *count)
{
    struct profile_levels_choice choice = {.is_better = profile_levels_has_more_resident};
    const struct profile_sample *most = profile_levels_best(profile, &choice, first, count);
    uint64_t resident;
    if (!most || !figure_get(most->resident_bytes, &resident))
        return most;
    choice.least_resident = resident - profile_levels_near(profile, most, *first, *count);
    choice.is_better = profile_levels_has_more_alive;
    uint64_t alive =
        figure_or(profile_levels_best(profile, &choice, first, count)->live_touched_bytes, 0);
    choice.least_alive = alive > resident / NEAR_PART ? alive - resident / NEAR_PART : 0;
    choice.is_better = profile_levels_has_heat(profile, *first, *count)
                           ? profile_levels_is_later
                           : profile_levels_has_more_resident;
    return profile_levels_best(profile, &choice, first, count);
}

/* "[file] libc.so.6", "[stack] main 1234". */
void profile_owner_add_name(struct strbuf *name, const struct profile_owner *owner)
{
    const char *said = owner->name ? owner->name : "";
    const char *slash = owner->kind == PROFILE_OWNER_FILE ? strrchr(said, '/') : NULL;
    uint64_t thread;
    strbuf_addf(name, "[%s]", profile_owner_names[owner->kind]);
    if (*said)
        strbuf_addf(name, " %s", slash && slash[1] ? slash + 1 : said);
    if (owner->kind == PROFILE_OWNER_STACK && figure_get(owner->thread, &thread))
        strbuf_addf(name, " %llu", (unsigned long long)thread);
}

/* A location of its own; 0: no memory. */
static uint32_t profile_levels_add_code(struct profile_builder *builder,
                                        const struct profile_owner *owner)
{
    struct strbuf name = STRBUF_INIT;
    profile_owner_add_name(&name, owner);
    struct profile_frame frame = {.function = name.data};
    uint32_t code = profile_builder_code(builder, &(struct profile_code){.module = UINT32_MAX});
    profile_builder_frames(builder, code, &frame, 1);
    strbuf_release(&name);
    return code;
}

bool profile_owner_is_by_path(const struct profile_owner *owner)
{
    return owner->path && owner->kind <= PROFILE_OWNER_ALLOCATOR;
}

/* Nothing is known but what was resident. Of a finished run live_bytes would say
 * that it was never freed. */
static struct call_metrics profile_levels_resident(struct figure bytes)
{
    struct call_metrics metrics;
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &metrics) = FIGURE_UNKNOWN;
    metrics.at_peak_bytes = bytes;
    return metrics;
}

static int profile_levels_compare_sites(const void *left, const void *right)
{
    const struct profile_site *a = left, *b = right;
    return (a->path > b->path) - (a->path < b->path);
}

/* One site of each path: what is of blocks, mappings and free memory there. */
static size_t profile_levels_join_sites(struct profile_site *sites, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(sites, count, sizeof *sites, profile_levels_compare_sites);
    for (size_t i = 0; i < count; i++)
        if (kept && sites[kept - 1].path == sites[i].path)
            call_metrics_merge(&sites[kept - 1].metrics, &sites[i].metrics);
        else
            sites[kept++] = sites[i];
    return kept;
}

/* The nodes grow by one for each owner without a path. UINT32_MAX: no memory. */
static uint32_t profile_levels_add_node(struct profile *profile, struct profile_builder *builder,
                                        const struct profile_owner *owner)
{
    uint32_t code = profile_levels_add_code(builder, owner);
    profile->nodes[profile->node_count] = (struct profile_node){0, code};
    return (uint32_t)profile->node_count++;
}

static int profile_levels_fill_resident(struct profile *profile, struct profile_builder *builder,
                                        const struct profile_owner *owners, size_t count)
{
    struct profile_site *sites = calloc(count + 1, sizeof *sites);
    struct profile_node *nodes =
        realloc(profile->nodes, (profile->node_count + count + 1) * sizeof *nodes);
    size_t made = 0;
    profile->nodes = nodes ? nodes : profile->nodes;
    for (size_t i = 0; sites && nodes && i < count; i++) {
        const struct profile_owner *owner = &owners[i];
        if (owner->kind == PROFILE_OWNER_TOOL || !figure_positive(owner->resident_bytes))
            continue;
        uint32_t path = profile_owner_is_by_path(owner)
                            ? owner->path
                            : profile_levels_add_node(profile, builder, owner);
        sites[made++] = (struct profile_site){path, profile_levels_resident(owner->resident_bytes)};
    }
    if (sites && nodes)
        profile_set_sites(profile, sites, profile_levels_join_sites(sites, made));
    else
        free(sites);
    return sites && nodes ? 0 : error_set(-ENOMEM, "out of memory");
}

static void profile_levels_sum_resident(struct profile *profile, struct figure time_ns)
{
    struct figure sum = figure_of(0);
    for (size_t i = 0; i < profile->site_count; i++)
        sum = figure_add(sum, profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)));
    profile->program.total = profile_levels_resident(sum);
    profile->program.total.peak_bytes = sum;
    profile->program.total.peak_ticks = time_ns;
    profile->has_program = true;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        profile->buckets[i].requested = profile->buckets[i].physical;
        profile->buckets[i].blocks = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
        timeline_bucket_forget_calls(&profile->buckets[i]);
    }
    profile->curve_count = profile->mapped_curve_count = 0;
}

static int profile_levels_take_resident(struct profile *profile)
{
    size_t first, count;
    const struct profile_sample *sample = profile_owners_sample(profile, &first, &count);
    if (!sample && profile_get(profile, PROFILE_META_JOB_RANKS))
        return profile_levels_refuse_job(MEMORY_RESIDENT);
    if (!sample)
        return error_set(-ENOENT, "this profile does not say whose the resident memory is: no look "
                                  "at the program's pages is in it");
    /* Of a job each rank's look is of its own moment. */
    struct figure time_ns = profile_is_job(profile) ? FIGURE_UNKNOWN : figure_of(sample->time_ns);
    struct profile_builder *builder = profile_builder_new(profile);
    int error = builder
                    ? profile_levels_fill_resident(profile, builder, profile->owners + first, count)
                    : 0;
    int built = profile_builder_free(builder);
    error = error ? error : built;
    if (!error)
        profile_levels_sum_resident(profile, time_ns);
    return error;
}

/* ---- Any ----------------------------------------------------------------------------------- */

bool profile_has_level(const struct profile *profile, enum memory_level level)
{
    size_t first, count;
    if (profile_get(profile, PROFILE_META_LEVEL) || profile_get(profile, PROFILE_META_REGION))
        return false;
    return level == MEMORY_HEAP       ? profile->has_program
           : level == MEMORY_RESIDENT ? profile_owners_sample(profile, &first, &count) != NULL
                                      : figure_known(profile->program.mapped.live_bytes);
}

const struct call_metrics *profile_heap_total(const struct profile *profile)
{
    return profile_get(profile, PROFILE_META_LEVEL) ? &profile->heap : &profile->program.total;
}

int profile_take_level(struct profile *profile, enum memory_level level)
{
    profile->heap = *profile_heap_total(profile);
    int error = level == MEMORY_HEAP     ? 0
                : level == MEMORY_MAPPED ? profile_levels_take_mapped(profile)
                : level == MEMORY_ALL    ? profile_levels_take_all(profile)
                                         : profile_levels_take_resident(profile);
    if (error || level == MEMORY_HEAP)
        return error;
    profile_levels_leave_out_blocks(profile);
    struct profile_builder *builder = profile_builder_new(profile);
    if (builder)
        profile_builder_fact(builder, PROFILE_META_LEVEL, memory_level_name(level));
    return profile_builder_free(builder);
}

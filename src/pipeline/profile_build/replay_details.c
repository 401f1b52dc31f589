/* Copies what a replay has beyond sums: marks, regions, curves, peaks, distributions
 * (replay_details.h). Each kind is an array that a visitor of the replay fills. Names and points
 * are offsets until their arrays no longer move. */
#include "profile_build/replay_details.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/memory.h"

struct replay_details_taking {
    struct details *details;
    struct clock_scale scale;
    uint64_t grain_ns; /* times of curves are multiples of it */
};

/* The next item of the array that the pointer at `array` points to. */
static void *details_next(void *array, size_t *count, size_t *room, size_t more, size_t size)
{
    char *items;
    array_need_room(array, room, *count + more, size);
    memcpy(&items, array, sizeof items);
    *count += more;
    return items + (*count - more) * size;
}

#define NEXT(details, what, more)                                                                  \
    details_next(&(details)->what##s, &(details)->what##_count, &(details)->what##_room, more,     \
                 sizeof *(details)->what##s)

/* ---- Taking -------------------------------------------------------------------------------- */

static void details_take_row(void *context, const struct distribution_row *row)
{
    const struct replay_details_taking *taking = context;
    struct distribution_row *taken = NEXT(taking->details, distribution, 1);
    *taken = *row;
    if (row->x == DISTRIBUTION_OTHERS)
        return;
    if (row->kind == DISTRIBUTION_LIFETIME || row->kind == DISTRIBUTION_LIFETIME_SIZE)
        taken->x = clock_span_ns(taking->scale, row->x);
    else if (row->kind == DISTRIBUTION_TIME_SIZE)
        taken->x = clock_moment_ns(taking->scale, row->x);
}

static bool details_is_same_bin(const struct distribution_row *a, const struct distribution_row *b)
{
    return a->kind == b->kind && a->x == b->x && a->y == b->y;
}

/* Joins bins that round to the same nanosecond: the shortest lifetimes are a few ticks. */
static void details_merge_bins(struct details *details)
{
    struct distribution_row *rows = details->distributions;
    size_t kept = 0;
    for (size_t i = 0; i < details->distribution_count; i++) {
        size_t same = kept;
        while (same > 0 && rows[same - 1].kind == rows[i].kind && rows[same - 1].x == rows[i].x &&
               !details_is_same_bin(&rows[same - 1], &rows[i]))
            same--;
        if (same > 0 && details_is_same_bin(&rows[same - 1], &rows[i])) {
            rows[same - 1].count += rows[i].count;
            rows[same - 1].bytes += rows[i].bytes;
        } else {
            rows[kept++] = rows[i];
        }
    }
    details->distribution_count = kept;
}

static void details_take_exchange(void *context, const struct exchange *exchange)
{
    const struct replay_details_taking *taking = context;
    *(struct exchange *)NEXT(taking->details, exchange, 1) = *exchange;
}

static void details_take_stack_peak(void *context, const struct stack_peak *peak)
{
    const struct replay_details_taking *taking = context;
    struct stack_peak *taken = NEXT(taking->details, stack_peak, 1);
    *taken = *peak;
    taken->ticks = clock_moment_ns(taking->scale, peak->ticks);
}

static void details_take_stack_layer(void *context, const struct stack_layer *layer)
{
    const struct replay_details_taking *taking = context;
    *(struct stack_layer *)NEXT(taking->details, stack_layer, 1) = *layer;
}

/* A point of a recording of pages is when a sample changed, and not when the program did. So its
 * time is rounded to a power of two below a 64th of the timeline's interval: half of the bytes of a
 * curve are such times. */
static uint64_t details_grain_ns(const struct replay *replay, struct clock_scale scale)
{
    uint64_t bucket_ticks, grain_ns = 1;
    size_t count;

    if (replay_knows_calls(replay))
        return 1;
    replay_timeline(replay, &count, &bucket_ticks);
    while (grain_ns * 128 <= clock_span_ns(scale, bucket_ticks))
        grain_ns *= 2;
    return grain_ns;
}

static void details_take_device_total(void *context, const struct device_total *total)
{
    const struct replay_details_taking *taking = context;
    struct device_total *taken = NEXT(taking->details, device_total, 1);
    *taken = *total;
    taken->peak_ticks = total->peak_bytes ? clock_moment_ns(taking->scale, total->peak_ticks) : 0;
}

static void details_take_device_site(void *context, const struct device_site *site)
{
    const struct replay_details_taking *taking = context;
    *(struct device_site *)NEXT(taking->details, device_site, 1) = *site;
}

static void details_take_device_level(void *context, const struct device_level *level)
{
    const struct replay_details_taking *taking = context;
    struct device_level *taken = NEXT(taking->details, device_level, 1);
    *taken = *level;
    taken->ticks = clock_moment_ns(taking->scale, level->ticks);
}

static const struct device_visitor details_device_visitor = {
    details_take_device_total, details_take_device_site, details_take_device_level};

/* Adds a point to the `count` that were kept. Of several with one rounded time the highest and the
 * last stay. Returns how many are kept now. */
static uint32_t details_keep_point(struct curve_point *points, uint32_t count,
                                   struct curve_point point)
{
    bool same = count && points[count - 1].ticks == point.ticks;
    if (same && count > 1 && points[count - 2].ticks == point.ticks)
        count--; /* the last so far, below the highest */
    if (same && points[count - 1].bytes <= point.bytes)
        count--;
    points[count] = point;
    return count + 1;
}

static void details_take_curve(void *context, const struct curve *curve)
{
    const struct replay_details_taking *taking = context;
    struct details *details = taking->details;
    size_t first = details->point_count;
    struct curve_point *points = NEXT(details, point, curve->count);
    struct curve *taken = NEXT(details, curve, 1);
    *taken = *curve;
    taken->count = 0;
    for (uint32_t i = 0; i < curve->count; i++) {
        uint64_t time_ns = clock_moment_ns(taking->scale, curve->points[i].ticks);
        struct curve_point point = {time_ns - time_ns % taking->grain_ns, curve->points[i].bytes};
        taken->count = details_keep_point(points, taken->count, point);
    }
    details->point_count = first + taken->count;
    taken->stretch_ticks = clock_span_ns(taking->scale, curve->stretch_ticks);
    taken->points = (const struct curve_point *)first; /* the array may still move */
}

static void details_take_peaks(const struct replay_details_taking *taking, struct replay *replay)
{
    struct details *details = taking->details;
    details->peak_count = replay_peaks(replay, details->peaks);
    for (size_t i = 0; i < details->peak_count; i++)
        details->peaks[i].ticks = clock_moment_ns(taking->scale, details->peaks[i].ticks);
}

/* ---- Marks and regions ---- */

/* The name's offset, in place of a pointer until `names` no longer moves. */
static const char *details_take_name(const struct replay_details_taking *taking,
                                     const struct replay *replay, uint32_t number)
{
    struct strbuf *names = &taking->details->names;
    size_t offset = names->length;
    strbuf_add_string(names, replay_name_of(replay, number));
    strbuf_add_char(names, '\0');
    return (const char *)offset;
}

static void details_take_marks(const struct replay_details_taking *taking,
                               const struct replay *replay)
{
    struct details *details = taking->details;
    const struct replay_mark *marks = replay_marks(replay, &details->mark_count);
    details->marks = memory_need(malloc(details->mark_count * sizeof *details->marks + 1));
    for (size_t i = 0; i < details->mark_count; i++)
        details->marks[i] =
            (struct profile_mark){.id = (uint32_t)i,
                                  .time_ns = clock_moment_ns(taking->scale, marks[i].ticks),
                                  .kind = (int)marks[i].kind,
                                  .name = details_take_name(taking, replay, marks[i].name),
                                  .thread = marks[i].thread,
                                  .live_bytes = marks[i].live_bytes,
                                  .live_count = marks[i].live_count};
}

static struct profile_region details_region_of(const struct replay_details_taking *taking,
                                               const struct replay *replay, uint32_t id,
                                               const struct replay_region *region)
{
    return (struct profile_region){
        .id = id,
        .name = details_take_name(taking, replay, region->name),
        .entered_count = region->entered_count,
        .unended_count = region->unended_count,
        .open_count = region->open_count,
        .time_ns = clock_span_ns(taking->scale, region->time_ticks),
        .first_ns = clock_moment_ns(taking->scale, region->first_ticks),
        .last_ns = clock_moment_ns(taking->scale, region->last_ticks),
        .peak_bytes = region->peak_bytes,
        .peak_ns = clock_moment_ns(taking->scale, region->peak_ticks),
        .left_bytes = region->left_bytes,
        .program_peak_bytes = region->program_peak_bytes,
        .program_peak_ns = clock_moment_ns(taking->scale, region->program_peak_ticks),
    };
}

static void details_take_regions(const struct replay_details_taking *taking,
                                 const struct replay *replay)
{
    struct details *details = taking->details;
    struct replay_region *regions = replay_regions(replay, &details->region_count);
    details->regions = memory_need(malloc(details->region_count * sizeof *details->regions + 1));
    for (size_t i = 0; i < details->region_count; i++)
        details->regions[i] = details_region_of(taking, replay, (uint32_t)i, &regions[i]);
    free(regions);
}

static void details_take_region_block(void *context, uint32_t first,
                                      struct replay_region_site *sites, size_t count)
{
    const struct replay_details_taking *taking = context;
    struct details *details = taking->details;
    struct details_block *block = NEXT(details, region_block, 1);
    for (size_t i = 0; i < count; i++)
        clock_metrics_to_ns(taking->scale, &sites[i].metrics);
    *block = (struct details_block){.first = first, .count = count, .body = details->bodies.length};
    profile_encode_region_sites(&details->bodies, sites, count);
    block->body_bytes = details->bodies.length - block->body;
}

static void details_name_all(struct details *details)
{
    for (size_t i = 0; i < details->mark_count; i++)
        details->marks[i].name = details->names.data + (size_t)details->marks[i].name;
    for (size_t i = 0; i < details->region_count; i++)
        details->regions[i].name = details->names.data + (size_t)details->regions[i].name;
}

void details_take(struct details *details, struct replay *replay, struct clock_scale scale)
{
    struct replay_details_taking taking = {details, scale, details_grain_ns(replay, scale)};
    *details = (struct details){.names = STRBUF_INIT, .bodies = STRBUF_INIT};
    details_take_marks(&taking, replay);
    details_take_regions(&taking, replay);
    details_name_all(details);
    replay_changed_region_blocks(replay, details_take_region_block, &taking);
    details->untold = replay_untold(replay);
    replay_distributions(replay, details_take_row, &taking);
    details_merge_bins(details);
    replay_exchanges(replay, details_take_exchange, &taking);
    replay_stacks(replay, details_take_stack_peak, details_take_stack_layer, &taking);
    replay_devices(replay, &details_device_visitor, &taking);
    replay_changed_curves(replay, details_take_curve, &taking);
    details_take_peaks(&taking, replay);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int details_write_curves(const struct details *details, struct profile_writer *profile)
{
    int status = 0;
    for (size_t i = 0; i < details->curve_count && status == 0; i++) {
        struct curve curve = details->curves[i];
        curve.points = details->points + (size_t)curve.points;
        status = profile_put_curve(profile, &curve);
    }
    return status;
}

static int details_write_untold(const struct details *details, struct profile_writer *profile)
{
    const struct {
        const char *key;
        uint64_t count;
    } facts[] = {{PROFILE_META_UNTOLD_MARKS, details->untold.marks},
                 {PROFILE_META_UNTOLD_REGIONS, details->untold.regions},
                 {PROFILE_META_UNMATCHED_ENDS, details->untold.ends}};
    int status = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && status == 0; i++)
        if (facts[i].count)
            status = profile_put_integer(profile, facts[i].key, (int64_t)facts[i].count);
    return status;
}

/* Writes marks and regions, if the program has any. */
static int details_write_said(const struct details *details, struct profile_writer *profile)
{
    int status = 0;
    if (details->mark_count)
        status = profile_put_marks(profile, details->marks, details->mark_count);
    if (details->region_count && status == 0)
        status = profile_put_regions(profile, details->regions, details->region_count);
    for (size_t i = 0; i < details->region_block_count && status == 0; i++) {
        const struct details_block *block = &details->region_blocks[i];
        status = profile_put_region_sites(profile, block->first, block->count,
                                          details->bodies.data + block->body, block->body_bytes);
    }
    return status == 0 ? details_write_untold(details, profile) : status;
}

/* Most programs have none, and their profiles have no rows of them. */
static int details_write_devices(const struct details *details, struct profile_writer *profile)
{
    const struct profile_devices devices = {details->device_totals, details->device_total_count,
                                            details->device_sites,  details->device_site_count,
                                            details->device_levels, details->device_level_count};
    return details->device_total_count ? profile_put_devices(profile, &devices) : 0;
}

int details_write(const struct details *details, struct profile_writer *profile)
{
    int status =
        profile_put_distributions(profile, details->distributions, details->distribution_count);
    if (status == 0)
        status = profile_put_peaks(profile, details->peaks, details->peak_count);
    if (status == 0)
        status = profile_put_exchanges(profile, details->exchanges, details->exchange_count);
    if (status == 0)
        status = profile_put_stacks(profile, details->stack_peaks, details->stack_peak_count,
                                    details->stack_layers, details->stack_layer_count);
    if (status == 0)
        status = details_write_devices(details, profile);
    if (status == 0)
        status = details_write_curves(details, profile);
    return status == 0 ? details_write_said(details, profile) : status;
}

void details_release(struct details *details)
{
    free(details->distributions);
    free(details->exchanges);
    free(details->stack_peaks);
    free(details->stack_layers);
    free(details->device_totals);
    free(details->device_sites);
    free(details->device_levels);
    free(details->curves);
    free(details->points);
    free(details->marks);
    free(details->regions);
    free(details->region_blocks);
    strbuf_release(&details->names);
    strbuf_release(&details->bodies);
    *details = (struct details){.names = STRBUF_INIT, .bodies = STRBUF_INIT};
}

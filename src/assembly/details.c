#include "assembly/details.h"

#include <stdlib.h>
#include <string.h>

struct taking {
    struct details *details;
    struct clock_scale scale;
};

/* The next item of the array that the pointer at `array` points to. */
static void *next(void *array, size_t *count, size_t *room, size_t more, size_t size)
{
    void *items;
    memcpy(&items, array, sizeof items);
    if (*count + more > *room) {
        *room = 2 * (*count + more);
        items = realloc(items, *room * size);
        if (!items)
            abort(); /* as the replay does: a profile that lacks some of it would be a lie */
        memcpy(array, &items, sizeof items);
    }
    void *item = (char *)items + *count * size;
    *count += more;
    return item;
}

#define NEXT(details, what, more)                                                                  \
    next(&(details)->what##s, &(details)->what##_count, &(details)->what##_room, more,             \
         sizeof *(details)->what##s)

/* ---- Taking -------------------------------------------------------------------------------- */

static void take_row(void *context, const struct distribution_row *row)
{
    const struct taking *taking = context;
    struct distribution_row *taken = NEXT(taking->details, distribution, 1);
    *taken = *row;
    if (row->x == DISTRIBUTION_OTHERS)
        return;
    if (row->kind == DISTRIBUTION_LIFETIME || row->kind == DISTRIBUTION_LIFETIME_SIZE)
        taken->x = clock_span_ns(taking->scale, row->x);
    else if (row->kind == DISTRIBUTION_TIME_SIZE)
        taken->x = clock_moment_ns(taking->scale, row->x);
}

static bool is_same_bin(const struct distribution_row *a, const struct distribution_row *b)
{
    return a->kind == b->kind && a->x == b->x && a->y == b->y;
}

/* The shortest lifetimes are a few ticks: what rounds to the same nanosecond is one bin. */
static void merge_bins(struct details *details)
{
    struct distribution_row *rows = details->distributions;
    size_t kept = 0;
    for (size_t i = 0; i < details->distribution_count; i++) {
        size_t same = kept;
        while (same > 0 && rows[same - 1].kind == rows[i].kind && rows[same - 1].x == rows[i].x &&
               !is_same_bin(&rows[same - 1], &rows[i]))
            same--;
        if (same > 0 && is_same_bin(&rows[same - 1], &rows[i])) {
            rows[same - 1].count += rows[i].count;
            rows[same - 1].bytes += rows[i].bytes;
        } else {
            rows[kept++] = rows[i];
        }
    }
    details->distribution_count = kept;
}

static void take_exchange(void *context, const struct exchange *exchange)
{
    const struct taking *taking = context;
    *(struct exchange *)NEXT(taking->details, exchange, 1) = *exchange;
}

static void take_stack_peak(void *context, const struct stack_peak *peak)
{
    const struct taking *taking = context;
    struct stack_peak *taken = NEXT(taking->details, stack_peak, 1);
    *taken = *peak;
    taken->ticks = clock_moment_ns(taking->scale, peak->ticks);
}

static void take_stack_layer(void *context, const struct stack_layer *layer)
{
    const struct taking *taking = context;
    *(struct stack_layer *)NEXT(taking->details, stack_layer, 1) = *layer;
}

static void take_curve(void *context, const struct curve *curve)
{
    const struct taking *taking = context;
    size_t first = taking->details->point_count;
    struct curve_point *points = NEXT(taking->details, point, curve->count);
    for (uint32_t i = 0; i < curve->count; i++)
        points[i] = (struct curve_point){clock_moment_ns(taking->scale, curve->points[i].ticks),
                                         curve->points[i].bytes};
    struct curve *taken = NEXT(taking->details, curve, 1);
    *taken = *curve;
    taken->points = (const struct curve_point *)first; /* the array may still move */
}

static void take_peaks(const struct taking *taking, struct replay *replay)
{
    struct details *details = taking->details;
    details->peak_count = replay_peaks(replay, details->peaks);
    for (size_t i = 0; i < details->peak_count; i++)
        details->peaks[i].ticks = clock_moment_ns(taking->scale, details->peaks[i].ticks);
}

void details_take(struct details *details, struct replay *replay, struct clock_scale scale)
{
    struct taking taking = {details, scale};
    *details = (struct details){0};
    replay_distributions(replay, take_row, &taking);
    merge_bins(details);
    replay_exchanges(replay, take_exchange, &taking);
    replay_stacks(replay, take_stack_peak, take_stack_layer, &taking);
    replay_changed_curves(replay, take_curve, &taking);
    take_peaks(&taking, replay);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int write_curves(const struct details *details, struct profile_writer *profile)
{
    int status = 0;
    for (size_t i = 0; i < details->curve_count && status == 0; i++) {
        struct curve curve = details->curves[i];
        curve.points = details->points + (size_t)curve.points;
        status = profile_put_curve(profile, &curve);
    }
    return status;
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
    return status == 0 ? write_curves(details, profile) : status;
}

void details_release(struct details *details)
{
    free(details->distributions);
    free(details->exchanges);
    free(details->stack_peaks);
    free(details->stack_layers);
    free(details->curves);
    free(details->points);
    *details = (struct details){0};
}

/* What a replay has beyond sums, at one moment. It is copied while the replay stands still, with
 * times in nanoseconds since the start, and written while the replay goes on. Of the curves of call
 * paths only those are copied that have changed since the last time. */
#ifndef TIDEMARK_PROFILE_BUILD_REPLAY_DETAILS_H
#define TIDEMARK_PROFILE_BUILD_REPLAY_DETAILS_H

#include <stddef.h>
#include <stdint.h>
#include "profile_build/clock.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "replay/replay.h"

struct details {
    struct distribution_row *distributions;
    size_t distribution_count, distribution_room;
    struct exchange *exchanges;
    size_t exchange_count, exchange_room;
    struct curve *curves; /* their points lie in `points`, from index (size_t)curve.points on */
    size_t curve_count, curve_room;
    struct curve_point *points;
    size_t point_count, point_room;
    struct stack_peak *stack_peaks;
    size_t stack_peak_count, stack_peak_room;
    struct stack_layer *stack_layers;
    size_t stack_layer_count, stack_layer_room;
    struct device_total *device_totals;
    size_t device_total_count, device_total_room;
    struct device_site *device_sites;
    size_t device_site_count, device_site_room;
    struct device_level *device_levels;
    size_t device_level_count, device_level_room;
    struct peak peaks[PEAKS_MAX];
    size_t peak_count;
    struct profile_mark *marks;     /* their names lie in `names`, from offset (size_t)name on */
    struct profile_region *regions; /* likewise */
    size_t mark_count, region_count;
    struct strbuf names;
    /* The call paths of regions that have changed, in blocks of REPLAY_BLOCK_SITES. */
    struct details_block {
        uint32_t first;
        size_t count, body, body_bytes; /* in `bodies` */
    } * region_blocks;
    size_t region_block_count, region_block_room;
    struct strbuf bodies;
    struct replay_untold untold;
};

/* Out of memory ends the process, as it does the replay. By the thread that replays. */
void details_take(struct details *details, struct replay *replay, struct clock_scale scale);
/* 0 or -errno of the profile. */
int details_write(const struct details *details, struct profile_writer *profile);
void details_release(struct details *details);

#endif

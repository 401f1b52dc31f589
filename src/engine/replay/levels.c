/* The rare part after an event: the level has left the quiet range, or a new interval of the
 * timeline begins. The functions compare the level with the interval's extremes and with the peaks,
 * and set the range of levels that change neither. */
#include "replay/life.h"

/* The range of levels that the interval has had already. */
static struct quiet levels_quiet_of(const struct interval_level *level)
{
    return (struct quiet){level->min, level->max};
}

/* The part of that range which does not change the peaks either. */
static struct quiet levels_quiet_for_both(const struct interval_level *level,
                                          const struct peaks *peaks)
{
    uint64_t low = level->min > peaks->low ? level->min : peaks->low;
    uint64_t high = peaks->low + peaks->span < level->max ? peaks->low + peaks->span : level->max;

    return (struct quiet){low, high};
}

/* While the peaks rise, a fall to more than turn_bytes moves the lower end of their band, and
 * changes nothing else. */
static struct quiet levels_quiet_but_for_valley(const struct interval_level *level,
                                                const struct peaks *peaks)
{
    struct quiet quiet = levels_quiet_for_both(level, peaks);

    if (peaks->rising)
        quiet.low = level->min > peaks->turn_bytes ? level->min : peaks->turn_bytes + 1;
    return quiet;
}

/* The part of a quiet range which changes no extreme of blocks and mappings together. */
static struct quiet levels_quiet_with_mapped(struct quiet quiet, const struct interval_level *all,
                                             uint64_t mapped_bytes)
{
    uint64_t low = all->min > mapped_bytes ? all->min - mapped_bytes : 0;
    uint64_t high = all->max - mapped_bytes;

    if (low < quiet.low)
        low = quiet.low;
    if (high > quiet.high)
        high = quiet.high;
    return (struct quiet){low, high};
}

/* The range, or the empty one where the level is not in it. */
static struct quiet levels_quiet_at(struct quiet quiet, uint64_t level)
{
    return life_is_quiet(&quiet, level) ? quiet : QUIET_NEVER;
}

/* The comparisons that are made only while a region is open or a peak is watched. They empty the
 * quiet ranges, so that each step comes here. */
static void levels_watch(struct replay *replay)
{
    struct replay_thread *thread = replay->running;

    if (replay->regions.open_count)
        regions_see_level(&replay->regions, replay->live_bytes, replay->last_ticks);
    if (replay->live_bytes > replay->watched_peak_bytes)
        replay->watched_peak_bytes = replay->live_bytes;
    if (thread && thread->counts.live_bytes > thread->watched_peak_bytes)
        thread->watched_peak_bytes = thread->counts.live_bytes;
    life_listen_to_levels(replay);
}

static void levels_set_quiet(struct replay *replay, const struct interval *bucket)
{
    struct quiet quiet = levels_quiet_but_for_valley(&bucket->requested, &replay->peaks);

    if (replay->timeline.is_mapped)
        quiet = levels_quiet_with_mapped(quiet, &bucket->all, replay->timeline.mapped_bytes);
    replay->valley_least = quiet.low;
    if (quiet.low < replay->peaks.low)
        quiet.low = replay->peaks.low;
    replay->quiet_bytes = levels_quiet_at(quiet, replay->live_bytes);
    replay->quiet_count = levels_quiet_at(levels_quiet_of(&bucket->blocks), replay->live_count);
}

/* A new program peak is above all levels that the interval has had, so it is never in the quiet
 * range. */
void levels_changed(struct replay *replay)
{
    struct interval *bucket = timeline_current(&replay->timeline);

    timeline_level_see(&bucket->requested, replay->live_bytes);
    timeline_level_see(&bucket->blocks,
                       replay_state_live_blocks(replay, replay_state_mode_of(replay)));
    if (replay->live_count > replay->program.live_peak_count)
        replay->program.live_peak_count = replay->live_count;
    peaks_see(&replay->peaks, replay_state_peaks_view(replay), replay->live_bytes,
              replay->last_ticks, replay->program.events);
    if (replay->live_bytes > replay->peak_bytes) {
        replay->peak_bytes = replay->live_bytes;
        replay->peak_ticks = replay->last_ticks;
        sites_peak(&replay->sites);
    }
    if (replay->timeline.is_mapped)
        mapped_see_all(replay);
    levels_set_quiet(replay, bucket);
    if (replay->regions.open_count || replay->is_watched)
        levels_watch(replay);
}

void levels_site_bends(struct replay *replay, uint32_t site)
{
    struct curve_band band = curves_see(&replay->curves, &replay->sites, site, replay->last_ticks);

    site_crest(&replay->sites, site, band.low, band.high, replay->last_ticks);
}

void levels_site_stirs(struct replay *replay, uint32_t site)
{
    if (!site_crests_below(&replay->sites, site, CURVE_THRESHOLD_BYTES, replay->last_ticks))
        levels_site_bends(replay, site);
}

void levels_begin_interval(struct replay *replay)
{
    timeline_advance(&replay->timeline, replay->last_ticks, replay->live_bytes,
                     replay_state_live_blocks(replay, replay_state_mode_of(replay)));
    if (replay->curves.is_brief)
        replay->curves.is_brief = replay->timeline.shift < replay->timeline.brief_shift + 2;
    distributions_advance(replay->distributions, replay->last_ticks);
    life_listen_to_levels(replay);
}

void levels_take_time(struct replay *replay, uint64_t ticks)
{
    if (ticks < replay->last_ticks)
        replay->program.late_events++;
    else
        replay->last_ticks = ticks;
    if (replay->last_ticks >= replay->timeline.end_ticks)
        levels_begin_interval(replay);
}

/* Levels, and time: what is seldom done after an event. */
#include "replay/life.h"

/* What the interval has seen. */
static struct quiet quiet_of(const struct timeline_level *level)
{
    return (struct quiet){level->min, level->max - level->min + 1};
}

/* And what says nothing new to the peaks. */
static struct quiet quiet_for_both(const struct timeline_level *level, const struct peaks *peaks)
{
    uint64_t low = level->min > peaks->low ? level->min : peaks->low;
    uint64_t high = peaks->low + peaks->span < level->max ? peaks->low + peaks->span : level->max;

    return (struct quiet){low, high - low + 1};
}

/* What is looked at only while somebody wants it. */
static void watch_levels(struct replay *replay)
{
    struct thread *thread = replay->running;

    if (replay->regions.open_count)
        regions_see_level(&replay->regions, replay->live_bytes, replay->last_ticks);
    if (replay->live_bytes > replay->watched_peak_bytes)
        replay->watched_peak_bytes = replay->live_bytes;
    if (thread && thread->metrics.live_bytes > thread->watched_peak_bytes)
        thread->watched_peak_bytes = thread->metrics.live_bytes;
    listen_to_levels(replay);
}

/* A new peak is above all of the interval's levels, so that what is quiet here is none. */
void levels_changed(struct replay *replay)
{
    struct timeline_bucket *bucket = timeline_current(&replay->timeline);

    timeline_level_see(&bucket->requested, replay->live_bytes);
    timeline_level_see(&bucket->blocks, live_blocks(replay, mode_of(replay)));
    if (replay->live_count > replay->program.live_peak_count)
        replay->program.live_peak_count = replay->live_count;
    peaks_see(&replay->peaks, peaks_view(replay), replay->live_bytes, replay->last_ticks,
              replay->program.events);
    if (replay->live_bytes > replay->peak_bytes) {
        replay->peak_bytes = replay->live_bytes;
        replay->peak_ticks = replay->last_ticks;
        sites_peak(&replay->sites);
    }
    replay->quiet_bytes = quiet_for_both(&bucket->requested, &replay->peaks);
    replay->quiet_count = quiet_of(&bucket->blocks);
    if (replay->regions.open_count || replay->is_watched)
        watch_levels(replay);
}

void site_stirs(struct replay *replay, uint32_t site)
{
    struct curve_band band =
        curves_see(&replay->curves, &replay->sites, site, replay->last_ticks);

    site_crest(&replay->sites, site, band.low, band.high, replay->last_ticks);
}

void begin_interval(struct replay *replay)
{
    timeline_advance(&replay->timeline, replay->last_ticks, replay->live_bytes,
                     live_blocks(replay, mode_of(replay)));
    distributions_advance(replay->distributions, replay->last_ticks);
    listen_to_levels(replay);
}

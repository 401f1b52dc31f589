/* What is rare of plain records, and so is not inlined: a free of another thread's block, the end
 * of a rise, a level that leaves its quiet range, a path whose figures need more than 32 bits. Each
 * function does what life.h and levels.c do for all records (plain_steps.h). */
#include "replay/plain_steps.h"

#define COUNTER(name) (uint8_t) offsetof(struct thread_counts, name)
const uint8_t plain_counters[256] = {
    [WIRE_MALLOC] = COUNTER(malloc_count),
    [WIRE_CALLOC] = COUNTER(calloc_count),
    [WIRE_NEW] = COUNTER(new_count),
    [WIRE_NEW_ARRAY] = COUNTER(new_count),
};

void plain_free_rarely(struct replay *replay, struct live_block *slot, uint64_t address,
                       uint64_t ticks)
{
    struct live_block block = *slot;
    struct wire_record record = {.kind_address = (uint64_t)WIRE_FREE << 56 | address,
                                 .ticks = ticks};

    block.address = address;
    life_take_time(replay, ticks);
    steps_free_taken(replay, &record, &block, EVERY);
}

void plain_end_rise(struct replay *replay)
{
    if (!replay->is_rising)
        return;
    replay->is_rising = false;
    levels_changed(replay);
}

bool plain_ends_rise(struct replay *replay)
{
    plain_end_rise(replay);
    return !replay->owed.count;
}

void plain_take_rare_time(struct replay *replay, uint64_t ticks)
{
    plain_end_rise(replay);
    levels_take_time(replay, ticks);
}

/* Is this a high-water mark of the program's above another one, and changes nothing but itself? If
 * a peak of before is still to be read (global_bytes), or levels are watched, it is not. */
static bool plain_may_rise(const struct replay *replay)
{
    const struct peaks *peaks = &replay->peaks;

    return replay->live_bytes > replay->peak_bytes && peaks->rising &&
           peaks->crest_bytes == replay->peak_bytes && peaks->global_bytes == UINT64_MAX &&
           replay->quiet_bytes.low <= replay->quiet_bytes.high;
}

void plain_rise(struct replay *replay)
{
    if (!plain_may_rise(replay)) {
        levels_changed(replay);
        return;
    }
    replay->is_rising = true;
    replay->quiet_bytes.high = replay->quiet_count.high = UINT64_MAX;
}

void plain_fall(struct replay *replay)
{
    struct peaks *peaks = &replay->peaks;
    uint64_t high = peaks->low + peaks->span, level = replay->live_bytes;

    if (level < replay->valley_least || replay->live_count < replay->quiet_count.low ||
        replay->quiet_bytes.low > replay->quiet_bytes.high || !peaks->rising) {
        levels_changed(replay);
        return;
    }
    peaks->valley_bytes = peaks->low = replay->quiet_bytes.low = level;
    peaks->span = high - level;
}

void plain_begin_at_full_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack)
{
    site_born(&replay->sites, site, size, (struct weight){1, size, slack, 0});
    life_look_at_site(replay, site);
}

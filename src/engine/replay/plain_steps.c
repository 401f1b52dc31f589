/* What is rare of plain records, and so is not inlined: a free of another thread's block, the end
 * of a rise, a level that leaves its quiet range, a path whose figures need more than 32 bits. Each
 * function does what life.h and levels.c do for all records (plain_steps.h). */
#include <string.h>
#include "replay/plain_steps.h"

/* ---- Sums ---------------------------------------------------------------------------------- */

static uint64_t plain_thread_bytes(const struct replay *replay)
{
    return replay->running->counts.live_bytes + replay->live_bytes - replay->plain.first_bytes;
}

static uint64_t plain_not_pending(uint64_t count, uint64_t pending_count)
{
    return count > pending_count ? count - pending_count : 0;
}

/* Sets the limits from the rises, the quiet ranges, and from the thread's high-water mark. */
static void plain_listen(struct replay *replay)
{
    struct plain_sums *plain = &replay->plain;
    uint64_t pending = plain->pending_count;
    uint64_t room = replay->running->counts.peak_bytes - plain_thread_bytes(replay);

    plain->frees_until = plain->rises ? 0 : replay->timeline.end_ticks;
    plain->low = replay->quiet_bytes.low;
    plain->high = replay->quiet_bytes.high;
    if (!(plain->rises & RISE_OF_THREAD) && room < plain->high - replay->live_bytes)
        plain->high = replay->live_bytes + room;
    plain->count_low = replay->quiet_count.low == UINT64_MAX
                           ? UINT64_MAX
                           : plain_not_pending(replay->quiet_count.low, pending);
    plain->count_high = plain_not_pending(replay->quiet_count.high, pending);
}

static void plain_settle_at_thread(struct thread_counts *counts, const struct plain_sums *plain,
                                   uint64_t births, uint64_t born_bytes)
{
    counts->alloc_count += births;
    counts->alloc_bytes += born_bytes;
    counts->malloc_count += plain->births[0];
    counts->calloc_count += plain->births[WIRE_CALLOC - WIRE_MALLOC];
    counts->new_count +=
        plain->births[WIRE_NEW - WIRE_MALLOC] + plain->births[WIRE_NEW_ARRAY - WIRE_MALLOC];
    counts->free_bytes += plain->freed_bytes;
    counts->live_bytes += born_bytes - plain->freed_bytes;
}

static void plain_count_live(struct replay *replay)
{
    replay->live_count = replay->live.count + replay->plain.pending_count;
}

/* The key of no slot of the thread's, if its newest block is wide, or it has none. */
static uint64_t plain_newest_key(const struct replay *replay)
{
    uint64_t address = replay->running->newest_address;

    return address >> LIVE_ADDRESS_BITS ? LIVE_HIGH_KEY : replay->running_key | address;
}

/* An address with more bits stays the newest one, if none has been born since. */
static uint64_t plain_newest_address(const struct replay *replay)
{
    return replay->plain.newest_key == LIVE_HIGH_KEY ? replay->running->newest_address
                                                     : replay->plain.newest_key & LIVE_ADDRESS_MASK;
}

static uint64_t plain_births(const struct plain_sums *plain)
{
    uint64_t births = 0;

    for (size_t kind = 0; kind < PLAIN_KINDS; kind++)
        births += plain->births[kind];
    return births;
}

static uint64_t plain_frees(const struct replay *replay)
{
    return plain_births(&replay->plain) + replay->plain.first_count - replay->live.count;
}

static void plain_count_events(struct replay *replay)
{
    const struct plain_sums *plain = &replay->plain;

    replay->program.events = plain->first_events + plain_births(plain) + plain_frees(replay);
}

static void plain_settle(struct replay *replay)
{
    struct plain_sums *plain = &replay->plain;
    struct interval *bucket = timeline_current(&replay->timeline);
    uint64_t births = plain_births(plain), frees = plain_frees(replay);
    uint64_t born_bytes = replay->live_bytes - plain->first_bytes + plain->freed_bytes;

    plain_count_events(replay);
    plain_settle_at_thread(&replay->running->counts, plain, births, born_bytes);
    replay->running->counts.free_count += frees;
    replay->running->newest_address = plain_newest_address(replay);
    bucket->alloc_count += births;
    bucket->alloc_bytes += born_bytes;
    bucket->free_count += frees;
    bucket->free_bytes += plain->freed_bytes;
    plain_count_live(replay);
    plain->first_events = replay->program.events;
    plain->first_bytes = replay->live_bytes;
    plain->freed_bytes = 0;
    plain->first_count = replay->live.count;
    memset(plain->births, 0, sizeof plain->births);
}

void plain_enter(struct replay *replay)
{
    struct plain_sums *plain = &replay->plain;

    plain->is_on = true;
    plain->pending_count = replay->live_count - replay->live.count;
    plain->newest_key = plain_newest_key(replay);
    plain->first_events = replay->program.events;
    plain->first_bytes = replay->live_bytes;
    plain->first_count = replay->live.count;
    plain->rises = replay->owed.count ? PLAIN_OWES : 0;
    plain_listen(replay);
}

/* levels_changed(), which reads the thread's live bytes only where levels are watched. */
static void plain_see_levels(struct replay *replay)
{
    plain_count_live(replay);
    plain_count_events(replay);
    if (replay->is_watched)
        plain_settle(replay);
    levels_changed(replay);
}

static void plain_end_rise(struct replay *replay)
{
    unsigned rises = replay->plain.rises & (RISE_OF_PROGRAM | RISE_OF_THREAD);
    struct thread_counts *counts = &replay->running->counts;

    if (!rises)
        return;
    replay->plain.rises &= PLAIN_OWES;
    if (rises & RISE_OF_THREAD) {
        counts->peak_bytes = plain_thread_bytes(replay);
        counts->peak_ticks = replay->last_ticks;
    }
    if (rises & RISE_OF_PROGRAM)
        plain_see_levels(replay);
    plain_listen(replay);
}

void plain_leave(struct replay *replay)
{
    if (!replay->plain.is_on)
        return;
    plain_end_rise(replay);
    plain_settle(replay);
    replay->plain.is_on = false;
}

/* ---- What is rare -------------------------------------------------------------------------- */

/* The sums stay as they are: what steps.h counts is taken out of the difference to when all was
 * settled. */
void plain_free_rarely(struct replay *replay, struct live_slot *slot, uint64_t ticks)
{
    struct plain_sums *plain = &replay->plain;
    struct live_block block = live_table_read(&replay->live, slot);
    struct wire_record record = {.kind_address = (uint64_t)WIRE_FREE << 56 | block.address,
                                 .ticks = ticks};

    live_table_empty(&replay->live, slot);
    replay->last_ticks = ticks;
    plain->first_events++;
    plain->first_count--;
    plain_count_events(replay);
    if (replay->is_watched)
        plain_settle(replay);
    plain_count_live(replay);
    replay->live_count++; /* it was taken out of the table already */
    replay->running->newest_address = plain_newest_address(replay);
    plain->first_bytes -= replay->live_bytes;
    steps_free_taken(replay, &record, &block, EVERY);
    plain->first_bytes += replay->live_bytes;
    plain->newest_key = plain_newest_key(replay);
    plain_listen(replay);
}

bool plain_ends_rise(struct replay *replay)
{
    plain_end_rise(replay);
    return !(replay->plain.rises & PLAIN_OWES);
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

static void plain_raise_program(struct replay *replay)
{
    if (!plain_may_rise(replay)) {
        plain_see_levels(replay);
        return;
    }
    replay->plain.rises |= RISE_OF_PROGRAM;
    replay->quiet_bytes.high = replay->quiet_count.high = UINT64_MAX;
}

void plain_rise(struct replay *replay)
{
    plain_count_live(replay);
    if (replay->live_bytes > replay->quiet_bytes.high ||
        replay->live_count > replay->quiet_count.high)
        plain_raise_program(replay);
    if (plain_thread_bytes(replay) > replay->running->counts.peak_bytes)
        replay->plain.rises |= RISE_OF_THREAD;
    plain_listen(replay);
}

void plain_fall(struct replay *replay)
{
    struct peaks *peaks = &replay->peaks;
    uint64_t high = peaks->low + peaks->span, level = replay->live_bytes;

    plain_count_live(replay);
    if (level < replay->valley_least || replay->live_count < replay->quiet_count.low ||
        replay->quiet_bytes.low > replay->quiet_bytes.high || !peaks->rising) {
        plain_see_levels(replay);
        plain_listen(replay);
        return;
    }
    peaks->valley_bytes = peaks->low = replay->quiet_bytes.low = replay->plain.low = level;
    peaks->span = high - level;
}

void plain_begin_at_full_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack)
{
    site_born(&replay->sites, site, size, (struct weight){1, size, slack, 0});
    life_look_at_site(replay, site);
}

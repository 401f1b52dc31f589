/* Every rule of the replay, one test each. Call paths are P and Q, addresses X, Y and Z; time
 * passes by one tick per event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "accounting/replay_threads.h"
#include "replay/replay.h"
#include "replay_numbers.h"
#include "records.h"

enum { P = 5, Q = 9, R = 70000 };
enum { X = 0x1000, Y = 0x2000, Z = 0x3000 };
enum { ONE, TWO }; /* threads */

#define START 100

static struct replay *replay;
static uint64_t ticks;

/* All sites that were ever visited, as they were then, and those that were new or other at the last
 * visit. */
static struct replay_site known[16], visited[16];
static size_t known_count, visited_count;

static int begin(void **state)
{
    (void)state;
    known_count = 0;
    replay = replay_new(START, 1.0);
    replay_thread_begin(replay, 11, START);
    replay_thread_begin(replay, 12, START);
    ticks = START;
    return 0;
}

static int end(void **state)
{
    (void)state;
    replay_free(replay);
    return 0;
}

/* ---- Events -------------------------------------------------------------------------------- */

static void feed(uint32_t thread, struct wire_record record)
{
    char bytes[32];

    replay_records(replay, thread, bytes, record_write(bytes, &record));
}

static void feed_long(uint32_t thread, unsigned kind, uint64_t address, uint64_t size,
                      uint32_t node)
{
    feed(thread, record_long(kind, ++ticks, address, size, wire_detail(node, 4, 0)));
}

static void allocate(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    feed_long(thread, WIRE_MALLOC, address, size, node);
}

static void release(uint32_t thread, uint64_t address)
{
    feed(thread, record_short(WIRE_FREE, ++ticks, address));
}

/* These pass no time, so all is in one interval of the timeline. Of the last one both records come
 * at once, and can be replayed as one. */
static void allocate_now(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    feed(thread, record_long(WIRE_MALLOC, ticks, address, size, wire_detail(node, 4, 0)));
}

static void release_now(uint32_t thread, uint64_t address)
{
    feed(thread, record_short(WIRE_FREE, ticks, address));
}

static void allocate_and_release(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    struct wire_record born =
        record_long(WIRE_MALLOC, ticks, address, size, wire_detail(node, 4, 0));
    struct wire_record ended = record_short(WIRE_FREE, ticks, address);
    char bytes[64];
    size_t used = record_write(bytes, &born);

    used += record_write(bytes + used, &ended);
    replay_records(replay, thread, bytes, used);
}

static void release_late(uint32_t thread, uint64_t address, uint64_t at_ticks)
{
    feed(thread, record_short(WIRE_FREE, at_ticks, address));
}

static void realloc_begin(uint32_t thread, uint64_t address)
{
    feed(thread, record_short(WIRE_REALLOC_BEGIN, ++ticks, address));
}

static void realloc_end(uint32_t thread, uint64_t address, uint64_t size, uint32_t node)
{
    feed_long(thread, WIRE_REALLOC_END, address, size, node);
}

static void realloc_fails(uint32_t thread, uint64_t size, uint32_t node)
{
    feed_long(thread, WIRE_REALLOC_END | WIRE_FAILED, 0, size, node);
}

/* ---- Results ------------------------------------------------------------------------------- */

static void note_site(size_t number, const struct replay_site *site)
{
    if (number < known_count &&
        memcmp(&known[number].metrics, &site->metrics, sizeof(site->metrics)) == 0)
        return;
    if (number >= known_count)
        known_count = number + 1;
    known[number] = visited[visited_count++] = *site;
}

static void note_block(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)context;
    assert_in_range(first + count, 1, 16);
    for (size_t i = 0; i < count; i++)
        note_site(first + i, &sites[i]);
}

/* Returns the number of paths that have changed. */
static size_t visit(void)
{
    size_t blocks;

    visited_count = 0;
    blocks = replay_changed_blocks(replay, note_block, NULL);
    assert_int_equal(blocks, visited_count > 0); /* one, and only if something has changed */
    return visited_count;
}

/* Valid for a path that has changed since the last visit. */
static const struct call_numbers *path(uint32_t node)
{
    static const struct call_numbers nothing;

    visit();
    for (size_t i = 0; i < visited_count; i++)
        if (visited[i].node == node)
            return call_numbers_of(&visited[i].metrics);
    return &nothing;
}

static struct program_numbers program(void)
{
    struct program_numbers out;

    numbers_program(replay, &out);
    return out;
}

/* ---- Allocations and frees ----------------------------------------------------------------- */

static void every_kind_of_allocation_is_one(void **state)
{
    static const unsigned kinds[] = {WIRE_MALLOC, WIRE_CALLOC, WIRE_ALIGNED, WIRE_NEW,
                                     WIRE_NEW_ARRAY};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        feed_long(ONE, kinds[i], X + i * 16, 10, P);
    assert_int_equal(program().total.alloc_count, 5);
    assert_int_equal(program().total.alloc_bytes, 50);
    assert_int_equal(path(P)->live_count, 5);
}

static void a_free_counts_where_the_block_was_allocated(void **state)
{
    const struct call_numbers *metrics;

    (void)state;
    allocate(ONE, X, 100, P);
    feed_long(TWO, WIRE_FREE_AT, X, 0, Q);
    metrics = path(P);
    assert_int_equal(metrics->free_count, 1);
    assert_int_equal(metrics->free_bytes, 100);
    assert_int_equal(metrics->live_count, 0);
    assert_int_equal(metrics->lifetime_min, 1);
    assert_int_equal(metrics->lifetime_sum, 1);
    assert_int_equal(numbers_thread(replay, TWO).free_bytes, 100);
}

static void free_from(uint32_t thread, uint64_t address, uint32_t node)
{
    feed_long(thread, WIRE_FREE_AT, address, 0, node);
}

static void a_free_counts_where_it_was_made_too(void **state)
{
    (void)state;
    replay_know_frees(replay);
    allocate(ONE, X, 100, P);
    allocate(ONE, Y, 30, P);
    free_from(ONE, X, Q);
    free_from(ONE, Y, R);
    assert_int_equal(path(Q)->freed_count, 1);
    free_from(ONE, 0, Q);
    assert_int_equal(visit(), 0);
    allocate(TWO, X, 5, P);
    free_from(ONE, X, Q);
    visit();
    assert_int_equal(visited_count, 2);
    assert_int_equal(visited[1].node, Q);
    assert_int_equal(number_of(visited[1].metrics.freed_count), 2);
    assert_int_equal(number_of(visited[1].metrics.freed_bytes), 105);
    assert_int_equal(number_of(visited[1].metrics.freed_elsewhere_count), 1);
    assert_int_equal(number_of(visited[1].metrics.freed_lifetime_sum), 3);
    assert_int_equal(number_of(visited[1].metrics.free_count), 0);
    assert_int_equal(number_of(visited[0].metrics.freed_count), 0);
    assert_int_equal(program().total.freed_count, 3);
    assert_int_equal(program().total.freed_bytes, 135);
    assert_int_equal(program().total.free_bytes, 135);
}

static void a_free_that_ends_no_life_counts_nowhere(void **state)
{
    (void)state;
    replay_know_frees(replay);
    free_from(ONE, X, Q);
    assert_int_equal(program().foreign_frees, 1);
    assert_int_equal(visit(), 0);
    /* A free that is owed was somebody's, but nobody knows when. */
    feed(ONE, record_long(WIRE_MALLOC, ticks += 10, X, 8, wire_detail(P, 0, 0)));
    feed(ONE, record_long(WIRE_MALLOC, ticks += 10, X, 8, wire_detail(P, 0, 0)));
    feed(TWO, record_long(WIRE_FREE_AT, ticks - 5, X, 0, wire_detail(Q, 0, 0)));
    assert_int_equal(program().replaced_blocks, 0);
    assert_int_equal(program().total.free_count, 1);
    assert_int_equal(program().total.freed_count, 0);
    assert_int_equal(path(Q)->freed_count, 0);
}

static void a_realloc_to_nothing_frees_but_one_to_something_does_not(void **state)
{
    (void)state;
    replay_know_frees(replay);
    allocate(ONE, X, 100, P);
    realloc_begin(TWO, X);
    realloc_end(TWO, Y, 50, Q);
    assert_int_equal(path(Q)->freed_count, 0);
    realloc_begin(ONE, Y);
    realloc_end(ONE, 0, 0, R);
    assert_int_equal(path(R)->freed_count, 1);
    assert_int_equal(program().total.freed_bytes, 50);
    assert_int_equal(program().total.freed_elsewhere_count, 1);
    assert_int_equal(program().total.freed_lifetime_sum, 2);
}

static void without_free_stacks_it_is_not_known_where_memory_was_freed(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    free_from(ONE, X, Q);
    assert_int_equal(program().total.freed_count, UINT64_MAX);
    visit();
    assert_int_equal(visited_count, 1);
    assert_int_equal(visited[0].node, P);
    assert_int_equal(number_of(visited[0].metrics.free_count), 1);
    assert_int_equal(number_of(visited[0].metrics.freed_count), UINT64_MAX);
    assert_int_equal(number_of(visited[0].metrics.freed_bytes), UINT64_MAX);
    assert_int_equal(number_of(visited[0].metrics.freed_elsewhere_count), UINT64_MAX);
    assert_int_equal(number_of(visited[0].metrics.freed_lifetime_sum), UINT64_MAX);
}

static void a_free_with_its_path_ends_a_temporary_block(void **state)
{
    (void)state;
    replay_know_frees(replay);
    allocate(ONE, X, 100, P);
    free_from(ONE, X, Q);
    allocate(ONE, X, 100, P);
    free_from(TWO, X, Q);
    assert_int_equal(path(P)->temporary_count, 1);
    assert_int_equal(program().total.temporary_count, 1);
}

static void a_free_of_an_unknown_block_is_foreign(void **state)
{
    (void)state;
    release(ONE, X);
    realloc_begin(ONE, Y);
    assert_int_equal(program().foreign_frees, 2);
    assert_int_equal(visit(), 0);
}

static void a_free_of_null_does_nothing(void **state)
{
    (void)state;
    release(ONE, 0);
    assert_int_equal(program().foreign_frees, 0);
    assert_int_equal(program().events, 1);
}

static void a_failed_allocation_counts_as_nothing_else(void **state)
{
    const struct call_numbers *metrics;

    (void)state;
    feed_long(ONE, WIRE_CALLOC | WIRE_FAILED, 0, 1ull << 60, P);
    metrics = path(P);
    assert_int_equal(metrics->failed_count, 1);
    assert_int_equal(metrics->alloc_count, 0);
    assert_int_equal(metrics->size_max, 0);
    assert_int_equal(metrics->size_min, UINT64_MAX);
}

static void zero_sizes_alignments_and_slack_are_counted(void **state)
{
    const struct call_numbers *metrics;

    (void)state;
    allocate(ONE, X, 0, P);
    feed(ONE, record_long(WIRE_ALIGNED, ++ticks, Y, 8, wire_detail(P, 24, 3)));
    feed(ONE, record_long(WIRE_NEW, ++ticks, Z, 64, wire_detail(P, 0, 6)));
    release(ONE, Y);
    metrics = path(P);
    assert_int_equal(metrics->zero_count, 1);
    assert_int_equal(metrics->aligned_count, 2);
    assert_int_equal(metrics->slack_bytes, 28);
    assert_int_equal(metrics->live_slack_bytes, 4);
    assert_int_equal(metrics->size_min, 0);
    assert_int_equal(metrics->size_max, 64);
}

static void a_size_that_no_memory_has_saturates(void **state)
{
    (void)state;
    allocate(ONE, X, UINT64_MAX, P);
    assert_int_equal(path(P)->live_bytes, (1ull << 48) - 1);
    release(ONE, X);
    assert_int_equal(path(P)->live_bytes, 0);
}

/* ---- Temporary blocks ---------------------------------------------------------------------- */

static void what_outgrows_32_bits_is_kept_with_all_that_was_before(void **state)
{
    const uint64_t huge = 3ull << 30;
    const struct call_numbers *metrics;

    (void)state;
    allocate(ONE, X, 100, P);
    release(ONE, X);
    allocate(ONE, X, huge, P);
    allocate(ONE, Y, huge, P);
    metrics = path(P);
    assert_int_equal(metrics->alloc_count, 3);
    assert_int_equal(metrics->alloc_bytes, 2 * huge + 100);
    assert_int_equal(metrics->live_count, 2);
    assert_int_equal(metrics->live_bytes, 2 * huge);
    assert_int_equal(metrics->live_slack_bytes, 8);
    assert_int_equal(metrics->free_bytes, 100);
    assert_int_equal(metrics->temporary_count, 1);
    assert_int_equal(metrics->size_min, 100);
    assert_int_equal(metrics->lifetime_max, 1);
    release(ONE, X);
    allocate(ONE, Z, 7, P);
    release(ONE, Z);
    metrics = path(P);
    assert_int_equal(metrics->live_bytes, huge);
    assert_int_equal(metrics->slack_bytes, 16);
    assert_int_equal(metrics->temporary_count, 2);
    assert_int_equal(metrics->size_min, 7);
    assert_int_equal(metrics->size_max, huge);
    assert_int_equal(metrics->peak_bytes, 2 * huge);
    assert_int_equal(metrics->at_peak_bytes, 2 * huge);
    assert_int_equal(metrics->at_peak_count, 2);
}

static void a_block_freed_before_the_next_allocation_is_temporary(void **state)
{
    (void)state;
    allocate(ONE, X, 10, P);
    allocate(TWO, Y, 10, Q);
    release(ONE, X);
    assert_int_equal(path(P)->temporary_count, 1);
}

static void a_block_freed_after_another_allocation_is_not_temporary(void **state)
{
    (void)state;
    allocate(ONE, X, 10, P);
    allocate(ONE, Y, 10, P);
    release(ONE, Y);
    release(ONE, X);
    assert_int_equal(path(P)->temporary_count, 1);
}

static void a_block_freed_by_another_thread_is_not_temporary(void **state)
{
    (void)state;
    allocate(ONE, X, 10, P);
    release(TWO, X);
    allocate(TWO, X, 10, P);
    release(ONE, X);
    assert_int_equal(path(P)->temporary_count, 0);
}

static void a_failed_allocation_does_not_end_being_temporary(void **state)
{
    (void)state;
    allocate(ONE, X, 10, P);
    feed_long(ONE, WIRE_MALLOC | WIRE_FAILED, 0, 10, P);
    realloc_begin(ONE, X);
    realloc_fails(ONE, 20, P);
    release(ONE, X);
    assert_int_equal(path(P)->temporary_count, 1);
}

/* ---- Reallocations ------------------------------------------------------------------------- */

static void a_realloc_ends_the_old_life_and_begins_a_new_one(void **state)
{
    struct program_numbers all;

    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    realloc_end(ONE, Y, 150, Q);
    assert_int_equal(path(Q)->realloc_count, 1);
    all = program();
    assert_int_equal(all.total.realloc_bytes, 150);
    assert_int_equal(all.total.realloc_moved, 1);
    assert_int_equal(all.total.alloc_count, 1);
    assert_int_equal(all.total.free_count, 1);
    assert_int_equal(all.total.free_bytes, 100);
    assert_int_equal(all.total.lifetime_max, 2);
    assert_int_equal(all.total.live_bytes, 150);
}

static void a_realloc_never_counts_both_its_blocks(void **state)
{
    struct program_numbers all;

    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    realloc_end(ONE, Y, 101, P);
    all = program();
    assert_int_equal(all.total.peak_bytes, 101);
    assert_int_equal(all.live_peak_count, 1);
    assert_int_equal(path(P)->peak_bytes, 101);
}

static void a_realloc_in_place_has_not_moved(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    realloc_end(ONE, X, 200, P);
    assert_int_equal(path(P)->realloc_moved, 0);
    assert_int_equal(program().total.live_count, 1);
}

static void another_thread_may_have_the_address_before_the_realloc_ends(void **state)
{
    struct program_numbers all;

    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    allocate(TWO, X, 30, Q);
    all = program();
    assert_int_equal(all.replaced_blocks, 0);
    assert_int_equal(all.total.live_bytes, 130);
    realloc_end(ONE, Y, 200, P);
    assert_int_equal(program().total.live_bytes, 230);
    release(TWO, X);
    assert_int_equal(program().total.live_bytes, 200);
}

static void a_realloc_that_never_ends_leaves_its_block_alive(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    feed(ONE, record_short(WIRE_THREAD_END, ++ticks, 0));
    assert_int_equal(path(P)->live_bytes, 100);
}

static void a_failed_realloc_leaves_its_block_as_it_was(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    realloc_fails(ONE, 1000, Q);
    assert_int_equal(path(Q)->failed_count, 1);
    release(ONE, X);
    assert_int_equal(path(P)->free_bytes, 100);
    assert_int_equal(program().total.lifetime_sum, 3);
    assert_int_equal(program().total.realloc_count, 0);
}

static void a_realloc_to_nothing_is_a_free(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    realloc_begin(ONE, X);
    realloc_end(ONE, 0, 0, Q);
    assert_int_equal(path(P)->free_count, 1);
    assert_int_equal(program().total.temporary_count, 1);
    assert_int_equal(program().total.realloc_count, 0);
}

static void a_realloc_of_nothing_is_an_allocation(void **state)
{
    (void)state;
    realloc_begin(ONE, 0);
    realloc_end(ONE, X, 10, P);
    assert_int_equal(path(P)->alloc_count, 1);
    assert_int_equal(program().total.realloc_count, 0);
}

static void a_realloc_of_an_unknown_block_begins_a_life(void **state)
{
    (void)state;
    realloc_begin(ONE, X);
    realloc_end(ONE, Y, 10, P);
    assert_int_equal(program().foreign_frees, 1);
    assert_int_equal(path(P)->realloc_count, 1);
    assert_int_equal(program().total.live_bytes, 10);
    assert_int_equal(program().total.realloc_moved, 1);
}

static void reallocs_nest_in_signal_handlers_last_in_first_out(void **state)
{
    enum { DEPTH = 40 };

    (void)state;
    for (unsigned i = 0; i < DEPTH; i++)
        allocate(ONE, X + i * 16, 100 + i, P);
    for (unsigned i = 0; i < DEPTH; i++)
        realloc_begin(ONE, X + i * 16);
    assert_int_equal(program().total.live_count, DEPTH);
    realloc_end(ONE, 0, 0, P); /* the last one's: 100 + DEPTH - 1 bytes */
    assert_int_equal(path(P)->free_bytes, 100 + DEPTH - 1);
    for (unsigned i = 1; i < DEPTH; i++)
        realloc_fails(ONE, 1, P);
    for (unsigned i = 0; i < DEPTH - 1; i++)
        release(ONE, X + i * 16);
    assert_int_equal(program().total.live_count, 0);
    assert_int_equal(program().foreign_frees, 0);
}

/* ---- Late and missing frees ---------------------------------------------------------------- */

static void an_allocation_at_a_live_address_ends_the_old_block(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    allocate(TWO, X, 30, Q);
    assert_int_equal(program().replaced_blocks, 1);
    assert_int_equal(program().total.live_bytes, 30);
    assert_int_equal(program().total.peak_bytes, 100);
    release(TWO, X);
    assert_int_equal(program().total.live_bytes, 0);
    assert_int_equal(program().foreign_frees, 0);
    assert_int_equal(program().replaced_blocks, 1);
}

static void the_free_that_was_missing_may_come_late(void **state)
{
    struct program_numbers all;

    (void)state;
    allocate(ONE, X, 100, P); /* at START + 1 */
    ticks += 10;
    allocate(TWO, X, 30, Q);
    release_late(ONE, X, START + 5);
    all = program();
    assert_int_equal(all.late_events, 1);
    assert_int_equal(all.replaced_blocks, 0);
    assert_int_equal(all.foreign_frees, 0);
    assert_int_equal(all.total.free_bytes, 100);
    assert_int_equal(all.total.live_bytes, 30);
}

static void the_missing_free_is_found_after_the_younger_block_is_freed_too(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    ticks += 10;
    allocate(TWO, X, 30, Q);
    release(TWO, X);
    release_late(ONE, X, START + 5);
    assert_int_equal(program().foreign_frees, 0);
    assert_int_equal(program().total.free_count, 2);
}

static void a_late_allocation_older_than_the_block_there_is_over(void **state)
{
    struct program_numbers all;

    (void)state;
    ticks += 10;
    allocate(ONE, X, 100, P);
    feed(TWO, record_long(WIRE_MALLOC, START + 2, X, 30, wire_detail(Q, 0, 0)));
    release_late(TWO, X, START + 4);
    all = program();
    assert_int_equal(all.late_events, 2);
    assert_int_equal(all.total.live_bytes, 100);
    assert_int_equal(all.total.peak_bytes, 100);
    assert_int_equal(all.total.free_bytes, 30);
    assert_int_equal(all.total.lifetime_max, 9);
    assert_int_equal(all.foreign_frees + all.replaced_blocks, 0);
}

static void a_late_free_ends_the_block_that_lives_there(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    ticks += 10;
    allocate(TWO, Y, 100, P);
    release_late(ONE, X, START + 4);
    assert_int_equal(program().late_events, 1);
    assert_int_equal(program().total.live_count, 1);
    assert_int_equal(program().total.lifetime_sum, 3);
    assert_int_equal(replay_last_ticks(replay), ticks);
}

/* ---- Peaks --------------------------------------------------------------------------------- */

static void shares_are_those_of_the_moment_of_the_peak(void **state)
{
    struct program_numbers all;

    (void)state;
    allocate(ONE, X, 100, P);
    allocate(ONE, Y, 50, Q); /* the peak: 150 */
    release(ONE, X);
    allocate(ONE, Z, 60, Q); /* 110 */
    visit();
    assert_int_equal(number_of(visited[0].metrics.at_peak_bytes), 100);
    assert_int_equal(number_of(visited[1].metrics.at_peak_bytes), 50);
    assert_int_equal(number_of(visited[1].metrics.at_peak_count), 1);
    assert_int_equal(number_of(visited[1].metrics.peak_bytes), 110);
    assert_int_equal(number_of(visited[1].metrics.peak_ticks), START + 4);
    all = program();
    assert_int_equal(all.total.peak_bytes, 150);
    assert_int_equal(all.total.peak_ticks, START + 2);
    assert_int_equal(all.total.at_peak_bytes, 150);
    assert_int_equal(all.total.at_peak_count, 2);
}

static void of_equal_peaks_the_first_one_counts(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    release(ONE, X);
    allocate(ONE, Y, 100, Q);
    assert_int_equal(program().total.peak_ticks, START + 1);
    visit();
    assert_int_equal(number_of(visited[0].metrics.at_peak_bytes), 100);
    assert_int_equal(number_of(visited[1].metrics.at_peak_bytes), 0);
}

static void the_most_blocks_may_be_alive_outside_the_peak(void **state)
{
    (void)state;
    allocate(ONE, X, 1000, P);
    release(ONE, X);
    allocate(ONE, Y, 1, P);
    allocate(ONE, Z, 1, P);
    assert_int_equal(program().live_peak_count, 2);
    assert_int_equal(program().total.at_peak_count, 1);
}

/* ---- Changes ------------------------------------------------------------------------------- */

struct blocks {
    size_t sites, last_first, last_count;
};

static void count_block(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    struct blocks *blocks = context;

    for (size_t i = 0; i < count; i++)
        assert_int_equal(sites[i].node, 7 * (first + i)); /* numbered by their first events */
    *blocks = (struct blocks){blocks->sites + count, first, count};
}

static void only_blocks_with_a_changed_path_are_visited(void **state)
{
    struct blocks blocks = {0};

    (void)state;
    for (uint32_t i = 0; i < 2 * REPLAY_BLOCK_SITES + 100; i++)
        allocate(ONE, X + 64 * i, i == 1500 ? 100000 : 1, 7 * i);
    assert_int_equal(replay_changed_blocks(replay, count_block, &blocks), 3);
    assert_int_equal(blocks.sites, 2 * REPLAY_BLOCK_SITES + 100);
    assert_int_equal(blocks.last_count, 100);
    release(ONE, X + 64 * 1500); /* no new peak: nothing else changes */
    assert_int_equal(replay_changed_blocks(replay, count_block, &blocks), 1);
    assert_int_equal(blocks.last_first, REPLAY_BLOCK_SITES);
    assert_int_equal(blocks.last_count, REPLAY_BLOCK_SITES);
    assert_int_equal(replay_changed_blocks(replay, count_block, &blocks), 0);
}

static void only_changed_paths_are_visited(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    allocate(ONE, Y, 100, Q);
    assert_int_equal(visit(), 2);
    assert_int_equal(visit(), 0);
    release(ONE, Y);
    assert_int_equal(visit(), 1);
    assert_int_equal(visited[0].node, Q);
}

static void a_new_peak_changes_the_paths_whose_share_it_changes(void **state)
{
    (void)state;
    allocate(ONE, X, 100, P);
    allocate(ONE, Y, 40, Q); /* the peak: 140 */
    release(ONE, Y);         /* Q has 40 of the peak, 0 alive */
    visit();
    allocate(ONE, Z, 500, R);
    assert_int_equal(visit(), 2); /* not P, which has 100 as before */
    assert_int_equal(visited[0].node, Q);
    assert_int_equal(number_of(visited[0].metrics.at_peak_bytes), 0);
    assert_int_equal(visited[1].node, R);
}

/* ---- Maps, breaks, threads, damage --------------------------------------------------------- */

static void maps_and_breaks_are_counted(void **state)
{
    struct program_numbers all;

    (void)state;
    feed_long(ONE, WIRE_MMAP, 0x7f0000000000, 8192, P);
    feed_long(ONE, WIRE_MUNMAP, 0x7f0000000000, 4096, 0);
    feed_long(ONE, WIRE_BRK, 0x7f0000000000, 100, P);
    feed_long(ONE, WIRE_BRK | WIRE_FAILED, 0x7f0000000000, 50, P);
    assert_int_equal(path(P)->map_bytes, 8192);
    all = program();
    assert_int_equal(all.total.map_count, 1);
    assert_int_equal(all.unmap_count, 1);
    assert_int_equal(all.unmap_bytes, 4096);
    assert_int_equal(all.brk_count, 1);
    assert_int_equal(all.brk_bytes, 100);
    assert_int_equal(all.total.live_bytes, 0);
}

static void count_range(void *context, const struct replay_mapping *mapping)
{
    (void)mapping;
    ++*(unsigned *)context;
}

static unsigned mapped_ranges(void)
{
    unsigned count = 0;
    replay_mapped(replay, count_range, &count);
    return count;
}

/* An mremap's record says when its call began: what another thread was given since is not its. */
static void what_an_mremap_left_may_be_anothers(void **state)
{
    (void)state;
    uint64_t began = ++ticks;
    ticks += 1ull << 20;
    feed_long(TWO, WIRE_MMAP, 0x7f0000000000, 8192, P);
    ticks += 1ull << 40; /* told of very late */
    struct wire_record moved = record_long(WIRE_MUNMAP, ++ticks, 0x7f0000000000, 8192, 0);
    moved.detail = wire_detail_since(0, moved.ticks - began);
    feed(ONE, moved);
    assert_int_equal(mapped_ranges(), 1);
    feed(ONE, record_long(WIRE_MUNMAP, ++ticks, 0x7f0000000000, 8192, 0));
    assert_int_equal(mapped_ranges(), 0);
}

static void a_stream_serves_one_thread_after_the_other(void **state)
{
    (void)state;
    feed(TWO, record_short(WIRE_THREAD_START, ++ticks, 77));
    allocate(TWO, X, 10, P);
    feed(TWO, record_short(WIRE_THREAD_END, ++ticks, 0));
    release(TWO, X); /* by a destructor of the thread, after its end */
    feed(TWO, record_short(WIRE_THREAD_START, ++ticks, 88));
    allocate(TWO, Y, 20, P);
    assert_int_equal(replay_thread_count(replay), 3);
    assert_int_equal(numbers_thread(replay, 1).tid, 77);
    assert_int_equal(numbers_thread(replay, 1).start_ticks, START + 1);
    assert_int_equal(numbers_thread(replay, 1).end_ticks, START + 3);
    assert_int_equal(numbers_thread(replay, 1).free_bytes, 10);
    assert_int_equal(numbers_thread(replay, 2).tid, 88);
    assert_int_equal(numbers_thread(replay, 2).end_ticks, 0);
    assert_int_equal(numbers_thread(replay, 2).alloc_bytes, 20);
}

/* A thread in the ring TWO: a block of 10 bytes that stays, and one of 5 that it frees. */
static void one_more_thread(uint32_t tid)
{
    feed(TWO, record_short(WIRE_THREAD_START, ++ticks, tid));
    allocate(TWO, 0x5500000000 + (uint64_t)tid * 16, 10, P);
    allocate(TWO, Y, 5, P);
    release(TWO, Y);
    feed(TWO, record_short(WIRE_THREAD_END, ++ticks, 0));
}

static void beyond_a_number_ended_threads_share_a_row(void **state)
{
    enum { MANY = 5000, FIRST = 100 };
    uint64_t blocks = 0, bytes = 0, freed = 0, live = 0, earlier = 0;
    struct thread_numbers last;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        one_more_thread(FIRST + i);
    assert_int_equal(replay_thread_count(replay), THREAD_ROWS + 1);
    for (size_t i = 0; i < THREAD_ROWS + 1; i++) {
        struct thread_numbers thread = numbers_thread(replay, i);
        blocks += thread.alloc_count;
        bytes += thread.alloc_bytes;
        freed += thread.free_count;
        live += thread.live_bytes;
        earlier += thread.earlier_count;
    }
    assert_int_equal(blocks, 2 * MANY);
    assert_int_equal(bytes, 15 * MANY);
    assert_int_equal(freed, MANY);
    assert_int_equal(live, 10 * MANY);
    assert_int_equal(earlier, MANY - THREAD_ROWS); /* ring ONE has a row */
    last = numbers_thread(replay, THREAD_ROWS);
    assert_int_equal(last.tid, FIRST + MANY - 1);
    assert_int_equal(last.end_ticks, ticks);
    assert_int_equal(last.malloc_count, last.alloc_count);
    assert_int_equal(last.freed_elsewhere_count, 0);
    assert_int_equal(numbers_thread(replay, THREAD_ROWS - 1).earlier_count, 0);
}

static void a_row_of_several_threads_tells_of_one_only_what_it_knows(void **state)
{
    struct replay_counters counters = {0};

    (void)state;
    for (uint32_t i = 0; i < THREAD_ROWS; i++)
        one_more_thread(100 + i);
    replay_thread_named(replay, 100 + THREAD_ROWS - 1, "worker-17");
    one_more_thread(9001);
    replay_thread_named(replay, 9001, "worker-2");
    assert_string_equal(numbers_thread(replay, THREAD_ROWS).name, "worker-");
    assert_true(replay_counters(replay, 9001, &counters));
    assert_int_equal(counters.count, 2);
    assert_int_equal(counters.total_bytes, 15);
    assert_int_equal(counters.current_bytes, UINT64_MAX);
    assert_int_equal(counters.peak_bytes, UINT64_MAX);
    replay_thread_named(replay, 9001, "other");
    assert_string_equal(numbers_thread(replay, THREAD_ROWS).name, "");
    replay_thread_named(replay, 9001, "other");
    assert_string_equal(numbers_thread(replay, THREAD_ROWS).name, "");
}

static void a_row_with_a_realloc_under_way_is_left_as_it_is(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < THREAD_ROWS; i++)
        one_more_thread(100 + i);
    allocate(TWO, Y, 30, P);
    feed(TWO, record_short(WIRE_REALLOC_BEGIN, ++ticks, Y));
    one_more_thread(9001);
    one_more_thread(9002);
    assert_int_equal(replay_thread_count(replay), THREAD_ROWS + 2);
    assert_int_equal(numbers_thread(replay, THREAD_ROWS).live_bytes, 40);
    assert_int_equal(numbers_thread(replay, THREAD_ROWS).earlier_count, 0);
    assert_int_equal(numbers_thread(replay, THREAD_ROWS + 1).earlier_count, 1);
}

static void what_the_collector_says_of_threads_is_kept(void **state)
{
    (void)state;
    replay_thread_waited(replay, TWO, 3, 1000);
    replay_thread_waited(replay, TWO, 1, 10);
    replay_thread_end(replay, TWO, START + 50);
    replay_lost(replay, 7);
    feed(ONE, record_short(WIRE_LOST, ++ticks, 5));
    assert_int_equal(numbers_thread(replay, TWO).waits, 4);
    assert_int_equal(numbers_thread(replay, TWO).wait_ticks, 1010);
    assert_int_equal(numbers_thread(replay, TWO).end_ticks, START + 50);
    assert_int_equal(program().lost_events, 12);
}

static void nonsense_is_skipped_and_counted(void **state)
{
    struct program_numbers all;
    char bytes[64];
    struct wire_record record = record_long(WIRE_MALLOC, START + 1, X, 10, 0);

    (void)state;
    feed(ONE, record_short(15, UINT64_MAX, X));                      /* no such kind */
    feed(ONE, record_long(60 | WIRE_LONG, UINT64_MAX, X, 1, 0));     /* nor this */
    feed(ONE, record_short(WIRE_FREE | WIRE_FAILED, UINT64_MAX, X)); /* frees do not fail */
    feed(ONE, record_long(WIRE_MALLOC, UINT64_MAX, 0, 1, 0));        /* no block, no failure */
    record_write(bytes, &record);
    replay_records(replay, ONE, bytes, 24); /* cut off */
    feed(ONE, record_short(WIRE_VOID, 0, 0));
    all = program();
    assert_int_equal(all.malformed_events, 5);
    assert_int_equal(all.events, 0);
    assert_int_equal(replay_last_ticks(replay), START);
}

static void the_numbers_of_call_paths_may_be_anything(void **state)
{
    (void)state;
    allocate(ONE, X, 10, UINT32_MAX);
    allocate(ONE, Y, 20, 0);
    assert_int_equal(visit(), 2);
    assert_int_equal(visited[0].node, UINT32_MAX);
    assert_int_equal(visited[1].node, 0);
}

static void a_hundred_thousand_blocks_are_all_found_again(void **state)
{
    enum { BLOCKS = 100000 };

    (void)state;
    for (uint64_t i = 0; i < BLOCKS; i++)
        allocate(ONE, X + i * 16, i, P);
    for (uint64_t i = 0; i < BLOCKS; i += 2)
        release(ONE, X + i * 16);
    for (uint64_t i = BLOCKS - 1; i < BLOCKS; i -= 2)
        release(ONE, X + i * 16);
    assert_int_equal(program().total.live_bytes, 0);
    assert_int_equal(program().foreign_frees, 0);
}

/* Levels and paths have been higher before, so that a block that is freed at once is nothing new. */
static void reach_higher_levels(void)
{
    allocate_now(ONE, X, 3000, P);
    allocate_now(ONE, Y, 3000, P);
    release_now(ONE, Y);
}

static void a_block_that_is_freed_at_once_is_temporary(void **state)
{
    const struct call_numbers *p;

    (void)state;
    reach_higher_levels();
    allocate_and_release(ONE, Z, 40, P);
    p = path(P);
    assert_int_equal(p->alloc_count, 3);
    assert_int_equal(p->free_count, 2);
    assert_int_equal(p->temporary_count, 2); /* Y was, too */
    assert_int_equal(p->size_min, 40);
    assert_int_equal(p->slack_bytes, 3 * 4);
    assert_int_equal(p->live_slack_bytes, 4);
    assert_int_equal(program().events, 5);
    assert_int_equal(replay_live_count(replay), 1);
}

static void a_block_that_is_freed_at_once_may_replace_another(void **state)
{
    (void)state;
    reach_higher_levels();
    allocate_and_release(ONE, X, 40, P);
    assert_int_equal(program().replaced_blocks, 1);
    assert_int_equal(program().total.live_bytes, 0);
    assert_int_equal(replay_live_count(replay), 0);
}

static void a_block_that_is_freed_at_once_may_be_one_more_than_ever(void **state)
{
    (void)state;
    reach_higher_levels();
    allocate_now(ONE, Y, 60, P);
    allocate_and_release(ONE, Z, 40, P);
    assert_int_equal(program().live_peak_count, 3);
    assert_int_equal(program().total.peak_bytes, 6000);
}

#define RULE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(every_kind_of_allocation_is_one),
        RULE(a_free_counts_where_the_block_was_allocated),
        RULE(a_free_counts_where_it_was_made_too),
        RULE(a_free_that_ends_no_life_counts_nowhere),
        RULE(a_realloc_to_nothing_frees_but_one_to_something_does_not),
        RULE(without_free_stacks_it_is_not_known_where_memory_was_freed),
        RULE(a_free_with_its_path_ends_a_temporary_block),
        RULE(a_free_of_an_unknown_block_is_foreign),
        RULE(a_free_of_null_does_nothing),
        RULE(a_failed_allocation_counts_as_nothing_else),
        RULE(zero_sizes_alignments_and_slack_are_counted),
        RULE(a_size_that_no_memory_has_saturates),
        RULE(what_outgrows_32_bits_is_kept_with_all_that_was_before),
        RULE(a_block_freed_before_the_next_allocation_is_temporary),
        RULE(a_block_freed_after_another_allocation_is_not_temporary),
        RULE(a_block_freed_by_another_thread_is_not_temporary),
        RULE(a_failed_allocation_does_not_end_being_temporary),
        RULE(a_realloc_ends_the_old_life_and_begins_a_new_one),
        RULE(a_realloc_never_counts_both_its_blocks),
        RULE(a_realloc_in_place_has_not_moved),
        RULE(another_thread_may_have_the_address_before_the_realloc_ends),
        RULE(a_realloc_that_never_ends_leaves_its_block_alive),
        RULE(a_failed_realloc_leaves_its_block_as_it_was),
        RULE(a_realloc_to_nothing_is_a_free),
        RULE(a_realloc_of_nothing_is_an_allocation),
        RULE(a_realloc_of_an_unknown_block_begins_a_life),
        RULE(reallocs_nest_in_signal_handlers_last_in_first_out),
        RULE(an_allocation_at_a_live_address_ends_the_old_block),
        RULE(the_free_that_was_missing_may_come_late),
        RULE(the_missing_free_is_found_after_the_younger_block_is_freed_too),
        RULE(a_late_allocation_older_than_the_block_there_is_over),
        RULE(a_late_free_ends_the_block_that_lives_there),
        RULE(shares_are_those_of_the_moment_of_the_peak),
        RULE(of_equal_peaks_the_first_one_counts),
        RULE(the_most_blocks_may_be_alive_outside_the_peak),
        RULE(only_changed_paths_are_visited),
        RULE(only_blocks_with_a_changed_path_are_visited),
        RULE(a_new_peak_changes_the_paths_whose_share_it_changes),
        RULE(maps_and_breaks_are_counted),
        RULE(what_an_mremap_left_may_be_anothers),
        RULE(a_stream_serves_one_thread_after_the_other),
        RULE(beyond_a_number_ended_threads_share_a_row),
        RULE(a_row_of_several_threads_tells_of_one_only_what_it_knows),
        RULE(a_row_with_a_realloc_under_way_is_left_as_it_is),
        RULE(what_the_collector_says_of_threads_is_kept),
        RULE(nonsense_is_skipped_and_counted),
        RULE(the_numbers_of_call_paths_may_be_anything),
        RULE(a_hundred_thousand_blocks_are_all_found_again),
        RULE(a_block_that_is_freed_at_once_is_temporary),
        RULE(a_block_that_is_freed_at_once_may_replace_another),
        RULE(a_block_that_is_freed_at_once_may_be_one_more_than_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

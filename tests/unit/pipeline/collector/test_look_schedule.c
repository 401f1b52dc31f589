/* What a look may cost, and which call paths it tells; and looks at processes that are not
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../model/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collector/event_sink.h"
#include "collector/look_schedule.h"
#include "collector/proc_look.h"
#include "player.h"

#define SECOND 1000000000ull

static void look_schedule_stay_below_a_hundredth_of_the_run(void **state)
{
    (void)state;
    assert_false(look_schedule_can_afford(0, 0, 0, SECOND / 100));
    assert_true(look_schedule_can_afford(0, 0, 0, SECOND));
    assert_false(look_schedule_can_afford(0, 0, SECOND / 10, 10 * SECOND));
    assert_true(look_schedule_can_afford(0, 0, SECOND / 10, 11 * SECOND));
    assert_false(look_schedule_can_afford(5000000, 0, 0, 10 * SECOND));
    assert_true(look_schedule_can_afford(5000000, 1ull << 30, 0, 600 * SECOND));
}

/* A run of half a second is over before a hundredth of it is a look. */
static void of_a_short_run_looks_may_take_a_twentieth(void **state)
{
    (void)state;
    assert_false(look_schedule_can_afford(0, 0, SECOND / 40, SECOND / 2));
    assert_true(look_schedule_can_afford(0, 0, SECOND / 50, SECOND / 2));
    assert_false(look_schedule_can_afford(0, 0, SECOND / 1000 * 60, 5 * SECOND));
    assert_false(look_schedule_can_afford(0, 0, 0, SECOND / 1000)); /* of very many nobody looks */
}

/* A run of three seconds that grows from 4 to 400 MiB, 20 bytes of block in 400,000 more. */
static void looks_at_growth_last_to_the_end(void **state)
{
    (void)state;
    enum { STEPS = 3000, MIB = 1 << 20 };
    uint64_t spent = 0, looked = 4 * MIB, level = 0;
    for (uint64_t step = 100; step <= STEPS; step++) {
        uint64_t age = step * SECOND / 1000, blocks = step * 20;
        level = 4 * MIB + step * 396 * MIB / STEPS;
        uint64_t cost = SECOND / 1000 + blocks * 50;
        if (level < looked + looked / look_schedule_growth_part(spent, age) ||
            !look_schedule_can_afford(blocks, level, spent, age))
            continue;
        spent += cost;
        looked = level;
    }
    assert_true(looked >= level - level / 4);
    assert_int_equal(look_schedule_growth_part(0, SECOND), 20);
    assert_int_equal(look_schedule_growth_part(SECOND / 1000 * 50, SECOND), 3);
    assert_int_equal(look_schedule_growth_part(SECOND / 1000 * 50, 3600 * SECOND), 20);
}

/* As a script that keeps 500,000 small blocks a second, and is killed at 200 MiB. */
static void a_level_twice_as_high_may_take_a_tenth(void **state)
{
    (void)state;
    enum { STEPS = 5600, MIB = 1 << 20 };
    uint64_t spent = 0, looked = 10 * MIB, level = 0;
    for (uint64_t step = 100; step <= STEPS; step++) {
        uint64_t age = step * SECOND / 1000, blocks = step * 500;
        level = 10 * MIB + step * 190 * MIB / STEPS;
        if (level < 2 * looked || !look_schedule_can_afford_double(blocks, level, spent, age))
            continue;
        assert_true(spent <= age / 10);
        spent += SECOND / 1000 + blocks * 85;
        looked = level;
    }
    assert_true(looked >= level / 2);
    assert_false(look_schedule_can_afford_double(0, 0, 0, SECOND - 1)); /* short runs: no more */
    assert_false(look_schedule_can_afford_double(0, 0, SECOND, 10 * SECOND));
}

/* As one of many ranks on few processors. */
static void a_run_that_waits_for_processors_counts_in_part(void **state)
{
    (void)state;
    assert_int_equal(look_schedule_served_ns(SECOND, 0, 0), SECOND); /* not known */
    assert_int_equal(look_schedule_served_ns(SECOND, SECOND, 0), SECOND);
    assert_int_equal(look_schedule_served_ns(SECOND, SECOND / 100, 0), SECOND); /* it slept */
    assert_int_equal(look_schedule_served_ns(SECOND, SECOND / 4, SECOND * 3 / 4), SECOND / 4);
    assert_int_equal(look_schedule_served_ns(80 * SECOND, SECOND, 79 * SECOND), 10 * SECOND);
    assert_int_equal(look_schedule_served_ns(SECOND, 0, SECOND), SECOND / 8);
    assert_int_equal(look_schedule_served_ns(SECOND, UINT64_MAX, UINT64_MAX), SECOND / 2);
}

static void the_rows_with_most_bytes_are_kept_by_path(void **state)
{
    (void)state;
    struct profile_residency rows[] = {
        {.path = 9, .resident_bytes = FIGURE_OF(10)},
        {.path = 7, .resident_bytes = FIGURE_OF(5), .pinned_bytes = FIGURE_OF(50)},
        {.path = 8, .resident_bytes = FIGURE_OF(1)},
        {.path = 3, .resident_bytes = FIGURE_OF(54)},
    };
    assert_int_equal(look_choose_rows(rows, 4, 2), 2);
    assert_int_equal(rows[0].path, 3);
    assert_int_equal(rows[1].path, 7);
    assert_int_equal(look_choose_rows(rows, 4, 0), 4);
    assert_int_equal(rows[3].path, 9);
    assert_int_equal(look_choose_rows(NULL, 0, 2), 0);
}

static void who_is_gone_is_not_known(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct look look;
    look_init(&look, child);
    look.over_pages = look.at_threads = true;
    look_take(&look);
    assert_int_equal(look.error, -ESRCH);
    assert_false(figure_known(look.sample.resident_bytes));
    assert_false(look.sample.has_ledger);
    look_release(&look);
}

static void our_own_ledger_adds_up(void **state)
{
    (void)state;
    struct look look;
    look_init(&look, getpid());
    look.over_pages = true;
    look_take(&look);
    assert_int_equal(look.error, 0);
    const struct profile_sample *sample = &look.sample;
    assert_true(sample->has_ledger);
    const struct figure parts[] = {
        sample->live_touched_bytes, sample->slack_bytes, sample->mmap_bytes,
        sample->file_bytes,         sample->stack_bytes, sample->globals_bytes,
        sample->shared_bytes,       sample->tool_bytes,  sample->other_bytes,
    };
    struct figure sum = figure_of(0), resident = figure_of(0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum = figure_add(sum, parts[i]);
    assert_int_equal((int64_t)number_of(sum) + sample->unexplained_bytes,
                     number_of(sample->resident_bytes));
    assert_true(sample->unexplained_bytes >= 0);
    for (size_t i = 0; i < look.mapping_count; i++)
        resident = figure_add(resident, look.mappings[i].resident_bytes);
    struct figure owned = figure_of(0);
    for (size_t i = 0; i < look.owners.count; i++)
        owned = figure_add(owned, look.owners.rows[i].resident_bytes);
    for (size_t i = 0; i < look.owners.touched_count; i++)
        owned = figure_add(owned, look.owners.touched[i].resident_bytes);
    assert_int_equal(number_of(owned), number_of(sample->resident_bytes));
    assert_int_equal(number_of(resident), number_of(sample->resident_bytes));
    look_release(&look);
}

/* So many have come since the last time. */
static size_t count_looks(struct look_schedule *looks)
{
    size_t count;
    struct look *taken = look_schedule_take(looks, &count);
    for (size_t i = 0; i < count; i++)
        look_release(&taken[i]);
    free(taken);
    return count;
}

/* A process that has grown by less than a twentieth is looked at where it stops. */
static void a_peak_at_which_the_process_stands_is_looked_at(void **state)
{
    (void)state;
    const uint64_t moment = SECOND / 50;
    struct wire_header header = {0};
    struct view view = {.header = &header};
    struct event_sink sink = {.replay = replay_new(0, 1)};
    struct look_schedule *looks =
        look_schedule_new(getpid(), 0, (struct look_gap){0}, &view, &sink);
    look_schedule_see(looks, 0, 600 * SECOND); /* the start */
    look_schedule_settle(looks);
    look_schedule_see(looks, 1 << 30, 600 * SECOND);
    look_schedule_settle(looks);
    uint64_t higher = (1 << 30) + (1 << 30) / 40;
    look_schedule_see(looks, higher, 601 * SECOND);
    look_schedule_see(looks, higher - 4096, 601 * SECOND + moment / 2);
    look_schedule_settle(looks);
    assert_int_equal(count_looks(looks), 2);
    look_schedule_see(looks, higher + 4096, 601 * SECOND + moment);
    look_schedule_settle(looks);
    assert_int_equal(count_looks(looks), 1);
    look_schedule_see(looks, higher, 602 * SECOND);
    look_schedule_settle(looks);
    assert_int_equal(count_looks(looks), 0);
    look_schedule_free(looks);
    replay_free(sink.replay);
}

/* The reading says half of what the look then finds: between both the process has grown. The next
 * look waits for a twentieth more than the look has found, not than the reading. */
static void what_a_look_has_found_is_the_peak(void **state)
{
    (void)state;
    struct wire_header options = player_options(16 << 10, PLAYER_MAX_CHUNKS);
    struct view view;
    struct event_sink sink = {.replay = replay_new(0, 1)};
    assert_int_equal(shared_view_open(&view, &options), 0);
    struct look_schedule *looks =
        look_schedule_new(getpid(), 0, (struct look_gap){0}, &view, &sink);
    look_schedule_see(looks, 0, 600 * SECOND); /* the start */
    look_schedule_settle(looks);
    look_schedule_see(looks, 1 << 20, 600 * SECOND);
    look_schedule_settle(looks);
    size_t count;
    struct look *first = look_schedule_take(looks, &count);
    assert_int_equal(count, 2);
    assert_int_equal(first[1].sample.why, PROFILE_SAMPLE_RESIDENT_PEAK);
    uint64_t found = number_of(first[1].sample.resident_bytes);
    assert_true(found > 2 << 20);
    look_schedule_see(looks, found, 600 * SECOND);
    look_schedule_settle(looks);
    free(look_schedule_take(looks, &count));
    assert_int_equal(count, 0);
    look_schedule_see(looks, found + found / 10, 600 * SECOND);
    look_schedule_settle(looks);
    struct look *second = look_schedule_take(looks, &count);
    assert_int_equal(count, 1);
    look_release(&first[0]);
    look_release(&first[1]);
    look_release(&second[0]);
    free(first);
    free(second);
    look_schedule_free(looks);
    shared_view_close(&view);
    replay_free(sink.replay);
}

/* The process has stood since the look under way began: the look that is over has seen it, so none
 * is due. */
static void where_a_look_has_seen_it_stand_none_is_due(void **state)
{
    (void)state;
    struct wire_header options = player_options(16 << 10, PLAYER_MAX_CHUNKS);
    struct view view;
    struct event_sink sink = {.replay = replay_new(0, 1)};
    assert_int_equal(shared_view_open(&view, &options), 0);
    struct look_schedule *looks =
        look_schedule_new(getpid(), 0, (struct look_gap){0}, &view, &sink);
    look_schedule_see(looks, 0, 600 * SECOND); /* the start */
    look_schedule_settle(looks);
    struct look *start = look_schedule_take(looks, &(size_t){0});
    uint64_t found = number_of(start->sample.resident_bytes);
    assert_true(found > 3 << 20);
    look_schedule_see(looks, found / 2, 600 * SECOND);
    look_schedule_see(looks, found, 600 * SECOND + 1); /* while it looks */
    usleep(300000);                                    /* it is over, unless the machine is busy */
    look_schedule_see(looks, found, 601 * SECOND);
    look_schedule_settle(looks);
    assert_int_equal(count_looks(looks), 1);
    look_release(start);
    free(start);
    look_schedule_free(looks);
    shared_view_close(&view);
    replay_free(sink.replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_schedule_stay_below_a_hundredth_of_the_run),
        cmocka_unit_test(of_a_short_run_looks_may_take_a_twentieth),
        cmocka_unit_test(looks_at_growth_last_to_the_end),
        cmocka_unit_test(a_level_twice_as_high_may_take_a_tenth),
        cmocka_unit_test(a_run_that_waits_for_processors_counts_in_part),
        cmocka_unit_test(the_rows_with_most_bytes_are_kept_by_path),
        cmocka_unit_test(who_is_gone_is_not_known),
        cmocka_unit_test(our_own_ledger_adds_up),
        cmocka_unit_test(what_a_look_has_found_is_the_peak),
        cmocka_unit_test(where_a_look_has_seen_it_stand_none_is_due),
        cmocka_unit_test(a_peak_at_which_the_process_stands_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

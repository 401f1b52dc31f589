/* Regions, marks and pools. The metrics of a region are those of a replay from which all that was
 * born outside it was taken away: random streams are compared with that, region by region.
 * TIDEMARK_TEST_SEED=n repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "replay/replay.h"
#include "replay_numbers.h"
#include "records.h"

enum {
    THREADS = 3,
    NAMES = 5,
    EVENTS = 4000,
    ADDRESSES = 200,
    NODES = 20,
    DEPTH = 64,
    START = 1000
};

static uint64_t state;

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

static struct wire_record mark(unsigned kind, uint64_t ticks, uint64_t what)
{
    return record_short(kind, ticks, what);
}

static void feed(struct replay *replay, uint32_t thread, struct wire_record record)
{
    replay_records(replay, thread, &record, wire_record_bytes(record.kind_address));
}

static struct replay *new_replay(unsigned threads)
{
    struct replay *replay = replay_new(START, 1);
    for (unsigned i = 0; i < threads; i++)
        replay_thread_begin(replay, 100 + i, START);
    return replay;
}

/* ---- The model: which regions a thread is in ------------------------------------------------- */

struct stack {
    uint32_t names[DEPTH];
    unsigned depth;
};

static unsigned set_of(const struct stack *stack)
{
    unsigned set = 0;
    for (unsigned i = 0; i < stack->depth; i++)
        set |= 1u << stack->names[i];
    return set;
}

static void leave(struct stack *stack, uint32_t name)
{
    unsigned at = stack->depth;
    while (at > 0 && name && stack->names[at - 1] != name)
        at--;
    if (at > 0)
        stack->depth = at - 1;
}

struct event {
    uint32_t thread;
    struct wire_record record;
    unsigned set; /* of regions that its thread was in */
};

static struct event events[EVENTS];

/* Mostly small; some of no bytes, some of more than a MiB. */
static uint64_t some_size(void)
{
    uint64_t kind = below(10);
    return kind == 0 ? 0 : kind == 1 ? below(2 << 20) : 1 + below(4000);
}

static void write_events(void)
{
    static struct {
        bool live;
    } places[ADDRESSES];
    struct stack stacks[THREADS] = {{{0}, 0}};
    uint64_t in_realloc[THREADS] = {0};
    memset(places, 0, sizeof places);
    for (unsigned i = 0; i < EVENTS; i++) {
        uint32_t thread = (uint32_t)below(THREADS);
        uint64_t ticks = START + 10 * (i + 1), place = below(ADDRESSES), what = below(100);
        uint64_t address = 0x1000 + 4096 * place, size = some_size();
        uint32_t name = 1 + (uint32_t)below(NAMES - 1);
        uint64_t detail = wire_detail(1 + (uint32_t)below(NODES - 1), (unsigned)below(16),
                                      below(10) ? 0 : (unsigned)below(8));
        struct stack *stack = &stacks[thread];
        struct event *event = &events[i];
        event->thread = thread;
        event->set = set_of(stack);
        bool is_free = !places[place].live; /* a realloc under way may come back to where it was */
        for (unsigned k = 0; k < THREADS; k++)
            is_free &= in_realloc[k] != address;
        if (in_realloc[thread]) {
            if (!is_free)
                address = in_realloc[thread];
            places[(address - 0x1000) / 4096].live = true;
            event->record = record_long(WIRE_REALLOC_END, ticks, address, size, detail);
            in_realloc[thread] = 0;
        } else if (what < 10 && stack->depth < DEPTH) {
            event->record = mark(WIRE_REGION_BEGIN, ticks, name);
            stack->names[stack->depth++] = name;
        } else if (what < 20) {
            name = below(3) ? name : 0;
            event->record = mark(WIRE_REGION_END, ticks, name);
            leave(stack, name);
        } else if (places[place].live && what < 30) {
            event->record = record_short(WIRE_REALLOC_BEGIN, ticks, address);
            places[place].live = false;
            in_realloc[thread] = address;
        } else if (places[place].live) {
            event->record = record_short(WIRE_FREE, ticks, address);
            places[place].live = false;
        } else {
            event->record = is_free ? record_long(below(4) ? WIRE_MALLOC : WIRE_POOL, ticks,
                                                  address, size, detail)
                                    : record_short(WIRE_VOID, ticks, 0);
            places[place].live |= is_free;
        }
    }
}

/* The same without what was born outside of a region. */
static struct wire_record within(const struct event *event, uint32_t name)
{
    unsigned kind = wire_kind(event->record.kind_address);
    if (event->set & 1u << name)
        return event->record;
    if (kind == WIRE_MALLOC || kind == WIRE_POOL)
        return record_short(WIRE_VOID, event->record.ticks, 0);
    if (kind == WIRE_REALLOC_END)
        return record_long(WIRE_REALLOC_END, event->record.ticks, 0, 0, event->record.detail);
    return event->record;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static struct call_numbers got[NAMES * NODES], wanted[NODES];

static void take_regions(void *context, uint32_t first, struct replay_region_site *sites,
                         size_t count)
{
    const struct replay_region *regions = context;
    (void)first;
    for (size_t i = 0; i < count; i++)
        got[regions[sites[i].region].name * NODES + sites[i].node] =
            *call_numbers_of(&sites[i].metrics);
}

static void take_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)context;
    (void)first;
    for (size_t i = 0; i < count; i++)
        wanted[sites[i].node] = *call_numbers_of(&sites[i].metrics);
}

/* A metric whose value in the other replay is another one: freed_… are of what was freed in the
 * region, wherever it was born. The peak is the program's. A block is temporary unless its thread
 * made another one, and the other replay lacks some of those. */
static bool is_of_the_region(const struct metric_row *row)
{
    return row != METRIC_ROW(temporary_count) && strncmp(row->column, "freed_", 6) != 0 &&
           strncmp(row->column, "at_peak_", 8) != 0 && row != METRIC_ROW(at_all_peak_bytes);
}

static void compare_metrics(const struct call_numbers *a, const struct call_numbers *b)
{
    for (size_t i = 0; i < METRICS; i++) {
        const struct metric_row *row = &metric_rows[i];
        uint64_t left = ((const uint64_t *)(const void *)a)[i];
        uint64_t right = ((const uint64_t *)(const void *)b)[i];
        if (!is_of_the_region(row) || (row == METRIC_ROW(peak_ticks) && !b->peak_bytes))
            continue;
        if (left != right)
            fail_msg("%s is %llu, should be %llu", row->column, (unsigned long long)left,
                     (unsigned long long)right);
    }
}

static void clear(struct call_numbers *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metrics[i] = (struct call_numbers){.size_min = UINT64_MAX, .lifetime_min = UINT64_MAX};
}

static void compare_region(const struct replay_region *region)
{
    struct replay *alone = new_replay(THREADS);
    struct program_numbers program;
    for (unsigned i = 0; i < EVENTS; i++)
        feed(alone, events[i].thread, within(&events[i], region->name));
    clear(wanted, NODES);
    replay_changed_blocks(alone, take_sites, NULL);
    for (unsigned node = 1; node < NODES; node++)
        compare_metrics(&got[region->name * NODES + node], &wanted[node]);
    numbers_program(alone, &program);
    assert_int_equal(region->live_bytes, program.total.live_bytes);
    assert_int_equal(region->peak_bytes, program.total.peak_bytes);
    assert_int_equal(region->peak_ticks, program.total.peak_ticks);
    replay_free(alone);
}

static void random_streams(void **unused)
{
    const char *given = getenv("TIDEMARK_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) ^ (uint64_t)clock();
    (void)unused;
    print_message("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)seed);
    state = seed;
    for (int round = 0; round < 8; round++) {
        struct replay *replay = new_replay(THREADS);
        struct replay_region *regions;
        size_t count;
        write_events();
        for (unsigned i = 0; i < EVENTS; i++)
            feed(replay, events[i].thread, events[i].record);
        regions = replay_regions(replay, &count);
        clear(got, NAMES * NODES);
        replay_changed_region_blocks(replay, take_regions, regions);
        assert_in_range(count, 1, NAMES - 1);
        for (size_t i = 0; i < count; i++)
            compare_region(&regions[i]);
        assert_int_equal(replay_changed_region_blocks(replay, take_regions, regions), 0);
        free(regions);
        replay_free(replay);
    }
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static struct replay_region region_at(struct replay *replay, size_t index)
{
    size_t count;
    struct replay_region *all = replay_regions(replay, &count), region;
    assert_true(index < count);
    region = all[index];
    free(all);
    return region;
}

static void nested_ends_close_what_they_hold(void **unused)
{
    struct replay *replay = new_replay(1);
    (void)unused;
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1100, 1));
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1200, 2)); /* a longjmp leaves it */
    feed(replay, 0, mark(WIRE_REGION_END, 1500, 1));
    feed(replay, 0, mark(WIRE_REGION_END, 1600, 2)); /* too late: nothing */
    struct replay_region outer = region_at(replay, 0), inner = region_at(replay, 1);
    assert_int_equal(outer.time_ticks, 400);
    assert_int_equal(outer.unended_count, 0);
    assert_int_equal(inner.time_ticks, 300);
    assert_int_equal(inner.unended_count, 1);
    assert_int_equal(outer.open_count + inner.open_count, 0);
    assert_int_equal(replay_untold(replay).ends, 1);
    replay_free(replay);
}

static void a_region_within_itself_counts_once(void **unused)
{
    struct replay *replay = new_replay(1);
    (void)unused;
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1100, 1));
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1200, 1));
    feed(replay, 0, record_long(WIRE_MALLOC, 1250, 0x1000, 64, wire_detail(1, 0, 0)));
    feed(replay, 0, mark(WIRE_REGION_END, 1300, 0));
    feed(replay, 0, record_long(WIRE_MALLOC, 1350, 0x2000, 64, wire_detail(1, 0, 0)));
    feed(replay, 0, mark(WIRE_REGION_END, 1400, 1));
    struct replay_region region = region_at(replay, 0);
    assert_int_equal(region.entered_count, 2);
    assert_int_equal(region.time_ticks, 300);
    assert_int_equal(region.live_bytes, 128);
    assert_int_equal(number_of(region.left_bytes), 128);
    assert_int_equal(region.program_peak_bytes, 128);
    replay_free(replay);
}

static void an_end_in_another_thread_is_none(void **unused)
{
    struct replay *replay = new_replay(2);
    (void)unused;
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1100, 1));
    feed(replay, 1, mark(WIRE_REGION_END, 1200, 1));
    assert_int_equal(region_at(replay, 0).open_count, 1);
    assert_int_equal(region_at(replay, 0).time_ticks, 100);
    assert_int_equal(replay_untold(replay).ends, 1);
    feed(replay, 0, record_short(WIRE_THREAD_END, 1500, 100));
    assert_int_equal(region_at(replay, 0).open_count, 0);
    assert_int_equal(region_at(replay, 0).unended_count, 1);
    assert_int_equal(region_at(replay, 0).time_ticks, 400);
    replay_free(replay);
}

static void marks_say_what_was_alive(void **unused)
{
    struct replay *replay = new_replay(1);
    size_t count;
    (void)unused;
    replay_name(replay, 7, "seven");
    feed(replay, 0, record_long(WIRE_MALLOC, 1100, 0x1000, 64, wire_detail(1, 0, 0)));
    feed(replay, 0, mark(WIRE_MARK, 1200, wire_mark(WIRE_MARK_NAMED, 7)));
    feed(replay, 0, mark(WIRE_MARK, 1300, wire_mark(WIRE_MARK_PAUSED, 0)));
    feed(replay, 0, mark(WIRE_MARK, 1400, (uint64_t)WIRE_MARK_KINDS << 32)); /* nonsense */
    const struct replay_mark *marks = replay_marks(replay, &count);
    assert_int_equal(count, 2);
    assert_int_equal(marks[0].ticks, 1200);
    assert_int_equal(marks[0].live_bytes, 64);
    assert_int_equal(marks[0].live_count, 1);
    assert_string_equal(replay_name_of(replay, marks[0].name), "seven");
    assert_int_equal(marks[1].kind, WIRE_MARK_PAUSED);
    assert_string_equal(replay_name_of(replay, 8), "?");
    replay_free(replay);
}

static uint64_t live_of(struct replay *replay)
{
    struct program_numbers program;
    numbers_program(replay, &program);
    return program.total.live_bytes;
}

static void a_pools_chunk_counts_no_more(void **unused)
{
    struct replay *replay = new_replay(1);
    struct program_numbers program;
    (void)unused;
    feed(replay, 0, record_long(WIRE_MALLOC, 1100, 0x1000, 4096, wire_detail(1, 0, 0)));
    feed(replay, 0, record_short(WIRE_POOL_CHUNK, 1200, 0x1000));
    assert_int_equal(live_of(replay), 0);
    feed(replay, 0, record_long(WIRE_POOL, 1300, 0x1000, 100, wire_detail(2, 0, 0)));
    feed(replay, 0, record_long(WIRE_POOL, 1400, 0x1100, 200, wire_detail(2, 0, 0)));
    assert_int_equal(live_of(replay), 300);
    feed(replay, 0, record_short(WIRE_POOL_FREE, 1500, 0x1100));
    assert_int_equal(live_of(replay), 100);
    feed(replay, 0, record_short(WIRE_FREE, 1600, 0x1000)); /* the chunk's, not the block's */
    assert_int_equal(live_of(replay), 100);
    feed(replay, 0, record_short(WIRE_POOL_FREE, 1700, 0x1000));
    assert_int_equal(live_of(replay), 0);
    numbers_program(replay, &program);
    assert_int_equal(program.foreign_frees, 0);
    assert_int_equal(program.replaced_blocks, 0);
    assert_int_equal(numbers_thread(replay, 0).pool_count, 2);
    replay_free(replay);
}

static void counters_and_their_peak(void **unused)
{
    struct replay *replay = new_replay(2);
    struct replay_counters all, one;
    (void)unused;
    feed(replay, 0, record_long(WIRE_MALLOC, 1100, 0x1000, 1000, wire_detail(1, 0, 0)));
    feed(replay, 0, record_short(WIRE_FREE, 1200, 0x1000));
    feed(replay, 1, record_long(WIRE_MALLOC, 1300, 0x2000, 10, wire_detail(1, 0, 0)));
    assert_true(replay_counters(replay, 0, &all));
    assert_int_equal(all.current_bytes, 10);
    assert_int_equal(all.peak_bytes, 1000);
    assert_int_equal(all.total_bytes, 1010);
    assert_int_equal(all.count, 2);
    replay_watch_peak(replay, 0);
    replay_watch_peak(replay, 100);
    feed(replay, 0, record_long(WIRE_MALLOC, 1400, 0x1000, 200, wire_detail(1, 0, 0)));
    feed(replay, 0, record_short(WIRE_FREE, 1500, 0x1000));
    assert_true(replay_counters(replay, 0, &all) && replay_counters(replay, 100, &one));
    assert_int_equal(all.peak_bytes, 210);
    assert_int_equal(one.peak_bytes, 200);
    assert_int_equal(one.current_bytes, 0);
    assert_false(replay_counters(replay, 999, &one));
    replay_free(replay);
}

static void a_window_keeps_who_is_alive_in_a_region(void **unused)
{
    struct replay *replay = new_replay(1);
    size_t count;
    (void)unused;
    feed(replay, 0, mark(WIRE_REGION_BEGIN, 1100, 1));
    feed(replay, 0, record_long(WIRE_MALLOC, 1150, 0x1000, 64, wire_detail(1, 0, 0)));
    feed(replay, 0, record_long(WIRE_MALLOC, 1160, 0x2000, 32, wire_detail(2, 0, 0)));
    feed(replay, 0, record_short(WIRE_FREE, 1170, 0x2000));
    replay_restart(replay, 1200, 1);
    feed(replay, 0, record_long(WIRE_MALLOC, 1250, 0x3000, 8, wire_detail(2, 0, 0)));
    feed(replay, 0, mark(WIRE_REGION_END, 1300, 1));
    feed(replay, 0, record_short(WIRE_FREE, 1400, 0x1000));
    struct replay_region *regions = replay_regions(replay, &count);
    assert_int_equal(regions[0].time_ticks, 100);
    assert_int_equal(regions[0].peak_bytes, 72);
    assert_int_equal(regions[0].live_bytes, 8);
    clear(got, NAMES * NODES);
    replay_changed_region_blocks(replay, take_regions, regions);
    assert_int_equal(got[NODES + 1].alloc_count, 0);
    assert_int_equal(got[NODES + 1].free_count, 1);
    assert_int_equal(got[NODES + 2].alloc_count, 1);
    assert_int_equal(got[NODES + 2].live_bytes, 8);
    free(regions);
    replay_free(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams),
        cmocka_unit_test(nested_ends_close_what_they_hold),
        cmocka_unit_test(a_region_within_itself_counts_once),
        cmocka_unit_test(an_end_in_another_thread_is_none),
        cmocka_unit_test(marks_say_what_was_alive),
        cmocka_unit_test(a_pools_chunk_counts_no_more),
        cmocka_unit_test(counters_and_their_peak),
        cmocka_unit_test(a_window_keeps_who_is_alive_in_a_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

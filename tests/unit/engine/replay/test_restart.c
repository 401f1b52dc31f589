/* A window: what happens in it is counted, what was alive before it is alive. Against the
 * brute-force replay of everything, looked at at the window's start and at its end.
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
#include "brute.h"
#include "records.h"

enum { START = 1000, EVENTS = 3000, ADDRESSES = 60, STREAMS = 3 };

static uint64_t state;

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

/* A realloc's end, failed or not, when its stream is in one; else anything. */
static struct wire_record some_record(uint64_t ticks, bool in_realloc)
{
    static const unsigned kinds[] = {WIRE_MALLOC,        WIRE_CALLOC,  WIRE_NEW,  WIRE_MALLOC,
                                     WIRE_FREE,          WIRE_FREE,    WIRE_FREE, WIRE_FREE_AT,
                                     WIRE_REALLOC_BEGIN, WIRE_ALIGNED, WIRE_MMAP};
    uint64_t address = 0x1000 + 64 * below(ADDRESSES);
    unsigned kind =
        in_realloc && below(2) ? WIRE_REALLOC_END : kinds[below(sizeof kinds / sizeof *kinds)];
    if (kind & WIRE_LONG)
        return record_long(kind, ticks, address, below(2) ? below(60) : below(40000),
                           wire_detail((uint32_t)below(20), (unsigned)below(16), 0));
    return record_short(kind, ticks, address);
}

static void check(const char *what, uint64_t node, uint64_t got, uint64_t wanted)
{
    if (got != wanted)
        fail_msg("%s of node %llu: %llu and not %llu", what, (unsigned long long)node,
                 (unsigned long long)got, (unsigned long long)wanted);
}

static struct call_numbers window[BRUTE_NODES];

static void take_block(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    (void)first;
    for (size_t i = 0; i < count; i++) {
        window[sites[i].node] = *call_numbers_of(&sites[i].metrics);
        ((bool *)context)[sites[i].node] = true;
    }
}

#define SUM(field)   check(#field, node, got->field, after->field - before->field)
#define LEVEL(field) check(#field, node, got->field, after->field)

static void check_sums(uint64_t node, const struct call_numbers *got,
                       const struct call_numbers *before, const struct call_numbers *after)
{
    SUM(alloc_count), SUM(alloc_bytes), SUM(realloc_count), SUM(realloc_bytes);
    SUM(realloc_moved), SUM(free_count), SUM(free_bytes), SUM(failed_count), SUM(zero_count);
    SUM(aligned_count), SUM(slack_bytes), SUM(lifetime_sum), SUM(map_count), SUM(map_bytes);
    SUM(freed_count), SUM(freed_bytes), SUM(freed_elsewhere_count), SUM(freed_lifetime_sum);
    LEVEL(live_count), LEVEL(live_bytes), LEVEL(live_slack_bytes);
    assert_true(got->temporary_count <= after->temporary_count - before->temporary_count);
}

/* Of the blocks that were born in the window, and of those that ended in it. */
static void check_extremes(const struct brute *before, const struct brute *after)
{
    uint64_t size_min[BRUTE_NODES], size_max[BRUTE_NODES] = {0};
    uint64_t life_min[BRUTE_NODES], life_max[BRUTE_NODES] = {0};
    memset(size_min, 0xff, sizeof size_min);
    memset(life_min, 0xff, sizeof life_min);
    for (size_t i = 0; i < after->block_count; i++) {
        const struct brute_block *block = &after->blocks[i];
        uint32_t node = block->node;
        if (i >= before->block_count) {
            size_min[node] = block->size < size_min[node] ? block->size : size_min[node];
            size_max[node] = block->size > size_max[node] ? block->size : size_max[node];
        }
        if (block->life != BRUTE_OVER ||
            (i < before->block_count && before->blocks[i].life == BRUTE_OVER))
            continue;
        life_min[node] = block->lifetime < life_min[node] ? block->lifetime : life_min[node];
        life_max[node] = block->lifetime > life_max[node] ? block->lifetime : life_max[node];
    }
    for (uint32_t node = 0; node < 20; node++) {
        check("size_min", node, window[node].size_min, size_min[node]);
        check("size_max", node, window[node].size_max, size_max[node]);
        check("lifetime_min", node, window[node].lifetime_min, life_min[node]);
        check("lifetime_max", node, window[node].lifetime_max, life_max[node]);
    }
}

static void check_sites(struct replay *replay, const struct brute *before,
                        const struct brute *after)
{
    static const struct call_numbers none = {.size_min = UINT64_MAX, .lifetime_min = UINT64_MAX};
    bool seen[BRUTE_NODES] = {false};
    for (uint32_t node = 0; node < BRUTE_NODES; node++)
        window[node] = none;
    replay_changed_blocks(replay, take_block, seen);
    for (uint32_t node = 0; node < 20; node++)
        check_sums(node, &window[node], &before->sites[node], &after->sites[node]);
    check_extremes(before, after);
}

/* The level at the window's start counts. */
static void check_peak(struct replay *replay, const struct brute *before, const struct brute *after,
                       uint64_t start_ticks)
{
    struct program_numbers program, was, is;
    struct brute_level level = {start_ticks, 0, 0};
    uint64_t blocks, bytes = 0, shares = 0;
    numbers_program(replay, &program);
    brute_program(before, &was);
    brute_program(after, &is);
    level.requested = was.total.live_bytes;
    blocks = was.total.live_count;
    for (size_t i = before->level_count; i < after->level_count; i++) {
        if (after->levels[i].requested > level.requested)
            level = after->levels[i];
        if (after->levels[i].blocks > blocks)
            blocks = after->levels[i].blocks;
    }
    check("peak_bytes", 0, program.total.peak_bytes, level.requested);
    check("peak_ticks", 0, program.total.peak_ticks, level.now);
    check("live_peak_count", 0, program.live_peak_count, blocks);
    for (uint32_t node = 0; node < 20; node++) {
        shares += window[node].at_peak_bytes;
        bytes += window[node].live_bytes;
        assert_true(window[node].peak_bytes >= window[node].at_peak_bytes);
    }
    check("shares of the peak", 0, shares, level.requested);
    check("live_bytes", 0, program.total.live_bytes, bytes);
    check("events", 0, program.events, is.events - was.events);
    check("foreign_frees", 0, program.foreign_frees, is.foreign_frees - was.foreign_frees);
}

static void check_threads(const struct replay *replay, const struct brute *before,
                          const struct brute *after)
{
    for (size_t node = 0; node < STREAMS; node++) {
        struct thread_numbers thread = numbers_thread(replay, node), *now = &thread;
        const struct thread_numbers *was = &before->threads[node], *is = &after->threads[node];
        check("alloc_count", node, now->alloc_count, is->alloc_count - was->alloc_count);
        check("alloc_bytes", node, now->alloc_bytes, is->alloc_bytes - was->alloc_bytes);
        check("free_count", node, now->free_count, is->free_count - was->free_count);
        check("free_bytes", node, now->free_bytes, is->free_bytes - was->free_bytes);
        uint64_t live_bytes = 0;
        for (size_t i = 0; i < after->block_count; i++)
            if (after->blocks[i].thread == node && after->blocks[i].life != BRUTE_OVER)
                live_bytes += after->blocks[i].size;
        check("live_bytes of the thread", node, now->live_bytes, live_bytes);
        assert_true(now->peak_bytes >= live_bytes);
        check("tid", node, now->tid, is->tid);
    }
}

static void check_timeline(const struct replay *replay, const struct brute *after,
                           uint64_t start_ticks, const struct program_numbers *program)
{
    size_t count;
    uint64_t ticks, peak = 0, allocations = 0;
    const struct bucket_numbers *buckets = numbers_timeline(replay, &count, &ticks);
    for (size_t i = 0; i < count; i++) {
        peak = buckets[i].requested.max > peak ? buckets[i].requested.max : peak;
        allocations += buckets[i].alloc_count;
    }
    check("timeline's peak", 0, peak, program->total.peak_bytes);
    check("timeline's allocations", 0, allocations,
          program->total.alloc_count + program->total.realloc_count);
    assert_true(start_ticks + count * ticks > after->last);
}

static void play_some(struct replay *replay, struct brute *brute, size_t count, uint64_t *ticks,
                      unsigned *pending)
{
    for (size_t i = 0; i < count; i++) {
        char bytes[32];
        uint32_t stream = (uint32_t)below(STREAMS);
        *ticks += 1 + below(30);
        struct wire_record record = some_record(*ticks, pending[stream] > 0);
        unsigned kind = wire_kind(record.kind_address);
        pending[stream] += kind == WIRE_REALLOC_BEGIN;
        pending[stream] -= kind == WIRE_REALLOC_END;
        replay_records(replay, stream, bytes, record_write(bytes, &record));
        brute_record(brute, stream, &record);
    }
}

static void a_window_has_what_happens_in_it(void **unused)
{
    (void)unused;
    const char *seed = getenv("TIDEMARK_TEST_SEED");
    state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)state);
    struct brute *brute = calloc(1, sizeof *brute), *before = malloc(sizeof *before);
    for (int round = 0; round < 20; round++) {
        uint64_t ticks = START;
        unsigned pending[STREAMS] = {0};
        struct replay *replay = replay_new(START, 1);
        struct program_numbers program;
        replay_know_frees(replay);
        memset(brute, 0, sizeof *brute);
        brute_init(brute, START, true);
        for (uint32_t stream = 0; stream < STREAMS; stream++) {
            replay_thread_begin(replay, 100 + stream, START);
            brute_thread_begin(brute, 100 + stream, START);
        }
        play_some(replay, brute, below(EVENTS), &ticks, pending);
        uint64_t start = ticks + below(2);
        replay_restart(replay, start, 1);
        memcpy(before, brute, sizeof *before);
        play_some(replay, brute, below(10) ? below(EVENTS) : 0, &ticks, pending);
        check_sites(replay, before, brute);
        check_peak(replay, before, brute, start);
        check_threads(replay, before, brute);
        numbers_program(replay, &program);
        check_timeline(replay, brute, start, &program);
        replay_free(replay);
    }
    free(before);
    free(brute);
}

static void put(struct replay *replay, struct wire_record record)
{
    char bytes[32];
    replay_records(replay, 0, bytes, record_write(bytes, &record));
}

/* What happened is not known of a recording of pages, and a window does not change that. */
static void a_window_of_pages_knows_levels_and_nothing_else(void **unused)
{
    (void)unused;
    struct replay *replay = replay_new(START, 1);
    struct program_numbers program;
    replay_pages(replay);
    replay_thread_begin(replay, 1, START);
    put(replay, record_long(WIRE_MALLOC, START + 1, 0x1000, 40, wire_detail(1, 8, 0)));
    replay_restart(replay, START + 2, 1);
    put(replay, record_long(WIRE_MALLOC, START + 3, 0x2000, 40, wire_detail(2, 8, 0)));
    put(replay, record_short(WIRE_FREE, START + 4, 0x1000));
    numbers_program(replay, &program);
    assert_true(program.total.live_bytes > 0 && program.total.live_bytes < UINT64_MAX);
    assert_true(program.total.alloc_count == UINT64_MAX && program.total.alloc_bytes == UINT64_MAX);
    assert_true(program.total.free_count == UINT64_MAX && program.total.size_max == UINT64_MAX);
    replay_free(replay);
}

static void a_mapping_from_before_a_window_is_not_temporary_in_it(void **unused)
{
    (void)unused;
    struct replay *replay = replay_new(START, 1);
    struct program_numbers program;
    replay_thread_begin(replay, 1, START);
    put(replay, record_long(WIRE_MMAP, START + 1, 0x10000, 4096, wire_detail(1, 0, 0)));
    replay_restart(replay, START + 2, 1);
    put(replay, record_long(WIRE_MUNMAP, START + 3, 0x10000, 4096, wire_detail(1, 0, 0)));
    numbers_program(replay, &program);
    assert_int_equal(program.mapped.alloc_count, 0);
    assert_int_equal(program.mapped.free_count, 1);
    assert_int_equal(program.mapped.temporary_count, 0);
    replay_free(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_has_what_happens_in_it),
        cmocka_unit_test(a_window_of_pages_knows_levels_and_nothing_else),
        cmocka_unit_test(a_mapping_from_before_a_window_is_not_temporary_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

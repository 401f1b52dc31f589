/* A recording of every allocation that goes on by samples: what comes out is what comes out of the
 * same records where the interval could change from the beginning. TIDEMARK_TEST_SEED=n repeats a
 * run. */
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
#include "records.h"

enum { RECORDS = 6000, ADDRESSES = 400, STREAMS = 3, NODES = 12, TURN = RECORDS / 2 };

static uint64_t state;

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

/* ---- Records that a program could have made ------------------------------------------------- */

static bool is_live[ADDRESSES];
static uint64_t newest[STREAMS], pending[STREAMS];
static uint64_t ticks;

static uint64_t address_of(uint64_t index)
{
    return 0x10000 + 64 * index;
}

static void forget(uint64_t address)
{
    for (int i = 0; i < STREAMS; i++)
        if (newest[i] == address)
            newest[i] = 0;
}

/* UINT64_MAX: there is none. */
static uint64_t some_index(bool live)
{
    for (int tries = 0; tries < 50; tries++) {
        uint64_t index = below(ADDRESSES);
        if (is_live[index] == live)
            return index;
    }
    return UINT64_MAX;
}

static struct wire_record some_birth(unsigned kind, uint32_t stream, unsigned level)
{
    uint64_t index = some_index(false), size = below(3) ? below(5000) : below(3000000);
    if (index == UINT64_MAX)
        return record_short(WIRE_VOID, ticks, 0);
    is_live[index] = true;
    newest[stream] = address_of(index);
    return record_long(kind, ticks, address_of(index), size,
                       wire_detail(1 + (uint32_t)below(NODES), below(9),
                                   wire_level_align(below(9) ? 4 : 6, level)));
}

static struct wire_record some_end(uint32_t stream, bool with_path)
{
    uint64_t index = some_index(true), address = address_of(index);
    if (index == UINT64_MAX)
        return record_short(WIRE_VOID, ticks, 0);
    unsigned flag = newest[stream] == address ? WIRE_NEWEST : 0;
    is_live[index] = false;
    forget(address);
    if (with_path)
        return record_long(WIRE_FREE_AT | flag, ticks, address, 0,
                           wire_detail(1 + (uint32_t)below(NODES), 0, 0));
    return record_short(WIRE_FREE | flag, ticks, address);
}

static struct wire_record some_realloc(uint32_t stream)
{
    uint64_t index = some_index(true);
    if (index == UINT64_MAX)
        return record_short(WIRE_VOID, ticks, 0);
    is_live[index] = false;
    forget(address_of(index));
    pending[stream] = index + 1;
    return record_short(WIRE_REALLOC_BEGIN, ticks, address_of(index));
}

static struct wire_record some_record(uint32_t stream, unsigned level)
{
    ticks += 1 + below(40);
    if (pending[stream] && below(2)) {
        pending[stream] = 0;
        return some_birth(WIRE_REALLOC_END, stream, level);
    }
    switch (below(16)) {
    case 0:
        return record_long(WIRE_MALLOC | WIRE_FAILED, ticks, 0, 100, wire_detail(3, 0, 0));
    case 1:
        return pending[stream] ? record_short(WIRE_VOID, ticks, 0) : some_realloc(stream);
    case 2:
        return record_short(WIRE_REGION_BEGIN, ticks, 1 + below(3));
    case 3:
        return record_short(WIRE_REGION_END, ticks, 0);
    case 4:
        return record_long(WIRE_MMAP, ticks, 0x7000000 + (below(8) << 16), 1 << 16,
                           wire_detail(2, 0, 0));
    case 5:
    case 6:
    case 7:
        return some_end(stream, below(2));
    default:
        return some_birth(below(2) ? WIRE_MALLOC : WIRE_NEW, stream, level);
    }
}

/* ---- What comes out, as bytes ---------------------------------------------------------------- */

struct bytes {
    char *all;
    size_t count;
};

static void add(struct bytes *bytes, const void *what, size_t count)
{
    bytes->all = realloc(bytes->all, bytes->count + count);
    memcpy(bytes->all + bytes->count, what, count);
    bytes->count += count;
}

static void add_sites(void *out, uint32_t first, struct replay_site *sites, size_t count)
{
    add(out, &first, sizeof first);
    for (size_t i = 0; i < count; i++) {
        add(out, &sites[i].node, sizeof sites[i].node);
        add(out, &sites[i].metrics, sizeof sites[i].metrics);
    }
}

static void add_region_sites(void *out, uint32_t first, struct replay_region_site *sites,
                             size_t count)
{
    add(out, &first, sizeof first);
    for (size_t i = 0; i < count; i++)
        add(out, &sites[i].metrics, sizeof sites[i].metrics);
}

static void add_row(void *out, const struct distribution_row *row)
{
    uint64_t words[] = {row->kind, row->x, row->y, row->count, row->bytes};
    add(out, words, sizeof words);
}

static void add_exchange(void *out, const struct exchange *exchange)
{
    uint64_t words[] = {exchange->owner, exchange->freer, exchange->count, exchange->bytes};
    add(out, words, sizeof words);
}

static void add_block(void *out, const struct replay_block *block)
{
    uint64_t words[] = {block->address, block->size_bytes, block->birth_ticks, block->node,
                        block->owner};
    add(out, words, sizeof words);
}

static struct bytes outcome_of(struct replay *replay)
{
    struct bytes out = {NULL, 0};
    struct program_metrics program;
    struct peak peaks[PEAKS_MAX];
    size_t count = replay_peaks(replay, peaks);
    uint64_t bucket_ticks;
    for (size_t i = 0; i < count; i++)
        add(&out, &peaks[i].bytes, sizeof peaks[i].bytes);
    replay_changed_blocks(replay, add_sites, &out);
    replay_changed_mapped_blocks(replay, add_sites, &out);
    replay_changed_region_blocks(replay, add_region_sites, &out);
    replay_program(replay, &program);
    add(&out, &program, sizeof program);
    for (size_t i = 0; i < replay_thread_count(replay); i++) {
        struct thread_metrics thread = replay_thread(replay, i);
        add(&out, &thread, sizeof thread);
    }
    const struct timeline_bucket *buckets = replay_timeline(replay, &count, &bucket_ticks);
    add(&out, buckets, count * sizeof *buckets);
    replay_distributions(replay, add_row, &out);
    replay_exchanges(replay, add_exchange, &out);
    replay_live_blocks(replay, add_block, &out);
    return out;
}

static void assert_same(struct replay *a, struct replay *b)
{
    struct bytes one = outcome_of(a), other = outcome_of(b);
    assert_int_equal(one.count, other.count);
    assert_memory_equal(one.all, other.all, one.count);
    free(one.all);
    free(other.all);
}

static struct replay *new_replay(void)
{
    struct replay *replay = replay_new(0, 1.0);
    replay_know_frees(replay);
    for (uint32_t i = 0; i < STREAMS; i++)
        replay_thread_begin(replay, 100 + i, 0);
    return replay;
}

static void play(struct replay *replay, uint32_t stream, const struct wire_record *record)
{
    char bytes[32];
    replay_records(replay, stream, bytes, record_write(bytes, record));
}

/* A recording of every allocation finds out itself which block was the newest. */
static void play_both(struct replay *always, struct replay *later, unsigned levels)
{
    uint32_t stream = (uint32_t)below(STREAMS);
    struct wire_record record = some_record(stream, (unsigned)below(levels));
    unsigned kind = wire_kind(record.kind_address) & ~(unsigned)WIRE_NEWEST;
    play(always, stream, &record);
    if (levels == 1 && (kind == WIRE_FREE || kind == WIRE_FREE_AT))
        record.kind_address &= ~((uint64_t)WIRE_NEWEST << 56);
    play(later, stream, &record);
}

static void it_is_as_if_levels_had_been_there_from_the_beginning(void **unused)
{
    struct replay *always = new_replay(), *later = new_replay();
    (void)unused;
    memset(is_live, 0, sizeof is_live);
    memset(newest, 0, sizeof newest);
    memset(pending, 0, sizeof pending);
    ticks = 0;
    replay_adapt(always);
    for (unsigned i = 0; i < TURN; i++)
        play_both(always, later, 1);
    replay_begin_to_adapt(later);
    assert_same(always, later);
    for (unsigned i = TURN; i < RECORDS; i++)
        play_both(always, later, WIRE_LEVELS);
    assert_same(always, later);
    replay_free(always);
    replay_free(later);
}

/* More blocks of one path than 32 bits have 1024ths for. */
static void a_path_with_many_blocks_keeps_its_count(void **unused)
{
    enum { MANY = 5000000 };
    struct replay *replay = new_replay();
    struct program_metrics program;
    uint64_t count;
    (void)unused;
    for (uint64_t i = 0; i < MANY; i++) {
        struct wire_record birth = record_long(WIRE_MALLOC, i, 0x10000, 8, wire_detail(1, 0, 4));
        struct wire_record end = record_short(WIRE_FREE, i, 0x10000);
        play(replay, 0, &birth);
        play(replay, 0, &end);
    }
    replay_begin_to_adapt(replay);
    replay_program(replay, &program);
    assert_true(figure_get(program.total.alloc_count, &count));
    assert_int_equal(count, MANY);
    assert_true(figure_get(program.total.temporary_count, &count));
    assert_int_equal(count, MANY);
    replay_free(replay);
}

static void growth_is_told_before_it_comes(void **unused)
{
    struct replay *replay = new_replay();
    size_t before = replay_memory_bytes(replay), told = 0;
    (void)unused;
    assert_int_equal(replay_growth_bytes(replay, 0), 0);
    for (uint64_t i = 1; replay_memory_bytes(replay) < before + (before / 2); i++) {
        struct wire_record birth = record_long(WIRE_MALLOC, i, 64 * i, 8, wire_detail(1, 0, 4));
        size_t memory = replay_memory_bytes(replay);
        told = replay_growth_bytes(replay, 0);
        play(replay, 0, &birth);
        assert_true(told || replay_memory_bytes(replay) < memory + 32768); /* a call path's page */
        assert_true(!told || replay_memory_bytes(replay) <= memory + told);
    }
    assert_true(told > 0);
    told = 0;
    for (size_t births = 1; !told; births *= 2) /* of those that come it is told as well */
        told = replay_growth_bytes(replay, births);
    assert_true(told > before / 2); /* so small a table doubles */
    assert_int_equal(replay_growth_bytes(replay, 0), 0);
    replay_free(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_if_levels_had_been_there_from_the_beginning),
        cmocka_unit_test(a_path_with_many_blocks_keeps_its_count),
        cmocka_unit_test(growth_is_told_before_it_comes),
    };
    const char *given = getenv("TIDEMARK_TEST_SEED");
    state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

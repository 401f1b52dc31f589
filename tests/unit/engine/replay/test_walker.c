/* Random streams through the replay and through the walker of a block's life (blocks/walker.h): the
 * replay's hot path has the rule inlined, so both must say of every record the same blocks.
 * TIDEMARK_TEST_SEED=n repeats one run. */
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
#include "blocks/walker.h"
#include "replay/replay.h"
#include "replay/replay_state.h"
#include "records.h"

enum { START = 1000000, STREAMS = 3, ADDRESSES = 12, NODES = 40, RECORDS = 3000, ROUNDS = 60 };

static uint64_t seed;

static uint64_t draw(uint64_t limit)
{
    uint64_t z = seed += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (z ^ (z >> 31)) % limit;
}

/* ---- What the walker says ------------------------------------------------------------------ */

struct known_block {
    uint64_t address, size_bytes, birth_ticks, node;
};

struct account {
    struct known_block alive[RECORDS];
    size_t alive_count, most_alive;
    uint64_t births[NODES], ends[NODES], bytes[NODES], failures[NODES];
    uint64_t unknown, owed, settled;
};

static struct known_block known_of(const struct live_block *block)
{
    return (struct known_block){block->address, block->size_bytes, block->birth_ticks, block->site};
}

static void account_begins(void *context, const struct walker_step *step,
                           const struct live_block *old, struct live_block *block)
{
    struct account *account = context;

    (void)step, (void)old;
    account->alive[account->alive_count++] = known_of(block);
    account->most_alive =
        account->alive_count > account->most_alive ? account->alive_count : account->most_alive;
    account->births[block->site]++;
    account->bytes[block->site] += block->size_bytes;
}

static void account_ends(void *context, const struct walker_step *step,
                         const struct live_block *block, enum walker_end how)
{
    struct account *account = context;
    struct known_block over = known_of(block);
    size_t i = account->alive_count;

    (void)step;
    do
        assert_true(i-- > 0); /* no life ends that has not begun */
    while (memcmp(&account->alive[i], &over, sizeof over) != 0);
    account->alive[i] = account->alive[--account->alive_count];
    account->ends[block->site]++;
    account->bytes[block->site] -= block->size_bytes;
    account->owed += how == WALKER_REPLACED;
}

static void account_misses(void *context, const struct walker_step *step, enum walker_miss why)
{
    struct account *account = context;

    (void)step;
    account->unknown += why == WALKER_UNKNOWN;
    account->settled += why == WALKER_SETTLED;
}

static void account_fails(void *context, const struct walker_step *step)
{
    struct account *account = context;

    account->failures[wire_detail_node(step->record->detail)]++;
}

/* The replay counts a failed mmap too. */
static void account_others(void *context, const struct walker_step *step)
{
    if (wire_kind(step->record->kind_address) == (WIRE_MMAP | WIRE_FAILED))
        account_fails(context, step);
}

static const struct walker_sink account_sink = {NULL,           account_ends,  account_begins,
                                                account_misses, account_fails, account_others};

/* ---- Records ------------------------------------------------------------------------------- */

/* Any kind with any flag, at few addresses, a third of them late. Most mean a block's life. */
static struct wire_record some_record(uint64_t *ticks)
{
    static const unsigned common[] = {
        WIRE_MALLOC,      WIRE_MALLOC, WIRE_FREE,      WIRE_FREE_AT,    WIRE_REALLOC_BEGIN,
        WIRE_REALLOC_END, WIRE_POOL,   WIRE_POOL_FREE, WIRE_POOL_CHUNK, WIRE_NEW_ARRAY};
    const struct record_kind *row = &record_kinds[draw(RECORD_NUMBERS)];
    unsigned kind = draw(10) && row->is_there ? row->kind : common[draw(10)];
    uint64_t address = draw(20) ? 0x7f0000001000 + 16 * draw(ADDRESSES) : 0;
    uint64_t size = draw(20) ? draw(300) : 0;

    if (draw(3))
        kind = common[draw(10)];
    if (!draw(6)) {
        kind |= WIRE_FAILED;
        address = kind & WIRE_LONG ? 0 : address;
    }
    if (kind == WIRE_MARK || kind == WIRE_REGION_BEGIN || kind == WIRE_REGION_END ||
        kind == WIRE_SPENT)
        kind = WIRE_VOID; /* a region's blocks have labels for sites */
    *ticks += draw(4);
    return record_long(kind, draw(3) ? *ticks : *ticks - draw(60), address, size,
                       wire_detail((uint32_t)draw(NODES), draw(20), 0));
}

/* ---- Comparing ----------------------------------------------------------------------------- */

struct blocks {
    struct known_block all[RECORDS];
    size_t count;
};

static void note_block(void *context, const struct replay_block *block)
{
    struct blocks *blocks = context;

    blocks->all[blocks->count++] =
        (struct known_block){block->address, block->size_bytes, block->birth_ticks, block->node};
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct known_block));
}

static void same_blocks(const struct replay *replay, const struct account *account)
{
    static struct blocks got, wanted;

    got.count = 0;
    replay_live_blocks(replay, note_block, &got);
    memcpy(wanted.all, account->alive, account->alive_count * sizeof *account->alive);
    assert_int_equal(got.count, account->alive_count);
    qsort(got.all, got.count, sizeof *got.all, by_bytes);
    qsort(wanted.all, got.count, sizeof *got.all, by_bytes);
    assert_memory_equal(got.all, wanted.all, got.count * sizeof *got.all);
}

static void same_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    const struct account *account = context;

    (void)first;
    for (size_t i = 0; i < count; i++) {
        const struct call_metrics *metrics = &sites[i].metrics;
        uint32_t node = sites[i].node;
        assert_int_equal(figure_or(call_metrics_blocks(metrics), UINT64_MAX),
                         account->births[node]);
        assert_int_equal(figure_or(metrics->free_count, UINT64_MAX), account->ends[node]);
        assert_int_equal(figure_or(metrics->live_bytes, UINT64_MAX), account->bytes[node]);
        assert_int_equal(figure_or(metrics->failed_count, UINT64_MAX), account->failures[node]);
    }
}

static void same_figures(struct replay *replay, struct account *account)
{
    struct program_metrics program;

    replay_changed_blocks(replay, same_sites, account);
    replay_program(replay, &program);
    assert_int_equal(program.foreign_frees, account->unknown);
    assert_int_equal(program.replaced_blocks, account->owed - account->settled);
}

/* What the streams were about, over all rounds. */
static struct account seen;

static void compare_a_stream(bool sampled)
{
    static struct account account;
    struct replay *replay = replay_new(START, 1.0);
    struct walker walker;
    uint64_t ticks = START + 100;

    memset(&account, 0, sizeof account);
    walker_init(&walker, sampled);
    if (sampled)
        replay_sample(replay, 64);
    for (uint32_t i = 0; i < STREAMS; i++)
        assert_int_equal(replay_thread_begin(replay, 7 + i, START), i);
    for (int i = 0; i < RECORDS; i++) {
        uint32_t stream = (uint32_t)draw(STREAMS);
        struct wire_record record = some_record(&ticks);
        walker_record(&walker, &account_sink, &account,
                      record_class_of(sampled, record.kind_address), stream, &record);
        replay_records(replay, stream, &record, wire_record_bytes(record.kind_address));
        if (i % 16 == 0)
            same_blocks(replay, &account);
    }
    same_blocks(replay, &account);
    if (!sampled)
        same_figures(replay, &account);
    seen.unknown += account.unknown;
    seen.owed += account.owed;
    seen.settled += account.settled;
    walker_release(&walker);
    replay_free(replay);
}

static void both_say_the_same_of_every_allocation(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        compare_a_stream(false);
    assert_true(seen.unknown > 1000 && seen.owed > 1000 && seen.settled > 1000);
}

static void both_say_the_same_of_a_sample(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        compare_a_stream(true);
}

/* Each kind that begins a life has a counter of its thread's (replay_threads.c). */
static void every_birth_is_counted_at_its_thread(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORD_NUMBERS; i++) {
        enum record_class class = (enum record_class)record_kinds[i].class;
        if (class == RECORD_BIRTH || class == RECORD_POOL_BIRTH || class == RECORD_REALLOC_END)
            assert_int_not_equal(thread_counters[record_kinds[i].kind], 0);
    }
}

/* A class that makes sense has a handler, and nothing else has. */
static void the_replay_handles_every_kind(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 256; kind++) {
        bool in_full = record_classes[false][kind] != RECORD_NONSENSE;
        bool in_sample = record_classes[true][kind] != RECORD_NONSENSE;
        assert_int_equal(replay_handlers[EVERY][kind] != NULL, in_full);
        assert_int_equal(replay_handlers[SAMPLED][kind] != NULL, in_sample);
    }
}

int main(void)
{
    const char *given = getenv("TIDEMARK_TEST_SEED");
    struct timespec now;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_replay_handles_every_kind),
        cmocka_unit_test(every_birth_is_counted_at_its_thread),
        cmocka_unit_test(both_say_the_same_of_every_allocation),
        cmocka_unit_test(both_say_the_same_of_a_sample),
    };

    clock_gettime(CLOCK_REALTIME, &now);
    seed =
        given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec * 1000003 ^ (uint64_t)now.tv_nsec;
    print_message("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random streams through the replay and through the brute-force replay (brute.c): every number that
 * comes out must be the same. TIDEMARK_TEST_SEED=n repeats one run. */
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
#include "history.h"
#include "records.h"

#define START     1000000
#define ADDRESSES 96

/* What kind of program the stream is from. */
struct shape {
    const char *name;
    size_t events;
    unsigned threads;
    unsigned late_percent;   /* records that come after younger ones */
    unsigned wild_percent;   /* frees and allocations at any address, live or not */
    unsigned jump_per_mille; /* long silences */
    bool announcements;      /* threads start, end and are followed by others in their stream */
    unsigned timed_percent;  /* records behind which the time of their call is told */
    unsigned size_log2;      /* largest size; 0: mostly small ones */
    unsigned pair_percent;   /* allocations whose block is freed by the next record */
};

static const struct shape shapes[] = {
    {"one thread in order", 3000, 1, 0, 0, 2, false, 0, 0, 40},
    {"two threads, foreign frees and replaced blocks", 3000, 2, 0, 10, 2, false, 0, 0, 30},
    {"eight threads, late events", 4000, 8, 10, 5, 1, true, 0, 0, 30},
    {"nonsense at every step", 3000, 4, 50, 60, 5, true, 0, 0, 10},
    {"a long time", 2500, 3, 2, 2, 100, false, 0, 0, 30},
    {"calls are timed", 2500, 3, 5, 5, 1, true, 50, 0, 20},
    {"call paths of some megabytes", 4000, 2, 0, 0, 1, false, 0, 20, 0},
    {"call paths near the threshold of curves", 4000, 4, 2, 5, 1, true, 5, 12, 40},
    {"blocks that are freed at once", 4000, 1, 2, 5, 20, false, 0, 8, 75},
};

struct random {
    uint64_t state;
};

static uint64_t next(struct random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint64_t below(struct random *random, uint64_t limit)
{
    return next(random) % limit;
}

static bool chance(struct random *random, unsigned percent)
{
    return below(random, 100) < percent;
}

/* Writes records as a program of a shape would. */
struct author {
    struct random random;
    const struct shape *shape;
    uint64_t ticks;
    bool live[ADDRESSES]; /* roughly */
    uint64_t slot;        /* of the last address */
    unsigned pending[BRUTE_STREAMS];
    unsigned starts;
};

static uint64_t some_address(struct author *author, bool live)
{
    uint64_t slot = below(&author->random, ADDRESSES);

    if (!chance(&author->random, author->shape->wild_percent))
        for (int i = 0; i < ADDRESSES && author->live[slot] != live; i++)
            slot = (slot + 1) % ADDRESSES;
    author->live[slot] = !live;
    author->slot = slot;
    if (slot % 8 == 7) /* more than 48 bits, of which the lowest are another block's */
        return 0xf07f0000001000 + (slot - 1) * 16;
    return 0x7f0000001000 + slot * 16;
}

static uint64_t some_size(struct author *author)
{
    if (author->shape->size_log2)
        return below(&author->random, 1ull << author->shape->size_log2);
    switch (below(&author->random, 10)) {
    case 0:
        return 0;
    case 1:
        return below(&author->random, 1ull << 40);
    default:
        return below(&author->random, 300);
    }
}

static uint64_t some_detail(struct author *author)
{
    uint32_t node = (uint32_t)(below(&author->random, 16) * below(&author->random, 16));

    return wire_detail(node, below(&author->random, 40),
                       chance(&author->random, 10) ? (unsigned)below(&author->random, 13) : 0);
}

/* Of a block: now and then with more slack than the table of live blocks keeps in a slot. */
static uint64_t some_block_detail(struct author *author)
{
    return some_detail(author) +
           (chance(&author->random, 3) ? below(&author->random, 1 << 16) << 32 : 0);
}

static uint64_t some_ticks(struct author *author)
{
    const struct shape *shape = author->shape;

    author->ticks += below(&author->random, 4);
    if (below(&author->random, 1000) < shape->jump_per_mille)
        author->ticks += below(&author->random, 1ull << below(&author->random, 30));
    if (chance(&author->random, shape->late_percent))
        return author->ticks - below(&author->random, chance(&author->random, 50) ? 30 : 3000);
    return author->ticks;
}

static struct wire_record some_allocation(struct author *author)
{
    static const unsigned kinds[] = {WIRE_MALLOC,  WIRE_MALLOC, WIRE_CALLOC,
                                     WIRE_ALIGNED, WIRE_NEW,    WIRE_NEW_ARRAY};
    unsigned kind = kinds[below(&author->random, 6)];
    uint64_t ticks = some_ticks(author);

    if (chance(&author->random, 3))
        return record_long(kind | WIRE_FAILED, ticks, 0, some_size(author), some_detail(author));
    return record_long(kind, ticks, some_address(author, false), some_size(author),
                       some_block_detail(author));
}

static struct wire_record some_realloc_end(struct author *author)
{
    uint64_t ticks = some_ticks(author);

    switch (below(&author->random, 6)) {
    case 0:
        return record_long(WIRE_REALLOC_END | WIRE_FAILED, ticks, 0, some_size(author),
                           some_detail(author));
    case 1:
        return record_long(WIRE_REALLOC_END, ticks, 0, 0, some_detail(author));
    default:
        return record_long(WIRE_REALLOC_END, ticks, some_address(author, false), some_size(author),
                           some_detail(author));
    }
}

static struct wire_record something_rare(struct author *author)
{
    uint64_t ticks = some_ticks(author);

    switch (below(&author->random, author->shape->announcements ? 10 : 8)) {
    case 0:
        return record_long(WIRE_MMAP, ticks, 0x7e0000000000, 1 << 20, some_detail(author));
    case 1:
        return record_long(WIRE_MUNMAP, ticks, 0x7e0000000000, 1 << 19, some_detail(author));
    case 2:
        return record_long(WIRE_BRK | (chance(&author->random, 30) ? WIRE_FAILED : 0), ticks,
                           0x555500000000, 4096, some_detail(author));
    case 3:
        return record_short(WIRE_LOST, ticks, below(&author->random, 5));
    case 4:
        return record_short(WIRE_VOID, 0, 0);
    case 5:
        return record_short(WIRE_FREE, ticks, 0);
    case 6:
        return record_long(WIRE_MMAP | WIRE_FAILED, ticks, 0, 1 << 20, some_detail(author));
    case 7:
        return record_long(WIRE_STACK, ticks, below(&author->random, 1 << 20),
                           below(&author->random, 1 << 20), some_detail(author));
    case 8:
        return record_short(WIRE_THREAD_END, ticks, 0);
    default:
        if (author->starts++ >= BRUTE_THREADS - BRUTE_STREAMS)
            return record_short(WIRE_THREAD_END, ticks, 0);
        return record_short(WIRE_THREAD_START, ticks, 7000 + author->starts);
    }
}

/* Once in a while longer than time. */
static struct wire_record some_time_spent(struct author *author)
{
    uint64_t ticks = some_ticks(author);
    bool nonsense = chance(&author->random, 3);

    return record_short(WIRE_SPENT, ticks, nonsense ? ticks + 1 : below(&author->random, 500));
}

static struct wire_record some_record(struct author *author, size_t stream)
{
    unsigned dice = (unsigned)below(&author->random, 100);
    uint64_t ticks;

    if (author->pending[stream] && chance(&author->random, 40)) {
        author->pending[stream]--;
        return some_realloc_end(author);
    }
    if (dice < 2)
        return something_rare(author);
    if (dice < 3)
        return some_realloc_end(author); /* its beginning was lost, or is an older one's */
    ticks = some_ticks(author);
    if (dice < 18 && author->pending[stream] < 5) {
        author->pending[stream]++;
        return record_short(WIRE_REALLOC_BEGIN, ticks,
                            chance(&author->random, 5) ? 0 : some_address(author, true));
    }
    if (dice < 55)
        return some_allocation(author);
    if (dice < 76)
        return record_long(WIRE_FREE_AT, ticks, some_address(author, true), 0, some_detail(author));
    return record_short(WIRE_FREE, ticks, some_address(author, true));
}

/* The free of a block that was just allocated, as the next record. */
static struct wire_record its_free(struct author *author, const struct wire_record *allocation)
{
    author->live[author->slot] = false;
    return record_short(WIRE_FREE, some_ticks(author),
                        allocation->kind_address & ((1ull << 56) - 1));
}

static bool is_freed_at_once(struct author *author, const struct wire_record *record)
{
    unsigned kind = wire_kind(record->kind_address);

    return kind >= WIRE_MALLOC && kind <= WIRE_NEW_ARRAY &&
           chance(&author->random, author->shape->pair_percent);
}

/* ---- Comparing ----------------------------------------------------------------------------- */

#define SAME(what, index, got, wanted, field)                                                      \
    do {                                                                                           \
        if ((got)->field != (wanted)->field) {                                                     \
            print_error("%s %zu: " #field " is %llu, should be %llu\n", what, (size_t)(index),     \
                        (unsigned long long)(got)->field, (unsigned long long)(wanted)->field);    \
            differences++;                                                                         \
        }                                                                                          \
    } while (0)

static unsigned differences;

static bool counted[METRICS]; /* was it ever another number than 0? */

/* What mappings alone change is held to pages by test_mapped.c. */
static bool is_of_mappings(size_t metric)
{
    return metric >= (size_t)(METRIC_ROW(at_all_peak_bytes) - metric_rows);
}

static void same_call_metrics(const char *what, size_t index, const struct call_numbers *got,
                              const struct call_numbers *wanted)
{
    const uint64_t *is = (const void *)got, *should = (const void *)wanted;

    for (size_t i = 0; i < METRICS; i++) {
        counted[i] |= should[i] != 0 && should[i] != UINT64_MAX;
        if (is[i] == should[i] || is_of_mappings(i))
            continue;
        print_error("%s %zu: %s is %llu, should be %llu\n", what, index, metric_rows[i].column,
                    (unsigned long long)is[i], (unsigned long long)should[i]);
        differences++;
    }
}

/* A metric that brute force never counts is compared with nothing. Of samples: test_sample.c. */
static void every_metric_was_counted(void)
{
    for (size_t i = 0; i < METRICS; i++)
        if (!counted[i] && !is_of_mappings(i) && &metric_rows[i] != METRIC_ROW(sample_count) &&
            metric_rows[i].unit != METRIC_VARIANCE)
            fail_msg("brute.c never counts %s", metric_rows[i].column);
}

static void same_program(struct replay *replay, const struct brute *brute)
{
    struct program_numbers got, wanted;

    numbers_program(replay, &got);
    brute_program(brute, &wanted);
    same_call_metrics("program", 0, &got.total, &wanted.total);
    SAME("program", 0, &got, &wanted, live_peak_count);
    SAME("program", 0, &got, &wanted, foreign_frees);
    SAME("program", 0, &got, &wanted, replaced_blocks);
    SAME("program", 0, &got, &wanted, unmap_count);
    SAME("program", 0, &got, &wanted, unmap_bytes);
    SAME("program", 0, &got, &wanted, brk_count);
    SAME("program", 0, &got, &wanted, brk_bytes);
    SAME("program", 0, &got, &wanted, events);
    SAME("program", 0, &got, &wanted, late_events);
    SAME("program", 0, &got, &wanted, lost_events);
    SAME("program", 0, &got, &wanted, malformed_events);
}

static void same_threads(const struct replay *replay, const struct brute *brute)
{
    assert_int_equal(replay_thread_count(replay), brute->thread_count);
    for (size_t i = 0; i < brute->thread_count; i++) {
        struct thread_numbers thread = numbers_thread(replay, i), *got = &thread;
        SAME("thread", i, got, &brute->threads[i], tid);
        SAME("thread", i, got, &brute->threads[i], start_ticks);
        SAME("thread", i, got, &brute->threads[i], end_ticks);
        SAME("thread", i, got, &brute->threads[i], alloc_count);
        SAME("thread", i, got, &brute->threads[i], alloc_bytes);
        SAME("thread", i, got, &brute->threads[i], free_count);
        SAME("thread", i, got, &brute->threads[i], free_bytes);
        SAME("thread", i, got, &brute->threads[i], alloc_time);
        SAME("thread", i, got, &brute->threads[i], free_time);
        SAME("thread", i, got, &brute->threads[i], stack_deepest_bytes);
        SAME("thread", i, got, &brute->threads[i], stack_touched_bytes);
        SAME("thread", i, got, &brute->threads[i], stack_node);
    }
}

static void same_bucket(size_t i, const struct bucket_numbers *got,
                        const struct bucket_numbers *wanted)
{
    SAME("bucket", i, got, wanted, requested.min);
    SAME("bucket", i, got, wanted, requested.max);
    SAME("bucket", i, got, wanted, blocks.min);
    SAME("bucket", i, got, wanted, blocks.max);
    SAME("bucket", i, got, wanted, alloc_count);
    SAME("bucket", i, got, wanted, alloc_bytes);
    SAME("bucket", i, got, wanted, free_count);
    SAME("bucket", i, got, wanted, free_bytes);
}

static void same_timeline(const struct replay *replay, const struct brute *brute)
{
    uint64_t width;
    size_t count;
    const struct bucket_numbers *buckets = numbers_timeline(replay, &count, &width);

    assert_in_range(count, 1, REPLAY_TIMELINE_BUCKETS);
    assert_true(brute->last <= START + count * width - 1);
    for (size_t i = 0; i < count; i++) {
        struct bucket_numbers wanted;
        brute_bucket(brute, START + i * width, START + (i + 1) * width - 1, &wanted);
        same_bucket(i, &buckets[i], &wanted);
    }
}

/* ---- The test ------------------------------------------------------------------------------ */

struct seen {
    struct call_numbers sites[BRUTE_NODES];
    bool known[BRUTE_NODES];
    size_t idle_visits; /* in which nothing had changed */
};

static bool remember_site(struct seen *seen, const struct replay_site *site)
{
    bool other;

    assert_in_range(site->node, 0, BRUTE_NODES - 1);
    other = !seen->known[site->node] ||
            memcmp(&seen->sites[site->node], &site->metrics, sizeof(site->metrics)) != 0;
    seen->known[site->node] = true;
    seen->sites[site->node] = *call_numbers_of(&site->metrics);
    return other;
}

static void remember_block(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    struct seen *seen = context;
    bool other = false;

    assert_int_equal(first, 0);
    for (size_t i = 0; i < count; i++)
        other |= remember_site(seen, &sites[i]);
    seen->idle_visits += !other;
}

static void same_sites(const struct seen *seen, const struct brute *brute)
{
    for (size_t node = 0; node < BRUTE_NODES; node++) {
        assert_int_equal(seen->known[node], brute->site_seen[node]);
        if (seen->known[node])
            same_call_metrics("call path", node, &seen->sites[node], &brute->sites[node]);
    }
}

static struct history history;
static size_t most_peaks, thinned_curves,
    stretched_curves; /* the comparisons must not be about nothing */

static size_t put_run(struct author *author, struct brute *brute, size_t stream,
                      unsigned char *buffer, size_t records)
{
    struct wire_record record = {0};
    size_t bytes = 0;

    for (size_t i = 0; i < records; i++) {
        bool told = i && chance(&author->random, author->shape->timed_percent);
        if (i && is_freed_at_once(author, &record))
            record = its_free(author, &record);
        else
            record = told ? some_time_spent(author) : some_record(author, stream);
        brute_record(brute, stream, &record);
        history_note(&history, brute);
        bytes += record_write(buffer + bytes, &record);
    }
    return bytes;
}

/* All of a run at once, or first the records that begin in its first bytes. */
static void replay_run_of(struct author *author, struct replay *replay, uint32_t stream,
                          const unsigned char *records, size_t bytes)
{
    size_t before = 16 * below(&author->random, bytes / 16 + 1), taken = 0;

    if (chance(&author->random, 50)) {
        taken = replay_stretch(replay, stream, records, before);
        assert_true(taken == before || taken == before + 16);
        assert_true(taken <= bytes);
    }
    replay_records(replay, stream, records + taken, bytes - taken);
}

static void run_shape(const struct shape *shape, uint64_t seed, bool know_frees)
{
    struct author author = {.random = {seed}, .shape = shape, .ticks = START + 5000};
    struct brute *brute = malloc(sizeof(*brute));
    struct seen *seen = calloc(1, sizeof(*seen));
    struct replay *replay = replay_new(START, 1000.0);
    static unsigned char buffer[300 * 32];

    differences = 0;
    brute_init(brute, START, know_frees);
    if (know_frees)
        replay_know_frees(replay);
    if (shape->timed_percent > 0)
        brute_know_times(brute);
    if (brute->timed)
        replay_know_times(replay);
    history_init(&history);
    for (unsigned i = 0; i < shape->threads; i++) {
        brute_thread_begin(brute, 100 + i, START);
        assert_int_equal(replay_thread_begin(replay, 100 + i, START), i);
    }
    for (size_t events = 0; events < shape->events;) {
        size_t stream = below(&author.random, shape->threads);
        size_t records = 1 + below(&author.random, chance(&author.random, 10) ? 300 : 10);
        size_t bytes = put_run(&author, brute, stream, buffer, records);
        replay_run_of(&author, replay, (uint32_t)stream, buffer, bytes);
        events += records;
        if (chance(&author.random, 5)) {
            same_program(replay, brute);
            replay_changed_blocks(replay, remember_block, seen);
            same_program(replay, brute); /* by the sums that were kept */
            same_sites(seen, brute);
            if (chance(&author.random, 25)) /* dear */
                differences += history_compare(&history, brute, replay);
        }
    }
    replay_changed_blocks(replay, remember_block, seen);
    assert_int_equal(replay_changed_blocks(replay, remember_block, seen), 0);
    assert_int_equal(seen->idle_visits, 0);
    same_sites(seen, brute);
    same_program(replay, brute);
    same_threads(replay, brute);
    same_timeline(replay, brute);
    differences += history_compare(&history, brute, replay);
    assert_int_equal(replay_last_ticks(replay), brute->last);
    if (differences)
        fail_msg("%u differences; shape \"%s\", %s free stacks, TIDEMARK_TEST_SEED=%llu",
                 differences, shape->name, know_frees ? "with" : "without",
                 (unsigned long long)seed);
    most_peaks = history.peaks_seen > most_peaks ? history.peaks_seen : most_peaks;
    thinned_curves += history.thinned;
    stretched_curves += history.stretched;
    history_release(&history);
    replay_free(replay);
    free(seen);
    free(brute);
}

static void run_all_shapes(uint64_t seed)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        run_shape(&shapes[i], seed, false);
        run_shape(&shapes[i], seed, true);
    }
}

static void fixed_seeds_agree_with_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        run_all_shapes(seed);
    assert_int_equal(most_peaks, PEAKS_MAX);
    assert_true(thinned_curves > 0);
    assert_true(stretched_curves > 0);
    every_metric_was_counted();
}

static void a_random_seed_agrees_with_brute_force(void **state)
{
    const char *given = getenv("TIDEMARK_TEST_SEED");
    struct timespec now;
    uint64_t seed;

    (void)state;
    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec * 1000003 ^ now.tv_nsec;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 4; i++)
        run_all_shapes(seed + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_seeds_agree_with_brute_force),
        cmocka_unit_test(a_random_seed_agrees_with_brute_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

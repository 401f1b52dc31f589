/* The merge against threads that write as the recorder does, as fast as they can, and against a
 * program that has scribbled over its rings. What comes out must be exact: each record once, none
 * late, no block freed before it was allocated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../model/numbers.h"
#include "collector/graph_news.h"
#include "collector/ring_merge.h"
#include "player.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 30 * 1000 };
#else
enum { ROUNDS = 150 * 1000 };
#endif
enum { RING = 16 << 10, MAX_THREADS = 16, ADDRESSES = 24 };

/* ---- A recording with all its parts ---- */

struct stage {
    struct view view;
    struct player player;
    struct replay *replay;
    struct event_sink sink;
    struct ring_merge *merge;
    pthread_t merger;
    atomic_bool over;
};

static void stage_open(struct stage *stage)
{
    struct wire_header options = player_options(RING, PLAYER_MAX_CHUNKS);
    memset(stage, 0, sizeof *stage);
    assert_int_equal(shared_view_open(&stage->view, &options), 0);
    player_open(&stage->player, &stage->view);
    assert_non_null(stage->replay = replay_new(ticks_now(), 0.5));
    stage->sink.replay = stage->replay;
    assert_non_null(stage->merge = ring_merge_new(&stage->view, &stage->sink));
}

static void stage_close(struct stage *stage)
{
    ring_merge_free(stage->merge);
    replay_free(stage->replay);
    player_close(&stage->player);
    shared_view_close(&stage->view);
}

static void *ring_merge_until_over(void *argument)
{
    struct stage *stage = argument;
    while (!atomic_load(&stage->over))
        if (ring_merge_pass(stage->merge, false) == 0)
            sched_yield();
    while (ring_merge_pass(stage->merge, true) > 0)
        ;
    return NULL;
}

static void start_merging(struct stage *stage)
{
    assert_int_equal(pthread_create(&stage->merger, NULL, ring_merge_until_over, stage), 0);
}

static void stop_merging(struct stage *stage)
{
    atomic_store(&stage->over, true);
    pthread_join(stage->merger, NULL);
}

static struct program_metrics program_of(struct stage *stage)
{
    struct program_metrics program;
    replay_program(stage->replay, &program);
    return program;
}

static void assert_undamaged(struct stage *stage)
{
    struct program_metrics program = program_of(stage);
    assert_int_equal(program.late_events, 0);
    assert_int_equal(program.foreign_frees, 0);
    assert_int_equal(program.replaced_blocks, 0);
    assert_int_equal(program.malformed_events, 0);
    assert_int_equal(program.lost_events, 0);
    assert_int_equal(ring_merge_damaged_rings(stage->merge), 0);
}

/* First words, wherever a record could begin; void ones are none. */
static unsigned records_left(struct stage *stage)
{
    unsigned left = 0;
    for (uint32_t i = 0; i < shared_view_ring_count(&stage->view); i++) {
        const char *data = shared_view_ring_data(&stage->view, i);
        for (size_t at = 0; at < RING + WIRE_RING_SPILL; at += 16)
            left += wire_kind(*(const uint64_t *)(data + at)) != WIRE_VOID;
    }
    return left;
}

/* ---- Threads that exchange blocks ---- */

static _Atomic uint64_t free_addresses[ADDRESSES]; /* what the real malloc would give out */
static _Atomic uint64_t handed_over[ADDRESSES];    /* allocated, for whoever frees it */

static void fill_addresses(void)
{
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        atomic_store(&free_addresses[i], 0x7000000 + 64 * i);
        atomic_store(&handed_over[i], 0);
    }
}

static uint64_t take(_Atomic uint64_t *pool, unsigned from)
{
    for (unsigned i = 0; i < ADDRESSES; i++) {
        uint64_t address = atomic_exchange(&pool[(from + i) % ADDRESSES], 0);
        if (address)
            return address;
    }
    return 0;
}

static void put(_Atomic uint64_t *pool, unsigned from, uint64_t address)
{
    for (unsigned i = from;; i++) {
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong(&pool[i % ADDRESSES], &empty, address))
            return;
    }
}

struct producer {
    struct stage *stage;
    pthread_t thread;
    struct pen pen;
    unsigned number;
    bool sees_view; /* writes through the view's own mapping, where a race detector sees us */
    bool abandons;
    uint64_t allocations, bytes, reallocations, frees;
};

/* As a hooked realloc does: the old block is out before another thread can be given its address. */
static uint64_t reallocate(struct producer *producer, uint64_t old)
{
    pen_write(&producer->pen, WIRE_REALLOC_BEGIN, old, 0);
    uint64_t new = take(free_addresses, producer->number);
    if (new)
        put(free_addresses, producer->number, old);
    else
        new = old;
    pen_write(&producer->pen, WIRE_REALLOC_END, new, 300);
    producer->reallocations++;
    producer->frees++;
    return new;
}

static void *produce(void *argument)
{
    struct producer *producer = argument;
    struct pen *pen = &producer->pen;
    if (!pen->ring)
        *pen = player_ring(&producer->stage->player, 100 + producer->number);
    pen_write(pen, WIRE_THREAD_START, 100 + producer->number, 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t block = take(free_addresses, i);
        if (block) {
            pen_write(pen, WIRE_MALLOC, block, 1 + i % 200);
            producer->allocations++;
            producer->bytes += 1 + i % 200;
            if (i % 16 == 0)
                block = reallocate(producer, block);
            put(handed_over, i, block);
        }
        if (producer->abandons && i % 7 == 0)
            pen_abandon(pen);
        if ((block = take(handed_over, i / 2))) {
            pen_write(pen, WIRE_FREE, block, 0);
            producer->frees++;
            put(free_addresses, i / 2, block);
        }
    }
    pen_write(pen, WIRE_THREAD_END, 100 + producer->number, 0);
    return NULL;
}

static struct pen pen_of_view(struct stage *stage, uint32_t index)
{
    struct pen pen = player_ring(&stage->player, 100 + index);
    shared_view_refresh(&stage->view);
    pen.ring = shared_view_ring(&stage->view, index);
    pen.data = shared_view_ring_data(&stage->view, index);
    return pen;
}

static void run_producers(struct stage *stage, struct producer *producers, unsigned count)
{
    start_merging(stage);
    for (unsigned i = 0; i < count; i++)
        pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(producers[i].thread, NULL);
    stop_merging(stage);
}

static void assert_counts(struct stage *stage, const struct producer *producers, unsigned count)
{
    struct producer sum = {0};
    for (unsigned i = 0; i < count; i++) {
        sum.allocations += producers[i].allocations;
        sum.bytes += producers[i].bytes;
        sum.reallocations += producers[i].reallocations;
        sum.frees += producers[i].frees;
        sum.pen.records += producers[i].pen.records;
    }
    struct program_metrics program = program_of(stage);
    assert_int_equal(program.events, sum.pen.records);
    assert_int_equal(number_of(program.total.alloc_count), sum.allocations);
    assert_int_equal(number_of(program.total.alloc_bytes), sum.bytes);
    assert_int_equal(number_of(program.total.realloc_count), sum.reallocations);
    assert_int_equal(number_of(program.total.free_count), sum.frees);
    assert_int_equal(number_of(program.total.live_count),
                     sum.allocations + sum.reallocations - sum.frees);
    assert_int_equal(replay_thread_count(stage->replay), count);
}

static void exchange_blocks(unsigned count, bool sees_view, bool abandons)
{
    struct stage stage;
    struct producer producers[MAX_THREADS] = {0};
    stage_open(&stage);
    fill_addresses();
    for (unsigned i = 0; i < count; i++) {
        producers[i] = (struct producer){.stage = &stage, .number = i, .abandons = abandons};
        if (sees_view)
            producers[i].pen = pen_of_view(&stage, i);
    }
    run_producers(&stage, producers, count);
    assert_undamaged(&stage);
    assert_counts(&stage, producers, count);
    assert_int_equal(records_left(&stage), 0);
    stage_close(&stage);
}

static void one_thread_is_merged_exactly(void **state)
{
    (void)state;
    exchange_blocks(1, false, false);
}

static void two_threads_exchange_blocks(void **state)
{
    (void)state;
    exchange_blocks(2, false, false);
}

static void eight_threads_exchange_blocks(void **state)
{
    (void)state;
    exchange_blocks(8, false, false);
}

static void no_data_race_between_pen_and_merge(void **state)
{
    (void)state;
    exchange_blocks(4, true, true);
}

static void abandoned_records_are_skipped(void **state)
{
    (void)state;
    exchange_blocks(2, false, true);
}

/* ---- Rings that come while others are merged ---- */

static void *come_and_go(void *argument)
{
    struct producer *producer = argument;
    for (unsigned i = 0; i < 200; i++) {
        struct pen pen = player_ring(&producer->stage->player, i);
        uint64_t block = take(free_addresses, i);
        if (block) {
            pen_write(&pen, WIRE_MALLOC, block, 10);
            put(handed_over, i, block);
        }
        if ((block = take(handed_over, i / 2))) {
            pen_write(&pen, WIRE_FREE, block, 0);
            put(free_addresses, i / 2, block);
        }
        producer->pen.records += pen.records;
    }
    return NULL;
}

static void rings_are_added_while_merging(void **state)
{
    (void)state;
    struct stage stage;
    struct producer producers[4];
    uint64_t records = 0;
    stage_open(&stage);
    fill_addresses();
    start_merging(&stage);
    for (unsigned i = 0; i < 4; i++) {
        producers[i] = (struct producer){.stage = &stage, .number = i};
        pthread_create(&producers[i].thread, NULL, come_and_go, &producers[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(producers[i].thread, NULL);
        records += producers[i].pen.records;
    }
    stop_merging(&stage);
    assert_undamaged(&stage);
    assert_int_equal(program_of(&stage).events, records);
    assert_int_equal(records_left(&stage), 0);
    stage_close(&stage);
}

/* ---- The end of a lap ---- */

static void fill_lap_up_to_last_16_bytes(struct stage *stage, struct pen *pen)
{
    while ((pen->cursor & pen->mask) != pen->mask + 1 - 16) {
        pen_write(pen, WIRE_FREE, 0, 0);
        ring_merge_pass(stage->merge, false);
    }
}

static void a_record_spills_over_the_end_of_a_lap(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen pen = player_ring(&stage.player, 1);
    for (unsigned lap = 1; lap <= 3; lap++) {
        fill_lap_up_to_last_16_bytes(&stage, &pen);
        pen_write(&pen, WIRE_MALLOC, 0x1000 * lap, 5);
        ring_merge_pass(stage.merge, false);
        assert_int_equal(number_of(program_of(&stage).total.alloc_bytes), 5 * lap);
    }
    assert_undamaged(&stage);
    assert_int_equal(program_of(&stage).events, pen.records);
    assert_int_equal(records_left(&stage), 0);
    stage_close(&stage);
}

static void an_abandoned_record_spills_over_the_end_of_a_lap(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen pen = player_ring(&stage.player, 1);
    for (unsigned lap = 1; lap <= 3; lap++) {
        fill_lap_up_to_last_16_bytes(&stage, &pen);
        pen_abandon(&pen);
        pen_write(&pen, WIRE_MALLOC, 0x1000 * lap, 5);
        fill_lap_up_to_last_16_bytes(&stage, &pen);
        pen_write(&pen, WIRE_FREE, 0x1000 * lap, 0); /* 16 bytes: the next lap begins even */
    }
    ring_merge_pass(stage.merge, true);
    assert_undamaged(&stage);
    assert_int_equal(program_of(&stage).events, pen.records);
    assert_int_equal(number_of(program_of(&stage).total.live_count), 0);
    assert_int_equal(records_left(&stage), 0);
    stage_close(&stage);
}

/* ---- Threads that do not move on ---- */

static void a_busy_thread_holds_the_others_back(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen stuck = player_ring(&stage.player, 1), other = player_ring(&stage.player, 2);
    pen_write(&stuck, WIRE_MALLOC, 0x1000, 1);
    pen_abandon(&stuck);
    pen_write(&other, WIRE_FREE, 0x1000, 0);
    ring_merge_pass(stage.merge, false);
    assert_int_equal(program_of(&stage).events, 1);
    pen_write(&stuck, WIRE_MALLOC, 0x2000, 1); /* idle again */
    ring_merge_pass(stage.merge, false);
    assert_int_equal(program_of(&stage).events, 3);
    assert_undamaged(&stage);
    stage_close(&stage);
}

static void a_thread_stuck_in_a_record_does_not_stop_the_others_for_ever(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen stuck = player_ring(&stage.player, 1), other = player_ring(&stage.player, 2);
    pen_write(&stuck, WIRE_THREAD_START, 1, 0);
    pen_abandon(&stuck);
    start_merging(&stage);
    for (unsigned i = 0; i < 10 * RING / 16; i++) /* would wait for ever */
        pen_write(&other, WIRE_FREE, 0, 0);
    stop_merging(&stage);
    assert_int_equal(program_of(&stage).events, other.records + 1);
    stage_close(&stage);
}

/* ---- A program that scribbles ---- */

static void scribble_head(uint64_t head)
{
    struct stage stage;
    stage_open(&stage);
    struct pen bad = player_ring(&stage.player, 1), good = player_ring(&stage.player, 2);
    pen_write(&good, WIRE_MALLOC, 0x1000, 1);
    pen_write(&bad, WIRE_MALLOC, 0x2000, 1);
    ring_merge_pass(stage.merge, false);
    atomic_store(&bad.ring->head, head);
    pen_write(&good, WIRE_FREE, 0x1000, 0);
    ring_merge_pass(stage.merge, false);
    assert_int_equal(ring_merge_damaged_rings(stage.merge), 1);
    assert_int_equal(program_of(&stage).events, 3);
    for (unsigned i = 0; i < 3 * RING / 16; i++) /* its thread must not wait for us */
        pen_write(&bad, WIRE_FREE, 0, 0);
    ring_merge_pass(stage.merge, true);
    assert_int_equal(ring_merge_damaged_rings(stage.merge), 1);
    assert_int_equal(program_of(&stage).events, 3);
    stage_close(&stage);
}

static void a_scribbled_head_gives_up_its_ring_only(void **state)
{
    (void)state;
    scribble_head(32 + RING + 16); /* too far */
    scribble_head(40);             /* no multiple of 16 */
    scribble_head(0);              /* back */
    scribble_head(UINT64_MAX);
}

static void a_long_record_published_by_half_is_damage(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen pen = player_ring(&stage.player, 1);
    pen_write(&pen, WIRE_MALLOC, 0x1000, 1);
    atomic_store(&pen.ring->head, 16);
    ring_merge_pass(stage.merge, true);
    assert_int_equal(ring_merge_damaged_rings(stage.merge), 1);
    stage_close(&stage);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void random_bytes_in_rings_are_counted(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        struct stage stage;
        stage_open(&stage);
        for (unsigned r = 0; r < 3; r++) {
            struct pen pen = player_ring(&stage.player, r);
            for (size_t at = 0; at < RING + WIRE_RING_SPILL; at += 8)
                *(uint64_t *)(pen.data + at) = random_word();
            for (size_t at = 0; round % 2 && at < RING; at += 16) /* kinds that lead on */
                pen.data[at + 7] = (char)(random_word() % 40 | (random_word() & WIRE_LONG));
            atomic_store(&pen.ring->head, RING - 16 * (random_word() % 8));
        }
        while (ring_merge_pass(stage.merge, true) > 0)
            ;
        assert_true(program_of(&stage).malformed_events + ring_merge_damaged_rings(stage.merge) >
                    0);
        stage_close(&stage);
    }
}

static void lying_ring_counts_lose_no_ring(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen a = player_ring(&stage.player, 1), b = player_ring(&stage.player, 2);
    static const uint32_t lies[] = {0, 1, UINT32_MAX, 0, 3, 1u << 20};
    for (unsigned i = 0; i < sizeof lies / sizeof *lies; i++) {
        atomic_store(&stage.player.header->ring_count, i ? lies[i] : 2);
        pen_write(&a, WIRE_FREE, 0, 0);
        pen_write(&b, WIRE_FREE, 0, 0);
        ring_merge_pass(stage.merge, false);
        assert_int_equal(program_of(&stage).events, a.records + b.records);
    }
    assert_int_equal(ring_merge_damaged_rings(stage.merge), 0);
    stage_close(&stage);
}

static void waits_and_losses_add_up(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    uint64_t waits, wait_ticks;
    for (unsigned i = 1; i <= 3; i++) {
        struct pen pen = player_ring(&stage.player, i);
        atomic_store(&pen.ring->waits, i);
        atomic_store(&pen.ring->wait_ticks, 100 * i);
        atomic_store(&pen.ring->untold_events, 1000 * i);
    }
    ring_merge_pass(stage.merge, false);
    ring_merge_tell_waits(stage.merge, &waits, &wait_ticks);
    assert_int_equal(waits, 6);
    assert_int_equal(wait_ticks, 600);
    assert_int_equal(ring_merge_untold_events(stage.merge), 6000);
    stage_close(&stage);
}

/* ---- What a look reads of rings without taking it ---- */

static void count_news(void *context, uint64_t address)
{
    uint64_t *sums = context;
    sums[0]++;
    sums[1] += address;
    assert_true(sums[0] < 100);
}

/* The program may say that a ring's positions are the last numbers that there are. */
static void news_are_seen_once_wherever_a_ring_says_they_are(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage);
    struct pen pen = player_ring(&stage.player, 1);
    pen_write(&pen, WIRE_MALLOC, 0x1000, 10);
    pen_write(&pen, WIRE_FREE, 0x2000, 0);
    shared_view_refresh(&stage.view);
    uint64_t sums[2] = {0};
    assert_true(graph_news_see(&stage.view, count_news, sums));
    assert_int_equal(sums[0], 2);
    assert_int_equal(sums[1], 0x3000);
    static const uint64_t ends[] = {UINT64_MAX, 0, 16, 5};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        sums[0] = 0;
        atomic_store(&pen.ring->tail, UINT64_MAX - 63);
        atomic_store(&pen.ring->head, ends[i]);
        assert_true(graph_news_see(&stage.view, count_news, sums));
        assert_in_range(sums[0], 1, 6);
    }
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_is_merged_exactly),
        cmocka_unit_test(two_threads_exchange_blocks),
        cmocka_unit_test(eight_threads_exchange_blocks),
        cmocka_unit_test(no_data_race_between_pen_and_merge),
        cmocka_unit_test(abandoned_records_are_skipped),
        cmocka_unit_test(rings_are_added_while_merging),
        cmocka_unit_test(a_record_spills_over_the_end_of_a_lap),
        cmocka_unit_test(an_abandoned_record_spills_over_the_end_of_a_lap),
        cmocka_unit_test(a_busy_thread_holds_the_others_back),
        cmocka_unit_test(a_thread_stuck_in_a_record_does_not_stop_the_others_for_ever),
        cmocka_unit_test(a_scribbled_head_gives_up_its_ring_only),
        cmocka_unit_test(a_long_record_published_by_half_is_damage),
        cmocka_unit_test(random_bytes_in_rings_are_counted),
        cmocka_unit_test(lying_ring_counts_lose_no_ring),
        cmocka_unit_test(waits_and_losses_add_up),
        cmocka_unit_test(news_are_seen_once_wherever_a_ring_says_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

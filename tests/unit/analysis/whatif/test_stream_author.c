/* A stream says what the trace said: random streams are written as allocation streams and run here
 * by lanes that take turns at random, each going on whenever what it waits for is there. Every lane
 * must make its own calls in order, on the blocks that it made them on when they were recorded, and
 * none may wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "alloc_stream/stream_reader.h"
#include "alloc_stream/stream_writer.h"
#include "streams.h"
#include "whatif/stream_author.h"

enum { ROUNDS = 12, NOBODY = UINT32_MAX };

struct slot {
    uint32_t block, turn; /* turn: as the driver counts */
};

struct runner {
    struct stream_cursor cursor;
    unsigned char *buffer;
    struct stream_op op;
    bool has_op, runs;
    uint32_t spawned, released, arrived;
    uint32_t epoch_1;
    struct slot *slots;
    uint32_t slot_count;
    size_t at; /* in the calls that are known */
};

struct stage {
    struct stream_header header;
    struct runner runners[STREAMS_MAX];
    uint32_t seats;
    struct slot *shared;
    uint32_t *epochs, frontier;
    const struct known *known;
    size_t done, order_at;
    bool strict;
    uint32_t samples;
};

static uint64_t seed;

/* ---- The stage ----------------------------------------------------------------------------- */

static void open_stage(struct stage *stage, int stream_fd)
{
    uint64_t file_bytes;

    assert_int_equal(stream_read_header(stream_fd, &stage->header, &file_bytes), 0);
    stage->seats = stage->header.seat_count;
    assert_true(stage->seats <= STREAMS_MAX);
    stage->shared = calloc(stage->header.shared_slots + 1, sizeof *stage->shared);
    if (stage->header.epochs_offset) {
        stage->epochs = calloc(stage->header.epoch_count, sizeof *stage->epochs);
        assert_int_equal(stream_read_epochs(stream_fd, &stage->header, stage->epochs), 0);
    }
    for (uint32_t i = 0; i < stage->seats; i++) {
        struct runner *runner = &stage->runners[i];
        struct stream_seat seat;
        assert_int_equal(stream_read_seat(stream_fd, &stage->header, file_bytes, i, &seat), 0);
        runner->buffer = malloc(seat.largest_chunk + 1);
        runner->slots = calloc(seat.private_slots + 1, sizeof *runner->slots);
        runner->slot_count = seat.private_slots;
        stream_cursor_begin(&runner->cursor, stream_fd, file_bytes, &stage->header, i, &seat,
                            runner->buffer);
    }
    stage->runners[0].runs = true;
}

static void close_stage(struct stage *stage)
{
    for (uint32_t i = 0; i < stage->seats; i++) {
        free(stage->runners[i].buffer);
        free(stage->runners[i].slots);
    }
    free(stage->shared);
    free(stage->epochs);
}

static void advance_frontier(struct stage *stage)
{
    while (stage->epochs && stage->frontier < stage->header.epoch_count &&
           !stage->epochs[stage->frontier])
        stage->frontier++;
}

static void leave_epoch(struct stage *stage, struct runner *runner)
{
    uint32_t epoch = runner->epoch_1 - 1;

    if (!runner->epoch_1)
        return;
    runner->epoch_1 = 0;
    if (!stage->epochs) {
        assert_int_equal(stage->frontier, epoch);
        stage->frontier = epoch + 1;
        return;
    }
    assert_true(stage->epochs[epoch] > 0);
    stage->epochs[epoch]--;
    advance_frontier(stage);
}

/* ---- Calls --------------------------------------------------------------------------------- */

static bool can_take(const struct stage *stage, uint32_t slot, uint32_t turn, bool shared)
{
    return !shared || stage->shared[slot].turn == 2 * turn + 1;
}

static bool can_put(const struct stage *stage, uint32_t slot, uint32_t turn, bool shared)
{
    return !shared || stage->shared[slot].turn == 2 * turn;
}

static uint32_t take(struct stage *stage, struct runner *runner, uint32_t number, bool shared)
{
    struct slot *slot = shared ? &stage->shared[number] : &runner->slots[number];
    uint32_t block = slot->block;

    slot->block = 0;
    slot->turn++;
    return block;
}

static void put(struct stage *stage, struct runner *runner, const struct stream_op *op,
                uint32_t block)
{
    bool shared = op->flags & STREAM_SHARED;
    struct slot *slot = shared ? &stage->shared[op->slot] : &runner->slots[op->slot];

    assert_int_equal(slot->block, 0); /* no block is ever covered by another */
    slot->block = block;
    slot->turn++;
}

static bool can_call(const struct stage *stage, const struct stream_op *op)
{
    bool shared = op->flags & STREAM_SHARED;

    if (op->kind == STREAM_FREE)
        return can_take(stage, op->slot, op->turn, shared);
    if (op->kind == STREAM_REALLOC &&
        !can_take(stage, op->old_slot, op->old_turn, op->flags & STREAM_OLD_SHARED))
        return false;
    return can_put(stage, op->slot, op->turn, shared);
}

/* The lane's next call as it is known. */
static const struct known_call *expected(struct stage *stage, uint32_t lane)
{
    const struct known *known = stage->known;
    struct runner *runner = &stage->runners[lane];

    while (runner->at < known->call_count && known->calls[runner->at].lane != lane)
        runner->at++;
    assert_true(runner->at < known->call_count);
    if (stage->strict)
        assert_int_equal(runner->at, stage->done);
    return &known->calls[runner->at++];
}

static void make_call(struct stage *stage, uint32_t lane)
{
    struct runner *runner = &stage->runners[lane];
    const struct stream_op *op = &runner->op;
    const struct known_call *call = expected(stage, lane);

    assert_int_equal(op->kind, call->kind);
    assert_int_equal(op->size_bytes, call->size_bytes);
    assert_int_equal(op->new_bytes, call->new_bytes);
    assert_int_equal(op->align_log2, call->align_log2);
    if (op->kind == STREAM_FREE)
        assert_int_equal(take(stage, runner, op->slot, op->flags & STREAM_SHARED), call->old);
    if (op->kind == STREAM_REALLOC)
        assert_int_equal(take(stage, runner, op->old_slot, op->flags & STREAM_OLD_SHARED),
                         call->old);
    if (op->kind != STREAM_FREE)
        put(stage, runner, op, call->block);
    stage->done++;
}

/* ---- Lanes --------------------------------------------------------------------------------- */

static bool end_lane(struct stage *stage, struct runner *runner)
{
    leave_epoch(stage, runner);
    if (runner == &stage->runners[0]) {
        runner->runs = false;
        return true;
    }
    runner->arrived = runner->spawned;
    if (runner->released < runner->spawned)
        return false;
    runner->runs = false;
    return true;
}

static bool spawn(struct stage *stage, uint32_t seat, uint32_t lane)
{
    struct runner *runner = &stage->runners[seat];

    if (runner->runs || runner->spawned + 1 != lane) /* the lane before it must have left */
        return false;
    assert_true(seat > 0);
    runner->runs = true;
    runner->spawned++;
    return true;
}

static bool enter_epoch(struct stage *stage, struct runner *runner, uint32_t epoch)
{
    leave_epoch(stage, runner);
    if (stage->frontier < epoch)
        return false;
    runner->epoch_1 = epoch + 1;
    return true;
}

/* False: it has to wait. */
static bool run_op(struct stage *stage, uint32_t lane)
{
    struct runner *runner = &stage->runners[lane];
    const struct stream_op *op = &runner->op;

    switch (op->kind) {
    case STREAM_END:
        return end_lane(stage, runner);
    case STREAM_SPAWN:
        return spawn(stage, op->number, op->turn);
    case STREAM_RELEASE:
        stage->runners[op->number].released++;
        return true;
    case STREAM_EPOCH:
        return enter_epoch(stage, runner, op->number);
    case STREAM_SAMPLE:
        stage->samples++;
        return true;
    default:
        if (!can_call(stage, op))
            return false;
        make_call(stage, lane);
        return true;
    }
}

static bool step(struct stage *stage, uint32_t lane)
{
    struct runner *runner = &stage->runners[lane];

    if (!runner->runs)
        return false;
    if (!runner->has_op) {
        int count = stream_decode(&runner->cursor, &runner->op, 1);
        assert_true(count >= 0);
        if (!count) { /* only after its end */
            fail_msg("lane %u goes on after the stream's end", lane);
        }
        runner->has_op = true;
    }
    if (!run_op(stage, lane))
        return false;
    runner->has_op = false;
    return true;
}

/* To leave an epoch, even if the next cannot be entered yet, may let others go on. */
static bool goes_on(struct stage *stage, uint32_t lane)
{
    uint32_t frontier = stage->frontier;

    return step(stage, lane) || stage->frontier != frontier;
}

/* All that can go on, in an order that is drawn anew all the time; until none can. */
static void run(struct stage *stage, struct known *random)
{
    unsigned stuck = 0;

    advance_frontier(stage);
    while (stuck < stage->seats) {
        uint32_t lane = (uint32_t)known_below(random, stage->seats);
        uint64_t steps = 1 + known_below(random, 2000);
        bool any = false;
        while (steps-- && step(stage, lane))
            any = true;
        if (any) {
            stuck = 0;
            continue;
        }
        for (stuck = 0; stuck < stage->seats && !goes_on(stage, stuck);)
            stuck++;
    }
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void check_stream(uint64_t random, uint32_t streams, size_t steps, enum whatif_order order)
{
    char path[64];
    struct known *known;
    struct stage *stage = calloc(1, sizeof *stage);
    struct survey survey;
    struct trace *trace;
    uint64_t stream_bytes;
    int stream_fd = memfd_create("stream", MFD_CLOEXEC);

    snprintf(path, sizeof path, "/tmp/test_whatif_author.%d.tmt", (int)getpid());
    unlink(path);
    known = known_make(path, random, streams, steps);
    assert_int_equal(trace_open(&trace, path), 0);
    unlink(path);
    assert_int_equal(survey_take(&survey, trace), 0);
    assert_int_equal(survey.call_count, known->call_count);
    assert_int_equal(survey.peak_bytes, known->peak_bytes);
    assert_int_equal(survey.lanes, known->lanes);
    assert_int_equal(survey.left_out.unknown_frees, known->unknown_frees);
    assert_int_equal(survey.left_out.failed_calls, known->failed_calls);
    assert_int_equal(
        stream_author_write(trace, &survey, order, stream_fd, &stage->header, &stream_bytes), 0);
    stage->known = known;
    stage->strict = order == WHATIF_STRICT;
    open_stage(stage, stream_fd);
    run(stage, known);
    assert_int_equal(stage->done, known->call_count);
    if (known->call_count > 1000)
        assert_true(stage->samples >= STREAM_SAMPLES - 1);
    close_stage(stage);
    survey_release(&survey);
    trace_close(trace);
    close(stream_fd);
    free(stage);
    free(known);
}

static void every_call_is_run_by_its_thread_on_its_block(void **state)
{
    struct known draw = {.random = seed};

    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        for (int order = WHATIF_NEAR; order <= WHATIF_STRICT; order++)
            check_stream(known_next(&draw), 1 + (uint32_t)known_below(&draw, STREAMS_MAX),
                         (size_t)known_below(&draw, 50000), (enum whatif_order)order);
}

static void slots_are_as_many_as_blocks_live_at_once(void **state)
{
    char path[] = "/tmp/test_whatif_slots.XXXXXX";
    struct survey survey;
    struct stream_header header;
    struct stream_seat seat;
    struct trace *trace;
    uint64_t bytes;
    int stream_fd = memfd_create("stream", MFD_CLOEXEC);

    (void)state;
    close(mkstemp(path));
    unlink(path);
    free(known_make(path, seed, 1, 30000));
    assert_int_equal(trace_open(&trace, path), 0);
    unlink(path);
    assert_int_equal(survey_take(&survey, trace), 0);
    assert_int_equal(stream_author_write(trace, &survey, WHATIF_NEAR, stream_fd, &header, &bytes),
                     0);
    assert_int_equal(stream_read_header(stream_fd, &header, &bytes), 0);
    assert_int_equal(stream_read_seat(stream_fd, &header, bytes, 0, &seat), 0);
    assert_int_equal(header.shared_slots, 0);
    assert_true(seat.private_slots <= BLOCKS_MAX);
    assert_true(survey.births > 10 * BLOCKS_MAX);
    survey_release(&survey);
    trace_close(trace);
    close(stream_fd);
}

/* ---- Coding -------------------------------------------------------------------------------- */

static uint64_t some_number(struct known *draw)
{
    return known_next(draw) >> known_below(draw, 64);
}

static struct stream_slot some_slot(struct known *draw)
{
    return (struct stream_slot){(uint32_t)known_below(draw, 1u << known_below(draw, 32)),
                                known_below(draw, 2), (uint32_t)known_below(draw, STREAM_MAX_TURN)};
}

static void same_slot(const struct stream_slot *slot, uint32_t number, uint32_t turn, unsigned flag)
{
    assert_int_equal(slot->number, number);
    assert_int_equal(slot->shared, flag != 0);
    if (slot->shared)
        assert_int_equal(slot->turn, turn);
}

enum { CODED = 20000, CODED_SEATS = 3 };

static void operations_are_read_as_they_were_written(void **state)
{
    struct known draw = {.random = seed}, again = {.random = seed};
    int fd = memfd_create("stream", MFD_CLOEXEC);
    struct stream_writer *writer = stream_writer_new(fd);
    struct stream_header header = {.shared_slots = UINT32_MAX, .epoch_count = UINT32_MAX};
    uint64_t file_bytes;

    (void)state;
    for (uint32_t i = 0; i < CODED * CODED_SEATS; i++) {
        struct stream_slot old = some_slot(&draw), slot = some_slot(&draw);
        uint64_t size = some_number(&draw);
        switch (known_below(&draw, 3)) {
        case 0:
            stream_put_birth(writer, i / CODED, STREAM_ALIGNED, i % 40, size, &slot);
            break;
        case 1:
            stream_put_realloc(writer, i / CODED, size, size / 3, &old, &slot);
            break;
        default:
            stream_put_free(writer, i / CODED, &slot);
        }
    }
    for (uint32_t i = 0; i < CODED_SEATS; i++)
        stream_count_private(writer, i, UINT32_MAX);
    assert_int_equal(stream_writer_finish(writer, &header, NULL), 0);
    assert_int_equal(stream_read_header(fd, &header, &file_bytes), 0);
    assert_int_equal(header.seat_count, CODED_SEATS);
    for (uint32_t i = 0; i < CODED_SEATS; i++) {
        struct stream_cursor cursor;
        struct stream_seat seat;
        struct stream_op ops[7];
        uint32_t done = 0;
        int count;
        void *buffer;
        assert_int_equal(stream_read_seat(fd, &header, file_bytes, i, &seat), 0);
        buffer = malloc(seat.largest_chunk);
        stream_cursor_begin(&cursor, fd, file_bytes, &header, i, &seat, buffer);
        while ((count = stream_decode(&cursor, ops, 7)) > 0)
            for (int k = 0; k < count; k++, done++) {
                struct stream_slot old = some_slot(&again), slot = some_slot(&again);
                uint64_t size = some_number(&again), kind = known_below(&again, 3);
                same_slot(&slot, ops[k].slot, ops[k].turn, ops[k].flags & STREAM_SHARED);
                assert_int_equal(ops[k].kind, kind == 0   ? STREAM_ALIGNED
                                              : kind == 1 ? STREAM_REALLOC
                                                          : STREAM_FREE);
                if (kind == 0)
                    assert_int_equal(ops[k].align_log2, (done + i * CODED) % 40);
                if (kind < 2)
                    assert_int_equal(ops[k].size_bytes, size);
                if (kind == 1) {
                    assert_int_equal(ops[k].new_bytes, size / 3);
                    same_slot(&old, ops[k].old_slot, ops[k].old_turn,
                              ops[k].flags & STREAM_OLD_SHARED);
                }
            }
        assert_int_equal(count, 0);
        assert_int_equal(done, CODED);
        free(buffer);
    }
    stream_writer_free(writer);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_read_as_they_were_written),
        cmocka_unit_test(every_call_is_run_by_its_thread_on_its_block),
        cmocka_unit_test(slots_are_as_many_as_blocks_live_at_once),
    };
    const char *given = getenv("SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u ^ (uint64_t)getpid();
    printf("SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

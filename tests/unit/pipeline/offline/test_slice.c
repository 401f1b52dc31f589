/* Parts of a block: every record in one part, and no part names a thread of which it was not
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "offline/slice.h"
#include "wire/wire.h"

enum { THREADS = 3, RECORDS_EACH = 2, RECORDS = THREADS * RECORDS_EACH };

/* Threads that begin one after the other, each told just before its own records. */
static struct block {
    struct replay_run runs[THREADS];
    struct trace_placed_note notes[THREADS];
    uint64_t records[RECORDS][2];
} block;

static struct trace_events make_events(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        block.runs[i] = (struct replay_run){i, RECORDS_EACH * sizeof block.records[0]};
        block.notes[i] = (struct trace_placed_note){
            .before_run = i, .note = {.kind = TRACE_STREAM_BEGUN, .values = {i, 100 + i, 1}}};
    }
    for (uint64_t i = 0; i < RECORDS; i++) {
        block.records[i][0] = (uint64_t)WIRE_FREE << 56 | (0x1000 + 16 * i);
        block.records[i][1] = 1 + i;
    }
    return (struct trace_events){.runs = block.runs,
                                 .run_count = THREADS,
                                 .records = (const unsigned char *)block.records,
                                 .bytes = sizeof block.records,
                                 .notes = block.notes,
                                 .note_count = THREADS,
                                 .event_count = RECORDS};
}

/* Plays a part: what it tells of threads, and what it has of their records. */
static void follow(const struct trace_events *part, size_t *told, size_t *bytes)
{
    size_t note = 0;

    for (size_t run = 0; run < part->run_count; run++) {
        for (; note < part->note_count && part->notes[note].before_run <= run; note++)
            ++*told;
        assert_true(part->runs[run].thread < *told);
        *bytes += part->runs[run].bytes;
    }
    *told += part->note_count - note;
    assert_int_equal(part->bytes, part->event_count * sizeof block.records[0]);
}

static void cut_anywhere_a_block_is_two_parts(void **state)
{
    struct trace_events events = make_events();

    (void)state;
    for (uint64_t cut = 0; cut <= RECORDS; cut++) {
        struct slice before, behind;
        size_t told = 0, bytes = 0;
        assert_int_equal(slice_make(&before, &events, 0, cut), 0);
        assert_int_equal(slice_make(&behind, &events, cut, RECORDS), 0);
        follow(&before.events, &told, &bytes);
        assert_int_equal(before.events.event_count, cut);
        assert_int_equal(bytes, cut * sizeof block.records[0]);
        follow(&behind.events, &told, &bytes);
        assert_int_equal(told, THREADS);
        assert_int_equal(bytes, sizeof block.records);
        slice_release(&before);
        slice_release(&behind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cut_anywhere_a_block_is_two_parts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What readings of the process belong to a window: those made in it, wherever they stand among the
 * events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../model/numbers.h"
#include "aggregate/facts.h"
#include "profile/profile.h"
#include "offline/offline.h"
#include "wire/wire.h"

enum { EVENTS = 100, STEP = 1000000, FROM = 20, TO = 40, LAG = 3 };

static char trace_path[64], profile_path[64];

static uint64_t time_of(uint64_t event)
{
    return 1 + event * STEP;
}

static void write_event(struct trace_writer *writer, uint64_t event)
{
    struct wire_record record = {(uint64_t)WIRE_MALLOC << 56 | (0x1000 + 0x100 * event),
                                 time_of(event), 64, wire_detail(0, 0, 0)};
    struct replay_run run = {0, wire_record_bytes(record.kind_address)};
    assert_int_equal(trace_writer_events(writer, &run, 1, &record), 0);
}

/* A reading LAG events before the events of its time, each of more bytes than the one before. */
static struct trace *make_trace(void)
{
    struct trace_options options = {.compression = TRACE_ZSTD, .start_ticks = 1};
    struct trace_note begun = {.kind = TRACE_STREAM_BEGUN, .values = {0, 100, 1}};
    struct trace_note ended = {.kind = TRACE_STREAM_ENDED, .values = {0, time_of(EVENTS)}};
    struct trace_writer *writer;
    struct trace *trace;
    assert_int_equal(trace_writer_open(&writer, trace_path, &options), 0);
    assert_int_equal(trace_writer_nodes(writer, 0, &(struct trace_node){0, 0}, 1), 0);
    assert_int_equal(trace_writer_note(writer, &begun), 0);
    for (uint64_t i = 0; i < EVENTS; i++) {
        uint64_t bytes = (1 + i + LAG) << 20;
        assert_int_equal(trace_writer_sample(writer, time_of(i + LAG), bytes, 2 * bytes, 7), 0);
        write_event(writer, i);
    }
    assert_int_equal(trace_writer_note(writer, &ended), 0);
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, trace_path), 0);
    return trace;
}

static struct profile *window_of(struct trace *trace, uint64_t from_ticks, uint64_t to_ticks)
{
    struct offline_clock clock;
    struct offline_result result;
    struct profile *profile;
    offline_clock(trace, &clock);
    struct offline_options options = {
        .jobs = 1,
        .from = {.kind = OFFLINE_TIME,
                 .value = (uint64_t)((double)(from_ticks - 1) * clock.tick_ns)},
        .to = {.kind = OFFLINE_TIME, .value = (uint64_t)((double)(to_ticks - 1) * clock.tick_ns)}};
    assert_int_equal(offline_profile(trace, &options, profile_path, &result), 0);
    assert_int_equal(profile_read(&profile, profile_path), 0);
    unlink(profile_path);
    return profile;
}

static void readings_behind_the_window_are_not_its(void **state)
{
    (void)state;
    struct trace *trace = make_trace();
    struct profile *profile = window_of(trace, time_of(FROM), time_of(TO));
    assert_int_equal(number_of(profile->program.total.alloc_count), TO - FROM + 1);
    assert_int_equal(figure_or(facts_resident_peak(profile), 0), (uint64_t)(1 + TO) << 20);
    assert_true((profile->bucket_count - 1) * profile->bucket_ns <=
                strtoull(profile_get(profile, PROFILE_META_DURATION), NULL, 10));
    profile_free(profile);
    trace_close(trace);
    unlink(trace_path);
}

static void readings_that_stand_before_its_events_are_its(void **state)
{
    (void)state;
    struct trace *trace = make_trace();
    struct profile *profile = window_of(trace, time_of(FROM), time_of(TO));
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < profile->bucket_count; i++)
        if (number_of(profile->buckets[i].physical.min) < least)
            least = number_of(profile->buckets[i].physical.min);
    assert_int_equal(least, (uint64_t)(1 + FROM) << 20);
    profile_free(profile);
    trace_close(trace);
    unlink(trace_path);
}

static void a_window_behind_the_last_event_has_its_readings(void **state)
{
    (void)state;
    struct trace *trace = make_trace();
    struct profile *profile = window_of(trace, time_of(EVENTS) - STEP / 2, time_of(EVENTS + 1));
    assert_int_equal(number_of(profile->program.total.alloc_count), 0);
    assert_int_equal(figure_or(facts_resident_peak(profile), 0), (uint64_t)(1 + EVENTS + 1) << 20);
    profile_free(profile);
    trace_close(trace);
    unlink(trace_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_behind_the_window_are_not_its),
        cmocka_unit_test(readings_that_stand_before_its_events_are_its),
        cmocka_unit_test(a_window_behind_the_last_event_has_its_readings)};
    snprintf(trace_path, sizeof trace_path, "window-%d.tmt", (int)getpid());
    snprintf(profile_path, sizeof profile_path, "window-%d.tmk", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}

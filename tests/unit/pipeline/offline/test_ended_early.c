/* A replay that nobody wants any more ends, and leaves no file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../model/numbers.h"
#include "profile/profile.h"
#include "offline/offline.h"
#include "wire/wire.h"

enum { BLOCKS = 5000 };

static char trace_path[64], profile_path[64];

static struct trace *make_trace(void)
{
    struct trace_options options = {.compression = TRACE_ZSTD};
    struct trace_note begun = {.kind = TRACE_STREAM_BEGUN, .values = {0, 100, 1}};
    struct trace_writer *writer;
    struct trace *trace;
    assert_int_equal(trace_writer_open(&writer, trace_path, &options), 0);
    assert_int_equal(trace_writer_nodes(writer, 0, &(struct trace_node){0, 0}, 1), 0);
    assert_int_equal(trace_writer_note(writer, &begun), 0);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        struct wire_record record = {(uint64_t)WIRE_MALLOC << 56 | (0x1000 + 0x100 * i), 10 + i, 64,
                                     wire_detail(0, 0, 0)};
        struct replay_run run = {0, wire_record_bytes(record.kind_address)};
        assert_int_equal(trace_writer_events(writer, &run, 1, &record), 0);
    }
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, trace_path), 0);
    return trace;
}

static bool not_wanted(void *context)
{
    ++*(unsigned *)context;
    return false;
}

static bool wanted(void *context)
{
    ++*(unsigned *)context;
    return true;
}

static void it_ends_where_nobody_waits(void **state)
{
    (void)state;
    struct trace *trace = make_trace();
    struct offline_result result;
    struct profile *profile;
    unsigned asked = 0;
    struct offline_options options = {.jobs = 1, .is_wanted = not_wanted, .context = &asked};
    assert_int_equal(offline_profile(trace, &options, profile_path, &result), -ECANCELED);
    assert_int_equal(asked, 1);
    assert_int_equal(access(profile_path, F_OK), -1);
    options.is_wanted = wanted;
    assert_int_equal(offline_profile(trace, &options, profile_path, &result), 0);
    assert_true(asked > 1);
    assert_int_equal(profile_read(&profile, profile_path), 0);
    assert_int_equal(number_of(profile->program.total.alloc_count), BLOCKS);
    profile_free(profile);
    trace_close(trace);
    unlink(trace_path);
    unlink(profile_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_ends_where_nobody_waits)};
    snprintf(trace_path, sizeof trace_path, "ended-early-%d.tmt", (int)getpid());
    snprintf(profile_path, sizeof profile_path, "ended-early-%d.tmk", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}

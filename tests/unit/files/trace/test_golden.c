/* Files that were written when their version of the format was new are read as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include "sample.h"
#include <cmocka.h>

static void check_digests(const struct trace *trace)
{
    uint64_t bytes = 0, count = 0, changed;
    struct trace_net_delta *deltas;
    size_t net_count;

    for (size_t i = 0; i < trace_block_count(trace); i++) {
        const struct trace_block *block = trace_block(trace, i);
        assert_int_equal(block->live_bytes, bytes);
        assert_int_equal(block->live_count, count);
        assert_int_equal(trace_block_net_deltas(trace, i, &deltas, &net_count), 0);
        changed = 0;
        for (size_t k = 0; k < net_count; k++)
            changed += deltas[k].bytes;
        free(deltas);
        assert_int_equal(changed, block->net_bytes);
        assert_true(block->max_bytes >= bytes);
        bytes += block->net_bytes;
        count += block->net_count;
    }
    assert_true(bytes > 0 && count > 0);
}

static void check_events(const struct trace *trace)
{
    struct trace_events events = {0};

    assert_int_equal(trace_block_count(trace), SAMPLE_BLOCKS);
    for (size_t i = 0; i < SAMPLE_BLOCKS; i++) {
        assert_int_equal(trace_events(trace, i, &events), 0);
        assert_int_equal(sample_compare_events(trace_block(trace, i), &events), 0);
        for (unsigned k = 0; k < SAMPLE_RUNS; k++) {
            struct trace_note wanted = sample_note((unsigned)i * SAMPLE_RUNS + k);
            assert_int_equal(events.notes[k].note.kind, wanted.kind);
            assert_memory_equal(events.notes[k].note.values, wanted.values, sizeof wanted.values);
            assert_string_equal(events.notes[k].note.name, wanted.name);
        }
    }
    trace_events_release(&events);
}

static void check_the_rest(const struct trace *trace)
{
    struct trace_module *modules;
    struct trace_node *nodes;
    struct trace_options options;
    size_t count;

    assert_int_equal(trace_nodes(trace, SIZE_MAX, &nodes, &count), 0);
    assert_int_equal(count, SAMPLE_NODES);
    assert_int_equal(sample_compare_nodes(nodes, count), 0);
    free(nodes);
    assert_int_equal(trace_modules(trace, SIZE_MAX, &modules, &count), 0);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_module wanted = sample_module(i);
        assert_string_equal(modules[i].path, wanted.path);
        assert_int_equal(modules[i].number, wanted.number);
        assert_int_equal(modules[i].born, wanted.born);
        assert_int_equal(modules[i].died, wanted.died);
        assert_int_equal(modules[i].bias, wanted.bias);
        assert_int_equal(modules[i].start, wanted.start);
        assert_int_equal(modules[i].end, wanted.end);
        assert_int_equal(modules[i].build_id_bytes, wanted.build_id_bytes);
        assert_memory_equal(modules[i].build_id, wanted.build_id, sizeof wanted.build_id);
    }
    free(modules);
    assert_string_equal(trace_fact(trace, "end"), "exit");
    trace_options(trace, &options);
    assert_int_equal(options.flags, TRACE_FREE_STACKS | TRACE_TIMED);
    assert_int_equal(options.start_ticks, 999);
}

static void check_file(const char *path)
{
    struct trace_damage damage;
    struct trace *trace;
    char sentence[200];

    assert_int_equal(trace_open(&trace, path), 0);
    check_events(trace);
    check_digests(trace);
    check_the_rest(trace);
    trace_damage(trace, &damage, sentence, sizeof sentence);
    assert_string_equal(sentence, "");
    trace_close(trace);
}

static void version_1_however_packed(void **state)
{
    (void)state;
    check_file(GOLDEN_DIR "/trace-v1.zstd.tmt");
    check_file(GOLDEN_DIR "/trace-v1.lz4.tmt");
    check_file(GOLDEN_DIR "/trace-v1.stored.tmt");
}

static void version_2_however_packed(void **state)
{
    (void)state;
    check_file(GOLDEN_DIR "/trace-v2.zstd.tmt");
    check_file(GOLDEN_DIR "/trace-v2.lz4.tmt");
    check_file(GOLDEN_DIR "/trace-v2.stored.tmt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(version_1_however_packed),
                                       cmocka_unit_test(version_2_however_packed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Records as `tidemark events` shows them: names, filters and flags come from records.def. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "heap_at/heap_at.h"
#include "trace/trace.h"
#include "wire/record_kinds.h"

enum { BLOCK = 0x7f0000001000 };

static void put(struct trace_writer *writer, unsigned kind, uint64_t address, uint64_t size)
{
    static uint64_t ticks = 1000;
    struct wire_record record = {(uint64_t)kind << 56 | address, ticks += 10, size,
                                 wire_detail(0, 0, 0)};
    struct replay_run run = {0, wire_record_bytes(record.kind_address)};

    assert_int_equal(trace_writer_events(writer, &run, 1, &record), 0);
}

/* What is shown of a short recording; the caller frees it. */
static char *shown(uint64_t sample_bytes, uint64_t kinds, void (*record)(struct trace_writer *))
{
    char path[] = "/tmp/test_heap_at_events.XXXXXX", *text = NULL;
    struct trace_options options = {.start_ticks = 1000, .sample_bytes = sample_bytes};
    struct trace_note begun = {.kind = TRACE_STREAM_BEGUN, .values = {0, 77, 1000}};
    struct events_options wanted = {.kinds = kinds,
                                    .tid = UINT64_MAX,
                                    .most_bytes = UINT64_MAX,
                                    .style = {.json = true, .columns = 200}};
    struct trace_writer *writer;
    struct trace *trace;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    close(mkstemp(path));
    unlink(path);
    assert_int_equal(trace_writer_open(&writer, path, &options), 0);
    assert_int_equal(trace_writer_note(writer, &begun), 0);
    record(writer);
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, path), 0);
    unlink(path);
    assert_int_equal(events_show(out, trace, &wanted), 0);
    trace_close(trace);
    fclose(out);
    return text;
}

static void assert_shown(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("'%s' is not in\n%s", wanted, text);
}

static void record_newest(struct trace_writer *writer)
{
    put(writer, WIRE_MALLOC, BLOCK, 100);
    put(writer, WIRE_FREE | WIRE_NEWEST, BLOCK, 0);
    put(writer, WIRE_MALLOC | WIRE_FAILED, 0, 1 << 30);
}

/* The bit says something else there: that its thread has allocated nothing since. */
static void a_free_of_a_sample_has_not_failed(void **state)
{
    char *text = shown(4096, 0, record_newest);

    (void)state;
    assert_shown(text, "\"kind\":\"free\",\"failed\":false,\"address\":139637976731648");
    assert_shown(text, "\"kind\":\"malloc\",\"failed\":true,\"size_bytes\":1073741824");
    free(text);
}

static uint64_t kinds_of(const char *list)
{
    uint64_t kinds = 0;
    char wrong[64];

    assert_int_equal(events_kinds_parse(list, &kinds, wrong, sizeof wrong), 0);
    return kinds;
}

static void every_word_of_a_row_is_a_filter(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RECORD_NUMBERS; i++)
        if (record_kinds[i].filter)
            assert_true(kinds_of(record_kinds[i].filter) & 1ull << i);
    assert_int_equal(kinds_of("new"), 1ull << 19 | 1ull << 20);
    assert_int_equal(kinds_of("free"), 1ull << 1 | 1ull << 12 | 1ull << 22 | 1ull << 24);
    assert_int_equal(kinds_of("malloc,sample"), kinds_of("malloc") | kinds_of("sample"));
}

/* EVENTS_KIND_CHOICE is what help and errors say. */
static void every_filter_is_offered(void **state)
{
    char words[] = EVENTS_KIND_CHOICE;
    uint64_t offered = 0;

    (void)state;
    for (char *word = strtok(words, ", "); word; word = strtok(NULL, ", "))
        offered |= kinds_of(word);
    for (unsigned i = 0; i < RECORD_NUMBERS; i++)
        if (record_kinds[i].filter)
            assert_true(offered & 1ull << i);
}

static void no_other_word_is_a_filter(void **state)
{
    uint64_t kinds = 0;
    char wrong[64];

    (void)state;
    assert_true(events_kinds_parse("malloc,fre", &kinds, wrong, sizeof wrong) < 0);
    assert_string_equal(wrong, "fre");
    assert_true(events_kinds_parse(",", &kinds, wrong, sizeof wrong) < 0);
}

static void only_what_is_asked_for_is_shown(void **state)
{
    char *text = shown(0, kinds_of("malloc"), record_newest);

    (void)state;
    assert_null(strstr(text, "\"kind\":\"free\""));
    assert_null(strstr(text, "thread-begun"));
    assert_shown(text, "\"kind\":\"malloc\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_of_a_sample_has_not_failed),
        cmocka_unit_test(every_word_of_a_row_is_a_filter),
        cmocka_unit_test(every_filter_is_offered),
        cmocka_unit_test(no_other_word_is_a_filter),
        cmocka_unit_test(only_what_is_asked_for_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

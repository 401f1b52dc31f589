/* Histories of `ps --record` and answers of `ps --json`: read as they were written, refused with a
 * line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "system_history/history.h"

static uint64_t pss_at(const struct history *history, size_t row, size_t sample)
{
    const struct history_point *point = history_at(&history->rows[row], sample);
    return point ? figure_or(point->figures[SYSTEM_HISTORY_PSS], UINT64_MAX) : 0;
}

static int read_text(struct history *history, const char *text, struct strbuf *why)
{
    FILE *file = fmemopen((char *)text, strlen(text), "r");
    int error = history_read(history, file, "it", why);
    fclose(file);
    return error;
}

/* A number that was used again is another process, and what a second run of the command does not
 * tell of is gone. */
static void the_golden_history_reads_as_it_was_written(void **state)
{
    (void)state;
    struct history history;
    struct strbuf why = STRBUF_INIT;
    FILE *file = fopen(GOLDEN_DIR "/ps-history-v1.jsonl", "r");
    assert_non_null(file);
    assert_int_equal(history_read(&history, file, "golden", &why), 0);
    fclose(file);
    assert_false(history.is_single);
    assert_string_equal(history.by, "process");
    assert_int_equal(history.sample_count, 3);
    assert_int_equal(history.row_count, 3);
    assert_string_equal(history.rows[0].name, "python3 serve.py (10)");
    assert_string_equal(history.rows[1].name, "sh -c 'a b' (11)");
    assert_string_equal(history.rows[2].name, "sh (11)");
    const uint64_t expected[3][3] = {{1000, 2000, 0}, {200, 0, 0}, {0, 0, 300}};
    for (size_t row = 0; row < 3; row++)
        for (size_t sample = 0; sample < 3; sample++)
            assert_int_equal(pss_at(&history, row, sample), expected[row][sample]);
    assert_false(figure_known(history_at(&history.rows[1], 0)->figures[SYSTEM_HISTORY_SWAP]));
    assert_int_equal(figure_or(history.samples[1].available_bytes, 0), 49000);
    assert_true(history.samples[2].time_unix_ns - history.samples[0].time_unix_ns == 70000000000);
    history_release(&history);
}

static void one_answer_is_one_sample(void **state)
{
    (void)state;
    struct history history;
    struct strbuf why = STRBUF_INIT;
    static const char text[] = "{\n  \"format\": \"tidemark-ps\",\n  \"version\": 1, \"by\": "
                               "\"user\",\n \"rows\": [{\"user\": \"a\\u0000b\", "
                               "\"pss_bytes\": 5, \"new\": [{}]}, {\"user\": \"root\", "
                               "\"pss_bytes\": 7}],\n\"machine\": null}\n";
    assert_true(history_begins(text, sizeof text - 1));
    assert_int_equal(read_text(&history, text, &why), 0);
    assert_true(history.is_single);
    assert_int_equal(history.sample_count, 1);
    assert_int_equal(history.row_count, 2);
    assert_string_equal(history.rows[1].name, "root");
    assert_int_equal(pss_at(&history, 1, 0), 7);
    history_release(&history);
}

static void a_line_that_was_not_ended_is_left_out_and_others_are_refused(void **state)
{
    (void)state;
    struct history history;
    struct strbuf why = STRBUF_INIT;
    static const char line[] = HISTORY_BEGINNING "\"by\":\"name\",\"rows\":[]}";
    struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%s\n%.20s", line, line);
    assert_int_equal(read_text(&history, text.data, &why), 0);
    assert_int_equal(history.sample_count, 1);
    history_release(&history);
    strbuf_add_string(&text, "\n");
    assert_int_equal(read_text(&history, text.data, &why), -EINVAL);
    assert_non_null(strstr(why.data, "it, line 2"));
    history_release(&history);
    strbuf_reset(&why);
    assert_int_equal(read_text(&history, "{\"a\": 1}", &why), -EINVAL);
    assert_non_null(strstr(why.data, "not as tidemark ps writes it"));
    history_release(&history);
    strbuf_release(&why);
    strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_history_reads_as_it_was_written),
        cmocka_unit_test(one_answer_is_one_sample),
        cmocka_unit_test(a_line_that_was_not_ended_is_left_out_and_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

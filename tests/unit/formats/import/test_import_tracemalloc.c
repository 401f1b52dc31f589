/* Snapshots in the forms of all versions of Python: the same figures, call paths from the outside
 * in, and nothing known of what a snapshot does not say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "import/importers.h"

#define HEAD                                                                                       \
    "\x80\x04\x8c\x0btracemalloc\x94\x8c\x08Snapshot\x94\x93\x94)\x81\x94}\x94(\x8c\x06traces"     \
    "\x94h\x00\x8c\x07_Traces\x94\x93\x94)\x81\x94}\x94\x8c\x07_traces\x94]\x94("
#define TAIL  "esb\x8c\x0ftraceback_limit\x94K\x02ub."
#define OUTER "\x8c\x04m.py\x94K\x07\x86\x94"
#define INNER                                                                                      \
    "\x8c\x04"                                                                                     \
    "f.py\x94K\x03\x86\x94"

static struct gather *read_all(const char *bytes, size_t count, struct strbuf *why)
{
    struct gather *gather;
    char *block = malloc(count);
    memcpy(block, bytes, count);
    assert_true(import_is_tracemalloc(block, count));
    int error = import_bytes(&gather, block, count, import_format_find("tracemalloc"), why);
    assert_int_equal(error != 0, why->length > 0);
    free(block);
    return gather;
}

static void add_file(struct strbuf *out, const struct gather *gather, uint32_t path)
{
    const struct gather_location *location =
        &gather->location_list[gather->path_list[path].location - 1];
    const struct gather_frame *frame = &gather->frames[location->first_frame];
    assert_int_equal(frame->function, 0);
    assert_int_equal(location->address, frame->line);
    strbuf_addf(out, "%s:%u ", gather->texts[frame->file - 1].data, frame->line);
}

/* "2 blocks 96 bytes f.py:3 m.py:7 " for each site */
static void expect_sites(const char *bytes, size_t count, const char *expected)
{
    struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
    struct gather *gather = read_all(bytes, count, &why);
    assert_string_equal(why.data, "");
    for (size_t i = 0; i < gather->site_count; i++) {
        const struct call_metrics *metrics = &gather->sites[i].metrics;
        strbuf_addf(&out, "%llu blocks %llu bytes ",
                    (unsigned long long)figure_or(metrics->live_count, 99),
                    (unsigned long long)figure_or(metrics->live_bytes, 99));
        for (uint32_t path = gather->sites[i].path; path; path = gather->path_list[path].parent)
            add_file(&out, gather, path);
        assert_false(figure_known(metrics->alloc_count));
        assert_false(figure_known(metrics->free_count));
        assert_false(figure_known(metrics->at_peak_bytes));
    }
    assert_string_equal(out.data, expected);
    assert_false(figure_known(gather->duration_ns));
    gather_free(gather);
    strbuf_release(&why);
    strbuf_release(&out);
}
#define SITES(literal, expected) expect_sites(literal, sizeof(literal) - 1, expected)

static void each_version_says_the_same(void **state)
{
    (void)state;
    SITES(HEAD "K\x40" INNER OUTER "\x86\x86" TAIL, "1 blocks 64 bytes f.py:3 m.py:7 ");
    SITES(HEAD "K\x00K\x40" INNER OUTER "\x86\x87" TAIL, "1 blocks 64 bytes f.py:3 m.py:7 ");
    SITES(HEAD "(K\x00K\x40" INNER OUTER "\x86K\x02t" TAIL, "1 blocks 64 bytes f.py:3 m.py:7 ");
}

static void blocks_of_a_path_add_up(void **state)
{
    (void)state;
    SITES(HEAD "(K\x00K\x40" INNER OUTER "\x86\x94K\x02t"
               "(K\x00K\x20h\x10K\x02t"
               "(K\x00K\x00h\x0d\x85K\x01t" TAIL,
          "2 blocks 96 bytes f.py:3 m.py:7 1 blocks 0 bytes f.py:3 ");
}

static void a_block_of_no_python_has_no_path(void **state)
{
    (void)state;
    SITES(HEAD "(K\x00K\x40\x8c\x09<unknown>K\x00\x86\x85K\x01t" TAIL, "1 blocks 64 bytes ");
    SITES(HEAD "(K\x00K\x40\x8c\x09<unknown>K\x05\x86\x85K\x01t" TAIL,
          "1 blocks 64 bytes <unknown>:5 ");
    SITES(HEAD "(K\x00K\x40)K\x00t" TAIL, "1 blocks 64 bytes ");
}

static void expect_note(const char *bytes, size_t count, const char *expected)
{
    struct strbuf why = STRBUF_INIT;
    struct gather *gather = read_all(bytes, count, &why);
    assert_int_equal(gather->fact_count, 2 + (expected != NULL));
    if (expected)
        assert_string_equal(gather->facts[2].value, expected);
    gather_free(gather);
    strbuf_release(&why);
}
#define NOTE(literal, expected) expect_note(literal, sizeof(literal) - 1, expected)

static void what_to_know_is_said(void **state)
{
    (void)state;
    NOTE(HEAD "(K\x00K\x40" INNER OUTER "\x86K\x02t" TAIL, NULL);
    NOTE(HEAD "(K\x00K\x40" INNER OUTER "\x86K\x03t" TAIL,
         "call paths have 2 frames at most: those of 1 of 1 block had more");
    NOTE(HEAD "K\x00K\x40" INNER OUTER "\x86\x87" TAIL,
         "call paths have 2 frames at most: those of 1 of 1 block may have had more");
    NOTE(HEAD "(K\x05K\x40" INNER OUTER "\x86K\x02t" TAIL "more",
         "64 B in 1 block are of domain 5, which is not Python's own; 4 B behind the snapshot "
         "were not read");
}

static void expect_refusal(const char *bytes, size_t count, const char *words)
{
    struct strbuf why = STRBUF_INIT;
    struct gather *gather = read_all(bytes, count, &why);
    assert_non_null(strstr(why.data, words));
    gather_free(gather);
    strbuf_release(&why);
}
#define REFUSED(literal, words) expect_refusal(literal, sizeof(literal) - 1, words)

static void what_is_no_snapshot_is_refused(void **state)
{
    (void)state;
    REFUSED("\x80\x04\x8c\x0btracemalloc.", "is not one");
    REFUSED("\x80\x04]\x8c\x0btracemalloc\x8c\x08Snapshot\x93)\x81"
            "a.",
            "is not one");
    REFUSED("\x80\x04\x8c\x0btracemalloc\x8c\x08Snapshot\x93)\x81.", "is not one");
    REFUSED("\x80\x04\x8c\x0btracemalloc\x8c\x09Statistic\x93)\x81.",
            "names tracemalloc.Statistic");
    REFUSED(HEAD "K\x01" TAIL, "no size and traceback");
    REFUSED(HEAD "K\x01K\x01\x86" TAIL, "no size and traceback");
    REFUSED(HEAD "(K\x00J\xff\xff\xff\xff)K\x00t" TAIL, "an absurd size");
    REFUSED(HEAD "(K\x00K\x01K\x01\x85K\x00t" TAIL, "no file and line");
    REFUSED(HEAD "(K\x00K\x01K\x01K\x01\x86\x85K\x00t" TAIL, "no file and line");
    REFUSED(HEAD "(K\x00K\x01\x8c\x01gJ\xff\xff\xff\xff\x86\x85K\x00t" TAIL, "no file and line");
    /* one tuple as a traceback's frame, and as a traceback */
    REFUSED(HEAD "(K\x00K\x01" INNER "\x85K\x00t(K\x00K\x01h\x0dK\x00t" TAIL, "no file and line");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_says_the_same),
        cmocka_unit_test(blocks_of_a_path_add_up),
        cmocka_unit_test(a_block_of_no_python_has_no_path),
        cmocka_unit_test(what_to_know_is_said),
        cmocka_unit_test(what_is_no_snapshot_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

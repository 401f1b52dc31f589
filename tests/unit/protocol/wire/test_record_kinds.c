/* The numbers and the coding of records are for ever, because trace files keep them: this is the
 * list as it was written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "wire/record_kinds.h"

static const struct {
    unsigned kind, number;
    bool is_long;
    enum record_class plain, flagged, flagged_in_sample;
    const char *shown, *filter;
} known[] = {
    {WIRE_VOID, 0, false, RECORD_VOID, 0, 0, NULL, NULL},
    {WIRE_FREE, 1, false, RECORD_FREE, 0, RECORD_FREE, "free", "free"},
    {WIRE_REALLOC_BEGIN, 2, false, RECORD_REALLOC_BEGIN, 0, 0, "realloc-of", "realloc"},
    {WIRE_THREAD_START, 3, false, RECORD_THREAD_START, 0, 0, "thread-start", "thread"},
    {WIRE_THREAD_END, 4, false, RECORD_THREAD_END, 0, 0, "thread-end", "thread"},
    {WIRE_LOST, 5, false, RECORD_LOST, 0, 0, "lost", "lost"},
    {WIRE_SPENT, 6, false, RECORD_SPENT, 0, 0, NULL, NULL},
    {WIRE_MARK, 8, false, RECORD_SAID, 0, 0, "mark", "mark"},
    {WIRE_REGION_BEGIN, 9, false, RECORD_SAID, 0, 0, "region-begin", "region"},
    {WIRE_REGION_END, 10, false, RECORD_SAID, 0, 0, "region-end", "region"},
    {WIRE_POOL_CHUNK, 11, false, RECORD_POOL_CHUNK, 0, 0, "pool-chunk", "pool"},
    {WIRE_POOL_FREE, 12, false, RECORD_POOL_FREE, 0, RECORD_POOL_FREE, "pool-free", "free"},
    {WIRE_MALLOC, 16, true, RECORD_BIRTH, RECORD_FAILED, RECORD_FAILED, "malloc", "malloc"},
    {WIRE_CALLOC, 17, true, RECORD_BIRTH, RECORD_FAILED, RECORD_FAILED, "calloc", "calloc"},
    {WIRE_ALIGNED, 18, true, RECORD_BIRTH, RECORD_FAILED, RECORD_FAILED, "aligned", "aligned"},
    {WIRE_NEW, 19, true, RECORD_BIRTH, RECORD_FAILED, RECORD_FAILED, "new", "new"},
    {WIRE_NEW_ARRAY, 20, true, RECORD_BIRTH, RECORD_FAILED, RECORD_FAILED, "new[]", "new"},
    {WIRE_REALLOC_END, 21, true, RECORD_REALLOC_END, RECORD_REALLOC_FAILED, RECORD_REALLOC_FAILED,
     "realloc-to", "realloc"},
    {WIRE_FREE_AT, 22, true, RECORD_FREE, 0, RECORD_FREE, "free", "free"},
    {WIRE_POOL, 23, true, RECORD_POOL_BIRTH, 0, 0, "pool", "pool"},
    {WIRE_POOL_FREE_AT, 24, true, RECORD_POOL_FREE, 0, RECORD_POOL_FREE, "pool-free", "free"},
    {WIRE_MMAP, 32, true, RECORD_MAPPING, RECORD_MAPPING, RECORD_MAPPING, "mmap", "mmap"},
    {WIRE_MUNMAP, 33, true, RECORD_MAPPING, 0, 0, "munmap", "munmap"},
    {WIRE_BRK, 34, true, RECORD_MAPPING, RECORD_MAPPING, RECORD_MAPPING, "brk", "brk"},
    {WIRE_STACK, 35, true, RECORD_STACK, 0, 0, NULL, NULL},
    {WIRE_STACK_LAYER, 36, true, RECORD_STACK, 0, 0, NULL, NULL},
    {WIRE_STACK_PEAK, 37, true, RECORD_STACK, 0, 0, NULL, NULL},
    {WIRE_MPROTECT, 38, true, RECORD_MAPPING, 0, 0, "mprotect", "mprotect"},
    {WIRE_MADVISE, 39, true, RECORD_MAPPING, 0, 0, "madvise", "madvise"},
    {WIRE_DEVICE_ALLOC, 40, true, RECORD_DEVICE, RECORD_DEVICE, RECORD_DEVICE, "device-alloc",
     "device"},
    {WIRE_DEVICE_FREE, 41, true, RECORD_DEVICE, RECORD_DEVICE, RECORD_DEVICE, "device-free",
     "device"},
    {WIRE_DEVICE_HOLD, 42, true, RECORD_DEVICE, 0, 0, "device-map", "device"},
    {WIRE_DEVICE_UNMAP, 43, true, RECORD_DEVICE, 0, 0, "device-unmap", "device"},
    {WIRE_DEVICE_END, 44, true, RECORD_DEVICE, 0, 0, "device-end", "device"},
};
enum { KNOWN = sizeof known / sizeof *known };

static void same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void every_kind_is_what_it_ever_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        const struct record_kind *row = record_kind_of(known[i].kind);
        assert_int_equal(known[i].kind, known[i].number | (known[i].is_long ? 0x80 : 0));
        assert_non_null(row);
        assert_ptr_equal(record_kind_of(known[i].kind | WIRE_FAILED), row);
        assert_null(record_kind_of(known[i].kind ^ WIRE_LONG));
        same_text(row->shown, known[i].shown);
        same_text(row->filter, known[i].filter);
        for (int sampled = 0; sampled < 2; sampled++) {
            enum record_class flagged = sampled ? known[i].flagged_in_sample : known[i].flagged;
            assert_int_equal(record_classes[sampled][known[i].kind], known[i].plain);
            assert_int_equal(record_classes[sampled][known[i].kind | WIRE_FAILED], flagged);
        }
    }
}

static void there_is_no_other_kind(void **state)
{
    size_t rows = 0;

    (void)state;
    for (unsigned kind = 0; kind < 256; kind++)
        rows += !(kind & WIRE_FAILED) && record_kind_of(kind);
    assert_int_equal(rows, KNOWN);
    assert_null(record_kind_of(7)); /* nobody's: the golden traces have it */
}

static void what_is_no_kind_is_nonsense(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 256; kind++)
        for (int sampled = 0; sampled < 2; sampled++)
            if (!record_kind_of(kind))
                assert_int_equal(record_classes[sampled][kind], RECORD_NONSENSE);
    assert_int_equal(record_class_of(false, (uint64_t)WIRE_MALLOC << 56), RECORD_NONSENSE);
    assert_int_equal(record_class_of(false, (uint64_t)WIRE_MALLOC << 56 | 16), RECORD_BIRTH);
    assert_int_equal(record_class_of(true, (uint64_t)WIRE_POOL << 56), RECORD_NONSENSE);
    assert_int_equal(record_class_of(false, (uint64_t)WIRE_REALLOC_END << 56), RECORD_REALLOC_END);
}

static void time_stands_still_for_what_is_no_event(void **state)
{
    (void)state;
    assert_false(record_moves_time(RECORD_NONSENSE));
    assert_false(record_moves_time(RECORD_VOID));
    assert_false(record_moves_time(RECORD_SPENT));
    for (int class = RECORD_FAILED; class < RECORD_CLASSES; class ++)
        assert_true(record_moves_time((enum record_class) class));
}

static void a_mapping_says_what_it_is(void **state)
{
    uint32_t said = wire_mapping_of(3, WIRE_MAPPING_RESERVED | WIRE_MAPPING_STACK);

    (void)state;
    assert_int_equal(said, 0x53);
    assert_int_equal(wire_detail_slack(wire_detail(7, said, 0)), said);
    assert_int_equal(wire_mapping_kind(said), 3);
    assert_true(wire_mapping_is_reserved(said) && wire_mapping_is_stack(said));
    assert_false(wire_mapping_is_moved(said) || wire_mapping_is_fixed(said));
    assert_true(wire_mapping_is_moved(1 << 5) && wire_mapping_is_fixed(1 << 7));
    assert_int_equal(wire_mapping_kind(0), 0); /* of traces from before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_what_it_ever_was),
        cmocka_unit_test(there_is_no_other_kind),
        cmocka_unit_test(what_is_no_kind_is_nonsense),
        cmocka_unit_test(time_stands_still_for_what_is_no_event),
        cmocka_unit_test(a_mapping_says_what_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

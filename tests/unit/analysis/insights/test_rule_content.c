/* Pages of zeros and copies. */
#include "base/strbuf.h"
#include "built.h"

static struct profile_owner owners[3];

/* Two call paths, 8 MiB each, and free memory; the rest of 40 MiB nobody has read. */
static struct built *with_pages(uint64_t zero, uint64_t copy)
{
    struct built *built = built_new();
    const struct call_metrics metrics = {.alloc_count = FIGURE_OF(1),
                                         .peak_bytes = FIGURE_OF(8 * MIB)};
    built_site(built, built_path(built, "main:10 > empty:20"), metrics);
    built_site(built, built_path(built, "main:11 > alike:21"), metrics);
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1, .resident_bytes = FIGURE_OF(40 * MIB)};
    for (int i = 0; i < 3; i++)
        owners[i] =
            (struct profile_owner){.sample = 1,
                                   .kind = i < 2 ? PROFILE_OWNER_BLOCKS : PROFILE_OWNER_ALLOCATOR,
                                   .path = i < 2 ? built->sites[i].path : 0,
                                   .resident_bytes = FIGURE_OF(8 * MIB)};
    owners[0].zero_bytes = figure_of(zero);
    owners[1].copy_bytes = figure_of(copy);
    owners[2].zero_bytes = figure_of(8 * MIB); /* free memory may hold what it likes */
    owners[0].compressible_bytes = figure_of(100);
    built->profile.owners = owners;
    built->profile.owner_count = 3;
    return built;
}

static void pages_that_hold_nothing_of_their_own_are_told(void **state)
{
    (void)state;
    struct built *built = with_pages(6 * MIB, 2 * MIB);
    const struct insight *insight = the(built_ask(built), "empty-pages");
    assert_string_equal(insight->title,
                        "8.00 MiB of the pages hold nothing of their own, most of them of empty");
    assert_evidence(built, insight,
                    "zero_bytes 6291456, copy_bytes 2097152, compressible_bytes 100, "
                    "resident_bytes 16777216, read_share 0.333");
    assert_path(built, insight, 0, 6 * MIB, "empty:20 < main:10");
    assert_path(built, insight, 1, 2 * MIB, "alike:21 < main:11");
    assert_non_null(strstr(insight->advice, "calloc"));
    assert_severity(insight, "notice");
    built_free(built);
    built = with_pages(0, 8 * MIB);
    assert_non_null(strstr(the(built_ask(built), "empty-pages")->advice, "MADV_MERGEABLE"));
    built_free(built);
}

static void few_are_not(void **state)
{
    (void)state;
    struct built *built = with_pages(2 * MIB, 2 * MIB - 1);
    assert_silent(built_ask(built), "empty-pages");
    built_free(built);
    built = with_pages(2 * MIB, 2 * MIB);
    the(built_ask(built), "empty-pages");
    owners[0].resident_bytes = figure_of(25 * MIB); /* a tenth of 41 MiB is more */
    assert_silent(built_ask(built), "empty-pages");
    built_free(built);
}

static void pages_that_were_not_read_are_not_asked(void **state)
{
    (void)state;
    struct built *built = with_pages(8 * MIB, 0);
    for (int i = 0; i < 3; i++)
        owners[i].zero_bytes = owners[i].copy_bytes = owners[i].compressible_bytes = FIGURE_UNKNOWN;
    assert_true(is_unasked(built_ask(built), "empty-pages"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_hold_nothing_of_their_own_are_told),
        cmocka_unit_test(few_are_not),
        cmocka_unit_test(pages_that_were_not_read_are_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What stands on the first screen leads to its headlines, however long the head is (the golden
 * profile's has ten lines). */
#include "golden.h"

enum { MIB = 1 << 20, OWNERS = 9, SCREEN_LINES = 24 };

static const char *const names[OWNERS] = {"file0", "file1", "file2", "file3", "file4",
                                          "file5", "file6", "file7", "file8"};

static struct profile_owner owners[OWNERS];
static struct profile_sample sample = {.id = 1,
                                       .time_ns = 900000000,
                                       .resident_bytes = FIGURE_OF(100 * MIB),
                                       .high_water_bytes = FIGURE_UNKNOWN};

/* The golden profile with owners of so many MiB each, 0 ends them. */
static void own(const unsigned *mib)
{
    uint64_t sum = 0;
    profile->owner_count = 0;
    for (size_t i = 0; mib[i]; i++) {
        owners[i] = (struct profile_owner){.sample = 1,
                                           .kind = PROFILE_OWNER_FILE,
                                           .name = names[i],
                                           .resident_bytes = figure_of((uint64_t)mib[i] * MIB)};
        sum += (uint64_t)mib[i] * MIB;
        profile->owner_count = i + 1;
    }
    sample.resident_bytes = figure_of(sum);
}

static int open_owned(void **state)
{
    int error = open_profile(state);
    profile->owners = owners;
    profile->samples = &sample;
    profile->sample_count = 1;
    return error;
}

static int close_owned(void **state)
{
    profile->owners = NULL;
    profile->samples = NULL;
    profile->owner_count = profile->sample_count = 0;
    return close_profile(state);
}

/* The first screen of a report, or all up to the figures below it. To be freed. */
static char *first_screen(size_t columns)
{
    struct report_options options = usual();
    options.columns = columns;
    char *text = text_of(&options), *end = text;
    for (size_t line = 0; line < SCREEN_LINES && *end; line++)
        end = strchr(end, '\n') + 1;
    *end = 0;
    return text;
}

static void owners_that_are_most_together_are_all_shown(void **state)
{
    (void)state;
    own((const unsigned[]){54, 42, 2, 1, 1, 0});
    char *screen = first_screen(80);
    assert_non_null(strstr(screen, "  54.0 MiB   54.0 %  file       file0\n"));
    assert_non_null(strstr(screen, "  42.0 MiB   42.0 %  file       file1\n"));
    assert_null(strstr(screen, "other"));
    assert_non_null(strstr(screen, "   16.0 MiB   60.8 %  solver::Mesh::add_cell"));
    assert_non_null(strstr(screen, "   10.0 MiB   38.0 %  solver::Field"));
    assert_non_null(strstr(screen, "Insights  3 of 4"));
    free(screen);
}

static void one_owner_of_most_stands_alone(void **state)
{
    (void)state;
    own((const unsigned[]){80, 12, 8, 0});
    char *screen = first_screen(80);
    assert_non_null(strstr(screen, "  80.0 MiB   80.0 %  file       file0\n"));
    assert_null(strstr(screen, "file1"));
    assert_null(strstr(screen, "other"));
    free(screen);
}

static void many_small_owners_are_one_line(void **state)
{
    (void)state;
    own((const unsigned[]){20, 16, 14, 10, 10, 10, 10, 5, 5, 0});
    char *screen = first_screen(80);
    assert_non_null(strstr(screen, "  20.0 MiB   20.0 %  file       file0\n"));
    assert_non_null(strstr(screen, "  80.0 MiB   80.0 %  8 others: file 80.0 %\n"));
    free(screen);
}

static void a_heap_that_is_a_small_part_gives_way(void **state)
{
    (void)state;
    own((const unsigned[]){400, 390, 200, 10, 0});
    char *screen = first_screen(60); /* where the head has 12 lines */
    assert_non_null(strstr(screen, "file0"));
    assert_non_null(strstr(screen, "file1"));
    assert_null(strstr(screen, "Held at the peak"));
    assert_non_null(strstr(screen, "Insights  "));
    free(screen);
}

/* Pages of special kinds are said where they are a tenth of what is resident. */
static void kinds_of_pages_have_a_line(void **state)
{
    (void)state;
    own((const unsigned[]){60, 40, 0});
    for (size_t i = 0; i < 2; i++) {
        owners[i].kind = PROFILE_OWNER_MAPPING;
        owners[i].huge_bytes = owners[i].huge_idle_bytes = figure_of(0);
        owners[i].shared_bytes = owners[i].swapped_bytes = figure_of(0);
    }
    char *screen = first_screen(80);
    assert_null(strstr(screen, "huge pages"));
    assert_null(strstr(screen, "swap"));
    assert_null(strstr(screen, "fork"));
    free(screen);
    owners[0].huge_bytes = figure_of(20 * MIB);
    owners[0].huge_idle_bytes = figure_of(15 * MIB);
    owners[1].swapped_bytes = figure_of(12 * MIB);
    owners[0].swapped_bytes = figure_of(1 * MIB);
    owners[1].shared_bytes = figure_of(10 * MIB);
    screen = first_screen(120);
    assert_non_null(strstr(screen,
                           "  10.0 MiB is shared since a fork; not shared (copied since, or "
                           "new): file0 60.0 MiB, file1 30.0 MiB\n"));
    assert_non_null(strstr(screen, "  20.0 MiB is on huge pages; of these 15.0 MiB was free, "
                                   "never touched, or all zeros\n"));
    assert_non_null(
        strstr(screen, "  13.0 MiB more is in swap, most of it: file1 12.0 MiB, file0 1.00 MiB\n"));
    free(screen);
    owners[1].huge_bytes = figure_of(20 * MIB);
    owners[1].huge_idle_bytes = FIGURE_UNKNOWN;
    screen = first_screen(120);
    assert_non_null(strstr(screen, "40.0 MiB is on huge pages; record --page-content says"));
    free(screen);
    memset(owners, 0, sizeof owners);
}

/* Notes come again below, with all owners; an insight does not stand elsewhere in the report. */
static void notes_give_way_to_an_insight(void **state)
{
    (void)state;
    own((const unsigned[]){20, 16, 14, 10, 10, 10, 10, 5, 5, 0});
    owners[0].huge_bytes = owners[0].huge_idle_bytes = figure_of(20 * MIB);
    owners[1].swapped_bytes = figure_of(12 * MIB);
    for (size_t i = 0; i < OWNERS; i++) {
        owners[i].kind = PROFILE_OWNER_MAPPING;
        owners[i].shared_bytes = figure_of(i ? 0 : 15 * MIB);
    }
    char *screen = first_screen(80);
    const char *title = strstr(screen, "Insights  ");
    assert_non_null(title);
    assert_non_null(strstr(title, "\n  info "));
    assert_null(strstr(screen, "huge pages"));
    free(screen);
    memset(owners, 0, sizeof owners);
}

static void names_in_lines_about_pages_are_safe(void **state)
{
    (void)state;
    own((const unsigned[]){60, 40, 0});
    owners[0].name = "file\x1b[31m";
    owners[0].swapped_bytes = figure_of(20 * MIB);
    char *screen = first_screen(120);
    assert_non_null(
        strstr(screen, "  20.0 MiB more is in swap, most of it: file\\x1b[31m 20.0 MiB\n"));
    free(screen);
    memset(owners, 0, sizeof owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_that_are_most_together_are_all_shown),
        cmocka_unit_test(one_owner_of_most_stands_alone),
        cmocka_unit_test(many_small_owners_are_one_line),
        cmocka_unit_test(a_heap_that_is_a_small_part_gives_way),
        cmocka_unit_test(kinds_of_pages_have_a_line),
        cmocka_unit_test(notes_give_way_to_an_insight),
        cmocka_unit_test(names_in_lines_about_pages_are_safe),
    };
    return cmocka_run_group_tests(tests, open_owned, close_owned);
}

/* Memory that nobody allocates. */
#include "built.h"

static void add_variable(struct built *built, const char *name, uint64_t bytes, int section,
                         const char *file, uint32_t line)
{
    built->variables[built->profile.variable_count++] =
        (struct profile_variable){0, name, NULL, bytes, section, file, line};
}

static void add_section(struct built *built, int section, uint64_t bytes)
{
    built->sections[built->profile.section_count++] = (struct profile_section_total){
        0, section, FIGURE_OF(bytes), FIGURE_OF(bytes), FIGURE_OF(1), false};
}

static void add_thread(struct built *built, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t tid = 100 + (uint32_t)built->profile.thread_count;
    built->threads[built->profile.thread_count++] =
        (struct thread_metrics){.tid = tid, .start_ticks = start_ns, .end_ticks = end_ns};
}

/* 128 KiB of thread-local variables; four threads, of which three are there at once. */
static struct built *with_threads(void)
{
    struct built *built = built_new();
    built_others(built, 10);
    built->profile.program.total.peak_bytes = figure_of(128 * KIB);
    add_section(built, PROFILE_SECTION_TDATA, 28 * KIB);
    add_section(built, PROFILE_SECTION_TBSS, 100 * KIB);
    add_section(built, PROFILE_SECTION_BSS, 4 * KIB);
    add_variable(built, "small", 8, PROFILE_SECTION_TDATA, NULL, 0);
    add_variable(built, "scratch", 100 * KIB, PROFILE_SECTION_TBSS, "work.c", 12);
    add_variable(built, "table", 20 * KIB, PROFILE_SECTION_TDATA, NULL, 0);
    add_variable(built, "more", 7 * KIB, PROFILE_SECTION_TDATA, "work.c", 13);
    add_variable(built, "global", 4 * KIB, PROFILE_SECTION_BSS, "work.c", 14);
    add_thread(built, 0, 0);
    add_thread(built, 10 * MS, 50 * MS);
    add_thread(built, 20 * MS, 900 * MS);
    add_thread(built, 50 * MS, 800 * MS); /* begins when the second has ended */
    return built;
}

static void each_thread_has_its_copy(void **state)
{
    (void)state;
    struct built *built = with_threads();
    const struct insight *insight = the(built_ask(built), "thread-local-storage");
    assert_string_equal(insight->title,
                        "scratch (work.c:12) is most of 384 KiB of thread-local variables, "
                        "128 KiB in each of 3 threads");
    assert_evidence(built, insight,
                    "tls_bytes 393216, tls_bytes_per_thread 131072, peak_threads 3, share 0.750, "
                    "variable 'scratch (work.c:12), 100 KiB', variable 'table, 20.0 KiB', variable "
                    "'more (work.c:13), 7.00 KiB'");
    assert_severity(insight, "notice");
    built_free(built);
}

static void little_or_one_thread_is_no_matter(void **state)
{
    (void)state;
    struct built *built = with_threads();
    built->sections[1].bytes = figure_of(57 * KIB); /* 85 KiB a thread */
    assert_silent(built_ask(built), "thread-local-storage");
    built->sections[1].bytes = figure_of(60 * KIB);
    the(built_ask(built), "thread-local-storage");
    built->sections[1].bytes = figure_of(10 * MIB);
    built->profile.thread_count = 1;
    assert_silent(built_ask(built), "thread-local-storage");
    built_free(built);
}

static void large_globals_are_named(void **state)
{
    (void)state;
    struct built *built = with_threads();
    built->profile.program.total.peak_bytes = figure_of(2 * MIB);
    add_section(built, PROFILE_SECTION_DATA, MIB - 4 * KIB);
    add_section(built, PROFILE_SECTION_RODATA, 100 * MIB);
    add_variable(built, "grid", MIB - 8 * KIB, PROFILE_SECTION_DATA, "grid.c", 3);
    const struct insight *insight = the(built_ask(built), "large-globals");
    assert_string_equal(insight->title, "grid (grid.c:3) is most of 1.00 MiB of global variables");
    assert_evidence(built, insight,
                    "globals_bytes 1048576, peak_bytes 2097152, share 0.333, variable 'grid "
                    "(grid.c:3), 1016 KiB', variable 'global (work.c:14), 4.00 KiB'");
    assert_severity(insight, "notice");
    built->sections[3].named_bytes =
        figure_of(0); /* of a stripped program: what has a name is not the
                                         * matter */
    assert_evidence(
        built, the(built_ask(built), "large-globals"),
        "globals_bytes 1048576, peak_bytes 2097152, share 0.333, without_names 'prog, "
        "1020 KiB', variable 'grid (grid.c:3), 1016 KiB', variable 'global (work.c:14), "
        "4.00 KiB'");
    built->sections[2].bytes = figure_sub(built->sections[2].bytes, figure_of(1));
    assert_silent(built_ask(built), "large-globals");
    built->sections[2].bytes = figure_add(built->sections[2].bytes, figure_of(1));
    built->profile.program.total.peak_bytes =
        figure_of(3 * MIB + 1); /* less than a quarter of both */
    assert_silent(built_ask(built), "large-globals");
    built_free(built);
}

static void globals_that_nobody_touched_cost_nothing(void **state)
{
    (void)state;
    struct built *built = with_threads();
    struct profile_owner owners[] = {{.sample = 1,
                                      .kind = PROFILE_OWNER_GLOBALS,
                                      .name = "grid",
                                      .resident_bytes = FIGURE_OF(MIB)},
                                     {.sample = 1,
                                      .kind = PROFILE_OWNER_FILE,
                                      .name = "/lib/libc.so.6",
                                      .resident_bytes = FIGURE_OF(3 * MIB)}};
    built->profile.program.total.peak_bytes = figure_of(2 * MIB);
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1, .resident_bytes = FIGURE_OF(4 * MIB)};
    built->profile.owners = owners;
    built->profile.owner_count = 2;
    add_section(built, PROFILE_SECTION_BSS, 7 * MIB);
    const struct insight *insight = the(built_ask(built), "large-globals");
    assert_evidence(built, insight,
                    "globals_bytes 7344128, globals_resident_bytes 1048576, peak_bytes 2097152, "
                    "share 0.778, variable 'global (work.c:14), "
                    "4.00 KiB'");
    owners[1].resident_bytes = figure_of(3 * MIB + 1); /* a small part of what is resident */
    assert_silent(built_ask(built), "large-globals");
    owners[1].resident_bytes = figure_of(3 * MIB);
    owners[0].resident_bytes = figure_of(MIB - 1);
    assert_silent(built_ask(built), "large-globals");
    owners[0].resident_bytes = figure_of(MIB);
    owners[1].resident_bytes =
        figure_of(0); /* they are most of it, and less than a half was there */
    assert_silent(built_ask(built), "large-globals");
    /* Without a look nobody knows that they are idle, but for what was resident at most. */
    built->profile.owner_count = built->profile.sample_count = 0;
    the(built_ask(built), "large-globals");
    struct figure *most = &built->buckets[built->profile.bucket_count++].physical.max;
    *most = figure_of(7344128 / 2);
    the(built_ask(built), "large-globals");
    *most = figure_of(7344128 / 2 - 1);
    assert_silent(built_ask(built), "large-globals");
    built_free(built);
}

static void without_variables_neither_is_asked(void **state)
{
    (void)state;
    struct built *built = with_threads();
    built->profile.variable_count = built->profile.section_count = 0;
    assert_true(is_unasked(built_ask(built), "thread-local-storage"));
    assert_true(is_unasked(built->insights, "large-globals"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_copy),
        cmocka_unit_test(little_or_one_thread_is_no_matter),
        cmocka_unit_test(large_globals_are_named),
        cmocka_unit_test(globals_that_nobody_touched_cost_nothing),
        cmocka_unit_test(without_variables_neither_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

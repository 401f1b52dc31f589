/* Profiles of nonsense: whatever the numbers are, rules end, stay within bounds, and what they say
 * can be printed. The seed is printed; give it as the first argument to repeat. */
#include "built.h"
#include "aggregate/startup.h"

#include <time.h>

static unsigned long seed;

/* Often small, often at an edge. */
static uint64_t any(void)
{
    uint64_t value = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();
    switch (random() % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return INT64_MAX;
    case 3:
        return value;
    default:
        return value >> (random() % 64);
    }
}

static void fill(void *to, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t value = any();
        memcpy((char *)to + i, &value, 8);
    }
}

static uint32_t some_node(const struct built *built)
{
    return (uint32_t)random() % (uint32_t)built->profile.node_count;
}

static void fill_call_paths(struct built *built)
{
    static const char *const frames[] = {
        "main:1 > a@a.f90:2", "main:1 > b:2 > operator new(unsigned long):3",
        "main:1 > b:2 > b:2 > c:4", "operator new(unsigned long):3", "main:1 > \033[2J@\033.c:9"};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        struct call_metrics metrics;
        fill(&metrics, sizeof metrics);
        built_site(built, built_path(built, frames[i]), metrics);
    }
    if (random() % 2)
        fill(&built->profile.program, sizeof built->profile.program);
}

static void fill_details(struct built *built)
{
    struct profile *profile = &built->profile;
    for (int i = random() % 20; i > 0; i--) {
        struct distribution_row *row = &built->distributions[profile->distribution_count++];
        fill(row, sizeof *row);
        row->kind = (uint32_t)(random() % (DISTRIBUTION_KINDS + 1));
    }
    for (uint32_t node = 0; node < profile->node_count; node++)
        if (random() % 2)
            fill(built_curve(built, node, (uint32_t)(random() % BUILT_POINTS)),
                 sizeof built->points[0]);
    for (int i = random() % PEAKS_MAX; i > 0; i--) {
        struct peak *peak = &built->peaks[profile->peak_count++];
        fill(peak, sizeof *peak);
        peak->share_count = (size_t)(random() % (PEAK_SHARES_MAX + 1));
        for (size_t j = 0; j < peak->share_count; j++)
            peak->shares[j].node = some_node(built);
    }
    for (int i = random() % 10; i > 0; i--)
        fill(&built->exchanges[profile->exchange_count++], sizeof built->exchanges[0]);
}

static void fill_machine(struct built *built)
{
    struct profile *profile = &built->profile;
    for (int i = random() % 20; i > 0; i--)
        fill(&built->buckets[profile->bucket_count++], sizeof built->buckets[0]);
    profile->bucket_ns = any();
    for (int i = random() % 10; i > 0; i--) {
        struct thread_metrics *thread = &built->threads[profile->thread_count++];
        fill(thread, offsetof(struct thread_metrics, name));
        memset(thread->name, random() % 2 ? 0 : 0x1b, sizeof thread->name); /* no NUL */
    }
    for (int i = random() % 10; i > 0; i--) {
        struct profile_sample *sample = &built->samples[profile->sample_count++];
        fill(sample, sizeof *sample);
        memset(&sample->has_ledger, random() % 2, sizeof sample->has_ledger);
        sample->id = (uint32_t)profile->sample_count;
    }
    for (int i = random() % 30; i > 0; i--) {
        struct profile_residency *row = &built->residencies[profile->residency_count++];
        fill(row, sizeof *row);
        row->sample = (uint32_t)(random() % 10);
        row->path = some_node(built);
    }
    for (int i = random() % 10; i > 0; i--) {
        /* clang-format off */
        built->variables[profile->variable_count++] = (struct profile_variable){
            0, "v\033", NULL, any(), (int)(random() % 8), random() % 2 ? "f.c" : NULL,
            (uint32_t)any()};
        /* clang-format on */
        built->sections[profile->section_count++] = (struct profile_section_total){
            0, (int)(random() % 8), {any()}, {any()}, {any()}, false};
    }
}

static void print_to_nowhere(const struct insights *insights)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct insights_options options = {.style = {true, true, 80}};
    assert_int_equal(insights_text(out, insights, &options), 0);
    assert_int_equal(insights_json(out, insights, &options), 0);
    fclose(out);
    assert_null(strstr(text, "\033[2J"));
    assert_null(strstr(text, "\033\033"));
    free(text);
}

/* Rules of which no finding can be so severe are not asked; the others find what they found. */
static void check_warnings(const struct profile *profile, const struct insights *all)
{
    bool *hidden = frames_of_libraries(profile);
    struct startup startup;
    size_t at = 0;
    assert_int_equal(startup_find(&startup, profile), 0);
    struct insights *warnings = insights_find_warnings(profile, hidden, &startup);
    assert_non_null(warnings);
    for (; at < all->count && all->items[at].severity >= INSIGHT_WARNING; at++) {
        assert_true(at < warnings->count);
        assert_string_equal(warnings->items[at].title, all->items[at].title);
    }
    if (at < warnings->count)
        assert_true(warnings->items[at].severity < INSIGHT_WARNING);
    insights_free(warnings);
    startup_release(&startup);
    free(hidden);
}

static void nonsense_does_no_harm(void **state)
{
    (void)state;
    print_message("seed %lu\n", seed);
    srandom((unsigned)seed);
    for (int i = 0; i < 400; i++) {
        struct built *built = built_new();
        char run[30];
        snprintf(run, sizeof run, "%lld", (long long)any());
        built->meta[3].value = run;
        built->profile.complete = random() % 2;
        built_meta(built, PROFILE_META_TIMED, "1");
        fill_call_paths(built);
        fill_details(built);
        fill_machine(built);
        const struct insights *insights = built_ask(built);
        for (size_t j = 0; j < insights->count; j++)
            assert_true(insights->items[j].fact_count <= INSIGHT_FACTS);
        print_to_nowhere(insights);
        check_warnings(&built->profile, insights);
        built_free(built);
    }
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoul(argv[1], NULL, 10) : (unsigned long)time(NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(nonsense_does_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

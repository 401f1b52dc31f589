/* Call paths of mappings are kept beside those of blocks, and a profile becomes one of a level. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/error.h"
#include "scratch.h"
#include "as_rows.h"
#include "sample.h"

/* Paths 2 and 4 have blocks, 4 and 5 mappings: path 4 has both. */
static struct call_metrics metrics_of(uint64_t at_peak, uint64_t at_all_peak, uint64_t live)
{
    struct call_metrics metrics;
    memset(&metrics, 0, sizeof metrics);
    metrics.alloc_count = figure_of(1);
    metrics.at_peak_bytes = figure_of(at_peak);
    metrics.at_all_peak_bytes = figure_of(at_all_peak);
    metrics.live_bytes = figure_of(live);
    metrics.peak_bytes = figure_of(at_peak);
    return metrics;
}

static void
put_sites_of(struct profile_writer *writer, const struct replay_site *sites, size_t count,
             int (*put)(struct profile_writer *, uint32_t, size_t, const void *, size_t))
{
    struct strbuf body = STRBUF_INIT;
    profile_encode_sites(&body, sites, count);
    assert_int_equal(put(writer, 0, count, body.data, body.length), 0);
    strbuf_release(&body);
}

static void put_curves(struct profile_writer *writer)
{
    static const struct curve_point points[] = {{10, 100}, {20, 200}};
    struct curve curve = {.node = 2, .level = MEMORY_HEAP, .count = 2, .points = points};
    assert_int_equal(profile_put_curve(writer, &curve), 0);
    curve = (struct curve){.node = 5, .level = MEMORY_MAPPED, .count = 1, .points = points + 1};
    assert_int_equal(profile_put_curve(writer, &curve), 0);
    curve.node = 4; /* which has curves of both levels */
    assert_int_equal(profile_put_curve(writer, &curve), 0);
    curve.level = MEMORY_HEAP;
    assert_int_equal(profile_put_curve(writer, &curve), 0);
}

static void put_timeline(struct profile_writer *writer)
{
    struct timeline_bucket bucket;
    memset(&bucket, 0, sizeof bucket);
    bucket.requested = (struct timeline_level){figure_of(1), figure_of(30)};
    bucket.mapped = (struct timeline_level){figure_of(5), figure_of(700)};
    bucket.all = (struct timeline_level){figure_of(6), figure_of(710)};
    bucket.physical = (struct timeline_level){figure_of(2), figure_of(500)};
    assert_int_equal(profile_put_timeline(writer, &bucket, 1, 1000), 0);
}

/* Path 4 allocates in it. */
static void put_region(struct profile_writer *writer)
{
    const struct profile_region region = {.name = "small", .peak_bytes = 10};
    const struct replay_region_site site = {0, 4, metrics_of(10, 3, 4)};
    struct strbuf body = STRBUF_INIT;
    assert_int_equal(profile_put_regions(writer, &region, 1), 0);
    profile_encode_region_sites(&body, &site, 1);
    assert_int_equal(profile_put_region_sites(writer, 0, 1, body.data, body.length), 0);
    strbuf_release(&body);
}

static bool leaves_rows_out; /* blocks of other paths are one row of none */

static void put_owners(struct profile_writer *writer)
{
    const struct profile_sample sample = {
        .id = 1, .time_ns = 42, .resident_bytes = figure_of(1000)};
    const struct profile_owner owners[] = {
        {1, PROFILE_OWNER_BLOCKS, 4, .resident_bytes = figure_of(100)},
        {1, PROFILE_OWNER_MAPPING, 4, .resident_bytes = figure_of(200)},
        {1, PROFILE_OWNER_MAPPING, 5, .resident_bytes = figure_of(300)},
        {1, PROFILE_OWNER_FILE, 0, .name = "/usr/lib/libc.so.6", .resident_bytes = figure_of(250)},
        {1, PROFILE_OWNER_STACK, 0, .name = "main", .thread = figure_of(77),
         .resident_bytes = figure_of(50)},
        {1, PROFILE_OWNER_TOOL, 0, .resident_bytes = figure_of(100)},
        {1, PROFILE_OWNER_BLOCKS, 0, .name = "(other call paths)", .resident_bytes = figure_of(7)},
    };
    size_t count = sizeof owners / sizeof *owners;
    assert_int_equal(profile_put_sample(writer, &sample), 0);
    assert_int_equal(profile_put_owners(writer, owners, leaves_rows_out ? count : count - 1), 0);
}

static bool has_looks, has_heat;

/* One whose owners all have call paths, one without owners, and one like the first. */
static void put_more_looks(struct profile_writer *writer)
{
    const struct profile_sample samples[] = {
        {.id = 2, .time_ns = 50, .resident_bytes = figure_of(1100)},
        {.id = 3, .time_ns = 60, .resident_bytes = figure_of(5000)},
        {.id = 4, .time_ns = 70, .resident_bytes = figure_of(1090)},
    };
    const struct figure none = FIGURE_UNKNOWN, heat = has_heat ? figure_of(1) : none;
    const struct profile_owner owners[] = {
        {2, PROFILE_OWNER_BLOCKS, 2, .resident_bytes = figure_of(200), .unwritten_1s_bytes = none},
        {2, PROFILE_OWNER_BLOCKS, 4, .resident_bytes = figure_of(900), .unwritten_1s_bytes = heat},
        {4, PROFILE_OWNER_BLOCKS, 2, .resident_bytes = figure_of(300), .unwritten_1s_bytes = none},
        {4, PROFILE_OWNER_BLOCKS, 4, .resident_bytes = figure_of(780), .unwritten_1s_bytes = heat},
        {4, PROFILE_OWNER_GLOBALS, 0, .name = "table", .module = "/bin/p",
         .resident_bytes = figure_of(10), .unwritten_1s_bytes = none},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        assert_int_equal(profile_put_sample(writer, &samples[i]), 0);
    assert_int_equal(profile_put_owners(writer, owners, sizeof owners / sizeof *owners), 0);
}

static struct program_metrics program_of(bool knows_mapped)
{
    struct program_metrics program;
    memset(&program, 0, sizeof program);
    program.total = metrics_of(30, 10, 9);
    program.mapped = metrics_of(700, 700, 300);
    program.mapped.peak_ticks = figure_of(20);
    program.all_peak_bytes = figure_of(710);
    program.all_peak_ticks = figure_of(21);
    if (!knows_mapped)
        memset(&program.mapped, 0xff, sizeof program.mapped);
    return program;
}

static struct profile *read_back(bool knows_mapped, bool pack)
{
    const struct replay_site heap[] = {{4, metrics_of(10, 3, 4)}, {2, metrics_of(20, 7, 5)}};
    const struct replay_site mapped[] = {{5, metrics_of(600, 600, 300)},
                                         {4, metrics_of(100, 100, 0)}};
    const char *path = scratch("levels.tmk");
    struct profile_writer *writer;
    struct profile *profile;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (int i = 0; i < SAMPLE_MODULES; i++)
        assert_int_equal(profile_put_module(writer, &sample_modules[i]), 0);
    for (int i = 0; i < SAMPLE_LOCATIONS; i++)
        assert_int_equal(profile_put_location(writer, &sample_locations[i]), 0);
    for (int i = 0; i < SAMPLE_PATHS; i++)
        assert_int_equal(profile_put_path(writer, sample_paths[i].id, sample_paths[i].parent,
                                          sample_paths[i].location),
                         0);
    put_sites_of(writer, heap, 2, profile_put_sites);
    if (knows_mapped)
        put_sites_of(writer, mapped, 2, profile_put_mapped_sites);
    struct program_metrics program = program_of(knows_mapped);
    assert_int_equal(profile_put_program(writer, &program), 0);
    put_curves(writer);
    put_timeline(writer);
    put_owners(writer);
    if (has_looks)
        put_more_looks(writer);
    put_region(writer);
    assert_int_equal(profile_writer_finish(writer, pack), 0);
    assert_int_equal(profile_read(&profile, path), 0);
    if (profile->damage)
        fail_msg("%s", profile->damage);
    return profile;
}

static void check_mapped(const struct profile *profile)
{
    assert_null(profile->damage);
    assert_int_equal(profile->site_count, 2);
    assert_int_equal(profile->mapped_site_count, 2);
    assert_int_equal(profile->mapped_sites[0].path, 4);
    assert_int_equal(profile->mapped_sites[1].path, 5);
    assert_int_equal(figure_or(profile->mapped_sites[1].metrics.at_peak_bytes, 0), 600);
    assert_int_equal(figure_or(profile->program.total.at_peak_bytes, 0), 30);
    assert_int_equal(figure_or(profile->program.mapped.at_peak_bytes, 0), 700);
    assert_int_equal(figure_or(profile->program.all_peak_bytes, 0), 710);
    assert_int_equal(profile->curve_count, 2);
    assert_int_equal(profile->curves[0].node, 2);
    assert_int_equal(profile->curves[0].count, 2);
    assert_int_equal(profile->curves[1].node, 4);
    assert_int_equal(profile->mapped_curve_count, 2);
    assert_int_equal(profile->mapped_curves[0].node, 4);
    assert_int_equal(profile->mapped_curves[1].node, 5);
    assert_int_equal(profile->mapped_curves[1].points[0].bytes, 200);
}

static void what_was_resident_is_a_metric_of_the_look_with_most(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, true);
    as_rows(profile);
    const struct profile_site *heap = profile->sites, *mapped = profile->mapped_sites;
    assert_int_equal(heap[0].path, 2);
    assert_int_equal(figure_or(heap[0].metrics.resident_bytes, 1), 0); /* of all there are rows */
    assert_int_equal(figure_or(heap[1].metrics.resident_bytes, 0), 100);
    assert_int_equal(figure_or(mapped[0].metrics.resident_bytes, 0), 200);
    assert_int_equal(figure_or(mapped[1].metrics.resident_bytes, 0), 300);
    assert_int_equal(figure_or(profile->program.total.resident_bytes, 0), 100);
    assert_int_equal(figure_or(profile->program.mapped.resident_bytes, 0), 500);
    profile_free(profile);
    leaves_rows_out = true;
    profile = read_back(true, true);
    leaves_rows_out = false;
    as_rows(profile);
    assert_false(figure_known(profile->sites[0].metrics.resident_bytes));
    assert_int_equal(figure_or(profile->sites[1].metrics.resident_bytes, 0), 100);
    assert_int_equal(figure_or(profile->program.total.resident_bytes, 0), 107);
    profile_free(profile);
}

static void mappings_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        struct profile *profile = read_back(true, pack);
        check_mapped(profile);
        profile_free(profile);
        assert_int_equal(profile_unpack(scratch("levels.tmk"), scratch("levels.db")), 0);
        assert_int_equal(profile_read(&profile, scratch("levels.db")), 0);
        check_mapped(profile);
        profile_free(profile);
        unlink(scratch("levels.db"));
    }
}

static uint64_t sum_at_peak(const struct profile *profile)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->site_count; i++)
        sum += figure_or(profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)), 0);
    return sum;
}

static void the_heap_is_what_is_there_anyway(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, false);
    assert_int_equal(profile_take_level(profile, MEMORY_HEAP), 0);
    check_mapped(profile);
    assert_null(profile_get(profile, PROFILE_META_LEVEL));
    profile_free(profile);
}

static void mapped_replaces_paths_sums_timeline_and_curves(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, false);
    assert_int_equal(profile_take_level(profile, MEMORY_MAPPED), 0);
    assert_string_equal(profile_get(profile, PROFILE_META_LEVEL), "mapped");
    assert_int_equal(profile->site_count, 2);
    assert_int_equal(sum_at_peak(profile), 700);
    assert_int_equal(figure_or(profile->program.total.peak_bytes, 0), 700);
    assert_int_equal(figure_or(profile->buckets[0].requested.max, 0), 700);
    assert_false(figure_known(profile->buckets[0].blocks.max));
    assert_int_equal(profile->curve_count, 2);
    assert_int_equal(profile->curves[0].node, 4);
    assert_int_equal(profile->curves[1].node, 5);
    assert_int_equal(profile->curves[1].points[0].bytes, 200);
    profile_free(profile);
}

static void all_has_each_path_once_at_the_joint_peak(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, false);
    assert_int_equal(profile_take_level(profile, MEMORY_ALL), 0);
    assert_int_equal(profile->site_count, 3);
    assert_int_equal(profile->sites[0].path, 2);
    assert_int_equal(profile->sites[1].path, 4);
    assert_int_equal(profile->sites[2].path, 5);
    assert_int_equal(figure_or(profile->sites[1].metrics.at_peak_bytes, 0), 103);
    assert_int_equal(figure_or(profile->sites[1].metrics.alloc_count, 0), 2);
    assert_false(figure_known(profile->sites[1].metrics.peak_bytes));
    assert_int_equal(sum_at_peak(profile), 710);
    assert_int_equal(figure_or(profile->program.total.at_peak_bytes, 0), 710);
    assert_int_equal(figure_or(profile->program.total.peak_bytes, 0), 710);
    assert_int_equal(figure_or(profile->program.total.peak_ticks, 0), 21);
    assert_int_equal(figure_or(profile->buckets[0].requested.max, 0), 710);
    profile_free(profile);
}

static const char *function_of(const struct profile *profile, size_t site)
{
    const struct profile_node *node = &profile->nodes[profile->sites[site].path];
    const struct profile_code *code = &profile->codes[node->location];
    return profile->functions[profile->lines[code->first_line].function].name;
}

static void resident_adds_up_to_the_look_without_the_tool(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, false);
    assert_int_equal(profile_take_level(profile, MEMORY_RESIDENT), 0);
    assert_int_equal(profile->site_count, 4);
    assert_int_equal(sum_at_peak(profile), 900);
    assert_int_equal(figure_or(profile->program.total.peak_bytes, 0), 900);
    assert_int_equal(figure_or(profile->program.total.peak_ticks, 0), 42);
    assert_int_equal(profile->sites[0].path, 4);
    assert_int_equal(figure_or(profile->sites[0].metrics.at_peak_bytes, 0), 300);
    assert_string_equal(function_of(profile, 2), "[file] libc.so.6");
    assert_string_equal(function_of(profile, 3), "[stack] main 77");
    assert_int_equal(profile->nodes[profile->sites[3].path].parent, 0);
    assert_int_equal(figure_or(profile->buckets[0].requested.max, 0), 500);
    profile_free(profile);
}

/* The look at the end has most resident and nothing alive, since all was freed before it. */
static void owners_are_those_of_the_look_with_something_alive(void **state)
{
    (void)state;
    static const uint32_t expected[] = {2, 3, 1, 3};
    static struct profile_sample samples[4][3] = {
        {{.id = 1, .resident_bytes = FIGURE_OF(900), .live_touched_bytes = FIGURE_OF(800)},
         {.id = 2, .resident_bytes = FIGURE_OF(981), .live_touched_bytes = FIGURE_OF(300)},
         {.id = 3, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(1)}},
        {{.id = 1, .resident_bytes = FIGURE_OF(900), .live_touched_bytes = FIGURE_OF(800)},
         {.id = 2, .resident_bytes = FIGURE_OF(979), .live_touched_bytes = FIGURE_OF(300)},
         {.id = 3, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(1)}},
        {{.id = 1, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(5)},
         {.id = 2, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(5)},
         {.id = 3, .resident_bytes = FIGURE_OF(999), .live_touched_bytes = FIGURE_OF(5)}},
        /* The last block was freed while the rest was still being filled. */
        {{.id = 1, .resident_bytes = FIGURE_OF(900), .live_touched_bytes = FIGURE_OF(10)},
         {.id = 2, .resident_bytes = FIGURE_OF(985), .live_touched_bytes = FIGURE_OF(10)},
         {.id = 3, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(1)}},
    };
    struct profile_owner owners[] = {{.sample = 1}, {.sample = 2}, {.sample = 2}, {.sample = 3}};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        owners[i].unwritten_1s_bytes = FIGURE_UNKNOWN;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct profile profile = {
            .samples = samples[i], .sample_count = 3, .owners = owners, .owner_count = 4};
        size_t first, count;
        const struct profile_sample *found = profile_owners_sample(&profile, &first, &count);
        assert_non_null(found);
        assert_int_equal(found->id, expected[i]);
        assert_int_equal(owners[first].sample, found->id);
        assert_int_equal(count, found->id == 2 ? 2 : 1);
    }
}

/* All is freed just before the end, and the look before it was a while ago. */
static void what_was_freed_at_the_end_has_the_owners_that_it_had(void **state)
{
    (void)state;
    static const struct {
        uint64_t resident, alive, freed_at_the_end;
        uint32_t expected;
    } cases[] = {{780, 700, 900, 1}, {780, 700, 499, 2}, {740, 700, 900, 2}, {780, 490, 900, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile_sample samples[] = {
            {.id = 1,
             .resident_bytes = figure_of(cases[i].resident),
             .live_touched_bytes = figure_of(cases[i].alive)},
            {.id = 2, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(1)}};
        struct profile_owner owners[] = {{.sample = 1, .kind = PROFILE_OWNER_BLOCKS, .path = 1},
                                         {.sample = 2,
                                          .kind = PROFILE_OWNER_ALLOCATOR,
                                          .resident_bytes = figure_of(cases[i].freed_at_the_end)}};
        owners[0].unwritten_1s_bytes = owners[1].unwritten_1s_bytes = FIGURE_UNKNOWN;
        struct profile profile = {
            .samples = samples, .sample_count = 2, .owners = owners, .owner_count = 2};
        size_t first, count;
        assert_int_equal(profile_owners_sample(&profile, &first, &count)->id, cases[i].expected);
        assert_int_equal(first, cases[i].expected - 1);
    }
}

static void of_heat_the_last_look_near_the_most_counts(void **state)
{
    (void)state;
    struct profile_sample samples[] = {
        {.id = 1, .resident_bytes = FIGURE_OF(1000), .live_touched_bytes = FIGURE_OF(500)},
        {.id = 2, .resident_bytes = FIGURE_OF(999), .live_touched_bytes = FIGURE_OF(500)},
        {.id = 3, .resident_bytes = FIGURE_OF(900), .live_touched_bytes = FIGURE_OF(500)},
    };
    struct profile_owner owners[] = {{.sample = 1}, {.sample = 2}, {.sample = 3}};
    struct profile profile = {
        .samples = samples, .sample_count = 3, .owners = owners, .owner_count = 3};
    size_t first, count;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        owners[i].unwritten_1s_bytes = FIGURE_UNKNOWN;
    assert_int_equal(profile_owners_sample(&profile, &first, &count)->id, 1);
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        owners[i].unwritten_1s_bytes = FIGURE_OF(0);
    assert_int_equal(profile_owners_sample(&profile, &first, &count)->id, 2);
    assert_int_equal(first, 1);
}

/* Mappings are not known by region. */
static void a_region_says_nothing_of_what_the_whole_program_has_mapped(void **state)
{
    (void)state;
    struct profile *profile = read_back(true, false);
    assert_int_equal(profile_cut_region(profile, "small"), 0);
    assert_int_equal(profile->site_count, 1);
    assert_int_equal(figure_or(profile->program.total.peak_bytes, 0), 10);
    assert_int_equal(profile->mapped_site_count + profile->mapped_curve_count, 0);
    assert_false(figure_known(profile->program.mapped.live_bytes));
    assert_false(figure_known(profile->program.all_peak_bytes));
    assert_false(figure_known(profile->program.discard_bytes));
    profile_free(profile);
}

static void what_a_profile_lacks_is_said(void **state)
{
    (void)state;
    struct profile *profile = read_back(false, false);
    assert_false(figure_known(profile->program.mapped.at_peak_bytes));
    assert_int_equal(profile_take_level(profile, MEMORY_MAPPED), -ENOENT);
    assert_non_null(strstr(error_text(), "does not say what is mapped"));
    assert_int_equal(profile_take_level(profile, MEMORY_ALL), -ENOENT);
    profile->owner_count = 0;
    assert_int_equal(profile_take_level(profile, MEMORY_RESIDENT), -ENOENT);
    assert_non_null(strstr(error_text(), "whose the resident memory is"));
    profile_free(profile);
}

/* The writer's order is another: what was left out comes last. */
static void owners_are_by_look_kind_and_path(void **state)
{
    (void)state;
    leaves_rows_out = true;
    struct profile *profile = read_back(true, true);
    leaves_rows_out = false;
    assert_int_equal(profile->owner_count, 7);
    assert_int_equal(figure_or(profile->owners[0].resident_bytes, 0), 7);
    assert_string_equal(profile->owners[0].name, "(other call paths)");
    for (size_t i = 1; i < profile->owner_count; i++) {
        const struct profile_owner *a = &profile->owners[i - 1], *b = &profile->owners[i];
        assert_true(a->kind < b->kind || (a->kind == b->kind && a->path <= b->path));
    }
    profile_free(profile);
}

static void check_owner(const struct profile_owner *sums, const struct profile_owner *whole)
{
    assert_int_equal(sums->kind, whole->kind);
    assert_int_equal(sums->path, whole->path);
    assert_int_equal(figure_compare(sums->resident_bytes, whole->resident_bytes), 0);
    assert_int_equal(figure_compare(sums->thread, whole->thread), 0);
    assert_false(figure_known(sums->shared_bytes));
    assert_string_equal(sums->name ? sums->name : "", whole->name ? whole->name : "");
    assert_string_equal(sums->module ? sums->module : "", whole->module ? whole->module : "");
}

/* The owners of the look that counts. */
static void check_owners(const struct profile *sums, const struct profile *whole)
{
    size_t first, count, whole_first, whole_count;
    const struct profile_sample *sample = profile_owners_sample(sums, &first, &count);
    assert_non_null(sample);
    assert_int_equal(sample->id, profile_owners_sample(whole, &whole_first, &whole_count)->id);
    assert_int_equal(count, whole_count);
    for (size_t i = 0; i < count; i++)
        check_owner(&sums->owners[first + i], &whole->owners[whole_first + i]);
}

static struct profile *read_sums(void)
{
    struct profile *sums;
    assert_int_equal(profile_read_sums(&sums, scratch("levels.tmk")), 0);
    assert_null(sums->damage);
    return sums;
}

static void check_site(const struct profile_site *sums, const struct profile_site *whole)
{
    static const size_t known[] = {offsetof(struct call_metrics, alloc_count),
                                   offsetof(struct call_metrics, alloc_bytes),
                                   offsetof(struct call_metrics, realloc_count),
                                   offsetof(struct call_metrics, realloc_bytes),
                                   offsetof(struct call_metrics, temporary_count),
                                   offsetof(struct call_metrics, live_bytes),
                                   offsetof(struct call_metrics, at_peak_bytes),
                                   offsetof(struct call_metrics, resident_bytes)};
    struct call_metrics expected;
    call_metrics_know_nothing(&expected);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        memcpy((char *)&expected + known[i], (const char *)&whole->metrics + known[i],
               sizeof(struct figure));
    assert_int_equal(sums->path, whole->path);
    assert_memory_equal(&sums->metrics, &expected, sizeof expected);
}

static void what_sums_are_made_of_is_as_in_the_whole(void **state)
{
    (void)state;
    struct profile *whole = read_back(true, true), *sums = read_sums();
    assert_int_equal(sums->site_count, whole->site_count);
    as_rows(sums);
    as_rows(whole);
    for (size_t i = 0; i < whole->site_count; i++)
        check_site(&sums->sites[i], &whole->sites[i]);
    assert_memory_equal(&sums->program, &whole->program, sizeof whole->program);
    assert_int_equal(sums->bucket_count, 1);
    assert_memory_equal(&sums->buckets->requested, &whole->buckets->requested,
                        sizeof whole->buckets->requested);
    assert_memory_equal(&sums->buckets->physical, &whole->buckets->physical,
                        sizeof whole->buckets->physical);
    assert_false(figure_known(sums->buckets->mapped.max));
    assert_false(figure_known(sums->buckets->alloc_count));
    assert_int_equal(sums->sample_count, whole->sample_count);
    assert_int_equal(sums->owner_count, whole->owner_count);
    check_owners(sums, whole);
    assert_int_equal(sums->curve_count, 0);
    assert_int_equal(profile_take_level(whole, MEMORY_RESIDENT), 0);
    assert_int_equal(profile_take_level(sums, MEMORY_RESIDENT), 0);
    assert_int_equal(sums->site_count, whole->site_count);
    assert_memory_equal(sums->sites, whole->sites, whole->site_count * sizeof *whole->sites);
    assert_int_equal(sums->code_count, whole->code_count);
    assert_int_equal(sums->function_count, whole->function_count);
    for (size_t i = 0; i < whole->function_count; i++)
        assert_string_equal(sums->functions[i].name, whole->functions[i].name);
    profile_free(whole);
    profile_free(sums);
}

/* All that is of resident memory is as with the heap's call paths, which are not there. */
static void owners_are_read_without_paths_of_the_heap(void **state)
{
    (void)state;
    struct profile *whole = read_back(true, true), *sums = read_sums(), *owners;
    assert_int_equal(profile_read_owners(&owners, scratch("levels.tmk")), 0);
    assert_null(owners->damage);
    assert_int_equal(owners->site_count, 0);
    assert_int_equal(owners->mapped_site_count, sums->mapped_site_count);
    assert_int_equal(owners->node_count, sums->node_count);
    check_owners(owners, whole);
    assert_int_equal(profile_take_level(sums, MEMORY_RESIDENT), 0);
    assert_int_equal(profile_take_level(owners, MEMORY_RESIDENT), 0);
    assert_int_equal(owners->site_count, sums->site_count);
    assert_true(owners->site_count > 0);
    for (size_t i = 0; i < owners->site_count; i++) {
        assert_int_equal(owners->sites[i].path, sums->sites[i].path);
        assert_memory_equal(&owners->sites[i].metrics, &sums->sites[i].metrics,
                            sizeof owners->sites[i].metrics);
    }
    profile_free(whole);
    profile_free(sums);
    profile_free(owners);
}

/* Which look counts is known before its owners are read, and the whole profile says the same. */
static void sums_have_the_owners_of_the_look_that_counts(void **state)
{
    (void)state;
    has_looks = true;
    for (int i = 0; i < 4; i++) {
        has_heat = i & 1;
        struct profile *whole = read_back(true, i & 2), *sums = read_sums();
        size_t first, count;
        uint32_t chosen = has_heat ? 4 : 2, of_other = 0;
        assert_int_equal(profile_owners_sample(whole, &first, &count)->id, chosen);
        check_owners(sums, whole);
        for (size_t j = 0; j < sums->owner_count; j++)
            of_other += sums->owners[j].sample == (has_heat ? 2 : 4);
        assert_int_equal(of_other, 1); /* the one whose heat is known, or that has no call path */
        profile_free(whole);
        profile_free(sums);
    }
    has_looks = has_heat = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_are_by_look_kind_and_path),
        cmocka_unit_test(what_sums_are_made_of_is_as_in_the_whole),
        cmocka_unit_test(owners_are_read_without_paths_of_the_heap),
        cmocka_unit_test(sums_have_the_owners_of_the_look_that_counts),
        cmocka_unit_test(what_was_resident_is_a_metric_of_the_look_with_most),
        cmocka_unit_test(mappings_are_read_as_they_were_written),
        cmocka_unit_test(the_heap_is_what_is_there_anyway),
        cmocka_unit_test(mapped_replaces_paths_sums_timeline_and_curves),
        cmocka_unit_test(all_has_each_path_once_at_the_joint_peak),
        cmocka_unit_test(resident_adds_up_to_the_look_without_the_tool),
        cmocka_unit_test(owners_are_those_of_the_look_with_something_alive),
        cmocka_unit_test(what_was_freed_at_the_end_has_the_owners_that_it_had),
        cmocka_unit_test(of_heat_the_last_look_near_the_most_counts),
        cmocka_unit_test(a_region_says_nothing_of_what_the_whole_program_has_mapped),
        cmocka_unit_test(what_a_profile_lacks_is_said),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}

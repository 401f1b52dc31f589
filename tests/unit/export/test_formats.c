/* Random profiles in every format that goes to a stream: each is written without a complaint, in
 * the same bytes twice, and folded stacks add up whatever is hidden, recursive or without a name.
 * Prints its seed; SEED=n repeats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "export/export.h"

enum { CODES = 12, NODES = 60, SITES = 30 };

static const char *const names[] = {"main",
                                    "run(int)",
                                    "operator new(unsigned long)",
                                    "a;b \"c\"\n",
                                    "std::vector<int>::push_back(int&&)",
                                    "f\\g"};

static void add_code(struct profile_builder *builder, uint32_t module)
{
    struct profile_code code = {.module = rand() % 4 ? module : UINT32_MAX,
                                .address = (uint64_t)rand() % 5000};
    uint32_t index = profile_builder_code(builder, &code);
    struct profile_frame frames[3];
    size_t count = 1 + (size_t)rand() % 3;
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct profile_frame){
            .function = rand() % 5 ? names[(size_t)rand() % (sizeof names / sizeof *names)] : NULL,
            .file = rand() % 2 ? "/src/a.c" : NULL,
            .line = (uint32_t)rand() % 9};
    profile_builder_frames(builder, index, frames, count);
}

static void add_sites(struct profile *profile)
{
    struct call_metrics *total = &profile->program.total;
    memset(total, 0, sizeof *total);
    for (uint32_t i = 0; i < SITES; i++) {
        struct call_metrics *metrics = &profile->sites[i].metrics;
        profile->sites[i].path = i ? 1 + (i * 7) % (NODES - 1) : 0;
        memset(metrics, 0, sizeof *metrics);
        metrics->alloc_count = 1 + (uint64_t)rand() % 9;
        metrics->alloc_bytes = metrics->alloc_count * ((uint64_t)rand() % 90);
        metrics->live_count = (uint64_t)rand() % (metrics->alloc_count + 1);
        metrics->live_bytes = metrics->live_count ? metrics->alloc_bytes / 2 : 0;
        metrics->at_peak_count = 1;
        metrics->at_peak_bytes = metrics->peak_bytes = 1 + (uint64_t)rand() % 70;
        metrics->freed_count = metrics->freed_bytes = UINT64_MAX;
        metrics->freed_elsewhere_count = metrics->freed_lifetime_sum = UINT64_MAX;
        metrics->alloc_time = metrics->free_time = UINT64_MAX;
        metrics->sample_count = metrics->alloc_variance = UINT64_MAX;
        metrics->live_variance = metrics->at_peak_variance = UINT64_MAX;
        total->at_peak_bytes += metrics->at_peak_bytes;
    }
    *total = (struct call_metrics){.at_peak_bytes = total->at_peak_bytes,
                                   .peak_bytes = total->at_peak_bytes,
                                   .freed_bytes = UINT64_MAX,
                                   .freed_count = UINT64_MAX,
                                   .freed_elsewhere_count = UINT64_MAX,
                                   .freed_lifetime_sum = UINT64_MAX,
                                   .alloc_time = UINT64_MAX,
                                   .free_time = UINT64_MAX,
                                   .sample_count = UINT64_MAX,
                                   .alloc_variance = UINT64_MAX,
                                   .live_variance = UINT64_MAX,
                                   .at_peak_variance = UINT64_MAX};
}

static struct profile_site *sites;

static struct profile *make_profile(void)
{
    struct profile *profile = profile_new(NODES);
    assert_non_null(profile);
    struct profile_builder *builder = profile_builder_new(profile);
    uint32_t module = profile_builder_module(
        builder, &(struct profile_module){.path = "/lib/lib x.so", .start = 4096, .end = 1 << 20});
    for (int i = 0; i < CODES; i++)
        add_code(builder, module);
    assert_int_equal(profile_builder_free(builder), 0);
    for (uint32_t i = 1; i < NODES; i++)
        profile->nodes[i] = (struct profile_node){.parent = (uint32_t)rand() % i,
                                                  .location = (uint32_t)rand() % (CODES + 1)};
    sites = calloc(SITES, sizeof *sites);
    free(profile->sites);
    profile->sites = sites;
    profile->site_count = SITES;
    profile->has_program = true;
    add_sites(profile);
    return profile;
}

static void write_twice(const struct profile *profile, const struct export_format *format,
                        const struct export_options *options, char **text, size_t *bytes)
{
    struct strbuf why = STRBUF_INIT;
    char *again;
    size_t again_bytes;
    FILE *out = open_memstream(text, bytes);
    assert_int_equal(export_write(out, profile, format, options, &why), 0);
    fclose(out);
    out = open_memstream(&again, &again_bytes);
    assert_int_equal(export_write(out, profile, format, options, &why), 0);
    fclose(out);
    assert_int_equal(*bytes, again_bytes);
    assert_memory_equal(*text, again, again_bytes);
    free(again);
    strbuf_release(&why);
}

static uint64_t sum_of_lines(const char *text)
{
    uint64_t sum = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        const char *space = memrchr(line, ' ', (size_t)(end - line));
        sum += strtoull(space + 1, NULL, 10);
    }
    return sum;
}

static void all_formats(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct profile *profile = make_profile();
        struct export_options options = {.metric = export_metric_find("peak"),
                                         .hide_std = rand() % 2,
                                         .inclusive = rand() % 2,
                                         .rows = rand() % 3};
        for (const struct export_format *format = export_formats; format->name; format++) {
            char *text;
            size_t bytes;
            if (!format->write || !strcmp(format->name, "svg"))
                continue;
            write_twice(profile, format, &options, &text, &bytes);
            if (!strcmp(format->name, "folded"))
                assert_int_equal(sum_of_lines(text), profile->program.total.at_peak_bytes);
            free(text);
        }
        profile_free(profile);
    }
}

static void metrics(void **state)
{
    (void)state;
    assert_string_equal(export_metric_find("leaked")->name, "live_bytes");
    assert_string_equal(export_metric_find("alloc_count")->name, "alloc_count");
    assert_null(export_metric_find("size_max"));
    assert_null(export_metric_find("alloc_variance"));
    assert_null(export_metric_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_formats), cmocka_unit_test(metrics)};
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
#include <unistd.h>
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

/* Neither where memory was freed nor times nor samples are in it. */
static void make_metrics(struct call_metrics *metrics)
{
    uint64_t count = 1 + (uint64_t)rand() % 9, bytes = count * ((uint64_t)rand() % 90);
    uint64_t live = (uint64_t)rand() % (count + 1);
    *metrics = (struct call_metrics){0};
    metrics->alloc_count = figure_of(count);
    metrics->alloc_bytes = figure_of(bytes);
    metrics->live_count = figure_of(live);
    metrics->live_bytes = figure_of(live ? bytes / 2 : 0);
    metrics->at_peak_count = figure_of(1);
    metrics->at_peak_bytes = metrics->peak_bytes = figure_of(1 + (uint64_t)rand() % 70);
    metrics->freed_count = metrics->freed_bytes = FIGURE_UNKNOWN;
    metrics->freed_elsewhere_count = metrics->freed_lifetime_sum = FIGURE_UNKNOWN;
    metrics->alloc_time = metrics->free_time = FIGURE_UNKNOWN;
    metrics->sample_count = metrics->alloc_variance = FIGURE_UNKNOWN;
    metrics->live_variance = metrics->at_peak_variance = FIGURE_UNKNOWN;
}

/* The program's figures are the sums of the paths'. */
static void settle(struct profile *profile)
{
    struct call_metrics *total = &profile->program.total;
    call_metrics_clear(total, &profile->sites[0].metrics);
    for (size_t i = 0; i < profile->site_count; i++)
        call_metrics_merge(total, &profile->sites[i].metrics);
    total->peak_bytes = total->at_peak_bytes;
    total->peak_ticks = figure_of(0);
}

static void add_sites(struct profile *profile)
{
    for (uint32_t i = 0; i < SITES; i++) {
        profile->sites[i].path = i ? 1 + (i * 7) % (NODES - 1) : 0;
        make_metrics(&profile->sites[i].metrics);
    }
    settle(profile);
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
                assert_int_equal(sum_of_lines(text),
                                 figure_or(profile->program.total.at_peak_bytes, 0));
            free(text);
        }
        profile_free(profile);
    }
}

/* ---- What is not known --------------------------------------------------------------------- */

static void forget(struct profile *profile, const struct metric_row *row)
{
    for (size_t i = 0; i < profile->site_count; i++)
        *metric_field(row, &profile->sites[i].metrics) = FIGURE_UNKNOWN;
}

/* As an importer makes it: of each path the file says these metrics and no others. */
static struct profile *make_knowing(const struct metric_row *const *known, size_t count)
{
    struct profile *profile = make_profile();
    for (size_t i = 0; i < METRICS; i++) {
        bool is_known = false;
        for (size_t j = 0; j < count; j++)
            is_known |= known[j] == &metric_rows[i];
        if (!is_known)
            forget(profile, &metric_rows[i]);
    }
    settle(profile);
    profile->program.total.peak_ticks = FIGURE_UNKNOWN;
    return profile;
}

/* NULL: the format was refused, with a sentence. */
static char *written(const struct profile *profile, const char *name)
{
    struct export_options options = {.metric = export_metric_find("peak")};
    struct strbuf why = STRBUF_INIT;
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int error = export_write(out, profile, export_format_find(name), &options, &why);
    fclose(out);
    assert_true(!error == !why.length);
    strbuf_release(&why);
    if (!error)
        return text;
    free(text);
    return NULL;
}

/* No number is the mark of an unknown one, or one less, or that in microseconds. */
static void no_absurd_number(const char *text, const char *format)
{
    for (const char *at = text; at && *at; at++) {
        size_t digits = strspn(at, "0123456789");
        if (digits > 15)
            fail_msg("%s: %.*s", format, (int)digits, at);
        at += digits;
        if (!*at)
            break;
    }
}

/* Whatever is not known, every format is written without an absurd number, or is refused. */
static void unknown_metrics(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct profile *profile = make_profile();
        for (size_t i = 0; i < METRICS; i++)
            if (rand() % 3 == 0)
                forget(profile, &metric_rows[i]);
        settle(profile);
        if (rand() % 2)
            profile->program.total.peak_bytes = FIGURE_UNKNOWN;
        if (rand() % 2)
            profile->program.total.peak_ticks = FIGURE_UNKNOWN;
        for (const struct export_format *format = export_formats; format->name; format++) {
            if (!format->write || !strcmp(format->name, "svg"))
                continue;
            char *text = written(profile, format->name);
            if (!format->is_binary)
                no_absurd_number(text, format->name);
            free(text);
        }
        profile_free(profile);
    }
}

/* Massif's files say who held the memory at its peak, and nothing else. */
static void only_a_peak(void **state)
{
    (void)state;
    const struct metric_row *known[] = {METRIC_ROW(at_peak_bytes)};
    struct profile *profile = make_knowing(known, 1);
    assert_null(written(profile, "heaptrack"));
    assert_null(written(profile, "dhat"));
    char *massif = written(profile, "massif");
    assert_non_null(massif);
    assert_null(strstr(massif, "18446744073709551615"));
    assert_null(strstr(massif, "time=18446744073709")); /* in milliseconds */
    free(massif);
    profile_free(profile);
}

/* In a damaged profile the shares of a peak may have more than the peak. */
static void shares_beyond_their_peak(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    struct peak *peak = calloc(1, sizeof *peak);
    *peak = (struct peak){
        .ticks = 5, .bytes = 10, .share_count = 2, .shares = {{.node = 1}, {.node = 2}}};
    peak->shares[0].bytes = peak->shares[1].bytes = 9;
    profile->peaks = peak;
    profile->peak_count = 1;
    char *massif = written(profile, "massif");
    assert_non_null(strstr(massif, "mem_heap_B=10\n"));
    no_absurd_number(massif, "massif");
    free(massif);
    profile_free(profile);
}

static uint64_t sum_of_members(const char *text, const char *key)
{
    uint64_t sum = 0;
    for (const char *at = text; (at = strstr(at, key)); at += strlen(key))
        sum += strtoull(at + strlen(key), NULL, 10);
    return sum;
}

/* DHAT's files do not tell reallocations apart: they are among the allocations. */
static void no_reallocations(void **state)
{
    (void)state;
    const struct metric_row *known[] = {METRIC_ROW(alloc_count),   METRIC_ROW(alloc_bytes),
                                        METRIC_ROW(live_count),    METRIC_ROW(live_bytes),
                                        METRIC_ROW(at_peak_count), METRIC_ROW(at_peak_bytes)};
    struct profile *profile = make_knowing(known, sizeof known / sizeof *known);
    const struct call_metrics *total = &profile->program.total;
    char *dhat = written(profile, "dhat");
    assert_non_null(dhat);
    assert_int_equal(sum_of_members(dhat, "\"tbk\":"), figure_or(total->alloc_count, 0));
    assert_int_equal(sum_of_members(dhat, "\"tb\":"), figure_or(total->alloc_bytes, 0));
    assert_int_equal(sum_of_members(dhat, "\"gb\":"), figure_or(total->at_peak_bytes, 0));
    assert_int_equal(sum_of_members(dhat, "\"ebk\":"), figure_or(total->live_count, 0));
    free(dhat);
    profile_free(profile);
}

/* Heap dumps do not say what there was at the peak: the end stands for it. */
static void no_peak(void **state)
{
    (void)state;
    const struct metric_row *known[] = {METRIC_ROW(alloc_count), METRIC_ROW(alloc_bytes),
                                        METRIC_ROW(live_count), METRIC_ROW(live_bytes)};
    struct profile *profile = make_knowing(known, sizeof known / sizeof *known);
    const struct call_metrics *total = &profile->program.total;
    assert_null(written(profile, "massif"));
    char *dhat = written(profile, "dhat"), *heaptrack = written(profile, "heaptrack");
    assert_non_null(dhat);
    assert_non_null(heaptrack);
    assert_int_equal(sum_of_members(dhat, "\"gb\":"), figure_or(total->live_bytes, 0));
    size_t born = 0;
    for (const char *at = heaptrack; (at = strstr(at, "\n+ ")); at++)
        born++;
    assert_int_equal(born, figure_or(total->alloc_count, 0));
    free(dhat);
    free(heaptrack);
    profile_free(profile);
}

/* As a real path's: each block is of the peak, of the end, of both or of neither. */
static void make_blocks(struct call_metrics *metrics)
{
    uint64_t count = 1 + (uint64_t)rand() % 6, sums[3] = {0}, counts[3] = {0};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = 1 + (uint64_t)rand() % (rand() % 2 ? 20 : 100000);
        bool in[3] = {true, rand() % 2, rand() % 2};
        for (int j = 0; j < 3; j++) {
            sums[j] += in[j] ? size : 0;
            counts[j] += in[j];
        }
    }
    metrics->alloc_count = figure_of(counts[0]);
    metrics->alloc_bytes = figure_of(sums[0]);
    metrics->live_count = figure_of(counts[1]);
    metrics->live_bytes = figure_of(sums[1]);
    metrics->at_peak_bytes = figure_of(sums[2]);
}

/* What heaptrack's events allocate. */
static uint64_t heaptrack_bytes(const char *text)
{
    static uint64_t sizes[16 * SITES];
    uint64_t sum = 0;
    size_t infos = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        if (!strncmp(at, "a ", 2))
            sizes[infos++] = strtoull(at + 2, NULL, 16);
        else if (!strncmp(at, "+ ", 2))
            sum += sizes[strtoull(at + 2, NULL, 16)];
    }
    return sum;
}

/* pprof's files say how many bytes there were at the peak, and not in how many blocks. */
static void no_blocks_at_the_peak(void **state)
{
    (void)state;
    const struct metric_row *known[] = {METRIC_ROW(alloc_count), METRIC_ROW(alloc_bytes),
                                        METRIC_ROW(live_count), METRIC_ROW(live_bytes),
                                        METRIC_ROW(at_peak_bytes)};
    for (int round = 0; round < 100; round++) {
        struct profile *profile = make_knowing(known, sizeof known / sizeof *known);
        for (size_t i = 0; i < profile->site_count; i++)
            make_blocks(&sites[i].metrics);
        settle(profile);
        profile->program.total.peak_ticks = FIGURE_UNKNOWN;
        char *text = written(profile, "heaptrack");
        assert_non_null(text);
        assert_int_equal(heaptrack_bytes(text), figure_or(profile->program.total.alloc_bytes, 0));
        free(text);
        profile_free(profile);
    }
}

/* An event for each block has an end only where the blocks have one; sums are written all the same.
 */
static void more_blocks_than_can_be_written(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    for (size_t i = 0; i < 2; i++) {
        sites[i].metrics.alloc_count = figure_of(1ULL << 60);
        sites[i].metrics.alloc_bytes = figure_of(1ULL << 62);
    }
    settle(profile);
    alarm(10); /* ends the test where the file has no end */
    assert_null(written(profile, "heaptrack"));
    char *dhat = written(profile, "dhat");
    alarm(0);
    assert_non_null(dhat);
    free(dhat);
    profile_free(profile);
}

static void metrics(void **state)
{
    (void)state;
    assert_ptr_equal(export_metric_find("leaked"), METRIC_ROW(live_bytes));
    assert_ptr_equal(export_metric_find("alloc_count"), METRIC_ROW(alloc_count));
    assert_null(export_metric_find("size_max"));
    assert_null(export_metric_find("alloc_variance"));
    assert_null(export_metric_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats),
        cmocka_unit_test(unknown_metrics),
        cmocka_unit_test(only_a_peak),
        cmocka_unit_test(no_reallocations),
        cmocka_unit_test(no_peak),
        cmocka_unit_test(no_blocks_at_the_peak),
        cmocka_unit_test(metrics),
        cmocka_unit_test(shares_beyond_their_peak),
        cmocka_unit_test(more_blocks_than_can_be_written),
    };
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

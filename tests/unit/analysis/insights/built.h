/* Profiles made in memory for the rules to be asked about, and what is asserted of the answers.
 *
 *     struct built *built = built_new();
 *     uint32_t path = built_path(built, "main:10 > load:20 > grow@src/grow.c:31");
 *     built_site(built, path, (struct call_metrics){.alloc_count = FIGURE_OF(100), .alloc_bytes = FIGURE_OF(6400)});
 *     struct insights *insights = built_ask(built);
 */
#ifndef TIDEMARK_TESTS_BUILT_H
#define TIDEMARK_TESTS_BUILT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "insights/insight.h"
#include "profile/profile.h"

#define KIB    1024ull
#define MIB    (1024 * KIB)
#define MS     1000000ull
#define SECOND (1000 * MS)

enum { BUILT_MOST = 64, BUILT_POINTS = 300 };

struct built {
    struct profile profile;
    struct profile_meta meta[BUILT_MOST];
    struct profile_function functions[BUILT_MOST];
    struct profile_line lines[BUILT_MOST];
    struct profile_code codes[BUILT_MOST];
    struct profile_node nodes[BUILT_MOST];
    struct profile_site sites[BUILT_MOST];
    struct profile_module modules[BUILT_MOST];
    struct thread_metrics threads[BUILT_MOST];
    struct timeline_bucket buckets[BUILT_MOST];
    struct distribution_row distributions[BUILT_MOST];
    struct curve curves[BUILT_MOST];
    struct curve_point points[BUILT_MOST][BUILT_POINTS];
    struct peak peaks[PEAKS_MAX];
    struct exchange exchanges[BUILT_MOST];
    struct profile_variable variables[BUILT_MOST];
    struct profile_section_total sections[BUILT_MOST];
    struct profile_sample samples[BUILT_MOST];
    struct profile_residency residencies[BUILT_MOST];
    struct profile_source sources[BUILT_MOST];
    struct insights *insights;
    char text[8192];
};

static void built_meta(struct built *built, const char *key, const char *value)
{
    built->meta[built->profile.meta_count++] = (struct profile_meta){key, value, false};
}

/* A finished recording of a second, of which nothing but sums is known. */
static struct built *built_new(void)
{
    struct built *built = calloc(1, sizeof *built);
    struct profile *profile = &built->profile;
    *profile = (struct profile){.meta = built->meta,
                                .complete = true,
                                .has_program = true,
                                .nodes = built->nodes,
                                .node_count = 1,
                                .sites = built->sites,
                                .codes = built->codes,
                                .code_count = 1,
                                .lines = built->lines,
                                .line_count = 1,
                                .functions = built->functions,
                                .function_count = 1,
                                .modules = built->modules,
                                .module_count = 1,
                                .threads = built->threads,
                                .buckets = built->buckets,
                                .distributions = built->distributions,
                                .curves = built->curves,
                                .peaks = built->peaks,
                                .exchanges = built->exchanges,
                                .variables = built->variables,
                                .sections = built->sections,
                                .samples = built->samples,
                                .residencies = built->residencies,
                                .sources = built->sources};
    profile->program.total.size_min = profile->program.total.lifetime_min = FIGURE_UNKNOWN;
    profile->program.events = 1000;
    built->functions[0].name = "?";
    built->codes[0] = (struct profile_code){.module = UINT32_MAX, .line_count = 1};
    built->modules[0] = (struct profile_module){.path = "/home/ann/prog", .quality = 4};
    built_meta(built, PROFILE_META_PROGRAM, "prog");
    built_meta(built, PROFILE_META_EXECUTABLE, "/home/ann/prog");
    built_meta(built, PROFILE_META_PID, "4711");
    built_meta(built, PROFILE_META_DURATION, "1000000000");
    built_meta(built, PROFILE_META_END, "exit");
    built_meta(built, PROFILE_META_END_STATUS, "0");
    return built;
}

static void built_end(struct built *built, const char *end, const char *status)
{
    for (size_t i = 0; i < built->profile.meta_count; i++) {
        if (!strcmp(built->meta[i].key, PROFILE_META_END))
            built->meta[i].value = end;
        if (!strcmp(built->meta[i].key, PROFILE_META_END_STATUS))
            built->meta[i].value = status;
    }
}

static uint32_t built_code(struct built *built, const char *function, const char *file,
                           uint32_t line)
{
    struct profile *profile = &built->profile;
    for (uint32_t i = 1; i < profile->code_count; i++)
        if (!strcmp(built->functions[built->lines[i].function].name, function) &&
            built->lines[i].line == line)
            return i;
    uint32_t at = (uint32_t)profile->code_count++;
    assert_true(at < BUILT_MOST);
    profile->function_count = profile->line_count = at + 1;
    built->functions[at] = (struct profile_function){strdup(function), NULL, strdup(file)};
    built->lines[at] = (struct profile_line){at, built->functions[at].file, line};
    built->codes[at] = (struct profile_code){0, 0x1000 + at, 0, at, 1};
    return at;
}

/* "outermost:10 > name@file:20": functions with lines; without a file it is prog.c. */
static uint32_t built_path(struct built *built, const char *frames)
{
    char copy[400];
    uint32_t node = 0;
    snprintf(copy, sizeof copy, "%s", frames);
    for (char *frame = copy, *next; frame; frame = next) {
        next = strstr(frame, " > ");
        if (next) {
            *next = 0;
            next += 3;
        }
        char *colon = strrchr(frame, ':'), *file = strchr(frame, '@');
        uint32_t line = (uint32_t)strtoul(colon + 1, NULL, 10);
        *colon = 0;
        if (file)
            *file++ = 0;
        uint32_t code = built_code(built, frame, file ? file : "prog.c", line), found = 0;
        for (uint32_t i = 1; i < built->profile.node_count; i++)
            if (built->nodes[i].parent == node && built->nodes[i].location == code)
                found = i;
        if (!found) {
            found = (uint32_t)built->profile.node_count++;
            built->nodes[found] = (struct profile_node){node, code};
        }
        node = found;
    }
    return node;
}

/* Adds to the totals what adds up, and to the peak what is alive at it. */
static void built_site(struct built *built, uint32_t path, struct call_metrics metrics)
{
    struct call_metrics *total = &built->profile.program.total;
    uint64_t count = figure_or(metrics.alloc_count, 0);
    if (figure_zero(metrics.size_min))
        metrics.size_min = figure_of(count ? figure_or(metrics.alloc_bytes, 0) / count : 1);
    if (figure_zero(metrics.size_max))
        metrics.size_max = metrics.size_min;
    if (figure_zero(metrics.lifetime_min))
        metrics.lifetime_min = FIGURE_UNKNOWN;
    built->sites[built->profile.site_count++] = (struct profile_site){path, metrics};
    total->alloc_count = figure_add(total->alloc_count, metrics.alloc_count);
    total->alloc_bytes = figure_add(total->alloc_bytes, metrics.alloc_bytes);
    total->realloc_count = figure_add(total->realloc_count, metrics.realloc_count);
    total->realloc_bytes = figure_add(total->realloc_bytes, metrics.realloc_bytes);
    total->free_count = figure_add(total->free_count, metrics.free_count);
    total->live_count = figure_add(total->live_count, metrics.live_count);
    total->live_bytes = figure_add(total->live_bytes, metrics.live_bytes);
    total->at_peak_bytes = figure_add(total->at_peak_bytes, metrics.at_peak_bytes);
    total->at_peak_count = figure_add(total->at_peak_count, metrics.at_peak_count);
    total->peak_bytes = total->at_peak_bytes;
    total->alloc_time = figure_add(total->alloc_time, metrics.alloc_time);
    total->free_time = figure_add(total->free_time, metrics.free_time);
}

/* Calls that are no rule's business: `count` blocks of 1000 bytes that live for a while. */
static void built_others(struct built *built, uint64_t count)
{
    built_site(built, built_path(built, "main:1 > others:2"),
               (struct call_metrics){.alloc_count = FIGURE_OF(count),
                                     .alloc_bytes = FIGURE_OF(count * 1000),
                                     .free_count = FIGURE_OF(count),
                                     .free_bytes = FIGURE_OF(count * 1000),
                                     .peak_bytes = FIGURE_OF(100000),
                                     .slack_bytes = FIGURE_OF(count * 8)});
}

static struct curve_point *built_curve(struct built *built, uint32_t node, uint32_t count)
{
    size_t at = built->profile.curve_count++;
    built->curves[at] = (struct curve){.node = node,
                                       .count = count,
                                       .threshold_bytes = FIGURE_OF(CURVE_THRESHOLD_BYTES),
                                       .points = built->points[at]};
    return built->points[at];
}

static const struct insights *built_ask(struct built *built)
{
    insights_free(built->insights);
    built->insights = insights_find(&built->profile);
    assert_non_null(built->insights);
    return built->insights;
}

static void built_free(struct built *built)
{
    insights_free(built->insights);
    for (size_t i = 1; i < built->profile.function_count; i++) {
        free((char *)built->functions[i].name);
        free((char *)built->functions[i].file);
    }
    free(built);
}

/* ---- What came out ---- */

static size_t count_of(const struct insights *insights, const char *id)
{
    size_t count = 0;
    for (size_t i = 0; i < insights->count; i++)
        count += !strcmp(insights->items[i].id, id);
    return count;
}

/* The only one with this id. */
static const struct insight *the(const struct insights *insights, const char *id)
{
    if (count_of(insights, id) != 1) {
        for (size_t i = 0; i < insights->count; i++)
            print_error("found: %s: %s\n", insights->items[i].id, insights->items[i].title);
        fail_msg("%zu of %s", count_of(insights, id), id);
    }
    for (size_t i = 0; i < insights->count; i++)
        if (!strcmp(insights->items[i].id, id))
            return &insights->items[i];
    return NULL;
}

static void assert_silent(const struct insights *insights, const char *id)
{
    for (size_t i = 0; i < insights->count; i++)
        if (!strcmp(insights->items[i].id, id))
            fail_msg("%s: %s", id, insights->items[i].title);
}

static bool is_unasked(const struct insights *insights, const char *id)
{
    for (size_t i = 0; i < insights->silence_count; i++)
        if (!strcmp(insights->silences[i].id, id))
            return true;
    return false;
}

/* All of the evidence: "alloc_count 100, mean_size 64, share 0.500, …". */
static void assert_evidence(struct built *built, const struct insight *insight,
                            const char *expected)
{
    size_t at = 0;
    built->text[0] = 0;
    for (size_t i = 0; i < insight->fact_count; i++) {
        const struct insight_fact *fact = &insight->facts[i];
        char value[200];
        if (fact->unit == INSIGHT_TEXT)
            snprintf(value, sizeof value, "'%s'", fact->text);
        else if (fact->unit == INSIGHT_SHARE || fact->unit == INSIGHT_RATIO)
            snprintf(value, sizeof value, "%.3f", fact->real);
        else
            snprintf(value, sizeof value, "%llu", (unsigned long long)fact->number);
        at += (size_t)snprintf(built->text + at, sizeof built->text - at, "%s%s %s", i ? ", " : "",
                               fact->metric, value);
    }
    assert_string_equal(built->text, expected);
}

/* "name:line < caller:line …" of the n-th path. */
static void assert_path(struct built *built, const struct insight *insight, size_t n,
                        uint64_t value, const char *expected)
{
    size_t at = 0;
    assert_true(n < insight->path_count);
    const struct insight_path *path = &insight->paths[n];
    for (size_t i = 0; i < path->frame_count; i++)
        at += (size_t)snprintf(built->text + at, sizeof built->text - at, "%s%s:%u", i ? " < " : "",
                               frame_function(&built->profile, path->frames[i]),
                               (unsigned)built->lines[path->frames[i].line].line);
    assert_string_equal(built->text, expected);
    assert_int_equal(path->value, value);
}

#define assert_severity(insight, expected)                                                         \
    assert_string_equal(insight_severity_name((insight)->severity), expected)

#endif

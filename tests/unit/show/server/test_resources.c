/* Resources say what the profile says: of the golden one, and of one that wants to do harm. */
#include "decode.h"
#include "../../files/profile/as_rows.h"
#include <errno.h>
#include "base/text.h"
#include "server/single_file.h"
#include "server/resources.h"
#include "aggregate/functions.h"
#include "model/metrics.h"
#include "server/web_summary.h"

static struct profile *profile;
static struct resources resources;

static int open_golden(void **state)
{
    (void)state;
    if (profile_read(&profile, GOLDEN_DIR "/profile-v2-details.tmk"))
        return -1;
    return resources_open(&resources, profile, NULL);
}

static int close_golden(void **state)
{
    (void)state;
    resources_close(&resources);
    profile_free(profile);
    return 0;
}

static struct strbuf made(const struct resources *of, const char *name, enum resource_type wanted)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    if (resources_make(of, name, &out, &type, &why))
        fail_msg("%s is not there: %s", name, why.data);
    assert_int_equal(type, wanted);
    strbuf_release(&why);
    return out;
}

/* ---- The golden profile -------------------------------------------------------------------- */

static void columns_are_the_metrics(void **state)
{
    (void)state;
    assert_true(profile->site_count > 3);
    for (size_t i = 0; i < METRICS; i++) {
        char name[64];
        if (!metric_is_recorded(&metric_rows[i], &profile->program.total))
            continue;
        snprintf(name, sizeof name, "columns/%s", metric_rows[i].column);
        struct strbuf document = made(&resources, name, RESOURCE_COLUMNS);
        struct decoded column = decode(document.data, document.length, metric_rows[i].column);
        assert_int_equal(column.count, profile->site_count);
        double sum = 0;
        for (size_t j = 0; j < column.count; j++) {
            struct figure value = profile_site_figure(profile, j, &metric_rows[i]);
            double shown = decoded_at(&column, j);
            assert_true(figure_known(value) ? shown == figure_double(value) : isnan(shown));
            sum += isnan(shown) ? 0 : shown;
        }
        if (!strcmp(metric_rows[i].column, "at_peak_bytes"))
            assert_true(sum == figure_double(profile->program.total.at_peak_bytes));
        strbuf_release(&document);
    }
}

static void unknown_thresholds_of_curves_are_unknown(void **state)
{
    (void)state;
    assert_true(profile->curve_count > 1);
    struct figure before = profile->curves[0].threshold_bytes;
    profile->curves[0].threshold_bytes = FIGURE_UNKNOWN;
    struct strbuf document = made(&resources, "curves", RESOURCE_COLUMNS);
    struct decoded column = decode(document.data, document.length, "threshold_bytes");
    assert_true(isnan(decoded_at(&column, 0)));
    assert_true(decoded_at(&column, 1) == figure_double(profile->curves[1].threshold_bytes));
    profile->curves[0].threshold_bytes = before;
    strbuf_release(&document);
}

static const char *string_at(const struct strbuf *document, double number)
{
    static char text[4096];
    struct decoded starts = decode(document->data, document->length, "string_start");
    struct decoded bytes = decode(document->data, document->length, "string_bytes");
    size_t from = (size_t)decoded_at(&starts, (size_t)number);
    size_t to = (size_t)decoded_at(&starts, (size_t)number + 1);
    assert_true(from <= to && to <= bytes.count && to - from < sizeof text);
    memcpy(text, bytes.at + from, to - from);
    text[to - from] = 0;
    return text;
}

static void the_tree_and_its_code(void **state)
{
    (void)state;
    struct strbuf paths = made(&resources, "paths", RESOURCE_COLUMNS);
    struct strbuf code = made(&resources, "code", RESOURCE_COLUMNS);
    struct decoded parent = decode(paths.data, paths.length, "parent");
    struct decoded of = decode(paths.data, paths.length, "code");
    struct decoded first = decode(code.data, code.length, "code_first_line");
    struct decoded count = decode(code.data, code.length, "code_line_count");
    struct decoded function = decode(code.data, code.length, "line_function");
    struct decoded name = decode(code.data, code.length, "function_name");
    struct decoded file = decode(code.data, code.length, "line_file");
    struct decoded path = decode(code.data, code.length, "file_name");
    assert_int_equal(parent.count, profile->node_count);
    for (size_t i = 0; i < parent.count; i++) {
        assert_true(decoded_at(&parent, i) == profile->nodes[i].parent);
        assert_true(decoded_at(&of, i) == profile->nodes[i].location);
    }
    for (size_t i = 0; i < profile->code_count; i++) {
        assert_true(decoded_at(&first, i) == profile->codes[i].first_line);
        assert_true(decoded_at(&count, i) == profile->codes[i].line_count);
    }
    for (size_t i = 0; i < profile->line_count; i++) {
        const struct profile_line *line = &profile->lines[i];
        assert_true(decoded_at(&function, i) == line->function);
        assert_string_equal(string_at(&code, decoded_at(&name, line->function)),
                            profile->functions[line->function].name);
        if (!line->file)
            assert_true(isnan(decoded_at(&file, i)));
        else if (*line->file == '/')
            assert_string_equal(string_at(&code, decoded_at(&path, (size_t)decoded_at(&file, i))),
                                line->file);
    }
    strbuf_release(&paths);
    strbuf_release(&code);
}

static void the_map_of_the_heap(void **state)
{
    (void)state;
    struct profile_heap_page cells[] = {{2, 3, 0x7ffff0000000, 4096, 4096, 48, 1, 4048},
                                        {2, 0, 0x7ffff0001000, 8192, 0, 0, 0, 0}};
    static const char *const names[] = {"node",       "address",    "bytes",       "resident_bytes",
                                        "live_bytes", "live_count", "pinned_bytes"};
    const double wanted[][2] = {
        {3, 0},   {0x7ffff0000000, 0x7ffff0001000}, {4096, 8192}, {4096, 0}, {48, 0}, {1, 0},
        {4048, 0}};
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    assert_int_equal(resources_make(&resources, "heap", &out, &type, &why), -ENODATA);
    strbuf_release(&why);
    profile->heap_pages = cells;
    profile->heap_page_count = 2;
    out = made(&resources, "heap", RESOURCE_COLUMNS);
    profile->heap_pages = NULL;
    profile->heap_page_count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct decoded column = decode(out.data, out.length, names[i]);
        assert_int_equal(column.count, 2);
        for (size_t row = 0; row < 2; row++)
            assert_true(decoded_at(&column, row) == wanted[i][row]);
    }
    assert_non_null(memmem(out.data, out.length, "\"sample\":2,", 11));
    strbuf_release(&out);
}

static void what_is_not_there_says_so(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "",         "summar",    "summary/",      "columns/",   "columns/x", "source/",
        "source/x", "source/01", "source/999999", "source/0/x", "source/-1", "source/0/changed/"};
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        assert_int_equal(resources_make(&resources, nothing[i], &out, &type, &why), -ENOENT);
    assert_int_equal(why.length, 0);
    assert_int_equal(resources_make(&resources, "columns/alloc_variance", &out, &type, &why),
                     -ENODATA);
    assert_string_equal(why.data, "alloc_variance was not recorded");
    strbuf_release(&out);
    strbuf_release(&why);
}

static void make_each(void *context, const char *name)
{
    size_t *count = context;
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    assert_int_equal(resources_make(&resources, name, &out, &type, &why), 0);
    assert_true(out.length > 0);
    ++*count;
    strbuf_release(&out);
    strbuf_release(&why);
}

static void what_is_listed_is_there(void **state)
{
    (void)state;
    size_t count = 0;
    resources_list(&resources, make_each, &count);
    assert_true(count > 30);
}

static void embedded_text(void **state)
{
    (void)state;
    assert_true(profile->source_count > 0);
    uint32_t file = source_files_find(&resources.files, profile->sources[0].path);
    char name[32];
    snprintf(name, sizeof name, "source/%u", file);
    struct strbuf text = made(&resources, name, RESOURCE_JSON);
    assert_non_null(strstr(text.data, "\"origin\":\"embedded\""));
    assert_null(strstr(text.data, "\"text\":null"));
    strbuf_release(&text);
}

/* ---- A region ------------------------------------------------------------------------------ */

/* The golden profile, as if what its first and third site asked for had been in the second of two
 * regions. */
static struct profile *with_regions(void)
{
    struct profile *of;
    assert_int_equal(profile_read(&of, GOLDEN_DIR "/profile-v2-details.tmk"), 0);
    assert_int_equal(of->region_count, 0);
    of->region_count = of->region_site_count = 2;
    of->regions = calloc(2, sizeof *of->regions);
    of->regions[0].name = "first";
    of->regions[1].name = "second";
    of->regions[1].peak_bytes = 4711;
    of->region_sites = calloc(2, sizeof *of->region_sites);
    as_rows(of);
    for (size_t i = 0; i < 2; i++)
        of->region_sites[i] =
            (struct profile_region_site){1, of->sites[2 * i].path, of->sites[2 * i].metrics};
    return of;
}

static bool lists(const struct strbuf *summary, const char *name)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    return strstr(strstr(summary->data, "\"resources\":"), quoted);
}

static void a_region_has_what_was_asked_for_in_it(void **state)
{
    (void)state;
    struct profile *of = with_regions();
    struct resources part;
    assert_int_equal(profile_cut_region_at(of, 1), 0);
    assert_int_equal(resources_open(&part, of, NULL), 0);
    struct strbuf sites = made(&part, "sites", RESOURCE_COLUMNS);
    struct strbuf bytes = made(&part, "columns/alloc_bytes", RESOURCE_COLUMNS);
    struct decoded node = decode(sites.data, sites.length, "node");
    struct decoded column = decode(bytes.data, bytes.length, "alloc_bytes");
    assert_int_equal(column.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(decoded_at(&node, i) == profile_site_path(profile, 2 * i));
        assert_true(decoded_at(&column, i) ==
                    figure_double(profile_site_figure(profile, 2 * i, METRIC_ROW(alloc_bytes))));
    }
    struct strbuf summary = made(&part, "summary", RESOURCE_JSON);
    assert_non_null(strstr(summary.data, "\"region\":\"second\""));
    assert_non_null(strstr(summary.data, "\"peak_bytes\":4711,"));
    strbuf_release(&sites);
    strbuf_release(&bytes);
    strbuf_release(&summary);
    resources_close(&part);
    profile_free(of);
}

static void what_is_unknown_of_a_region_is_not_nothing(void **state)
{
    (void)state;
    static const char *const unknown[] = {
        "insights",      "timeline",  "curves",  "residency", "threads",  "peaks", "stacks",
        "distributions", "exchanges", "globals", "samples",   "mappings", "heap"};
    struct profile *of = with_regions();
    struct resources part;
    assert_int_equal(profile_cut_region_at(of, 2), -ENOENT);
    assert_int_equal(profile_cut_region_at(of, 0), 0);
    assert_int_equal(resources_open(&part, of, NULL), 0);
    struct strbuf summary = made(&part, "summary", RESOURCE_JSON);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
        enum resource_type type;
        assert_int_equal(resources_make(&part, unknown[i], &out, &type, &why), -ENODATA);
        assert_non_null(strstr(why.data, "not by region"));
        assert_false(lists(&summary, unknown[i]));
        strbuf_release(&out);
        strbuf_release(&why);
    }
    /* Nothing was asked for in it, and that is known; calls that end a mapping are not. */
    assert_non_null(strstr(summary.data, "\"alloc_bytes\":0,"));
    assert_non_null(strstr(summary.data, "\"unmap_bytes\":null,"));
    assert_non_null(strstr(summary.data, "\"threads_peak\":null"));
    assert_null(strstr(summary.data, "18446744073709551615"));
    strbuf_release(&summary);
    resources_close(&part);
    profile_free(of);
}

static void regions_are_listed_where_they_can_be_asked_for(void **state)
{
    (void)state;
    struct profile *of = with_regions();
    struct resources whole;
    for (int served = 0; served < 2; served++) {
        assert_int_equal(resources_open(&whole, of, NULL), 0);
        whole.has_regions = served;
        struct strbuf summary = made(&whole, "summary", RESOURCE_JSON);
        assert_true(lists(&summary, "regions"));
        assert_int_equal(lists(&summary, "region"), served);
        strbuf_release(&summary);
        resources_close(&whole);
    }
    profile_free(of);
}

/* ---- A hostile one ------------------------------------------------------------------------- */

enum { HOSTILE_NAME = 1 << 20 };

/* A rank of which nothing is known, one with all that there can be. */
static void hostile_job(struct profile *out, char *long_name)
{
    static struct profile_rank ranks[2];
    static struct profile_rank_step steps[2];
    static struct profile_node_peak peaks[1];
    memset(&ranks[0], 0xff, sizeof ranks[0]);
    ranks[0].beside = true;
    ranks[0].state = ranks[0].file = "</script>\xff";
    ranks[0].note = NULL;
    ranks[1] = (struct profile_rank){.state = "complete", .file = long_name, .note = long_name};
    memset(steps, 0xff, sizeof steps[0]);
    memset(peaks, 0xff, sizeof peaks);
    peaks[0].name = long_name;
    out->rank_count = out->rank_step_count = 2;
    out->ranks = ranks;
    out->rank_steps = steps;
    out->node_peak_count = 1;
    out->node_peaks = peaks;
}

static void unknown_of_a_rank_is_null(void **state)
{
    (void)state;
    struct profile hostile = {.program = profile->program};
    struct resources of = {.profile = &hostile};
    static char name[] = "host";
    hostile_job(&hostile, name);
    struct strbuf ranks = made(&of, "ranks", RESOURCE_JSON);
    assert_non_null(strstr(ranks.data, "\"peak_bytes\":null"));
    assert_non_null(strstr(ranks.data, "\"peak_bytes\":0,"));
    assert_non_null(strstr(ranks.data, "\"note\":null"));
    assert_non_null(strstr(ranks.data, "\"limit_bytes\":null"));
    assert_null(strstr(ranks.data, "18446744073709551615"));
    struct strbuf steps = made(&of, "rank_timeline", RESOURCE_COLUMNS);
    struct decoded level = decode(steps.data, steps.length, "resident_max");
    assert_int_equal(level.count, 2);
    assert_true(isnan(decoded_at(&level, 0)) && decoded_at(&level, 1) == 0);
    strbuf_release(&ranks);
    strbuf_release(&steps);
}

/* Markup, bytes that are no UTF-8, a name of a megabyte, metrics at their limits, a parent that is
 * itself (the reader makes that 0, but who knows). */
static void hostile_profile(struct profile *out, char *long_name)
{
    static struct profile_function functions[3];
    static struct profile_line lines[3];
    static struct profile_code codes[2];
    static struct profile_node nodes[3];
    static struct profile_site sites[2];
    static struct profile_meta meta[] = {{"program", "</script><script>alert(1)</script>", false},
                                         {"end", "\xff\xfe\xe2\x80", false}};
    static struct profile_module modules[] = {{.path = "\xc0\x80 <b>\xe2\x80\xae"}};
    memset(long_name, '\x80', HOSTILE_NAME);
    functions[0].name = "?";
    functions[1] = (struct profile_function){"\"\\\x01\x7f<!--", long_name, "../../../etc/passwd"};
    functions[2] = (struct profile_function){long_name, NULL, long_name};
    lines[1] = (struct profile_line){1, functions[1].file, UINT32_MAX};
    lines[2] = (struct profile_line){2, functions[2].file, 0};
    codes[0] = (struct profile_code){.module = UINT32_MAX, .line_count = 1};
    codes[1] = (struct profile_code){.address = UINT64_MAX, .first_line = 1, .line_count = 2};
    nodes[1] = (struct profile_node){0, 1};
    nodes[2] = (struct profile_node){1, 1};
    memset(&sites[0].metrics, 0xfe, sizeof sites[0].metrics);
    memset(&sites[1].metrics, 0xff, sizeof sites[1].metrics);
    sites[0].path = 1;
    sites[1].path = 2;
    *out = (struct profile){.meta_count = 2,
                            .meta = meta,
                            .has_program = true,
                            .node_count = 3,
                            .nodes = nodes,
                            .site_count = 2,
                            .sites = sites,
                            .code_count = 2,
                            .codes = codes,
                            .line_count = 3,
                            .lines = lines,
                            .function_count = 3,
                            .functions = functions,
                            .module_count = 1,
                            .modules = modules};
    memset(&out->program, 0x7e, sizeof out->program);
    hostile_job(out, long_name);
}

static void check_utf8(const char *bytes, size_t count)
{
    for (size_t at = 0, length; at < count; at += length) {
        uint32_t code_point;
        length = text_decode(bytes + at, count - at, &code_point);
        assert_true(length > 0);
    }
}

static void check_hostile(void *context, const char *name)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    assert_int_equal(resources_make(context, name, &out, &type, &why), 0);
    if (type == RESOURCE_JSON)
        check_utf8(out.data, out.length);
    if (!strcmp(name, "code")) {
        struct decoded bytes = decode(out.data, out.length, "string_bytes");
        check_utf8((const char *)bytes.at, bytes.count);
        assert_true(bytes.count > HOSTILE_NAME);
    }
    strbuf_release(&out);
    strbuf_release(&why);
}

static void a_hostile_profile_stays_text(void **state)
{
    (void)state;
    struct profile hostile;
    struct resources of;
    char *long_name = calloc(HOSTILE_NAME + 1, 1);
    hostile_profile(&hostile, long_name);
    assert_int_equal(resources_open(&of, &hostile, NULL), 0);
    resources_list(&of, check_hostile, &of);
    check_hostile(&of, "source/0");
    resources_close(&of);
    free(long_name);
}

/* ---- The single file ----------------------------------------------------------------------- */

static void one_file_has_all_of_it(void **state)
{
    (void)state;
    static const struct served_source shown[] = {{.path = GOLDEN_DIR "/profile-v2-details.tmk"}};
    struct html_options options = {.shown = shown, .shown_count = 1, .sources = true};
    struct strbuf why = STRBUF_INIT;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(html_write(stream, &options, &why), 0);
    fclose(stream);
    static const char *const parts[] = {
        "<html data-tidemark=\"file\"",
        "script-src 'sha256-",
        "data-name=\"profiles\"",
        "data-name=\"p/0/summary\" data-type=\"json\">H4sI",
        "data-name=\"p/0/columns/live_bytes\" data-type=\"columns\">H4sI",
        "data-name=\"p/0/source/"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("no %s", parts[i]);
    assert_null(strstr(text, "src=\"app."));
    assert_null(strstr(text, "href=\"app."));
    free(text);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_metrics),
        cmocka_unit_test(unknown_thresholds_of_curves_are_unknown),
        cmocka_unit_test(the_tree_and_its_code),
        cmocka_unit_test(the_map_of_the_heap),
        cmocka_unit_test(what_is_not_there_says_so),
        cmocka_unit_test(what_is_listed_is_there),
        cmocka_unit_test(embedded_text),
        cmocka_unit_test(unknown_of_a_rank_is_null),
        cmocka_unit_test(a_region_has_what_was_asked_for_in_it),
        cmocka_unit_test(what_is_unknown_of_a_region_is_not_nothing),
        cmocka_unit_test(regions_are_listed_where_they_can_be_asked_for),
        cmocka_unit_test(a_hostile_profile_stays_text),
        cmocka_unit_test(one_file_has_all_of_it),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}

/* Figures by source line, against a brute-force walk of every path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "aggregate/source_lines.h"

static uint64_t state;
static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

enum { FUNCTIONS = 12, CODES = 40, NODES = 400, LINES = 3 * CODES };

/* "/s/a.c" has three spellings; two are one string at two addresses. */
static char twin[] = "/s/a.c";
static const char *const paths[] = {"/s/a.c", twin, "/s/x/../a.c", "/s/b.c", "/s//d/./c.h", NULL};
static const char *const names[] = {"/s/a.c", "/s/a.c", "/s/a.c", "/s/b.c", "/s/d/c.h", NULL};

struct made {
    struct profile profile;
    struct profile_function functions[FUNCTIONS];
    struct profile_line lines[LINES];
    struct profile_code codes[CODES];
    struct profile_node nodes[NODES];
    struct profile_site sites[NODES];
    bool hidden[LINES];
    const char *name[LINES]; /* without detours */
};

static void make(struct made *made, uint32_t back)
{
    *made = (struct made){0};
    struct profile *profile = &made->profile;
    profile->functions = made->functions;
    profile->function_count = FUNCTIONS;
    profile->lines = made->lines;
    profile->codes = made->codes;
    profile->code_count = CODES;
    profile->nodes = made->nodes;
    profile->node_count = NODES;
    profile->sites = made->sites;
    for (uint32_t i = 0; i < CODES; i++) {
        struct profile_code *code = &made->codes[i];
        code->module = UINT32_MAX;
        code->mark = i && !below(15);
        code->first_line = (uint32_t)profile->line_count;
        code->line_count = i ? 1 + below(3) : 1;
        for (uint32_t j = 0; j < code->line_count; j++) {
            size_t at = profile->line_count++, path = i && !code->mark ? below(6) : 5;
            made->lines[at] =
                (struct profile_line){i ? below(FUNCTIONS) : 0, paths[path], below(4)};
            made->name[at] = names[path];
            made->hidden[at] = !below(4);
        }
    }
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t up = 1 + below(back);
        made->nodes[i] = (struct profile_node){up > i ? 0 : i - up, 1 + below(CODES - 1)};
    }
    for (uint32_t i = 0; i < NODES; i++) {
        if (below(3))
            continue;
        struct profile_site *site = &made->sites[profile->site_count++];
        site->path = i;
        for (size_t m = 0; m < METRIC_CHOICES; m++)
            *metric_field(metrics[m].row, &site->metrics) = figure_of(below(1000));
    }
}

/* The frames of a path, innermost first, as indices of profile->lines. */
static size_t frames_of(const struct made *made, uint32_t node, uint32_t *frames)
{
    size_t count = 0;
    for (; node; node = made->nodes[node].parent) {
        const struct profile_code *code = &made->codes[made->nodes[node].location];
        for (uint32_t i = 0; i < code->line_count; i++)
            frames[count++] = code->first_line + i;
    }
    return count;
}

static bool is_line(const struct made *made, uint32_t frame, const char *name, uint32_t number)
{
    return made->name[frame] && !strcmp(made->name[frame], name) &&
           (number == UINT32_MAX || made->lines[frame].line == number);
}

static struct line_sums sums_of_nothing(void)
{
    struct line_sums sums;
    for (size_t m = 0; m < METRIC_CHOICES; m++)
        sums.exclusive[m] = sums.inclusive[m] = metric_nothing(&metrics[m]);
    return sums;
}

/* number UINT32_MAX: the whole file. */
static void oracle(const struct made *made, const bool *hidden, const char *name, uint32_t number,
                   struct line_sums *sums)
{
    static uint32_t frames[3 * NODES];
    *sums = sums_of_nothing();
    for (size_t i = 0; i < made->profile.site_count; i++) {
        const struct profile_site *site = &made->profile.sites[i];
        size_t count = frames_of(made, site->path, frames), own = 0;
        while (own < count && hidden && hidden[frames[own]])
            own++;
        bool all_hidden = own == count;
        own = all_hidden ? 0 : own;
        bool exclusive = count && is_line(made, frames[own], name, number), inclusive = exclusive;
        for (size_t j = 0; j < count; j++)
            inclusive |= !(hidden && hidden[frames[j]]) && is_line(made, frames[j], name, number);
        for (size_t m = 0; m < METRIC_CHOICES; m++) {
            const struct metric *metric = &metrics[m];
            struct figure value = metric_of(metric, &site->metrics), none = metric_nothing(metric);
            sums->exclusive[m] = metric_join(metric, sums->exclusive[m], exclusive ? value : none);
            sums->inclusive[m] = metric_join(metric, sums->inclusive[m], inclusive ? value : none);
        }
    }
}

static uint32_t callee_key(const struct made *made, uint32_t frame, uint32_t code)
{
    uint32_t function = made->lines[frame].function;
    return function ? function : 1u << 31 | code;
}

/* What goes from a line straight into a function, each path once. */
static uint64_t oracle_callee(const struct made *made, const bool *hidden, const char *name,
                              uint32_t number, size_t metric, uint32_t key)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < made->profile.site_count; i++) {
        const struct profile_site *site = &made->profile.sites[i];
        uint32_t last = UINT32_MAX, last_code = 0;
        bool found = false;
        for (uint32_t node = site->path; node; node = made->nodes[node].parent) {
            uint32_t location = made->nodes[node].location;
            const struct profile_code *code = &made->codes[location];
            for (uint32_t j = 0; j < code->line_count; j++) {
                uint32_t frame = code->first_line + j;
                bool visible = !(hidden && hidden[frame]) && is_line(made, frame, name, number);
                found |= visible && last != UINT32_MAX && !made->codes[last_code].mark &&
                         callee_key(made, last, last_code) == key;
                last = frame;
                last_code = location;
            }
        }
        sum += found ? figure_or(metric_of(&metrics[metric], &site->metrics), 0) : 0;
    }
    return sum;
}

static void check_callee(const struct made *made, const bool *hidden,
                         const struct source_line *line, const char *name, size_t metric)
{
    uint64_t most = 0;
    if (metric >= METRIC_SUMS) { /* of what does not add up nothing goes through a callee */
        assert_true(figure_zero(line->callee_value));
        return;
    }
    for (uint32_t code = 0; code < CODES; code++)
        for (uint32_t i = 0; i < made->codes[code].line_count; i++) {
            uint32_t key = callee_key(made, made->codes[code].first_line + i, code);
            uint64_t value = oracle_callee(made, hidden, name, line->number, metric, key);
            most = value > most ? value : most;
        }
    assert_true(figure_equal(line->callee_value, figure_of(most)));
    if (most)
        assert_int_equal(oracle_callee(made, hidden, name, line->number, metric,
                                       callee_key(made, line->callee.line, line->callee.code)),
                         most);
}

static void check(const struct made *made, const bool *hidden, bool callees)
{
    struct source_lines lines;
    struct line_sums sums;
    size_t metric = below(METRIC_CHOICES), seen = 0;
    assert_int_equal(source_lines_init(&lines, &made->profile, hidden, NULL, metric), 0);
    for (size_t f = 0; f < lines.file_count; f++) {
        const struct source_file *file = &lines.files[f];
        oracle(made, hidden, file->name, UINT32_MAX, &sums);
        assert_memory_equal(&file->sums, &sums, sizeof sums);
        assert_true(f == 0 || strcmp(lines.files[f - 1].name, file->name) < 0);
        for (size_t i = 0; i < file->count; i++) {
            const struct source_line *line = &lines.lines[file->first + i];
            assert_true(i == 0 || line[-1].number < line->number);
            assert_int_equal(line->file, f);
            assert_ptr_equal(source_lines_find(&lines, file, line->number), line);
            if (callees)
                check_callee(made, hidden, line, file->name, metric);
        }
    }
    /* Every line there could be: it is there, with the right sums, or has none. */
    static const char *const all[] = {"/s/a.c", "/s/b.c", "/s/d/c.h"};
    struct figure placed[METRIC_CHOICES];
    for (size_t m = 0; m < METRIC_CHOICES; m++)
        placed[m] = metric_nothing(&metrics[m]);
    for (size_t f = 0; f < 3; f++)
        for (uint32_t number = 0; number < 4; number++) {
            const struct source_line *line = NULL;
            for (size_t i = 0; i < lines.file_count; i++)
                if (!strcmp(lines.files[i].name, all[f]))
                    line = source_lines_find(&lines, &lines.files[i], number);
            oracle(made, hidden, all[f], number, &sums);
            for (size_t m = 0; m < METRIC_CHOICES; m++)
                placed[m] = metric_join(&metrics[m], placed[m], sums.exclusive[m]);
            struct line_sums none = sums_of_nothing();
            assert_memory_equal(line ? &line->sums : &none, &sums, sizeof sums);
            seen += line != NULL;
        }
    assert_int_equal(seen, lines.line_count);
    assert_memory_equal(lines.placed, placed, sizeof placed);
    for (size_t i = 0; i < made->profile.line_count; i++) {
        uint32_t at = lines.line_of[i];
        if (at == LINES_NONE)
            continue;
        assert_string_equal(lines.files[lines.lines[at].file].name, made->name[i]);
        assert_int_equal(lines.lines[at].number, made->lines[i].line);
    }
    source_lines_release(&lines);
}

static void lines_are_what_brute_force_says(void **unused)
{
    (void)unused;
    static struct made made;
    state = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : (uint64_t)time(NULL) * 2654435761u;
    print_message("SEED=%llu\n", (unsigned long long)state);
    for (int round = 0; round < 40; round++) {
        make(&made, round % 2 ? 4 : 40);
        check(&made, made.hidden, round < 3);
        check(&made, NULL, false);
    }
}

static void recursion_counts_once_and_inlines_at_their_own_line(void **unused)
{
    (void)unused;
    /* main:3 → walk:10 → walk:10 → walk:12 [copy:20 inlined into it] */
    struct profile_function functions[] = {
        {"?", NULL, NULL}, {"main", NULL, NULL}, {"walk", NULL, NULL}, {"copy", NULL, NULL}};
    struct profile_line text[] = {
        {0, NULL, 0}, {1, "/m.c", 3}, {2, "/m.c", 10}, {3, "/m.h", 20}, {2, "/m.c", 12}};
    struct profile_code codes[] = {{.module = UINT32_MAX, .first_line = 0, .line_count = 1},
                                   {.module = UINT32_MAX, .first_line = 1, .line_count = 1},
                                   {.module = UINT32_MAX, .first_line = 2, .line_count = 1},
                                   {.module = UINT32_MAX, .first_line = 3, .line_count = 2}};
    struct profile_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 2}, {3, 3}};
    struct profile_site sites[] = {{.path = 4, .metrics = {.alloc_bytes = FIGURE_OF(100)}}};
    /* clang-format off */
    struct profile profile = {.functions = functions, .function_count = 4, .lines = text,
                              .line_count = 5, .codes = codes, .code_count = 4, .nodes = nodes,
                              .node_count = 5, .sites = sites, .site_count = 1};
    /* clang-format on */
    enum { BYTES = 3 };
    struct source_lines lines;
    assert_int_equal(source_lines_init(&lines, &profile, NULL, NULL, BYTES), 0);
    assert_int_equal(lines.file_count, 2);
    assert_int_equal(lines.line_count, 4);
    const struct source_line *ten = source_lines_find(&lines, &lines.files[0], 10);
    const struct source_line *twelve = source_lines_find(&lines, &lines.files[0], 12);
    const struct source_line *twenty = source_lines_find(&lines, &lines.files[1], 20);
    assert_true(figure_equal(ten->sums.inclusive[BYTES], figure_of(100)));
    assert_true(figure_equal(ten->sums.exclusive[BYTES], figure_of(0)));
    assert_true(figure_equal(twelve->sums.inclusive[BYTES], figure_of(100)));
    assert_int_equal(twelve->callee.line, 3);
    assert_true(figure_equal(twelve->callee_value, figure_of(100)));
    assert_true(figure_equal(twenty->sums.exclusive[BYTES], figure_of(100)));
    assert_true(figure_equal(twenty->callee_value, figure_of(0)));
    assert_true(figure_equal(lines.files[0].sums.inclusive[BYTES], figure_of(100)));
    assert_true(figure_equal(lines.files[0].sums.exclusive[BYTES], figure_of(0)));
    source_lines_release(&lines);
}

/* An imported file need not say what was allocated in all: no line says 0 then. */
static void what_a_path_does_not_know_no_line_does(void **unused)
{
    (void)unused;
    struct profile_function functions[] = {{"?", NULL, NULL}, {"main", NULL, NULL}};
    struct profile_line text[] = {{0, NULL, 0}, {1, "/m.c", 3}};
    struct profile_code codes[] = {{.module = UINT32_MAX, .first_line = 0, .line_count = 1},
                                   {.module = UINT32_MAX, .first_line = 1, .line_count = 1}};
    struct profile_node nodes[] = {{0, 0}, {0, 1}};
    struct profile_site sites[] = {
        {.path = 1, .metrics = {.at_peak_bytes = FIGURE_OF(7), .alloc_bytes = FIGURE_UNKNOWN}}};
    /* clang-format off */
    struct profile profile = {.functions = functions, .function_count = 2, .lines = text,
                              .line_count = 2, .codes = codes, .code_count = 2, .nodes = nodes,
                              .node_count = 2, .sites = sites, .site_count = 1};
    /* clang-format on */
    enum { PEAK = 0, BYTES = 3 };
    struct source_lines lines;
    assert_int_equal(source_lines_init(&lines, &profile, NULL, NULL, BYTES), 0);
    assert_int_equal(lines.line_count, 1);
    assert_true(figure_equal(lines.lines[0].sums.inclusive[PEAK], figure_of(7)));
    assert_false(figure_known(lines.lines[0].sums.inclusive[BYTES]));
    assert_false(figure_known(lines.totals[BYTES]));
    assert_false(figure_positive(lines.lines[0].callee_value));
    source_lines_release(&lines);
}

static void a_profile_without_lines_has_none(void **unused)
{
    (void)unused;
    struct profile_function functions[] = {{"?", NULL, NULL}};
    struct profile_line text[] = {{0, NULL, 0}};
    struct profile_code codes[] = {{.module = UINT32_MAX, .line_count = 1}};
    struct profile_node nodes[] = {{0, 0}};
    struct profile_site sites[] = {{.path = 0, .metrics = {.alloc_bytes = FIGURE_OF(100)}}};
    /* clang-format off */
    struct profile profile = {.functions = functions, .function_count = 1, .lines = text,
                              .line_count = 1, .codes = codes, .code_count = 1, .nodes = nodes,
                              .node_count = 1, .sites = sites, .site_count = 1};
    /* clang-format on */
    struct source_lines lines;
    assert_int_equal(source_lines_init(&lines, &profile, NULL, NULL, 3), 0);
    assert_int_equal(lines.file_count, 0);
    assert_true(figure_equal(lines.totals[3], figure_of(100)));
    assert_true(figure_equal(lines.placed[3], figure_of(0)));
    source_lines_release(&lines);
}

static void paths_lose_their_detours(void **unused)
{
    (void)unused;
    static const struct {
        const char *path, *clean;
        /* clang-format off */
    } cases[] = {{"/a/b.c", "/a/b.c"},       {"/a/../b.c", "/b.c"},     {"/a//b/./c", "/a/b/c"},
                 {"/../x", "/x"},            {"../x/y.c", "../x/y.c"},  {"../../x", "../../x"},
                 {"a/../../x", "../x"},      {"./x", "x"},              {"/", "/"},
                 {"a/b/../..", ""},          {"/a/...b/..c", "/a/...b/..c"}, {"", ""},
                 {"x../../y", "y"},          {"/a/b/../../../c/", "/c"}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *clean = source_lines_path_without_detours(cases[i].path);
        assert_string_equal(clean, cases[i].clean);
        free(clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_brute_force_says),
        cmocka_unit_test(recursion_counts_once_and_inlines_at_their_own_line),
        cmocka_unit_test(what_a_path_does_not_know_no_line_does),
        cmocka_unit_test(a_profile_without_lines_has_none),
        cmocka_unit_test(paths_lose_their_detours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

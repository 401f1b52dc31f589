/* Annotated source of small profiles made in memory: what is found, where its text comes from, what
 * is said about it, and that nothing of it can drive a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "report/annotation.h"
#include "report/report.h"

enum { PEAK = 0, COUNT = 2, BYTES = 3, FREED = 8 };

static const char mesh_text[] = "#include \"mesh.h\"\n"                    /* 1 */
                                "\n"                                       /* 2 */
                                "void Mesh::refine(int depth)\n"           /* 3 */
                                "{\n"                                      /* 4 */
                                "\tif (depth)\n"                           /* 5 */
                                "\t\trefine(depth - 1);\t//\xe6\xbc\xa2\n" /* 6 */
                                "\tcells += 1;\r\n"                        /* 7 */
                                "}\n\n\n\n\n\n\n\n\n"                      /* 8 */
                                "int main()\n"                             /* 17 */
                                "{\n"                                      /* 18 */
                                "\tMesh mesh;\x1b[2J\n"                    /* 19 */
                                "\tmesh.refine(9);\n"                      /* 20 */
                                "}\n";                                     /* 21 */

/* main:20 → refine:6 → refine:6 → refine:7 → List<int>::grow list.h:5 (inlined: reserve list.h:9);
 * main:20 → refine:7 → List<char>::grow list.h:5; main:20 → init other/init.c:2, and → init
 * a/init.c:4 */
static struct profile_function functions[] = {
    {"?", NULL, NULL},
    {"main", "main", "/s/mesh.cpp"},
    {"Mesh::refine(int)", "_ZN4Mesh6refineEi", "/s/mesh.cpp"},
    {"List<int>::grow()", NULL, "/s/list.h"},
    {"List<char>::grow()", NULL, "/s/list.h"},
    {"reserve\033[31m", NULL, "/s/list.h"},
    {"init", NULL, "/s/other/init.c"},
    {"init", NULL, "/s/a/init.c"},
};
static struct profile_line lines[] = {
    {0, NULL, 0},          {1, "/s/mesh.cpp", 20},    {2, "/s/mesh.cpp", 6},
    {2, "/s/mesh.cpp", 7}, {5, "/s/list.h", 9},       {3, "/s/list.h", 5},
    {4, "/s/list.h", 5},   {6, "/s/other/init.c", 2}, {7, "/s/a/init.c", 4},
};
#define CODE(first, count)                                                                         \
    {                                                                                              \
        .module = UINT32_MAX, .first_line = (first), .line_count = (count)                         \
    }
static struct profile_code codes[] = {CODE(0, 1), CODE(1, 1), CODE(2, 1), CODE(3, 1),
                                      CODE(4, 2), CODE(6, 1), CODE(7, 1), CODE(8, 1)};
static struct profile_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 2}, {3, 3},
                                      {4, 4}, {1, 3}, {6, 5}, {1, 6}, {1, 7}};
/* clang-format off */
#define SITE(at, bytes, n)                                                                         \
    {                                                                                              \
        .path = (at),                                                                              \
        .metrics = {.at_peak_bytes = FIGURE_OF(bytes), .alloc_bytes = FIGURE_OF(bytes),            \
                    .alloc_count = FIGURE_OF(n), .freed_bytes = FIGURE_UNKNOWN,                    \
                    .freed_count = FIGURE_UNKNOWN }                                                \
    }
/* clang-format on */
static struct profile_site sites[] = {SITE(5, 600 << 10, 3), SITE(7, 200 << 10, 2),
                                      SITE(8, 100 << 10, 1), SITE(9, 124 << 10, 1)};

static char directory[] = "/tmp/tidemark-annotate.XXXXXX";
static struct profile_meta metas[] = {{PROFILE_META_DIRECTORY, "/s", false},
                                      {PROFILE_META_START, "1700000000000000000", false},
                                      {PROFILE_META_PROGRAM, "mesh", false},
                                      {"other", "", false}};
static struct profile_source embedded[] = {{"/s/mesh.cpp", mesh_text, sizeof mesh_text - 1}};

static struct profile the_profile(void)
{
    /* clang-format off */
    return (struct profile){
        .meta = metas, .meta_count = 4, .complete = true, .has_program = true,
        .program.total = {.freed_bytes = FIGURE_UNKNOWN, .freed_count = FIGURE_UNKNOWN},
        .functions = functions, .function_count = sizeof functions / sizeof *functions,
        .lines = lines, .line_count = sizeof lines / sizeof *lines,
        .codes = codes, .code_count = sizeof codes / sizeof *codes,
        .nodes = nodes, .node_count = sizeof nodes / sizeof *nodes,
        .sites = sites, .site_count = sizeof sites / sizeof *sites,
        .sources = embedded, .source_count = 1,
    };
    /* clang-format on */
}

static struct annotate_options usual(const char *where)
{
    /* clang-format off */
    return (struct annotate_options){.where = where, .metric = PEAK, .context = SIZE_MAX, .top = 10,
                                     .callees = true, .hide_std = true, .utf8 = true, .columns = 80};
    /* clang-format on */
}

/* The text, or the sentence where there is none. */
static char *shown(const struct profile *profile, const struct annotate_options *options, bool json,
                   int wanted)
{
    struct annotation annotation;
    struct strbuf why = STRBUF_INIT;
    char *text = NULL;
    size_t bytes;
    assert_int_equal(annotate_open(&annotation, profile, options, &why), wanted);
    if (wanted)
        return strbuf_detach(&why);
    assert_int_equal(why.length, 0);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal((json ? annotation_json : annotation_text)(out, &annotation), 0);
    fclose(out);
    annotate_close(&annotation);
    strbuf_release(&why);
    return text;
}

static void assert_shown(const char *where, const char *expected)
{
    struct profile profile = the_profile();
    struct annotate_options options = usual(where);
    char *text = shown(&profile, &options, false, 0);
    if (strcmp(text, expected))
        print_error("%s\n", text);
    assert_string_equal(text, expected);
    free(text);
}

static void a_file_with_its_figures_and_folds(void **state)
{
    (void)state;
    assert_shown(
        "mesh.cpp",
        "mesh.cpp\n"
        "  Alive at the peak: 1.00 MiB of 1.00 MiB through this file, 0 B by its own\n"
        "  lines\n"
        "  text as it was when the recording ended\n"
        "\n"
        " exclusive inclusive   share line\n"
        "                                1 │ #include \"mesh.h\"\n"
        "                                2 │\n"
        "                                3 │ void Mesh::refine(int depth)\n"
        "                                4 │ {\n"
        "                                5 │         if (depth)\n"
        "             600 KiB  58.6 %    6 │                 refine(depth - 1);      //漢\n"
        "             800 KiB  78.1 %    7 │         cells += 1;\n"
        "                                  │         → 75.0 % List<int>::grow\n"
        "                                8 │ }\n"
        "                                9 │\n"
        "                               10 │\n"
        "                             … 6 lines …\n"
        "                               17 │ int main()\n"
        "                               18 │ {\n"
        "                               19 │         Mesh mesh;\\x1b[2J\n"
        "            1.00 MiB   100 %   20 │         mesh.refine(9);\n"
        "                                  │         → 78.1 % Mesh::refine\n"
        "                               21 │ }\n");
}

static void a_function_from_its_head_on(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("refine");
    options.context = 1;
    char *text = shown(&profile, &options, false, 0);
    assert_non_null(strstr(text, "Mesh::refine in mesh.cpp\n"));
    assert_non_null(strstr(text, "  3 │ void Mesh::refine(int depth)\n"));
    assert_non_null(strstr(text, "  8 │ }\n"));
    assert_null(strstr(text, "  2 │"));
    assert_null(strstr(text, "  9 │"));
    assert_null(strstr(text, "main"));
    free(text);
}

static void a_line_with_what_is_around_it(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("./mesh.cpp:12");
    options.context = 2;
    char *text = shown(&profile, &options, false, 0);
    for (int line = 1; line <= 21; line++) {
        char number[24];
        snprintf(number, sizeof number, " %d │", line);
        assert_int_equal(strstr(text, number) != NULL, line >= 10 && line <= 14);
    }
    free(text);
}

static void the_whole_file_on_request(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("main");
    options.full = true;
    char *text = shown(&profile, &options, false, 0);
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, " │")); at++)
        count++;
    assert_int_equal(count, 21 + 2); /* two with what they call */
    free(text);
}

static void without_a_text_the_figures_stand_alone(void **state)
{
    (void)state;
    assert_shown(
        "list.h",
        "list.h\n"
        "  Alive at the peak: 800 KiB of 1.00 MiB through this file, 800 KiB by its own\n"
        "  lines\n"
        "  /s/list.h is not on this machine: say where its sources are with --source-path\n"
        "  OLD=NEW, or record with --embed-sources\n"
        "\n"
        " exclusive inclusive   share line\n"
        "   200 KiB   800 KiB  78.1 %    5 │ (in List<int>::grow)\n"
        "                                  │ → 75.0 % reserve\\x1b[31m\n"
        "   600 KiB   600 KiB  58.6 %    9 │ (in reserve\\x1b[31m)\n");
}

static void assert_sentence(const char *where, int error, const char *expected)
{
    struct profile profile = the_profile();
    struct annotate_options options = usual(where);
    char *why = shown(&profile, &options, false, error);
    assert_string_equal(why, expected);
    free(why);
}

static void names_that_mean_several_or_nothing(void **state)
{
    (void)state;
    assert_sentence("init", -EINVAL,
                    "'init' may be init (a/init.c:4) or init (other/init.c:2): give more of the "
                    "name, or FILE:LINE");
    assert_sentence("init.c", -EINVAL,
                    "'init.c' may be /s/a/init.c or /s/other/init.c: give more of the path");
    assert_sentence("init.c:4", -EINVAL,
                    "'init.c' may be /s/a/init.c or /s/other/init.c: give more of the path");
    assert_sentence("refien", -ENOENT,
                    "no source line with figures is of a function or file 'refien', did you mean "
                    "'refine'?");
    assert_sentence("esh.cpp:7", -ENOENT, "no source line with figures is in a file 'esh.cpp'");
}

static void names_that_mean_one(void **state)
{
    (void)state;
    static const char *const same[] = {
        "Mesh::refine(int)", "_ZN4Mesh6refineEi", "Mesh::refine", "refine", "efin", "h::ref"};
    struct profile profile = the_profile();
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct annotate_options options = usual(same[i]);
        char *text = shown(&profile, &options, false, 0);
        assert_int_equal(strncmp(text, "Mesh::refine in mesh.cpp\n", 25), 0);
        free(text);
    }
    /* Instances of a template are one function; a path narrows. */
    struct annotate_options options = usual("List::grow");
    free(shown(&profile, &options, false, 0));
    options.where = "a/init.c:4";
    char *text = shown(&profile, &options, false, 0);
    assert_int_equal(strncmp(text, "a/init.c\n", 9), 0);
    free(text);
}

/* ---- Where the text comes from ---- */

static void put(const char *name, const char *text, size_t bytes, time_t when)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    fwrite(text, 1, bytes, file);
    fclose(file);
    struct timespec times[2] = {{when, 0}, {when, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static char *from_disk(const char *where, const char *from)
{
    static struct source_paths mapped;
    static char pairs[2][300];
    struct profile profile = the_profile();
    struct annotate_options options = usual(where);
    mapped.count = 0;
    snprintf(pairs[0], sizeof pairs[0], "%s=%s", from, directory);
    snprintf(pairs[1], sizeof pairs[1], "%s=/nowhere/at/all", from);
    assert_int_equal(source_paths_add(&mapped, pairs[0]), 0);
    assert_int_equal(source_paths_add(&mapped, pairs[1]), 0);
    options.paths = &mapped;
    return shown(&profile, &options, false, 0);
}

static void a_moved_source_is_found_and_its_age_told(void **state)
{
    (void)state;
    put("list.h", "1\n2\n3\n4\nint *grow();\n", 21, 1600000000);
    char *text = from_disk("list.h", "/s/");
    assert_non_null(strstr(text, " 5 │ int *grow();"));
    assert_non_null(strstr(text, "text from /tmp/"));
    assert_null(strstr(text, "newer"));
    assert_non_null(strstr(text, "(in reserve\\x1b[31m)")); /* line 9 is not in it */
    assert_non_null(strstr(text, "beyond the end of this text"));
    free(text);
    put("list.h", "1\n2\n3\n4\nint *grow();\n", 21, 1700000001);
    text = from_disk("list.h", "/s");
    assert_non_null(strstr(text, "newer than"));
    free(text);
    /* A prefix ends where a name does. */
    text = from_disk("list.h", "/s/li");
    assert_null(strstr(text, "grow();"));
    free(text);
    /* What is embedded comes first. */
    put("mesh.cpp", "int other;\n", 11, 1600000000);
    text = from_disk("mesh.cpp", "/s");
    assert_null(strstr(text, "other"));
    free(text);
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    char path[300];
    put("list.h", "\177ELF\0\1\2\3", 8, 1600000000);
    char *text = from_disk("list.h", "/s");
    assert_non_null(strstr(text, "looks binary"));
    assert_non_null(strstr(text, "(in reserve\\x1b[31m)"));
    free(text);
    snprintf(path, sizeof path, "%s/list.h", directory);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* must not be waited for */
    struct source_text source;
    struct profile profile = the_profile();
    source_text_open(&source, &profile, path, NULL);
    assert_int_equal(source.origin, SOURCE_ORIGIN_NONE);
    assert_non_null(strstr(source.note.data, "no regular file"));
    source_text_close(&source);
    source_text_open(&source, &profile, directory, NULL);
    assert_int_equal(source.origin, SOURCE_ORIGIN_NONE);
    source_text_close(&source);
    struct profile_source binary = {"/s/list.h", "a\0b", 3};
    profile.sources = &binary;
    source_text_open(&source, &profile, "/s/list.h", NULL);
    assert_int_equal(source.line_count, 0);
    assert_non_null(strstr(source.note.data, "looks binary"));
    source_text_close(&source);
}

static void a_changed_source_is_told(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("mesh.cpp");
    struct profile_meta usual_meta = metas[3];
    metas[3] =
        (struct profile_meta){PROFILE_META_CHANGED_SOURCES, "/s/me\n/s/mesh.cpp\n/s/z", false};
    char *text = shown(&profile, &options, false, 0);
    assert_non_null(strstr(text, "changed after"));
    free(text);
    metas[3].value = "/s/me\n/s/mesh.cp\n/s/mesh.cppp";
    text = shown(&profile, &options, false, 0);
    assert_null(strstr(text, "changed after"));
    free(text);
    metas[3] = usual_meta;
}

static void lines_of_every_ending(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct profile_source source = {"/x", "a\r\n\nb", 5};
    struct source_text text;
    const char *bytes;
    size_t length;
    profile.sources = &source;
    source_text_open(&text, &profile, "/x", NULL);
    assert_int_equal(text.line_count, 3);
    assert_true(source_text_line(&text, 1, &bytes, &length) && length == 1 && *bytes == 'a');
    assert_true(source_text_line(&text, 2, &bytes, &length) && length == 0);
    assert_true(source_text_line(&text, 3, &bytes, &length) && length == 1 && *bytes == 'b');
    assert_false(source_text_line(&text, 0, &bytes, &length));
    assert_false(source_text_line(&text, 4, &bytes, &length));
    source_text_close(&text);
    source.bytes = 0;
    source_text_open(&text, &profile, "/x", NULL);
    assert_int_equal(text.line_count, 0);
    source_text_close(&text);
}

static void text_is_cut_to_its_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
        size_t columns;
        /* clang-format off */
    } cases[] = {{"abc", "abc", 3},       {"abcd", "ab…", 3},      {"\tx", "        x", 9},
                 {"\tx", "    …", 5},     {"ab\tx", "ab      x", 9}, {"漢字", "漢字", 4},
                 {"漢字漢", "漢…", 4},    {"漢\tx", "漢      x", 9}, {"\x01", "\\x01", 4},
                 {"\xff\xfe", "\\xff\\xfe", 8}, {"\xe2\x80\xae", "\\u{202e}", 8}, {"", "", 0}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf out = STRBUF_INIT;
        source_text_add_line(&out, cases[i].text, strlen(cases[i].text), cases[i].columns, "…");
        assert_string_equal(out.data, cases[i].shown);
        strbuf_release(&out);
    }
}

static void assert_tame(const char *text, size_t columns)
{
    for (const char *at = text, *end; *at; at = end + 1) {
        char line[4000];
        end = strchr(at, '\n');
        assert_non_null(end);
        assert_true((size_t)(end - at) < sizeof line);
        memcpy(line, at, (size_t)(end - at));
        line[end - at] = 0;
        for (const char *c = line; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        if (text_width(line) > columns)
            print_error("%zu columns: %s\n", text_width(line), line);
        assert_true(text_width(line) <= columns);
    }
}

static void nothing_is_wide_or_wild(void **state)
{
    (void)state;
    static char wild[6000];
    struct profile profile = the_profile();
    struct profile_source source = {"/s/mesh.cpp", wild, sizeof wild};
    for (size_t i = 0; i < sizeof wild; i++)
        wild[i] = i % 251 == 250 ? '\n' : (char)(1 + i * 7 % 255);
    profile.sources = &source;
    static const char *const places[] = {NULL, "mesh.cpp", "refine", "mesh.cpp:9", "list.h"};
    for (size_t columns = 72; columns <= 200; columns += 4)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            struct annotate_options options = usual(places[i]);
            options.columns = columns;
            options.full = columns % 8 == 0;
            char *text = shown(&profile, &options, false, 0);
            assert_tame(text, columns);
            free(text);
        }
}

static void files_and_lines_with_most(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual(NULL);
    options.top = 2;
    char *text = shown(&profile, &options, false, 0);
    const char *first = strstr(text, "  list.h\n"), *second = strstr(text, "  a/init.c\n");
    assert_true(first && second && first < second);
    assert_non_null(strstr(text, "2 more files\n"));
    assert_non_null(strstr(text, "   600 KiB   600 KiB  58.6 %  list.h:9  reserve"));
    assert_null(strstr(text, "a/init.c:4"));
    free(text);
}

static void what_was_not_recorded_is_not_shown_as_nothing(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("mesh.cpp");
    options.metric = FREED;
    char *why = shown(&profile, &options, false, -ENODATA);
    assert_non_null(strstr(why, "--free-stacks"));
    free(why);
    options.metric = PEAK;
    options.with[FREED] = true;
    free(shown(&profile, &options, false, -ENODATA));
    options.with[FREED] = false;
    char *json = shown(&profile, &options, true, 0);
    assert_non_null(strstr(json, "\"freed\": null"));
    assert_non_null(strstr(json, "\"peak\": 819200"));
    assert_null(strstr(json, "\x1b"));
    free(json);
}

static void estimates_are_marked(void **state)
{
    (void)state;
    struct profile profile = the_profile();
    struct annotate_options options = usual("mesh.cpp");
    profile.sample_bytes = 512 << 10;
    char *text = shown(&profile, &options, false, 0);
    assert_non_null(strstr(text, "estimates from a sample"));
    assert_non_null(strstr(text, "            ~600 KiB  58.6 %    6 │"));
    free(text);
    char *json = shown(&profile, &options, true, 0);
    assert_non_null(strstr(json, "\"sample_bytes\": 524288"));
    free(json);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_its_figures_and_folds),
        cmocka_unit_test(a_function_from_its_head_on),
        cmocka_unit_test(a_line_with_what_is_around_it),
        cmocka_unit_test(the_whole_file_on_request),
        cmocka_unit_test(without_a_text_the_figures_stand_alone),
        cmocka_unit_test(names_that_mean_several_or_nothing),
        cmocka_unit_test(names_that_mean_one),
        cmocka_unit_test(a_moved_source_is_found_and_its_age_told),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(a_changed_source_is_told),
        cmocka_unit_test(lines_of_every_ending),
        cmocka_unit_test(text_is_cut_to_its_columns),
        cmocka_unit_test(nothing_is_wide_or_wild),
        cmocka_unit_test(files_and_lines_with_most),
        cmocka_unit_test(estimates_are_marked),
        cmocka_unit_test(what_was_not_recorded_is_not_shown_as_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

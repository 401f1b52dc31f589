/* Which source files a recording keeps, and which it does not. */
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
#include "profile_build/sources.h"

enum { BEFORE = 1600000000, BUILT = 1700000000, AFTER = 1700000001 };

static char directory[] = "/tmp/tidemark-sources.XXXXXX";

static const char *in(const char *name)
{
    static char paths[8][300];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void put_file(const char *name, const char *text, size_t bytes, time_t when)
{
    FILE *file = fopen(in(name), "w");
    fwrite(text, 1, bytes, file);
    fclose(file);
    struct timespec times[2] = {{when, 0}, {when, 0}};
    assert_int_equal(utimensat(AT_FDCWD, in(name), times, 0), 0);
}

/* What was put: "name:text;" for each. */
struct seen {
    char text[1000];
    int fail_at; /* the how manieth put fails; 0: none */
};

static int put(void *context, const char *path, const char *text, size_t bytes)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s:%.*s;", strrchr(path, '/') + 1,
             (int)bytes, text);
    return seen->fail_at && !--seen->fail_at ? -EIO : 0;
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    put_file("program", "\177ELF", 4, BUILT);
    put_file("older", "\177ELF", 4, BEFORE - 1);
    put_file("a.c", "int a;\n", 7, BEFORE);
    put_file("b.c", "int b;\n", 7, AFTER);
    put_file("big.c", "0123456789012345678901234567890123456789", 40, BEFORE);
    put_file("binary.c", "a\0b", 3, BEFORE);
    put_file("empty.c", "", 0, BEFORE);
    return mkfifo(in("fifo.c"), 0600);
}

static int end(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static struct sources *of(const char *module, const char *const *names)
{
    struct sources *sources = sources_new();
    for (; *names; names++)
        assert_int_equal(sources_add(sources, **names == '/' ? *names : in(*names), in(module)), 0);
    return sources;
}

static void each_file_once_with_its_text(void **state)
{
    (void)state;
    struct sources *sources = of("program", (const char *[]){"a.c", "b.c", "a.c", "empty.c", NULL});
    struct seen seen = {0};
    struct sources_result result;
    assert_int_equal(sources_add(sources, "relative.c", in("program")), 0);
    assert_int_equal(sources_count(sources), 3);
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), 0);
    assert_string_equal(seen.text, "a.c:int a;\n;b.c:int b;\n;empty.c:;");
    assert_int_equal(result.kept, 3);
    assert_int_equal(result.missing + result.too_large, 0);
    free(result.changed);
    sources_free(sources);
}

static void what_is_newer_than_its_module_is_told(void **state)
{
    (void)state;
    struct sources *sources = of("program", (const char *[]){"a.c", "b.c", NULL});
    struct seen seen = {0};
    struct sources_result result;
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), 0);
    assert_string_equal(result.changed, in("b.c"));
    free(result.changed);
    /* A header of two modules: the oldest of them counts, whichever comes first. */
    assert_int_equal(sources_add(sources, in("a.c"), in("older")), 0);
    assert_int_equal(sources_add(sources, in("a.c"), in("program")), 0);
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), 0);
    char both[700];
    snprintf(both, sizeof both, "%s\n%s", in("a.c"), in("b.c"));
    assert_string_equal(result.changed, both);
    free(result.changed);
    sources_free(sources);
    /* A module that is gone says nothing about its sources. */
    sources = of("gone", (const char *[]){"b.c", NULL});
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), 0);
    assert_null(result.changed);
    assert_int_equal(result.kept, 1);
    sources_free(sources);
}

static void what_is_no_source_is_not_kept_nor_waited_for(void **state)
{
    (void)state;
    struct sources *sources = of("program", (const char *[]){"fifo.c", "binary.c", "gone.c", ".",
                                                             "/dev/zero", "/dev/tty", "a.c", NULL});
    struct seen seen = {0};
    struct sources_result result;
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), 0);
    assert_string_equal(seen.text, "a.c:int a;\n;");
    assert_int_equal(result.missing, 6);
    assert_int_equal(result.kept, 1);
    free(result.changed);
    sources_free(sources);
}

static void there_is_a_limit_for_each_and_for_all(void **state)
{
    (void)state;
    struct sources *sources =
        of("program", (const char *[]){"big.c", "a.c", "b.c", "empty.c", NULL});
    struct seen seen = {0};
    struct sources_result result;
    assert_int_equal(sources_read(sources, 39, 1000, put, &seen, &result), 0);
    assert_string_equal(seen.text, "a.c:int a;\n;b.c:int b;\n;empty.c:;");
    assert_int_equal(result.too_large, 1);
    free(result.changed);
    seen = (struct seen){0};
    assert_int_equal(sources_read(sources, 40, 53, put, &seen, &result), 0);
    assert_int_equal(result.kept, 3);
    assert_int_equal(result.too_large, 1);
    assert_null(strstr(seen.text, "b.c"));
    free(result.changed);
    assert_int_equal(sources_read(sources, 40, 54, put, &seen, &result), 0);
    assert_int_equal(result.kept, 4);
    free(result.changed);
    sources_free(sources);
}

static void the_systems_files_come_last(void **state)
{
    (void)state;
    const char *header = "/usr/include/errno.h";
    struct seen seen = {0};
    struct sources_result result;
    if (access(header, R_OK))
        skip();
    struct sources *sources = of("program", (const char *[]){header, "a.c", NULL});
    assert_int_equal(sources_read(sources, 1 << 20, 8, put, &seen, &result), 0);
    assert_string_equal(seen.text, "a.c:int a;\n;");
    free(result.changed);
    sources_free(sources);
}

static void a_failure_ends_it(void **state)
{
    (void)state;
    struct sources *sources = of("program", (const char *[]){"a.c", "b.c", NULL});
    struct seen seen = {.fail_at = 1};
    struct sources_result result;
    assert_int_equal(sources_read(sources, 100, 1000, put, &seen, &result), -EIO);
    assert_string_equal(seen.text, "a.c:int a;\n;");
    assert_int_equal(result.kept, 0);
    free(result.changed);
    sources_free(sources);
}

static void thousands_are_told_apart(void **state)
{
    (void)state;
    struct sources *sources = sources_new();
    char path[64];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            snprintf(path, sizeof path, "/nowhere/%d.c", i);
            assert_int_equal(sources_add(sources, path, i % 2 ? "/x" : "/y"), 0);
        }
    assert_int_equal(sources_count(sources), 5000);
    sources_free(sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_once_with_its_text),
        cmocka_unit_test(what_is_newer_than_its_module_is_told),
        cmocka_unit_test(what_is_no_source_is_not_kept_nor_waited_for),
        cmocka_unit_test(there_is_a_limit_for_each_and_for_all),
        cmocka_unit_test(the_systems_files_come_last),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(thousands_are_told_apart),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

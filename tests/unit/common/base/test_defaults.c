/* What the user's files say comes before the command line, and what is wrong in them is said with
 * its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/defaults.h"

struct target {
    bool flag, on;
    const char *string;
    uint64_t number, bytes, ns;
    int choice;
    char paths[64];
};

static int add_path(void *target, const char *value)
{
    struct target *to = target;
    strcat(strcat(to->paths, value), ";");
    return 0;
}

#define TO(field) OPTION_TO(struct target, field)
static const struct option_entry entries[] = {
    {"flag", 'f', OPTION_FLAG, NULL, "a flag", TO(flag), false, NULL},
    {"on", 0, OPTION_SWITCH, NULL, "a switch", TO(on), false, NULL},
    {"string", 's', OPTION_STRING, "TEXT", "text", TO(string), false, NULL},
    {"number", 'n', OPTION_NUMBER, "N", "number", TO(number), false, NULL},
    {"bytes", 0, OPTION_BYTES, "SIZE", "bytes", TO(bytes), false, NULL},
    {"time", 0, OPTION_DURATION, "TIME", "time", TO(ns), false, NULL},
    {"mode", 0, OPTION_CHOICE, "wait|drop", "mode", TO(choice), false, NULL},
    {"path", 0, OPTION_CALL, "PATH", "a path", 0, false, add_path},
    OPTION_GROUP_END};
static const struct options_command command = {
    .name = "test", .synopsis = "[options] FILE", .purpose = "Tests.", .entries = entries};

static char directory[] = "/tmp/tidemark-defaults-XXXXXX";
static const char *const commands[] = {"test", "other"};

static void write_file(const char *under, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, under);
    mkdir(path, 0700);
    strcat(path, "/tidemark");
    mkdir(path, 0700);
    strcat(path, "/config.toml");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* What is read stays: each case has a process of its own. */
static void in_a_process(void (*check)(const char *), const char *text)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        check(text);
        _exit(7);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void check_all(const char *unused)
{
    (void)unused;
    struct strbuf why = STRBUF_INIT;
    struct target target = {.on = true};
    char *argv[] = {(char *)"test", (char *)"--number=9", NULL};
    MUST(defaults_load(commands, 2, &why) == 0);
    MUST(strstr(defaults_file(0), "/system/tidemark/config.toml"));
    MUST(strstr(defaults_file(1), "/home/tidemark/config.toml"));
    MUST(!defaults_file(2));
    MUST(options_parse(&command, 2, argv, &target) == 2);
    MUST(target.flag && !target.on);
    MUST(!strcmp(target.string, "of the user"));
    MUST(target.number == 9); /* the command line's */
    MUST(target.bytes == 1 << 20 && target.ns == 1500000000 && target.choice == 1);
    MUST(!strcmp(target.paths, "/s;/a;/b;"));
}

static void files_and_command_line_in_their_order(void **state)
{
    (void)state;
    write_file("system", "[test]\nstring = 'of the system'\npath = '/s'\ntime = '1.5s'\n");
    write_file("home", "[test]\nflag = true\non = false\nstring = \"of the user\"\nnumber = 3\n"
                       "bytes = '1M'\nmode = 'drop'\npath = ['/a', '/b']\n[other]\nx = 1\n");
    in_a_process(check_all, NULL);
}

static void check_wrong(const char *expected)
{
    struct strbuf why = STRBUF_INIT;
    struct target target = {0};
    int error = defaults_load(commands, 2, &why);
    if (!error)
        error = defaults_apply(&command, &target, &why);
    MUST(error == -EINVAL);
    if (!why.length || !strstr(why.data, expected))
        fprintf(stderr, "'%s' does not speak of '%s'\n", why.length ? why.data : "", expected);
    MUST(why.length && strstr(why.data, expected));
    MUST(!strchr(why.data, '\n'));
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[tset]\nflag = true\n", "config.toml:2: no command 'tset', did you mean [test]?"},
        {"[xyzzyx]\nflag = true\n", "config.toml:2: no command 'xyzzyx'"},
        {"flag = true\n", "config.toml:1: 'flag' stands in no section"},
        {"[test]\nnumbre = 3\n",
         "config.toml:2: no option 'numbre' for test, did you mean 'number'?"},
        {"[test]\n\nnumber = 'x'\n", "config.toml:3: number is a whole number"},
        {"[test]\nnumber = -1\n", "config.toml:2: number is a whole number"},
        {"[test]\nnumber = [1, 2]\n", "config.toml:2: one value is expected"},
        {"[test]\nflag = 3\n", "config.toml:2: flag is true or false"},
        {"[test]\nstring = true\n", "config.toml:2: string is TEXT"},
        {"[test]\npath = true\n", "config.toml:2: path is PATH"},
        {"[test]\nmode = 'sometimes'\n", "config.toml:2: mode is wait|drop"},
        {"[test]\nring = 1M\n", "config.toml: line 2: "},
        {"[test]\n\"\\u001b[31m\" = 1\n", "config.toml:2: no option '\\x1b[31m'"},
    };
    write_file("system", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("home", cases[i].text);
        in_a_process(check_wrong, cases[i].expected);
    }
}

static void check_named(const char *path)
{
    struct strbuf why = STRBUF_INIT;
    setenv("TIDEMARK_CONFIG", path, 1);
    MUST(defaults_load(commands, 2, &why) == (*path ? -EINVAL : 0));
    MUST(!*path || strstr(why.data, "no such file"));
    MUST(!defaults_file(0));
}

static void another_file_or_none(void **state)
{
    (void)state;
    write_file("home", "this is wrong\n");
    in_a_process(check_named, "");
    in_a_process(check_named, "/nowhere/at all");
}

static int set_up(void **state)
{
    char path[200];
    (void)state;
    unsetenv("TIDEMARK_CONFIG");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/home", directory);
    setenv("XDG_CONFIG_HOME", path, 1);
    snprintf(path, sizeof path, "relative:%s/system:/nowhere", directory);
    setenv("XDG_CONFIG_DIRS", path, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char line[200];
    snprintf(line, sizeof line, "rm -rf '%s'", directory);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_command_line_in_their_order),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(another_file_or_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

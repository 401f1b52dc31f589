/* One table drives parsing and help. Sentences about errors go to stderr; only results are checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/options.h"

struct target {
    bool flag, on;
    const char *string;
    uint64_t number, bytes, ns;
    int choice;
};

static const struct option_entry entries[] = {
    OPTION_GROUP("Things"),
    {"flag", 'f', OPTION_FLAG, NULL, "a flag", OPTION_TO(struct target, flag), false, NULL},
    {"on", 0, OPTION_SWITCH, NULL, "a switch", OPTION_TO(struct target, on), false, NULL},
    {"string", 's', OPTION_STRING, "TEXT", "text", OPTION_TO(struct target, string), false, NULL},
    {"number", 'n', OPTION_NUMBER, "N", "number", OPTION_TO(struct target, number), false, NULL},
    {"bytes", 0, OPTION_BYTES, "SIZE", "bytes", OPTION_TO(struct target, bytes), false, NULL},
    {"time", 0, OPTION_DURATION, "TIME", "time", OPTION_TO(struct target, ns), false, NULL},
    {"mode", 0, OPTION_CHOICE, "wait|drop", "mode", OPTION_TO(struct target, choice), false, NULL},
    OPTION_GROUP("Rare things"),
    {"seldom", 0, OPTION_FLAG, NULL, "seldom", OPTION_TO(struct target, flag), true, NULL},
    OPTION_GROUP_END};

static struct options_command command = {
    .name = "test", .synopsis = "[options] FILE", .purpose = "Tests.", .entries = entries};

static int parse(struct target *target, const char *line)
{
    static char copy[200];
    char *argv[20] = {(char *)"test"};
    int argc = 1;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_parse(&command, argc, argv, target);
}

static void one_operand_is_neither_none_nor_two(void **state)
{
    (void)state;
    struct target target = {0};
    char *argv[] = {(char *)"test", (char *)"-f", (char *)"run.tmk", (char *)"old.tmk"};
    assert_int_equal(options_parse_one(&command, 2, argv, &target, "profile"), -2);
    assert_int_equal(options_parse_one(&command, 3, argv, &target, "profile"), 2);
    assert_true(target.flag);
    assert_int_equal(options_parse_one(&command, 4, argv, &target, "profile"), -2);
}

static void every_kind_lands_in_its_field(void **state)
{
    (void)state;
    struct target target = {.on = true};
    int operand =
        parse(&target, "-f --no-on -s text --number=12 --bytes 64K --time 2s --mode drop x");
    assert_int_equal(operand, 12);
    assert_true(target.flag);
    assert_false(target.on);
    assert_string_equal(target.string, "text");
    assert_int_equal(target.number, 12);
    assert_int_equal(target.bytes, 65536);
    assert_int_equal(target.ns, 2000000000);
    assert_int_equal(target.choice, 1);
}

static void wrong_ones_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"--flagg",       "-q",
                                        "--number=x",    "--number=-1",
                                        "--mode=never",  "--number",
                                        "--flag=1",      "--bytes=1Q",
                                        "--time=soon",   "--nonsense=3",
                                        "--number=0x10", "--number=18446744073709551616",
                                        "--bytes=0x10",  "--time=18446744074s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct target target = {0};
        assert_int_equal(parse(&target, wrong[i]), -2);
    }
}

static void a_leading_zero_is_decimal(void **state)
{
    (void)state;
    struct target target = {0};
    assert_int_equal(parse(&target, "--number=010 x"), 2);
    assert_int_equal(target.number, 10);
}

static void options_after_an_operand_are_its_own_if_asked(void **state)
{
    (void)state;
    struct target target = {0};
    command.stop_at_operand = true;
    assert_int_equal(parse(&target, "program -f"), 1);
    assert_false(target.flag);
    command.stop_at_operand = false;
    assert_int_equal(parse(&target, "program -f"), 2);
    assert_true(target.flag);
}

static void help_lists_every_option(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    options_help(&command, out, 80, false);
    fclose(out);
    assert_non_null(strstr(text, "Usage: tidemark test [options] FILE\n"));
    assert_non_null(strstr(text, "\nThings:\n  -f, --flag  "));
    assert_non_null(strstr(text, "--[no-]on"));
    assert_non_null(strstr(text, "--mode=wait|drop"));
    assert_non_null(strstr(text, "-h, --help"));
    assert_non_null(strstr(text, "--help=all"));
    assert_null(strstr(text, "--seldom"));
    assert_null(strstr(text, "Rare things"));
    free(text);
    out = open_memstream(&text, &bytes);
    options_help(&command, out, 80, true);
    fclose(out);
    assert_non_null(strstr(text, "\nRare things:\n      --seldom"));
    assert_null(strstr(text, "--help=all"));
    free(text);
}

static void help_of_something_else_is_refused(void **state)
{
    (void)state;
    struct target target = {0};
    assert_int_equal(parse(&target, "--help=some"), -2);
}

static void the_nearest_is_near(void **state)
{
    (void)state;
    const char *const names[] = {"record", "report", "unpack"};
    assert_string_equal(options_nearest("recrod", names, 3), "record");
    assert_string_equal(options_nearest("rep", names, 3), "report");
    assert_null(options_nearest("xyzzy", names, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operand_is_neither_none_nor_two),
        cmocka_unit_test(every_kind_lands_in_its_field),
        cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(a_leading_zero_is_decimal),
        cmocka_unit_test(options_after_an_operand_are_its_own_if_asked),
        cmocka_unit_test(help_lists_every_option),
        cmocka_unit_test(help_of_something_else_is_refused),
        cmocka_unit_test(the_nearest_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

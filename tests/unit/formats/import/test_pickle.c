/* Pickles as Python writes them, and as it never would: what is not understood is refused with a
 * sentence, wherever the file ends and whatever it names. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "import/pickle.h"

static const char *const classes[] = {"shop.Order", NULL};

struct reading {
    struct pickle pickle;
    struct pickle_value root;
    struct strbuf why;
    char *bytes;
    int error;
};

/* The bytes in a block of their own, so that sanitizers see its end. */
static void reading_begin(struct reading *reading, const char *bytes, size_t count)
{
    *reading = (struct reading){.why = STRBUF_INIT, .bytes = malloc(count + 1)};
    memcpy(reading->bytes, bytes, count);
    reading->bytes = realloc(reading->bytes, count ? count : 1);
    reading->error = pickle_read(&reading->pickle, reading->bytes, count, classes, &reading->why,
                                 &reading->root);
}

static void reading_end(struct reading *reading)
{
    pickle_release(&reading->pickle);
    strbuf_release(&reading->why);
    free(reading->bytes);
}

#define READ(reading, literal) reading_begin(reading, literal, sizeof(literal) - 1)

static void numbers_are_signed_and_have_64_bits(void **state)
{
    struct reading reading;
    (void)state;
    READ(&reading, "\x80\x04("
                   "K\xff"
                   "M\xff\xff"
                   "J\xff\xff\xff\xff"
                   "\x8a\x00"
                   "\x8a\x01\xff"
                   "\x8a\x05\x00\x00\x00\x00\x01"
                   "\x8b\x08\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f"
                   "t.");
    static const int64_t expected[] = {255, 65535, -1, 0, -1, 1ll << 32, INT64_MAX};
    const struct pickle_value *items;
    size_t count;
    assert_int_equal(reading.error, 0);
    assert_true(pickle_items(&reading.pickle, &reading.root, &items, &count));
    assert_int_equal(count, 7);
    for (size_t i = 0; i < count; i++)
        assert_true(items[i].number == expected[i]);
    reading_end(&reading);
}

static void values_that_were_kept_come_back(void **state)
{
    struct reading reading;
    const struct pickle_value *items;
    size_t count;
    (void)state;
    READ(&reading, "\x80\x03]q\x00(X\x02\x00\x00\x00hiq\x01h\x01h\x00"
                   "e.");
    assert_int_equal(reading.error, 0);
    assert_true(pickle_items(&reading.pickle, &reading.root, &items, &count));
    assert_int_equal(count, 3);
    assert_true(pickle_is_text(&items[0], "hi"));
    assert_true(pickle_is_text(&items[1], "hi"));
    assert_int_equal(items[2].kind, PICKLE_LIST); /* the list in itself: nobody walks into it */
    reading_end(&reading);
}

static void an_object_has_its_attributes(void **state)
{
    struct reading reading;
    (void)state;
    READ(&reading, "\x80\x02"
                   "cshop\nOrder\n)\x81}(X\x01\x00\x00\x00nK\x01X\x01\x00\x00\x00nK\x02ub.");
    assert_int_equal(reading.error, 0);
    const struct pickle_value *number = pickle_attribute(&reading.pickle, &reading.root, 0, "n");
    assert_non_null(number);
    assert_int_equal(number->number, 2);
    assert_null(pickle_attribute(&reading.pickle, &reading.root, 0, "m"));
    assert_null(pickle_attribute(&reading.pickle, &reading.root, 1, "n"));
    assert_null(pickle_attribute(&reading.pickle, number, 0, "n"));
    reading_end(&reading);
}

static void expect_refusal(const char *bytes, size_t count, const char *words)
{
    struct reading reading;
    reading_begin(&reading, bytes, count);
    assert_int_equal(reading.error, -EBADMSG);
    assert_non_null(strstr(reading.why.data, words));
    reading_end(&reading);
}
#define REFUSED(literal, words) expect_refusal(literal, sizeof(literal) - 1, words)

static void nothing_is_run(void **state)
{
    (void)state;
    REFUSED("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.", "names posix.system, which");
    REFUSED("\x80\x02"
            "cos\nsystem\nX\x02\x00\x00\x00id\x85R.",
            "names os.system, which");
    REFUSED("\x80\x02"
            "cshop\nOrder\n)R.",
            "opcode at byte 15 (0x52)");
    REFUSED("cos\nsystem\n(S'id'\ntR.", "names os.system");
    REFUSED("(S'id'\nios\nsystem\n.", "0x53");
    REFUSED("\x80\x02\x82\x01.", "0x82");
    REFUSED("\x80\x04\x8c\x04shop\x8c\x07\x1b[31m;(\x93.", "names shop.\\x1b[31m;(,");
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    REFUSED("", "byte 0: the file ends there");
    REFUSED(".", "a value is missing");
    REFUSED("\x80\x06N.", "protocols 2 to 5");
    REFUSED("\x80\x01N.", "protocols 2 to 5");
    REFUSED("(.", "a value is missing");
    REFUSED("t.", "there is no mark");
    REFUSED("(e.", "nothing to be added to");
    REFUSED("}(K\x01u.", "nothing to be added to");
    REFUSED("K\x01K\x02"
            "b.",
            "nothing to be added to");
    REFUSED("h\x00.", "was not kept");
    REFUSED("Nr\xff\xff\xff\x7f.", "not the next one");
    REFUSED("\x8c\x05hi.", "longer than the file");
    REFUSED("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "longer than the file");
    REFUSED("\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "a frame is longer");
    REFUSED("\x8a\x09.........N.", "more than 64 bits");
    REFUSED("K\x01K\x02\x93.", "a class has no name");
    REFUSED("N)\x81.", "made of what is no class");
    REFUSED("cshop\nOrder\nK\x01\x85\x81.", "made of what is no class");
    REFUSED("cshop", "a class has no name");
}

static void every_beginning_of_a_pickle_is_refused(void **state)
{
    static const char whole[] =
        "\x80\x04\x95\x28\x00\x00\x00\x00\x00\x00\x00\x8c\x04shop\x94\x8c\x05Order\x94\x93\x94)"
        "\x81\x94}\x94(\x8c\x01n\x94]\x94(K\x01M\x02\x00G????????\x88NesK\x02u0b.";
    (void)state;
    for (size_t count = 0; count < sizeof whole - 1; count++) {
        struct reading reading;
        reading_begin(&reading, whole, count);
        assert_int_equal(reading.error, -EBADMSG);
        assert_true(reading.why.length > 0);
        reading_end(&reading);
    }
}

static void containers_have_a_limit(void **state)
{
    enum { LISTS = 70000 };
    char *many = malloc(LISTS);
    (void)state;
    memset(many, ']', LISTS);
    expect_refusal(many, LISTS, "more lists and dictionaries");
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_signed_and_have_64_bits),
        cmocka_unit_test(values_that_were_kept_come_back),
        cmocka_unit_test(an_object_has_its_attributes),
        cmocka_unit_test(nothing_is_run),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(every_beginning_of_a_pickle_is_refused),
        cmocka_unit_test(containers_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

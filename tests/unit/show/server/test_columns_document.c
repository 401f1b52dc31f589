/* Columns come back as they went in, in the narrowest type that holds them. */
#include "decode.h"
#include <time.h>
#include "server/columns_document.h"

static struct figure number_of(const void *rows, size_t row)
{
    return ((const struct figure *)rows)[row];
}

static void check(const struct figure *numbers, size_t count, const char *type, bool has_none)
{
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf out = STRBUF_INIT;
    columns_add_bytes(&document, "before", "abc", 3);
    columns_add(&document, "numbers", numbers, count, number_of);
    columns_add_figures(&document, "again", numbers, count, sizeof *numbers, 0);
    columns_finish(&document, "\"more\":1,", &out);
    assert_non_null(memmem(out.data, out.length, "{\"more\":1,\"columns\":[", 21));
    struct decoded column = decode(out.data, out.length, "numbers");
    struct decoded again = decode(out.data, out.length, "again");
    assert_string_equal(column.type, type);
    assert_int_equal(column.has_none, has_none);
    for (size_t i = 0; i < count; i++) {
        double value = decoded_at(&column, i);
        if (figure_known(numbers[i]))
            assert_true(value == figure_double(numbers[i]) && decoded_at(&again, i) == value);
        else
            assert_true(isnan(value) && isnan(decoded_at(&again, i)));
    }
    strbuf_release(&out);
}

static void each_width_at_its_edges(void **state)
{
    (void)state;
    const struct figure none = FIGURE_UNKNOWN;
    check((struct figure[]){figure_of(0), figure_of(254)}, 2, "u8", false);
    check((struct figure[]){none, figure_of(254), figure_of(0)}, 3, "u8", true);
    check((struct figure[]){figure_of(255)}, 1, "u16", false);
    check((struct figure[]){figure_of(65534), none}, 2, "u16", true);
    check((struct figure[]){figure_of(65535), none}, 2, "u32", true);
    check((struct figure[]){figure_of(UINT32_MAX - 1), none}, 2, "u32", true);
    check((struct figure[]){figure_of(UINT32_MAX), none}, 2, "f64", false);
    check((struct figure[]){figure_of(1ull << 53), figure_of(INT64_MAX), figure_of(7)}, 3, "f64",
          false);
    check((struct figure[]){none, none}, 2, "u8", true);
    check(NULL, 0, "u8", false);
}

static void any_numbers(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 200; round++) {
        struct figure numbers[100];
        uint64_t highest = 0;
        size_t count = (size_t)rand() % 100;
        bool has_none = false;
        unsigned bits = (unsigned)rand() % 53;
        for (size_t i = 0; i < count; i++) {
            uint64_t number = ((uint64_t)rand() << 31 ^ (uint64_t)rand()) & ((1ull << bits) - 1);
            bool is_none = rand() % 7 == 0;
            numbers[i] = is_none ? FIGURE_UNKNOWN : figure_of(number);
            has_none |= is_none;
            if (!is_none && number > highest)
                highest = number;
        }
        const char *type = highest < UINT8_MAX    ? "u8"
                           : highest < UINT16_MAX ? "u16"
                           : highest < UINT32_MAX ? "u32"
                                                  : "f64";
        check(numbers, count, type, has_none && strcmp(type, "f64"));
    }
}

static void addresses_are_whole(void **state)
{
    (void)state;
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf out = STRBUF_INIT;
    uint64_t addresses[] = {0xffffffffff600123, UINT64_MAX, 1}, back;
    columns_add_words(&document, "address", addresses, 3, sizeof *addresses, 0);
    columns_finish(&document, "", &out);
    struct decoded column = decode(out.data, out.length, "address");
    assert_string_equal(column.type, "u64");
    assert_false(column.has_none);
    for (size_t i = 0; i < 3; i++) {
        memcpy(&back, column.at + 8 * i, 8);
        assert_true(back == addresses[i]);
    }
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_width_at_its_edges),
        cmocka_unit_test(any_numbers),
        cmocka_unit_test(addresses_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

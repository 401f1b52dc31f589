/* Columns come back as they went in, in the narrowest type that holds them. */
#include "decode.h"
#include <time.h>
#include "server/columns_document.h"

static uint64_t number_of(const void *rows, size_t row)
{
    return ((const uint64_t *)rows)[row];
}

static void check(const uint64_t *numbers, size_t count, const char *type, bool has_none)
{
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf out = STRBUF_INIT;
    columns_add_bytes(&document, "before", "abc", 3);
    columns_add(&document, "numbers", numbers, count, number_of);
    columns_add_u64(&document, "again", numbers, count, sizeof *numbers, 0);
    columns_finish(&document, "\"more\":1,", &out);
    assert_non_null(memmem(out.data, out.length, "{\"more\":1,\"columns\":[", 21));
    struct decoded column = decode(out.data, out.length, "numbers");
    struct decoded again = decode(out.data, out.length, "again");
    assert_string_equal(column.type, type);
    assert_int_equal(column.has_none, has_none);
    for (size_t i = 0; i < count; i++) {
        double value = decoded_at(&column, i);
        if (numbers[i] == UINT64_MAX)
            assert_true(isnan(value) && isnan(decoded_at(&again, i)));
        else
            assert_true(value == (double)numbers[i] && decoded_at(&again, i) == value);
    }
    strbuf_release(&out);
}

static void each_width_at_its_edges(void **state)
{
    (void)state;
    const uint64_t none = UINT64_MAX;
    check((uint64_t[]){0, 254}, 2, "u8", false);
    check((uint64_t[]){none, 254, 0}, 3, "u8", true);
    check((uint64_t[]){255}, 1, "u16", false);
    check((uint64_t[]){65534, none}, 2, "u16", true);
    check((uint64_t[]){65535, none}, 2, "u32", true);
    check((uint64_t[]){UINT32_MAX - 1, none}, 2, "u32", true);
    check((uint64_t[]){UINT32_MAX, none}, 2, "f64", false);
    check((uint64_t[]){1ull << 53, INT64_MAX, 7}, 3, "f64", false);
    check((uint64_t[]){none, none}, 2, "u8", true);
    check(NULL, 0, "u8", false);
}

static void any_numbers(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 200; round++) {
        uint64_t numbers[100], highest = 0;
        size_t count = (size_t)rand() % 100;
        bool has_none = false;
        unsigned bits = (unsigned)rand() % 53;
        for (size_t i = 0; i < count; i++) {
            numbers[i] = ((uint64_t)rand() << 31 ^ (uint64_t)rand()) & ((1ull << bits) - 1);
            if (rand() % 7 == 0)
                numbers[i] = UINT64_MAX;
            has_none |= numbers[i] == UINT64_MAX;
            if (numbers[i] != UINT64_MAX && numbers[i] > highest)
                highest = numbers[i];
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

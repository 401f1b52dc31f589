/* Go's table of functions, made here in each of its forms, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "symbols/go_table.h"

enum { ROOM = 4096, TEXT = 0x401000 };

static uint8_t made[ROOM];
static size_t used;

static size_t put(uint64_t value, unsigned bytes)
{
    memcpy(made + used, &value, bytes);
    used += bytes;
    return used - bytes;
}

static void put_at(size_t at, uint64_t value, unsigned bytes)
{
    memcpy(made + at, &value, bytes);
}

static size_t put_text(const char *text)
{
    memcpy(made + used, text, strlen(text) + 1);
    used += strlen(text) + 1;
    return used - strlen(text) - 1;
}

/* Two values of 16 bytes of code each, in a table of offset > 0; -1 is no value. */
static uint32_t put_values(size_t values, int first, int second)
{
    size_t at = used;
    int grown[] = {first + 1, second - first};
    for (int i = 0; i < (first == second ? 1 : 2); i++) {
        unsigned zigzag = grown[i] < 0 ? (unsigned)(-grown[i]) * 2 - 1 : (unsigned)grown[i] * 2;
        if (zigzag >= 0x80)
            put((zigzag & 0x7f) | 0x80, 1), zigzag >>= 7;
        put(zigzag, 1);
        put(first == second ? 32 : 16, 1);
    }
    put(0, 1);
    return (uint32_t)(at - values);
}

/* Two functions of 32 bytes in a.go and b.go. In the second half of `second` something of another
 * file is inlined. */
static void make(unsigned magic)
{
    unsigned word = magic == 0xfffffffa ? 8 : 4;
    size_t heads = magic == 0xfffffffa ? 7 : 8, fields[8], record[2];
    memset(made, 0, sizeof made);
    used = 0;
    put(magic, 4), put(0, 2), put(1, 1), put(8, 1);
    for (size_t i = 0; i < heads; i++)
        fields[i] = put(0, 8);
    put_at(fields[0], 2, 8);
    if (word == 4)
        put_at(fields[2], TEXT, 8);
    size_t *parts = fields + heads - 5;
    put_at(parts[0], put_text("main.first"), 8);
    put_text("main.(*T).second");
    size_t units = used;
    put_at(parts[1], units, 8);
    put(0, 4), put(8, 4), put(UINT32_MAX, 4);
    put_at(parts[2], put_text("/p/a.go"), 8);
    put_text("/p/b.go");
    size_t values = used;
    put_at(parts[3], values, 8);
    put(0, 1);
    uint32_t lines[] = {put_values(values, 10, 300), put_values(values, 40, 7)};
    uint32_t files[] = {put_values(values, 0, 0), put_values(values, 1, 0)};
    uint32_t inlined = put_values(values, -1, 3);
    size_t functions = used;
    put_at(parts[4], functions, 8);
    for (int i = 0; i < 2; i++) {
        put((word == 8 ? TEXT : 0) + 32u * (unsigned)i, word);
        record[i] = put(0, word);
    }
    put((word == 8 ? TEXT : 0) + 64, word), put(0, word);
    for (int i = 0; i < 2; i++) {
        put_at(record[i], used - functions, word);
        put(32u * (unsigned)i, word);
        put(i ? 11 : 0, 4), put(0, 4), put(0, 4), put(0, 4);
        put(files[i], 4), put(lines[i], 4), put(3, 4), put(0, 4);
        if (magic == 0xfffffff1)
            put(9, 4);
        put(0, 4); /* functionID and its like */
        put(0, 4), put(0, 4), put(i ? inlined : 0, 4);
    }
}

static void assert_found(const struct go_table *table, uint64_t offset, const char *function,
                         const char *file, uint32_t line)
{
    struct symbols_frame frame = {0};
    assert_true(go_table_find(table, TEXT + offset, &frame));
    assert_string_equal(frame.function, function);
    assert_string_equal(frame.file, file);
    assert_int_equal(frame.line, line);
}

static const unsigned magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};

static void each_form_says_function_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        struct go_table table;
        struct symbols_frame frame;
        make(magics[i]);
        go_table_open_bytes(&table, made, used);
        assert_non_null(table.bytes);
        assert_found(&table, 0, "main.first", "/p/a.go", 10);
        assert_found(&table, 15, "main.first", "/p/a.go", 10);
        assert_found(&table, 16, "main.first", "/p/a.go", 300);
        assert_found(&table, 32, "main.(*T).second", "/p/b.go", 40);
        assert_found(&table, 48, "main.(*T).second", "/p/b.go", 0); /* inlined there */
        assert_false(go_table_find(&table, TEXT - 1, &frame));
        assert_false(go_table_find(&table, TEXT + 64, &frame));
    }
}

static void what_is_no_table_has_no_functions(void **state)
{
    (void)state;
    struct go_table table;
    struct symbols_frame frame;
    make(magics[1]);
    made[0] = 0xfb; /* of before Go 1.16 */
    go_table_open_bytes(&table, made, used);
    assert_null(table.bytes);
    assert_false(go_table_find(&table, TEXT, &frame));
    go_table_open_bytes(&table, made, 3);
    assert_null(table.bytes);
}

/* In memory of its own length, so that a sanitizer sees each byte beyond. */
static void a_damaged_table_is_never_left(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (unsigned round = 0; round < 20000; round++) {
        struct go_table table;
        struct symbols_frame frame;
        make(magics[round % 3]);
        size_t length = rand() % 3 ? used : 1 + (size_t)rand() % used;
        uint8_t *bytes = malloc(length);
        memcpy(bytes, made, length);
        for (int i = rand() % 8; i > 0; i--)
            bytes[(size_t)rand() % length] = rand() % 2 ? 0xff : (uint8_t)rand();
        go_table_open_bytes(&table, bytes, length);
        for (unsigned at = 0; at < 70; at += 5)
            if (go_table_find(&table, TEXT + at, &frame))
                assert_true(strlen(frame.function) < length);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_says_function_file_and_line),
        cmocka_unit_test(what_is_no_table_has_no_functions),
        cmocka_unit_test(a_damaged_table_is_never_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is known of a function's beginning. Lengths were compared with objdump's for a million
 * instructions of libraries; here are the forms that the tables tell apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "entry/entry_code.h"

struct sample {
    const char *text; /* hexadecimal bytes */
    unsigned bytes;
    enum entry_flow flow;
};

static size_t bytes_of(const char *text, uint8_t *to)
{
    size_t count = 0;
    for (char *end; *text; text = end, count++)
        to[count] = (uint8_t)strtoul(text, &end, 16);
    return count;
}

static void lengths_are_the_processors(void **state)
{
    static const struct sample samples[] = {
        {"53", 1, ENTRY_FLOW_NONE},                             /* push rbx */
        {"41 57", 2, ENTRY_FLOW_NONE},                          /* push r15 */
        {"48 83 ec 18", 4, ENTRY_FLOW_NONE},                    /* sub rsp, 24 */
        {"48 81 ec 00 01 00 00", 7, ENTRY_FLOW_NONE},           /* sub rsp, 256 */
        {"64 48 8b 04 25 28 00 00 00", 9, ENTRY_FLOW_NONE},     /* mov rax, fs:40 */
        {"48 b8 01 02 03 04 05 06 07 08", 10, ENTRY_FLOW_NONE}, /* mov rax, imm64 */
        {"66 b8 01 02", 4, ENTRY_FLOW_NONE},                    /* mov ax, imm16 */
        {"f6 c3 01", 3, ENTRY_FLOW_NONE},                       /* test bl, 1 */
        {"f6 d3", 2, ENTRY_FLOW_NONE},                          /* not bl */
        {"f7 c3 01 00 00 00", 6, ENTRY_FLOW_NONE},              /* test ebx, 1 */
        {"f7 db", 2, ENTRY_FLOW_NONE},                          /* neg ebx */
        {"8b 44 24 08", 4, ENTRY_FLOW_NONE},                    /* SIB, disp8 */
        {"8b 04 25 08 00 00 00", 7, ENTRY_FLOW_NONE},           /* SIB without base, disp32 */
        {"80 3d 11 22 33 44 00", 7, ENTRY_FLOW_NONE},           /* cmp byte [rip+…], 0 */
        {"0f b6 07", 3, ENTRY_FLOW_NONE},                       /* movzx */
        {"0f 3a 0f c1 08", 5, ENTRY_FLOW_NONE},                 /* palignr */
        {"c5 f8 77", 3, ENTRY_FLOW_NONE},                       /* vzeroupper */
        {"c4 e3 79 0f c1 08", 6, ENTRY_FLOW_NONE},              /* vpalignr */
        {"66 0f 1f 44 00 00", 6, ENTRY_FLOW_NOP},
        {"75 10", 2, ENTRY_FLOW_IF},
        {"0f 84 10 00 00 00", 6, ENTRY_FLOW_IF},
        {"eb 10", 2, ENTRY_FLOW_JUMP},
        {"e9 10 00 00 00", 5, ENTRY_FLOW_JUMP},
        {"e8 10 00 00 00", 5, ENTRY_FLOW_CALL},
        {"ff 15 10 00 00 00", 6, ENTRY_FLOW_CALL_THROUGH},
        {"ff d0", 2, ENTRY_FLOW_CALL_THROUGH},
        {"ff 25 10 00 00 00", 6, ENTRY_FLOW_END},
        {"e2 10", 2, ENTRY_FLOW_LOOP},
        {"c3", 1, ENTRY_FLOW_END},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        uint8_t code[16] = {0};
        struct entry_instruction instruction;
        size_t bytes = bytes_of(samples[i].text, code);
        assert_true(entry_code_read(code, sizeof code, &instruction));
        assert_int_equal(instruction.bytes, samples[i].bytes);
        assert_int_equal(instruction.bytes, bytes);
        assert_int_equal(instruction.flow, samples[i].flow);
        assert_false(entry_code_read(code, bytes - 1, &instruction)); /* cut off */
    }
}

static void what_is_not_known_is_not_guessed(void **state)
{
    static const char *const texts[] = {"62 f1 fe 48 6f 07", "06", "8f e8 78 c2 ec 0e", "0f 04"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint8_t code[16] = {0};
        struct entry_instruction instruction;
        bytes_of(texts[i], code);
        assert_false(entry_code_read(code, sizeof code, &instruction));
    }
}

/* Behind the function is code of another: nothing that is padding. */
static enum entry_fault fault_of(const char *text, struct entry_beginning *beginning)
{
    _Alignas(16) uint8_t code[64];
    memset(code, 0x53, sizeof code);
    return entry_code_find(code, bytes_of(text, code), beginning);
}

static void a_beginning_is_whole_instructions(void **state)
{
    struct entry_beginning beginning;
    (void)state;
    assert_int_equal(fault_of("53 48 89 fb 48 83 ec 10 c3", &beginning), ENTRY_OK);
    assert_int_equal(beginning.skipped, 0);
    assert_int_equal(beginning.bytes, 8);
    assert_int_equal(fault_of("f3 0f 1e fa 55 48 89 e5 41 54 c3", &beginning), ENTRY_OK);
    assert_int_equal(beginning.skipped, 4);
    assert_int_equal(beginning.bytes, 6);
}

static void a_function_that_is_too_short_is_left_alone(void **state)
{
    struct entry_beginning beginning;
    (void)state;
    assert_int_equal(fault_of("31 c0 c3", &beginning), ENTRY_SHORT);
    assert_int_equal(fault_of("f3 0f 1e fa", &beginning), ENTRY_SHORT);
    /* but for padding up to its 16 bytes' end */
    assert_int_equal(fault_of("31 c0 c3 90 90 90 90 90 90 90 90 90 90 90 90 90", &beginning),
                     ENTRY_OK);
}

static void a_beginning_that_is_jumped_into_is_left_alone(void **state)
{
    struct entry_beginning beginning;
    (void)state;
    assert_int_equal(fault_of("53 48 89 fb 90 75 fa c3", &beginning), ENTRY_JUMPED_TO); /* to 1 */
    assert_int_equal(fault_of("53 48 89 fb 90 75 f9 c3", &beginning), ENTRY_OK);        /* to 0 */
    assert_int_equal(fault_of("53 48 89 fb 90 75 fe c3", &beginning), ENTRY_OK);        /* to 5 */
    /* also from behind what is not known */
    assert_int_equal(fault_of("53 48 89 fb 90 62 f1 fe 48 6f 07 75 f4 c3", &beginning),
                     ENTRY_JUMPED_TO);
}

static void what_cannot_be_moved_is_left_alone(void **state)
{
    struct entry_beginning beginning;
    (void)state;
    assert_int_equal(fault_of("e2 fe 53 53 53 53 c3", &beginning), ENTRY_UNKNOWN); /* loop */
    assert_int_equal(fault_of("ff d0 53 53 53 53 c3", &beginning), ENTRY_UNKNOWN); /* call rax */
    assert_int_equal(fault_of("62 f1 fe 48 6f 07 c3", &beginning), ENTRY_UNKNOWN);
}

static void a_place_too_far_away_is_refused(void **state)
{
    static const uint8_t function[] = {0x48, 0x8b, 0x05, 0x10,
                                       0,    0,    0,    0xc3}; /* mov rax, [rip+16] */
    struct entry_beginning beginning;
    uint8_t to[ENTRY_MOVED_BYTES];
    (void)state;
    assert_int_equal(entry_code_find(function, sizeof function, &beginning), ENTRY_OK);
    assert_int_not_equal(entry_code_move(function, &beginning, to, (uintptr_t)function + 4096), 0);
    assert_int_equal(entry_code_move(function, &beginning, to, (uintptr_t)function + (3ul << 30)),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_the_processors),
        cmocka_unit_test(what_is_not_known_is_not_guessed),
        cmocka_unit_test(a_beginning_is_whole_instructions),
        cmocka_unit_test(a_function_that_is_too_short_is_left_alone),
        cmocka_unit_test(a_beginning_that_is_jumped_into_is_left_alone),
        cmocka_unit_test(what_cannot_be_moved_is_left_alone),
        cmocka_unit_test(a_place_too_far_away_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

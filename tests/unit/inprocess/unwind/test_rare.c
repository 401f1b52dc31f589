/* The bounded machine for DWARF expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind/rare.h"

#if defined(__x86_64__)

static bool run(const uint8_t *code, size_t bytes, uintptr_t *result)
{
    struct rare_registers registers = {{0}, 1u << CFI_RSP | 1u << CFI_RBP};
    registers.value[CFI_RSP] = 1000;
    registers.value[CFI_RBP] = 2000;
    return rare_evaluate((struct cfi_cursor){code, code + bytes, false}, &registers, NULL, result);
}

#define RESULT(expected, ...)                                                                      \
    do {                                                                                           \
        static const uint8_t code[] = {__VA_ARGS__};                                               \
        uintptr_t result = 0;                                                                      \
        assert_true(run(code, sizeof code, &result));                                              \
        assert_int_equal(result, (uintptr_t)(expected));                                           \
    } while (0)

#define NO_RESULT(...)                                                                             \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        uintptr_t result_;                                                                         \
        assert_false(run(bytes_, sizeof bytes_, &result_));                                        \
    } while (0)

static void it_calculates(void **state)
{
    (void)state;
    RESULT(5, 0x32, 0x33, 0x22);                   /* 2 + 3 */
    RESULT(-1, 0x32, 0x33, 0x1c);                  /* 2 - 3 */
    RESULT(1008, 0x77, 8);                         /* rsp + 8 */
    RESULT(1992, 0x76, 0x78);                      /* rbp - 8 */
    RESULT(-2, 0x09, 0xfe);                        /* const1s */
    RESULT(0xfffe, 0x0a, 0xfe, 0xff);              /* const2u */
    RESULT(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13); /* 1 2 3 rot: 3 1 2, two dropped */
    RESULT(1, 0x33, 0x33, 0x29);
    RESULT(16, 0x31, 0x34, 0x24);
    RESULT(7, 0x31, 0x28, 1, 0, 0x30, 0x37); /* bra over lit0 */
}

static void it_reads_memory_only_where_there_is_some(void **state)
{
    static const uintptr_t word = 0x1122334455667788;
    uintptr_t address = (uintptr_t)&word, result = 0;
    uint8_t code[] = {0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x94, 2};
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        code[1 + i] = (uint8_t)(address >> 8 * i);
    }
    assert_true(run(code, sizeof code, &result));
    assert_int_equal(result, 0x7788);
    NO_RESULT(0x38, 0x06); /* *8 */
    NO_RESULT(0x30, 0x06); /* *0: the kernel would take it for no mask at all */
}

static void it_refuses_what_makes_no_sense(void **state)
{
    (void)state;
    NO_RESULT(0x22);             /* nothing to add */
    NO_RESULT(0x73, 0);          /* rbx: not known */
    NO_RESULT(0x31, 0x30, 0x1b); /* 1 / 0 */
    NO_RESULT(0x31, 0x30, 0x1d); /* 1 mod 0 */
    NO_RESULT(0x2f, 0xfd, 0xff); /* for ever */
    NO_RESULT(0x2f, 0xf0, 0xff); /* out of the expression */
    NO_RESULT(0x0c, 1);          /* cut short */
    NO_RESULT(0xff);
    NO_RESULT(0x31, 0x12, 0x2f, 0xfc, 0xff); /* dup for ever */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_calculates),
        cmocka_unit_test(it_reads_memory_only_where_there_is_some),
        cmocka_unit_test(it_refuses_what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void)
{
    return 0;
}
#endif

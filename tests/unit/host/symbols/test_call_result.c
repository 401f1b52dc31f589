#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbols/call_result.h"

/* Numbers of DWARF. */
enum { RAX = 0, RBX = 3, RDI = 5, RBP = 6, R12 = 12 };
#define BIT(number) (1u << (number))

/* Code is followed as far as 16 bytes are left. */
static struct call_result follow(const uint8_t *code, size_t bytes)
{
    uint8_t padded[256];
    struct call_result result;
    memset(padded, 0xf4, sizeof padded); /* hlt */
    memcpy(padded, code, bytes);
    call_result_follow(&result, padded, sizeof padded, 0, 0x1000);
    return result;
}
#define FOLLOW(...) follow((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void a_result_is_in_rax_and_where_it_is_moved(void **state)
{
    (void)state;
    /* mov %rax,%rbx; test %rax,%rax; je +0; mov %rbx,%r12; xor %ebx,%ebx */
    struct call_result result =
        FOLLOW(0x48, 0x89, 0xc3, 0x48, 0x85, 0xc0, 0x74, 0x00, 0x49, 0x89, 0xdc, 0x31, 0xdb);
    assert_int_equal(result.count, 6);
    assert_int_equal(result.steps[0].registers, BIT(RAX));
    assert_int_equal(result.steps[1].registers, BIT(RAX) | BIT(RBX));
    assert_int_equal(result.steps[4].registers, BIT(RAX) | BIT(RBX) | BIT(R12));
    assert_int_equal(result.steps[5].registers, BIT(RAX) | BIT(R12));
    assert_int_equal(result.steps[5].address, 0x1000 + 13);
}

static void half_of_it_is_not_it(void **state)
{
    (void)state;
    struct call_result result = FOLLOW(0x89, 0xc3); /* mov %eax,%ebx */
    assert_int_equal(result.steps[1].registers, BIT(RAX));
}

static void what_is_stored_where(void **state)
{
    (void)state;
    /* mov %rax,-0x18(%rbp) */
    struct call_result result = FOLLOW(0x48, 0x89, 0x45, 0xe8);
    assert_int_equal(result.steps[0].store, CALL_RESULT_AT_REGISTER);
    assert_int_equal(result.steps[0].base, RBP);
    assert_int_equal(result.steps[0].offset, -0x18);
    /* mov %rax,0x100(%rip) */
    result = FOLLOW(0x48, 0x89, 0x05, 0x00, 0x01, 0x00, 0x00);
    assert_int_equal(result.steps[0].store, CALL_RESULT_AT_ADDRESS);
    assert_int_equal(result.steps[0].offset, 0x1000 + 7 + 0x100);
    /* mov %rax,0x8(%r12); mov %rax,(%rbx,%rcx,8) */
    result = FOLLOW(0x49, 0x89, 0x44, 0x24, 0x08, 0x48, 0x89, 0x04, 0xcb);
    assert_int_equal(result.steps[0].base, R12);
    assert_int_equal(result.steps[0].offset, 8);
    assert_int_equal(result.steps[1].store, CALL_RESULT_NOWHERE);
    /* mov %rax,(%rax): into itself */
    result = FOLLOW(0x48, 0x89, 0x00);
    assert_int_equal(result.steps[0].store, CALL_RESULT_NOWHERE);
}

static void a_call_keeps_what_callees_save(void **state)
{
    (void)state;
    /* mov %rax,%rbx; mov %rax,%rdi; call +0x20; mov %rbx,%rdi; call *%rax */
    struct call_result result = FOLLOW(0x48, 0x89, 0xc3, 0x48, 0x89, 0xc7, 0xe8, 0x20, 0, 0, 0,
                                       0x48, 0x89, 0xdf, 0xff, 0xd0);
    assert_int_equal(result.steps[2].registers, BIT(RAX) | BIT(RBX) | BIT(RDI));
    assert_int_equal(result.steps[2].called, 0x1000 + 11 + 0x20);
    assert_int_equal(result.steps[3].registers, BIT(RBX));
    assert_int_equal(result.steps[4].called, 0);
    assert_int_equal(result.steps[5].registers, BIT(RBX));
}

static void a_jump_is_followed_to_where_it_is_not_null(void **state)
{
    (void)state;
    /* test %rax,%rax; jne +2; xor %eax,%eax; mov %rax,%rbx */
    struct call_result result = FOLLOW(0x48, 0x85, 0xc0, 0x75, 0x02, 0x31, 0xc0, 0x48, 0x89, 0xc3);
    assert_int_equal(result.steps[2].address, 0x1000 + 7);
    assert_int_equal(result.steps[3].registers, BIT(RAX) | BIT(RBX));
    /* jmp to itself, and to before the code */
    assert_int_equal(FOLLOW(0xeb, 0xfe).count, 1);
    assert_int_equal(FOLLOW(0xeb, 0x80).count, 1);
}

static void the_result_may_go_backwards(void **state)
{
    (void)state;
    /* mov %rax,%rbx; nop; jmp to the nop at 1, the call lies between */
    const uint8_t code[32] = {0x90, 0x48, 0x89, 0xc2, 0xf4, 0x90,
                              0x90, 0x48, 0x89, 0xc3, 0xeb, 0xf4};
    struct call_result result;
    call_result_follow(&result, code, sizeof code, 7, 0x1000);
    assert_int_equal(result.count, 5);
    assert_int_equal(result.steps[2].address, 0x1000);
    assert_int_equal(result.steps[4].address, 0x1004);
    assert_int_equal(result.steps[4].registers, BIT(RAX) | BIT(RBX) | BIT(1)); /* rdx */
}

/* Both branches are ways of the result, unless the condition is whether it is NULL. */
static void other_conditions_have_two_branches(void **state)
{
    (void)state;
    /* test %ebp,%ebp; je +3; mov %rax,%rbx; hlt */
    struct call_result result = FOLLOW(0x85, 0xed, 0x74, 0x03, 0x48, 0x89, 0xc3);
    assert_int_equal(result.count, 5);
    assert_int_equal(result.steps[3].registers, BIT(RAX) | BIT(RBX));
    assert_int_equal(result.steps[4].registers, BIT(RAX));
    /* the same with jg +4, and ret where it leads */
    result = FOLLOW(0x85, 0xed, 0x7f, 0x04, 0x48, 0x89, 0xc3, 0xf4, 0xc3);
    assert_int_equal(result.count, 5);
    assert_int_equal(result.steps[4].address, 0x1000 + 8);
    assert_int_equal(result.steps[4].registers, BIT(RAX));
    assert_true(result.steps[4].returns);
    /* test %rax,%rax; lea 8(%rsp),%rdi; je +1; hlt; mov %rax,%rbx */
    result =
        FOLLOW(0x48, 0x85, 0xc0, 0x48, 0x8d, 0x7c, 0x24, 0x08, 0x74, 0x01, 0xf4, 0x48, 0x89, 0xc3);
    assert_int_equal(result.count, 4);
    assert_int_equal(result.steps[3].address, 0x1000 + 10);
}

/* Behind a call that throws lies other code: what is jumped to, or a landing pad. */
static void a_branch_ends_where_a_call_may_not_return(void **state)
{
    (void)state;
    /* mov %rax,%rbx; cmp %r12,%rbp; ja +1; nop; call +0; nop; ret */
    struct call_result result =
        FOLLOW(0x48, 0x89, 0xc3, 0x4c, 0x39, 0xe5, 0x77, 0x01, 0x90, 0xe8, 0, 0, 0, 0, 0x90, 0xc3);
    assert_int_equal(result.steps[result.count - 1].address, 0x1000 + 15);
    /* ja to behind the call */
    result = FOLLOW(0x48, 0x89, 0xc3, 0x4c, 0x39, 0xe5, 0x77, 0x05, 0xe8, 0, 0, 0, 0, 0x90, 0xf4);
    for (size_t i = 0; i < result.count; i++)
        assert_true(result.steps[i].address < 0x1000 + 13 ||
                    (result.steps[i].registers & BIT(RAX)));
    /* ja +1; nop; call +0; mov %rax,%rbp; jmp +0; ret */
    result = FOLLOW(0x48, 0x89, 0xc3, 0x4c, 0x39, 0xe5, 0x77, 0x01, 0x90, 0xe8, 0, 0, 0, 0, 0x48,
                    0x89, 0xc5, 0xeb, 0, 0xc3);
    for (size_t i = 0; i < result.count; i++)
        assert_true(result.steps[i].address < 0x1000 + 14);
}

/* Whether it is NULL is not asked any more where numbers have been compared since. */
static void numbers_are_compared_behind_a_null_test(void **state)
{
    (void)state;
    /* test %rax,%rax; je +8; ucomisd %xmm1,%xmm0; jne +1; ret; ret */
    struct call_result result =
        FOLLOW(0x48, 0x85, 0xc0, 0x74, 0x08, 0x66, 0x0f, 0x2e, 0xc1, 0x75, 0x01, 0xc3, 0xc3, 0xf4);
    assert_int_equal(result.count, 6);
    assert_int_equal(result.steps[4].address, 0x1000 + 12);
    assert_int_equal(result.steps[4].way, 0);
    assert_int_equal(result.steps[5].address, 0x1000 + 11);
    assert_int_equal(result.steps[5].way, 1);
    for (size_t i = 0; i < result.count; i++)
        assert_int_equal(result.steps[i].branches, i == 1 || i == 3);
}

static void what_is_not_known_ends_the_way(void **state)
{
    (void)state;
    assert_int_equal(FOLLOW(0xf4).count, 1);       /* hlt */
    assert_int_equal(FOLLOW(0xc3).count, 1);       /* ret */
    assert_int_equal(FOLLOW(0x48, 0x93).count, 1); /* xchg %rax,%rbx */
    struct call_result result;
    call_result_follow(&result, (const uint8_t[]){0x48, 0x89, 0xc3}, 3, 0, 0x1000);
    assert_int_equal(result.count, 1); /* it is not whole */
}

/* Lengths and effects of what compilers put between: all leave rbx alone, and rax where it is
 * said. */
static void instructions_have_their_lengths(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[12];
        size_t bytes;
        int keeps_rax;
    } cases[] = {
        {{0xbe, 1, 0, 0, 0}, 5, 1},                            /* mov $1,%esi */
        {{0x48, 0xc7, 0x00, 0, 0, 0, 0}, 7, 1},                /* movq $0,(%rax) */
        {{0x48, 0xc7, 0xc0, 1, 0, 0, 0}, 7, 0},                /* mov $1,%rax */
        {{0xc6, 0x40, 0x08, 0x00}, 4, 1},                      /* movb $0,8(%rax) */
        {{0x48, 0x8d, 0x44, 0x24, 0x10}, 5, 0},                /* lea 0x10(%rsp),%rax */
        {{0x48, 0x8d, 0x35, 0, 0, 0, 0}, 7, 1},                /* lea 0(%rip),%rsi */
        {{0x48, 0x83, 0xc0, 0x08}, 4, 0},                      /* add $8,%rax */
        {{0x48, 0x83, 0xf8, 0x00}, 4, 1},                      /* cmp $0,%rax */
        {{0x66, 0x0f, 0xef, 0xc0}, 4, 1},                      /* pxor %xmm0,%xmm0 */
        {{0x0f, 0x11, 0x00}, 3, 1},                            /* movups %xmm0,(%rax) */
        {{0xf2, 0x0f, 0x11, 0x40, 0x08}, 5, 1},                /* movsd %xmm0,8(%rax) */
        {{0x66, 0xc7, 0x00, 1, 0}, 5, 1},                      /* movw $1,(%rax) */
        {{0x8b, 0x04, 0x25, 0, 0, 0, 0}, 7, 0},                /* mov 0,%eax */
        {{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10, 0},         /* movabs */
        {{0x0f, 0xb6, 0x07}, 3, 0},                            /* movzbl (%rdi),%eax */
        {{0x48, 0x89, 0x84, 0xcb, 0, 1, 0, 0}, 8, 1},          /* mov %rax,0x100(%rbx,%rcx,8) */
        {{0x55}, 1, 1},                                        /* push %rbp */
        {{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}, 6, 1},          /* nop */
        {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 1},                      /* endbr64 */
        {{0x64, 0x48, 0x8b, 0x14, 0x25, 0x28, 0, 0, 0}, 9, 1}, /* mov %fs:0x28,%rdx */
        {{0x48, 0x05, 0, 1, 0, 0}, 6, 0},                      /* add $0x100,%rax */
        {{0x3c, 0x01}, 2, 1},                                  /* cmp $1,%al */
        {{0x48, 0x3d, 0, 1, 0, 0}, 6, 1},                      /* cmp $0x100,%rax */
        {{0xa8, 0x01}, 2, 1},                                  /* test $1,%al */
        {{0xf6, 0x43, 0x08, 0x01}, 4, 1},                      /* testb $1,8(%rbx) */
        {{0x48, 0xf7, 0xd8}, 3, 0},                            /* neg %rax */
        {{0x48, 0xd1, 0xe8}, 3, 0},                            /* shr %rax */
        {{0x48, 0x69, 0xc7, 3, 0, 0, 0}, 7, 0},                /* imul $3,%rdi,%rax */
        {{0x6b, 0xcf, 0x03}, 3, 1},                            /* imul $3,%edi,%ecx */
        {{0x48, 0x98}, 2, 0},                                  /* cltq */
        {{0x48, 0x99}, 2, 1},                                  /* cqto */
        {{0x58}, 1, 0},                                        /* pop %rax */
        {{0x6a, 0x01}, 2, 1},                                  /* push $1 */
        {{0x0f, 0x94, 0xc1}, 3, 1},                            /* sete %cl */
        {{0x48, 0x0f, 0x44, 0xc7}, 4, 0},                      /* cmove %rdi,%rax */
        {{0x66, 0x0f, 0x70, 0xc0, 0x4e}, 5, 1},                /* pshufd */
        {{0x48, 0xff, 0x00}, 3, 1},                            /* incq (%rax) */
        {{0xf3, 0x0f, 0x7e, 0x00}, 4, 1},                      /* movq (%rax),%xmm0 */
        {{0x66, 0x48, 0x0f, 0x7e, 0xc0}, 5, 0},                /* movq %xmm0,%rax */
        {{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84}, 11, 1},         /* cs nopw, in front of loops */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t code[16] = {0x48, 0x89, 0xc3}; /* mov %rax,%rbx */
        memcpy(code + 3, cases[i].code, cases[i].bytes);
        struct call_result result = follow(code, 3 + cases[i].bytes);
        assert_int_equal(result.count, 3);
        assert_int_equal(result.steps[2].address, 0x1000 + 3 + cases[i].bytes);
        assert_int_equal(result.steps[2].registers, BIT(RBX) | (cases[i].keeps_rax ? BIT(RAX) : 0));
    }
}

/* Whatever the bytes are, nothing is read beyond them. */
static void any_bytes_are_followed(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20000; seed++) {
        struct call_result result;
        srand(seed);
        size_t bytes = (size_t)rand() % 64;
        uint8_t *code = malloc(bytes + 1);
        for (size_t i = 0; i < bytes; i++)
            code[i] = (uint8_t)(rand() % 3 ? rand() : "\x48\x89\x0f\xe8\x8b"[rand() % 5]);
        call_result_follow(&result, code, bytes, bytes ? (size_t)rand() % bytes : 0, 0x1000);
        assert_true(result.count <= CALL_RESULT_STEPS);
        for (size_t i = 0; i < result.count; i++)
            assert_true(result.steps[i].address - 0x1000 <= bytes);
        free(code);
    }
}

int main(void)
{
#ifdef __x86_64__
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_in_rax_and_where_it_is_moved),
        cmocka_unit_test(half_of_it_is_not_it),
        cmocka_unit_test(what_is_stored_where),
        cmocka_unit_test(a_call_keeps_what_callees_save),
        cmocka_unit_test(a_jump_is_followed_to_where_it_is_not_null),
        cmocka_unit_test(the_result_may_go_backwards),
        cmocka_unit_test(other_conditions_have_two_branches),
        cmocka_unit_test(a_branch_ends_where_a_call_may_not_return),
        cmocka_unit_test(numbers_are_compared_behind_a_null_test),
        cmocka_unit_test(what_is_not_known_ends_the_way),
        cmocka_unit_test(instructions_have_their_lengths),
        cmocka_unit_test(any_bytes_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 0;
#endif
}

/* Functions of all the beginnings that compilers make, called before and after a hook was put in
 * front of them: the hook sees each call with its arguments, and the function does what it did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sys/mman.h>
#include "entry/entry_jump.h"

/* Each adds its arguments and a number of its own. They have pages of their own: those are not
 * executable while the jumps are written. */
long begins_with_push(long a, long b), begins_with_endbr(long a, long b),
    begins_with_variable(long a, long b), begins_with_jump_if(long a, long b),
    begins_with_jump(long a, long b), begins_with_call(long a, long b),
    begins_with_call_through(long a, long b), is_short(long a, long b), cannot(long a, long b);

__asm__(".pushsection .text\n.balign 4096\n"
        ".macro FUNCTION name\n.balign 16\n.globl \\name\n.type \\name,@function\n\\name:\n.endm\n"
        ".macro END name\n.size \\name, .-\\name\n.endm\n"
        "FUNCTION begins_with_push\n push %rbx\n mov %rdi, %rbx\n lea 1(%rsi,%rbx), %rax\n"
        " pop %rbx\n ret\nEND begins_with_push\n"
        "FUNCTION begins_with_endbr\n endbr64\n push %rbp\n mov %rsp, %rbp\n"
        " lea 2(%rsi,%rdi), %rax\n pop %rbp\n ret\nEND begins_with_endbr\n"
        "FUNCTION begins_with_variable\n mov entry_three(%rip), %rax\n add %rsi, %rax\n"
        " add %rdi, %rax\n ret\nEND begins_with_variable\n"
        "FUNCTION begins_with_jump_if\n test %rdi, %rdi\n je 1f\n lea 4(%rsi,%rdi), %rax\n ret\n"
        "1: lea 4(%rsi), %rax\n ret\nEND begins_with_jump_if\n"
        "FUNCTION begins_with_jump\n jmp begins_with_push\nEND begins_with_jump\n"
        "FUNCTION begins_with_call\n push %rbx\n call entry_six\n pop %rbx\n add %rsi, %rax\n"
        " add %rdi, %rax\n ret\nEND begins_with_call\n"
        "FUNCTION begins_with_call_through\n call *entry_six_pointer(%rip)\n add %rsi, %rax\n"
        " add %rdi, %rax\n ret\nEND begins_with_call_through\n"
        "FUNCTION is_short\n mov %rsi, %rax\n ret\nEND is_short\n.balign 16, 0x90\n"
        "FUNCTION cannot\n mov $1, %ecx\n1: loop 1b\n mov %rsi, %rax\n jmp cannot+2\nEND cannot\n"
        "FUNCTION entry_six\n mov $6, %eax\n ret\nEND entry_six\n"
        ".balign 4096\n.popsection\n"
        ".pushsection .data\n.balign 8\nentry_three: .8byte 3\n"
        "entry_six_pointer: .8byte entry_six\n.popsection\n");

typedef long function(long a, long b);

struct context {
    struct entry_point *point;
    unsigned calls;
    long a, b;
};

static long hook(long a, long b, long c, long d, long e, struct context *context)
{
    (void)c, (void)d, (void)e;
    context->calls++;
    context->a = a;
    context->b = b;
    return ((function *)context->point->original)(a, b);
}

static const struct {
    function *function;
    size_t bytes;
    long own;
} functions[] = {
    {begins_with_push, 11, 1},
    {begins_with_endbr, 15, 2},
    {begins_with_variable, 14, 3},
    {begins_with_jump_if, 16, 4},
    {begins_with_call, 14, 6},
    {begins_with_call_through, 13, 6},
    {is_short, 4, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void hooked_functions_do_what_they_did(void **state)
{
    struct entry_point points[FUNCTIONS];
    struct context contexts[FUNCTIONS] = {0};
    void *memory = NULL;
    size_t bytes = 0;
    (void)state;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        contexts[i].point = &points[i];
        points[i] = (struct entry_point){.function = (void *)functions[i].function,
                                         .bytes = functions[i].bytes,
                                         .hook = (const void *)hook,
                                         .context = &contexts[i]};
    }
    assert_int_equal(entry_prepare(points, FUNCTIONS, &memory, &bytes), ENTRY_OK);
    assert_int_equal(begins_with_push(1, 2), 4); /* nothing has changed yet */
    assert_int_equal(entry_set(points, FUNCTIONS), ENTRY_OK);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        long a = functions[i].function == is_short ? 0 : 10;
        assert_int_equal(functions[i].function(a, 100), a + 100 + functions[i].own);
        assert_int_equal(contexts[i].calls, 1);
        assert_int_equal(contexts[i].a, a);
        assert_int_equal(contexts[i].b, 100);
    }
    assert_int_equal(begins_with_jump_if(0, 7), 11); /* the other way of its jump */
    assert_int_equal(begins_with_jump(1, 2), 4);     /* not hooked, but where it goes is */
    assert_int_equal(contexts[0].calls, 2);
}

static void one_that_cannot_be_hooked_leaves_all_alone(void **state)
{
    struct context context = {0};
    struct entry_point points[] = {
        {.function = (void *)begins_with_jump,
         .bytes = 5,
         .hook = (const void *)hook,
         .context = &context},
        {.function = (void *)cannot, .bytes = 12, .hook = (const void *)hook, .context = &context},
    };
    void *memory = NULL;
    size_t bytes = 0;
    (void)state;
    assert_int_not_equal(entry_prepare(points, 2, &memory, &bytes), ENTRY_OK);
    assert_null(memory);
}

/* A call in the beginning returns into the function, and not into the copy: who walks the stack
 * finds the function. */
static void a_moved_call_returns_into_the_function(void **state)
{
    struct entry_beginning beginning;
    uint8_t to[ENTRY_MOVED_BYTES];
    uintptr_t back;
    (void)state;
    uint8_t code[16] = {0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3}; /* push, call, pop, ret */
    assert_int_equal(entry_code_find(code, 8, &beginning), ENTRY_OK);
    assert_int_equal(beginning.bytes, 6);
    size_t bytes = entry_code_move(code, &beginning, to, (uintptr_t)code + 64);
    __builtin_memcpy(&back, to + bytes - sizeof back, sizeof back);
    assert_int_equal(back, (uintptr_t)code + 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_cannot_be_hooked_leaves_all_alone),
        cmocka_unit_test(hooked_functions_do_what_they_did),
        cmocka_unit_test(a_moved_call_returns_into_the_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

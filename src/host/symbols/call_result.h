/* Where the result of a call goes: follows it through the instructions behind the call, by a
 * decoder of the few forms that compilers put there. An unknown instruction ends the way, so
 * nothing is guessed.
 *
 *     call malloc
 *     mov  %rax,%rbx           rax, rbx                   a variable in one of these has it
 *     test %rax,%rax
 *     je   …                   the way goes on where it is not NULL
 *     mov  %rax,-0x18(%rbp)    stored in the frame        the variable there has it
 *     mov  %rbx,%rdi
 *     call Node::Node          called with it             a constructor makes an object of it
 *
 * x86-64 only: on other machines no steps are found. */
#ifndef TIDEMARK_SYMBOLS_CALL_RESULT_H
#define TIDEMARK_SYMBOLS_CALL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_RESULT_STEPS = 96 };

/* How it is stored: at a distance from a register that does not hold it, or at an address. */
enum call_result_store { CALL_RESULT_NOWHERE, CALL_RESULT_AT_REGISTER, CALL_RESULT_AT_ADDRESS };

/* The state before the instruction at the address. Registers are numbered as in DWARF. */
struct call_result_step {
    uint64_t address;
    uint32_t registers;           /* bits: those that hold the result */
    enum call_result_store store; /* what the instruction does */
    unsigned base;                /* CALL_RESULT_AT_REGISTER */
    int64_t offset;               /* from it, or the address */
    uint64_t called;              /* a function, with the result as its first argument; 0: none */
    bool returns;                 /* the function ends here and returns the result */
    bool branches;                /* it jumps on a condition, and other code may follow */
    unsigned way;                 /* steps of one way stand together; 0: the first way */
};

struct call_result {
    struct call_result_step steps[CALL_RESULT_STEPS];
    size_t count; /* 0: nothing is known of this machine */
};

/* `code`: the bytes at `address`; the return address is `at` bytes behind. */
void call_result_follow(struct call_result *result, const uint8_t *code, size_t bytes, size_t at,
                        uint64_t address);

#endif

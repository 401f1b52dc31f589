/* Reads x86-64 machine code as far as it is needed to write a jump over a function's beginning: the
 * length of an instruction, its jump target, and whether it can be moved. Nothing here writes into
 * the program. */
#ifndef TIDEMARK_ENTRY_ENTRY_CODE_H
#define TIDEMARK_ENTRY_ENTRY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entry_flow {
    ENTRY_FLOW_NONE,         /* goes on at the next instruction */
    ENTRY_FLOW_NOP,          /* the same, and does nothing */
    ENTRY_FLOW_JUMP,         /* jmp rel8, rel32 */
    ENTRY_FLOW_IF,           /* jcc rel8, rel32 */
    ENTRY_FLOW_LOOP,         /* loop, jrcxz, which have no long form */
    ENTRY_FLOW_CALL,         /* call rel32 */
    ENTRY_FLOW_CALL_THROUGH, /* call through a register or memory */
    ENTRY_FLOW_END,          /* ret, jmp through a register or memory, ud2, int3, hlt */
};

struct entry_instruction {
    unsigned bytes;
    enum entry_flow flow;
    unsigned opcode_at;   /* of the last opcode byte, whose low four bits are the condition of a
                           * jcc */
    unsigned relative_at; /* offset of a displacement that is relative to the instruction's end; 0:
                           * there is none */
    unsigned relative_bytes;
    int64_t relative; /* the displacement's value */
};

/* Reads one instruction of at most `left` bytes. False: it is not in the tables. */
bool entry_code_read(const uint8_t *code, size_t left, struct entry_instruction *instruction);

enum { ENTRY_JUMP_BYTES = 5, ENTRY_MOVED_BYTES = 64 };

enum entry_fault {
    ENTRY_OK = 0,
    ENTRY_SHORT,     /* the function is shorter than a jump */
    ENTRY_UNKNOWN,   /* its beginning has an instruction that is not known, or cannot be moved */
    ENTRY_JUMPED_TO, /* something jumps into its beginning */
    ENTRY_NO_ROOM,   /* no memory within reach of a jump */
    ENTRY_REFUSED,   /* the kernel lets nobody write into the code */
    ENTRY_MACHINE,   /* not x86-64 */
};

/* The instructions of a function's beginning that a jump replaces: `bytes` of whole instructions,
 * behind `skipped` bytes (an endbr64 stays). */
struct entry_beginning {
    unsigned skipped, bytes;
};

enum entry_fault entry_code_find(const uint8_t *function, size_t bytes,
                                 struct entry_beginning *beginning);

/* Writes a copy of the beginning to `to`, which will run at address `at`, and behind it a jump to
 * the rest of the function. Returns the bytes written, at most ENTRY_MOVED_BYTES; 0: it cannot be
 * moved there. */
size_t entry_code_move(const uint8_t *function, const struct entry_beginning *beginning,
                       uint8_t *to, uintptr_t at);

/* Writes a jmp rel32 that stands at address `from`. False: the target is too far. */
bool entry_code_jump(uint8_t *to, uintptr_t from, uintptr_t target);

#endif

/* Reads x86-64 machine code as far as a jump over a function's beginning needs it: how long an
 * instruction is, where it jumps, and whether it can be moved. Nothing here writes into the
 * program. */
#ifndef TIDEMARK_ENTRY_ENTRY_CODE_H
#define TIDEMARK_ENTRY_ENTRY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entry_flow {
    ENTRY_FLOW_NONE,         /* goes on behind itself */
    ENTRY_FLOW_NOP,          /* the same, and does nothing */
    ENTRY_FLOW_JUMP,         /* jmp rel8, rel32 */
    ENTRY_FLOW_IF,           /* jcc rel8, rel32 */
    ENTRY_FLOW_LOOP,         /* loop, jrcxz: there is no long form */
    ENTRY_FLOW_CALL,         /* call rel32 */
    ENTRY_FLOW_CALL_THROUGH, /* call through a register or memory */
    ENTRY_FLOW_END,          /* ret, jmp through a register or memory, ud2, int3, hlt */
};

struct entry_instruction {
    unsigned bytes;
    enum entry_flow flow;
    unsigned opcode_at; /* of a jcc its condition is in the low four bits of the last opcode byte */
    unsigned relative_at; /* offset of a displacement that counts from the end; 0: there is none */
    unsigned relative_bytes;
    int64_t relative; /* its value */
};

/* One instruction of at most `left` bytes. False: it is none that is known here. */
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

/* The beginning of a function, from `skipped` on (an endbr64 stays where it is), that gives way to
 * a jump: `bytes` of whole instructions. */
struct entry_beginning {
    unsigned skipped, bytes;
};

enum entry_fault entry_code_find(const uint8_t *function, size_t bytes,
                                 struct entry_beginning *beginning);

/* Writes what the beginning does, for another place: `to` will run at address `at`, and ends with a
 * jump to the rest of the function. Returns the bytes written, 0: it cannot be moved so far. */
size_t entry_code_move(const uint8_t *function, const struct entry_beginning *beginning,
                       uint8_t *to, uintptr_t at);

/* jmp rel32 from address `from`; false: it is too far. */
bool entry_code_jump(uint8_t *to, uintptr_t from, uintptr_t target);

#endif

/* Follows a call's result (call_result.h). An instruction is decoded into its prefixes, opcode and
 * operand; then its effect on the registers with the result is applied. */
#include "symbols/call_result.h"

#include <stdbool.h>
#include <string.h>

/* The machine's register numbers. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R11 = 11, REGISTERS = 16 };
enum { CALLER_SAVED = 1 << RAX | 1 << RCX | 1 << RDX | 1 << RSI | 1 << RDI | 0xf << R8 };

struct instruction {
    unsigned rex, prefix;                     /* 0: none */
    unsigned opcode;                          /* 0x0f00 and more: an opcode of two bytes */
    bool has_operand, is_memory, is_relative; /* to the next instruction */
    unsigned reg, rm; /* of is_memory: its base; REGISTERS: none, or scaled */
    int64_t offset;
    size_t bytes;
};

struct following {
    const uint8_t *code;
    size_t bytes, at;
    uint64_t address;
    uint32_t holds; /* bits: registers, by the machine's numbers */
};

/* ---- Taking apart ---------------------------------------------------------------------------- */

static int64_t call_result_number(const uint8_t *at, size_t bytes)
{
    int8_t small;
    int32_t large;
    memcpy(&small, at, sizeof small);
    if (bytes == 1)
        return small;
    memcpy(&large, at, sizeof large);
    return large;
}

/* The operand of ModRM at `at`. False: it is not whole. */
static bool call_result_operand(struct instruction *found, const uint8_t *code, size_t bytes,
                                size_t at)
{
    enum { SIB = 4, NO_BASE = 5 };
    if (at + 6 > bytes) /* with SIB and the longest distance */
        return false;
    unsigned mod = code[at] >> 6, rm = code[at] & 7;
    found->has_operand = true;
    found->reg = (code[at] >> 3 & 7) | (found->rex & 4) << 1;
    found->rm = rm | (found->rex & 1) << 3;
    found->is_memory = mod != 3;
    at++;
    if (found->is_memory && rm == SIB) {
        bool is_plain = (code[at] >> 3 & 7) == SIB && !(found->rex & 2);
        bool is_based = mod || (code[at] & 7) != NO_BASE;
        unsigned base = (code[at] & 7) | (found->rex & 1) << 3;
        found->rm = is_plain && is_based ? base : REGISTERS;
        at++;
        mod = is_based ? mod : 2;
    } else if (!mod && rm == NO_BASE) {
        found->is_relative = true;
        mod = 2;
    }
    size_t distance = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (at + distance > bytes)
        return false;
    found->offset = distance ? call_result_number(code + at, distance) : 0;
    found->bytes = at + distance;
    return true;
}

static bool call_result_has_operand(unsigned opcode)
{
    if (opcode >= 0x0f00)
        return (opcode & 0xf0) != 0x80;
    return opcode < 0x40 || (opcode >= 0x80 && opcode <= 0x8d) || opcode == 0xc6 ||
           opcode == 0xc7 || opcode == 0xff || opcode == 0x63 || opcode == 0xc1;
}

/* Bytes of the number behind the operand. */
static size_t call_result_immediate(const struct instruction *of)
{
    switch (of->opcode) {
    case 0x83:
    case 0xc6:
    case 0x80:
    case 0xc1:
    case 0x74:
    case 0x75:
    case 0xeb:
        return 1;
    case 0x81:
    case 0xc7:
        return of->prefix == 0x66 ? 2 : 4;
    case 0xe8:
    case 0xe9:
    case 0x0f84:
    case 0x0f85:
        return 4;
    default:
        if (of->opcode >= 0xb8 && of->opcode <= 0xbf)
            return of->rex & 8 ? 8 : of->prefix == 0x66 ? 2 : 4;
        return 0;
    }
}

static bool call_result_decode(struct instruction *found, const uint8_t *code, size_t bytes)
{
    size_t at = 0;
    *found = (struct instruction){0};
    if (bytes < 16)
        return false;
    if (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3)
        found->prefix = code[at++];
    if ((code[at] & 0xf0) == 0x40)
        found->rex = code[at++];
    found->opcode = code[at++];
    if (found->opcode == 0x0f)
        found->opcode = 0x0f00 | code[at++];
    found->bytes = at;
    if (call_result_has_operand(found->opcode) && !call_result_operand(found, code, bytes, at))
        return false;
    size_t immediate = call_result_immediate(found);
    if (found->bytes + immediate > bytes)
        return false;
    if (!found->has_operand && (immediate == 1 || immediate == 4))
        found->offset = call_result_number(code + found->bytes, immediate);
    found->bytes += immediate;
    return true;
}

/* ---- What it does ---------------------------------------------------------------------------- */

static bool call_result_holds(const struct following *following, unsigned number)
{
    return number < REGISTERS && following->holds >> number & 1;
}

static void call_result_set(struct following *following, unsigned number, bool holds)
{
    following->holds &= ~(1u << number);
    following->holds |= (uint32_t)holds << number;
}

static void call_result_store(const struct following *following, const struct instruction *of,
                              struct call_result_step *step)
{
    static const uint8_t in_dwarf[8] = {0, 2, 1, 3, 7, 6, 4, 5};
    if (of->is_relative) {
        step->store = CALL_RESULT_AT_ADDRESS;
        step->offset = (int64_t)(following->address + following->at + of->bytes) + of->offset;
    } else if (of->rm < REGISTERS && !call_result_holds(following, of->rm)) {
        step->store = CALL_RESULT_AT_REGISTER;
        step->base = of->rm < 8 ? in_dwarf[of->rm] : of->rm;
        step->offset = of->offset;
    }
}

/* mov of 64 bits, either way. */
static void call_result_move(struct following *following, const struct instruction *of,
                             struct call_result_step *step)
{
    bool is_load = of->opcode == 0x8b, is_whole = of->rex & 8;
    unsigned from = is_load ? of->rm : of->reg, to = is_load ? of->reg : of->rm;
    if (!of->is_memory)
        call_result_set(following, to, is_whole && call_result_holds(following, from));
    else if (is_load)
        call_result_set(following, to, false);
    else if (is_whole && call_result_holds(following, from))
        call_result_store(following, of, step);
}

/* Whether it is an instruction of SSE that leaves the general registers alone. */
static bool call_result_is_of_vectors(const struct instruction *of)
{
    static const uint8_t those[] = {
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x28, 0x29, 0x2a, 0x2e, 0x2f, 0x51, 0x54,
        0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60, 0x61, 0x62, 0x6c,
        0x6d, 0x6e, 0x6f, 0x7f, 0xd4, 0xd6, 0xdb, 0xe6, 0xeb, 0xef, 0xfa, 0xfe, 0x1f};
    for (size_t i = 0; i < sizeof those; i++)
        if (of->opcode == (0x0f00u | those[i]))
            return true;
    return of->opcode == 0x0f7e && of->is_memory;
}

/* Follows a jump forwards. False: the way ends. */
static bool call_result_jump(struct following *following, const struct instruction *of)
{
    int64_t to = (int64_t)(following->at + of->bytes) + of->offset;
    if (to < (int64_t)following->at || to >= (int64_t)following->bytes)
        return false;
    following->at = (size_t)to - of->bytes; /* the caller adds of->bytes */
    return true;
}

static void call_result_call(struct following *following, const struct instruction *of,
                             struct call_result_step *step)
{
    if (of->opcode == 0xe8 && call_result_holds(following, RDI))
        step->called = following->address + following->at + of->bytes + (uint64_t)of->offset;
    following->holds &= ~(uint32_t)CALLER_SAVED;
}

/* An instruction that only writes a register or memory. False: it is another one. */
static bool call_result_compute(struct following *following, const struct instruction *of)
{
    unsigned opcode = of->opcode;
    bool to_reg = opcode == 0x8d || opcode == 0x63 || (opcode < 0x40 && (opcode & 7) == 3) ||
                  opcode == 0x0fb6 || opcode == 0x0fb7 || opcode == 0x0fbe || opcode == 0x0fbf ||
                  opcode == 0x0faf;
    bool to_operand = opcode == 0xc7 || opcode == 0xc6 || opcode == 0x83 || opcode == 0x81 ||
                      opcode == 0x80 || opcode == 0x88 || opcode == 0xc1 ||
                      (opcode < 0x40 && (opcode & 7) == 1);
    bool only_compares =
        opcode == 0x85 || opcode == 0x84 || opcode == 0x39 || opcode == 0x3b ||
        ((opcode == 0x83 || opcode == 0x81 || opcode == 0x80) && (of->reg & 7) == 7);
    if (only_compares)
        return true;
    if (to_reg)
        call_result_set(following, of->reg, false);
    else if (to_operand && !of->is_memory)
        call_result_set(following, of->rm, false);
    return to_reg || to_operand;
}

static bool call_result_take(struct following *following, const struct instruction *of,
                             struct call_result_step *step)
{
    switch (of->opcode) {
    case 0x89:
    case 0x8b:
        call_result_move(following, of, step);
        return true;
    case 0x90:
    case 0x74: /* je: not taken, because the result is not NULL */
    case 0x0f84:
        return true;
    case 0x75: /* jne */
    case 0x0f85:
    case 0xeb:
    case 0xe9:
        return call_result_jump(following, of);
    case 0xe8:
        call_result_call(following, of, step);
        return true;
    case 0xff:
        call_result_call(following, of, step);
        return (of->reg & 7) == 2;
    default:
        break;
    }
    if (of->opcode >= 0xb8 && of->opcode <= 0xbf) {
        call_result_set(following, (of->opcode & 7) | (of->rex & 1) << 3, false);
        return true;
    }
    if (of->opcode >= 0x50 && of->opcode <= 0x57) /* push */
        return true;
    return call_result_is_of_vectors(of) || call_result_compute(following, of);
}

/* ---- The way --------------------------------------------------------------------------------- */

static uint32_t call_result_in_dwarf(uint32_t holds)
{
    static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5};
    uint32_t bits = holds & 0xff00;
    for (unsigned i = 0; i < 8; i++)
        bits |= (holds >> i & 1) << numbers[i];
    return bits;
}

void call_result_follow(struct call_result *result, const uint8_t *code, size_t bytes,
                        uint64_t address)
{
    *result = (struct call_result){0};
#ifdef __x86_64__
    struct following following = {code, bytes, 0, address, 1 << RAX};
    struct instruction of;
    while (following.holds && result->count < CALL_RESULT_STEPS) {
        struct call_result_step *step = &result->steps[result->count++];
        *step = (struct call_result_step){.address = address + following.at,
                                          .registers = call_result_in_dwarf(following.holds)};
        if (!call_result_decode(&of, code + following.at, bytes - following.at) ||
            !call_result_take(&following, &of, step))
            return;
        following.at += of.bytes;
    }
#endif
}

/* Follows a call's result (call_result.h). An instruction is decoded into its prefixes, opcode and
 * operand; then its effect on the registers with the result is applied. Where a branch does not
 * depend on the result, one way is followed to its end, then the other. */
#include "symbols/call_result.h"

#include <stdbool.h>
#include <string.h>

/* The machine's register numbers. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R11 = 11, REGISTERS = 16, MOST_FORKS = 8 };
enum { CALLER_SAVED = 1 << RAX | 1 << RCX | 1 << RDX | 1 << RSI | 1 << RDI | 0xf << R8 };

struct instruction {
    unsigned rex, prefix;                     /* 0: none */
    bool is_of_segment;                       /* of thread-local memory */
    unsigned opcode;                          /* 0x0f00 and more: an opcode of two bytes */
    bool has_operand, is_memory, is_relative; /* to the next instruction */
    unsigned reg, rm; /* of is_memory: its base; REGISTERS: none, or scaled */
    int64_t offset;   /* of an operand in memory, or of a jump or call */
    size_t bytes;
};

struct following {
    const uint8_t *code; /* of `bytes` bytes, which begin at the address */
    size_t bytes, at;
    uint64_t address;
    uint32_t holds;     /* bits: registers, by the machine's numbers */
    bool is_tested;     /* the last comparison was whether the result is NULL */
    bool is_one_of_two; /* the way took a branch that does not depend on the result */
    unsigned way;
    struct fork {
        size_t at;
        uint32_t holds;
    } forks[MOST_FORKS]; /* branches that were not taken */
    size_t fork_count;
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

/* Opcodes below 0x40 are eight forms of each of eight operations. */
enum { FORM_NUMBER_TO_AL = 4, FORM_NUMBER_TO_RAX = 5, FORMS_END = 0x40 };

static bool call_result_has_operand(unsigned opcode)
{
    if (opcode >= 0x0f00)
        return (opcode & 0xf0) != 0x80 && opcode != 0x0f0b && opcode != 0x0f05;
    if (opcode < FORMS_END)
        return (opcode & 7) < FORM_NUMBER_TO_AL;
    return (opcode >= 0x80 && opcode <= 0x8d) || opcode == 0x63 || opcode == 0x69 ||
           opcode == 0x6b || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
           (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7 ||
           opcode == 0xfe || opcode == 0xff;
}

/* Those with a number of one byte behind the operand, or a short jump. */
static bool call_result_has_byte(const struct instruction *of)
{
    static const unsigned those[] = {0x80,   0x83,   0x6a,   0x6b,   0xa8,   0xc0,   0xc1,
                                     0xc6,   0xeb,   0x0f70, 0x0f71, 0x0f72, 0x0f73, 0x0fba,
                                     0x0fc2, 0x0fc4, 0x0fc5, 0x0fc6, 0x0fa4, 0x0fac};
    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        if (of->opcode == those[i])
            return true;
    bool is_form = of->opcode < FORMS_END && (of->opcode & 7) == FORM_NUMBER_TO_AL;
    return is_form || (of->opcode & ~0xfu) == 0x70 || (of->opcode == 0xf6 && (of->reg & 7) < 2);
}

/* Bytes of the number behind the operand. */
static size_t call_result_immediate(const struct instruction *of)
{
    size_t whole = of->prefix == 0x66 ? 2 : 4;
    if (call_result_has_byte(of))
        return 1;
    if (of->opcode >= 0xb8 && of->opcode <= 0xbf)
        return of->rex & 8 ? 8 : whole;
    if (of->opcode == 0xe8 || of->opcode == 0xe9 || (of->opcode & ~0xfu) == 0x0f80)
        return 4;
    bool is_form = of->opcode < FORMS_END && (of->opcode & 7) == FORM_NUMBER_TO_RAX;
    bool is_test = of->opcode == 0xa9 || (of->opcode == 0xf7 && (of->reg & 7) < 2);
    bool is_other =
        of->opcode == 0x68 || of->opcode == 0x69 || of->opcode == 0x81 || of->opcode == 0xc7;
    return is_form || is_test || is_other ? whole : 0;
}

/* Prefixes and REX. Returns the opcode's place. */
static size_t call_result_prefixes(struct instruction *found, const uint8_t *code)
{
    size_t at = 0;
    for (; at < 4; at++)
        if (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3)
            found->prefix = code[at];
        else if (code[at] == 0x64)
            found->is_of_segment = true;
        else if (code[at] != 0x2e && code[at] != 0x3e) /* of no effect: in long nops */
            break;
    if ((code[at] & 0xf0) == 0x40)
        found->rex = code[at++];
    return at;
}

static bool call_result_decode(struct instruction *found, const uint8_t *code, size_t bytes)
{
    *found = (struct instruction){0};
    if (bytes < 16)
        return false;
    size_t at = call_result_prefixes(found, code);
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
    if (found->is_of_segment && found->is_memory)
        found->rm = REGISTERS;
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
    if (of->is_of_segment)
        return;
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

/* An instruction of SSE that leaves the general registers alone. False: it is another one. */
static bool call_result_take_vectors(struct following *following, const struct instruction *of)
{
    static const uint8_t those[] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x28,
                                    0x29, 0x2a, 0x2e, 0x2f, 0x51, 0x54, 0x55, 0x56, 0x57, 0x58,
                                    0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60, 0x61, 0x62,
                                    0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x73, 0x7f, 0xc2, 0xc6, 0xd4,
                                    0xd6, 0xdb, 0xe6, 0xeb, 0xef, 0xfa, 0xfe, 0x1e, 0x1f};
    if (of->opcode == 0x0f2e || of->opcode == 0x0f2f) /* ucomiss, comiss */
        following->is_tested = false;
    for (size_t i = 0; i < sizeof those; i++)
        if (of->opcode == (0x0f00u | those[i]))
            return true;
    return of->opcode == 0x0f7e && (of->is_memory || of->prefix == 0xf3);
}

/* False: the way ends. */
static bool call_result_target(const struct following *following, const struct instruction *of,
                               size_t *target)
{
    int64_t to = (int64_t)(following->at + of->bytes) + of->offset;
    *target = (size_t)to;
    return to >= 0 && to < (int64_t)following->bytes;
}

static bool call_result_jump(struct following *following, const struct instruction *of)
{
    size_t target;
    if (!call_result_target(following, of, &target))
        return false;
    following->at = target - of->bytes; /* the caller adds of->bytes */
    return true;
}

/* A jump on a condition. Where that is whether the result is NULL, the way goes on where it is not.
 * Else both branches are ways of the result, and the one not taken is kept for later. */
static bool call_result_branch(struct following *following, const struct instruction *of)
{
    enum { IF_EQUAL = 4, IF_UNEQUAL = 5 };
    unsigned condition = of->opcode & 0xf;
    bool jumps = condition == IF_UNEQUAL;
    size_t target, next = following->at + of->bytes;
    if (following->is_tested && (condition == IF_EQUAL || condition == IF_UNEQUAL))
        return !jumps || call_result_jump(following, of);
    following->is_one_of_two = true;
    if (!call_result_target(following, of, &target))
        return !jumps;
    if (following->fork_count < MOST_FORKS)
        following->forks[following->fork_count++] =
            (struct fork){jumps ? next : target, following->holds};
    return !jumps || call_result_jump(following, of);
}

static void call_result_call(struct following *following, const struct instruction *of,
                             struct call_result_step *step)
{
    if (of->opcode == 0xe8 && call_result_holds(following, RDI))
        step->called = following->address + following->at + of->bytes + (uint64_t)of->offset;
    following->holds &= ~(uint32_t)CALLER_SAVED;
}

/* Whether a jump nearby leads there. Bytes that only look like one count, too. */
static bool call_result_is_jumped_to(const struct following *following, size_t target)
{
    enum { NEARBY = 4096 };
    const uint8_t *code = following->code;
    size_t end = target + NEARBY < following->bytes ? target + NEARBY : following->bytes;
    for (size_t at = target > NEARBY ? target - NEARBY : 0; at + 6 < end; at++) {
        bool is_short = (code[at] & 0xf0) == 0x70 || code[at] == 0xeb;
        size_t opcode = code[at] == 0xe9                                    ? 1
                        : code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80 ? 2
                                                                            : 0;
        if ((is_short && at + 2 + (size_t)call_result_number(code + at + 1, 1) == target) ||
            (opcode &&
             at + opcode + 4 + (size_t)call_result_number(code + at + opcode, 4) == target))
            return true;
    }
    return false;
}

/* Whether the code behind the call is surely reached from it: a call that throws never returns,
 * and other code lies behind it, or a landing pad, which moves what was thrown and jumps. */
static bool call_result_returns(const struct following *following, size_t next)
{
    const uint8_t *code = following->code;
    if (!following->is_one_of_two)
        return true;
    bool is_pad = next + 16 < following->bytes && (code[next] & 0xfa) == 0x48 &&
                  code[next + 1] == 0x89 && (code[next + 2] & 0xf8) == 0xc0 &&
                  (code[next + 3] == 0xe9 || code[next + 3] == 0xeb);
    return !is_pad && !call_result_is_jumped_to(following, next);
}

enum effect { EFFECT_NONE, EFFECT_TO_REG, EFFECT_TO_OPERAND, EFFECT_ENDS };

static enum effect call_result_effect_of_two(const struct instruction *of)
{
    unsigned opcode = of->opcode & 0xff;
    bool to_reg = opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf ||
                  opcode == 0xaf || opcode == 0xb8 || opcode == 0xbc || opcode == 0xbd ||
                  opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xd7 ||
                  opcode == 0xc5 || (opcode & 0xf0) == 0x40;
    if (to_reg)
        return EFFECT_TO_REG;
    if (opcode == 0xa3 || (opcode == 0xba && (of->reg & 7) == 4)) /* bt */
        return EFFECT_NONE;
    return (opcode & 0xf0) == 0x90 || opcode == 0x7e || opcode == 0xba || opcode == 0xa4 ||
                   opcode == 0xac
               ? EFFECT_TO_OPERAND
               : EFFECT_ENDS;
}

/* Of opcodes below 0x40: an operation's forms are operand and register, register and operand. */
static enum effect call_result_effect_of_form(const struct instruction *of)
{
    enum { COMPARE = 0x38, TO_REG = 2 };
    if ((of->opcode & 7) > FORM_NUMBER_TO_RAX)
        return EFFECT_ENDS;
    if ((of->opcode & 0x38) == COMPARE)
        return EFFECT_NONE;
    return of->opcode & TO_REG ? EFFECT_TO_REG : EFFECT_TO_OPERAND;
}

static enum effect call_result_effect(const struct instruction *of)
{
    if (of->opcode >= 0x0f00)
        return call_result_effect_of_two(of);
    if (of->opcode < FORMS_END)
        return call_result_effect_of_form(of);
    switch (of->opcode) {
    case 0x8d:
    case 0x8a:
    case 0x63:
    case 0x69:
    case 0x6b:
        return EFFECT_TO_REG;
    case 0x84: /* test */
    case 0x85:
    case 0x68: /* push */
    case 0x6a:
    case 0xa8:
    case 0xa9:
        return EFFECT_NONE;
    case 0x80:
    case 0x81:
    case 0x83:
        return (of->reg & 7) == 7 ? EFFECT_NONE : EFFECT_TO_OPERAND;
    case 0xf6:
    case 0xf7: /* test; not, neg; multiplications, divisions */
        return (of->reg & 7) < 2   ? EFFECT_NONE
               : (of->reg & 7) < 4 ? EFFECT_TO_OPERAND
                                   : EFFECT_ENDS;
    case 0x88:
    case 0xc6:
    case 0xc7:
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
    case 0xfe:
        return EFFECT_TO_OPERAND;
    default:
        return EFFECT_ENDS;
    }
}

/* An instruction that only computes. False: it is another one. */
static bool call_result_compute(struct following *following, const struct instruction *of)
{
    enum effect effect = call_result_effect(of);
    bool is_number = of->opcode < FORMS_END && !of->has_operand;
    bool is_test = of->opcode == 0x85 && !of->is_memory && of->reg == of->rm;
    bool keeps_flags = of->opcode == 0x8d || of->opcode == 0x88 || of->opcode == 0x8a ||
                       of->opcode == 0xc6 || of->opcode == 0xc7;
    if (!keeps_flags)
        following->is_tested = is_test && call_result_holds(following, of->reg);
    if (effect == EFFECT_TO_REG)
        call_result_set(following, is_number ? RAX : of->reg, false);
    else if (effect == EFFECT_TO_OPERAND && !of->is_memory)
        call_result_set(following, is_number ? RAX : of->rm, false);
    return effect != EFFECT_ENDS;
}

/* Instructions without an operand. False: it is another one, or the way ends. */
static bool call_result_take_bare(struct following *following, const struct instruction *of)
{
    unsigned number = (of->opcode & 7) | (of->rex & 1) << 3;
    if (of->opcode >= 0xb8 && of->opcode <= 0xbf) /* mov of a number */
        call_result_set(following, number, false);
    else if (of->opcode >= 0x58 && of->opcode <= 0x5f) /* pop */
        call_result_set(following, number, false);
    else if (of->opcode == 0x98) /* cltq */
        call_result_set(following, RAX, false);
    else if (of->opcode == 0x99) /* cqto */
        call_result_set(following, RDX, false);
    else if (of->opcode == 0xc9) /* leave */
        call_result_set(following, RBP, false);
    else /* push */
        return of->opcode >= 0x50 && of->opcode <= 0x57;
    return true;
}

/* inc, dec */
static bool call_result_take_step(struct following *following, const struct instruction *of)
{
    following->is_tested = false;
    if (!of->is_memory)
        call_result_set(following, of->rm, false);
    return true;
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
        return !(of->rex & 1);
    case 0xeb:
    case 0xe9:
        return call_result_jump(following, of);
    case 0xe8:
        call_result_call(following, of, step);
        return call_result_returns(following, following->at + of->bytes);
    case 0xff:
        if ((of->reg & 7) != 2)
            return (of->reg & 7) < 2 && call_result_take_step(following, of);
        call_result_call(following, of, step);
        return call_result_returns(following, following->at + of->bytes);
    case 0xc3:
        step->returns = call_result_holds(following, RAX);
        return false;
    default:
        break;
    }
    if ((of->opcode & ~0xfu) == 0x70 || (of->opcode & ~0xfu) == 0x0f80) {
        step->branches = true;
        return call_result_branch(following, of);
    }
    return call_result_take_bare(following, of) || call_result_take_vectors(following, of) ||
           call_result_compute(following, of);
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

/* Whether the way has come to where it was before, with the result in the same registers. */
static bool call_result_was_there(const struct call_result *result)
{
    const struct call_result_step *last = &result->steps[result->count - 1];
    for (const struct call_result_step *step = result->steps; step < last; step++)
        if (step->address == last->address && step->registers == last->registers)
            return true;
    return false;
}

static void call_result_walk(struct following *following, struct call_result *result)
{
    struct instruction of;
    while (following->holds && result->count < CALL_RESULT_STEPS) {
        struct call_result_step *step = &result->steps[result->count++];
        *step = (struct call_result_step){.address = following->address + following->at,
                                          .registers = call_result_in_dwarf(following->holds),
                                          .way = following->way};
        if (call_result_was_there(result)) {
            result->count--;
            return;
        }
        if (!call_result_decode(&of, following->code + following->at,
                                following->bytes - following->at) ||
            !call_result_take(following, &of, step))
            return;
        following->at += of.bytes;
    }
}

void call_result_follow(struct call_result *result, const uint8_t *code, size_t bytes, size_t at,
                        uint64_t address)
{
    *result = (struct call_result){0};
#ifdef __x86_64__
    struct following following = {
        .code = code, .bytes = bytes, .at = at, .address = address, .holds = 1 << RAX};
    call_result_walk(&following, result);
    for (struct fork fork; following.fork_count;) {
        fork = following.forks[--following.fork_count];
        following.at = fork.at;
        following.holds = fork.holds;
        following.is_tested = false;
        following.is_one_of_two = true;
        following.way++;
        call_result_walk(&following, result);
    }
#endif
}

/* Instruction lengths by tables (entry_code.h): a class for each opcode byte says which operands
 * follow. An instruction that is not in them (AVX-512, rare system instructions) is unknown; a
 * function that begins with one is not hooked. Jumps into a function's beginning are searched in
 * all of its instructions, and behind an unknown one at every byte. */
#include "entry/entry_code.h"

#include <string.h>

/* ---- Lengths ----
 * Classes of opcodes:
 *   .  no operand bytes      m  ModRM          b  ModRM, imm8      z  ModRM, imm16/32
 *   i  imm8                  w  imm16/32       W  imm16            v  mov reg, imm16/32/64
 *   j  rel8                  J  rel32          e  imm16, imm8      o  moffs
 *   f  F6: imm8 if /0, /1    F  F7: imm16/32 if /0, /1             ?  not known here */
static const char entry_code_one_byte[257] =
    "mmmmiw??mmmmiw?0"  /* 00: 0F is the escape */
    "mmmmiw??mmmmiw??"  /* 10 */
    "mmmmiw??mmmmiw??"  /* 20 */
    "mmmmiw??mmmmiw??"  /* 30 */
    "????????????????"  /* 40: REX, read before */
    "................"  /* 50: push, pop */
    "???m????wzib????"  /* 60: movsxd; push imm, imul */
    "jjjjjjjjjjjjjjjj"  /* 70: jcc */
    "bz?bmmmmmmmmmmmm"  /* 80 */
    "..........?....."  /* 90 */
    "oooo....iw......"  /* A0 */
    "iiiiiiiivvvvvvvv"  /* B0: mov reg, imm */
    "bbW.??bze.W..i??"  /* C0: ret, mov; C4 C5 VEX, read before */
    "mmmm???.mmmmmmmm"  /* D0: shifts, x87 */
    "jjjjiiiiJJ?j...."  /* E0: loop, call, jmp */
    "????..fF......mm"; /* F0 */

static const char entry_code_two_bytes[257] = "mm???.....?.?m??"  /* 00: syscall, ud2, prefetchw */
                                              "mmmmmmmmmmmmmmmm"  /* 10: moves, hints, nop */
                                              "????????mmmmmmmm"  /* 20 */
                                              ".......?????????"  /* 30: rdtsc and others */
                                              "mmmmmmmmmmmmmmmm"  /* 40: cmov */
                                              "mmmmmmmmmmmmmmmm"  /* 50 */
                                              "mmmmmmmmmmmmmmmm"  /* 60 */
                                              "bbbbmmm.????mmmm"  /* 70 */
                                              "JJJJJJJJJJJJJJJJ"  /* 80: jcc */
                                              "mmmmmmmmmmmmmmmm"  /* 90: setcc */
                                              "...mbm??...mbmmm"  /* A0 */
                                              "mmmmmmmmm?bmmmmm"  /* B0 */
                                              "mmbmbbbm........"  /* C0: bswap */
                                              "mmmmmmmmmmmmmmmm"  /* D0 */
                                              "mmmmmmmmmmmmmmmm"  /* E0 */
                                              "mmmmmmmmmmmmmmmm"; /* F0 */

struct entry_code_reading {
    const uint8_t *code;
    size_t left;
    unsigned at;
    bool wide, narrow; /* REX.W; 66 */
    struct entry_instruction *instruction;
};

static bool entry_code_has(const struct entry_code_reading *reading, unsigned bytes)
{
    return reading->at + bytes <= reading->left && reading->at + bytes <= 15;
}

static void entry_code_read_prefixes(struct entry_code_reading *reading)
{
    for (; entry_code_has(reading, 1); reading->at++) {
        uint8_t byte = reading->code[reading->at];
        if (byte == 0x66)
            reading->narrow = true;
        else if (byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 && byte != 0x3e &&
                 byte != 0x26 && byte != 0x64 && byte != 0x65 && byte != 0xf0)
            break;
    }
    if (entry_code_has(reading, 1) && (reading->code[reading->at] & 0xf0) == 0x40)
        reading->wide = reading->code[reading->at++] & 8;
}

/* Reads ModRM with its SIB byte and displacement. Returns the ModRM byte; -1: the code ends
 * before. */
static int entry_code_read_modrm(struct entry_code_reading *reading)
{
    if (!entry_code_has(reading, 1))
        return -1;
    uint8_t modrm = reading->code[reading->at++], mod = modrm >> 6, base = modrm & 7;
    unsigned more = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (mod != 3 && base == 4) {
        if (!entry_code_has(reading, 1))
            return -1;
        base = reading->code[reading->at++] & 7;
        if (mod == 0 && base == 5)
            more = 4;
    } else if (mod == 0 && base == 5) {
        more = 4;
        reading->instruction->relative_at = reading->at;
        reading->instruction->relative_bytes = 4;
    }
    if (!entry_code_has(reading, more))
        return -1;
    reading->at += more;
    return modrm;
}

static bool entry_code_take(struct entry_code_reading *reading, unsigned bytes)
{
    reading->at += bytes;
    return reading->at <= reading->left && reading->at <= 15;
}

static bool entry_code_take_relative(struct entry_code_reading *reading, unsigned bytes)
{
    reading->instruction->relative_at = reading->at;
    reading->instruction->relative_bytes = bytes;
    return entry_code_take(reading, bytes);
}

static bool entry_code_read_operands(struct entry_code_reading *reading, char class)
{
    unsigned word = reading->narrow ? 2 : 4;
    int modrm = 0;
    if (strchr("mbzfF", class) && (modrm = entry_code_read_modrm(reading)) < 0)
        return false;
    bool tests = (modrm >> 3 & 7) < 2; /* of F6 and F7: the only ones with an immediate */
    switch (class) {
    case '.':
    case 'm':
        return true;
    case 'b':
    case 'i':
        return entry_code_take(reading, 1);
    case 'z':
    case 'w':
        return entry_code_take(reading, word);
    case 'W':
        return entry_code_take(reading, 2);
    case 'v':
        return entry_code_take(reading, reading->wide ? 8 : word);
    case 'e':
        return entry_code_take(reading, 3);
    case 'o':
        return entry_code_take(reading, 8);
    case 'f':
        return entry_code_take(reading, tests ? 1 : 0);
    case 'F':
        return entry_code_take(reading, tests ? word : 0);
    case 'j':
        return entry_code_take_relative(reading, 1);
    case 'J':
        return entry_code_take_relative(reading, 4);
    }
    return false;
}

/* C5 (two bytes of prefix) and C4 (three): all have a ModRM byte but vzeroupper. */
static bool entry_code_read_vex(struct entry_code_reading *reading)
{
    unsigned map = 1, prefix = reading->code[reading->at] == 0xc5 ? 2 : 3;
    if (!entry_code_has(reading, prefix + 1))
        return false;
    if (prefix == 3)
        map = reading->code[reading->at + 1] & 31;
    reading->at += prefix;
    uint8_t opcode = reading->code[reading->at++];
    bool has_byte =
        map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                                  (opcode >= 0xc4 && opcode <= 0xc6)));
    if (map < 1 || map > 3)
        return false;
    return entry_code_read_operands(reading, map == 1 && opcode == 0x77 ? '.'
                                             : has_byte                 ? 'b'
                                                                        : 'm');
}

static enum entry_flow entry_code_flow_of_group(uint8_t modrm)
{
    unsigned operation = modrm >> 3 & 7; /* of FF: 2, 3 call, 4, 5 jmp */
    return operation == 4 || operation == 5   ? ENTRY_FLOW_END
           : operation == 2 || operation == 3 ? ENTRY_FLOW_CALL_THROUGH
                                              : ENTRY_FLOW_NONE;
}

static enum entry_flow entry_code_flow_of(uint8_t opcode, uint8_t modrm)
{
    if (opcode >= 0x70 && opcode <= 0x7f)
        return ENTRY_FLOW_IF;
    if (opcode >= 0xe0 && opcode <= 0xe3)
        return ENTRY_FLOW_LOOP;
    if (opcode == 0xe8)
        return ENTRY_FLOW_CALL;
    if (opcode == 0xe9 || opcode == 0xeb)
        return ENTRY_FLOW_JUMP;
    if (opcode == 0xff)
        return entry_code_flow_of_group(modrm);
    if (opcode == 0x90)
        return ENTRY_FLOW_NOP;
    bool ends = opcode == 0xc2 || opcode == 0xc3 || opcode == 0xca || opcode == 0xcb ||
                opcode == 0xcc || opcode == 0xf4;
    return ends ? ENTRY_FLOW_END : ENTRY_FLOW_NONE;
}

static bool entry_code_read_two(struct entry_code_reading *reading)
{
    struct entry_instruction *instruction = reading->instruction;
    if (!entry_code_has(reading, 1))
        return false;
    uint8_t opcode = reading->code[reading->at++];
    instruction->opcode_at = reading->at - 1;
    if (opcode == 0x38 || opcode == 0x3a) { /* three bytes of opcode */
        reading->at++;
        return entry_code_read_operands(reading, opcode == 0x3a ? 'b' : 'm');
    }
    if (!entry_code_read_operands(reading, entry_code_two_bytes[opcode]))
        return false;
    instruction->flow = (opcode & 0xf0) == 0x80 ? ENTRY_FLOW_IF
                        : opcode == 0x1f        ? ENTRY_FLOW_NOP
                        : opcode == 0x0b        ? ENTRY_FLOW_END
                                                : ENTRY_FLOW_NONE;
    return true;
}

static bool entry_code_read_one(struct entry_code_reading *reading)
{
    struct entry_instruction *instruction = reading->instruction;
    if (!entry_code_has(reading, 1))
        return false;
    uint8_t opcode = reading->code[reading->at];
    if (opcode == 0xc4 || opcode == 0xc5)
        return entry_code_read_vex(reading);
    instruction->opcode_at = reading->at++;
    if (opcode == 0x0f)
        return entry_code_read_two(reading);
    uint8_t modrm = entry_code_has(reading, 1) ? reading->code[reading->at] : 0;
    if (opcode == 0x8f && modrm >> 3 & 7) /* XOP's prefix, and no pop */
        return false;
    instruction->flow = entry_code_flow_of(opcode, modrm);
    return entry_code_read_operands(reading, entry_code_one_byte[opcode]);
}

static int64_t entry_code_relative(const uint8_t *code, unsigned bytes)
{
    int32_t value;
    if (bytes == 1)
        return (int8_t)*code;
    memcpy(&value, code, sizeof value);
    return value;
}

bool entry_code_read(const uint8_t *code, size_t left, struct entry_instruction *instruction)
{
    struct entry_code_reading reading = {.code = code, .left = left, .instruction = instruction};
    *instruction = (struct entry_instruction){0};
    entry_code_read_prefixes(&reading);
    if (!entry_code_read_one(&reading))
        return false;
    instruction->bytes = reading.at;
    if (instruction->relative_at)
        instruction->relative =
            entry_code_relative(code + instruction->relative_at, instruction->relative_bytes);
    return true;
}

/* ---- A function's beginning ---- */

static bool entry_code_jumps(const struct entry_instruction *instruction)
{
    return instruction->flow == ENTRY_FLOW_JUMP || instruction->flow == ENTRY_FLOW_IF ||
           instruction->flow == ENTRY_FLOW_LOOP || instruction->flow == ENTRY_FLOW_CALL;
}

/* Is the offset within the moved instructions, but not at the first one? No jump may go there. */
static bool entry_code_is_inner(const struct entry_beginning *beginning, int64_t offset)
{
    return offset > beginning->skipped && offset < beginning->skipped + beginning->bytes;
}

/* Behind an unknown instruction: could a jump into the beginning start at any byte? */
static bool entry_code_may_jump_in(const uint8_t *function, size_t from, size_t bytes,
                                   const struct entry_beginning *beginning)
{
    for (size_t at = from; at < bytes; at++) {
        uint8_t opcode = function[at];
        bool is_near =
            (opcode & 0xf0) == 0x70 || opcode == 0xeb || (opcode >= 0xe0 && opcode <= 0xe3);
        bool is_far = opcode == 0xe9 || opcode == 0xe8 ||
                      (at > 0 && function[at - 1] == 0x0f && (opcode & 0xf0) == 0x80);
        unsigned width = is_near ? 1 : 4;
        if ((!is_near && !is_far) || at + 1 + width > bytes)
            continue;
        int64_t target = (int64_t)(at + 1 + width) + entry_code_relative(function + at + 1, width);
        if (entry_code_is_inner(beginning, target))
            return true;
    }
    return false;
}

static bool entry_code_is_jumped_into(const uint8_t *function, size_t bytes,
                                      const struct entry_beginning *beginning)
{
    struct entry_instruction instruction;
    for (size_t at = 0; at < bytes; at += instruction.bytes) {
        if (!entry_code_read(function + at, bytes - at, &instruction))
            return entry_code_may_jump_in(function, at, bytes, beginning);
        int64_t target = (int64_t)(at + instruction.bytes) + instruction.relative;
        if (entry_code_jumps(&instruction) && entry_code_is_inner(beginning, target))
            return true;
    }
    return false;
}

/* Can this call be moved? A call has to be the last instruction that is moved, and it returns to
 * the function itself. These two forms are long enough that their return address is behind the
 * jump. Calls through a register or through other memory may be shorter. */
static bool entry_code_is_call(const struct entry_instruction *instruction)
{
    return (instruction->flow == ENTRY_FLOW_CALL && instruction->bytes == 5) ||
           (instruction->flow == ENTRY_FLOW_CALL_THROUGH && instruction->bytes == 6 &&
            instruction->relative_at);
}

static bool entry_code_is_movable(const struct entry_instruction *instruction)
{
    bool calls =
        instruction->flow == ENTRY_FLOW_CALL || instruction->flow == ENTRY_FLOW_CALL_THROUGH;
    return calls ? entry_code_is_call(instruction) : instruction->flow != ENTRY_FLOW_LOOP;
}

static bool entry_code_is_padding(const uint8_t *code, size_t left,
                                  struct entry_instruction *instruction)
{
    if (left && *code == 0xcc) {
        *instruction = (struct entry_instruction){.bytes = 1};
        return true;
    }
    return entry_code_read(code, left, instruction) && instruction->flow == ENTRY_FLOW_NOP;
}

/* Measures the instructions that give way to the jump. A function may end within the jump; then the
 * bytes up to the next multiple of 16 have to be padding. */
static enum entry_fault entry_code_measure(const uint8_t *function, size_t bytes,
                                           struct entry_beginning *beginning)
{
    struct entry_instruction instruction;
    unsigned at = beginning->skipped;
    bool ended = false;
    size_t padded = bytes + (-(uintptr_t)(function + bytes) & 15);
    while (at < beginning->skipped + ENTRY_JUMP_BYTES) {
        if (!ended && at >= bytes)
            return ENTRY_SHORT;
        bool known = ended ? entry_code_is_padding(function + at, padded - at, &instruction)
                           : entry_code_read(function + at, bytes - at, &instruction);
        if (!known)
            return ended ? ENTRY_SHORT : ENTRY_UNKNOWN;
        if (!ended && !entry_code_is_movable(&instruction))
            return ENTRY_UNKNOWN;
        ended |= instruction.flow == ENTRY_FLOW_END || instruction.flow == ENTRY_FLOW_JUMP;
        at += instruction.bytes;
    }
    beginning->bytes = at - beginning->skipped;
    return ENTRY_OK;
}

static unsigned entry_code_skips(const uint8_t *function, size_t bytes)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return bytes >= sizeof endbr64 && !memcmp(function, endbr64, sizeof endbr64) ? sizeof endbr64
                                                                                 : 0;
}

enum entry_fault entry_code_find(const uint8_t *function, size_t bytes,
                                 struct entry_beginning *beginning)
{
    *beginning = (struct entry_beginning){.skipped = entry_code_skips(function, bytes)};
    if (bytes <= beginning->skipped)
        return ENTRY_SHORT;
    enum entry_fault fault = entry_code_measure(function, bytes, beginning);
    if (fault != ENTRY_OK)
        return fault;
    return entry_code_is_jumped_into(function, bytes, beginning) ? ENTRY_JUMPED_TO : ENTRY_OK;
}

/* ---- Moving it ---- */

static bool entry_code_put_relative(uint8_t *to, uintptr_t end, uintptr_t target)
{
    int64_t distance = (int64_t)(target - end);
    int32_t value = (int32_t)distance;
    memcpy(to, &value, sizeof value);
    return value == distance;
}

bool entry_code_jump(uint8_t *to, uintptr_t from, uintptr_t target)
{
    *to = 0xe9;
    return entry_code_put_relative(to + 1, from + ENTRY_JUMP_BYTES, target);
}

/* Writes "push *place; jmp target" (or jmp *target), where `place` holds the address behind the
 * original call. So the called function returns to the function and not to the copy, and unwinding
 * from there finds the function. */
static size_t entry_code_move_call(const uint8_t *from, const struct entry_instruction *instruction,
                                   uint8_t *to, uintptr_t at)
{
    bool through = instruction->flow == ENTRY_FLOW_CALL_THROUGH;
    size_t jump_bytes = through ? 6 : 5;
    uint8_t push[6] = {0xff, 0x35, (uint8_t)jump_bytes, 0, 0, 0}, jump[2] = {0xff, 0x25};
    uintptr_t back = (uintptr_t)from + instruction->bytes,
              target = back + (uintptr_t)instruction->relative;
    memcpy(to, push, sizeof push);
    if (through)
        memcpy(to + 6, jump, sizeof jump);
    else
        to[6] = 0xe9;
    memcpy(to + 6 + jump_bytes, &back, sizeof back);
    return entry_code_put_relative(to + 2 + jump_bytes, at + 6 + jump_bytes, target)
               ? 6 + jump_bytes + sizeof back
               : 0;
}

/* Copies one instruction. Jumps get their long form. */
static size_t entry_code_move_one(const uint8_t *from, const struct entry_instruction *instruction,
                                  uint8_t *to, uintptr_t at)
{
    uintptr_t target = (uintptr_t)from + instruction->bytes + (uintptr_t)instruction->relative;
    if (entry_code_is_call(instruction))
        return entry_code_move_call(from, instruction, to, at);
    if (instruction->flow == ENTRY_FLOW_JUMP)
        return entry_code_jump(to, at, target) ? ENTRY_JUMP_BYTES : 0;
    if (instruction->flow == ENTRY_FLOW_IF) {
        to[0] = 0x0f;
        to[1] = 0x80 | (from[instruction->opcode_at] & 15);
        return entry_code_put_relative(to + 2, at + 6, target) ? 6 : 0;
    }
    memcpy(to, from, instruction->bytes);
    if (instruction->relative_at &&
        !entry_code_put_relative(to + instruction->relative_at, at + instruction->bytes, target))
        return 0;
    return instruction->bytes;
}

size_t entry_code_move(const uint8_t *function, const struct entry_beginning *beginning,
                       uint8_t *to, uintptr_t at)
{
    struct entry_instruction instruction;
    unsigned from = beginning->skipped, end = from + beginning->bytes;
    size_t written = 0;
    for (; from < end; from += instruction.bytes) {
        if (!entry_code_read(function + from, 15, &instruction) ||
            written + 20 + ENTRY_JUMP_BYTES > ENTRY_MOVED_BYTES)
            return 0;
        size_t bytes =
            entry_code_move_one(function + from, &instruction, to + written, at + written);
        if (!bytes)
            return 0;
        written += bytes;
        if (instruction.flow == ENTRY_FLOW_JUMP || instruction.flow == ENTRY_FLOW_END ||
            entry_code_is_call(&instruction))
            return written; /* only padding follows */
    }
    return entry_code_jump(to + written, at + written, (uintptr_t)function + end)
               ? written + ENTRY_JUMP_BYTES
               : 0;
}

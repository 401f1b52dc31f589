/* Follows the code from an address until a `ret` (entry_frame.h). Conditional jumps are taken
 * later, if the straight way finds no `ret`. Calls are skipped, because they leave the stack as it
 * was. A way ends at an instruction that changes the stack pointer in an unknown manner. */
#include "entry/entry_frame.h"

#include <string.h>
#include "entry/entry_code.h"

/* The structures are small, because the code may run on a small signal stack. */
enum { MOST_STEPS = 2048, MOST_WAYS = 24, MOST_SEEN = 96 };

/* The state of a way: what the instructions since the address have done. */
struct entry_frame_way {
    uintptr_t at;
    int32_t moved;   /* the stack pointer */
    int32_t pushed;  /* words below that were pushed on this way */
    int32_t bp_slot; /* the place, relative to the start, from which the caller's frame pointer was
                      * popped */
    bool bp_popped;
    bool from_bp; /* `moved` counts from the frame pointer that was there */
};

struct follow {
    const struct entry_code *code;
    struct entry_frame_way ways[MOST_WAYS]; /* ways still to be followed */
    uint32_t seen[MOST_SEEN];               /* targets of jumps, relative to the code's beginning */
    unsigned way_count, seen_count;
    bool is_callee; /* only whether the function returns is asked; its own calls are assumed to
                     * return */
    bool no_return; /* a way ended in a function that does not return */
    bool unsure;    /* a way could not be followed to its end */
};

/* ---- One instruction ---- */

struct decoded {
    uint8_t rex, opcode;
    const uint8_t *rest; /* behind the opcode */
};

static struct decoded entry_frame_decode(const uint8_t *code)
{
    struct decoded decoded = {0};
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0x3e)
        code++;
    if ((*code & 0xf0) == 0x40)
        decoded.rex = *code++;
    decoded.opcode = *code++;
    decoded.rest = code;
    return decoded;
}

static int32_t entry_frame_number(const uint8_t *at, bool wide)
{
    int32_t number;
    if (!wide)
        return (int8_t)*at;
    memcpy(&number, at, sizeof number);
    return number;
}

/* add or sub of a number to the stack pointer: 83 or 81, /0 or /5. */
static bool entry_frame_adds(const struct decoded *decoded, struct entry_frame_way *way)
{
    bool wide = decoded->opcode == 0x81;
    if ((decoded->opcode != 0x83 && !wide) || decoded->rex != 0x48 ||
        (decoded->rest[0] != 0xc4 && decoded->rest[0] != 0xec))
        return false;
    int32_t number = entry_frame_number(decoded->rest + 1, wide);
    way->moved += decoded->rest[0] == 0xc4 ? number : -number;
    return true;
}

static void entry_frame_count_from_bp(struct entry_frame_way *way, int32_t moved)
{
    way->from_bp = true;
    way->moved = moved;
    way->pushed = INT32_MIN;
}

/* lea to the stack pointer, from itself or from the frame pointer: 8d /4. False: it is no such
 * instruction. *known: its effect is understood. */
static bool entry_frame_leads(const struct decoded *decoded, struct entry_frame_way *way,
                              bool *known)
{
    uint8_t form = decoded->rest[0], mode = form >> 6;
    if (decoded->opcode != 0x8d || (form >> 3 & 7) != 4 || (decoded->rex & 4))
        return false;
    bool by_sp = (form & 7) == 4 && decoded->rest[1] == 0x24, by_bp = (form & 7) == 5;
    *known =
        decoded->rex == 0x48 && (mode == 1 || mode == 2) && (by_sp || (by_bp && !way->bp_popped));
    if (!*known)
        return true;
    int32_t number = entry_frame_number(decoded->rest + (by_sp ? 2 : 1), mode == 2);
    if (by_bp)
        entry_frame_count_from_bp(way, number);
    else
        way->moved += number;
    return true;
}

static void entry_frame_push(struct entry_frame_way *way)
{
    if (way->moved > way->pushed)
        way->pushed = way->moved;
    way->moved -= 8;
}

static bool entry_frame_pops(const struct decoded *decoded, struct entry_frame_way *way)
{
    bool pushes = (decoded->opcode >= 0x50 && decoded->opcode <= 0x57) || decoded->opcode == 0x68 ||
                  decoded->opcode == 0x6a ||
                  (decoded->opcode == 0xff && (decoded->rest[0] >> 3 & 7) == 6);
    if (pushes) {
        entry_frame_push(way);
    } else if (decoded->opcode >= 0x58 && decoded->opcode <= 0x5f) {
        /* Only a word from before this way is the caller's rbp: `push $1; pop %rbp` is a short mov,
         * and code that is jumped to may push rbp and pop it again. */
        if (decoded->opcode == 0x5d && !(decoded->rex & 1) && way->moved >= way->pushed) {
            way->bp_popped = true;
            way->bp_slot = way->moved;
        }
        if (decoded->opcode == 0x5c && !(decoded->rex & 1))
            return false;
        way->moved += 8;
    } else if (decoded->opcode == 0x8f) {
        way->moved += 8;
    }
    return true;
}

/* mov %rbp,%rsp, alone or as the first half of leave. */
static bool entry_frame_back_to_bp(struct entry_frame_way *way)
{
    if (way->bp_popped)
        return false;
    entry_frame_count_from_bp(way, 0);
    return true;
}

/* Does the instruction write to the stack pointer in another manner? mov, xchg, and, or with rsp as
 * the destination. */
static bool entry_frame_writes_sp(const struct decoded *decoded)
{
    uint8_t form = decoded->rest[0];
    bool direct = form >> 6 == 3;
    bool to_form = direct && (form & 7) == 4 && !(decoded->rex & 1);
    bool to_register = (form >> 3 & 7) == 4 && !(decoded->rex & 4);
    switch (decoded->opcode) {
    case 0x01:
    case 0x09:
    case 0x21:
    case 0x29:
    case 0x31:
    case 0x87:
    case 0x89:
    case 0x81:
    case 0x83:
        return to_form &&
               (decoded->opcode < 0x81 || decoded->opcode > 0x83 || (form >> 3 & 7) != 7);
    case 0x03:
    case 0x0b:
    case 0x23:
    case 0x2b:
    case 0x33:
    case 0x8b:
    case 0x63:
        return to_register;
    default:
        return false;
    }
}

/* Applies one instruction to the way. False: its effect on the stack pointer is not known. */
static bool entry_frame_apply(const uint8_t *code, struct entry_frame_way *way)
{
    struct decoded decoded = entry_frame_decode(code);
    bool known = true;
    if (entry_frame_adds(&decoded, way) || entry_frame_leads(&decoded, way, &known))
        return known;
    if ((decoded.opcode == 0x89 && decoded.rest[0] == 0xec && decoded.rex == 0x48) ||
        (decoded.opcode == 0x8b && decoded.rest[0] == 0xe5 && decoded.rex == 0x48))
        return entry_frame_back_to_bp(way);
    if (decoded.opcode == 0xc9) {
        if (!entry_frame_back_to_bp(way))
            return false;
        way->bp_popped = true;
        way->bp_slot = 0;
        way->moved = 8;
        return true;
    }
    return entry_frame_pops(&decoded, way) && !entry_frame_writes_sp(&decoded);
}

/* ---- Ways ---- */

static bool entry_frame_was_there(struct follow *follow, uintptr_t at)
{
    uint32_t place = (uint32_t)(at - follow->code->lo);
    for (unsigned i = 0; i < follow->seen_count; i++)
        if (follow->seen[i] == place)
            return true;
    if (follow->seen_count < MOST_SEEN)
        follow->seen[follow->seen_count++] = place;
    else
        follow->unsure = true;
    return false;
}

static void entry_frame_put_off(struct follow *follow, struct entry_frame_way way, uintptr_t target)
{
    if (entry_frame_was_there(follow, target))
        return;
    if (follow->way_count == MOST_WAYS) {
        follow->unsure = true;
        return;
    }
    way.at = target;
    follow->ways[follow->way_count++] = way;
}

static bool entry_frame_go(struct follow *follow, uintptr_t address,
                           struct entry_frame_way *at_return);

/* Does the function never return? It is in the list, or no way through it ends at a `ret` with the
 * stack as it was. (If it ends with a call of a function that does not return, its way runs on into
 * the next function.) */
static bool entry_frame_never_returns(const struct follow *follow, uintptr_t function)
{
    const struct entry_code *code = follow->code;
    struct follow callee = {.code = code, .is_callee = true};
    struct entry_frame_way end;
    for (unsigned i = 0; i < ENTRY_NO_RETURN_MOST && code->no_return[i]; i++)
        if (code->no_return[i] == function)
            return true;
    return !follow->is_callee && function >= code->lo && function < code->hi &&
           !entry_frame_go(&callee, function, &end) && !callee.unsure;
}

static bool entry_frame_is_return(const uint8_t *code)
{
    struct decoded decoded = entry_frame_decode(code);
    return decoded.opcode == 0xc3 || decoded.opcode == 0xc2;
}

static bool entry_frame_is_halt(const uint8_t *code)
{
    return code[0] == 0xf4 || (code[0] == 0x0f && code[1] == 0x0b) || code[0] == 0xcc;
}

/* Follows one instruction. False: the way is at its end; *found: at a `ret`. */
static bool entry_frame_step(struct follow *follow, struct entry_frame_way *way, bool *found)
{
    const struct entry_code *code = follow->code;
    struct entry_instruction instruction;
    const uint8_t *bytes = (const uint8_t *)way->at;
    if (way->at < code->lo || way->at >= code->hi ||
        !entry_code_read(bytes, code->hi - way->at, &instruction)) {
        follow->unsure = true;
        return false;
    }
    uintptr_t next = way->at + instruction.bytes;
    uintptr_t target = next + (uintptr_t)instruction.relative;
    switch (instruction.flow) {
    case ENTRY_FLOW_NOP:
    case ENTRY_FLOW_CALL_THROUGH:
        break;
    case ENTRY_FLOW_CALL:
        if (entry_frame_never_returns(follow, target)) {
            follow->no_return = true;
            return false;
        }
        break;
    case ENTRY_FLOW_JUMP:
        way->at = target;
        return !entry_frame_was_there(follow, target);
    case ENTRY_FLOW_IF:
    case ENTRY_FLOW_LOOP:
        entry_frame_put_off(follow, *way, target);
        break;
    case ENTRY_FLOW_END:
        *found = entry_frame_is_return(bytes);
        follow->no_return |= entry_frame_is_halt(bytes);
        follow->unsure |= !*found && !entry_frame_is_halt(bytes);
        return false;
    case ENTRY_FLOW_NONE:
        if (!entry_frame_apply(bytes, way)) {
            follow->unsure = true;
            return false;
        }
        break;
    }
    way->at = next;
    return true;
}

static void entry_frame_tell(const struct entry_frame_way *way, struct entry_frame *frame)
{
    frame->ends = false;
    frame->from_bp = way->from_bp;
    frame->cfa_offset = way->moved + 8;
    frame->bp_saved = way->bp_popped;
    frame->bp_offset = way->bp_popped ? way->bp_slot - frame->cfa_offset : 0;
}

/* Is the `ret` one that fits? From a function's beginning the stack has to be where it was. */
static bool entry_frame_is_end(const struct follow *follow, const struct entry_frame_way *way)
{
    return follow->is_callee ? way->from_bp || way->moved == 0 : way->from_bp || way->moved >= 0;
}

/* Follows all ways until a `ret` that fits. False: there is none. */
static bool entry_frame_go(struct follow *follow, uintptr_t address,
                           struct entry_frame_way *at_return)
{
    unsigned steps = 0;
    follow->ways[follow->way_count++] = (struct entry_frame_way){.at = address};
    while (follow->way_count) {
        bool found = false;
        *at_return = follow->ways[--follow->way_count];
        while (steps < MOST_STEPS && entry_frame_step(follow, at_return, &found))
            steps++;
        follow->unsure |= steps == MOST_STEPS;
        if (found && entry_frame_is_end(follow, at_return))
            return true;
    }
    return false;
}

/* Is the address behind a call of a function that never returns? Then the code there belongs to
 * something else. */
static bool entry_frame_is_beyond_end(const struct follow *follow, uintptr_t address)
{
    int32_t distance;
    const uint8_t *call = (const uint8_t *)address - 5;
    if (address - follow->code->lo < 5 || *call != 0xe8)
        return false;
    memcpy(&distance, call + 1, sizeof distance);
    return entry_frame_never_returns(follow, address + (uintptr_t)(intptr_t)distance);
}

bool entry_frame_find(const struct entry_code *code, uintptr_t address, struct entry_frame *frame)
{
    struct follow follow = {.code = code};
    struct entry_frame_way end;
    *frame = (struct entry_frame){0};
    if (address < code->lo || address >= code->hi || entry_frame_is_beyond_end(&follow, address))
        return false;
    bool found = entry_frame_go(&follow, address, &end);
    if (found)
        entry_frame_tell(&end, frame);
    frame->ends = !found && follow.no_return && !follow.unsure;
    return found || frame->ends;
}

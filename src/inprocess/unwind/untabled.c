/* Three kinds of code without tables are known. Code of GHC runs in an area that StgRun reserves on
 * the stack, and StgRun's table tells where the area ends. Code of Go keeps a frame pointer; where
 * it calls C code, that points to the goroutine's stack. At the beginning of a boost.context fiber,
 * the frame pointer holds the fiber's return address. A step that cannot be verified is not
 * taken. */
#include "unwind/untabled.h"

#if defined(__x86_64__)
#include "unwind/rare.h"
#include "unwind/unwind_modules.h"

#define MAX_SWITCHES   64u
#define SAME_STACK     ((uintptr_t)64 << 10) /* a greater distance means two stacks */
#define ROOM_BYTES     ((uintptr_t)16 << 10) /* of StgRun's frame: RESERVED_C_STACK_BYTES */
#define ROOM_MOST_USED 1024u                 /* of that area, by arguments of the call below */

/* ---- Return addresses ------------------------------------------------------------------------ */

/* The eight bytes before an address, the last one highest. The byte at the address is not read,
 * because a call may be the last instruction of its page. False: they are not readable. */
static bool untabled_read_before(uintptr_t ip, uint64_t *bytes)
{
    if (ip < PAGE_BYTES || ip >> 47 || !stack_word_readable(ip - 8)) {
        return false;
    }
    *bytes = arch_load(ip - 8);
    return true;
}

static uint8_t untabled_byte(uint64_t bytes, unsigned before)
{
    return (uint8_t)(bytes >> 8 * (8 - before));
}

/* The target of the direct call before `ip`; 0: it is another instruction. */
static uintptr_t untabled_direct_target(uintptr_t ip, uint64_t bytes)
{
    if (untabled_byte(bytes, 5) != 0xe8) {
        return 0;
    }
    return ip + (uintptr_t)(intptr_t)(int32_t)(bytes >> 32);
}

/* Is it `call *…` (ff /2) of `count` bytes, the length that its ModRM byte gives? */
static bool untabled_is_indirect_call(uint64_t bytes, unsigned count)
{
    uint8_t form = untabled_byte(bytes, count - 1);
    unsigned mode = form >> 6, base = form & 7, operand = 0;
    if (untabled_byte(bytes, count) != 0xff || (form >> 3 & 7) != 2) {
        return false;
    }
    if (mode != 3 && base == 4) {
        operand++; /* a SIB byte */
    }
    if (mode == 1) {
        operand++;
    } else if (mode == 2 || (mode == 0 && base == 5)) {
        operand += 4;
    }
    return count == 2 + operand;
}

static bool untabled_is_behind_call(uintptr_t ip)
{
    uint64_t bytes;
    if (!untabled_read_before(ip, &bytes)) {
        return false;
    }
    uintptr_t target = untabled_direct_target(ip, bytes);
    if (target && stack_word_readable(target)) {
        return true;
    }
    for (unsigned count = 2; count <= 7; count++) {
        if (untabled_is_indirect_call(bytes, count)) {
            return true;
        }
    }
    return false;
}

/* ---- Code of GHC ----------------------------------------------------------------------------- */

/* The row at the end of a function that jumps to its callee: it is valid for all code of the
 * callee. */
static bool untabled_find_row_of(uintptr_t function, struct cfi_row *row)
{
    uintptr_t lo, hi;
    return module_find_function(function, &lo, &hi) == 0 && lo == function &&
           module_find_row(hi, false, row) == 0 && !row->cfa_is_expression &&
           row->cfa_register == CFI_RSP && row->how[CFI_RIP] == CFI_OFFSET &&
           row->cfa_value + row->value[CFI_RIP] >= (int64_t)ROOM_BYTES;
}

/* If the word at `slot` is the return address of a call of StgRun, below whose frame the walk is:
 * steps to the caller. */
static bool untabled_leave_room(struct walk *walk, uintptr_t slot)
{
    struct rare_registers registers = {{0}, 1u << CFI_RSP};
    struct cfi_row row;
    uintptr_t ip = arch_load(slot);
    uint64_t bytes;
    if (module_find_row(ip, false, &row) != 0 || !untabled_read_before(ip, &bytes) ||
        !untabled_find_row_of(untabled_direct_target(ip, bytes), &row)) {
        return false;
    }
    registers.value[CFI_RSP] = slot - (uintptr_t)(row.cfa_value + row.value[CFI_RIP]);
    if (registers.value[CFI_RSP] < walk->sp || rare_apply(&row, &registers) != 0 ||
        registers.value[CFI_RIP] != ip || registers.value[CFI_RSP] <= slot) {
        return false;
    }
    walk->ip = ip;
    walk->sp = registers.value[CFI_RSP];
    walk->bp = registers.known >> CFI_RBP & 1 ? registers.value[CFI_RBP] : walk->bp;
    walk->exact = false;
    walk_place(walk);
    return true;
}

static bool untabled_step_out_of_room(struct walk *walk)
{
    uintptr_t slot = walk->sp + ROOM_BYTES, end = slot + ROOM_MOST_USED;
    while (slot < end && walk_reaches(walk, slot + 8)) {
        if (untabled_leave_room(walk, slot)) {
            return true;
        }
        slot += 8;
    }
    return false;
}

/* ---- Frame pointers that lead to another stack ----------------------------------------------- */

/* A frame record a little below the stack pointer is that of a function that has returned. */
static bool untabled_is_on_other_stack(const struct walk *walk, uintptr_t bp)
{
    const struct stack *own = walk->own;
    bool both_on_own = walk->on_own && own && bp >= own->lo && bp < own->hi;
    return !both_on_own && (bp > walk->sp || walk->sp - bp > SAME_STACK);
}

/* Is this pair a frame record? Code without a table saves its caller's frame pointer there, other
 * code saves any value. */
static bool untabled_is_record(uintptr_t outer, uintptr_t ip)
{
    struct cfi_row row;
    bool can_be_followed = outer % 8 == 0 && (!outer || stack_word_readable(outer));
    return (can_be_followed || module_find_row(ip, false, &row) == 0) &&
           untabled_is_behind_call(ip);
}

static bool untabled_switch_stack(struct walk *walk)
{
    uintptr_t bp = walk->bp;
    if (bp % 8 || ++walk->switches > MAX_SWITCHES || !untabled_is_on_other_stack(walk, bp) ||
        !stack_word_readable(bp) || !stack_word_readable(bp + 8) ||
        !untabled_is_record(arch_load(bp), arch_load(bp + 8))) {
        return false;
    }
    walk->ip = arch_load(bp + 8);
    walk->sp = bp + 16;
    walk->bp = arch_load(bp);
    walk->exact = false;
    walk_place(walk);
    return true;
}

enum walk_outcome untabled_step(struct walk *walk)
{
    if (walk->exact || !rules_follow_tables()) {
        return WALK_STUCK;
    }
    if (walk->bp == walk->ip) {
        return WALK_END; /* boost.context: make_fcontext() stores the return address there */
    }
    return untabled_step_out_of_room(walk) || untabled_switch_stack(walk) ? WALK_BARRIER
                                                                          : WALK_STUCK;
}

#else

enum walk_outcome untabled_step(struct walk *walk)
{
    (void)walk;
    return WALK_STUCK;
}

#endif

/* The general case of unwinding. A row may need registers that a walk does not track. Then a second
 * walk starts from our own frame, where all registers are known, and tracks all of them. */
#if defined(__x86_64__)
#include "unwind/rare.h"

#include <errno.h>
#include "unwind/unwind_modules.h"

#define EXPRESSION_STACK 24u
#define EXPRESSION_STEPS 256u
#define MAX_FRAMES       100000u

static bool rare_load(uintptr_t address, uintptr_t *word)
{
    if (!stack_word_readable(address)) {
        return false;
    }
    *word = arch_load(address);
    return true;
}

/* ---- Expressions: DWARF 5, section 2.5 ------------------------------------------------------- */

struct evaluation {
    uintptr_t stack[EXPRESSION_STACK];
    unsigned depth;
    bool failed;
    struct cfi_cursor code;
    const uint8_t *start;
    const struct rare_registers *registers;
};

static void rare_push(struct evaluation *run, uintptr_t value)
{
    if (run->depth == EXPRESSION_STACK) {
        run->failed = true;
        return;
    }
    run->stack[run->depth++] = value;
}

static uintptr_t rare_pop(struct evaluation *run)
{
    if (run->depth == 0) {
        run->failed = true;
        return 0;
    }
    return run->stack[--run->depth];
}

static void rare_pick(struct evaluation *run, uint64_t index)
{
    if (index >= run->depth) {
        run->failed = true;
        return;
    }
    rare_push(run, run->stack[run->depth - 1 - index]);
}

static void rare_push_register(struct evaluation *run, uint64_t number, int64_t offset)
{
    if (number >= CFI_COLUMNS || !(run->registers->known >> number & 1)) {
        run->failed = true;
        return;
    }
    rare_push(run, run->registers->value[number] + (uintptr_t)offset);
}

static void rare_dereference(struct evaluation *run, uint64_t bytes)
{
    uintptr_t word = 0;
    if (!rare_load(rare_pop(run), &word) ||
        (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
        run->failed = true;
        return;
    }
    rare_push(run, bytes == 8 ? word : word & ((1ull << 8 * bytes) - 1));
}

static void rare_jump(struct evaluation *run, int64_t distance)
{
    int64_t room_behind = run->start - run->code.at, room_ahead = run->code.end - run->code.at;
    if (distance < room_behind || distance > room_ahead) {
        run->failed = true;
        return;
    }
    run->code.at += distance;
}

static void rare_rotate(struct evaluation *run)
{
    uintptr_t first = rare_pop(run), second = rare_pop(run), third = rare_pop(run);
    rare_push(run, first);
    rare_push(run, third);
    rare_push(run, second);
}

static uintptr_t rare_divide(struct evaluation *run, intptr_t a, intptr_t b)
{
    if (b == 0 || (a == INTPTR_MIN && b == -1)) {
        run->failed = true;
        return 0;
    }
    return (uintptr_t)(a / b);
}

static uintptr_t rare_binary(struct evaluation *run, uint8_t opcode, uintptr_t a, uintptr_t b)
{
    intptr_t left = (intptr_t)a, right = (intptr_t)b;
    switch (opcode) {
    case 0x1a:
        return a & b;
    case 0x1b:
        return rare_divide(run, left, right);
    case 0x1c:
        return a - b;
    case 0x1d:
        run->failed |= b == 0;
        return b ? a % b : 0;
    case 0x1e:
        return a * b;
    case 0x21:
        return a | b;
    case 0x22:
        return a + b;
    case 0x24:
        return b < 64 ? a << b : 0;
    case 0x25:
        return b < 64 ? a >> b : 0;
    case 0x26:
        return (uintptr_t)(left >> (b < 64 ? b : 63));
    case 0x27:
        return a ^ b;
    case 0x29:
        return left == right;
    case 0x2a:
        return left >= right;
    case 0x2b:
        return left > right;
    case 0x2c:
        return left <= right;
    case 0x2d:
        return left < right;
    case 0x2e:
        return left != right;
    default:
        run->failed = true;
        return 0;
    }
}

static void rare_compute(struct evaluation *run, uint8_t opcode)
{
    uintptr_t b, a;
    switch (opcode) {
    case 0x19: /* abs */
        a = rare_pop(run);
        rare_push(run, (intptr_t)a < 0 ? 0 - a : a);
        break;
    case 0x1f: /* neg */
        rare_push(run, 0 - rare_pop(run));
        break;
    case 0x20: /* not */
        rare_push(run, ~rare_pop(run));
        break;
    case 0x23: /* plus_uconst */
        rare_push(run, rare_pop(run) + cfi_uleb(&run->code));
        break;
    default:
        b = rare_pop(run);
        a = rare_pop(run);
        rare_push(run, rare_binary(run, opcode, a, b));
    }
}

/* Constants: the opcodes go 1u 1s 2u 2s 4u 4s 8u 8s. */
static void rare_push_constant(struct evaluation *run, uint8_t opcode)
{
    unsigned bytes = 1u << (opcode - 0x08) / 2;
    uint64_t value = cfi_fixed(&run->code, bytes);
    unsigned unused = 64 - 8 * bytes;
    bool is_signed = opcode & 1;
    rare_push(run, is_signed ? (uintptr_t)((int64_t)(value << unused) >> unused) : value);
}

static void rare_execute_rest(struct evaluation *run, uint8_t opcode)
{
    uint64_t number;
    uintptr_t a, b;
    switch (opcode) {
    case 0x03: /* addr */
        rare_push(run, cfi_fixed(&run->code, 8));
        break;
    case 0x06:
        rare_dereference(run, 8);
        break;
    case 0x94: /* deref_size */
        rare_dereference(run, cfi_fixed(&run->code, 1));
        break;
    case 0x10:
        rare_push(run, cfi_uleb(&run->code));
        break;
    case 0x11:
        rare_push(run, (uintptr_t)cfi_sleb(&run->code));
        break;
    case 0x12: /* dup */
        rare_pick(run, 0);
        break;
    case 0x13: /* drop */
        rare_pop(run);
        break;
    case 0x14: /* over */
        rare_pick(run, 1);
        break;
    case 0x15:
        rare_pick(run, cfi_fixed(&run->code, 1));
        break;
    case 0x16: /* swap */
        a = rare_pop(run);
        b = rare_pop(run);
        rare_push(run, a);
        rare_push(run, b);
        break;
    case 0x17:
        rare_rotate(run);
        break;
    case 0x28: /* bra */
        number = cfi_fixed(&run->code, 2);
        if (rare_pop(run)) {
            rare_jump(run, (int16_t)number);
        }
        break;
    case 0x2f: /* skip */
        rare_jump(run, (int16_t)cfi_fixed(&run->code, 2));
        break;
    case 0x92: /* bregx */
        number = cfi_uleb(&run->code);
        rare_push_register(run, number, cfi_sleb(&run->code));
        break;
    case 0x96: /* nop */
        break;
    default:
        run->failed = true;
    }
}

static void rare_execute(struct evaluation *run)
{
    uint8_t opcode = (uint8_t)cfi_fixed(&run->code, 1);
    if (opcode >= 0x30 && opcode <= 0x4f) {
        rare_push(run, opcode - 0x30u);
    } else if (opcode >= 0x50 && opcode <= 0x6f) {
        rare_push_register(run, opcode - 0x50u, 0);
    } else if (opcode >= 0x70 && opcode <= 0x8f) {
        rare_push_register(run, opcode - 0x70u, cfi_sleb(&run->code));
    } else if (opcode >= 0x08 && opcode <= 0x0f) {
        rare_push_constant(run, opcode);
    } else if (opcode >= 0x19 && opcode <= 0x2e && opcode != 0x28) {
        rare_compute(run, opcode);
    } else {
        rare_execute_rest(run, opcode);
    }
}

bool rare_evaluate(struct cfi_cursor expression, const struct rare_registers *registers,
                   const uintptr_t *initial, uintptr_t *result)
{
    struct evaluation run;
    run.depth = 0;
    run.failed = false;
    run.code = expression;
    run.start = expression.at;
    run.registers = registers;
    if (initial) {
        rare_push(&run, *initial);
    }
    for (unsigned step = 0; run.code.at < run.code.end; step++) {
        if (run.failed || run.code.bad || step == EXPRESSION_STEPS) {
            return false;
        }
        rare_execute(&run);
    }
    *result = rare_pop(&run);
    return !run.failed && !run.code.bad;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool rare_is_known(const struct rare_registers *registers, uint64_t number)
{
    return number < CFI_COLUMNS && registers->known >> number & 1;
}

static int rare_find_cfa(const struct cfi_row *row, const struct rare_registers *registers,
                         uintptr_t *cfa)
{
    if (row->cfa_is_expression) {
        return rare_evaluate(cfi_expression(row->cfa_value), registers, NULL, cfa) ? 0 : -ENOENT;
    }
    if (!rare_is_known(registers, row->cfa_register)) {
        return -ENOENT;
    }
    *cfa = registers->value[row->cfa_register] + (uintptr_t)row->cfa_value;
    return 0;
}

/* A function of gcc's that realigns its stack saves rbp at (rbp). Its table does not say when the
 * epilogue (leave; lea -8(%r10), %rsp; ret) has restored rbp. During these two or three
 * instructions, which only a signal can interrupt, rbp is the caller's and points outside of this
 * frame. */
static bool rare_restored_already(const struct rare_registers *registers, uintptr_t cfa,
                                  unsigned number, uintptr_t saved_at)
{
    uintptr_t sp = registers->value[CFI_RSP];
    return number == CFI_RBP && saved_at == registers->value[CFI_RBP] && saved_at - sp >= cfa - sp;
}

/* The caller's value of one register; false: unknown. */
static bool rare_find_register(const struct cfi_row *row, const struct rare_registers *registers,
                               uintptr_t cfa, unsigned number, uintptr_t *value)
{
    int64_t operand = row->value[number];
    switch (row->how[number]) {
    case CFI_SAME:
        *value = registers->value[number];
        return rare_is_known(registers, number);
    case CFI_OFFSET:
        return rare_load(cfa + (uintptr_t)operand, value);
    case CFI_VALUE_OFFSET:
        *value = cfa + (uintptr_t)operand;
        return true;
    case CFI_REGISTER:
        if (!rare_is_known(registers, (uint64_t)operand)) {
            return false;
        }
        *value = registers->value[operand];
        return true;
    case CFI_EXPRESSION:
        return rare_evaluate(cfi_expression(operand), registers, &cfa, value) &&
               (rare_restored_already(registers, cfa, number, *value) || rare_load(*value, value));
    case CFI_VALUE_EXPRESSION:
        return rare_evaluate(cfi_expression(operand), registers, &cfa, value);
    default:
        return false;
    }
}

int rare_apply(const struct cfi_row *row, struct rare_registers *registers)
{
    struct rare_registers caller = {{0}, 0};
    uintptr_t cfa;
    int error = rare_find_cfa(row, registers, &cfa);
    if (error) {
        return error;
    }
    for (unsigned number = 0; number < CFI_COLUMNS; number++) {
        if (number == CFI_RSP && row->how[number] == CFI_SAME) {
            caller.value[number] = cfa;
            caller.known |= 1u << number;
        } else if (rare_find_register(row, registers, cfa, number, &caller.value[number])) {
            caller.known |= 1u << number;
        }
    }
    if (row->how[CFI_RIP] == CFI_SAME) {
        return -EINVAL; /* every call changes the return address */
    }
    *registers = caller;
    return rare_is_known(&caller, CFI_RIP) && rare_is_known(&caller, CFI_RSP) ? 0 : -ENOENT;
}

/* ---- All registers, from here to a frame further out ----------------------------------------- */

/* The registers at this instruction, and its address as the pc. */
#define REGISTERS_HERE(registers)                                                                  \
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"                                                      \
                     "movq %%rbp, 48(%0)\n\t"                                                      \
                     "movq %%rsp, 56(%0)\n\t"                                                      \
                     "movq %%r12, 96(%0)\n\t"                                                      \
                     "movq %%r13, 104(%0)\n\t"                                                     \
                     "movq %%r14, 112(%0)\n\t"                                                     \
                     "movq %%r15, 120(%0)\n\t"                                                     \
                     "leaq 1f(%%rip), %%rax\n"                                                     \
                     "1:\tmovq %%rax, 128(%0)"                                                     \
                     :                                                                             \
                     : "r"((registers)->value)                                                     \
                     : "rax", "memory")
#define CALLEE_SAVED (1u << CFI_RBX | 1u << CFI_RBP | 0xfu << 12)
#define ALWAYS_KNOWN (1u << CFI_RSP | 1u << CFI_RIP)

static bool rare_step_by_frame_pointer(struct rare_registers *registers)
{
    uintptr_t bp = registers->value[CFI_RBP];
    registers->known = ALWAYS_KNOWN | 1u << CFI_RBP;
    registers->value[CFI_RSP] = bp + 16;
    return rare_load(bp + 8, &registers->value[CFI_RIP]) &&
           rare_load(bp, &registers->value[CFI_RBP]);
}

static bool rare_step_all(struct rare_registers *registers, bool *exact)
{
    struct cfi_row row;
    int error = module_find_row(registers->value[CFI_RIP], *exact, &row);
    if (error == -ENOENT) {
        *exact = false;
        return rare_step_by_frame_pointer(registers);
    }
    *exact = row.signal;
    return error == 0 && row.how[CFI_RIP] != CFI_UNDEFINED && rare_apply(&row, registers) == 0;
}

static bool __attribute__((noinline))
rare_recover(const struct walk *walk, struct rare_registers *registers)
{
    bool exact = true;
    REGISTERS_HERE(registers);
    registers->known = CALLEE_SAVED | ALWAYS_KNOWN;
    for (unsigned frame = 0; frame < MAX_FRAMES; frame++) {
        if (!rare_step_all(registers, &exact)) {
            return false;
        }
        if (registers->value[CFI_RSP] == walk->sp && registers->value[CFI_RIP] == walk->ip) {
            return true;
        }
    }
    return false;
}

static void rare_take(const struct walk *walk, struct rare_registers *registers)
{
    *registers = (struct rare_registers){{0}, ALWAYS_KNOWN | 1u << CFI_RBP};
    registers->value[CFI_RIP] = walk->ip;
    registers->value[CFI_RSP] = walk->sp;
    registers->value[CFI_RBP] = walk->bp;
}

enum walk_outcome rare_step(struct walk *walk)
{
    struct rare_registers registers;
    struct cfi_row row;
    int error;
    if (module_find_row(walk->ip, walk->exact, &row) != 0) {
        return WALK_LOST;
    }
    rare_take(walk, &registers);
    error = rare_apply(&row, &registers);
    if (error == -ENOENT && rare_recover(walk, &registers)) {
        error = rare_apply(&row, &registers);
    }
    if (error) {
        return WALK_LOST;
    }
    walk->ip = registers.value[CFI_RIP];
    walk->sp = registers.value[CFI_RSP];
    walk->bp = registers.known >> CFI_RBP & 1 ? registers.value[CFI_RBP] : walk->bp;
    walk->exact = row.signal;
    walk_place(walk);
    return WALK_BARRIER;
}

/* ---- Who called exit() ---- */

static struct unwind_caller rare_caller(const struct rare_registers *registers)
{
    static const uint8_t kept[WIRE_KEPT_REGISTERS] = {CFI_RBX, CFI_RBP, 12, 13, 14, 15};
    struct unwind_caller caller = {.sp = registers->value[CFI_RSP]};
    for (size_t i = 0; i < WIRE_KEPT_REGISTERS; i++) {
        if (rare_is_known(registers, kept[i])) {
            caller.kept[i] = registers->value[kept[i]];
        }
    }
    return caller;
}

/* Is the code at `pc` in one of the functions that begin at `starts`? */
static bool rare_is_in(uintptr_t pc, const uintptr_t starts[UNWIND_EXITS])
{
    uintptr_t lo, hi;
    if (module_find_function(pc, &lo, &hi) != 0) {
        return false;
    }
    for (int i = 0; i < UNWIND_EXITS; i++) {
        if (starts[i] >= lo && starts[i] < hi) {
            return true;
        }
    }
    return false;
}

/* What lies between `caller` and `beyond` is the C library's. Where `beyond` has no caller, it is
 * _start(), and what lies between has called main(): it holds nothing of the program's. */
static struct unwind_caller rare_choose(struct rare_registers *registers, bool *exact,
                                        const struct unwind_caller *caller)
{
    struct unwind_caller beyond = rare_caller(registers);
    return caller->sp && rare_step_all(registers, exact) ? *caller : beyond;
}

struct unwind_caller __attribute__((noinline))
unwind_caller_of_exit(const struct unwind_start *start, const uintptr_t exits[UNWIND_EXITS])
{
    struct rare_registers registers;
    struct walk_beyond beyond;
    struct unwind_caller caller = {0};
    bool exact = true;
    REGISTERS_HERE(&registers);
    registers.known = CALLEE_SAVED | ALWAYS_KNOWN;
    if (!walk_beyond_init(&beyond, start, exits[0])) {
        return caller;
    }
    for (int frame = 0; frame < WALK_BEYOND_FRAMES; frame++) {
        bool called = frame > 0 && !caller.sp && rare_is_in(registers.value[CFI_RIP] - 1, exits);
        if (!rare_step_all(&registers, &exact)) {
            break;
        }
        if (called) {
            caller = rare_caller(&registers);
        }
        if (walk_is_beyond(&beyond, registers.value[CFI_RIP])) {
            return rare_choose(&registers, &exact, &caller);
        }
    }
    return (struct unwind_caller){0};
}

#endif

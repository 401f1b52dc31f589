/* The steps that are not plain: frames that end on another stack, big rules, realigned frames,
 * signal frames, lazy-binding stubs, code without entries, and rare rows. None is frequent, so each
 * checks every address that it reads. */
#include "unwind/walk.h"

#include "unwind/rare.h"
#include "unwind/arch.h"
#include "unwind/unwind.h"
#include "unwind/unwind_modules.h"
#include "unwind/untabled.h"

#define FOREIGN_FRAME_BYTES ((uintptr_t)16 << 20) /* the largest frame whose pages are tested */
#define NEAR_BYTES          ((uintptr_t)64 << 10)
#define RED_ZONE_BYTES      128u
#define MAX_SWITCHES        64u /* corrupt signal frames could form a cycle */

static uintptr_t walk_page_start(uintptr_t address)
{
    return address & -(uintptr_t)PAGE_BYTES;
}

/* The pages of a stack that is not the thread's own (alternate stacks, fibers) are tested in every
 * capture, because such stacks may be unmapped and mapped again unnoticed. */
void walk_place(struct walk *walk)
{
    struct stack *own = walk->own;
    walk->on_own = own && (stack_covers(own, walk->sp) || stack_prove(own, walk->sp));
    walk->hi = walk->on_own ? own->hi : walk_page_start(walk->sp);
}

bool walk_reaches(struct walk *walk, uintptr_t end)
{
    uintptr_t hole;
    if (end <= walk->hi) {
        return true;
    }
    if (walk->on_own || end - walk->hi > FOREIGN_FRAME_BYTES ||
        !stack_pages_readable(walk->hi, end, &hole)) {
        return false;
    }
    walk->hi = walk_page_start(end + PAGE_BYTES - 1);
    return true;
}

/* True if a frame can end at `cfa`. If rbp gives the end and it is far away, the end lies on
 * another stack, and the memory between is not tested. */
static bool walk_accepts(struct walk *walk, uintptr_t cfa, bool from_bp)
{
    uintptr_t most = from_bp ? NEAR_BYTES : FOREIGN_FRAME_BYTES;
    return cfa > walk->sp && (cfa <= walk->hi || cfa - walk->hi <= most) && walk_reaches(walk, cfa);
}

static bool walk_readable(struct walk *walk, uintptr_t address)
{
    return address >= walk->sp && address <= UINTPTR_MAX - 8 && walk_reaches(walk, address + 8);
}

static enum walk_outcome walk_fail(struct walk *walk, enum walk_outcome outcome, enum wire_mark why)
{
    walk->why = (uint8_t)why;
    return outcome;
}

/* Goes to the caller whose CFA is known. */
static enum walk_outcome walk_leave(struct walk *walk, uintptr_t cfa, uintptr_t bp)
{
    walk->bp = bp;
    walk->ip = arch_load(cfa - 8);
    walk->sp = cfa;
    walk->exact = false;
    return WALK_ON;
}

#if defined(__x86_64__)
/* Code that calls functions on another stack keeps its own frame in rbp, and its table says so:
 * rustc where it recurses deeply (psm), __morestack of -fsplit-stack. If rbp is wrong, the word
 * there is hardly a return address. `bp_slot` 0: bp is unchanged. */
static enum walk_outcome walk_step_over(struct walk *walk, uintptr_t cfa, uintptr_t bp_slot)
{
    struct cfi_row row;
    if (!rules_follow_tables() || cfa % 8 || (cfa <= walk->sp && ++walk->switches > MAX_SWITCHES) ||
        !stack_word_readable(cfa - 8) || (bp_slot && !stack_word_readable(bp_slot)) ||
        module_find_row(arch_load(cfa - 8), false, &row) != 0) {
        return walk_fail(walk, WALK_STUCK, WIRE_MARK_OFF_STACK);
    }
    walk_leave(walk, cfa, bp_slot ? arch_load(bp_slot) : walk->bp);
    walk_place(walk);
    return WALK_BARRIER;
}
#else
static enum walk_outcome walk_step_over(struct walk *walk, uintptr_t cfa, uintptr_t bp_slot)
{
    (void)cfa, (void)bp_slot;
    return walk_fail(walk, WALK_STUCK, WIRE_MARK_OFF_STACK);
}
#endif

/* A plain rule whose CFA is not above sp, or not within the memory that is known to be readable. */
static enum walk_outcome walk_step_plain(struct walk *walk, rule what)
{
    uintptr_t cfa = walk_rule_cfa(what, walk->sp, walk->bp), slot = walk_rule_bp_slot(what, cfa);
    if (what == RULE_FRAME_POINTER && walk->bp == 0) {
        return WALK_END;
    }
    if (!walk_accepts(walk, cfa, what & 1)) {
        return what & 1 ? walk_step_over(walk, cfa, slot)
                        : walk_fail(walk, WALK_STUCK, WIRE_MARK_OFF_STACK);
    }
    return walk_leave(walk, cfa, slot ? arch_load(slot) : walk->bp);
}

/* Between a function's pop of the frame pointer and its ret, the row still says that it is saved,
 * now just below the stack pointer. If a signal interrupted the function there, the word still has
 * its value, because the kernel does not write into the red zone. */
static bool walk_saved_bp_readable(struct walk *walk, uintptr_t slot)
{
    bool in_red_zone = slot < walk->sp && walk->sp - slot <= RED_ZONE_BYTES;
    return walk->exact && in_red_zone ? stack_word_readable(slot) : walk_readable(walk, slot);
}

static enum walk_outcome walk_step_big(struct walk *walk, const struct big_rule *big)
{
    uintptr_t cfa = (big->from_bp ? walk->bp : walk->sp) + (uintptr_t)big->cfa_offset;
    uintptr_t slot = cfa + (uintptr_t)big->bp_offset;
    if (!walk_accepts(walk, cfa, big->from_bp)) {
        return big->from_bp ? walk_step_over(walk, cfa, big->bp_saved ? slot : 0)
                            : walk_fail(walk, WALK_STUCK, WIRE_MARK_OFF_STACK);
    }
    if (big->bp_saved && !walk_saved_bp_readable(walk, slot)) {
        return walk_fail(walk, WALK_STUCK, WIRE_MARK_OFF_STACK);
    }
    return walk_leave(walk, cfa, big->bp_saved ? arch_load(slot) : walk->bp);
}

static enum walk_outcome walk_step_realigned(struct walk *walk, unsigned words)
{
    uintptr_t slot = walk->bp - 8 * (uintptr_t)words;
    uintptr_t cfa;
    if (!walk_readable(walk, slot) || !walk_readable(walk, walk->bp)) {
        return walk_fail(walk, WALK_LOST, WIRE_MARK_OFF_STACK);
    }
    cfa = arch_load(slot);
    if (!walk_accepts(walk, cfa, false)) {
        return walk_fail(walk, WALK_LOST, WIRE_MARK_OFF_STACK);
    }
    return walk_leave(walk, cfa, arch_load(walk->bp));
}

static enum walk_outcome walk_step_lazy_stub(struct walk *walk, unsigned limit)
{
    uintptr_t cfa = walk->sp + 8 + ((walk->ip & 15) >= limit ? 8 : 0);
    if (!walk_accepts(walk, cfa, false)) {
        return walk_fail(walk, WALK_LOST, WIRE_MARK_OFF_STACK);
    }
    walk_leave(walk, cfa, walk->bp);
    return WALK_BARRIER;
}

/* Mostly for JIT code. If the chain of frame pointers ends nowhere, the walk ends here with a
 * mark. */
static enum walk_outcome walk_step_frame_pointer(struct walk *walk)
{
    if (walk->bp == 0) {
        return WALK_END; /* psABI: zero marks the outermost frame */
    }
    if (walk->bp % 8 || walk->bp < walk->sp || !walk_accepts(walk, walk->bp + 16, false)) {
        enum walk_outcome outcome = untabled_step(walk);
        return outcome == WALK_STUCK ? walk_fail(walk, outcome, WIRE_MARK_NO_TABLE) : outcome;
    }
    return walk_leave(walk, walk->bp + 16, arch_load(walk->bp));
}

static enum walk_outcome walk_step_no_entry(struct walk *walk, rule *what)
{
    if (!walk->exact && rules_entry_appeared(walk->ip)) {
        *what = rules_find(walk->ip);
        if (*what == RULE_NO_ENTRY) {
            /* the module was unloaded again meanwhile */
            return walk_fail(walk, WALK_LOST, WIRE_MARK_UNWALKABLE);
        }
        return walk_rarely(walk, what);
    }
    *what = RULE_FRAME_POINTER;
    return walk_step_frame_pointer(walk);
}

#if defined(__x86_64__)
/* Words of the kernel's ucontext, at the stack pointer of a signal frame (<sys/ucontext.h>). */
enum { UCONTEXT_BP = 40 + 10 * 8, UCONTEXT_SP = 40 + 15 * 8, UCONTEXT_IP = 40 + 16 * 8 };

/* Steps to the interrupted code, which may run on another stack. */
static enum walk_outcome walk_step_signal(struct walk *walk)
{
    uintptr_t context = walk->sp;
    if (!walk_readable(walk, context + UCONTEXT_IP) || ++walk->switches > MAX_SWITCHES) {
        return walk_fail(walk, WALK_LOST, WIRE_MARK_LOST_SIGNAL);
    }
    walk->bp = arch_load(context + UCONTEXT_BP);
    walk->sp = arch_load(context + UCONTEXT_SP);
    walk->ip = arch_load(context + UCONTEXT_IP);
    walk->exact = true;
    walk_place(walk);
    return WALK_BARRIER;
}

static enum walk_outcome walk_step_rare(struct walk *walk)
{
    enum walk_outcome outcome = ++walk->switches > MAX_SWITCHES ? WALK_LOST : rare_step(walk);
    return outcome == WALK_LOST ? walk_fail(walk, outcome, WIRE_MARK_STRANGE_ROW) : outcome;
}
#else
/* The kernel's signal frame (arch/arm64/kernel/signal.c): siginfo, ucontext, and right behind them,
 * unless vector registers took more room than is kept for them, a frame record of x29 and x30. */
enum { FRAME_BYTES = 4688, FRAME_X29 = 544, FRAME_X30 = 552, FRAME_SP = 560, FRAME_PC = 568 };

/* x30 in the record is the interrupted function's return address, or a leftover of its last call.
 * So pc is taken from the context, if the context is where it should be. */
static enum walk_outcome walk_step_signal(struct walk *walk)
{
    uintptr_t record = walk->bp, frame = record - FRAME_BYTES;
    if (++walk->switches > MAX_SWITCHES || frame < walk->sp || !walk_readable(walk, record + 8) ||
        arch_load(record) != arch_load(frame + FRAME_X29) ||
        arch_load(record + 8) != arch_load(frame + FRAME_X30)) {
        return walk_step_frame_pointer(walk);
    }
    walk->bp = arch_load(frame + FRAME_X29);
    walk->sp = arch_load(frame + FRAME_SP);
    walk->ip = arch_load(frame + FRAME_PC);
    walk->exact = true;
    walk_place(walk);
    return WALK_BARRIER;
}

static enum walk_outcome walk_step_rare(struct walk *walk)
{
    return walk_fail(walk, WALK_LOST, WIRE_MARK_STRANGE_ROW);
}
#endif

enum walk_outcome walk_rarely(struct walk *walk, rule *what)
{
    if (*what < RULE_SPECIAL) {
        return walk_step_plain(walk, *what);
    }
    if (*what >= RULE_BIG) {
        return walk_step_big(walk, rules_big(*what));
    }
    if (rule_is_realigned(*what)) {
        return walk_step_realigned(walk, *what - RULE_REALIGNED);
    }
    switch (*what) {
    case RULE_END:
        return WALK_END;
    case RULE_SIGNAL:
        return walk_step_signal(walk);
    case RULE_NO_ENTRY:
        return walk_step_no_entry(walk, what);
    case RULE_PLT10:
        return walk_step_lazy_stub(walk, 10);
    case RULE_PLT11:
        return walk_step_lazy_stub(walk, 11);
    case RULE_RARE:
        return walk_step_rare(walk);
    default:
        return walk_fail(walk, WALK_LOST, WIRE_MARK_NOT_CODE);
    }
}

enum walk_outcome walk_step(struct walk *walk)
{
    rule what = rules_find_slow(walk->ip, walk->exact);
    uintptr_t cfa = walk_rule_cfa(what, walk->sp, walk->bp);
    if (what >= RULE_SPECIAL || cfa <= walk->sp || !walk_reaches(walk, cfa)) {
        return walk_rarely(walk, &what);
    }
    uintptr_t slot = walk_rule_bp_slot(what, cfa);
    return walk_leave(walk, cfa, slot ? arch_load(slot) : walk->bp);
}

/* ---- Beyond modules -------------------------------------------------------------------------- */

bool walk_beyond_init(struct walk_beyond *beyond, const struct unwind_start *start,
                      uintptr_t inside)
{
    return module_find_bounds(start->ip - 1, &beyond->first.lo, &beyond->first.hi) &&
           module_find_bounds(inside, &beyond->second.lo, &beyond->second.hi);
}

static bool walk_is_in(const struct walk_span *span, uintptr_t ip)
{
    return ip - 1 >= span->lo && ip - 1 < span->hi;
}

bool walk_is_beyond(const struct walk_beyond *beyond, uintptr_t ip)
{
    return !walk_is_in(&beyond->first, ip) && !walk_is_in(&beyond->second, ip);
}

#if !defined(__x86_64__)
struct unwind_caller unwind_caller_of_exit(const struct unwind_start *start,
                                           const uintptr_t exits[UNWIND_EXITS])
{
    struct walk walk = {.ip = start->ip, .sp = start->sp, .bp = start->bp};
    struct unwind_caller caller = {0};
    struct walk_beyond beyond;
    if (!walk_beyond_init(&beyond, start, exits[0])) {
        return caller;
    }
    walk_place(&walk);
    for (int i = 0; i < WALK_BEYOND_FRAMES; i++) {
        if (walk_is_beyond(&beyond, walk.ip)) {
            caller.sp = walk.sp;
            break;
        }
        if (walk_step(&walk) > WALK_BARRIER || !walk.ip) {
            break;
        }
    }
    return caller;
}
#endif

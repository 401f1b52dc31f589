/* Remember, then verify.
 *
 * The result of unwinding depends only on the registers at the start, on the words of the stack
 * that are read, and on the rules. So a walk stops when it meets a remembered frame. Then the words
 * that were read further out last time are compared. If all have their old values, a walk would
 * find the same frames again. At the first word that differs, walking continues, and it can meet a
 * remembered frame further out. An exception, a longjmp, an alloca or a tail call in between has
 * either changed one of these words, or it has not changed the result.
 *
 * All remembered words lie on the thread's own stack above the place of the walk, so they are
 * mapped. Frames on other stacks, signal frames, rare rows, and all frames further in than these
 * are walked but not remembered. */
#include "unwind/capture.h"

#include "unwind/paths.h"
#include "unwind/routes.h"
#include "unwind/verify.h"
#include "unwind/walk.h"

#define NOTHING UINT32_MAX
#define NOWHERE 1u /* no return slot: lower than all of them */

enum ending {
    ENDING_KNOWN, /* met a remembered frame, and what is outside of it is still so */
    ENDING_CLEAN,
    ENDING_ZERO, /* a return address of zero */
    ENDING_STUCK,
    ENDING_LOST,
    ENDING_CUT,
};

/* The result of a walk: fresh frames 0 … fresh - 1, then remembered frames known … 1. */
struct capture_route {
    enum ending ending;
    uint32_t fresh, known;
    uint32_t keep_from; /* fresh frames from here on may be remembered; NOTHING: none, ever */
};

/* ---- Walking --------------------------------------------------------------------------------- */

static enum ending capture_ending_of(enum walk_outcome outcome)
{
    return outcome == WALK_END ? ENDING_CLEAN : outcome == WALK_STUCK ? ENDING_STUCK : ENDING_LOST;
}

/* The number of frames at which the walk stops: those that are wanted, or those that there is room
 * for, with one place behind the last. */
static inline uint32_t capture_stop_at(const struct fresh *fresh, uint32_t max_depth)
{
    return max_depth < fresh->capacity ? max_depth : fresh->capacity - 1;
}

/* Walks from the innermost to the outermost frame. The state at the end of the walk is stored
 * behind the last fresh frame.
 *
 * The plain step is written out here with everything in registers: this loop is what a capture
 * costs when the stack has changed (with remembering, 9 ns per frame). */
static inline struct capture_route capture_find_route(struct unwind_memory *memory,
                                                      struct walk *walk, uint32_t max_depth)
{
    const struct remembered *frames = memory->remembered;
    struct fresh *fresh = memory->fresh;
    struct capture_route route = {ENDING_LOST, 0, 0, walk->on_own ? 0 : NOTHING};
    uint32_t known = walk->on_own ? memory->count : 0, count = 0;
    uintptr_t ip = walk->ip, sp = walk->sp, bp = walk->bp, hi = walk->hi;
    uintptr_t slot = sp - 8;
    uintptr_t next = frames->slots[known].at; /* where a remembered frame may be met */
    uint32_t stop = capture_stop_at(fresh, max_depth);
    for (;;) {
        uintptr_t cfa;
        rule what;
        if (slot >= next) {
            while (frames->slots[known].at < slot) {
                known--;
            }
            if (verify_meets(frames, known, slot, ip, bp)) {
                uint32_t changed = verify_innermost_change(frames, known);
                if (likely(!changed)) {
                    route.ending = ENDING_KNOWN;
                    break;
                }
                known = changed - 1; /* those up to `changed` are walked again, for their bp */
            }
            next = frames->slots[known].at;
        }
        if (unlikely(count == stop)) {
            if (count == max_depth) {
                route.ending = ENDING_CUT;
                break;
            }
            if (!capture_memory_grow_fresh(memory)) {
                memory->why = WIRE_MARK_UNWALKABLE;
                break;
            }
            fresh = memory->fresh;
            stop = capture_stop_at(fresh, max_depth);
        }
        what = unlikely(slot == NOWHERE) ? rules_find_slow(ip, true)
                                         : memory_rule(memory, arch_code_address(ip));
        fresh->frames[count] = (struct fresh_frame){ip, sp, bp, what};
        cfa = walk_rule_cfa(what, sp, bp);
        if (likely(what < RULE_SPECIAL && cfa > sp && cfa <= hi)) {
            uintptr_t saved;
            saved = arch_load(cfa - 8 - 8 * (uintptr_t)(what >> 12)); /* 0: some word, unused */
            bp = what >> 12 ? saved : bp;
            ip = arch_load(cfa - 8);
            sp = cfa;
            slot = sp - 8;
            count++;
        } else {
            enum walk_outcome outcome;
            walk->ip = ip, walk->sp = sp, walk->bp = bp;
            walk->exact = slot == NOWHERE;
            outcome = walk_rarely(walk, &fresh->frames[count++].what);
            if (outcome > WALK_BARRIER) {
                route.ending = capture_ending_of(outcome);
                memory->why = walk->why;
                break;
            }
            ip = walk->ip, sp = walk->sp, bp = walk->bp, hi = walk->hi;
            slot = walk->exact ? NOWHERE : sp - 8;
            if (outcome == WALK_BARRIER) {
                /* The next frame's ip was not read where it would be looked for. */
                route.keep_from = walk->on_own ? count + 1 : NOTHING;
                known = walk->on_own ? memory->count : 0;
                next = frames->slots[known].at;
            }
        }
        if (unlikely(!ip)) {
            route.ending = ENDING_ZERO;
            break;
        }
    }
    fresh->frames[count] = (struct fresh_frame){ip, sp, bp, RULE_BAD};
    route.fresh = count;
    route.known = route.ending == ENDING_KNOWN ? known : 0;
    return route;
}

/* ---- Remembering ----------------------------------------------------------------------------- */

/* What a frame's rule read: where the caller's bp was saved (0: not), and whether bp was used. */
struct reads {
    uintptr_t bp_slot;
    uintptr_t cfa_word; /* 0: the CFA was not read from memory */
    bool uses_bp;
};

static struct reads capture_special_reads(const struct fresh_frame *frame, uintptr_t cfa)
{
    rule what = frame->what;
    if (what >= RULE_BIG) {
        const struct big_rule *big = rules_big(what);
        return (struct reads){big->bp_saved ? cfa + (uintptr_t)big->bp_offset : 0, 0, big->from_bp};
    }
    if (rule_is_realigned(what)) {
        return (struct reads){frame->bp, frame->bp - 8 * (uintptr_t)(what - RULE_REALIGNED), true};
    }
    return (struct reads){0, 0, false};
}

static inline struct reads capture_reads_of(const struct fresh_frame *frame, uintptr_t cfa)
{
    if (unlikely(frame->what >= RULE_SPECIAL)) {
        return capture_special_reads(frame, cfa);
    }
    return (struct reads){walk_rule_bp_slot(frame->what, cfa), 0, frame->what & 1};
}

static inline void capture_add_extra(const struct remembered *frames, struct frame_state *state,
                                     uintptr_t at, uintptr_t value)
{
    frames->extras[++state->extras] = (struct word){at, value};
}

/* Puts fresh frame `frame`, whose caller's state is frame[1], on top of remembered frame i - 1. */
static void __attribute__((noinline))
capture_remember_frame(const struct remembered *frames, uint32_t i, const struct fresh_frame *frame,
                       uint64_t hash)
{
    const struct frame_state *outer = &frames->states[i - 1];
    struct reads reads = capture_reads_of(frame, frame[1].sp);
    struct frame_state state = {frame->bp, hash, 0, outer->extras, reads.uses_bp};
    if (outer->needs_bp) {
        if (reads.bp_slot) {
            capture_add_extra(frames, &state, reads.bp_slot, frame[1].bp);
        } else {
            state.needs_bp = true;
        }
    }
    if (unlikely(reads.cfa_word)) {
        capture_add_extra(frames, &state, reads.cfa_word, frame[1].sp);
    }
    frames->slots[i] = (struct word){frame->sp - 8, frame->ip};
    frames->states[i] = state;
}

/* The outermost frame has no caller. So the walk read nothing there but a return address of zero,
 * or it tested bp. */
static void capture_remember_outermost(struct unwind_memory *memory,
                                       const struct capture_route *route,
                                       const struct fresh_frame *frame, uint64_t hash)
{
    const struct remembered *frames = memory->remembered;
    struct frame_state state = {frame->bp, hash, 0, 0, false};
    if (route->ending == ENDING_ZERO) {
        struct reads reads = capture_reads_of(frame, frame[1].sp);
        state.needs_bp = reads.uses_bp;
        capture_add_extra(frames, &state, frame[1].sp - 8, 0);
        if (reads.cfa_word) {
            capture_add_extra(frames, &state, reads.cfa_word, frame[1].sp);
        }
    } else {
        state.needs_bp = route->ending == ENDING_STUCK || frame->what == RULE_FRAME_POINTER;
    }
    frames->slots[1] = (struct word){frame->sp - 8, frame->ip};
    frames->states[1] = state;
}

/* Appends the fresh frames that may be remembered, and hashes all of them. Most frames are plain,
 * and no outer frame depends on their bp; for these, capture_remember_frame() is written out
 * here. */
static inline uint64_t capture_remember(struct unwind_memory *memory,
                                        const struct capture_route *route, uint64_t hash)
{
    const struct remembered *frames = memory->remembered;
    const struct fresh_frame *fresh = memory->fresh->frames;
    uint32_t i = route->known, k = route->fresh, keep_from = route->keep_from;
    if (unlikely(!i) && k > keep_from) {
        k--;
        hash = path_hash(hash, arch_code_address(fresh[k].ip));
        capture_remember_outermost(memory, route, &fresh[k], hash);
        i++;
    }
    struct word *slot = &frames->slots[i];
    struct frame_state *state = &frames->states[i];
    while (k > keep_from) {
        const struct fresh_frame *frame = &fresh[--k];
        hash = path_hash(hash, arch_code_address(frame->ip));
        i++, slot++, state++;
        if (likely(frame->what < RULE_SPECIAL && !state[-1].needs_bp)) {
            *slot = (struct word){frame->sp - 8, frame->ip};
            state->bp = frame->bp;
            state->hash = hash;
            state->node = 0;
            state->extras = state[-1].extras;
            state->needs_bp = frame->what & 1;
        } else {
            capture_remember_frame(frames, i, frame, hash);
        }
    }
    memory->count = i;
    while (k--) {
        hash = path_hash(hash, arch_code_address(fresh[k].ip));
    }
    return hash;
}

static uint64_t capture_hash_fresh(const struct fresh *fresh, uint32_t count, uint64_t hash)
{
    while (count--) {
        hash = path_hash(hash, arch_code_address(fresh->frames[count].ip));
    }
    return hash;
}

static bool capture_worth_remembering(struct unwind_memory *memory,
                                      const struct capture_route *route)
{
    uint32_t frames;
    if (route->keep_from == NOTHING || route->ending == ENDING_LOST ||
        route->ending == ENDING_CUT) {
        return false;
    }
    frames = route->known + route->fresh -
             (route->keep_from < route->fresh ? route->keep_from : route->fresh);
    return frames < memory->remembered->capacity || capture_memory_grow_remembered(memory, frames);
}

/* ---- Naming ---------------------------------------------------------------------------------- */

/* Where a path begins: at the root, at a mark that stands for what could not be walked, or at a
 * remembered frame. */
struct base {
    uint64_t hash;
    uint32_t node; /* 0 is the root, or not known */
    uint32_t mark; /* 0: none */
};

static struct base capture_marked(enum wire_mark mark)
{
    return (struct base){path_hash(0, mark), 0, mark};
}

/* True: base->node is right. */
static bool capture_resolve_base(struct base *base)
{
    if (!base->node && base->hash) {
        base->node = base->mark ? paths_child(0, base->hash, base->mark) : paths_find(base->hash);
    }
    return base->node || !base->hash;
}

/* Each frame of a new path is looked up or put into a place that misses the caches. */
static void capture_expect_path(uint64_t hash, const struct fresh *fresh, uint32_t count)
{
    while (count--) {
        hash = path_hash(hash, arch_code_address(fresh->frames[count].ip));
        paths_expect(hash);
    }
}

/* Makes the nodes of a new path. 0: no memory, or the base has been retired meanwhile. */
static uint32_t capture_add_path(struct base base, const struct fresh *fresh, uint32_t count)
{
    uint64_t hash = base.hash;
    uint32_t node;
    capture_expect_path(hash, fresh, count);
    node = capture_resolve_base(&base) ? base.node : 0;
    if (!node && hash) {
        return 0;
    }
    while (count) {
        struct path_step steps[PATHS_RUN];
        uint32_t taken = 0;
        while (taken < PATHS_RUN && count) {
            uintptr_t ip = arch_code_address(fresh->frames[--count].ip);
            hash = path_hash(hash, ip);
            steps[taken++] = (struct path_step){hash, ip};
        }
        node = paths_make(node, steps, taken);
        if (!node) {
            break;
        }
    }
    return node;
}

/* A path that was not asked for lately. */
static uint32_t __attribute__((noinline))
capture_name_old_path(struct base base, uint64_t hash, const struct fresh *fresh, uint32_t count)
{
    uint32_t node = paths_find_old(hash, count ? arch_code_address(fresh->frames[0].ip) : 0);
    return node ? node : capture_add_path(base, fresh, count);
}

static inline uint32_t capture_name_path(struct base base, uint64_t hash, const struct fresh *fresh,
                                         uint32_t count)
{
    uint32_t node = !count && base.node ? base.node : paths_find_recent(hash);
    return likely(node) ? node : capture_name_old_path(base, hash, fresh, count);
}

/* ---- Capturing ------------------------------------------------------------------------------- */

static void capture_count_one(_Atomic uint64_t *counter)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + 1, memory_order_relaxed); /* one writer */
}

static struct base capture_base_of(const struct unwind_memory *memory,
                                   const struct capture_route *route)
{
    switch (route->ending) {
    case ENDING_KNOWN:
        return (struct base){memory->remembered->states[route->known].hash,
                             memory->remembered->states[route->known].node, 0};
    case ENDING_STUCK:
    case ENDING_LOST:
        return capture_marked(memory->why);
    case ENDING_CUT:
        return capture_marked(WIRE_MARK_MAX_DEPTH);
    default:
        return (struct base){0, 0, 0};
    }
}

/* Keeps the innermost max_depth frames of a path that a remembered base would make too long. */
static void capture_cut(struct unwind_memory *memory, struct capture_route *route,
                        uint32_t max_depth)
{
    const struct remembered *frames = memory->remembered;
    while (route->fresh < max_depth) {
        if (route->fresh + 1 >= memory->fresh->capacity && !capture_memory_grow_fresh(memory)) {
            break;
        }
        memory->fresh->frames[route->fresh++].ip = frames->slots[route->known--].value;
    }
    route->ending = ENDING_CUT;
}

static void capture_count_ending(struct unwind_memory *memory, const struct capture_route *route)
{
    if (route->ending == ENDING_KNOWN
            ? memory->unwalkable_root
            : route->ending == ENDING_STUCK || route->ending == ENDING_LOST) {
        capture_count_one(&memory->unwalkable);
    } else if (route->ending == ENDING_CUT) {
        capture_count_one(&memory->cut);
    }
}

static uint32_t capture_name_route(struct unwind_memory *memory, struct capture_route *route,
                                   uint32_t max_depth)
{
    struct base base;
    uint64_t hash;
    uint32_t node;
    if (route->ending == ENDING_KNOWN && route->fresh > max_depth - route->known) {
        memory->count = route->known;
        capture_cut(memory, route, max_depth);
    }
    capture_count_ending(memory, route);
    base = capture_base_of(memory, route);
    if (!capture_worth_remembering(memory, route)) {
        hash = capture_hash_fresh(memory->fresh, route->fresh, base.hash);
        return capture_name_path(base, hash, memory->fresh, route->fresh);
    }
    if (route->ending != ENDING_KNOWN) {
        memory->unwalkable_root = route->ending == ENDING_STUCK;
    }
    hash = capture_remember(memory, route, base.hash);
    node = capture_name_path(base, hash, memory->fresh, route->fresh);
    if (likely(node) && route->keep_from == 0) {
        memory->remembered->states[memory->count].node = node;
        if (route->ending == ENDING_KNOWN) {
            routes_learn(memory, route->known, node);
        }
    }
    return node;
}

static inline struct capture_route capture_start_route(struct unwind_memory *memory,
                                                       struct stack *own,
                                                       const struct unwind_start *start,
                                                       uint32_t max_depth)
{
    struct walk walk; /* `why` is for a walk that fails to write: an instruction less */
    walk.ip = start->ip;
    walk.sp = start->sp;
    walk.bp = start->bp;
    walk.own = own;
    walk.on_own = true;
    walk.exact = false;
    walk.switches = 0;
    if (likely(own && stack_covers(own, start->sp))) {
        walk.hi = own->hi;
    } else {
        walk_place(&walk);
    }
    return capture_find_route(memory, &walk, max_depth);
}

uint32_t capture(struct unwind_memory *memory, struct stack *own, const struct unwind_start *start,
                 uint32_t max_depth)
{
    struct capture_route route = capture_start_route(memory, own, start, max_depth);
    uint32_t node;
    node = capture_name_route(memory, &route, max_depth);
    if (unlikely(!node && route.ending == ENDING_KNOWN)) {
        memory->count = 0; /* the base's number may have been retired: walk everything again */
        route = capture_start_route(memory, own, start, max_depth);
        node = capture_name_route(memory, &route, max_depth);
    }
    return node;
}

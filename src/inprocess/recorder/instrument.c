/* Call paths and stack sizes by function hooks (instrument.h). Runs inside the profiled program, at
 * each entry and exit of its functions: no malloc, no stdio, errno kept. */
#include "recorder/instrument.h"

#include <errno.h>
#include <setjmp.h>
#include "recorder/hooks.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"
#include "unwind/shadow.h"

static struct {
    bool ready;  /* instrument_begin() has run */
    bool wanted; /* the session uses hooks */
    bool always; /* --stacks=instrument: paths are the shadow's wherever it has any */
    _Atomic bool seen;
} instrument;

/* ---- Paths ----------------------------------------------------------------------------------- */

static struct shadow *instrument_shadow_at(uintptr_t sp)
{
    struct shadow *shadow = shadow_current;
    if (likely(!shadow || stack_covers(&shadow->stack, sp)))
        return shadow;
    return shadow_find(sp, 0);
}

/* Unwinds, unless tables lack a function on the stack or the walk fails: then the shadow's path is
 * taken. */
static uint32_t instrument_unwind_or_shadow(struct unwind_memory *memory,
                                            const struct unwind_start *start, struct shadow *shadow)
{
    uint64_t failures = memory ? unwind_failures(memory) : 0;
    uint32_t node = 0;
    if (shadow_is_untold(shadow, start))
        node = shadow_capture(shadow, start);
    if (node)
        return node;
    node = unwind_capture(memory, start);
    if (memory && unwind_failures(memory) != failures) {
        uint32_t better = shadow_capture(shadow, start);
        node = better ? better : node;
    }
    return node;
}

/* thread_capture points to this after the first hook. */
static uint32_t instrument_capture(struct unwind_memory *memory, const struct unwind_start *start)
{
    struct shadow *shadow = instrument_shadow_at(start->sp);
    uint32_t node;
    if (!shadow)
        return unwind_capture(memory, start);
    if (!instrument.always)
        return instrument_unwind_or_shadow(memory, start, shadow);
    node = shadow_capture(shadow, start);
    return likely(node) ? node : unwind_capture(memory, start);
}

/* ---- The deepest point ----------------------------------------------------------------------- */

static uint32_t instrument_tid_of(const struct thread *thread)
{
    return atomic_load_explicit(&thread->ring->tid, memory_order_relaxed);
}

static void instrument_record_about(struct thread *to, unsigned kind, uint64_t bytes,
                                    uint64_t about, uint32_t node)
{
    struct recording recording = thread_recording_begin(to, (uintptr_t)__builtin_frame_address(0));
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 32, &ticks);
    if (!record) {
        thread_recording_abandon(&recording);
        return;
    }
    record->size_bytes = about & WIRE_ADDRESS_MASK;
    record->detail = wire_detail(node, 0, 0);
    thread_record_word0(record, kind, bytes);
    thread_record_publish(&recording, ticks);
}

static void instrument_left_deepest(struct shadow *shadow)
{
    struct thread *thread = thread_current;
    if (!thread || !thread->ring)
        thread = thread_begin();
    if (!thread || !shadow->peak)
        return;
    thread->shadow = shadow; /* in the child of a fork it is not set yet */
    shadow_keep_layers(shadow);
    uintptr_t sp = shadow->deepest, bytes = shadow->stack.hi - sp;
    uint32_t node = shadow_deepest_node(shadow);
    if (sp < thread->deepest)
        thread_stack_is(thread, sp, bytes, node);
    instrument_record_about(thread, WIRE_STACK_PEAK, bytes, instrument_tid_of(thread), node);
}

uintptr_t instrument_own_stack(uintptr_t sp)
{
    const struct shadow *shadow = shadow_own;
    return shadow && stack_covers(&shadow->stack, sp) ? shadow->stack.hi : 0;
}

static void instrument_sift(struct shadow_layer *layers, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && layers[child].function < layers[child + 1].function)
            child++;
        if (layers[root].function >= layers[child].function)
            return;
        struct shadow_layer layer = layers[root];
        layers[root] = layers[child];
        layers[child] = layer;
    }
}

/* Heap sort, because it needs no memory. */
static void instrument_sort_by_function(struct shadow_layer *layers, uint32_t count)
{
    for (uint32_t root = count / 2; root-- > 0;)
        instrument_sift(layers, root, count);
    for (uint32_t end = count; end > 1;) {
        struct shadow_layer layer = layers[--end];
        layers[end] = layers[0];
        layers[0] = layer;
        instrument_sift(layers, 0, end);
    }
}

/* Replaces stack pointers by the bytes from one frame to the next, and drops inlined functions.
 * Returns how many are left. */
static uint32_t instrument_measure(struct shadow_layer *layers, uint32_t count, uintptr_t base)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t sp = layers[i].sp;
        if (sp & SHADOW_INLINED)
            continue;
        layers[kept++] = (struct shadow_layer){layers[i].function, base > sp ? base - sp : 0};
        base = sp;
    }
    return kept;
}

/* Writes a record for each function. Overwrites `layers`. */
static void instrument_tell_layers(struct thread *to, uint32_t tid, struct shadow_layer *layers,
                                   uint32_t count, uintptr_t base)
{
    count = instrument_measure(layers, count, base);
    instrument_sort_by_function(layers, count);
    for (uint32_t i = 0, first; i < count && to->ring;) {
        struct shadow_layer sum = {layers[i].function, 0};
        for (first = i; i < count && layers[i].function == sum.function; i++)
            sum.sp += layers[i].sp;
        instrument_record_about(to, WIRE_STACK_LAYER, sum.sp, (uint64_t)tid << 32 | (i - first),
                                shadow_function_node(sum.function));
    }
}

void instrument_end_thread(struct thread *thread)
{
    struct shadow *shadow = thread->shadow;
    if (!shadow || shadow != shadow_own)
        return;
    shadow_settle(shadow);
    if (!thread->ring || !shadow->layer_count)
        return;
    instrument_tell_layers(thread, instrument_tid_of(thread), shadow->layers, shadow->layer_count,
                           shadow->stack.hi);
    shadow_forget_deepest(shadow);
}

/* Records the layers of another thread, which runs on, by a copy that is valid if the version has
 * not changed. If the other thread is at its deepest point now, only the depth is recorded, because
 * only that thread could find its path. */
static void instrument_tell_of_other(struct thread *to, struct thread *other)
{
    struct shadow *shadow = other->shadow;
    struct wire_ring *ring = other->ring;
    if (!shadow || other == to || !ring ||
        atomic_load_explicit(&ring->state, memory_order_relaxed) != WIRE_RING_ACTIVE)
        return;
    uintptr_t deepest = *(volatile uintptr_t *)&shadow->deepest, hi = shadow->stack.hi;
    bool stands_there = *(volatile uint32_t *)&shadow->peak != 0;
    uint32_t version = atomic_load(&shadow->version), count = shadow->layer_count;
    const struct shadow_layer *layers = shadow->layers;
    if (stands_there && deepest < hi) {
        instrument_record_about(to, WIRE_STACK_PEAK, hi - deepest, instrument_tid_of(other), 0);
        return; /* the layers are those of an earlier point */
    }
    struct shadow_layer *copy =
        count && count <= shadow->layer_capacity ? private_map(count * sizeof *copy) : NULL;
    if (!copy || version & 1)
        return;
    for (uint32_t i = 0; i < count; i++)
        copy[i] = layers[i];
    if (atomic_load(&shadow->version) == version)
        instrument_tell_layers(to, instrument_tid_of(other), copy, count, hi);
}

static void instrument_tell_of_other_thread(struct thread *other, void *to)
{
    instrument_tell_of_other(to, other);
}

void instrument_end(void)
{
    struct thread *thread = thread_current;
    if (!atomic_load(&instrument.seen) || !thread || !thread->ring)
        return;
    instrument_end_thread(thread);
    thread_each(instrument_tell_of_other_thread, thread);
}

/* ---- Beginning ------------------------------------------------------------------------------- */

void instrument_begin(const struct unwind_host *host, enum wire_stacks stacks, uint32_t max_depth)
{
    instrument.wanted = stacks == WIRE_STACKS_AUTO || stacks == WIRE_STACKS_INSTRUMENT;
    instrument.always = stacks == WIRE_STACKS_INSTRUMENT;
    shadow_init(host, max_depth, instrument_left_deepest);
    if (shadow_own) /* in the child of a fork */
        shadow_forget_deepest(shadow_own);
    instrument.ready = true;
}

/* Not if another function stands in front of unwind_capture() already (unwind_check.h). */
static void instrument_see(void)
{
    if (atomic_exchange(&instrument.seen, true))
        return;
    if (thread_capture == unwind_capture)
        thread_capture = instrument_capture;
}

/* Makes this thread's shadow at its first hook. False: no shadow is wanted, or there is no
 * memory. */
static bool instrument_begin_thread(void)
{
    struct thread *thread = thread_current;
    if (!thread || !thread->ring)
        thread = thread_begin();
    if (!thread || !thread->ring || !instrument.wanted)
        return false;
    uint64_t signals = signal_lock_block();
    if (!shadow_own)
        thread->shadow = shadow_begin_thread(thread->shadow);
    signal_lock_restore(signals);
    instrument_see();
    return shadow_own != NULL;
}

static __attribute__((noinline)) struct shadow *instrument_find(uintptr_t sp, uintptr_t site)
{
    if (!shadow_own && (!site || session_is_over() || (instrument.ready && !instrument.wanted)))
        return NULL;
    int saved_errno = errno;
    struct shadow *shadow = NULL;
    if (shadow_own || instrument_begin_thread())
        shadow = shadow_find(sp, site);
    errno = saved_errno;
    return shadow;
}

/* ---- The hooks ------------------------------------------------------------------------------- */

/* The caller's stack pointer at its call of the hook. */
#define CALLERS_SP() ((uintptr_t)__builtin_dwarf_cfa())

void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_enter(void *function, void *site)
{
    uintptr_t sp = CALLERS_SP(), at = (uintptr_t)__builtin_return_address(0);
    struct shadow *shadow = shadow_current;
    if (unlikely(!shadow || !stack_covers(&shadow->stack, sp))) {
        shadow = instrument_find(sp, (uintptr_t)site);
        if (!shadow)
            return;
    }
    shadow_enter(shadow, (uintptr_t)function, (uintptr_t)site, at, sp);
}
HOOKED(__cyg_profile_func_enter)

void __cyg_profile_func_exit(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site)
{
    uintptr_t sp = CALLERS_SP();
    struct shadow *shadow = shadow_current;
    (void)site;
    if (unlikely(!shadow || !stack_covers(&shadow->stack, sp))) {
        shadow = instrument_find(sp, 0);
        if (!shadow)
            return;
    }
    shadow_exit(shadow, (uintptr_t)function, sp);
}
HOOKED(__cyg_profile_func_exit)

/* ---- longjmp --------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GLIBC__)
/* glibc keeps the stack pointer in word 6 of a jmp_buf, mangled: xored with a secret of the
 * process, which is in the thread's control block, and rotated. */
static uintptr_t instrument_target_of(const void *environment)
{
    uintptr_t sp = ((const uintptr_t *)environment)[6], guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (sp >> 17 | sp << 47) ^ guard;
}
#else
static uintptr_t instrument_target_of(const void *environment)
{
    (void)environment;
    return 0;
}
#endif

void instrument_jump(const void *environment)
{
    int saved_errno = errno;
    uintptr_t sp = shadow_own ? instrument_target_of(environment) : 0;
    if (sp)
        shadow_jump(sp);
    errno = saved_errno;
}

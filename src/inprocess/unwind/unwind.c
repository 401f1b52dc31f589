/* The functions of unwind.h. They keep the list of the threads' memories, start captures with or
 * without a memory, and react to unloaded code. A generation number makes all memories void at
 * once. */
#include "unwind/unwind.h"

#include "unwind/capture.h"
#include "unwind/registered.h"
#include "unwind/routes.h"
#include "unwind/verify.h"
#include "unwind/paths.h"

#define FIRST_FRAMES 256u

static struct {
    const struct unwind_host *host;
    uint32_t max_depth;
    _Atomic uint32_t generation; /* a memory of another generation is void; never 0 */
    _Atomic(struct unwind_memory *) memories, scratches;
} unwind;

void unwind_init(const struct unwind_host *host, enum unwind_mode mode, uint32_t max_depth)
{
    unwind.host = host;
    unwind.max_depth = max_depth ? max_depth : UINT32_MAX;
    atomic_store(&unwind.generation, 1);
    atomic_store(&unwind.memories, NULL);
    atomic_store(&unwind.scratches, NULL);
    stack_note_main_thread();
    rules_init(mode, host);
    registered_init();
    paths_init(host);
}

/* ---- Memories -------------------------------------------------------------------------------- */

static struct remembered *unwind_remembered_new(uint32_t frames)
{
    size_t each = sizeof(struct word) * 3 + sizeof(struct frame_state);
    struct remembered *new = unwind.host->map_private(sizeof *new + each *((size_t)frames + 2));
    if (!new) {
        return NULL;
    }
    new->capacity = frames;
    new->slots = (struct word *)(new + 1);
    new->states = (struct frame_state *)(new->slots + frames);
    new->extras = (struct word *)(new->states + frames);
    new->slots[0].at = UINTPTR_MAX;
    return new;
}

bool capture_memory_grow_remembered(struct unwind_memory *memory, uint32_t frames)
{
    struct remembered *old = memory->remembered;
    struct remembered *new = unwind_remembered_new((frames + 1) * 2);
    if (!new) {
        return false;
    }
    for (uint32_t i = 0; i <= memory->count; i++) {
        new->slots[i] = old->slots[i];
        new->states[i] = old->states[i];
    }
    for (uint32_t i = 1; i <= old->states[memory->count].extras; i++) {
        new->extras[i] = old->extras[i];
    }
    atomic_signal_fence(memory_order_seq_cst);
    memory->remembered = new;
    return true;
}

static struct fresh *unwind_fresh_new(uint32_t frames)
{
    struct fresh *new = unwind.host->map_private(sizeof *new + frames * sizeof(struct fresh_frame));
    if (new) {
        new->capacity = frames;
    }
    return new;
}

bool capture_memory_grow_fresh(struct unwind_memory *memory)
{
    struct fresh *old = memory->fresh;
    struct fresh *new = unwind_fresh_new(old->capacity * 2);
    if (!new) {
        return false;
    }
    for (uint32_t i = 0; i < old->capacity; i++) {
        new->frames[i] = old->frames[i];
    }
    atomic_signal_fence(memory_order_seq_cst);
    memory->fresh = new;
    return true;
}

struct unwind_memory *unwind_memory_new(void)
{
    struct unwind_memory *memory = unwind.host->map_private(sizeof *memory);
    if (!memory) {
        return NULL;
    }
    memory->remembered = unwind_remembered_new(FIRST_FRAMES);
    memory->fresh = unwind_fresh_new(FIRST_FRAMES);
    if (!memory->remembered || !memory->fresh) {
        return NULL;
    }
    stack_note_main_thread(); /* if we were loaded late, any thread may have called unwind_init() */
    memory->next = atomic_load(&unwind.memories);
    while (!atomic_compare_exchange_weak(&unwind.memories, &memory->next, memory)) {
    }
    return memory;
}

void unwind_memory_forget(struct unwind_memory *memory)
{
    stack_note_main_thread();
    memory->count = 0;
    atomic_store_explicit(&memory->valid_for, 0, memory_order_relaxed);
}

static void unwind_forget_rules(struct unwind_memory *memory)
{
    for (uint32_t i = 0; i <= HOT_MASK; i++) {
        memory->hot[i] = 0;
    }
}

/* ---- Captures without memory: nested in a hook, or before a thread has one ------------------- */

static struct unwind_memory *unwind_scratch_new(uintptr_t thread)
{
    struct unwind_memory *scratch = unwind_memory_new();
    if (!scratch) {
        return NULL;
    }
    atomic_store(&scratch->user, thread);
    scratch->next_scratch = atomic_load(&unwind.scratches);
    while (!atomic_compare_exchange_weak(&unwind.scratches, &scratch->next_scratch, scratch)) {
    }
    return scratch;
}

static struct unwind_memory *unwind_scratch_take(void)
{
    uintptr_t thread = arch_thread_pointer();
    for (struct unwind_memory *scratch = atomic_load(&unwind.scratches); scratch;
         scratch = scratch->next_scratch) {
        uintptr_t nobody = 0;
        if (atomic_compare_exchange_strong(&scratch->user, &nobody, thread)) {
            return scratch;
        }
    }
    return unwind_scratch_new(thread);
}

/* Frees the scratches of this thread's captures that a longjmp abandoned. */
static void unwind_scratch_reclaim(void)
{
    uintptr_t thread = arch_thread_pointer();
    for (struct unwind_memory *scratch = atomic_load(&unwind.scratches); scratch;
         scratch = scratch->next_scratch) {
        uintptr_t user = thread;
        atomic_compare_exchange_strong(&scratch->user, &user, 0);
    }
}

/* A scratch remembers no frames, only rules. Its generation is that of the rules. */
static uint32_t __attribute__((noinline)) unwind_capture_alone(const struct unwind_start *start)
{
    uint32_t generation = atomic_load_explicit(&unwind.generation, memory_order_acquire);
    struct unwind_memory *scratch = unwind_scratch_take();
    uint32_t node;
    if (!scratch) {
        return 0;
    }
    if (atomic_load_explicit(&scratch->valid_for, memory_order_relaxed) != generation) {
        unwind_forget_rules(scratch);
        atomic_store_explicit(&scratch->valid_for, generation, memory_order_relaxed);
    }
    node = capture(scratch, NULL, start, unwind.max_depth);
    atomic_store(&scratch->user, 0);
    return node;
}

/* ---- Captures with memory -------------------------------------------------------------------- */

/* The memory is new, of another generation, or was abandoned in the middle of a capture. */
static void __attribute__((noinline)) unwind_refresh(struct unwind_memory *memory)
{
    if (atomic_load_explicit(&memory->valid_for, memory_order_relaxed) == 0) {
        unwind_scratch_reclaim();
    }
    memory->count = 0;
    memory->unwalkable_root = false;
    unwind_forget_rules(memory);
    routes_forget(memory);
    if (memory->stack.thread != arch_thread_pointer()) {
        stack_begin(&memory->stack);
    }
}

static uint32_t __attribute__((noinline))
unwind_capture_changed(struct unwind_memory *memory, const struct unwind_start *start,
                       uint32_t generation)
{
    uint32_t node;
    if (unlikely(!memory)) {
        return unwind_capture_alone(start);
    }
    if (unlikely(atomic_load_explicit(&memory->valid_for, memory_order_relaxed) != generation)) {
        unwind_refresh(memory);
    }
    atomic_store_explicit(&memory->valid_for, 0, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    node = capture(memory, &memory->stack, start, unwind.max_depth);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&memory->valid_for, generation, memory_order_relaxed);
    return node;
}

static inline bool unwind_is_valid(const struct unwind_memory *memory, uint32_t generation)
{
    return likely(memory) &&
           likely(atomic_load_explicit(&memory->valid_for, memory_order_relaxed) == generation);
}

/* The path for an unchanged stack comes first and in a function that saves no registers. All else
 * is in functions that are not inlined. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_start *start)
{
    uint32_t generation = atomic_load_explicit(&unwind.generation, memory_order_acquire);
    if (unwind_is_valid(memory, generation)) {
        uint32_t node = verify_capture_unchanged(memory, start);
        if (likely(node) || (node = routes_find(memory, start)) != 0) {
            return node;
        }
    }
    return unwind_capture_changed(memory, start, generation);
}

static uint32_t __attribute__((noinline))
unwind_note_caller(struct unwind_memory *memory, const struct unwind_start *start)
{
    uint32_t node = unwind_capture(memory, start);
    if (memory && node) {
        struct capture_caller *caller = memory_caller(memory, start->ip);
        caller->ip = 0; /* so that a longjmp out of a signal handler leaves no wrong pair */
        atomic_signal_fence(memory_order_seq_cst);
        caller->node = node;
        atomic_signal_fence(memory_order_seq_cst);
        caller->ip = ~start->ip;
    }
    return node;
}

uint32_t unwind_capture_caller(struct unwind_memory *memory, const struct unwind_start *start)
{
    uint32_t generation = atomic_load_explicit(&unwind.generation, memory_order_acquire);
    /* If sp is beyond the proven part of the stack, a capture proves that part. */
    if (unwind_is_valid(memory, generation) && stack_covers(&memory->stack, start->sp)) {
        const struct capture_caller *caller = memory_caller(memory, start->ip);
        if (likely(caller->ip == ~start->ip)) {
            return (uint32_t)caller->node;
        }
    }
    return unwind_note_caller(memory, start);
}

uintptr_t unwind_own_stack(const struct unwind_memory *memory, uintptr_t sp)
{
    const struct stack *stack = &memory->stack;
    return stack->thread == arch_thread_pointer() && stack_covers(stack, sp) ? stack->hi : 0;
}

uint64_t unwind_failures(const struct unwind_memory *memory)
{
    return atomic_load_explicit(&memory->unwalkable, memory_order_relaxed);
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void unwind_forget_memories(void)
{
    if (atomic_fetch_add(&unwind.generation, 1) == UINT32_MAX) {
        atomic_fetch_add(&unwind.generation, 1);
    }
}

void unwind_code_gone(uintptr_t lo, uintptr_t hi)
{
    paths_code_gone(lo, hi); /* first, because rules that are learned anew tell paths.c of code */
    rules_forget(lo, hi);
    unwind_forget_memories();
}

/* Remembered paths that ended in this code are void now. */
void unwind_frames_added(const void *frames)
{
    registered_add(frames);
    unwind_forget_memories();
}

/* Nodes stay, because they are of addresses in no module. */
void unwind_frames_removed(const void *frames)
{
    uintptr_t lo, hi;
    if (registered_remove(frames, &lo, &hi)) {
        rules_forget(lo, hi);
        unwind_forget_memories();
    }
}

struct unwind_counters unwind_counters_read(void)
{
    struct unwind_counters sum = {0, 0};
    for (const struct unwind_memory *memory = atomic_load(&unwind.memories); memory;
         memory = memory->next) {
        sum.unwalkable += atomic_load_explicit(&memory->unwalkable, memory_order_relaxed);
        sum.cut += atomic_load_explicit(&memory->cut, memory_order_relaxed);
    }
    return sum;
}

size_t unwind_path_ips(uint32_t node, uintptr_t *ips, size_t max)
{
    return paths_ips(node, ips, max);
}

uint32_t unwind_path_caller(uint32_t node)
{
    return paths_parent(node);
}

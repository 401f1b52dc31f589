/* The part of the hooks for recordings of samples (hooks.h, "Sampling"). Runs inside the profiled
 * program: no malloc of our own, no stdio, errno as the real function left it. */
#include "recorder/hooks.h"

/* The probability depends on the size, so a size that is too large for a record must not wrap to a
 * small one. */
static size_t sampled_recorded_size(size_t size)
{
    return size < WIRE_ADDRESS_MASK ? size : WIRE_ADDRESS_MASK;
}

/* ---- What it costs ----
 * If the collector adapts the interval to the cost, one call in sixteen is timed. A call that took
 * longer than COST_MOST_TICKS was interrupted, and counts as that many. */
enum { COST_TURNS = 16, COST_MOST_TICKS = 1 << 16 };

static inline uint64_t sampled_cost_begins(struct thread *thread)
{
    if (thread_sample_bytes != WIRE_SAMPLE_ADAPTS || ++thread->cost_turn % COST_TURNS)
        return 0;
    return ticks_unfenced();
}

static inline void sampled_cost_ends(struct thread *thread, uint64_t since)
{
    uint64_t took = since ? ticks_unfenced() - since : 0;
    if (!since || !thread->ring)
        return;
    thread->cost_ticks += COST_TURNS * (took < COST_MOST_TICKS ? took : COST_MOST_TICKS);
    atomic_store_explicit(&thread->ring->cost, (uint32_t)(thread->cost_ticks >> 10),
                          memory_order_relaxed);
}

/* ---- Which blocks are known ---- */

/* Another thread may free the block as soon as its hook returns, so it enters the set before. */
bool sampled_remember(struct thread *thread, void *block)
{
    if (!thread_sample_bytes)
        return true;
    if (!sampled_add((uintptr_t)block)) {
        thread_count_lost(thread);
        return false;
    }
    thread->newest = (uintptr_t)block;
    thread->newest_until = thread->until_sample;
    return true;
}

/* If all blocks are recorded but those of a pause, every free is recorded, and the replay finds out
 * whose block is known. */
static bool sampled_was_recorded(void *block)
{
    return !thread_sample_bytes ? block != NULL : sampled_remove((uintptr_t)block);
}

bool sampled_forget(struct thread *thread, void *block, unsigned *newest)
{
    bool is_newest = thread->newest && thread->newest == (uintptr_t)block &&
                     thread->newest_until == thread->until_sample;
    *newest = is_newest ? WIRE_NEWEST : 0;
    return sampled_was_recorded(block);
}

void sampled_allocation(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        unsigned kind, void *block, size_t size, unsigned align_log2)
{
    uint64_t since = sampled_cost_begins(thread);
    if (!block || sampled_remember(thread, block))
        hooks_record_allocation(thread, frame, thread_path_before(thread, frame, start), kind,
                                block, sampled_recorded_size(size),
                                thread_aligned(thread, align_log2));
    sampled_cost_ends(thread, since);
}

void sampled_free(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                  void *block)
{
    unsigned newest;
    uint64_t since = sampled_cost_begins(thread);
    if (sampled_forget(thread, block, &newest))
        hooks_record_free(thread, frame, start, block, newest);
    sampled_cost_ends(thread, since);
}

void *sampled_realloc(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      void *old, size_t size)
{
    uint64_t since = sampled_cost_begins(thread);
    bool sampled = thread_samples(thread, size);
    bool old_sampled = sampled_was_recorded(old);
    if (!sampled && !old_sampled)
        return CALL_REAL(thread, frame, real.realloc(old, size));
    /* before the call, because the block that moves may hold an interpreter's frames */
    uint32_t node = thread_path_before(thread, frame, start);
    thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    sampled_cost_ends(thread, since);
    void *block = CALL_REAL(thread, frame, real.realloc(old, size));
    bool failed = !block && size;
    unsigned aligned = thread_aligned(thread, 0);
    since = since ? ticks_unfenced() : 0;
    size = sampled_recorded_size(size);
    if (failed && old_sampled && thread_sample_bytes && !sampled_add((uintptr_t)old))
        thread_count_lost(thread);
    if (block && sampled && sampled_remember(thread, block))
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END, (uintptr_t)block, size,
                              hooks_slack_of(thread, frame, block, size), aligned);
    else if (block)
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END, 0, size ? size : 1, 0, 0);
    else
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END | (failed ? WIRE_FAILED : 0), 0,
                              sampled ? size : 0, 0, aligned);
    sampled_cost_ends(thread, since);
    return block;
}

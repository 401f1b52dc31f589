/* Adds up the slots of a counters' state, in the program at its end and in the command. Threads may
 * write meanwhile: the counts of finished and begun drains before and after the sum show whether it
 * is consistent. */
#include "counters/counter_state.h"

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

uint64_t count_allocations(const uint64_t calls[COUNT_KINDS])
{
    uint64_t count = 0;
    for (unsigned kind = COUNT_MALLOC; kind <= COUNT_ALIGNED; kind++)
        count += READ(calls[kind]);
    return count;
}

/* A realloc changes no number of blocks, unless the old block was unknown. */
static int64_t count_live_in(const struct count_slot *slot)
{
    uint64_t births = count_allocations(slot->calls) - READ(slot->calls[COUNT_REALLOC]) +
                      READ(slot->adopted_count);
    return (int64_t)(births - READ(slot->calls[COUNT_FREE]));
}

static void count_add_slot(struct count_figures *figures, const struct count_slot *slot)
{
    for (unsigned kind = 0; kind < COUNT_KINDS; kind++)
        figures->calls[kind] += READ(slot->calls[kind]);
    figures->requested_bytes += READ(slot->requested_bytes);
    figures->current_bytes += READ(slot->pending_bytes) - READ(slot->reserve_bytes);
    figures->live_count += count_live_in(slot);
}

/* The sum over the first `used` slots. */
static uint32_t count_drains(const struct count_state *state, uint32_t used, bool done)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < used; i++)
        sum += done ? READ(state->slots[i].drains_done) : READ(state->slots[i].drains_begun);
    return sum;
}

bool count_figures_of(struct count_figures *figures, const struct count_state *state)
{
    uint32_t used = READ(state->slots_used);
    used = used < COUNT_SLOTS ? used : COUNT_SLOTS;
    uint32_t done = count_drains(state, used, true);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    *figures = (struct count_figures){
        .current_bytes = READ(state->current_bytes),
        .peak_bytes = READ(state->peak_bytes),
        .peak_error_bytes = READ(state->peak_error_bytes),
        .at_start_bytes = READ(state->at_start_bytes),
        .live_count = READ(state->at_start_count),
        .threads = READ(state->threads),
        .lost = READ(state->lost),
    };
    for (uint32_t i = 0; i < used; i++)
        count_add_slot(figures, &state->slots[i]);
    int64_t most = READ(state->peak_most_bytes);
    if (figures->peak_error_bytes < most - figures->peak_bytes)
        figures->peak_error_bytes = most - figures->peak_bytes;
    int64_t earlier = READ(state->earlier_peak_bytes);
    if (figures->peak_bytes < earlier)
        figures->peak_bytes = earlier;
    /* the peak is not below current, which includes pending bytes */
    if (figures->peak_bytes < figures->current_bytes)
        figures->peak_bytes = figures->current_bytes;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return count_drains(state, used, false) == done && READ(state->slots_used) == used;
}

bool count_nothing_came(const struct count_state *state)
{
    return *state->in_front && !state->handed_on;
}

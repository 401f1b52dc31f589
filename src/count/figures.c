/* Sums over the slots of a state: in the program at its end, and in the command. */
#include "count/state.h"

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static void add_slot(struct count_figures *figures, const struct count_slot *slot)
{
    for (unsigned kind = 0; kind < COUNT_KINDS; kind++)
        figures->calls[kind] += READ(slot->calls[kind]);
    figures->requested_bytes += READ(slot->requested_bytes);
    figures->current_bytes += READ(slot->pending_bytes);
}

void count_figures_of(struct count_figures *figures, const struct count_state *state)
{
    uint32_t used = READ(state->slots_used);
    *figures = (struct count_figures){
        .current_bytes = READ(state->current_bytes),
        .peak_bytes = READ(state->peak_bytes),
        .peak_error_bytes = READ(state->peak_error_bytes),
        .at_start_bytes = READ(state->at_start_bytes),
        .threads = READ(state->threads),
        .lost = READ(state->lost),
    };
    for (uint32_t i = 0; i < used && i < COUNT_SLOTS; i++)
        add_slot(figures, &state->slots[i]);
    /* What is there now was there: a rest that no thread has drained counts for the peak too. */
    if (figures->peak_bytes < figures->current_bytes)
        figures->peak_bytes = figures->current_bytes;
}

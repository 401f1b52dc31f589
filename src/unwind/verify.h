/* Do the remembered words still have their values? The hot path of a capture: two loads, a comparison
 * and hardly a branch per frame (0.45 ns). */
#ifndef TIDEMARK_UNWIND_VERIFY_H
#define TIDEMARK_UNWIND_VERIFY_H

#include "unwind/memory.h"

static inline uintptr_t difference(const struct word *word)
{
    return arch_load(word->at) ^ word->value;
}

static inline bool eight_differ(const struct word *words)
{
    return (difference(&words[0]) | difference(&words[1]) | difference(&words[2]) |
            difference(&words[3]) | difference(&words[4]) | difference(&words[5]) |
            difference(&words[6]) | difference(&words[7])) != 0;
}

/* The innermost of words[1 … count] that differs; 0: none. */
static inline uint32_t innermost_difference(const struct word *words, uint32_t count)
{
    uint32_t i = count;
    while (i >= 8 && likely(!eight_differ(&words[i - 7]))) {
        i -= 8;
    }
    if (i < 8 && count >= 8 && likely(!eight_differ(&words[1]))) {
        return 0; /* the rest, and some words twice: cheaper than a loop */
    }
    while (i && likely(difference(&words[i]) == 0)) {
        i--;
    }
    return i;
}

/* Have words[1 … count] all their values? In one pass without a call, for where nothing else is asked. */
static inline __attribute__((always_inline)) bool all_same(const struct word *words, uint32_t count)
{
    const struct word *at = words + count;
    uintptr_t differs = 0;
    for (; at - words >= 8; at -= 8) {
        if (unlikely(eight_differ(at - 7))) {
            return false;
        }
    }
    if (count >= 8) {
        return !eight_differ(words + 1);
    }
    for (; at > words; at--) {
        differs |= difference(at);
    }
    return !differs;
}

static uint32_t frame_of_extra(const struct remembered *frames, uint32_t frame, uint32_t extra)
{
    while (frames->states[frame - 1].extras >= extra) {
        frame--;
    }
    return frame;
}

/* The walk is at remembered frame `met`. The innermost remembered frame whose caller is no longer
 * what it was; 0: all are. */
static inline uint32_t innermost_change(const struct remembered *frames, uint32_t met)
{
    uint32_t extras = frames->states[met].extras;
    uint32_t slot = innermost_difference(frames->slots, met - 1);
    uint32_t changed = slot ? slot + 1 : 0;
    if (unlikely(extras)) {
        uint32_t extra = innermost_difference(frames->extras, extras);
        uint32_t frame = extra ? frame_of_extra(frames, met, extra) : 0;
        changed = frame > changed ? frame : changed;
    }
    return changed;
}

/* Is a walk that reads its ip from `slot` at this remembered frame? */
static inline bool meets(const struct remembered *frames, uint32_t frame, uintptr_t slot,
                         uintptr_t ip, uintptr_t bp)
{
    return frames->slots[frame].at == slot && frames->slots[frame].value == ip &&
           (!frames->states[frame].needs_bp || frames->states[frame].bp == bp);
}

static bool __attribute__((noinline)) extras_same(const struct remembered *frames, uint32_t count)
{
    return all_same(frames->extras, count);
}

/* The node of a stack that is just as it was at the last capture; 0: it is not, or the node is not
 * known. Only reads, so it may be interrupted and abandoned anywhere. */
static inline uint32_t capture_unchanged(const struct unwind_memory *memory,
                                         const struct unwind_start *start)
{
    const struct remembered *frames = memory->remembered;
    uint32_t top = memory->count;
    uint32_t extras = frames->states[top].extras;
    if (!meets(frames, top, start->sp - 8, start->ip, start->bp) || memory->unwalkable_root ||
        !all_same(frames->slots, top - 1) ||
        (unlikely(extras) && !extras_same(frames, extras))) {
        return 0;
    }
    return frames->states[top].node;
}

#endif

/* Tests whether the remembered words still have their values. This is the hot path of a capture:
 * two loads and a comparison for each frame, and few branches (0.45 ns). */
#ifndef TIDEMARK_UNWIND_VERIFY_H
#define TIDEMARK_UNWIND_VERIFY_H

#include "unwind/capture_memory.h"

static inline uintptr_t verify_difference(const struct word *word)
{
    return arch_load(word->at) ^ word->value;
}

static inline bool verify_eight_differ(const struct word *words)
{
    return (verify_difference(&words[0]) | verify_difference(&words[1]) |
            verify_difference(&words[2]) | verify_difference(&words[3]) |
            verify_difference(&words[4]) | verify_difference(&words[5]) |
            verify_difference(&words[6]) | verify_difference(&words[7])) != 0;
}

/* The innermost of words[1 … count] that differs; 0: none. */
static inline uint32_t verify_innermost_diff(const struct word *words, uint32_t count)
{
    uint32_t i = count;
    while (i >= 8 && likely(!verify_eight_differ(&words[i - 7]))) {
        i -= 8;
    }
    if (i < 8 && count >= 8 && likely(!verify_eight_differ(&words[1]))) {
        return 0; /* these are the rest and some words again, which is cheaper than a loop */
    }
    while (i && likely(verify_difference(&words[i]) == 0)) {
        i--;
    }
    return i;
}

/* Do words[1 … count] all have their values? In one pass without a call. */
static inline __attribute__((always_inline)) bool verify_all_same(const struct word *words,
                                                                  uint32_t count)
{
    const struct word *at = words + count;
    uintptr_t differs = 0;
    for (; at - words >= 8; at -= 8) {
        if (unlikely(verify_eight_differ(at - 7))) {
            return false;
        }
    }
    if (count >= 8) {
        return !verify_eight_differ(words + 1);
    }
    for (; at > words; at--) {
        differs |= verify_difference(at);
    }
    return !differs;
}

static uint32_t verify_frame_of_extra(const struct remembered *frames, uint32_t frame,
                                      uint32_t extra)
{
    while (frames->states[frame - 1].extras >= extra) {
        frame--;
    }
    return frame;
}

/* The walk is at remembered frame `met`. Returns the innermost remembered frame whose caller has
 * changed; 0: none has. */
static inline uint32_t verify_innermost_change(const struct remembered *frames, uint32_t met)
{
    uint32_t extras = frames->states[met].extras;
    uint32_t slot = verify_innermost_diff(frames->slots, met - 1);
    uint32_t changed = slot ? slot + 1 : 0;
    if (unlikely(extras)) {
        uint32_t extra = verify_innermost_diff(frames->extras, extras);
        uint32_t frame = extra ? verify_frame_of_extra(frames, met, extra) : 0;
        changed = frame > changed ? frame : changed;
    }
    return changed;
}

/* Is a walk that reads its ip from `slot` at this remembered frame? */
static inline bool verify_meets(const struct remembered *frames, uint32_t frame, uintptr_t slot,
                                uintptr_t ip, uintptr_t bp)
{
    return frames->slots[frame].at == slot && frames->slots[frame].value == ip &&
           (!frames->states[frame].needs_bp || frames->states[frame].bp == bp);
}

static bool __attribute__((noinline))
verify_extras_same(const struct remembered *frames, uint32_t count)
{
    return verify_all_same(frames->extras, count);
}

/* The node of a stack that has not changed since the last capture; 0: it has changed, or the node
 * is not known. Only reads, so it may be interrupted and abandoned anywhere. */
static inline uint32_t verify_capture_unchanged(const struct unwind_memory *memory,
                                                const struct unwind_start *start)
{
    const struct remembered *frames = memory->remembered;
    uint32_t top = memory->count;
    uint32_t extras = frames->states[top].extras;
    if (!verify_meets(frames, top, start->sp - 8, start->ip, start->bp) ||
        memory->unwalkable_root || !verify_all_same(frames->slots, top - 1) ||
        (unlikely(extras) && !verify_extras_same(frames, extras))) {
        return 0;
    }
    return frames->states[top].node;
}

#endif

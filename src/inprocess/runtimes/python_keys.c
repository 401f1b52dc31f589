/* Compares the frames of a thread with those of the last time (python_keys.h). Only frames that are
 * there now are read: a known frame is looked at when the one inside of it has named it as its
 * caller. */
#include "runtimes/python_keys.h"

#include <stdatomic.h>
#include <stdbool.h>
#include "base/hash.h"

static inline uintptr_t python_keys_word(uintptr_t frame, unsigned offset)
{
    return *(const uintptr_t *)(frame + offset);
}

static inline uint64_t python_keys_add(uint64_t key, uintptr_t instruction)
{
    key = (key ^ instruction) * 0x9E3779B97F4A7C15ull + 1;
    return key ? key : 1;
}

static inline uint16_t *python_keys_place(struct python_keys *keys, uintptr_t frame)
{
    return &keys->places[frame * 0x9E3779B97F4A7C15ull >> 52 & (PYTHON_KEYS_PLACES - 1)];
}

/* Where the frame is among the known ones; PYTHON_KEYS_MOST: it is not. */
static inline uint32_t python_keys_find(struct python_keys *keys, uintptr_t frame)
{
    uint32_t at = *python_keys_place(keys, frame);

    return at < keys->count && keys->known[at].frame == frame ? at : PYTHON_KEYS_MOST;
}

/* How many of the known frames up to `at`, outermost first, are as they were. `at`: one that runs
 * now. UINT32_MAX: not even the frames are the same ones. */
static inline uint32_t python_keys_same(const struct python_keys *keys, uint32_t at,
                                        struct python_frame_words words)
{
    const struct python_known *known = &keys->known[at];
    const struct python_known *lowest = known + 1;

    for (; known > keys->known; known--) {
        if (python_keys_word(known->frame, words.instruction) != known->instruction)
            lowest = known;
        if (python_keys_word(known->frame, words.previous) != known[-1].frame)
            return UINT32_MAX;
    }
    if (python_keys_word(known->frame, words.instruction) != known->instruction)
        lowest = known;
    return python_keys_word(known->frame, words.previous) ? UINT32_MAX
                                                          : (uint32_t)(lowest - keys->known);
}

/* Lists the frames from `frame` on outwards up to one that is known, or the outermost one. False:
 * there are too many. */
static inline bool python_keys_list(struct python_keys *keys, uintptr_t frame,
                                    struct python_frame_words words, uint32_t *fresh, uint32_t *at)
{
    uint32_t count = 0;

    *at = PYTHON_KEYS_MOST;
    for (; frame; frame = python_keys_word(frame, words.previous)) {
        *at = python_keys_find(keys, frame);
        if (*at < PYTHON_KEYS_MOST)
            break;
        if (count == PYTHON_KEYS_MOST)
            return false;
        keys->fresh[count++] = frame;
    }
    *fresh = count;
    return true;
}

/* Without what is known. */
static uint64_t __attribute__((noinline))
python_keys_of_many(struct python_keys *keys, uintptr_t frame, struct python_frame_words words)
{
    uint64_t key = 0;

    keys->count = 0;
    for (uint32_t i = 0; frame && i < PYTHON_KEYS_MOST; i++) {
        key = python_keys_add(key, python_keys_word(frame, words.instruction));
        frame = python_keys_word(frame, words.previous);
    }
    return key;
}

static inline void python_keys_know(struct python_keys *keys, uint32_t at, uintptr_t frame,
                                    struct python_frame_words words)
{
    uintptr_t instruction = python_keys_word(frame, words.instruction);
    uint64_t before = at ? keys->known[at - 1].key : 0;

    keys->known[at] =
        (struct python_known){frame, instruction, python_keys_add(before, instruction)};
    *python_keys_place(keys, frame) = (uint16_t)at;
}

/* A signal handler that leaves by longjmp leaves no more known than is whole. */
static inline void python_keys_settle(struct python_keys *keys, uint32_t count)
{
    atomic_signal_fence(memory_order_seq_cst);
    keys->count = count;
    atomic_signal_fence(memory_order_seq_cst);
}

/* The hash if the innermost frame was known, and all outside of it are as they were: the usual case
 * while a function runs, and after it has called others. 0: it is another case. */
static inline __attribute__((always_inline)) uint64_t
python_keys_of_known(struct python_keys *keys, uintptr_t innermost, struct python_frame_words words)
{
    uint32_t at = python_keys_find(keys, innermost);
    struct python_known *top = &keys->known[at], *outer = top;

    if (at == PYTHON_KEYS_MOST)
        return 0;
    for (; outer > keys->known; outer--)
        if (python_keys_word(outer->frame, words.previous) != outer[-1].frame ||
            python_keys_word(outer[-1].frame, words.instruction) != outer[-1].instruction)
            return 0;
    if (python_keys_word(outer->frame, words.previous))
        return 0;
    uintptr_t instruction = python_keys_word(innermost, words.instruction);
    if (top->instruction != instruction) {
        python_keys_settle(keys, at);
        top->key = python_keys_add(at ? top[-1].key : 0, instruction);
        top->instruction = instruction;
    }
    python_keys_settle(keys, at + 1);
    return top->key;
}

uint64_t python_keys_of(struct python_keys *keys, uintptr_t innermost,
                        struct python_frame_words words)
{
    uint32_t fresh, at, same = 0, count = 0;

    if (!innermost)
        return 0;
    uint64_t key = python_keys_of_known(keys, innermost, words);
    if (key)
        return key;
    if (!python_keys_list(keys, innermost, words, &fresh, &at))
        return python_keys_of_many(keys, innermost, words);
    if (at < PYTHON_KEYS_MOST) {
        same = python_keys_same(keys, at, words);
        count = at + 1;
        if (same == UINT32_MAX) {
            python_keys_settle(keys, 0);
            return python_keys_of(keys, innermost, words);
        }
    }
    if (count + fresh > PYTHON_KEYS_MOST)
        return python_keys_of_many(keys, innermost, words);
    if (same < count + fresh) {
        python_keys_settle(keys, same);
        for (uint32_t i = same; i < count; i++)
            python_keys_know(keys, i, keys->known[i].frame, words);
        while (fresh)
            python_keys_know(keys, count++, keys->fresh[--fresh], words);
    }
    python_keys_settle(keys, count);
    return keys->known[count - 1].key;
}

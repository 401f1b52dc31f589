/* Chooses which block of each stratum is marked (mark.h). For each size class an arena counts down
 * to the next marked block. The place within a stratum comes from a xorshift generator that every
 * arena seeds from its own number. */
#include "bfm/mark.h"
#include <stdatomic.h>
#include "bfm/classes.h"

/* The same for every run of a program with one thread: profiles can be compared. */
static unsigned mark_draw(struct marks *marks, unsigned below)
{
    marks->random ^= marks->random << 13;
    marks->random ^= marks->random >> 7;
    marks->random ^= marks->random << 17;
    return (unsigned)((marks->random >> 32) * below >> 32);
}

static void mark_begin(struct marks *marks)
{
    static _Atomic uint64_t arenas;

    marks->random = (atomic_fetch_add(&arenas, 1) + 1) * 0x9e3779b97f4a7c15u;
    for (unsigned code = 1; code < CLASS_CODES; code++) {
        marks->before[code] = (uint16_t)mark_draw(marks, bfm_class_blocks[code]);
        marks->after[code] = (uint16_t)(bfm_class_blocks[code] - 1u - marks->before[code]);
    }
}

unsigned marks_place(struct arena *arena, unsigned code, unsigned count)
{
    struct marks *marks = &arena->marks;
    unsigned place, blocks = bfm_class_blocks[code];

    if (!marks->random)
        mark_begin(marks);
    place = marks->before[code];
    if (place >= count) {
        marks->before[code] = (uint16_t)(place - count);
        return count;
    }
    /* `count` is at most a quarter of a stratum, so there is at most one mark in it: one that would
     * be among these too comes right behind them, and its stratum ends where it would have. */
    unsigned next = mark_draw(marks, blocks), rest = count - 1 - place;
    unsigned before = marks->after[code] + next, late = before < rest ? rest - before : 0;
    marks->before[code] = (uint16_t)(before + late - rest);
    marks->after[code] = (uint16_t)(blocks - 1 - next - late);
    return place;
}

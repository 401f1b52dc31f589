/* See pace.h. A stretch is decided one slot ahead, for the slot that the top is in may have been
 * touched. */
#include "bfm/pace.h"
#include "bfm/options.h"
#include "bfm/os.h"

/* Stretches in slots. What paid is asked for at longer and longer stretches; what did not is tried again
 * after 128 MiB and then every 512. */
enum { TRIAL = 2, HUGE_MOST = 16, SMALL_FIRST = 64, SMALL_MOST = 256 };

_Atomic int bfm_huge_verdict;

static bool pays(const struct pace *pace)
{
    return pace->huge_ns <= pace->small_ns;
}

static void note_time(struct heap *heap, uintptr_t slot, uint64_t now_ns)
{
    struct pace *pace = &heap->pace;
    uint64_t *average = region_is_huge(heap->top_region, slot) ? &pace->huge_ns : &pace->small_ns;
    uint64_t took_ns = now_ns - pace->entered_ns;

    *average = *average ? (*average * 7 + took_ns) / 8 : took_ns;
    if (pace->huge_ns)
        atomic_store_explicit(&bfm_huge_verdict, pays(pace) ? 1 : -1, memory_order_relaxed);
}

/* How many slots the next stretch has, and of which kind. */
static unsigned next_stretch(struct pace *pace, bool *huge)
{
    unsigned length, most = pays(pace) ? HUGE_MOST : SMALL_MOST;

    *huge = pace->small_ns && (!pace->huge_ns || pays(pace));
    if (!pace->small_ns || !pace->huge_ns)
        return TRIAL;
    if (pays(pace)) {
        length = pace->huge_stretch = pace->huge_stretch ? pace->huge_stretch * 2 : TRIAL;
    } else {
        length = pace->small_stretch = pace->small_stretch ? pace->small_stretch * 4 : SMALL_FIRST;
        pace->huge_ns = pace->huge_stretch = 0; /* and try again */
    }
    return length < most ? length : most;
}

/* The last slot of a region stays small pages: a region that is given up is closed by a tag at its end,
 * and that must not cost a huge page. */
static uintptr_t last_slot(const struct region *region)
{
    return region->end - SLOT_BYTES;
}

static void ask(struct region *region, uintptr_t from, uintptr_t end, bool huge)
{
    if (from >= end)
        return;
    os_use_huge_pages((void *)from, end - from, huge);
    for (uintptr_t at = from; at < end; at += SLOT_BYTES) { /* at most HUGE_MOST turns */
        size_t index = (at - region->start) >> SLOT_SHIFT;
        uint64_t bit = (uint64_t)1 << index % 64, *word = &region->huge_slots[index / 64];
        *word = huge ? *word | bit : *word & ~bit;
    }
}

static void begin_stretch(struct heap *heap, uintptr_t slot)
{
    struct pace *pace = &heap->pace;
    uintptr_t last = last_slot(heap->top_region);
    size_t bytes = next_stretch(pace, &pace->huge) * SLOT_BYTES;

    pace->stretch_end = slot + bytes < last ? slot + bytes : last;
    if (pace->huge)
        ask(heap->top_region, slot, pace->stretch_end, true);
}

/* It was a bad idea: the rest of the stretch is small pages. */
static void end_stretch(struct heap *heap, uintptr_t slot)
{
    struct pace *pace = &heap->pace;

    ask(heap->top_region, slot, pace->stretch_end, false);
    pace->stretch_end = slot;
}

void pace_enter(struct heap *heap, uintptr_t to)
{
    struct pace *pace = &heap->pace;
    uintptr_t slot = round_down(to, SLOT_BYTES), before = round_down(heap->top, SLOT_BYTES);
    uint64_t now_ns;

    if (!options.huge_pages || slot < pace->slot_next)
        return; /* been here: the top has gone back meanwhile */
    now_ns = os_cpu_ns();
    if (pace->slot_next == slot && before + SLOT_BYTES == slot && pace->entered_ns)
        note_time(heap, before, now_ns);
    pace->entered_ns = now_ns;
    pace->slot_next = slot + SLOT_BYTES;
    if (pace->huge && pace->huge_ns && !pays(pace) && pace->slot_next < pace->stretch_end)
        end_stretch(heap, pace->slot_next);
    if (pace->slot_next >= pace->stretch_end && pace->slot_next < last_slot(heap->top_region))
        begin_stretch(heap, pace->slot_next);
}

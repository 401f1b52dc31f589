/* Measures slots and chooses their pages (pace.h). A stretch is decided one slot ahead, since the
 * slot of the top may have been touched. A stretch of huge pages that turn out slow ends with the
 * slot that the top enters. */
#include "bfm/pace.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"

/* In slots. While huge pages pay, stretches of them become longer; otherwise they are tried again
 * after 512 MiB. A huge page whose memory the host must find first costs as much as five slots of
 * small ones. */
enum { SMALL_LEAST = 2, TRIAL = 2, HUGE_MOST = 16, SMALL_AGAIN = 256, SPARSE_AGAIN = 32 };
/* A slot of huge pages that takes so many times as long as small ones counts alone as their
 * cost. */
enum { COLD_TIMES = 2 };
/* If a slot takes so much longer, the program did something else meanwhile, as no page takes so
 * long. */
#define OTHER_NS ((uint64_t)12 << 20)
/* A program that fills 2 MiB of small pages in this time does little else. */
#define FILLS_NS ((uint64_t)4 << 20)

_Atomic int bfm_huge_verdict;

/* Huge pages may be an eighth slower: that is noise where the program does much else while it fills
 * a slot, and they save misses of the TLB later. */
static bool pace_pays(const struct pace *pace)
{
    return pace->huge_ns <= pace->small_ns + pace->small_ns / 8;
}

static uint64_t pace_mean_of(uint64_t mean_ns, uint64_t took_ns)
{
    return mean_ns ? (mean_ns * 7 + took_ns) / 8 : took_ns;
}

/* Small pages, too, are slow where the host must find their memory, so the fastest slot counts
 * most. */
static void pace_note_small(struct pace *pace, uint64_t took_ns)
{
    uint64_t most_ns = COLD_TIMES * pace->small_ns;

    pace->small_seen++;
    if (took_ns < pace->small_ns)
        pace->small_ns = took_ns;
    else
        pace->small_ns =
            pace_mean_of(pace->small_ns, most_ns && took_ns > most_ns ? most_ns : took_ns);
}

/* Measures small pages anew. Not twice in a row, as the host may be so slow. */
static void pace_begin_anew(struct pace *pace)
{
    pace->unclear = true;
    pace->small_ns = pace->huge_ns = 0;
    pace->small_seen = pace->huge_stretch = 0;
}

static void pace_note_huge(struct pace *pace, uint64_t took_ns)
{
    if (!pace->small_ns)
        return;
    if (took_ns > pace->small_ns + OTHER_NS && !pace->unclear) {
        pace_begin_anew(pace);
        return;
    }
    pace->unclear = false;
    if (took_ns > COLD_TIMES * pace->small_ns)
        pace->huge_ns = took_ns;
    else
        pace->huge_ns = pace_mean_of(pace->huge_ns, took_ns);
}

static void pace_note_time(struct heap *heap, uintptr_t slot, uint64_t took_ns)
{
    struct pace *pace = &heap->pace;

    pace->took_ns = took_ns;
    if (pace_region_is_huge(heap->top_region, slot))
        pace_note_huge(pace, took_ns);
    else
        pace_note_small(pace, took_ns);
    if (pace->huge_ns)
        atomic_store_explicit(&bfm_huge_verdict, pace_pays(pace) ? 1 : -1, memory_order_relaxed);
}

/* The last slot of a region has small pages, since the tag that closes the region must not touch a
 * huge page. */
static uintptr_t pace_last_slot(const struct region *region)
{
    return region->end - SLOT_BYTES;
}

static void pace_ask(struct region *region, uintptr_t from, uintptr_t end, bool huge)
{
    if (from >= end)
        return;
    os_use_huge_pages((void *)from, end - from, huge);
    for (uintptr_t at = from; at < end; at += SLOT_BYTES) { /* at most HUGE_MOST turns */
        size_t index = pace_region_slot(region, at);
        uint64_t bit = (uint64_t)1 << index % 64, *word = &region->huge_slots[index / 64];
        *word = huge ? *word | bit : *word & ~bit;
    }
}

static void pace_begin_stretch(struct heap *heap, uintptr_t slot)
{
    struct pace *pace = &heap->pace;
    uintptr_t last = pace_last_slot(heap->top_region);

    if (slot >= last)
        return;
    pace->huge_stretch = pace->huge_stretch ? pace->huge_stretch * 2 : TRIAL;
    if (pace->huge_stretch > HUGE_MOST)
        pace->huge_stretch = HUGE_MOST;
    pace->stretch_end = slot + pace->huge_stretch * SLOT_BYTES;
    if (pace->stretch_end > last)
        pace->stretch_end = last;
    pace_ask(heap->top_region, slot, pace->stretch_end, true);
}

/* Makes the rest of the stretch small pages. */
static void pace_give_up(struct heap *heap, uintptr_t slot)
{
    struct pace *pace = &heap->pace;

    pace_ask(heap->top_region, slot, pace->stretch_end, false);
    pace->stretch_end = 0;
    pace->huge_ns = pace->huge_stretch = 0;
    pace->rest = SMALL_AGAIN;
}

static bool pace_is_large_enough(const struct pace *pace, size_t used)
{
    bool fills = pace->took_ns && pace->took_ns <= FILLS_NS;

    return used + SLOT_BYTES >= (fills ? HUGE_EARLY : HUGE_FROM);
}

/* Decides which pages the slot after this one gets. */
static void pace_decide(struct heap *heap, uintptr_t slot, uintptr_t before, size_t used)
{
    struct pace *pace = &heap->pace;

    if (pace->huge_ns && !pace_pays(pace))
        pace_give_up(heap, slot);
    if (pace->rest)
        pace->rest--;
    else if (pace->small_seen < SMALL_LEAST || pace->slot_next < pace->stretch_end ||
             before < heap->top_region->start || !pace_is_large_enough(pace, used))
        return;
    else if (!pace->huge_stretch && !os_is_resident((void *)before, SLOT_BYTES))
        pace->rest = SPARSE_AGAIN; /* huge pages would make untouched memory resident */
    else
        pace_begin_stretch(heap, pace->slot_next);
}

void pace_enter(struct heap *heap, uintptr_t to, size_t used)
{
    struct pace *pace = &heap->pace;
    uintptr_t slot = layout_round_down(to, SLOT_BYTES),
              before = layout_round_down(heap->top, SLOT_BYTES);
    uint64_t now_ns;

    if (!options.huge_pages || slot < pace->slot_next)
        return;                                /* the top was in this slot before */
    now_ns = pace->rest > 1 ? 0 : os_cpu_ns(); /* only the time of the last slot is needed */
    pace->took_ns = 0;
    if (pace->slot_next == slot && before + SLOT_BYTES == slot && pace->entered_ns && now_ns)
        pace_note_time(heap, before, now_ns - pace->entered_ns);
    pace->entered_ns = now_ns;
    pace->slot_next = slot + SLOT_BYTES;
    pace_decide(heap, slot, before, used);
}

void pace_region(struct heap *heap)
{
    struct pace *pace = &heap->pace;

    pace->slot_next = pace->stretch_end = pace->entered_ns = 0;
    if (pace->huge_ns && pace_pays(pace))
        pace_begin_stretch(heap, layout_round_up(heap->top_region->start, SLOT_BYTES));
}

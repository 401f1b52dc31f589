/* Counts how often each value occurs (tally.h). Values from 4096 on are in a table with open
 * addressing, which doubles when three quarters of it are full. The commonest values are ranked by
 * insertion into a short sorted array. */
#include "accounting/tally.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "blocks/arena.h"

#define FIRST_SLOTS 256

uint64_t tally_next_direct(const struct tally *tally, uint64_t from)
{
    while (from < TALLY_DIRECT && !tally->direct[from]) {
        from++;
        while (from % TALLY_GROUP == 0 && from < TALLY_DIRECT && tally_is_group_empty(tally, from))
            from += TALLY_GROUP;
    }
    return from;
}

/* From the last counter down: in `behind` each value is added once for each step behind `first`. */
struct tally_sum tally_sum_group(const struct tally *tally, uint64_t first)
{
    const uint64_t *counters = &tally->direct[first];
    uint64_t count = 0, behind = 0;

    for (unsigned i = TALLY_GROUP; i-- > 1;) {
        count += counters[i];
        behind += count;
    }
    count += counters[0];
    return (struct tally_sum){count, first * count + behind};
}

void tally_release(struct tally *tally)
{
    free(tally->slots);
}

/* Most of the counters are 0, and pages of them were never touched. */
void tally_clear(struct tally *tally)
{
    for (uint64_t value = tally_next_direct(tally, 0); value < TALLY_DIRECT;
         value = tally_next_direct(tally, value + 1))
        tally->direct[value] = 0;
    tally->slots = NULL;
    tally->mask = tally->values = tally->others = 0;
}

size_t tally_memory_bytes(const struct tally *tally)
{
    return sizeof *tally + (tally->slots ? (tally->mask + 1) * sizeof *tally->slots : 0);
}

static struct tally_entry *tally_slot_of(const struct tally *tally, uint64_t value)
{
    size_t i = hash_u64(value) & tally->mask;

    while (tally->slots[i].value && tally->slots[i].value != value)
        i = (i + 1) & tally->mask;
    return &tally->slots[i];
}

static void tally_grow(struct tally *tally)
{
    struct tally_entry *old = tally->slots;
    size_t old_count = old ? tally->mask + 1 : 0;

    tally->mask = (old ? 2 * old_count : FIRST_SLOTS) - 1;
    tally->slots = arena_calloc(tally->mask + 1, sizeof *tally->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].value)
            *tally_slot_of(tally, old[i].value) = old[i];
    free(old);
}

/* A slot for a new value; NULL: the table is full. */
static struct tally_entry *tally_admit(struct tally *tally, uint64_t value)
{
    struct tally_entry *slot;

    if (tally->values == TALLY_VALUES)
        return NULL;
    if (4 * (tally->values + 1) > 3 * (tally->mask + 1))
        tally_grow(tally);
    tally->values++;
    slot = tally_slot_of(tally, value);
    slot->value = value;
    return slot;
}

void tally_add_large(struct tally *tally, uint64_t value, uint64_t count)
{
    struct tally_entry *slot;

    if (!tally->slots)
        tally_grow(tally);
    slot = tally_slot_of(tally, value);
    if (!slot->value)
        slot = tally_admit(tally, value);
    if (slot)
        slot->count += count;
    else
        tally->others += count;
}

void tally_scale(struct tally *tally, unsigned shift)
{
    for (uint64_t value = tally_next_direct(tally, 0); value < TALLY_DIRECT;
         value = tally_next_direct(tally, value + 1))
        tally->direct[value] <<= shift;
    for (size_t i = 0; tally->slots && i <= tally->mask; i++)
        tally->slots[i].count <<= shift;
    tally->others <<= shift;
}

/* ---- The commonest ------------------------------------------------------------------------- */

/* Those found so far, the commonest first. */
struct ranking {
    struct tally_entry *entries;
    size_t count, room;
};

static bool tally_is_before(const struct tally_entry *a, const struct tally_entry *b)
{
    return a->count > b->count || (a->count == b->count && a->value < b->value);
}

static void tally_rank(struct ranking *ranking, struct tally_entry entry)
{
    size_t at;

    if (!entry.count || !ranking->room)
        return;
    if (ranking->count == ranking->room) {
        if (!tally_is_before(&entry, &ranking->entries[ranking->count - 1]))
            return;
        ranking->count--;
    }
    for (at = ranking->count++; at && tally_is_before(&entry, &ranking->entries[at - 1]); at--)
        ranking->entries[at] = ranking->entries[at - 1];
    ranking->entries[at] = entry;
}

static int tally_by_value(const void *a, const void *b)
{
    uint64_t x = ((const struct tally_entry *)a)->value, y = ((const struct tally_entry *)b)->value;

    return (x > y) - (x < y);
}

size_t tally_commonest(const struct tally *tally, struct tally_entry *out, size_t room)
{
    struct ranking ranking = {.entries = out, .room = room};

    for (uint64_t value = tally_next_direct(tally, 0); value < TALLY_DIRECT;
         value = tally_next_direct(tally, value + 1))
        tally_rank(&ranking, (struct tally_entry){value, tally->direct[value]});
    for (size_t i = 0; tally->slots && i <= tally->mask; i++)
        tally_rank(&ranking, tally->slots[i]);
    qsort(out, ranking.count, sizeof *out, tally_by_value);
    return ranking.count;
}

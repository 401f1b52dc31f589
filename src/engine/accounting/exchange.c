/* Which thread frees which thread's blocks (exchange.h). A table with open addressing and linear
 * probing maps (owner, freer) to counts. It doubles when it is half full. */
#include "accounting/exchange.h"

#include <stdlib.h>
#include "blocks/arena.h"

#define FIRST_SLOTS 64

void exchanges_init(struct exchanges *exchanges)
{
    *exchanges = (struct exchanges){.mask = FIRST_SLOTS - 1};
    exchanges->slots = arena_calloc(FIRST_SLOTS, sizeof *exchanges->slots);
}

void exchanges_release(struct exchanges *exchanges)
{
    free(exchanges->slots);
}

size_t exchanges_memory_bytes(const struct exchanges *exchanges)
{
    return (exchanges->mask + 1) * sizeof *exchanges->slots;
}

static struct exchange *exchanges_slot_of(const struct exchanges *exchanges, uint32_t owner,
                                          uint32_t freer)
{
    size_t i = exchanges_home(exchanges, owner, freer);

    while (exchanges->slots[i].count &&
           (exchanges->slots[i].owner != owner || exchanges->slots[i].freer != freer))
        i = (i + 1) & exchanges->mask;
    return &exchanges->slots[i];
}

static void exchanges_grow(struct exchanges *exchanges)
{
    struct exchange *old = exchanges->slots;
    size_t old_count = exchanges->mask + 1;

    exchanges->mask = 2 * old_count - 1;
    exchanges->slots = arena_calloc(exchanges->mask + 1, sizeof *exchanges->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].count)
            *exchanges_slot_of(exchanges, old[i].owner, old[i].freer) = old[i];
    free(old);
}

static struct exchange *exchanges_admit(struct exchanges *exchanges, uint32_t owner, uint32_t freer)
{
    struct exchange *slot;

    if (exchanges->pairs == EXCHANGE_MAX) {
        exchanges->others.owner = exchanges->others.freer = UINT32_MAX;
        return &exchanges->others;
    }
    if (2 * (exchanges->pairs + 1) > exchanges->mask + 1)
        exchanges_grow(exchanges);
    exchanges->pairs++;
    slot = exchanges_slot_of(exchanges, owner, freer);
    slot->owner = owner;
    slot->freer = freer;
    return slot;
}

struct exchange *exchanges_find(struct exchanges *exchanges, uint32_t owner, uint32_t freer)
{
    struct exchange *slot = exchanges_slot_of(exchanges, owner, freer);

    return slot->count ? slot : exchanges_admit(exchanges, owner, freer);
}

void exchanges_scale(struct exchanges *exchanges, unsigned shift)
{
    for (size_t i = 0; i <= exchanges->mask; i++)
        exchanges->slots[i].count <<= shift;
    exchanges->others.count <<= shift;
}

void exchanges_visit(const struct exchanges *exchanges,
                     void (*visit)(void *context, const struct exchange *exchange), void *context)
{
    for (size_t i = 0; i <= exchanges->mask; i++)
        if (exchanges->slots[i].count)
            visit(context, &exchanges->slots[i]);
    if (exchanges->others.count)
        visit(context, &exchanges->others);
}

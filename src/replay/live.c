/* See live.h. */
#include "replay/live.h"

#include <assert.h>

static void set_geometry(struct live_table *table, unsigned slots_log2)
{
    size_t slots = (size_t)1 << slots_log2;

    table->memory = (struct region){0};
    region_grow(&table->memory, slots * sizeof(struct live_block));
    table->slots = table->memory.base;
    table->mask = slots - 1;
    table->limit = slots / 5 * 4;
    table->shift = 64 - slots_log2;
}

void live_table_init(struct live_table *table, unsigned slots_log2)
{
    assert(slots_log2 >= 3 && slots_log2 < 48);
    table->count = 0;
    set_geometry(table, slots_log2);
}

void live_table_release(struct live_table *table)
{
    region_release(&table->memory);
}

size_t live_table_memory_bytes(const struct live_table *table)
{
    return (table->mask + 1) * sizeof(struct live_block);
}

static struct live_block *first_empty(const struct live_table *table, uint64_t address)
{
    size_t i = hash_u64(address) >> table->shift;

    while (table->slots[i].address)
        i = (i + 1) & table->mask;
    return &table->slots[i];
}

static void double_slots(struct live_table *table)
{
    struct live_table old = *table;

    set_geometry(table, 64 - old.shift + 1);
    for (size_t i = 0; i <= old.mask; i++)
        if (old.slots[i].address)
            *first_empty(table, old.slots[i].address) = old.slots[i];
    live_table_release(&old);
}

struct live_block *live_table_place(struct live_table *table, uint64_t address)
{
    size_t i = hash_u64(address) >> table->shift;

    for (; table->slots[i].address; i = (i + 1) & table->mask)
        if (table->slots[i].address == address)
            return &table->slots[i];
    if (table->count++ < table->limit)
        return &table->slots[i];
    double_slots(table);
    return first_empty(table, address);
}

void live_table_remove(struct live_table *table, struct live_block *slot)
{
    struct live_block *slots = table->slots;
    size_t mask = table->mask, hole = (size_t)(slot - slots);

    for (size_t i = (hole + 1) & mask; slots[i].address; i = (i + 1) & mask) {
        size_t home = hash_u64(slots[i].address) >> table->shift;
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* its home is not behind the hole */
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].address = 0;
    table->count--;
}

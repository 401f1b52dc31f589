/* Keeps the set of sampled blocks (sampled.h) in an open-addressing table with linear probing. A
 * removal moves later entries up, so there are no tombstones. After the table has grown, the old
 * one stays mapped, because a thread may be reading it. */
#include "recorder/sampled.h"

#include <errno.h>
#include <stdatomic.h>
#include "base/hash.h"
#include "recorder/followed.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"

enum { FIRST_LOG2 = 12, COUNTER_FULL = UINT8_MAX };

struct sampled_table {
    unsigned shift; /* home slot: hash >> shift */
    size_t mask;    /* slots - 1 */
    _Atomic uintptr_t slots[];
};

struct sampled {
    struct lock lock;
    _Atomic(struct sampled_table *) table;
    _Atomic uint32_t version; /* odd: addresses are being moved */
    size_t count;             /* of the set; at most half the slots */
    uint8_t filter[SAMPLED_COUNTERS];
};
static struct sampled *sampled;
uint8_t *sampled_filter;

static struct sampled_table *sampled_table_new(unsigned slots_log2)
{
    size_t slots = (size_t)1 << slots_log2;
    int saved_errno = errno;
    struct sampled_table *table = private_map(sizeof *table + slots * sizeof *table->slots);
    errno = saved_errno;
    if (table) {
        table->shift = 64 - slots_log2;
        table->mask = slots - 1;
    }
    return table;
}

void sampled_renew(void)
{
    sampled = NULL;
    sampled_filter = NULL;
    followed_root = NULL;
}

bool sampled_begin(void)
{
    if (!sampled && !(sampled = private_map(sizeof *sampled)))
        return false;
    struct sampled_table *table = sampled_table_new(FIRST_LOG2);
    atomic_store(&sampled->table, table);
    if (table)
        __atomic_store_n(&sampled_filter, sampled->filter, __ATOMIC_RELEASE);
    return table != NULL;
}

bool sampled_follow(void)
{
    uint8_t *filter = followed_begin() ? sampled_filter_full() : NULL;
    if (filter)
        __atomic_store_n(&sampled_filter, filter, __ATOMIC_RELEASE);
    return filter;
}

uint8_t *sampled_filter_full(void)
{
    static uint8_t *full; /* if two threads come at once, that of one stays unused */
    uint8_t *made = __atomic_load_n(&full, __ATOMIC_ACQUIRE);
    if (made)
        return made;
    int saved_errno = errno;
    made = private_map_kept(SAMPLED_COUNTERS);
    errno = saved_errno;
    for (size_t i = 0; made && i < SAMPLED_COUNTERS; i++)
        made[i] = COUNTER_FULL;
    __atomic_store_n(&full, made, __ATOMIC_RELEASE);
    return made;
}

static size_t sampled_home(const struct sampled_table *table, uintptr_t address)
{
    return hash_u64(address >> 4) >> table->shift;
}

static uintptr_t sampled_slot_get(const struct sampled_table *table, size_t slot)
{
    return atomic_load_explicit(&table->slots[slot], memory_order_relaxed);
}

static void sampled_slot_set(struct sampled_table *table, size_t slot, uintptr_t address)
{
    atomic_store_explicit(&table->slots[slot], address, memory_order_relaxed);
}

/* The slot of the address, or the empty slot for it. A reader may find neither if the table changes
 * meanwhile. It then gets any slot after one round, because it has to search again anyway. */
static size_t sampled_slot_of(const struct sampled_table *table, uintptr_t address)
{
    size_t slot = sampled_home(table, address);
    for (size_t tries = 0; tries < table->mask; tries++, slot = (slot + 1) & table->mask) {
        uintptr_t there = sampled_slot_get(table, slot);
        if (there == address || !there)
            break;
    }
    return slot;
}

static bool sampled_is_there(uintptr_t address)
{
    for (;;) {
        uint32_t version = atomic_load_explicit(&sampled->version, memory_order_acquire);
        struct sampled_table *table = atomic_load_explicit(&sampled->table, memory_order_acquire);
        bool found = table && sampled_slot_get(table, sampled_slot_of(table, address)) == address;
        atomic_thread_fence(memory_order_acquire);
        if (!(version & 1) &&
            atomic_load_explicit(&sampled->version, memory_order_relaxed) == version)
            return found;
        arch_relax();
    }
}

/* ---- With the lock held ---- */

static bool sampled_grow(struct sampled_table **table)
{
    struct sampled_table *old = *table, *made = sampled_table_new(64 - old->shift + 1);
    if (!made)
        return false;
    for (size_t i = 0; i <= old->mask; i++) {
        uintptr_t address = sampled_slot_get(old, i);
        if (address)
            sampled_slot_set(made, sampled_slot_of(made, address), address);
    }
    atomic_store_explicit(&sampled->table, made, memory_order_release);
    *table = made;
    return true;
}

static void sampled_count_up(uintptr_t address)
{
    uint8_t *counter = &sampled->filter[sampled_counter(address)];
    if (*counter != COUNTER_FULL)
        __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static void sampled_count_down(uintptr_t address)
{
    uint8_t *counter = &sampled->filter[sampled_counter(address)];
    if (*counter != COUNTER_FULL)
        __atomic_store_n(counter, *counter - 1, __ATOMIC_RELAXED);
}

static bool sampled_add_address(uintptr_t address)
{
    struct sampled_table *table = atomic_load_explicit(&sampled->table, memory_order_relaxed);
    if (sampled_slot_get(table, sampled_slot_of(table, address)) == address)
        return true; /* its free was not seen */
    if (2 * sampled->count >= table->mask && !sampled_grow(&table))
        return false;
    sampled_slot_set(table, sampled_slot_of(table, address), address);
    sampled->count++;
    sampled_count_up(address);
    return true;
}

static void sampled_close_hole(struct sampled_table *table, size_t hole)
{
    uintptr_t address;
    for (size_t i = (hole + 1) & table->mask; (address = sampled_slot_get(table, i));
         i = (i + 1) & table->mask)
        if (((i - sampled_home(table, address)) & table->mask) >= ((i - hole) & table->mask)) {
            sampled_slot_set(table, hole, address);
            hole = i;
        }
    sampled_slot_set(table, hole, 0);
}

static bool sampled_take_out(uintptr_t address)
{
    struct sampled_table *table = atomic_load_explicit(&sampled->table, memory_order_relaxed);
    size_t slot = sampled_slot_of(table, address);
    if (sampled_slot_get(table, slot) != address)
        return false;
    uint32_t version = atomic_load_explicit(&sampled->version, memory_order_relaxed);
    atomic_store_explicit(&sampled->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    sampled_close_hole(table, slot);
    atomic_store_explicit(&sampled->version, version + 2, memory_order_release);
    sampled->count--;
    sampled_count_down(address);
    return true;
}

/* ---- From outside ---- */

bool sampled_add(uintptr_t address)
{
    if (followed_root)
        return followed_add(address);
    signal_lock_take(&sampled->lock);
    bool added = sampled_add_address(address);
    signal_lock_release(&sampled->lock);
    return added;
}

/* Not for free(NULL), because empty slots hold 0. */
bool sampled_remove(uintptr_t address)
{
    if (followed_root)
        return followed_remove(address);
    if (!address || !sampled_maybe(sampled->filter, (const void *)address) ||
        !sampled_is_there(address))
        return false;
    signal_lock_take(&sampled->lock);
    bool removed = sampled_take_out(address);
    signal_lock_release(&sampled->lock);
    return removed;
}

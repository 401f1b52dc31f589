/* The index of call paths: an open-addressing table from path hash to node, read without locks.
 *
 *   hash  node
 *   0     0      empty: ends a search
 *   h     n      path h is node n
 *   0     n      was retired, or is being written: searches go on past it
 *
 * Writing (under the lock): the node first, then the hash. A reader that finds its hash, reads the
 * node and finds the hash again has a pair that belongs together, even if the slot was retired and
 * taken again in between. Hashes are 64 bits and compared in full: a million paths have a chance of
 * 3e-8 that any two of them are mistaken for each other.
 *
 * When half full it is replaced by one of twice the size. Old tables stay, since a reader may be in
 * them: together they are as large as the current one. */
#include "unwind/paths.h"

#include <stdatomic.h>
#include "unwind/lock.h"

#define FIRST_TABLE_SLOTS 4096u

struct slot {
    _Atomic uint64_t hash;
    _Atomic uint64_t node;
};

struct table {
    uint64_t mask; /* slots - 1 */
    struct slot slots[];
};

/* WIRE_NODES_PER_CHUNK nodes, and which of them are retired (made when the first one is). */
struct chunk {
    struct wire_node *nodes;
    uint64_t *retired;
};

static struct {
    const struct unwind_host *host;
    struct lock lock;
    _Atomic(struct table *) table;
    uint64_t used;       /* slots that are not empty */
    uint32_t node_count; /* node 0, the root, included */
    uint32_t published;
    uint32_t chunk_count;
    struct chunk chunks[WIRE_MAX_CHUNKS];
} paths;

void paths_init(const struct unwind_host *host)
{
    for (uint32_t i = 0; i < paths.chunk_count; i++) {
        paths.chunks[i] = (struct chunk){NULL, NULL};
    }
    paths.host = host;
    paths.lock = (struct lock)LOCK_INIT;
    atomic_store(&paths.table, NULL);
    paths.used = 0;
    paths.node_count = 1;
    paths.published = 1;
    paths.chunk_count = 0;
}

/* 0 means empty, so no path may have it. */
static inline uint64_t key_of(uint64_t hash)
{
    return hash | 1;
}

uint32_t paths_find(uint64_t hash)
{
    struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint64_t key = key_of(hash);
    if (unlikely(!table)) {
        return 0;
    }
    for (uint64_t i = hash >> 1;; i++) {
        struct slot *slot = &table->slots[i & table->mask];
        uint64_t found = atomic_load_explicit(&slot->hash, memory_order_acquire);
        uint64_t node = atomic_load_explicit(&slot->node, memory_order_acquire);
        if (likely(found == key)) {
            if (atomic_load_explicit(&slot->hash, memory_order_relaxed) == key) {
                return (uint32_t)node;
            }
            return 0; /* retired under our eyes */
        }
        if (!node && !found) {
            return 0;
        }
    }
}

/* ---- Everything below runs under the lock ----------------------------------------------------- */

static void put(struct table *table, uint64_t key, uint64_t node)
{
    for (uint64_t i = key >> 1;; i++) {
        struct slot *slot = &table->slots[i & table->mask];
        if (atomic_load_explicit(&slot->hash, memory_order_relaxed) == 0) {
            paths.used += atomic_load_explicit(&slot->node, memory_order_relaxed) == 0;
            atomic_store_explicit(&slot->node, node, memory_order_release);
            atomic_store_explicit(&slot->hash, key, memory_order_release);
            return;
        }
    }
}

static struct table *table_new(uint64_t slots)
{
    struct table *table = paths.host->map_private(sizeof *table + slots * sizeof(struct slot));
    if (table) {
        table->mask = slots - 1;
    }
    return table;
}

static void copy_slots(struct table *to, struct table *from)
{
    for (uint64_t i = 0; from && i <= from->mask; i++) {
        uint64_t key = atomic_load_explicit(&from->slots[i].hash, memory_order_relaxed);
        if (key) {
            put(to, key, atomic_load_explicit(&from->slots[i].node, memory_order_relaxed));
        }
    }
}

/* Room for one more? A table that cannot grow is filled up to seven eighths. */
static bool make_room(void)
{
    struct table *old = atomic_load_explicit(&paths.table, memory_order_relaxed);
    uint64_t slots = old ? old->mask + 1 : 0;
    struct table *table;
    if (paths.used < slots / 2) {
        return true;
    }
    table = table_new(slots ? slots * 2 : FIRST_TABLE_SLOTS);
    if (!table) {
        return paths.used < slots / 8 * 7;
    }
    paths.used = 0;
    copy_slots(table, old);
    atomic_store_explicit(&paths.table, table, memory_order_release);
    return true;
}

static struct wire_node *node_at(uint32_t number)
{
    return &paths.chunks[number / WIRE_NODES_PER_CHUNK].nodes[number % WIRE_NODES_PER_CHUNK];
}

static bool make_chunk(uint32_t index)
{
    if (index < paths.chunk_count) {
        return true;
    }
    if (index == WIRE_MAX_CHUNKS) {
        return false;
    }
    paths.chunks[index].nodes = paths.host->map_nodes(index);
    paths.chunk_count += paths.chunks[index].nodes != NULL;
    return paths.chunks[index].nodes != NULL;
}

void paths_begin(void)
{
    lock_take(&paths.lock);
}

void paths_end(void)
{
    if (paths.published != paths.node_count) {
        paths.published = paths.node_count;
        paths.host->publish_nodes(paths.published);
    }
    lock_release(&paths.lock);
}

uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    uint32_t number = paths_find(hash);
    if (number) {
        return number;
    }
    number = paths.node_count;
    if (!make_chunk(number / WIRE_NODES_PER_CHUNK) || !make_room()) {
        return 0;
    }
    *node_at(number) = (struct wire_node){ip, parent, parent ? node_at(parent)->depth + 1 : 1};
    paths.node_count = number + 1;
    put(atomic_load_explicit(&paths.table, memory_order_relaxed), key_of(hash), number);
    return number;
}

/* ---- Retiring --------------------------------------------------------------------------------- */

static bool is_retired(uint32_t number)
{
    const uint64_t *retired = paths.chunks[number / WIRE_NODES_PER_CHUNK].retired;
    uint32_t bit = number % WIRE_NODES_PER_CHUNK;
    return retired && retired[bit / 64] >> bit % 64 & 1;
}

/* False: no memory for the marks. */
static bool retire(uint32_t number)
{
    struct chunk *chunk = &paths.chunks[number / WIRE_NODES_PER_CHUNK];
    uint32_t bit = number % WIRE_NODES_PER_CHUNK;
    if (!chunk->retired) {
        chunk->retired = paths.host->map_private(WIRE_NODES_PER_CHUNK / 8);
    }
    if (!chunk->retired) {
        return false;
    }
    chunk->retired[bit / 64] |= 1ull << bit % 64;
    return true;
}

/* Parents have smaller numbers than their children, so one pass upwards finds all descendants. */
static bool retire_nodes(uintptr_t lo, uintptr_t hi)
{
    for (uint32_t number = 1; number < paths.node_count; number++) {
        const struct wire_node *node = node_at(number);
        bool through = node->ip >= lo && node->ip <= hi;
        if ((through || is_retired(node->parent)) && !is_retired(number) && !retire(number)) {
            return false;
        }
    }
    return true;
}

static void drop_retired(struct table *table)
{
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        uint64_t node = atomic_load_explicit(&table->slots[i].node, memory_order_relaxed);
        if (node && is_retired((uint32_t)node)) {
            atomic_store_explicit(&table->slots[i].hash, 0, memory_order_release);
        }
    }
}

void paths_retire(uintptr_t lo, uintptr_t hi)
{
    lock_take(&paths.lock);
    if (retire_nodes(lo, hi)) {
        drop_retired(atomic_load_explicit(&paths.table, memory_order_relaxed));
    } else {
        /* Without marks, give every path a new number. */
        atomic_store_explicit(&paths.table, NULL, memory_order_release);
        paths.used = 0;
    }
    lock_release(&paths.lock);
}

size_t paths_ips(uint32_t node, uintptr_t *ips, size_t max)
{
    size_t count = 0;
    for (; node && count < max; node = node_at(node)->parent) {
        ips[count++] = (uintptr_t)node_at(node)->ip;
    }
    return count;
}

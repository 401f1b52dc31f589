/* The index of call paths: an open-addressing table from path hash to node, read without locks.
 *
 *   a slot:   63                    26 25                     0
 *            ┌────────────────────────┬────────────────────────┐
 *            │ upper 38 bits of hash  │ node                   │   0: empty, ends a search
 *            └────────────────────────┴────────────────────────┘   node 0: was retired, go on
 *
 * The lower bits of the hash say where a search begins, so a path is told from another by 38 bits
 * and its place: some 59 in a table of two million slots. A million paths have a chance of one in
 * a million that any two of them are mistaken for each other. (Slots of 16 bytes with the whole hash
 * took 64 MB with 870,000 paths; these take 16.)
 *
 * When three quarters full it is replaced by one of twice the size. The old one's pages are given
 * back at once: a reader that is still in it reads zeros, finds nothing, and asks again under the
 * lock. */
#include "unwind/paths.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "unwind/arch.h"
#include "unwind/lock.h"

#define FIRST_TABLE_SLOTS 8192u
#define NODE_BITS         26
#define NODE_MASK         ((1u << NODE_BITS) - 1)

struct table {
    uint64_t mask; /* slots - 1 */
    uint64_t bytes;
    _Atomic uint64_t slots[];
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
    uint32_t new_from; /* nodes from here on were made since paths_begin() */
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

static inline uint64_t tag_of(uint64_t hash)
{
    return hash >> NODE_BITS;
}

uint32_t paths_find(uint64_t hash)
{
    struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint64_t slot;
    if (unlikely(!table)) {
        return 0;
    }
    uint64_t mask = table->mask; /* once: the table may be given back while we search */
    for (uint64_t i = hash; (slot = atomic_load_explicit(&table->slots[i & mask],
                                                         memory_order_acquire)) != 0;
         i++) {
        if (likely(slot >> NODE_BITS == tag_of(hash)) && slot & NODE_MASK) {
            return slot & NODE_MASK;
        }
    }
    return 0;
}

/* ---- Everything below runs under the lock ----------------------------------------------------- */

/* The first slot from the hash's place on that holds no node. */
static void put(struct table *table, uint64_t hash, uint32_t node)
{
    for (uint64_t i = hash;; i++) {
        _Atomic uint64_t *slot = &table->slots[i & table->mask];
        uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
        if (!(old & NODE_MASK)) {
            paths.used += old == 0;
            atomic_store_explicit(slot, tag_of(hash) << NODE_BITS | node, memory_order_release);
            return;
        }
    }
}

static struct table *table_new(uint64_t slots)
{
    uint64_t bytes = sizeof(struct table) + slots * sizeof(uint64_t);
    struct table *table = paths.host->map_private(bytes);
    if (table) {
        table->mask = slots - 1;
        table->bytes = bytes;
    }
    return table;
}

/* The first page stays: it holds the mask, without which a late reader would run off. */
static void table_give_back(struct table *table)
{
    if (table && table->bytes > 4096) {
        arch_syscall4(SYS_madvise, (long)table + 4096, (long)(table->bytes - 4096), MADV_DONTNEED,
                      0);
    }
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

static void copy_slots(struct table *to, struct table *from)
{
    for (uint64_t i = 0; from && i <= from->mask; i++) {
        uint64_t slot = atomic_load_explicit(&from->slots[i], memory_order_relaxed);
        uint32_t node = slot & NODE_MASK;
        if (node) {
            put(to, (slot & ~(uint64_t)NODE_MASK) | (node_at(node)->hash & NODE_MASK), node);
        }
    }
}

/* Room for one more? A table that cannot grow is filled up to seven eighths. */
static bool make_room(void)
{
    struct table *old = atomic_load_explicit(&paths.table, memory_order_relaxed);
    uint64_t slots = old ? old->mask + 1 : 0;
    struct table *table;
    if (paths.used < slots / 4 * 3) {
        return true;
    }
    table = table_new(slots ? slots * 2 : FIRST_TABLE_SLOTS);
    if (!table) {
        return paths.used < slots / 8 * 7;
    }
    paths.used = 0;
    copy_slots(table, old);
    atomic_store_explicit(&paths.table, table, memory_order_release);
    table_give_back(old);
    return true;
}

void paths_begin(void)
{
    lock_take(&paths.lock);
    paths.new_from = paths.node_count;
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
    /* What was made just now has no children yet. */
    uint32_t number = parent < paths.new_from ? paths_find(hash) : 0;
    if (number) {
        return number;
    }
    number = paths.node_count;
    if (number > NODE_MASK || !make_chunk(number / WIRE_NODES_PER_CHUNK) || !make_room()) {
        return 0;
    }
    *node_at(number) = (struct wire_node){ip, parent, (uint32_t)hash};
    paths.node_count = number + 1;
    put(atomic_load_explicit(&paths.table, memory_order_relaxed), hash, number);
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
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        if (slot & NODE_MASK && is_retired(slot & NODE_MASK)) {
            atomic_store_explicit(&table->slots[i], 1ull << 63, memory_order_release);
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

/* The index of call paths: an open-addressing table from path hash to node, read and written without
 * locks.
 *
 *   a slot:   63  62                 26 25                     0
 *            ┌───┬────────────────────┬────────────────────────┐
 *            │ 1 │ 37 bits of hash    │ node                   │   node 0: was retired, go on
 *            ├───┼────────────────────┴────────────────────────┤
 *            │ 0 │ 0: empty, 1: frozen                         │   ends a search
 *            └───┴─────────────────────────────────────────────┘
 *
 * The lower bits of the hash say where a search begins, so a path is told from another by 37 bits
 * and its place: some 58 in a table of two million slots. A million paths have a chance of two in a
 * million that any two of them are mistaken for each other. (Slots of 16 bytes with the whole hash
 * took 64 MB with 870,000 paths; these take 16.)
 *
 * Making a path asks no lock and no system call, so that a signal handler may interrupt it, make
 * paths of its own, and leave by longjmp: at every instruction all is complete.
 *   1. A node is claimed and written in one: 16 bytes are compared with zero and exchanged. Whoever
 *      finds the place taken counts it and tries the next, so the count never waits for anybody.
 *   2. Then its slot: the first one that is empty, or that of the same path retired. Slots never
 *      become empty again, so all who make one path at once meet at one slot, and one of them wins.
 *      The others' nodes are in nobody's use.
 *
 * When three quarters full, under a lock with signals blocked, every slot is copied to a new table,
 * or frozen if no path is there: who would have put one there waits, and finds the new table. The
 * old one's pages are given back at once: a reader that is still in it reads zeros and finds nothing, a
 * writer finds that the table is another one and begins again. */
#include "unwind/paths.h"

#include <stdatomic.h>
#include "unwind/arch.h"
#include "unwind/lock.h"

#define FIRST_TABLE_SLOTS 8192u
#define NODE_BITS         26
#define NODE_MASK         ((1u << NODE_BITS) - 1)
#define NODE_CHUNKS       ((NODE_MASK + 1) / WIRE_NODES_PER_CHUNK)

#define EMPTY    0ull
#define FROZEN   1ull
#define OCCUPIED (1ull << 63)

/* Invariant: used >= slots that are occupied, retired ones included. */
struct table {
    uint64_t mask; /* slots - 1 */
    uint64_t bytes;
    _Alignas(64) _Atomic uint64_t used; /* away from what every search reads */
    _Alignas(64) _Atomic uint64_t slots[];
};

/* WIRE_NODES_PER_CHUNK nodes, and which of them are retired (made when the first one is). */
struct chunk {
    _Atomic(struct wire_node *) nodes;
    uint64_t *retired;
};

/* Paths that captures have asked for lately, which are those of leaves: one in six of all. The table
 * is mostly inner nodes, and each search in it misses caches and TLB; this fits the second cache.
 *
 * Two entries, the newer one first, for each value of the lower 12 bits: 38 bits of hash, then the
 * node (0: empty), so 50 bits tell a path from another. The hash is salted anew when paths were retired,
 * so that nothing is found which was written before, or is written late. */
#define RECENT_PAIRS (1u << 12)
struct recent {
    _Alignas(64) struct recent_pair {
        _Atomic uint64_t newer, older;
    } pairs[RECENT_PAIRS];
};

static struct {
    const struct unwind_host *host;
    _Atomic(struct table *) table;
    _Atomic(struct recent *) recent; /* NULL: too few paths so far */
    _Atomic uint64_t salt;           /* of `recent` */
    struct lock lock;                         /* for a new table, a new chunk, retiring */
    _Alignas(64) _Atomic uint32_t node_count; /* node 0, the root, included */
    struct chunk chunks[NODE_CHUNKS];
} paths;

void paths_init(const struct unwind_host *host)
{
    for (uint32_t i = 0; i < NODE_CHUNKS && paths.chunks[i].nodes; i++) {
        atomic_store(&paths.chunks[i].nodes, NULL);
        paths.chunks[i].retired = NULL;
    }
    paths.host = host;
    paths.lock = (struct lock)LOCK_INIT;
    atomic_store(&paths.table, NULL);
    atomic_store(&paths.recent, NULL);
    atomic_store(&paths.node_count, 1);
}

/* The upper half of a slot. */
static inline uint64_t tag_of(uint64_t hash)
{
    return (hash | OCCUPIED) >> NODE_BITS;
}

static inline uint64_t slot_at(const struct table *table, uint64_t i)
{
    return atomic_load_explicit(&table->slots[i], memory_order_acquire);
}

static uint32_t find_in_table(uint64_t hash)
{
    const struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint64_t slot;
    if (unlikely(!table)) {
        return 0;
    }
    uint64_t mask = table->mask; /* once: the table may be given back while we search */
    for (uint64_t i = hash; (slot = slot_at(table, i & mask)) & OCCUPIED; i++) {
        if (likely(slot >> NODE_BITS == tag_of(hash))) {
            return slot & NODE_MASK;
        }
    }
    return 0;
}

/* `salt` was read before: what is retired meanwhile is noted under the old one. */
static uint32_t find_and_note(struct recent *recent, uint64_t hash, uint64_t salt)
{
    uint32_t node = find_in_table(hash);
    if (node) {
        struct recent_pair *pair = &recent->pairs[(hash ^ salt) % RECENT_PAIRS];
        uint64_t newer = atomic_load_explicit(&pair->newer, memory_order_relaxed);
        atomic_store_explicit(&pair->older, newer, memory_order_release);
        atomic_store_explicit(&pair->newer, ((hash ^ salt) & ~(uint64_t)NODE_MASK) | node,
                              memory_order_release);
    }
    return node;
}

uint32_t paths_find(uint64_t hash)
{
    struct recent *recent = atomic_load_explicit(&paths.recent, memory_order_acquire);
    uint64_t salt = atomic_load_explicit(&paths.salt, memory_order_acquire);
    const struct recent_pair *pair;
    uint64_t differs;
    uint32_t node;
    if (unlikely(!recent)) {
        return find_in_table(hash);
    }
    pair = &recent->pairs[(hash ^ salt) % RECENT_PAIRS];
    differs = atomic_load_explicit(&pair->newer, memory_order_acquire) ^ hash ^ salt;
    if (differs > NODE_MASK) {
        differs = atomic_load_explicit(&pair->older, memory_order_acquire) ^ hash ^ salt;
    }
    node = (differs ^ hash ^ salt) & NODE_MASK;
    if (likely(differs <= NODE_MASK && node)) {
        return node;
    }
    return find_and_note(recent, hash, salt);
}

/* ---- Nodes -------------------------------------------------------------------------------------- */

static struct wire_node *node_at(uint32_t number)
{
    struct chunk *chunk = &paths.chunks[number / WIRE_NODES_PER_CHUNK];
    struct wire_node *nodes = atomic_load_explicit(&chunk->nodes, memory_order_acquire);
    return nodes ? &nodes[number % WIRE_NODES_PER_CHUNK] : NULL;
}

static bool make_chunk(uint32_t index)
{
    struct chunk *chunk = &paths.chunks[index];
    struct wire_node *nodes;
    lock_take(&paths.lock);
    nodes = atomic_load_explicit(&chunk->nodes, memory_order_relaxed);
    if (!nodes) {
        nodes = paths.host->map_nodes(index);
        atomic_store_explicit(&chunk->nodes, nodes, memory_order_release);
    }
    lock_release(&paths.lock);
    return nodes != NULL;
}

/* The place of a node that may not have been made; NULL: no memory. */
static struct wire_node *place_of(uint32_t number)
{
    struct wire_node *place;
    if (number > NODE_MASK) {
        return NULL;
    }
    place = node_at(number);
    return likely(place) || !make_chunk(number / WIRE_NODES_PER_CHUNK) ? place : node_at(number);
}

/* Node `number` is complete. */
static void count_node(uint32_t number)
{
    uint32_t expected = number;
    atomic_compare_exchange_strong(&paths.node_count, &expected, number + 1);
    paths.host->publish_nodes(number + 1);
}

/* A new node's number; 0: no memory. */
static uint32_t append(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    bool ours = false;
    uint32_t number = 0;
    while (!ours) {
        struct wire_node *place;
        number = atomic_load_explicit(&paths.node_count, memory_order_acquire);
        place = place_of(number);
        if (unlikely(!place)) {
            return 0;
        }
        ours = arch_claim16(place, ip, (uint64_t)(uint32_t)hash << 32 | parent);
        count_node(number);
    }
    return number;
}

/* ---- The table ---------------------------------------------------------------------------------- */

/* The number that the path has now: `number`, or that of whoever was faster. 0: there is another
 * table, or there will be one soon. */
static uint32_t put(struct table *table, uint64_t hash, uint32_t number)
{
    uint64_t mask = table->mask, new = tag_of(hash) << NODE_BITS | number, i = hash & mask;
    for (;;) {
        uint64_t slot = slot_at(table, i);
        bool same = slot >> NODE_BITS == tag_of(hash);
        if (slot == FROZEN) {
            return 0;
        }
        if (same && slot & NODE_MASK) {
            return slot & NODE_MASK;
        }
        if (slot != EMPTY && !same) {
            i = (i + 1) & mask;
            continue;
        }
        /* Counted before it is done: there is always an empty slot to end searches. */
        if (slot == EMPTY && atomic_fetch_add(&table->used, 1) >= mask / 8 * 7) {
            atomic_fetch_sub(&table->used, 1);
            return 0;
        }
        if (atomic_compare_exchange_strong(&table->slots[i], &slot, new)) {
            return number;
        }
        if (!same) {
            atomic_fetch_sub(&table->used, 1);
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
    if (table && table->bytes > PAGE_BYTES) {
        paths.host->give_back((char *)table + PAGE_BYTES, table->bytes - PAGE_BYTES);
    }
}

/* What the slot holds for good. Also where a path was retired nobody may put it again. */
static uint64_t freeze(_Atomic uint64_t *slot)
{
    uint64_t found = atomic_load(slot);
    while (!(found & NODE_MASK)) {
        if (atomic_compare_exchange_strong(slot, &found, FROZEN)) {
            return FROZEN;
        }
    }
    return found;
}

/* Retired paths stay behind. */
static void copy_slots(struct table *to, struct table *from)
{
    for (uint64_t i = 0; from && i <= from->mask; i++) {
        uint64_t slot = freeze(&from->slots[i]);
        uint32_t node = slot & OCCUPIED ? slot & NODE_MASK : 0;
        if (node) {
            put(to, (slot & ~(uint64_t)NODE_MASK) | (node_at(node)->hash & NODE_MASK), node);
        }
    }
}

static uint64_t slots_wanted(const struct table *old)
{
    uint64_t live = 0;
    if (!old) {
        return FIRST_TABLE_SLOTS;
    }
    for (uint64_t i = 0; i <= old->mask; i++) {
        uint64_t slot = slot_at(old, i);
        live += slot & OCCUPIED && slot & NODE_MASK;
    }
    return live > old->mask / 8 * 3 ? (old->mask + 1) * 2 : old->mask + 1;
}

/* True: there is another table now. */
static bool replace(struct table *old)
{
    struct table *now;
    lock_take(&paths.lock);
    now = atomic_load(&paths.table);
    if (now == old && (now = table_new(slots_wanted(old)))) {
        copy_slots(now, old);
        atomic_store(&paths.table, now);
        table_give_back(old);
        if (old && !atomic_load(&paths.recent)) {
            atomic_store(&paths.recent, paths.host->map_private(sizeof(struct recent)));
        }
    }
    lock_release(&paths.lock);
    return now && now != old;
}

/* A table that cannot be replaced is filled up to seven eighths. */
static struct table *table_with_room(void)
{
    for (;;) {
        struct table *table = atomic_load(&paths.table);
        uint64_t used = table ? atomic_load(&table->used) : 0;
        if (likely(table && used < table->mask / 4 * 3)) {
            return table;
        }
        if (!replace(table)) {
            return table && used < table->mask / 8 * 7 ? table : NULL;
        }
    }
}

void paths_expect(uint64_t hash)
{
    const struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    if (table) {
        __builtin_prefetch((const void *)&table->slots[hash & table->mask], 1);
    }
}

uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    uint32_t number = find_in_table(hash);
    if (!number && (number = append(parent, hash, ip)) != 0) {
        struct table *table;
        uint32_t found;
        do {
            table = table_with_room();
            found = table ? put(table, hash, number) : 0;
        } while (table && (!found || table != atomic_load(&paths.table)));
        number = found;
    }
    return number;
}

/* ---- Retiring ----------------------------------------------------------------------------------- */

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
    uint32_t count = atomic_load(&paths.node_count);
    for (uint32_t number = 1; number < count; number++) {
        const struct wire_node *node = node_at(number);
        bool through = node->ip >= lo && node->ip <= hi;
        if ((through || is_retired(node->parent)) && !is_retired(number) && !retire(number)) {
            return false;
        }
    }
    return true;
}

/* Their slots stay those of their hashes: a module that comes again takes them again. */
static void drop_retired(struct table *table)
{
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        uint64_t slot = slot_at(table, i);
        if (slot & OCCUPIED && is_retired(slot & NODE_MASK)) {
            atomic_store(&table->slots[i], slot & ~(uint64_t)NODE_MASK);
        }
    }
}

void paths_retire(uintptr_t lo, uintptr_t hi)
{
    lock_take(&paths.lock);
    if (retire_nodes(lo, hi)) {
        drop_retired(atomic_load(&paths.table));
    } else {
        /* Without marks, give every path a new number. */
        atomic_store(&paths.table, NULL);
    }
    /* At last: who sees it finds no retired path any more. */
    atomic_store(&paths.salt, hash_u64(atomic_load(&paths.salt) + 1));
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

uint32_t paths_parent(uint32_t node)
{
    return node ? node_at(node)->parent : 0;
}

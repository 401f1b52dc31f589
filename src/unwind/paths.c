/* The index of call paths: an open-addressing table from path hash to node, read and written without
 * locks.
 *
 *   a slot:   31        26 25                     0
 *            ┌────────────┬────────────────────────┐
 *            │ upper bits │ node                   │
 *            │  of hash   ├────────────────────────┤
 *            │          0 │ 0                      │   empty: ends a search
 *            │          1 │ 0                      │   frozen: does, too
 *            │          2 │ 0                      │   a path that was retired: go on
 *            └────────────┴────────────────────────┘
 *
 * The node says 54 bits more, so that 60 tell a path from another: a million paths have a chance of
 * one in two millions that any two of them are mistaken for each other. The lower half of the hash says
 * where a search begins, in the order of the table, whose size may thus be any. (Slots of 8 bytes that
 * need no look at the node, in powers of two, took 16.8 MB with a million paths; these take 6.4.)
 *
 * Making a path asks no lock and no system call, so that a signal handler may interrupt it, make
 * paths of its own, and leave by longjmp: at every instruction all is complete.
 *   1. A node is claimed and written in one: 16 bytes are compared with zero and exchanged. Whoever
 *      finds the place taken counts it and tries the next, so the count never waits for anybody.
 *   2. Then its slot: the first one that is empty. Slots never become empty again, so all who make
 *      one path at once meet at one slot, and one of them wins. The others' nodes are in nobody's use.
 *
 * When three quarters full, under a lock with signals blocked, every slot is copied to a new table,
 * or frozen if it is empty: who would have put a path there waits, and finds the new table. The
 * old one's pages are given back at once: a reader that is still in it reads zeros and finds nothing, a
 * writer finds that the table is another one and begins again. */
#include "unwind/paths.h"

#include <stdatomic.h>
#include "unwind/arch.h"
#include "unwind/lock.h"

#define FIRST_TABLE_SLOTS 8192u
#define NODE_MASK         ((1u << WIRE_NODE_BITS) - 1)
#define NODE_CHUNKS       ((NODE_MASK + 1) / WIRE_NODES_PER_CHUNK)

#define EMPTY   0u
#define FROZEN  (1u << WIRE_NODE_BITS)
#define RETIRED (2u << WIRE_NODE_BITS)

/* Invariant: used >= slots that are not empty. */
struct table {
    uint64_t count; /* slots */
    uint64_t bytes;
    _Alignas(64) _Atomic uint64_t used; /* away from what every search reads */
    _Alignas(64) _Atomic uint32_t slots[];
};

/* WIRE_NODES_PER_CHUNK nodes, and which of them are retired (made when the first one is). */
struct chunk {
    _Atomic(struct wire_node *) nodes;
    uint64_t *retired;
};

/* Paths that captures have asked for lately, which are those of leaves: one in six of all. The table
 * is mostly inner nodes, and each search in it misses caches and TLB, twice if it finds something; this
 * fits the second cache.
 *
 * Two entries, the newer one first, for each value of the lower 13 bits: 38 bits of hash, then the
 * node (0: empty), so 51 bits tell a path from another. The hash is salted anew when paths were retired,
 * so that nothing is found which was written before, or is written late. */
#define RECENT_PAIRS (1u << 13)
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

static struct wire_node *node_at(uint32_t number)
{
    struct chunk *chunk = &paths.chunks[number / WIRE_NODES_PER_CHUNK];
    struct wire_node *nodes = atomic_load_explicit(&chunk->nodes, memory_order_acquire);
    return nodes ? &nodes[number % WIRE_NODES_PER_CHUNK] : NULL;
}

/* ---- Searching ---------------------------------------------------------------------------------- */

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> (32 + WIRE_NODE_BITS));
}

static inline uint32_t slot_at(const struct table *table, uint64_t i)
{
    return atomic_load_explicit(&table->slots[i], memory_order_acquire);
}

static inline uint64_t first_slot(uint64_t count, uint64_t hash)
{
    return (uint32_t)hash * count >> 32;
}

static inline uint64_t next_slot(uint64_t count, uint64_t i)
{
    return i + 1 < count ? i + 1 : 0;
}

static inline bool ends_search(uint32_t slot)
{
    return (slot & ~FROZEN) == 0;
}

/* Is this path's node in the slot? */
static inline bool holds(uint32_t slot, uint64_t hash)
{
    const struct wire_node *node;
    if (slot >> WIRE_NODE_BITS != tag_of(hash) || !(slot & NODE_MASK)) {
        return false;
    }
    node = node_at(slot & NODE_MASK);
    return node && node->hash == (uint32_t)hash && node->hash_32 == (hash >> 32 & 0xffff) &&
           node->hash_48 == (hash >> 48 & 0x3f);
}

/* Not inlined, nor is its caller: paths_find() saves no registers where a path was asked for lately. */
static __attribute__((noinline)) uint32_t find_in_table(uint64_t hash)
{
    const struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint32_t slot;
    if (unlikely(!table)) {
        return 0;
    }
    uint64_t count = table->count; /* once: the table may be given back while we search */
    for (uint64_t i = first_slot(count, hash); !ends_search(slot = slot_at(table, i));
         i = next_slot(count, i)) {
        if (holds(slot, hash)) {
            return slot & NODE_MASK;
        }
    }
    return 0;
}

/* `salt` was read before: what is retired meanwhile is noted under the old one. */
static __attribute__((noinline)) uint32_t find_and_note(struct recent *recent, uint64_t hash,
                                                        uint64_t salt)
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

/* False: the place is taken. */
static bool claim(struct wire_node *place, uint32_t parent, uint64_t hash, uintptr_t ip)
{
    struct wire_node node = {.ip = ip & 0xffffffffffff,
                             .hash_32 = hash >> 32 & 0xffff,
                             .parent = parent & NODE_MASK,
                             .hash_48 = hash >> 48 & 0x3f,
                             .hash = (uint32_t)hash};
    uint64_t words[2];
    __builtin_memcpy(words, &node, sizeof words);
    return arch_claim16(place, words[0], words[1]);
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
        ours = claim(place, parent, hash, ip);
        count_node(number);
    }
    return number;
}

/* ---- The table ---------------------------------------------------------------------------------- */

/* The number that the path has now: `number`, or that of whoever was faster. 0: there is another
 * table, or there will be one soon. */
static uint32_t put(struct table *table, uint64_t hash, uint32_t number)
{
    uint64_t count = table->count, i = first_slot(count, hash);
    for (;;) {
        uint32_t slot = slot_at(table, i);
        if (slot == FROZEN) {
            return 0;
        }
        if (holds(slot, hash)) {
            return slot & NODE_MASK;
        }
        if (slot != EMPTY) {
            i = next_slot(count, i);
            continue;
        }
        /* Counted before it is done: there is always an empty slot to end searches. */
        if (atomic_fetch_add(&table->used, 1) >= count / 8 * 7) {
            atomic_fetch_sub(&table->used, 1);
            return 0;
        }
        if (atomic_compare_exchange_strong(&table->slots[i], &slot,
                                           tag_of(hash) << WIRE_NODE_BITS | number)) {
            return number;
        }
        atomic_fetch_sub(&table->used, 1);
    }
}

static struct table *table_new(uint64_t count)
{
    uint64_t bytes = sizeof(struct table) + count * sizeof(uint32_t);
    struct table *table = paths.host->map_private(bytes);
    if (table) {
        table->count = count;
        table->bytes = bytes;
    }
    return table;
}

/* The first page stays: it holds the count, without which a late reader would run off. */
static void table_give_back(struct table *table)
{
    if (table && table->bytes > PAGE_BYTES) {
        paths.host->give_back((char *)table + PAGE_BYTES, table->bytes - PAGE_BYTES);
    }
}

/* What the slot holds for good. */
static uint32_t freeze(_Atomic uint32_t *slot)
{
    uint32_t found = EMPTY;
    return atomic_compare_exchange_strong(slot, &found, FROZEN) ? FROZEN : found;
}

/* Of a path whose node is known to be in the table nowhere else. Nobody sees the table yet. */
static void settle(struct table *to, uint32_t slot)
{
    uint64_t i = first_slot(to->count, node_at(slot & NODE_MASK)->hash);
    while (slot_at(to, i) != EMPTY) {
        i = next_slot(to->count, i);
    }
    atomic_store_explicit(&to->slots[i], slot, memory_order_relaxed);
    atomic_store_explicit(&to->used, atomic_load(&to->used) + 1, memory_order_relaxed);
}

/* Retired paths stay behind. Each needs its node, which misses the caches. */
static void copy_slots(struct table *to, struct table *from)
{
    enum { AHEAD = 16 };
    for (uint64_t i = 0; from && i < from->count; i++) {
        uint32_t slot = freeze(&from->slots[i]);
        if (i + AHEAD < from->count) {
            __builtin_prefetch(node_at(slot_at(from, i + AHEAD) & NODE_MASK));
        }
        if (slot & NODE_MASK) {
            settle(to, slot);
        }
    }
}

static uint64_t slots_wanted(const struct table *old)
{
    uint64_t live = 0;
    if (!old) {
        return FIRST_TABLE_SLOTS;
    }
    for (uint64_t i = 0; i < old->count; i++) {
        live += (slot_at(old, i) & NODE_MASK) != 0;
    }
    return live > old->count / 8 * 3 ? old->count / 2 * 3 : old->count;
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
        if (likely(table && used < table->count / 4 * 3)) {
            return table;
        }
        if (!replace(table)) {
            return table && used < table->count / 8 * 7 ? table : NULL;
        }
    }
}

void paths_expect(uint64_t hash)
{
    const struct table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    if (table) {
        __builtin_prefetch((const void *)&table->slots[first_slot(table->count, hash)], 1);
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

static void drop_retired(struct table *table)
{
    for (uint64_t i = 0; table && i < table->count; i++) {
        uint32_t node = slot_at(table, i) & NODE_MASK;
        if (node && is_retired(node)) {
            atomic_store(&table->slots[i], RETIRED);
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

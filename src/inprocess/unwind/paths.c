/* The index of call paths: an open-addressing table from path hash to node, read and written
 * without locks.
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
 * The node holds 54 more bits of the hash, so 60 bits distinguish paths. With a million paths the
 * chance that any two are confused is one in two millions. The lower half of the hash, scaled to
 * the table's size, gives the slot where a search begins, so the size need not be a power of two.
 * (Slots of 8 bytes that need no look at the node took 16.8 MB for a million paths; these take 6.4
 * MB.)
 *
 * Making a path takes no lock and makes no system call. A signal handler can interrupt it at any
 * instruction, make paths of its own, and leave by longjmp, because the table is complete at every
 * instruction.
 *   1. A node is claimed and written by one compare-and-exchange of 16 bytes with zero. A thread
 *      that finds the place taken counts it and tries the next, so no thread waits for another.
 *   2. The node is put into the first empty slot. A slot never becomes empty again. So threads that
 *      make the same path at the same time meet at the same slot. One of them wins, and the nodes
 *      of the others stay unused.
 *
 * The table grows when it is three quarters full, under a lock and with signals blocked. Each full
 * slot is copied to the new table, and each empty slot is frozen. A writer that finds a frozen slot
 * waits for the new table. The old table's pages are given back at once. A reader that still uses
 * them reads zeros and finds nothing. A writer sees that the table has changed and begins again.
 *
 * Paths through code that was unloaded are retired only when code is seen at its addresses again.
 * Until then no capture can find them. A program that unloads a hundred plugins one after the other
 * thus pays for one pass over all nodes instead of a hundred. */
#include "unwind/paths.h"

#include <stdatomic.h>
#include "base/large_static.h"
#include "unwind/arch.h"
#include "unwind/signal_lock.h"

#define FIRST_TABLE_SLOTS 8192u
#define NODE_MASK         ((1u << WIRE_NODE_BITS) - 1)
#define NODE_CHUNKS       ((NODE_MASK + 1) / WIRE_NODES_PER_CHUNK)

#define EMPTY   0u
#define FROZEN  (1u << WIRE_NODE_BITS)
#define RETIRED (2u << WIRE_NODE_BITS)

/* Invariant: used >= slots that are not empty. */
struct paths_table {
    uint64_t count; /* slots */
    uint64_t bytes;
    _Alignas(64) _Atomic uint64_t used; /* away from what every search reads */
    _Alignas(64) _Atomic uint32_t slots[];
};

/* WIRE_NODES_PER_CHUNK nodes, and a bit set of the retired ones (made when the first one is
 * retired). */
struct paths_chunk {
    _Atomic(struct wire_node *) nodes;
    uint64_t *retired;
};

/* A small cache of the paths that captures have asked for lately. These are leaves, one path in
 * six. Most of the table are inner nodes, and each search in the table misses caches and TLB, twice
 * if it succeeds. This cache fits the second-level cache.
 *
 * For each value of the lower 13 bits there are two entries, the newer one first. An entry holds 38
 * bits of the hash and the node (0: empty), so 51 bits distinguish paths. The hash has a salt that
 * changes when paths are retired. So entries that were written before, or are written late, are
 * never found. */
#define RECENT_PAIRS (1u << 13)
struct recent {
    _Alignas(64) struct recent_pair {
        _Atomic uint64_t newer, older;
    } pairs[RECENT_PAIRS];
};

/* Addresses in [lo, hi]. Atomic, because threads read a range while it may be overwritten. */
struct paths_gone {
    _Atomic uintptr_t lo, hi;
};
#define GONE_RANGES 64u

LARGE_STATIC static struct {
    const struct unwind_host *host;
    _Atomic(struct paths_table *) table;
    _Atomic(struct recent *) recent; /* NULL: too few paths so far */
    _Atomic uint64_t salt;           /* of `recent` */
    struct lock lock;                /* for a new table, a new chunk, retiring */
    _Atomic uint32_t gone_count;     /* ranges whose paths are not retired yet */
    struct paths_gone gone[GONE_RANGES];
    _Alignas(64) _Atomic uint32_t node_count; /* node 0, the root, included */
    struct paths_chunk chunks[NODE_CHUNKS];
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
    atomic_store(&paths.gone_count, 0);
}

static struct wire_node *paths_node_at(uint32_t number)
{
    struct paths_chunk *chunk = &paths.chunks[number / WIRE_NODES_PER_CHUNK];
    struct wire_node *nodes = atomic_load_explicit(&chunk->nodes, memory_order_acquire);
    return nodes ? &nodes[number % WIRE_NODES_PER_CHUNK] : NULL;
}

/* ---- Searching ------------------------------------------------------------------------------- */

static inline uint32_t paths_tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> (32 + WIRE_NODE_BITS));
}

static inline uint32_t paths_slot_at(const struct paths_table *table, uint64_t i)
{
    return atomic_load_explicit(&table->slots[i], memory_order_acquire);
}

static inline uint64_t paths_first_slot(uint64_t count, uint64_t hash)
{
    return (uint32_t)hash * count >> 32;
}

static inline uint64_t paths_next_slot(uint64_t count, uint64_t i)
{
    return i + 1 < count ? i + 1 : 0;
}

static inline bool paths_ends_search(uint32_t slot)
{
    return (slot & ~FROZEN) == 0;
}

/* Is this path's node in the slot? */
static inline bool paths_holds(uint32_t slot, uint64_t hash)
{
    const struct wire_node *node;
    if (slot >> WIRE_NODE_BITS != paths_tag_of(hash) || !(slot & NODE_MASK)) {
        return false;
    }
    node = paths_node_at(slot & NODE_MASK);
    return node && node->hash == (uint32_t)hash && node->hash_32 == (hash >> 32 & 0xffff) &&
           node->hash_48 == (hash >> 48 & 0x3f);
}

/* This and its caller are not inlined, so that paths_find() saves no registers if it finds the path
 * in the small cache. */
static __attribute__((noinline)) uint32_t paths_find_in_table(uint64_t hash)
{
    const struct paths_table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint32_t slot;
    if (unlikely(!table)) {
        return 0;
    }
    uint64_t count = table->count; /* read once, because the table may be given back while we
                                    * search */
    for (uint64_t i = paths_first_slot(count, hash);
         !paths_ends_search(slot = paths_slot_at(table, i)); i = paths_next_slot(count, i)) {
        if (paths_holds(slot, hash)) {
            return slot & NODE_MASK;
        }
    }
    return 0;
}

/* The caller read `salt` before the search. So a path that is retired meanwhile is noted under the
 * old salt. */
static __attribute__((noinline)) uint32_t paths_find_and_note(struct recent *recent, uint64_t hash,
                                                              uint64_t salt)
{
    uint32_t node = paths_find_in_table(hash);
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
        return paths_find_in_table(hash);
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
    return paths_find_and_note(recent, hash, salt);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool paths_make_chunk(uint32_t index)
{
    struct paths_chunk *chunk = &paths.chunks[index];
    struct wire_node *nodes;
    signal_lock_take(&paths.lock);
    nodes = atomic_load_explicit(&chunk->nodes, memory_order_relaxed);
    if (!nodes) {
        nodes = paths.host->map_nodes(index);
        atomic_store_explicit(&chunk->nodes, nodes, memory_order_release);
    }
    signal_lock_release(&paths.lock);
    return nodes != NULL;
}

/* The place of a node that need not exist yet; NULL: no memory. */
static struct wire_node *paths_place_of(uint32_t number)
{
    struct wire_node *place;
    if (number > NODE_MASK) {
        return NULL;
    }
    place = paths_node_at(number);
    return likely(place) || !paths_make_chunk(number / WIRE_NODES_PER_CHUNK)
               ? place
               : paths_node_at(number);
}

/* Counts and publishes node `number`, which is complete. */
static void paths_count_node(uint32_t number)
{
    uint32_t expected = number;
    atomic_compare_exchange_strong(&paths.node_count, &expected, number + 1);
    paths.host->publish_nodes(number + 1);
}

/* False: the place is taken. */
static bool paths_claim(struct wire_node *place, uint32_t parent, uint64_t hash, uintptr_t ip)
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
static uint32_t paths_append(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    bool ours = false;
    uint32_t number = 0;
    while (!ours) {
        struct wire_node *place;
        number = atomic_load_explicit(&paths.node_count, memory_order_acquire);
        place = paths_place_of(number);
        if (unlikely(!place)) {
            return 0;
        }
        ours = paths_claim(place, parent, hash, ip);
        paths_count_node(number);
    }
    return number;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Puts the path into the table. Returns the path's number: `number`, or that of a thread that was
 * faster. 0: the table is being replaced, or is too full. */
static uint32_t paths_put(struct paths_table *table, uint64_t hash, uint32_t number)
{
    uint64_t count = table->count, i = paths_first_slot(count, hash);
    for (;;) {
        uint32_t slot = paths_slot_at(table, i);
        if (slot == FROZEN) {
            return 0;
        }
        if (paths_holds(slot, hash)) {
            return slot & NODE_MASK;
        }
        if (slot != EMPTY) {
            i = paths_next_slot(count, i);
            continue;
        }
        /* Counted before the slot is filled, so that there is always an empty slot, which ends
         * searches. */
        if (atomic_fetch_add(&table->used, 1) >= count / 8 * 7) {
            atomic_fetch_sub(&table->used, 1);
            return 0;
        }
        if (atomic_compare_exchange_strong(&table->slots[i], &slot,
                                           paths_tag_of(hash) << WIRE_NODE_BITS | number)) {
            return number;
        }
        atomic_fetch_sub(&table->used, 1);
    }
}

static struct paths_table *paths_table_new(uint64_t count)
{
    uint64_t bytes = sizeof(struct paths_table) + count * sizeof(uint32_t);
    struct paths_table *table = paths.host->map_private(bytes);
    if (table) {
        table->count = count;
        table->bytes = bytes;
    }
    return table;
}

/* The first page stays, because it has the count, which bounds a late reader's search. */
static void paths_table_give_back(struct paths_table *table)
{
    if (table && table->bytes > PAGE_BYTES) {
        paths.host->give_back((char *)table + PAGE_BYTES, table->bytes - PAGE_BYTES);
    }
}

/* Freezes the slot if it is empty. Returns its final value. */
static uint32_t paths_freeze(_Atomic uint32_t *slot)
{
    uint32_t found = EMPTY;
    return atomic_compare_exchange_strong(slot, &found, FROZEN) ? FROZEN : found;
}

/* Puts a path into the new table, which has no readers yet, and not this path. */
static void paths_settle(struct paths_table *to, uint32_t slot)
{
    uint64_t i = paths_first_slot(to->count, paths_node_at(slot & NODE_MASK)->hash);
    while (paths_slot_at(to, i) != EMPTY) {
        i = paths_next_slot(to->count, i);
    }
    atomic_store_explicit(&to->slots[i], slot, memory_order_relaxed);
    atomic_store_explicit(&to->used, atomic_load(&to->used) + 1, memory_order_relaxed);
}

/* Copies all but retired paths. Each needs its node, which misses the caches and is prefetched. */
static void paths_copy_slots(struct paths_table *to, struct paths_table *from)
{
    enum { AHEAD = 16 };
    for (uint64_t i = 0; from && i < from->count; i++) {
        uint32_t slot = paths_freeze(&from->slots[i]);
        if (i + AHEAD < from->count) {
            __builtin_prefetch(paths_node_at(paths_slot_at(from, i + AHEAD) & NODE_MASK));
        }
        if (slot & NODE_MASK) {
            paths_settle(to, slot);
        }
    }
}

static uint64_t paths_slots_wanted(const struct paths_table *old)
{
    uint64_t live = 0;
    if (!old) {
        return FIRST_TABLE_SLOTS;
    }
    for (uint64_t i = 0; i < old->count; i++) {
        live += (paths_slot_at(old, i) & NODE_MASK) != 0;
    }
    return live > old->count / 8 * 3 ? old->count / 2 * 3 : old->count;
}

/* True: there is another table now. */
static bool paths_replace(struct paths_table *old)
{
    struct paths_table *now;
    signal_lock_take(&paths.lock);
    now = atomic_load(&paths.table);
    if (now == old && (now = paths_table_new(paths_slots_wanted(old)))) {
        paths_copy_slots(now, old);
        atomic_store(&paths.table, now);
        paths_table_give_back(old);
        if (old && !atomic_load(&paths.recent)) {
            atomic_store(&paths.recent, paths.host->map_private(sizeof(struct recent)));
        }
    }
    signal_lock_release(&paths.lock);
    return now && now != old;
}

/* A table with room; NULL: no memory. A table that cannot be replaced is filled up to seven
 * eighths. */
static struct paths_table *paths_table_with_room(void)
{
    for (;;) {
        struct paths_table *table = atomic_load(&paths.table);
        uint64_t used = table ? atomic_load(&table->used) : 0;
        if (likely(table && used < table->count / 4 * 3)) {
            return table;
        }
        if (!paths_replace(table)) {
            return table && used < table->count / 8 * 7 ? table : NULL;
        }
    }
}

void paths_expect(uint64_t hash)
{
    const struct paths_table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    if (table) {
        __builtin_prefetch((const void *)&table->slots[paths_first_slot(table->count, hash)], 1);
    }
}

uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    uint32_t number = paths_find_in_table(hash);
    if (!number && (number = paths_append(parent, hash, ip)) != 0) {
        struct paths_table *table;
        uint32_t found;
        do {
            table = paths_table_with_room();
            found = table ? paths_put(table, hash, number) : 0;
        } while (table && (!found || table != atomic_load(&paths.table)));
        number = found;
    }
    return number;
}

/* ---- Retiring -------------------------------------------------------------------------------- */

static bool paths_is_retired(uint32_t number)
{
    const uint64_t *retired = paths.chunks[number / WIRE_NODES_PER_CHUNK].retired;
    uint32_t bit = number % WIRE_NODES_PER_CHUNK;
    return retired && retired[bit / 64] >> bit % 64 & 1;
}

/* False: no memory for the marks. */
static bool paths_retire_node(uint32_t number)
{
    struct paths_chunk *chunk = &paths.chunks[number / WIRE_NODES_PER_CHUNK];
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

/* The ranges to retire, in order and without overlaps, so that a node's is found in a few steps. */
struct retiring {
    uint32_t count;
    struct {
        uintptr_t lo, hi;
    } at[GONE_RANGES];
};

/* Puts a range in its place; those that it touches become one with it. */
static void paths_add_retiring(struct retiring *ranges, uintptr_t lo, uintptr_t hi)
{
    uint32_t first = 0, after;
    while (first < ranges->count && ranges->at[first].hi < lo) {
        first++;
    }
    for (after = first; after < ranges->count && ranges->at[after].lo <= hi; after++) {
        lo = lo < ranges->at[after].lo ? lo : ranges->at[after].lo;
        hi = hi > ranges->at[after].hi ? hi : ranges->at[after].hi;
    }
    __builtin_memmove(&ranges->at[first + 1], &ranges->at[after],
                      (ranges->count - after) * sizeof ranges->at[0]);
    ranges->count = ranges->count - (after - first) + 1;
    ranges->at[first].lo = lo;
    ranges->at[first].hi = hi;
}

static bool paths_leads_through(const struct retiring *ranges, uintptr_t ip)
{
    uint32_t first = 0, count = ranges->count;
    while (count) { /* the first range that does not end before ip */
        uint32_t half = count / 2;
        bool ends_before = ranges->at[first + half].hi < ip;
        first = ends_before ? first + half + 1 : first;
        count = ends_before ? count - half - 1 : half;
    }
    return first < ranges->count && ranges->at[first].lo <= ip;
}

/* Parents have smaller numbers than their children, so one pass upwards finds all descendants. */
static bool paths_retire_nodes(const struct retiring *ranges)
{
    uint32_t count = atomic_load(&paths.node_count);
    for (uint32_t number = 1; number < count; number++) {
        const struct wire_node *node = paths_node_at(number);
        if ((paths_leads_through(ranges, node->ip) || paths_is_retired(node->parent)) &&
            !paths_is_retired(number) && !paths_retire_node(number)) {
            return false;
        }
    }
    return true;
}

static void paths_drop_retired(struct paths_table *table)
{
    for (uint64_t i = 0; table && i < table->count; i++) {
        uint32_t node = paths_slot_at(table, i) & NODE_MASK;
        if (node && paths_is_retired(node)) {
            atomic_store(&table->slots[i], RETIRED);
        }
    }
}

/* Under the lock. */
static void paths_retire_gone(void)
{
    struct retiring ranges = {.count = 0};
    uint32_t count = atomic_load(&paths.gone_count);
    for (uint32_t i = 0; i < count; i++) {
        paths_add_retiring(&ranges, atomic_load(&paths.gone[i].lo), atomic_load(&paths.gone[i].hi));
    }
    if (paths_retire_nodes(&ranges)) {
        paths_drop_retired(atomic_load(&paths.table));
    } else {
        /* without marks, every path gets a new number */
        atomic_store(&paths.table, NULL);
    }
    /* Changed last, because whoever reads the new salt must find no retired path any more. */
    atomic_store(&paths.salt, hash_u64(atomic_load(&paths.salt) + 1));
    atomic_store(&paths.gone_count, 0);
}

void paths_code_gone(uintptr_t lo, uintptr_t hi)
{
    signal_lock_take(&paths.lock);
    uint32_t count = atomic_load(&paths.gone_count);
    if (count == GONE_RANGES) {
        paths_retire_gone();
        count = 0;
    }
    atomic_store(&paths.gone[count].lo, lo);
    atomic_store(&paths.gone[count].hi, hi);
    atomic_store(&paths.gone_count, count + 1);
    signal_lock_release(&paths.lock);
}

/* Without the lock, a range may be read that is being overwritten. Its paths were retired before
 * that, so it need not be found any more. */
static bool paths_is_gone(uintptr_t ip)
{
    uint32_t count = atomic_load_explicit(&paths.gone_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (ip >= atomic_load_explicit(&paths.gone[i].lo, memory_order_relaxed) &&
            ip <= atomic_load_explicit(&paths.gone[i].hi, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void paths_code_seen(uintptr_t ip)
{
    if (likely(!paths_is_gone(ip))) {
        return;
    }
    signal_lock_take(&paths.lock);
    if (paths_is_gone(ip)) {
        paths_retire_gone();
    }
    signal_lock_release(&paths.lock);
}

size_t paths_ips(uint32_t node, uintptr_t *ips, size_t max)
{
    size_t count = 0;
    /* The program can write into the nodes: a parent may be anything. */
    for (const struct wire_node *at; node && count < max && (at = paths_node_at(node));
         node = at->parent) {
        ips[count++] = (uintptr_t)at->ip;
    }
    return count;
}

uint32_t paths_step(uint32_t node, uintptr_t *ip)
{
    const struct wire_node *at = node ? paths_node_at(node) : NULL;
    *ip = at ? (uintptr_t)at->ip : 0;
    return at ? at->parent : 0;
}

uint64_t paths_retired(void)
{
    return atomic_load_explicit(&paths.salt, memory_order_acquire);
}

uint32_t paths_parent(uint32_t node)
{
    return node ? paths_node_at(node)->parent : 0;
}

/* The index of call paths: an open-addressing table from path hash to node, read and written
 * without locks.
 *
 *   a slot:   31        27 + n        n            0      n = node_bits of the table
 *            ┌───────────────┬────────┬─────────────┐
 *            │ bits of       │ places │ node        │
 *            │ the hash      │ passed │             │
 *            ├───────────────┴────────┼─────────────┤
 *            │          0             │ 0           │   empty: ends a search
 *            │          FROZEN        │ 0           │   does, too
 *            │          RETIRED       │ 0           │   a path that was retired: go on
 *            └────────────────────────┴─────────────┘
 *
 * The lower half of the hash, scaled to the table's size, gives the slot where a search begins, so
 * the size need not be a power of two. A slot says how many places its path has passed (31: as many
 * or more), and those bits of this half that come next to those that the place follows from. So a
 * search passes other paths by their slots, and a table grows by its slots: the 26 upper bits of
 * the half follow from a slot and where it is. Only where they do not say the new place is the node
 * read. (A million paths have 20 or 21 bits for the node and 6 or 7 of the hash. With slots that
 * have other bits of the hash, each node was read three times while the table grew, and that was
 * the largest part of what a new path cost. Slots of 8 bytes that need no look at the node took
 * 16.8 MB for a million paths; these take 6.3.)
 *
 * The node holds 54 bits of the hash, and where its address is known that is compared, too.
 *
 * Making a path takes no lock and makes no system call. A signal handler can interrupt it at any
 * instruction, make paths of its own, and leave by longjmp, because the table is complete at every
 * instruction.
 *   1. A node is claimed and written by one compare-and-exchange of 16 bytes with zero. A thread
 *      that finds the place taken counts it and tries the next, so no thread waits for another.
 *   2. The node is put into the first empty slot. A slot never becomes empty again. So threads that
 *      make the same path at the same time meet at the same slot. One of them wins, and the nodes
 *      of the others stay unused.
 * The nodes of one path are made as a *run*: all of them are claimed, one behind the other, then
 * they are counted and published at once, then put into slots, which were counted at once too. So a
 * node takes two locked instructions, and a run three. A node in a slot is always published.
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

#define FIRST_TABLE_SLOTS 8192u /* a power of two */
#define NODE_MASK         ((1u << WIRE_NODE_BITS) - 1)
#define NODE_CHUNKS       ((NODE_MASK + 1) / WIRE_NODES_PER_CHUNK)

#define EMPTY   0u
#define FROZEN  (1u << WIRE_NODE_BITS)
#define RETIRED (2u << WIRE_NODE_BITS)

#define PASSED_BITS 5
#define PASSED_MAX  ((1u << PASSED_BITS) - 1)

/* Invariant: used >= slots that are not empty. */
struct paths_table {
    uint64_t count; /* slots: a power of two, or one and a half of one */
    uint64_t bytes;
    uint32_t node_bits;                 /* its nodes are below 2^node_bits */
    uint32_t hash_bits;                 /* the bits of the hash in a slot … */
    uint32_t hash_low;                  /* … and the lowest of them */
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

static inline uint32_t paths_low_bits(uint32_t word, uint32_t bits)
{
    return word & ((1u << bits) - 1);
}

static inline uint32_t paths_node_in(const struct paths_table *table, uint32_t slot)
{
    return paths_low_bits(slot, table->node_bits);
}

static inline uint32_t paths_passed(const struct paths_table *table, uint32_t slot)
{
    return slot >> table->node_bits & PASSED_MAX;
}

/* The slot of a path that has passed no place, without its node. */
static inline uint32_t paths_tag_of(const struct paths_table *table, uint32_t hash)
{
    return paths_low_bits(hash >> table->hash_low, table->hash_bits)
           << (PASSED_BITS + table->node_bits);
}

/* The same in the place behind. */
static inline uint32_t paths_pass(uint32_t tag, uint32_t node_bits)
{
    uint32_t one = 1u << node_bits, most = PASSED_MAX << node_bits;
    return tag + ((tag & most) != most ? one : 0);
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

#define ANY_IP ((uintptr_t)0)

static inline bool paths_is_node(uint32_t number, uint64_t hash, uintptr_t ip)
{
    const struct wire_node *node = number ? paths_node_at(number) : NULL;
    return node && node->hash == (uint32_t)hash && node->hash_32 == (hash >> 32 & 0xffff) &&
           node->hash_48 == (hash >> 48 & 0x3f) &&
           (ip == ANY_IP || node->ip == (ip & 0xffffffffffff));
}

/* This and paths_find_old() are not inlined, so that paths_find_recent() saves no registers if it
 * finds the path in the small cache. */
static __attribute__((noinline)) uint32_t paths_find_in_table(uint64_t hash, uintptr_t ip)
{
    const struct paths_table *table = atomic_load_explicit(&paths.table, memory_order_acquire);
    uint32_t slot;
    if (unlikely(!table)) {
        return 0;
    }
    uint64_t count = table->count; /* read once, because the table may be given back while we
                                    * search */
    uint32_t tag = paths_tag_of(table, (uint32_t)hash), node_bits = table->node_bits;
    uint64_t i = paths_first_slot(count, hash);
    while (!paths_ends_search(slot = paths_slot_at(table, i))) {
        if ((slot ^ tag) >> node_bits == 0 &&
            paths_is_node(paths_low_bits(slot, node_bits), hash, ip)) {
            return paths_low_bits(slot, node_bits);
        }
        i = paths_next_slot(count, i);
        tag = paths_pass(tag, node_bits);
    }
    return 0;
}

/* The salt is read before the search. So a path that is retired meanwhile is noted under the old
 * salt. */
__attribute__((noinline)) uint32_t paths_find_old(uint64_t hash, uintptr_t ip)
{
    struct recent *recent = atomic_load_explicit(&paths.recent, memory_order_acquire);
    uint64_t salted = hash ^ atomic_load_explicit(&paths.salt, memory_order_acquire);
    uint32_t node = paths_find_in_table(hash, ip);
    if (node && recent) {
        struct recent_pair *pair = &recent->pairs[salted % RECENT_PAIRS];
        uint64_t newer = atomic_load_explicit(&pair->newer, memory_order_relaxed);
        atomic_store_explicit(&pair->older, newer, memory_order_release);
        atomic_store_explicit(&pair->newer, (salted & ~(uint64_t)NODE_MASK) | node,
                              memory_order_release);
    }
    return node;
}

uint32_t paths_find_recent(uint64_t hash)
{
    struct recent *recent = atomic_load_explicit(&paths.recent, memory_order_acquire);
    uint64_t salted = hash ^ atomic_load_explicit(&paths.salt, memory_order_acquire);
    const struct recent_pair *pair;
    uint64_t entry;
    if (unlikely(!recent)) {
        return paths_find_in_table(hash, ANY_IP);
    }
    pair = &recent->pairs[salted % RECENT_PAIRS];
    entry = atomic_load_explicit(&pair->newer, memory_order_acquire);
    if ((entry ^ salted) > NODE_MASK) {
        entry = atomic_load_explicit(&pair->older, memory_order_acquire);
    }
    return (entry ^ salted) <= NODE_MASK ? entry & NODE_MASK : 0;
}

uint32_t paths_find(uint64_t hash)
{
    uint32_t node = paths_find_recent(hash);
    return likely(node) ? node : paths_find_old(hash, ANY_IP);
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

/* Counts and publishes all nodes below `count`, which are complete. */
static void paths_count_nodes(uint32_t count)
{
    uint32_t before = atomic_load_explicit(&paths.node_count, memory_order_relaxed);
    while (before < count && !atomic_compare_exchange_weak(&paths.node_count, &before, count)) {
    }
    paths.host->publish_nodes(count);
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

/* Claims nodes behind `first`, which this thread has just claimed, one for each step but the first.
 * Stops where a place is taken or is not there. All nodes below `first` are complete, so those that
 * are claimed can be counted together. Returns how many there are, with the first. */
static uint32_t paths_claim_behind(uint32_t first, const struct path_step *steps, uint32_t count)
{
    uint32_t made = 1;
    while (made < count) {
        struct wire_node *place = paths_place_of(first + made);
        if (unlikely(!place) ||
            !paths_claim(place, first + made - 1, steps[made].hash, steps[made].ip)) {
            break;
        }
        made++;
    }
    return made;
}

/* Makes nodes for the first of these steps, below `parent`. Returns how many were made; 0: no
 * memory. */
static uint32_t paths_append(uint32_t parent, const struct path_step *steps, uint32_t count,
                             uint32_t *first)
{
    for (;;) {
        uint32_t number = atomic_load_explicit(&paths.node_count, memory_order_acquire);
        struct wire_node *place = paths_place_of(number);
        if (unlikely(!place)) {
            return 0;
        }
        if (likely(paths_claim(place, parent, steps[0].hash, steps[0].ip))) {
            uint32_t made = paths_claim_behind(number, steps, count);
            paths_count_nodes(number + made);
            *first = number;
            return made;
        }
        paths_count_nodes(number + 1);
    }
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Puts the path into the table. Returns the path's number: `number`, or that of a thread that was
 * faster. 0: the table is being replaced. */
static uint32_t paths_put(struct paths_table *table, const struct path_step *step, uint32_t number)
{
    uint64_t count = table->count, i = paths_first_slot(count, step->hash);
    uint32_t tag = paths_tag_of(table, (uint32_t)step->hash), node_bits = table->node_bits;
    for (;;) {
        uint32_t slot = paths_slot_at(table, i);
        if (paths_ends_search(slot)) {
            if (slot == EMPTY &&
                atomic_compare_exchange_strong(&table->slots[i], &slot, tag | number)) {
                return number;
            }
            if (slot == FROZEN) {
                return 0;
            }
        }
        if ((slot ^ tag) >> node_bits == 0 &&
            paths_is_node(paths_low_bits(slot, node_bits), step->hash, step->ip)) {
            return paths_low_bits(slot, node_bits);
        }
        i = paths_next_slot(count, i);
        tag = paths_pass(tag, node_bits);
    }
}

/* Reserves slots. They are counted before they are filled, so that there is always an empty slot,
 * which ends searches. */
static bool paths_reserve(struct paths_table *table, uint32_t slots, uint64_t limit)
{
    if (atomic_fetch_add(&table->used, slots) + slots <= limit) {
        return true;
    }
    atomic_fetch_sub(&table->used, slots);
    return false;
}

/* Puts a run into the table, in which it has slots reserved. `*last` becomes the number of the last
 * path that is there then: the run's last one, or the first that another thread was faster to make;
 * the nodes behind that one stay unused. Returns how many steps lead to it; 0: the table is being
 * replaced. */
static uint32_t paths_put_run(struct paths_table *table, const struct path_step *steps,
                              uint32_t count, uint32_t first, uint32_t *last)
{
    uint32_t put = 0;
    do {
        *last = paths_put(table, &steps[put], first + put);
    } while (*last == first + put && ++put < count);
    if (unlikely(put < count)) {
        atomic_fetch_sub(&table->used, count - put);
        return *last ? put + 1 : 0;
    }
    return put;
}

static uint32_t paths_bits_of(uint32_t number)
{
    return number ? 32 - (uint32_t)__builtin_clz(number) : 0;
}

/* Room for as many numbers again as there are, because those of retired paths are never used
 * again. */
static struct paths_table *paths_table_new(uint64_t count)
{
    uint64_t bytes = sizeof(struct paths_table) + count * sizeof(uint32_t);
    struct paths_table *table = paths.host->map_private(bytes);
    uint32_t place_bits = paths_bits_of((uint32_t)count);
    uint32_t node_bits = paths_bits_of(atomic_load(&paths.node_count)) + 1;
    if (table) {
        table->count = count;
        table->bytes = bytes;
        table->node_bits = node_bits < place_bits ? place_bits : node_bits;
        table->node_bits = table->node_bits > WIRE_NODE_BITS ? WIRE_NODE_BITS : table->node_bits;
        table->hash_bits = 32 - PASSED_BITS - table->node_bits;
        table->hash_low = 33 - place_bits - table->hash_bits;
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
static inline uint32_t paths_freeze(_Atomic uint32_t *slot)
{
    uint32_t found = atomic_load_explicit(slot, memory_order_acquire);
    return found == EMPTY && atomic_compare_exchange_strong(slot, &found, FROZEN) ? FROZEN : found;
}

/* ---- Growth ----
 * `from->count` is 2^p or 1.5 * 2^p. The place that a search begins at says the p upper bits of the
 * lower half of a hash, or leaves a choice of two, or a little more for rounding. The bits in the
 * slot are the next ones, and tell apart any 2^hash_bits values in a row, which are more than can
 * begin there. */

/* What of the lower half of a hash is known: it lies in [lo, hi]. */
struct paths_half {
    uint32_t lo, hi;
};

/* How a table's slots are read for another table. */
struct paths_growth {
    const struct paths_table *from;
    struct paths_table *to;
    uint64_t scale; /* 2^64 / from->count, rounded down; a place times it is the hash's upper end */
    bool by_slots;  /* else nodes are read */
};

static struct paths_growth paths_growth_of(const struct paths_table *from, struct paths_table *to)
{
    /* With few bits the choice of places is as large as what they can tell apart. */
    enum { ENOUGH_BITS = 4 };
    struct paths_growth growth = {.from = from, .to = to};
    if (from) {
        growth.scale = UINT64_MAX / from->count + ((from->count & (from->count - 1)) == 0);
        growth.by_slots = from->hash_bits >= ENOUGH_BITS && from->hash_low <= to->hash_low;
    }
    return growth;
}

static inline struct paths_half paths_half_by_node(uint32_t node)
{
    uint32_t hash = paths_node_at(node)->hash;
    return (struct paths_half){hash, hash};
}

/* Of a path at slot number `i`, whose node is `node`. */
static inline struct paths_half paths_half_of(const struct paths_growth *growth, uint64_t i,
                                              uint32_t slot, uint32_t node)
{
    const struct paths_table *from = growth->from;
    uint64_t passed = paths_passed(from, slot), first;
    uint32_t least, bits = slot >> (from->node_bits + PASSED_BITS);
    if (!growth->by_slots || passed == PASSED_MAX) {
        return paths_half_by_node(node);
    }
    first = i >= passed ? i - passed : i + from->count - passed;
    least = (uint32_t)(first * growth->scale >> (32 + from->hash_low));
    least += paths_low_bits(bits - least, from->hash_bits);
    least <<= from->hash_low;
    return (struct paths_half){least, least + ((1u << from->hash_low) - 1)};
}

/* Puts a path into the new table, which has no readers yet, and not this path. */
static inline void paths_settle(struct paths_table *to, struct paths_half half, uint32_t node)
{
    uint64_t count = to->count, i = paths_first_slot(count, half.lo);
    if (unlikely(i != paths_first_slot(count, half.hi))) {
        half = paths_half_by_node(node);
        i = paths_first_slot(count, half.lo);
    }
    uint32_t tag = paths_tag_of(to, half.lo);
    while (atomic_load_explicit(&to->slots[i], memory_order_relaxed) != EMPTY) {
        i = paths_next_slot(count, i);
        tag = paths_pass(tag, to->node_bits);
    }
    atomic_store_explicit(&to->slots[i], tag | node, memory_order_relaxed);
}

/* Most nodes that are read miss the caches. */
static inline void paths_expect_node(const struct paths_growth *growth, uint64_t i)
{
    enum { AHEAD = 16 };
    const struct paths_table *from = growth->from;
    uint32_t slot = i + AHEAD < from->count ? paths_slot_at(from, i + AHEAD) : EMPTY;
    if (!growth->by_slots || paths_passed(from, slot) == PASSED_MAX) {
        __builtin_prefetch(paths_node_at(paths_node_in(from, slot)));
    }
}

/* Copies all but retired paths. */
static void paths_copy_slots(struct paths_table *to, struct paths_table *from)
{
    struct paths_growth growth = paths_growth_of(from, to);
    uint64_t used = 0;
    for (uint64_t i = 0; from && i < from->count; i++) {
        uint32_t slot = paths_freeze(&from->slots[i]), node = paths_node_in(from, slot);
        paths_expect_node(&growth, i);
        if (node) {
            paths_settle(to, paths_half_of(&growth, i, slot, node), node);
            used++;
        }
    }
    atomic_store_explicit(&to->used, used, memory_order_relaxed);
}

/* A table below 2 MiB doubles, because copying is dear and it is small. */
static uint64_t paths_grown(uint64_t count)
{
    enum { LARGE_TABLE_SLOTS = 1 << 19 };
    if (count < LARGE_TABLE_SLOTS) {
        return count * 2;
    }
    return (count & (count - 1)) == 0 ? count / 2 * 3 : count / 3 * 4;
}

static uint64_t paths_slots_wanted(const struct paths_table *old)
{
    uint64_t live = 0;
    if (!old) {
        return FIRST_TABLE_SLOTS;
    }
    for (uint64_t i = 0; i < old->count; i++) {
        live += paths_node_in(old, paths_slot_at(old, i)) != 0;
    }
    return live > old->count / 8 * 3 ? paths_grown(old->count) : old->count;
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

/* A table with so many slots reserved, for nodes below `end`; NULL: no memory. A table that cannot
 * be replaced is filled up to seven eighths. */
static struct paths_table *paths_table_with_room(uint32_t slots, uint32_t end)
{
    for (;;) {
        struct paths_table *table = atomic_load(&paths.table);
        bool fits = likely(table) && likely(end <= 1u << table->node_bits);
        if (likely(fits) && likely(paths_reserve(table, slots, table->count / 4 * 3))) {
            return table;
        }
        if (!paths_replace(table)) {
            return fits && paths_reserve(table, slots, table->count / 8 * 7) ? table : NULL;
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

/* Makes paths for the first of these steps, below `parent`, as one run. Returns how many there are
 * then, and the last one's number; 0: no memory. */
static uint32_t paths_make_run(uint32_t parent, const struct path_step *steps, uint32_t count,
                               uint32_t *last)
{
    uint32_t first, put;
    struct paths_table *table;
    count = paths_append(parent, steps, count, &first);
    if (unlikely(!count)) {
        return 0;
    }
    do {
        table = paths_table_with_room(count, first + count);
        put = table ? paths_put_run(table, steps, count, first, last) : 0;
    } while (table && (!put || table != atomic_load(&paths.table)));
    return put;
}

/* A path whose caller is new is new, too. But if another thread was faster to make one of a run,
 * it is making the rest, or has made it: without a look each of them would cost a run again. */
uint32_t paths_make(uint32_t parent, const struct path_step *steps, uint32_t count)
{
    while (count) {
        uint32_t made = 1, node = paths_find_in_table(steps->hash, steps->ip);
        if (!node) {
            made = paths_make_run(parent, steps, count, &node);
        }
        if (unlikely(!made)) {
            return 0;
        }
        parent = node;
        steps += made, count -= made;
    }
    return parent;
}

uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip)
{
    return paths_make(parent, &(struct path_step){hash, ip}, 1);
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
        uint32_t node = paths_node_in(table, paths_slot_at(table, i));
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

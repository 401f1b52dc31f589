/* See pools.h. Both sets are treaps: binary trees by address whose nodes have random priorities, which
 * makes them as flat as a tree of random insertions. Nodes are taken from batches and never given back. */
#include "recorder/pools.h"

#include <errno.h>
#include <string.h>
#include "base/hash.h"
#include "recorder/hooks.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"

enum {
    BATCH_LOG2 = 14,
    BATCHES = 4096,
    POOL_LISTS = 1 << 14,
    TAKEN_MOST = 64,
    LOCK_TRIES = 100000
};

struct node {
    struct pool_block block;
    uint32_t left, right, priority;
    uint32_t before, after; /* in the list of its pool, 0: none; a free node: after */
    bool is_chunk;          /* of memory: it counts no more */
};

bool pools_are_followed;

static struct node *batches[BATCHES];
static uint32_t node_count, free_nodes, pool_lists[POOL_LISTS];
static uint32_t memory_root, block_root;
static _Atomic(struct thread *) holder;

/* In the child of a fork that came while another thread of the parent was at it, half of a change is there:
 * all is forgotten then. */
void pools_begin(bool follow)
{
    if (atomic_exchange(&holder, NULL)) {
        memory_root = block_root = free_nodes = 0;
        memset(pool_lists, 0, sizeof pool_lists);
    }
    __atomic_store_n(&pools_are_followed, follow, __ATOMIC_RELAXED);
}

/* ---- The lock ---- */

/* A handler that interrupts the holder and never returns (longjmp) leaves it held: then we do without. */
static bool pools_lock(struct thread *thread)
{
    static bool is_stuck;
    unsigned most = __atomic_load_n(&is_stuck, __ATOMIC_RELAXED) ? 1 : LOCK_TRIES;
    for (unsigned tries = 0; tries < most; tries++) {
        struct thread *nobody = NULL;
        if (atomic_compare_exchange_strong_explicit(&holder, &nobody, thread, memory_order_acquire,
                                                    memory_order_relaxed)) {
            __atomic_store_n(&is_stuck, false, __ATOMIC_RELAXED);
            return true;
        }
        if (nobody == thread)
            return false; /* we are its signal handler */
        if (tries < LOCK_SPINS)
            arch_relax();
        else
            signal_lock_let_others();
    }
    __atomic_store_n(&is_stuck, true, __ATOMIC_RELAXED);
    return false;
}

static void pools_unlock(void)
{
    atomic_store_explicit(&holder, NULL, memory_order_release);
}

/* ---- Nodes ---- */

static struct node *pools_node(uint32_t number)
{
    return &batches[number >> BATCH_LOG2][number & ((1u << BATCH_LOG2) - 1)];
}

/* 0: there is no memory. Number 0 is nobody's. */
static uint32_t pools_new_number(void)
{
    uint32_t number = free_nodes ? free_nodes : node_count + 1;
    if (free_nodes) {
        free_nodes = pools_node(free_nodes)->after;
        return number;
    }
    uint32_t batch = number >> BATCH_LOG2;
    if (batch >= BATCHES)
        return 0;
    if (!batches[batch]) {
        int saved_errno = errno;
        batches[batch] = private_map_kept(sizeof(struct node) << BATCH_LOG2);
        errno = saved_errno;
    }
    if (!batches[batch])
        return 0;
    return node_count = number;
}

static uint32_t pools_new_node(const struct pool_block *block)
{
    uint32_t number = pools_new_number();
    if (number)
        *pools_node(number) = (struct node){
            .block = *block,
            .priority = (uint32_t)(hash_u64(block->address ^ ((uint64_t)number << 32)) >> 16)};
    return number;
}

static void pools_free_node(uint32_t number)
{
    pools_node(number)->after = free_nodes;
    free_nodes = number;
}

/* ---- Trees ---- */

/* Those below `address` and the others. */
static void pools_split(uint32_t root, uintptr_t address, uint32_t *below, uint32_t *above)
{
    while (root) {
        struct node *node = pools_node(root);
        if (node->block.address < address) {
            *below = root;
            below = &node->right;
            root = node->right;
        } else {
            *above = root;
            above = &node->left;
            root = node->left;
        }
    }
    *below = *above = 0;
}

static uint32_t pools_joined(uint32_t low, uint32_t high)
{
    uint32_t root, *link = &root;
    while (low && high) {
        struct node *below = pools_node(low), *above = pools_node(high);
        if (below->priority > above->priority) {
            *link = low;
            link = &below->right;
            low = below->right;
        } else {
            *link = high;
            link = &above->left;
            high = above->left;
        }
    }
    *link = low ? low : high;
    return root;
}

static void pools_insert(uint32_t *root, uint32_t number)
{
    uint32_t below, above;
    pools_split(*root, pools_node(number)->block.address, &below, &above);
    *root = pools_joined(pools_joined(below, number), above);
}

/* The last one that begins at or below the address; 0: none. */
static uint32_t pools_floor(uint32_t root, uintptr_t address)
{
    uint32_t found = 0;
    while (root) {
        const struct node *node = pools_node(root);
        bool is_below = node->block.address <= address;
        found = is_below ? root : found;
        root = is_below ? node->right : node->left;
    }
    return found;
}

static void pools_cut_out(uint32_t *root, uint32_t number)
{
    const struct node *node = pools_node(number);
    while (*root != number)
        root = node->block.address < pools_node(*root)->block.address ? &pools_node(*root)->left
                                                                      : &pools_node(*root)->right;
    *root = pools_joined(node->left, node->right);
}

/* One that lies in [start, end) in part; 0: none. */
static uint32_t pools_overlapping(uint32_t root, uintptr_t start, uintptr_t end)
{
    uint32_t number = pools_floor(root, end - 1);
    if (!number)
        return 0;
    const struct pool_block *block = &pools_node(number)->block;
    return block->address >= start || start - block->address < block->bytes ? number : 0;
}

/* ---- Lists of pools ---- */

static uint32_t *pools_list_of(uintptr_t pool)
{
    return &pool_lists[hash_u64(pool) >> (64 - 14)];
}

static void pools_enlist(uint32_t number)
{
    struct node *node = pools_node(number);
    uint32_t *first = pools_list_of(node->block.pool);
    if (!node->block.pool)
        return;
    node->after = *first;
    if (*first)
        pools_node(*first)->before = number;
    *first = number;
}

static void pools_delist(uint32_t number)
{
    const struct node *node = pools_node(number);
    if (!node->block.pool)
        return;
    if (node->before)
        pools_node(node->before)->after = node->after;
    else
        *pools_list_of(node->block.pool) = node->after;
    if (node->after)
        pools_node(node->after)->before = node->before;
}

static struct pool_block pools_take_block(uint32_t number)
{
    struct pool_block block = pools_node(number)->block;
    pools_delist(number);
    pools_cut_out(&block_root, number);
    pools_free_node(number);
    return block;
}

/* ---- Ends of blocks ---- */

struct taken {
    uint32_t count;
    uintptr_t addresses[TAKEN_MOST];
};

/* Recorded without the lock: a full ring makes us wait. */
static void pools_record_ends(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        hooks_record_free_as(thread, frame, start, (void *)taken->addresses[i], WIRE_POOL_FREE,
                             WIRE_POOL_FREE_AT);
}

static void pools_take_range(struct taken *taken, uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while (taken->count < TAKEN_MOST && (number = pools_overlapping(block_root, from, to)) != 0)
        taken->addresses[taken->count++] = pools_take_block(number).address;
}

static void pools_end_range(struct thread *thread, uintptr_t frame,
                            const struct unwind_start *start, uintptr_t from, uintptr_t to)
{
    struct taken taken;
    do {
        taken.count = 0;
        if (from == to || !pools_lock(thread))
            return;
        pools_take_range(&taken, from, to);
        pools_unlock();
        pools_record_ends(thread, frame, start, &taken);
    } while (taken.count == TAKEN_MOST);
}

static void pools_take_pool(struct taken *taken, uintptr_t pool)
{
    uint32_t number = *pools_list_of(pool);
    while (number && taken->count < TAKEN_MOST) {
        uint32_t after = pools_node(number)->after;
        if (pools_node(number)->block.pool == pool)
            taken->addresses[taken->count++] = pools_take_block(number).address;
        number = after;
    }
}

void pools_pool_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                     uintptr_t pool)
{
    struct taken taken;
    do {
        taken.count = 0;
        if (!pool || !pools_lock(thread))
            return;
        pools_take_pool(&taken, pool);
        pools_unlock();
        pools_record_ends(thread, frame, start, &taken);
    } while (taken.count == TAKEN_MOST);
}

bool pools_block_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      uintptr_t address, struct pool_block *block)
{
    if (!pools_lock(thread))
        return false;
    uint32_t number = pools_floor(block_root, address);
    bool is_known = number && pools_node(number)->block.address == address;
    if (is_known)
        *block = pools_take_block(number);
    pools_unlock();
    if (is_known)
        pools_record_ends(thread, frame, start, &(struct taken){1, {address}});
    return is_known;
}

/* ---- Memory ---- */

static void pools_forget_memory(uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while ((number = pools_overlapping(memory_root, from, to)) != 0) {
        pools_cut_out(&memory_root, number);
        pools_free_node(number);
    }
}

void pools_memory_begins(struct thread *thread, uintptr_t address, size_t bytes)
{
    struct pool_block memory = {address, bytes ? bytes : 1, 0};
    if (!address || !pools_lock(thread))
        return;
    pools_forget_memory(address, address + memory.bytes);
    uint32_t number = pools_new_node(&memory);
    if (number)
        pools_insert(&memory_root, number);
    pools_unlock();
}

void pools_memory_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                       uintptr_t address)
{
    size_t bytes = 0;
    if (!pools_lock(thread))
        return;
    uint32_t number = pools_floor(memory_root, address);
    if (number && pools_node(number)->block.address == address) {
        bytes = pools_node(number)->is_chunk ? pools_node(number)->block.bytes : 0;
        pools_cut_out(&memory_root, number);
        pools_free_node(number);
    }
    pools_unlock();
    pools_end_range(thread, frame, start, address, address + bytes);
}

/* What stays of the mapping on either side is a mapping. */
static void pools_shorten_memory(uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while ((number = pools_overlapping(memory_root, from, to)) != 0) {
        struct node old = *pools_node(number);
        uintptr_t end = old.block.address + old.block.bytes;
        uint32_t rest = 0;
        pools_cut_out(&memory_root, number);
        pools_free_node(number);
        if (end > to && (rest = pools_new_node(&(struct pool_block){to, end - to, 0})) != 0) {
            pools_node(rest)->is_chunk = old.is_chunk;
            pools_insert(&memory_root, rest);
        }
        if (old.block.address < from &&
            (rest = pools_new_node(
                 &(struct pool_block){old.block.address, from - old.block.address, 0})) != 0) {
            pools_node(rest)->is_chunk = old.is_chunk;
            pools_insert(&memory_root, rest);
        }
    }
}

void pools_memory_is_unmapped(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, uintptr_t address, size_t bytes)
{
    if (address + bytes < address || !pools_lock(thread))
        return;
    pools_shorten_memory(address, address + bytes);
    pools_unlock();
    pools_end_range(thread, frame, start, address, address + bytes);
}

/* ---- Beginnings of blocks ---- */

/* The memory that the address lies in, the first time that a block does; else 0. */
static uintptr_t pools_new_chunk(uintptr_t address)
{
    uint32_t number = pools_floor(memory_root, address);
    struct node *node = number ? pools_node(number) : NULL;
    if (!node || address - node->block.address >= node->block.bytes || node->is_chunk)
        return 0;
    node->is_chunk = true;
    return node->block.address;
}

void pools_block_begins(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct pool_block *block)
{
    struct pool_block known = {block->address, block->bytes ? block->bytes : 1, block->pool};
    pools_end_range(thread, frame, start, known.address, known.address + known.bytes);
    if (!pools_lock(thread))
        return;
    uintptr_t chunk = pools_new_chunk(known.address);
    uint32_t number = pools_new_node(&known);
    if (number) {
        pools_insert(&block_root, number);
        pools_enlist(number);
    }
    pools_unlock();
    if (chunk)
        thread_record_short(thread, frame, WIRE_POOL_CHUNK, chunk);
}

/* Keeps the blocks of named allocators by address (pools.h). Both sets are trees of spans
 * (spans.h). The tag of a block is its pool, and each pool has a list of its blocks. */
#include "recorder/pools.h"

#include <string.h>
#include "base/hash.h"
#include "base/large_static.h"
#include "recorder/hooks.h"
#include "recorder/spans.h"

enum { POOL_LISTS = 1 << 14, TAKEN_MOST = 64 };

bool pools_are_followed;

LARGE_STATIC static struct spans pools_spans;
LARGE_STATIC static uint32_t pool_lists[POOL_LISTS];
static uint32_t pools_memory_root, pools_block_root;

/* If another thread of the parent was changing the sets at the fork, the child has half of a
 * change: then everything is forgotten. */
void pools_begin(bool follow)
{
    if (spans_begin_in_child(&pools_spans)) {
        pools_memory_root = pools_block_root = 0;
        memset(pool_lists, 0, sizeof pool_lists);
    }
    __atomic_store_n(&pools_are_followed, follow, __ATOMIC_RELAXED);
}

/* ---- Lists of pools ---- */

static uint32_t *pools_list_of(uintptr_t pool)
{
    return &pool_lists[hash_u64(pool) >> (64 - 14)];
}

static void pools_enlist(uint32_t number)
{
    struct span_node *node = spans_node(&pools_spans, number);
    uint32_t *first = pools_list_of(node->span.tag);
    if (!node->span.tag)
        return;
    node->after = *first;
    if (*first)
        spans_node(&pools_spans, *first)->before = number;
    *first = number;
}

static void pools_delist(uint32_t number)
{
    const struct span_node *node = spans_node(&pools_spans, number);
    if (!node->span.tag)
        return;
    if (node->before)
        spans_node(&pools_spans, node->before)->after = node->after;
    else
        *pools_list_of(node->span.tag) = node->after;
    if (node->after)
        spans_node(&pools_spans, node->after)->before = node->before;
}

static struct span pools_take_block(uint32_t number)
{
    struct span block = spans_node(&pools_spans, number)->span;
    pools_delist(number);
    spans_cut_out(&pools_spans, &pools_block_root, number);
    spans_free(&pools_spans, number);
    return block;
}

/* ---- Ends of blocks ---- */

struct taken {
    uint32_t count;
    uintptr_t addresses[TAKEN_MOST];
};

/* Recorded without the lock, because a full ring makes the thread wait. */
static void pools_record_ends(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, const struct taken *taken)
{
    for (uint32_t i = 0; i < taken->count; i++)
        hooks_record_free_as(thread, frame, start, (void *)taken->addresses[i], WIRE_POOL_FREE,
                             WIRE_POOL_FREE_AT, 0);
}

static void pools_take_range(struct taken *taken, uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while (taken->count < TAKEN_MOST &&
           (number = spans_overlapping(&pools_spans, pools_block_root, from, to)) != 0)
        taken->addresses[taken->count++] = pools_take_block(number).address;
}

static void pools_end_range(struct thread *thread, uintptr_t frame,
                            const struct unwind_start *start, uintptr_t from, uintptr_t to)
{
    struct taken taken;
    do {
        taken.count = 0;
        if (from == to || !spans_lock(&pools_spans, thread))
            return;
        pools_take_range(&taken, from, to);
        spans_unlock(&pools_spans);
        pools_record_ends(thread, frame, start, &taken);
    } while (taken.count == TAKEN_MOST);
}

static void pools_take_pool(struct taken *taken, uintptr_t pool)
{
    uint32_t number = *pools_list_of(pool);
    while (number && taken->count < TAKEN_MOST) {
        uint32_t after = spans_node(&pools_spans, number)->after;
        if (spans_node(&pools_spans, number)->span.tag == pool)
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
        if (!pool || !spans_lock(&pools_spans, thread))
            return;
        pools_take_pool(&taken, pool);
        spans_unlock(&pools_spans);
        pools_record_ends(thread, frame, start, &taken);
    } while (taken.count == TAKEN_MOST);
}

bool pools_block_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      uintptr_t address, struct span *block)
{
    if (!spans_lock(&pools_spans, thread))
        return false;
    uint32_t number = spans_floor(&pools_spans, pools_block_root, address);
    bool is_known = number && spans_node(&pools_spans, number)->span.address == address;
    if (is_known)
        *block = pools_take_block(number);
    spans_unlock(&pools_spans);
    if (is_known)
        pools_record_ends(thread, frame, start, &(struct taken){1, {address}});
    return is_known;
}

/* ---- Memory ---- */

static void pools_forget_memory(uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while ((number = spans_overlapping(&pools_spans, pools_memory_root, from, to)) != 0) {
        spans_cut_out(&pools_spans, &pools_memory_root, number);
        spans_free(&pools_spans, number);
    }
}

void pools_memory_begins(struct thread *thread, uintptr_t address, size_t bytes)
{
    struct span memory = {address, bytes ? bytes : 1, 0};
    if (!address || !spans_lock(&pools_spans, thread))
        return;
    pools_forget_memory(address, address + memory.bytes);
    uint32_t number = spans_new(&pools_spans, &memory);
    if (number)
        spans_insert(&pools_spans, &pools_memory_root, number);
    spans_unlock(&pools_spans);
}

void pools_memory_ends(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                       uintptr_t address)
{
    size_t bytes = 0;
    if (!spans_lock(&pools_spans, thread))
        return;
    uint32_t number = spans_floor(&pools_spans, pools_memory_root, address);
    if (number && spans_node(&pools_spans, number)->span.address == address) {
        bytes = spans_node(&pools_spans, number)->is_chunk
                    ? spans_node(&pools_spans, number)->span.bytes
                    : 0;
        spans_cut_out(&pools_spans, &pools_memory_root, number);
        spans_free(&pools_spans, number);
    }
    spans_unlock(&pools_spans);
    pools_end_range(thread, frame, start, address, address + bytes);
}

void pools_memory_is_unmapped(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, uintptr_t address, size_t bytes)
{
    if (address + bytes < address || !spans_lock(&pools_spans, thread))
        return;
    spans_clear(&pools_spans, &pools_memory_root, address, address + bytes);
    spans_unlock(&pools_spans);
    pools_end_range(thread, frame, start, address, address + bytes);
}

/* ---- Beginnings of blocks ---- */

/* The memory around the address, if this is the first block there; else 0. */
static uintptr_t pools_new_chunk(uintptr_t address)
{
    uint32_t number = spans_floor(&pools_spans, pools_memory_root, address);
    struct span_node *node = number ? spans_node(&pools_spans, number) : NULL;
    if (!node || address - node->span.address >= node->span.bytes || node->is_chunk)
        return 0;
    node->is_chunk = true;
    return node->span.address;
}

void pools_block_begins(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct span *block)
{
    struct span known = {block->address, block->bytes ? block->bytes : 1, block->tag};
    pools_end_range(thread, frame, start, known.address, known.address + known.bytes);
    if (!spans_lock(&pools_spans, thread))
        return;
    uintptr_t chunk = pools_new_chunk(known.address);
    uint32_t number = spans_new(&pools_spans, &known);
    if (number) {
        spans_insert(&pools_spans, &pools_block_root, number);
        pools_enlist(number);
    }
    spans_unlock(&pools_spans);
    if (chunk)
        thread_record_short(thread, frame, WIRE_POOL_CHUNK, chunk);
}

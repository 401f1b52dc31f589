/* Trees of spans (spans.h). Links to nodes are numbers, which take four bytes. A treap needs no
 * rebalancing: a node that is inserted splits a tree below it, which is mostly small. */
#include "recorder/spans.h"

#include <errno.h>
#include "base/hash.h"
#include "recorder/hooks.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"

enum { LOCK_TRIES = 100000 };

/* ---- The lock ---- */

/* A signal handler that interrupts the holder and leaves by longjmp leaves the lock held for ever.
 * Then callers go on without the lock's data. */
bool spans_lock(struct spans *spans, struct thread *thread)
{
    unsigned most = __atomic_load_n(&spans->is_stuck, __ATOMIC_RELAXED) ? 1 : LOCK_TRIES;
    for (unsigned tries = 0; tries < most; tries++) {
        struct thread *nobody = NULL;
        if (atomic_compare_exchange_strong_explicit(&spans->holder, &nobody, thread,
                                                    memory_order_acquire, memory_order_relaxed)) {
            __atomic_store_n(&spans->is_stuck, false, __ATOMIC_RELAXED);
            return true;
        }
        if (nobody == thread)
            return false; /* this is a signal handler of the holder */
        if (tries < LOCK_SPINS)
            arch_relax();
        else
            signal_lock_let_others();
    }
    __atomic_store_n(&spans->is_stuck, true, __ATOMIC_RELAXED);
    return false;
}

void spans_unlock(struct spans *spans)
{
    atomic_store_explicit(&spans->holder, NULL, memory_order_release);
}

void spans_forget(struct spans *spans)
{
    atomic_store(&spans->holder, NULL);
    spans->free = spans->count = 0;
}

bool spans_begin_in_child(struct spans *spans)
{
    if (!atomic_load(&spans->holder))
        return false;
    spans_forget(spans);
    return true;
}

/* ---- Nodes ---- */

/* The number of a free node; 0: no memory. Number 0 stands for no node. */
static uint32_t spans_new_number(struct spans *spans)
{
    uint32_t number = spans->free ? spans->free : spans->count + 1;
    if (spans->free) {
        spans->free = spans_node(spans, spans->free)->after;
        return number;
    }
    uint32_t batch = number >> SPANS_BATCH_LOG2;
    if (batch >= SPANS_BATCHES)
        return 0;
    if (!spans->batches[batch]) {
        int saved_errno = errno;
        spans->batches[batch] = private_map_kept(sizeof(struct span_node) << SPANS_BATCH_LOG2);
        errno = saved_errno;
    }
    if (!spans->batches[batch])
        return 0;
    return spans->count = number;
}

uint32_t spans_new(struct spans *spans, const struct span *span)
{
    uint32_t number = spans_new_number(spans);
    if (number)
        *spans_node(spans, number) = (struct span_node){
            .span = *span,
            .priority = (uint32_t)(hash_u64(span->address ^ ((uint64_t)number << 32)) >> 16)};
    return number;
}

void spans_free(struct spans *spans, uint32_t number)
{
    spans_node(spans, number)->after = spans->free;
    spans->free = number;
}

/* ---- Trees ---- */

/* Splits a tree into the spans below `address` and the others. */
static void spans_split(const struct spans *spans, uint32_t root, uintptr_t address,
                        uint32_t *below, uint32_t *above)
{
    while (root) {
        struct span_node *node = spans_node(spans, root);
        if (node->span.address < address) {
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

static uint32_t spans_joined(const struct spans *spans, uint32_t low, uint32_t high)
{
    uint32_t root, *link = &root;
    while (low && high) {
        struct span_node *below = spans_node(spans, low), *above = spans_node(spans, high);
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

/* Goes down to the first node of a lower priority, and splits its tree, which is mostly small. */
void spans_insert(struct spans *spans, uint32_t *root, uint32_t number)
{
    struct span_node *node = spans_node(spans, number);
    while (*root && spans_node(spans, *root)->priority >= node->priority) {
        struct span_node *above = spans_node(spans, *root);
        root = node->span.address < above->span.address ? &above->left : &above->right;
    }
    spans_split(spans, *root, node->span.address, &node->left, &node->right);
    *root = number;
}

uint32_t spans_floor(const struct spans *spans, uint32_t root, uintptr_t address)
{
    uint32_t found = 0;
    while (root) {
        const struct span_node *node = spans_node(spans, root);
        bool is_below = node->span.address <= address;
        found = is_below ? root : found;
        root = is_below ? node->right : node->left;
    }
    return found;
}

void spans_cut_out(struct spans *spans, uint32_t *root, uint32_t number)
{
    const struct span_node *node = spans_node(spans, number);
    while (*root != number)
        root = node->span.address < spans_node(spans, *root)->span.address
                   ? &spans_node(spans, *root)->left
                   : &spans_node(spans, *root)->right;
    *root = spans_joined(spans, node->left, node->right);
}

uint32_t spans_ceiling(const struct spans *spans, uint32_t root, uintptr_t address)
{
    uint32_t found = 0;
    while (root) {
        const struct span_node *node = spans_node(spans, root);
        bool is_above = node->span.address >= address;
        found = is_above ? root : found;
        root = is_above ? node->left : node->right;
    }
    return found;
}

uint32_t spans_overlapping(const struct spans *spans, uint32_t root, uintptr_t start, uintptr_t end)
{
    uint32_t number = spans_floor(spans, root, end - 1);
    if (!number)
        return 0;
    const struct span *span = &spans_node(spans, number)->span;
    return span->address >= start || start - span->address < span->bytes ? number : 0;
}

/* Inserts the rest of a span on one side, if there is any. */
static void spans_keep_rest(struct spans *spans, uint32_t *root, const struct span_node *old,
                            uintptr_t from, uintptr_t to)
{
    uint32_t rest =
        from < to ? spans_new(spans, &(struct span){from, to - from, old->span.tag}) : 0;
    if (!rest)
        return;
    spans_node(spans, rest)->is_chunk = old->is_chunk;
    spans_insert(spans, root, rest);
}

void spans_clear(struct spans *spans, uint32_t *root, uintptr_t from, uintptr_t to)
{
    uint32_t number;
    while ((number = spans_overlapping(spans, *root, from, to)) != 0) {
        struct span_node old = *spans_node(spans, number);
        spans_cut_out(spans, root, number);
        spans_free(spans, number);
        spans_keep_rest(spans, root, &old, to, old.span.address + old.span.bytes);
        spans_keep_rest(spans, root, &old, old.span.address, from);
    }
}

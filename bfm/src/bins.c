/* Best fit. A request's size gives its bin, and two levels of bitmaps give the next bin that is not
 * empty. A bin of one size is a list; within another a red-black tree ordered by (size, address)
 * gives the chunk. */
#include "bfm/bins.h"
#include "bfm/chunk.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"

unsigned bin_of(size_t size)
{
    unsigned log;

    if (size < BIN_EXACT_END)
        return (unsigned)(size / ALIGN);
    log = 63 - (unsigned)__builtin_clzll(size);
    return BIN_EXACT + (log - 14) * 16 + (unsigned)(size >> (log - 4) & 15);
}

static void bin_mark_filled(struct heap *heap, unsigned bin)
{
    heap->bin_bits[bin / 64] |= (uint64_t)1 << bin % 64;
    heap->bin_summary |= (uint64_t)1 << bin / 64;
}

static void bin_mark_empty(struct heap *heap, unsigned bin)
{
    heap->bin_bits[bin / 64] &= ~((uint64_t)1 << bin % 64);
    if (!heap->bin_bits[bin / 64])
        heap->bin_summary &= ~((uint64_t)1 << bin / 64);
}

/* The first bin from `bin` on that has chunks; BIN_COUNT when all are empty. */
static unsigned bin_next_filled(const struct heap *heap, unsigned bin)
{
    uint64_t bits;
    unsigned word = bin / 64;

    if (bin >= BIN_COUNT)
        return BIN_COUNT;
    bits = heap->bin_bits[word] & ~(uint64_t)0 << bin % 64;
    if (!bits) {
        uint64_t words = heap->bin_summary & ~(uint64_t)1 << word;
        if (!words)
            return BIN_COUNT;
        word = (unsigned)__builtin_ctzll(words);
        bits = heap->bin_bits[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

void bins_aged(struct heap *heap, struct chunk *chunk)
{
    if (chunk->stamp_ms == PURGED)
        return;
    chunk->stamp_ms = PURGED;
    if (chunk->older)
        chunk->older->newer = chunk->newer;
    else
        heap->oldest = chunk->newer;
    if (chunk->newer)
        chunk->newer->older = chunk->older;
    else
        heap->newest = chunk->older;
}

static void bin_age_link(struct heap *heap, struct chunk *chunk, struct chunk *older,
                         struct chunk *newer)
{
    chunk->older = older;
    chunk->newer = newer;
    if (older)
        older->newer = chunk;
    else
        heap->oldest = chunk;
    if (newer)
        newer->older = chunk;
    else
        heap->newest = chunk;
}

/* Enters a chunk into the list by age. If most of it was one free chunk before (the heir), it is as
 * old as that chunk. Otherwise a program that takes and frees small pieces of a large chunk would
 * keep all of it. */
static void bin_age_begin(struct heap *heap, struct chunk *chunk)
{
    struct heir *heir = &heap->heir;
    uintptr_t start = (uintptr_t)chunk;
    bool heirs = heir->size * 2 >= chunk_size(chunk) && start < heir->start + heir->size &&
                 heir->start < start + chunk_size(chunk);

    chunk->cursor = 0;
    if (!heirs || heir->stamp_ms == PURGED) {
        if (heirs && start >= heir->start)
            chunk->cursor = heir->cursor;
        chunk->stamp_ms = heap->now_ms;
        bin_age_link(heap, chunk, heap->newest, NULL);
        return;
    }
    if (heir->cursor)
        chunk->cursor = heir->cursor | (start < heir->start ? CURSOR_FRONT : 0);
    chunk->stamp_ms = heir->stamp_ms;
    bin_age_link(heap, chunk, heir->older, heir->older ? heir->older->newer : heap->oldest);
    heir->older = chunk;
}

void bins_age_anew(struct heap *heap, struct chunk *chunk)
{
    bins_aged(heap, chunk);
    chunk->stamp_ms = heap->now_ms;
    chunk->cursor = 0;
    bin_age_link(heap, chunk, heap->newest, NULL);
}

static void bin_age_end(struct heap *heap, struct chunk *chunk)
{
    struct heir *heir = &heap->heir;

    if (heir->older == chunk)
        heir->older = chunk->older;
    if (chunk_size(chunk) > heir->size)
        *heir = (struct heir){chunk_size(chunk), (uintptr_t)chunk, chunk->cursor, chunk->stamp_ms,
                              chunk->stamp_ms == PURGED ? NULL : chunk->older};
    bins_aged(heap, chunk);
}

/* ---- lists: a bin of one size ---- */

static void bin_list_push(struct heap *heap, struct chunk *chunk, unsigned bin)
{
    struct chunk *first = heap->first[bin];

    chunk->prev = NULL;
    chunk->next = first;
    heap->first[bin] = chunk;
    if (first)
        first->prev = chunk;
    else
        bin_mark_filled(heap, bin);
}

/* A program that uses memory after its free may have overwritten the links of a free chunk. They
 * are followed only if they point into BFM's memory and the neighbours point back. */
static inline bool bin_is_ours(const struct chunk *chunk)
{
    uintptr_t address = (uintptr_t)chunk;

    return address % ALIGN == CHUNK_TAG && !(address >> 47) && pagemap_region_of(address);
}

static _Noreturn void bin_tampered(const struct chunk *chunk)
{
    os_fatal("a block was written to after its free", (const char *)chunk + CHUNK_TAG);
}

static void bin_list_remove(struct heap *heap, struct chunk *chunk, unsigned bin)
{
    struct chunk *next = chunk->next, *prev = chunk->prev;

    if (unlikely((prev ? !bin_is_ours(prev) || prev->next != chunk : heap->first[bin] != chunk) ||
                 (next && (!bin_is_ours(next) || next->prev != chunk))))
        bin_tampered(chunk);
    if (next)
        next->prev = prev;
    if (prev)
        prev->next = next;
    else if (!(heap->first[bin] = next))
        bin_mark_empty(heap, bin);
}

/* ---- trees: a bin of several sizes ---- */

static bool bin_goes_before(const struct chunk *chunk, size_t size, const struct chunk *other)
{
    return size == chunk_size(other) ? chunk < other : size < chunk_size(other);
}

static void bin_tree_insert(struct heap *heap, struct chunk *chunk, size_t size, unsigned bin)
{
    struct rb_node **root = &heap->root[bin - BIN_EXACT], **link = root, *parent = NULL;
    struct chunk **first = &heap->first[bin];

    if (!*first) {
        bin_mark_filled(heap, bin);
        *first = chunk;
    } else if (bin_goes_before(chunk, size, *first)) {
        parent = &(*first)->node;
        link = &parent->left;
        *first = chunk;
    }
    while (*link) { /* down one level each turn */
        parent = *link;
        link = bin_goes_before(chunk, size, chunk_of_node(parent)) ? &parent->left : &parent->right;
    }
    rb_insert(root, parent, link, &chunk->node);
}

static bool bin_links_tree(const struct rb_node *root, const struct rb_node *node)
{
    const struct rb_node *parent = rb_parent(node);

    if (!parent)
        return root == node;
    return bin_is_ours(chunk_of_node(parent)) && (parent->left == node || parent->right == node);
}

static void bin_tree_remove(struct heap *heap, struct chunk *chunk, unsigned bin)
{
    struct rb_node **root = &heap->root[bin - BIN_EXACT], *node = &chunk->node;

    if (unlikely(!bin_links_tree(*root, node)))
        bin_tampered(chunk);
    /* The first node has no left child, so its right child is a leaf or NULL. */
    if (heap->first[bin] == chunk) {
        struct rb_node *second = node->right ? node->right : rb_parent(node);
        heap->first[bin] = second ? chunk_of_node(second) : NULL;
    }
    rb_remove(root, node);
    if (!*root)
        bin_mark_empty(heap, bin);
}

/* ---- both ---- */

static bool bin_links_age(const struct heap *heap, const struct chunk *chunk)
{
    const struct chunk *older = chunk->older, *newer = chunk->newer;

    if (chunk->stamp_ms == PURGED)
        return true;
    return (!older || bin_is_ours(older)) && (!newer || bin_is_ours(newer)) &&
           (older ? older->newer : heap->oldest) == chunk &&
           (newer ? newer->older : heap->newest) == chunk;
}

/* For chunks from AGED_MIN on. */
static __attribute__((noinline)) void bin_insert_aged(struct heap *heap, struct chunk *chunk,
                                                      size_t size)
{
    if (size < BIN_EXACT_END)
        bin_list_push(heap, chunk, bin_of(size));
    else
        bin_tree_insert(heap, chunk, size, bin_of(size));
    bin_age_begin(heap, chunk);
}

void bins_insert(struct heap *heap, struct chunk *chunk, size_t size)
{
    if (size < AGED_MIN)
        bin_list_push(heap, chunk, (unsigned)(size / ALIGN));
    else
        bin_insert_aged(heap, chunk, size);
}

static __attribute__((noinline)) void bin_remove_aged(struct heap *heap, struct chunk *chunk,
                                                      size_t size)
{
    if (unlikely(!bin_links_age(heap, chunk)))
        bin_tampered(chunk);
    if (size < BIN_EXACT_END)
        bin_list_remove(heap, chunk, bin_of(size));
    else
        bin_tree_remove(heap, chunk, bin_of(size));
    bin_age_end(heap, chunk);
}

void bins_remove(struct heap *heap, struct chunk *chunk, size_t size)
{
    if (size < AGED_MIN)
        bin_list_remove(heap, chunk, (unsigned)(size / ALIGN));
    else
        bin_remove_aged(heap, chunk, size);
}

bool bins_prolong(const struct heap *heap, const struct chunk *chunk, size_t size, size_t to)
{
    unsigned bin;

    if (size < BIN_EXACT_END || chunk->stamp_ms == PURGED)
        return false;
    bin = bin_of(size);
    return bin_of(to) == bin && heap->root[bin - BIN_EXACT] == &chunk->node && !chunk->node.left &&
           !chunk->node.right;
}

bool bins_shrink(struct heap *heap, struct chunk *chunk, size_t size, size_t by)
{
    struct chunk *rest = (struct chunk *)((uintptr_t)chunk + by);
    struct rb_node **root;
    unsigned bin;

    if (size - by < BIN_EXACT_END || chunk->stamp_ms == PURGED)
        return false;
    bin = bin_of(size);
    root = &heap->root[bin - BIN_EXACT];
    if (bin_of(size - by) != bin || heap->first[bin] != chunk)
        return false;
    if (unlikely(!bin_links_age(heap, chunk) || !bin_links_tree(*root, &chunk->node)))
        bin_tampered(chunk);
    rb_move(root, &chunk->node, &rest->node);
    heap->first[bin] = rest;
    rest->stamp_ms = chunk->stamp_ms;
    rest->cursor = chunk->cursor;
    bin_age_link(heap, rest, chunk->older, chunk->newer);
    return true;
}

void bins_ask(const struct chunk *chunk)
{
    size_t size = chunk_size(chunk);

    if (size < TREE_MIN)
        return;
    __builtin_prefetch(chunk->next, 1); /* of a tree node: parent and left child */
    __builtin_prefetch(chunk->prev, 1);
    if (size >= BIN_EXACT_END)
        __builtin_prefetch(chunk->node.right, 1);
}

static struct chunk *bin_first_fit(struct rb_node *node, size_t need)
{
    struct chunk *best = NULL;

    while (node) { /* down one level each turn */
        struct chunk *chunk = chunk_of_node(node);
        if (chunk_size(chunk) >= need) {
            best = chunk;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return best;
}

/* From BIN_EXACT_END on. */
static __attribute__((noinline)) struct chunk *bin_best_large(const struct heap *heap, size_t need)
{
    unsigned bin = bin_of(need);
    struct chunk *best = bin_first_fit(heap->root[bin - BIN_EXACT], need);

    if (best)
        return best;
    bin = bin_next_filled(heap, bin + 1);
    return bin == BIN_COUNT ? NULL : heap->first[bin];
}

struct chunk *bins_best(const struct heap *heap, size_t need)
{
    unsigned bin;

    if (need >= BIN_EXACT_END)
        return bin_best_large(heap, need);
    if (heap->first[need / ALIGN])
        return heap->first[need / ALIGN];
    bin = bin_next_filled(heap, (unsigned)(need / ALIGN));
    return bin == BIN_COUNT ? NULL : heap->first[bin];
}

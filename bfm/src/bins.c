/* Best fit. A request's size gives its bin, and two levels of bitmaps give the next bin that is not
 * empty. Within a bin a red-black tree ordered by (size, address) gives the chunk. */
#include "bfm/bins.h"
#include "bfm/chunk.h"

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

static void bin_age_begin(struct heap *heap, struct chunk *chunk)
{
    chunk->stamp_ms = heap->now_ms;
    chunk->cursor = 0;
    chunk->newer = NULL;
    chunk->older = heap->newest;
    if (heap->newest)
        heap->newest->newer = chunk;
    else
        heap->oldest = chunk;
    heap->newest = chunk;
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

/* In a bin of one size the address decides, and the other's tag is not looked at. */
static bool bin_goes_before(const struct chunk *chunk, size_t size, const struct rb_node *node)
{
    const struct chunk *other = chunk_of_node(node);

    if (size < BIN_EXACT_END || size == chunk_size(other))
        return chunk < other;
    return size < chunk_size(other);
}

void bins_insert(struct heap *heap, struct chunk *chunk)
{
    size_t size = chunk_size(chunk);
    unsigned bin = bin_of(size);
    struct rb_node **link = &heap->bins[bin], *parent = NULL, **lowest = &heap->lowest[bin];

    if (!*lowest) {
        bin_mark_filled(heap, bin);
        *lowest = &chunk->node;
    } else if (bin_goes_before(chunk, size, *lowest)) {
        parent = *lowest;
        link = &parent->left;
        *lowest = &chunk->node;
    }
    while (*link) { /* down one level each turn */
        parent = *link;
        link = bin_goes_before(chunk, size, parent) ? &parent->left : &parent->right;
    }
    rb_insert(&heap->bins[bin], parent, link, &chunk->node);
    if (size >= AGED_MIN)
        bin_age_begin(heap, chunk);
}

void bins_remove(struct heap *heap, struct chunk *chunk)
{
    size_t size = chunk_size(chunk);
    unsigned bin = bin_of(size);
    struct rb_node *node = &chunk->node;

    /* The first node has nothing on its left, so at most a leaf on its right. */
    if (heap->lowest[bin] == node)
        heap->lowest[bin] = node->right ? node->right : rb_parent(node);
    rb_remove(&heap->bins[bin], node);
    if (!heap->bins[bin])
        bin_mark_empty(heap, bin);
    if (size >= AGED_MIN)
        bins_aged(heap, chunk);
}

void bins_ask(const struct chunk *chunk)
{
    if (chunk_size(chunk) < TREE_MIN)
        return;
    __builtin_prefetch(rb_parent(&chunk->node), 1);
    __builtin_prefetch(chunk->node.left, 1);
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

struct chunk *bins_best(const struct heap *heap, size_t need)
{
    unsigned bin = bin_of(need);
    struct chunk *best;

    if (need < BIN_EXACT_END) {
        bin = bin_next_filled(heap, bin);
    } else {
        best = bin_first_fit(heap->bins[bin], need);
        if (best)
            return best;
        bin = bin_next_filled(heap, bin + 1);
    }
    return bin == BIN_COUNT ? NULL : chunk_of_node(heap->lowest[bin]);
}

/* Best fit. A request's size gives its bin, and two levels of bitmaps give the next bin that is not
 * empty. Within a bin a red-black tree ordered by (size, address) gives the chunk. */
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

/* What is mostly one chunk that was free before is as old as that: else a program that takes and
 * frees small pieces of a large chunk would keep all of it. */
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

static bool bin_is_ours(const struct chunk *chunk)
{
    uintptr_t address = (uintptr_t)chunk;

    return address % ALIGN == CHUNK_TAG && !(address >> 47) && pagemap_region_of(address);
}

/* What stands in a free chunk may have been written by a program that uses memory after its free:
 * its links are followed only where the others say the same. */
static bool bin_links_tree(const struct heap *heap, const struct chunk *chunk, unsigned bin)
{
    const struct rb_node *node = &chunk->node, *parent = rb_parent(node);

    if (!parent)
        return heap->bins[bin] == node;
    return bin_is_ours(chunk_of_node(parent)) && (parent->left == node || parent->right == node);
}

static bool bin_links_age(const struct heap *heap, const struct chunk *chunk)
{
    const struct chunk *older = chunk->older, *newer = chunk->newer;

    if (chunk_size(chunk) < AGED_MIN || chunk->stamp_ms == PURGED)
        return true;
    return (!older || bin_is_ours(older)) && (!newer || bin_is_ours(newer)) &&
           (older ? older->newer : heap->oldest) == chunk &&
           (newer ? newer->older : heap->newest) == chunk;
}

static void bin_verify(const struct heap *heap, const struct chunk *chunk, unsigned bin)
{
    if (unlikely(!bin_links_tree(heap, chunk, bin) || !bin_links_age(heap, chunk)))
        os_fatal("a block was written to after its free", (const char *)chunk + CHUNK_TAG);
}

void bins_remove(struct heap *heap, struct chunk *chunk)
{
    size_t size = chunk_size(chunk);
    unsigned bin = bin_of(size);
    struct rb_node *node = &chunk->node;

    bin_verify(heap, chunk, bin);

    /* The first node has nothing on its left, so at most a leaf on its right. */
    if (heap->lowest[bin] == node)
        heap->lowest[bin] = node->right ? node->right : rb_parent(node);
    rb_remove(&heap->bins[bin], node);
    if (!heap->bins[bin])
        bin_mark_empty(heap, bin);
    if (size >= AGED_MIN)
        bin_age_end(heap, chunk);
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

/* Puts freed chunks on a thread's shelves (middle.h), and sends them to the tree component in
 * batches: half a shelf when it is full, a whole one when another size takes it or when it has not
 * been used for a while. A free reads the chunk's tag without the heap's lock: others change a flag
 * of the tag only, never its size. */
#include "bfm/middle.h"
#include "bfm/bfm_tree.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"

_Noreturn void middle_tampered(const void *block)
{
    os_fatal("a block was written to after its free", block);
}

/* The size of a chunk that a shelf may hold: of the default heap, in use, not marked, small enough.
 * Otherwise 0. */
static inline size_t middle_size_of(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    const struct leaf *leaf = address >> 48 ? NULL : layout_leaf_of(address);
    const struct region *region;
    const struct chunk *chunk = chunk_of(block);
    uint64_t tag;
    size_t size;

    if (!leaf || address % ALIGN ||
        atomic_load_explicit(&leaf->kind[layout_leaf_page(address)], memory_order_relaxed))
        return 0;
    region = leaf->region[address >> SLOT_SHIFT & (LEAF_SLOTS - 1)];
    if (!region || address < region->start + CHUNK_TAG || region->heap != &bfm_default_heap)
        return 0;
    tag = chunk_tag(chunk);
    size = tag & CHUNK_SIZE_MASK;
    if ((tag ^ chunk_tag_check(chunk)) >> 48 ||
        (tag & (CHUNK_USED | CHUNK_FENCE | CHUNK_LATE | CHUNK_MARKED)) != CHUNK_USED)
        return 0;
    return size <= MIDDLE_MAX + ALIGN ? size : 0;
}

/* Looks for the block on the shelf, as the program may have written the mark by chance. At most
 * SHELF_MOST turns. */
static __attribute__((noinline, cold)) void middle_check_twice(const struct cache *cache,
                                                               size_t shelf, const void *block)
{
    const uint64_t *at = cache->shelved[shelf];

    for (unsigned i = 0; i < middle_count(cache, shelf) && at; i++) {
        if (at == block)
            os_fatal("free of a block that is free already", block);
        at = (const uint64_t *)(at[0] ^ middle_mix(at));
        if ((uintptr_t)at >> 47 || (uintptr_t)at % ALIGN)
            middle_tampered(block);
    }
}

__attribute__((noinline)) void middle_flush(struct cache *cache, size_t shelf, unsigned keep)
{
    void *blocks[SHELF_MOST];
    uint32_t key = cache->shelf[shelf].key;
    unsigned count = 0;

    while (middle_count(cache, shelf) > keep)
        blocks[count++] = middle_pop(cache, shelf, key);
    tree_free_some(&bfm_default_heap, blocks, count, key - CHUNK_KEY_FLAGS);
}

void middle_flush_all(struct cache *cache)
{
    for (size_t i = 0; i < SHELVES; i++)
        middle_flush(cache, i, 0);
}

/* Flushes half of the next shelf in turn that is not empty. At most SHELVES turns. */
static void middle_flush_another(struct cache *cache, size_t but)
{
    for (unsigned i = 0; i < SHELVES; i++) {
        size_t shelf = cache->aged_shelf++ % SHELVES;
        if (shelf == but || !middle_count(cache, shelf))
            continue;
        middle_flush(cache, shelf, middle_count(cache, shelf) / 2);
        return;
    }
}

/* false: another size has the shelf, or all shelves together are full; but true each
 * SHELF_PATIENCE-th time. */
static inline bool middle_wants(struct cache *cache, size_t shelf, size_t size)
{
    if (cache->shelf[shelf].key != size + CHUNK_KEY_FLAGS && middle_count(cache, shelf))
        return ++cache->shelf[shelf].conflicts >= SHELF_PATIENCE;
    return size <= cache->middle_room || ++cache->crowded % SHELF_PATIENCE == 0;
}

/* An empty shelf for chunks of this size. */
static struct shelf middle_shelf_for(size_t size)
{
    uint8_t most = (uint8_t)(size > SHELF_BYTES                ? 1
                             : size * SHELF_MOST > SHELF_BYTES ? SHELF_BYTES / size
                                                               : SHELF_MOST);

    return (struct shelf){
        .key = (uint32_t)(size + CHUNK_KEY_FLAGS), .most = most, .room = most, .conflicts = 0};
}

/* Makes room for a chunk of this size on its shelf; false: there is none. */
static bool middle_make_room(struct cache *cache, size_t shelf, size_t size)
{
    unsigned count = middle_count(cache, shelf);

    if (cache->shelf[shelf].key != size + CHUNK_KEY_FLAGS) {
        middle_flush(cache, shelf, count > SHELF_MOST / 2 ? count / 2 : 0);
        if (middle_count(cache, shelf))
            return false;
        cache->shelf[shelf] = middle_shelf_for(size);
    } else if (!cache->shelf[shelf].room) {
        middle_flush(cache, shelf, count / 2);
    }
    if (size > cache->middle_room)
        middle_flush_another(cache, shelf);
    return size <= cache->middle_room;
}

void middle_check(const void *block)
{
    const uint64_t *words = block;
    size_t size = middle_size_of(block);

    if (size && words[1] == middle_mix(block))
        middle_check_twice(bfm_cache, middle_shelf((uint32_t)(size + CHUNK_KEY_FLAGS)), block);
}

/* Puts a chunk of the default heap on its shelf or gives it to the tree component. */
static inline void middle_give_chunk(struct cache *cache, void *block, size_t size, uint64_t mix)
{
    size_t shelf = middle_shelf((uint32_t)(size + CHUNK_KEY_FLAGS));

    if (unlikely(((const uint64_t *)block)[1] == mix))
        middle_check_twice(cache, shelf, block);
    if (middle_wants(cache, shelf, size) && middle_make_room(cache, shelf, size)) {
        cache->middle_room -= size;
        middle_put(cache, shelf, block, mix);
    } else {
        tree_free_known(&bfm_default_heap, block, size);
    }
}

bool middle_give(void *block)
{
    struct cache *cache = bfm_cache;
    size_t size = middle_size_of(block);

    if (!size || !cache->arena)
        return false;
    layout_set_code(layout_leaf_of((uintptr_t)block), (uintptr_t)block, CODE_TREE);
    middle_give_chunk(cache, block, size, middle_mix(block));
    if (!--cache->passes)
        cache_look(cache);
    return true;
}

bool middle_give_else(struct cache *cache, void *block, uint64_t tag, uint64_t mix)
{
    size_t size = tag & CHUNK_SIZE_MASK;

    if (!cache->arena || (tag ^ mix) >> 48 ||
        (tag & (CHUNK_USED | CHUNK_FENCE | CHUNK_LATE | CHUNK_MARKED)) != CHUNK_USED)
        return false;
    if (size > MIDDLE_MAX + ALIGN)
        tree_free_known(&bfm_default_heap, block, size);
    else
        middle_give_chunk(cache, block, size, mix);
    return true;
}

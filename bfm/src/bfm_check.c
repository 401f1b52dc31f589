/* bfm_check() checks every invariant of a heap (layout.h). It reads each structure in another way
 * than the code that writes it: it walks the regions chunk by chunk, then the trees, the list by
 * age and the lists of records. At the end it compares the sums of these walks. */
#include "bfm/age.h"
#include "bfm/bins.h"
#include "bfm/cache.h"
#include "bfm/chunk.h"
#include "bfm/classes.h"
#include "bfm/bfm_heap.h"
#include "bfm/guard.h"
#include "bfm/pagemap.h"
#include "tidemark/bfm.h"

/* What the walk through regions and the walk through trees must agree on. */
struct sums {
    size_t free_chunks, free_bytes; /* of chunks that belong into bins */
    size_t aged;                    /* of them, those that belong into the list by age */
    size_t used_bytes;
    size_t late; /* chunks that are freed and not joined yet */
    size_t taken_pages;
    size_t dirty_pages;
    size_t slivers;
};

#define MUST(condition, sentence)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return sentence;                                                                       \
    } while (0)

/* ---- regions ---- */

static const char *bfm_check_free_chunk(const struct chunk *chunk, struct sums *sums)
{
    size_t size = chunk_size(chunk);

    MUST(*chunk_footer((uintptr_t)chunk + size) == size, "a free chunk's two sizes differ");
    MUST(!(chunk->tag & CHUNK_FLAGS), "a free chunk says that its neighbour is free");
    sums->slivers += age_sliver(chunk, chunk_size(chunk));
    if (size < TREE_MIN)
        return NULL;
    sums->free_chunks++;
    sums->free_bytes += size;
    sums->aged += size >= AGED_MIN && chunk->stamp_ms != PURGED;
    return NULL;
}

/* From an area's first page to its fence or the top; *end is where the next page begins. */
static const char *bfm_check_area(const struct heap *heap, const struct region *region,
                                  uintptr_t page, uintptr_t *end, struct sums *sums)
{
    uintptr_t at = page + CHUNK_TAG;
    bool prev_free = false;

    while (at != heap->top) {
        const struct chunk *chunk = (const struct chunk *)at;
        const char *wrong = NULL;
        MUST(at < region->open && at % ALIGN == CHUNK_TAG, "a chunk ends where none can");
        MUST(chunk_tag_good(chunk), "a tag was overwritten");
        MUST(!(chunk->tag & CHUNK_PREV_FREE) == !prev_free,
             "a tag is wrong about what is before it");
        if (chunk->tag & CHUNK_FENCE) {
            *end = at + CHUNK_TAG;
            MUST(*end % PAGE_BYTES == 0, "an area ends within a page");
            MUST(*end == region->open || pagemap_page_taken(*end), "two areas touch");
            return NULL;
        }
        MUST(chunk_size(chunk) >= ALIGN, "a chunk of no size");
        MUST(!pagemap_page_taken(at), "a chunk in a page of a record");
        sums->late += (chunk->tag & CHUNK_LATE) != 0;
        MUST(chunk->tag & CHUNK_USED || !(chunk->tag & CHUNK_LATE), "a chunk is late and joined");
        if (chunk->tag & CHUNK_USED)
            sums->used_bytes += chunk_size(chunk);
        else if (prev_free)
            wrong = "two free chunks touch";
        else
            wrong = bfm_check_free_chunk(chunk, sums);
        MUST(!wrong, wrong);
        prev_free = !(chunk->tag & CHUNK_USED);
        at += chunk_size(chunk);
    }
    MUST(!prev_free, "a free chunk touches the top");
    MUST(heap->top <= heap->top_end && heap->top_end == region->open - CHUNK_TAG,
         "the top is elsewhere");
    *end = region->open;
    return NULL;
}

static const char *bfm_check_taken(const struct heap *heap, uintptr_t page, struct sums *sums)
{
    bool spare = page >= heap->spare && page < heap->spare_end;
    const struct leaf *leaf = layout_leaf_of(page);
    bool record = leaf->kind[layout_leaf_page(page)] == KIND_RECORD;

    MUST(spare != record, "a page is neither a record nor spare, or both");
    MUST(record || !layout_code(leaf, page), "a page without a record has a class");
    sums->taken_pages += record;
    return NULL;
}

static const char *bfm_check_region(const struct heap *heap, const struct region *region,
                                    struct sums *sums)
{
    for (uintptr_t page = region->start; page < region->open;) {
        const char *wrong;
        MUST(pagemap_region_of(page) == region, "the page map knows another region");
        if (pagemap_page_taken(page)) {
            wrong = bfm_check_taken(heap, page, sums);
            page += PAGE_BYTES;
        } else {
            wrong = bfm_check_area(heap, region, page, &page, sums);
        }
        MUST(!wrong, wrong);
    }
    for (uintptr_t page = region->start; page < region->end; page += PAGE_BYTES)
        sums->dirty_pages += pagemap_page_dirty(page);
    return NULL;
}

/* ---- trees ---- */

struct walk {
    const struct chunk *before, *first;
    unsigned bin;
    const char *wrong;
    struct sums sums;
};

static void bfm_check_walk_chunk(struct walk *walk, const struct chunk *chunk)
{
    if (!walk->first)
        walk->first = chunk;
    if (bin_of(chunk_size(chunk)) != walk->bin || chunk->tag & CHUNK_USED || !chunk_tag_good(chunk))
        walk->wrong = "a chunk is in a bin where it does not belong";
    walk->sums.free_chunks++;
    walk->sums.free_bytes += chunk_size(chunk);
}

static void bfm_check_walk_list(struct walk *walk, const struct chunk *chunk)
{
    for (; chunk && !walk->wrong; walk->before = chunk, chunk = chunk->next) {
        if (chunk->prev != walk->before)
            walk->wrong = "a list of free chunks has a wrong link";
        bfm_check_walk_chunk(walk, chunk);
    }
}

/* Returns the number of black nodes on the way down; recursion is as deep as the tree. */
static unsigned bfm_check_walk_tree(struct walk *walk, const struct rb_node *node,
                                    const struct rb_node *parent)
{
    const struct chunk *chunk = node ? chunk_of_node(node) : NULL;
    unsigned left, right;

    if (!node || walk->wrong)
        return 1;
    if (rb_parent(node) != parent)
        walk->wrong = "a node has another parent";
    if (!rb_is_black(node) && (!parent || !rb_is_black(parent)))
        walk->wrong = "two red nodes in a row";
    left = bfm_check_walk_tree(walk, node->left, node);
    if (walk->before && (chunk_size(walk->before) > chunk_size(chunk) ||
                         (chunk_size(walk->before) == chunk_size(chunk) && walk->before >= chunk)))
        walk->wrong = "a tree is out of order";
    walk->before = chunk;
    bfm_check_walk_chunk(walk, chunk);
    right = bfm_check_walk_tree(walk, node->right, node);
    if (left != right)
        walk->wrong = "a tree has ways of different black lengths";
    return left + rb_is_black(node);
}

static const char *bfm_check_bins(const struct heap *heap, const struct sums *sums)
{
    struct walk walk = {0};

    for (unsigned bin = 0; bin < BIN_COUNT; bin++) {
        bool filled = heap->bin_bits[bin / 64] >> bin % 64 & 1;
        MUST(filled == (heap->first[bin] != NULL), "a bin's bit is wrong");
        MUST(!filled || heap->bin_summary >> bin / 64 & 1, "a word's bit is wrong");
        walk.bin = bin;
        walk.before = walk.first = NULL;
        if (bin < BIN_EXACT)
            bfm_check_walk_list(&walk, heap->first[bin]);
        else
            bfm_check_walk_tree(&walk, heap->root[bin - BIN_EXACT], NULL);
        MUST(!walk.wrong, walk.wrong);
        MUST(walk.first == heap->first[bin], "a bin's first is another");
    }
    MUST(walk.sums.free_chunks == sums->free_chunks, "trees and regions differ in free chunks");
    MUST(walk.sums.free_bytes == sums->free_bytes, "trees and regions differ in free bytes");
    return NULL;
}

static const char *bfm_check_ages(const struct heap *heap, const struct sums *sums)
{
    const struct chunk *before = NULL;
    size_t count = 0;

    for (const struct chunk *chunk = heap->oldest; chunk; before = chunk, chunk = chunk->newer) {
        MUST(chunk->older == before, "the list by age has a wrong link");
        MUST(!before || before->stamp_ms <= chunk->stamp_ms, "the list by age is out of order");
        count++;
    }
    MUST(heap->newest == before, "the list by age ends elsewhere");
    MUST(count == sums->aged, "the list by age lacks chunks");
    return NULL;
}

/* ---- records ---- */

static unsigned bfm_check_count_bits(struct record *record)
{
    uintptr_t page = layout_record_page(record);
    const uint64_t *tiny = layout_leaf_of(page)->tiny[layout_leaf_page(page)];
    unsigned count = 0;

    for (unsigned i = 0; i < bfm_class_blocks[record->code]; i++) {
        uint64_t word = i < 256 ? record->free_bits[i / 64] : tiny[i / 64 - 4];
        count += word >> i % 64 & 1;
    }
    return count;
}

static const char *bfm_check_record(const struct heap *heap, const struct arena *arena,
                                    struct record *record, unsigned code, bool white)
{
    uintptr_t page = layout_record_page(record);
    struct leaf *leaf = layout_leaf_of(page);

    MUST(layout_record_of(page) == record && record->arena == arena, "a record is another's");
    MUST(record->code == code, "a record is in another class's list");
    MUST(pagemap_page_taken(page) && leaf->kind[layout_leaf_page(page)] == KIND_RECORD,
         "a record's page is none");
    MUST(layout_code(leaf, page) == (heap->independent || record->marked ? 0 : code),
         "the page map's class is wrong");
    MUST(record->free_count == bfm_check_count_bits(record),
         "a record's free blocks do not add up");
    MUST(white == (record->free_count > 0), "a record is in the list of the other colour");
    MUST(record->free_count < bfm_class_blocks[code] || (!record->next && !record->prev),
         "a record is wholly free and was not given back");
    return NULL;
}

static const char *bfm_check_list(const struct heap *heap, const struct arena *arena, unsigned code,
                                  const struct record_list *list, size_t *records,
                                  size_t *free_bytes)
{
    bool marked = list == &arena->marked_white[code] || list == &arena->marked_black[code];
    bool white = list == &arena->white[code] || list == &arena->marked_white[code];
    struct record *before = NULL;

    for (struct record *record = list->first; record; before = record, record = record->next) {
        const char *wrong = bfm_check_record(heap, arena, record, code, white);
        MUST(!wrong, wrong);
        MUST(record->prev == before, "a list of records has a wrong link");
        MUST(record->marked == marked, "marked blocks among others, or others among them");
        *free_bytes += (size_t)record->free_count * bfm_class_bytes[code];
        ++*records;
    }
    return NULL;
}

static const char *bfm_check_arena(const struct heap *heap, const struct arena *arena,
                                   size_t *records)
{
    size_t free_bytes = 0, count = 0;

    for (unsigned code = 1; code < CLASS_CODES; code++) {
        const struct record_list *lists[] = {&arena->white[code], &arena->black[code],
                                             &arena->marked_white[code],
                                             &arena->marked_black[code]};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            const char *wrong = bfm_check_list(heap, arena, code, lists[i], &count, &free_bytes);
            MUST(!wrong, wrong);
        }
    }
    MUST(count == arena->record_count, "an arena's records do not add up");
    MUST(free_bytes == arena->free_bytes, "an arena's free bytes do not add up");
    *records += count;
    return NULL;
}

static const char *bfm_check_late(const struct heap *heap, const struct sums *sums)
{
    MUST(heap->late_count <= LATE_MOST && heap->late_count == sums->late,
         "late chunks do not add up");
    for (unsigned i = 0; i < heap->late_count; i++) {
        const struct chunk *chunk = heap->late[i];
        MUST(chunk_tag_good(chunk) && chunk->tag & CHUNK_LATE,
             "a chunk waits to be joined and is in use");
    }
    return NULL;
}

static const char *bfm_check_heap(const struct heap *heap)
{
    struct sums sums = {0};
    size_t records = 0;
    const char *wrong = NULL;

    for (const struct region *region = heap->regions; region && !wrong; region = region->next)
        wrong = bfm_check_region(heap, region, &sums);
    if (!wrong)
        wrong = bfm_check_bins(heap, &sums);
    if (!wrong)
        wrong = bfm_check_late(heap, &sums);
    if (!wrong)
        wrong = bfm_check_ages(heap, &sums);
    for (const struct arena *arena = heap->arenas; arena && !wrong; arena = arena->next_all)
        wrong = bfm_check_arena(heap, arena, &records);
    MUST(!wrong, wrong);
    MUST(records == heap->record_pages && records == sums.taken_pages, "pages of records are lost");
    MUST(sums.used_bytes == heap->tree_used, "the bytes in use do not add up");
    MUST(sums.dirty_pages == heap->dirty_pages, "the dirty pages do not add up");
    MUST(sums.slivers == heap->slivers, "the ends of free chunks do not add up");
    return NULL;
}

const char *bfm_check(bfm_heap *which)
{
    const char *wrong;

    heaps_lock();
    wrong = bfm_check_heap(which ? (struct heap *)which : &bfm_default_heap);
    if (!wrong && !which)
        wrong = guard_check();
    if (!wrong && bfm_cache->arena && !cache_adds_up(bfm_cache))
        wrong = "the room of this thread's stacks does not add up";
    heaps_unlock();
    return wrong;
}

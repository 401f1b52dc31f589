/* Takes and puts the blocks of records. Free blocks are set bits; the lowest set bit is taken
 * first. Records with free blocks are in the white list of their class, the others in the black
 * list. A record moves when its count becomes 0 or 1, and a wholly free one goes back to the tree
 * component. */
#include "bfm/bucket.h"
#include "bfm/chunk.h"
#include "bfm/classes.h"
#include "bfm/bfm_events.h"
#include "bfm/mark.h"
#include "bfm/bfm_options.h"
#include "bfm/os.h"
#include "bfm/pagemap.h"
#include "bfm/bfm_tree.h"

/* ---- lists ---- */

static void bucket_list_push(struct record_list *list, struct record *record)
{
    record->prev = NULL;
    record->next = list->first;
    if (list->first)
        list->first->prev = record;
    list->first = record;
}

static void bucket_list_remove(struct record_list *list, struct record *record)
{
    if (record->prev)
        record->prev->next = record->next;
    else
        list->first = record->next;
    if (record->next)
        record->next->prev = record->prev;
}

/* ---- bits ---- */

static uint64_t *bucket_free_word(struct record *record, unsigned word)
{
    uintptr_t page = layout_record_page(record);

    return word < 4 ? &record->free_bits[word]
                    : &layout_leaf_of(page)->tiny[layout_leaf_page(page)][word - 4];
}

static unsigned bucket_word_count(unsigned code)
{
    return (bfm_class_blocks[code] + 63u) / 64;
}

static void bucket_bits_fill(struct record *record)
{
    unsigned blocks = bfm_class_blocks[record->code];

    for (unsigned word = 0; word < bucket_word_count(record->code); word++) {
        unsigned rest = blocks - word * 64;
        *bucket_free_word(record, word) = rest >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << rest) - 1;
    }
}

/* A random number for the option `random`. Each thread has a state of its own. */
static unsigned bucket_draw(struct arena *arena, unsigned below)
{
    static _Thread_local uint64_t state;

    if (!state)
        state = os_random() ^ (uintptr_t)arena;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 32) % below);
}

/* Takes up to `want` blocks and stores them from the end of `blocks` backwards. At most 8 words are
 * looked at, with one turn a block. */
static unsigned bucket_take_lowest(struct record *record, void **blocks, unsigned want)
{
    uintptr_t page = layout_record_page(record);
    unsigned bytes = bfm_class_bytes[record->code], words = bucket_word_count(record->code);
    void **to = blocks + want;

    for (unsigned word = 0; word < words && to != blocks; word++) {
        uint64_t *bits = bucket_free_word(record, word), left = *bits;
        uintptr_t first = page + word * 64 * bytes;
        for (; left && to != blocks; left &= left - 1)
            *--to = (void *)(first + (unsigned)__builtin_ctzll(left) * bytes);
        *bits = left;
    }
    return (unsigned)(blocks + want - to);
}

/* Takes one block at random: draws a word, then a bit of it. */
static unsigned bucket_take_random(struct arena *arena, struct record *record, void **blocks,
                                   unsigned want)
{
    unsigned words = bucket_word_count(record->code), first = bucket_draw(arena, words);

    for (unsigned i = 0; i < words; i++) {
        unsigned word = (first + i) % words;
        uint64_t *bits = bucket_free_word(record, word), left = *bits;
        if (!left)
            continue;
        for (unsigned skip = bucket_draw(arena, (unsigned)__builtin_popcountll(left)); skip; skip--)
            left &= left - 1;
        left &= -left;
        *bits &= ~left;
        blocks[want - 1] =
            (void *)(layout_record_page(record) +
                     (word * 64 + (size_t)__builtin_ctzll(left)) * bfm_class_bytes[record->code]);
        return 1;
    }
    return 0;
}

/* ---- records ---- */

static struct record_list *bucket_white_of(struct arena *arena, const struct record *record)
{
    return record->marked ? &arena->marked_white[record->code] : &arena->white[record->code];
}

static struct record_list *bucket_black_of(struct arena *arena, const struct record *record)
{
    return record->marked ? &arena->marked_black[record->code] : &arena->black[record->code];
}

static struct record *bucket_record_open(struct arena *arena, unsigned code, bool marked)
{
    uintptr_t page = tree_take_page(arena->heap);
    struct record *record;

    if (!page)
        return NULL;
    record = layout_record_of(page);
    record->arena = arena;
    record->page_low = (uint32_t)(page >> PAGE_SHIFT);
    record->page_high = page >> PAGE_SHIFT >> 32 & 0x7f;
    record->marked = marked;
    record->code = (uint8_t)code;
    record->free_count = bfm_class_blocks[code];
    bucket_bits_fill(record);
    atomic_store_explicit(&layout_leaf_of(page)->kind[layout_leaf_page(page)], KIND_RECORD,
                          memory_order_relaxed);
    layout_set_code(layout_leaf_of(page), page, marked || arena->heap->independent ? 0 : code);
    bucket_list_push(bucket_white_of(arena, record), record);
    arena->record_count++;
    arena->free_bytes += (size_t)record->free_count * bfm_class_bytes[code];
    bfm_events_note_record(BFM_RECORD_TAKEN, page, code);
    return record;
}

static void bucket_record_close(struct arena *arena, struct record *record)
{
    uintptr_t page = layout_record_page(record);

    bucket_list_remove(bucket_white_of(arena, record), record);
    arena->record_count--;
    arena->free_bytes -= (size_t)record->free_count * bfm_class_bytes[record->code];
    layout_set_code(layout_leaf_of(page), page, 0);
    atomic_store_explicit(&layout_leaf_of(page)->kind[layout_leaf_page(page)], KIND_NONE,
                          memory_order_relaxed);
    bfm_events_note_record(BFM_RECORD_RETURNED, page, record->code);
    tree_give_page(arena->heap, page);
}

static unsigned bucket_take_from(struct arena *arena, struct record *record, void **blocks,
                                 unsigned want)
{
    unsigned got = options.random ? bucket_take_random(arena, record, blocks, want)
                                  : bucket_take_lowest(record, blocks, want);

    record->free_count -= (uint16_t)got;
    arena->free_bytes -= (size_t)got * bfm_class_bytes[record->code];
    if (!record->free_count) {
        bucket_list_remove(bucket_white_of(arena, record), record);
        bucket_list_push(bucket_black_of(arena, record), record);
    }
    return got;
}

/* Replaces one of the blocks by a marked one if it is that block's turn. */
static bool bucket_mark_one(struct arena *arena, unsigned code, void **blocks, unsigned count)
{
    unsigned place = marks_place(arena, code, count);
    struct record *record = arena->marked_white[code].first;
    void *marked, *plain;

    if (place == count || (!record && !(record = bucket_record_open(arena, code, true))))
        return false;
    bucket_take_from(arena, record, &marked, 1);
    plain = blocks[count - 1 - place];
    blocks[count - 1 - place] = mark_slot_marked(marked);
    bucket_put(arena, layout_record_of((uintptr_t)plain), &plain, 1);
    return true;
}

unsigned bucket_take(struct arena *arena, unsigned code, void **blocks, unsigned want, bool *marked)
{
    unsigned got = 0;

    *marked = false;
    while (got < want) { /* a white record has a free block: at most `want` turns */
        struct record *record = arena->white[code].first;
        if (!record && !(record = bucket_record_open(arena, code, false)))
            break;
        got += bucket_take_from(arena, record, blocks, want - got);
    }
    if (got && got < want) /* memory is short: moves them from the end to the front */
        for (unsigned i = 0; i < got; i++)
            blocks[i] = blocks[want - got + i];
    if (got && events_wanted() && !arena->heap->independent && !bfm_events_telling())
        *marked = bucket_mark_one(arena, code, blocks, got);
    return got;
}

static bool bucket_is_empty(const struct record *record)
{
    return record->free_count == bfm_class_blocks[record->code];
}

/* A record that was black goes to the front of the white list. A wholly free record goes back to
 * the tree component, unless it is the only white one of its class, which may be needed again soon.
 * So a wholly free record is always alone in its list. */
static void bucket_after_put(struct arena *arena, struct record *record, bool was_black)
{
    struct record_list *white;

    if (likely(!was_black && !bucket_is_empty(record)))
        return;
    white = bucket_white_of(arena, record);
    if (was_black) {
        if (white->first && bucket_is_empty(white->first))
            bucket_record_close(arena, white->first);
        bucket_list_remove(bucket_black_of(arena, record), record);
        bucket_list_push(white, record);
    }
    if (bucket_is_empty(record) && (record->next || record->prev))
        bucket_record_close(arena, record);
}

/* The number of the block in its record of this class. */
static inline unsigned bucket_index(unsigned code, const void *block)
{
    unsigned offset = (uintptr_t)block & (PAGE_BYTES - 1), index = class_index(code, offset);

    if (unlikely(index * bfm_class_bytes[code] != offset || index >= bfm_class_blocks[code]))
        os_fatal("free of a pointer into a block, not to its start", block);
    return index;
}

void bucket_check(const struct record *record, const void *block)
{
    (void)bucket_index(record->code, block);
}

/* Sets the bit of each block. At most `count` turns. */
static unsigned bucket_put_bits(struct record *record, void *const *slots, unsigned count)
{
    uintptr_t page = (uintptr_t)*slots & ~(PAGE_BYTES - 1);
    unsigned code = record->code, done = 0;

    do {
        const void *block = mark_slot_block(slots[done]);
        unsigned index = bucket_index(code, block);
        uint64_t *word = bucket_free_word(record, index / 64), bits = *word;
        if (unlikely(bits >> index % 64 & 1))
            os_fatal("free of a block that is free already", block);
        *word = bits | (uint64_t)1 << index % 64;
    } while (++done < count && ((uintptr_t)slots[done] & ~(PAGE_BYTES - 1)) == page);
    return done;
}

unsigned bucket_put(struct arena *arena, struct record *record, void *const *slots, unsigned count)
{
    unsigned done = bucket_put_bits(record, slots, count);
    bool was_black = !record->free_count;

    record->free_count += (uint16_t)done;
    arena->free_bytes += (size_t)done * bfm_class_bytes[record->code];
    bucket_after_put(arena, record, was_black);
    return done;
}

bool bucket_is_used(const struct record *record, const void *block)
{
    unsigned index = bucket_index(record->code, block);

    return !(*bucket_free_word((struct record *)record, index / 64) >> index % 64 & 1);
}

/* ---- arenas ---- */

static uintptr_t bucket_link_mix(const struct block *block)
{
    return (((uintptr_t)block >> 4) ^ bfm_secret) * 0x9E3779B97F4A7C15ull;
}

/* Aborts if the link is no block: a program has written to memory that it had freed. */
struct block *bucket_next(const struct block *block)
{
    uintptr_t next = block->next ^ bucket_link_mix(block);
    const struct leaf *leaf = next >> 48 ? NULL : layout_leaf_of(next);

    if (next && (!leaf || next % ALIGN ||
                 atomic_load_explicit(&leaf->kind[layout_leaf_page(next)], memory_order_relaxed) !=
                     KIND_RECORD))
        os_fatal("a block was written to after its free", block);
    return (struct block *)next;
}

void arena_push(struct arena *arena, void *block)
{
    struct block *node = block, *first = atomic_load_explicit(&arena->remote, memory_order_relaxed);

    /* Each further turn means that another thread has pushed. */
    do {
        node->next = (uintptr_t)first ^ bucket_link_mix(node);
    } while (!atomic_compare_exchange_weak_explicit(&arena->remote, &first, node,
                                                    memory_order_release, memory_order_relaxed));
}

/* The whole list is taken with one exchange, so there is no ABA problem. Blocks beyond `most` stay
 * in `pending` for the next call. */
void arena_drain(struct arena *arena, size_t most)
{
    while (most--) {
        struct block *block = arena->pending;
        void *slot;
        if (!block && atomic_load_explicit(&arena->remote, memory_order_relaxed))
            block = atomic_exchange_explicit(&arena->remote, NULL, memory_order_acquire);
        if (!block)
            return;
        arena->pending = bucket_next(block);
        if (options.zero)
            block->next = 0;
        slot = block;
        bucket_put(arena, layout_record_of((uintptr_t)block), &slot, 1);
    }
}

void arena_enter(struct arena *arena)
{
    lock_take(&arena->lock);
    arena_drain(arena, DRAIN_MOST);
}

void arena_leave(struct arena *arena)
{
    lock_give(&arena->lock);
}

static void bucket_close_if_empty(struct arena *arena, struct record *record)
{
    if (record && bucket_is_empty(record))
        bucket_record_close(arena, record);
}

void arena_trim_class(struct arena *arena, unsigned code)
{
    bucket_close_if_empty(arena, arena->white[code].first);
    bucket_close_if_empty(arena, arena->marked_white[code].first);
}

void arena_trim(struct arena *arena)
{
    for (unsigned code = 1; code < CLASS_CODES; code++)
        arena_trim_class(arena, code);
}

/* The pieces of mappings by address (mappings.h): a sorted array of leaves, which are sorted
 * arrays. Each change searches its place by address, because a change may move all places. */
#include "accounting/mappings.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* The smallest page size. The rest of a larger page belongs to no other mapping. */
#define PAGE_BYTES 4096u

struct mapping_place {
    size_t leaf, piece;
};

uint64_t mappings_end_of(uint64_t address, uint64_t bytes)
{
    uint64_t end;

    if (__builtin_add_overflow(address, bytes, &end) || end > UINT64_MAX - PAGE_BYTES)
        return UINT64_MAX - PAGE_BYTES + 1;
    return (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

void mappings_release(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->leaf_count; i++)
        free(mappings->leaves[i].leaf);
    free(mappings->leaves);
    arena_release_used(&mappings->memory, mappings->used * sizeof *mappings->all);
    *mappings = (struct mappings){0};
}

size_t mappings_memory_bytes(const struct mappings *mappings)
{
    return mappings->leaf_room * sizeof *mappings->leaves +
           mappings->leaf_count * sizeof(struct mapping_leaf) +
           mappings->used * sizeof *mappings->all;
}

/* ---- Places -------------------------------------------------------------------------------- */

/* The last leaf that begins at or below the address, or the first one. */
static size_t mappings_leaf_of(const struct mappings *mappings, uint64_t address)
{
    size_t first = 1;

    SEARCH_FIRST(first, mappings->leaf_count, at, mappings->leaves[at].start <= address);
    return first - 1;
}

/* The first piece of a leaf that ends above the address; the leaf's count: there is none. */
static size_t mappings_piece_of(const struct mapping_leaf *leaf, uint64_t address)
{
    size_t first = 0;

    SEARCH_FIRST(first, leaf->count, at, leaf->pieces[at].end <= address);
    return first;
}

/* The place of a piece at the address: behind all pieces that end at or below it. */
static struct mapping_place mappings_place_of(const struct mappings *mappings, uint64_t address)
{
    struct mapping_place place = {mappings_leaf_of(mappings, address), 0};

    if (mappings->leaf_count)
        place.piece = mappings_piece_of(mappings->leaves[place.leaf].leaf, address);
    return place;
}

/* NULL: nothing ends above the address. */
static struct mapping_piece *mappings_find(const struct mappings *mappings, uint64_t address,
                                           struct mapping_place *place)
{
    *place = mappings_place_of(mappings, address);
    if (place->leaf < mappings->leaf_count &&
        place->piece == mappings->leaves[place->leaf].leaf->count)
        *place = (struct mapping_place){place->leaf + 1, 0};
    return place->leaf < mappings->leaf_count
               ? &mappings->leaves[place->leaf].leaf->pieces[place->piece]
               : NULL;
}

bool mappings_above(const struct mappings *mappings, uint64_t address, struct mapping_piece *out)
{
    struct mapping_place place;
    const struct mapping_piece *piece = mappings_find(mappings, address, &place);

    if (piece)
        *out = *piece;
    return piece;
}

/* ---- Leaves -------------------------------------------------------------------------------- */

static void mappings_insert_leaf(struct mappings *mappings, size_t at)
{
    struct mapping_branch *place;

    if (mappings->leaf_count == mappings->leaf_room) {
        mappings->leaf_room = mappings->leaf_room ? 2 * mappings->leaf_room : 4;
        mappings->leaves =
            arena_realloc(mappings->leaves, mappings->leaf_room * sizeof *mappings->leaves);
    }
    place = mappings->leaves + at;
    memmove(place + 1, place, (mappings->leaf_count++ - at) * sizeof *place);
    place->leaf = arena_realloc(NULL, sizeof *place->leaf);
    place->leaf->count = 0;
}

static void mappings_remove_leaf(struct mappings *mappings, size_t at)
{
    struct mapping_branch *place = mappings->leaves + at;

    free(place->leaf);
    memmove(place, place + 1, (--mappings->leaf_count - at) * sizeof *place);
}

/* Moves what stands behind the first `keep` pieces to a new leaf behind this one. */
static void mappings_split_leaf(struct mappings *mappings, size_t at, uint32_t keep)
{
    struct mapping_leaf *from = mappings->leaves[at].leaf, *to;

    mappings_insert_leaf(mappings, at + 1);
    to = mappings->leaves[at + 1].leaf;
    to->count = from->count - keep;
    memcpy(to->pieces, from->pieces + keep, to->count * sizeof *to->pieces);
    from->count = keep;
    mappings->leaves[at + 1].start = to->pieces[0].start;
}

/* Many programs map ever lower or ever higher addresses. Then the full half is never filled again,
 * so the new leaf gets one piece only. */
static struct mapping_place mappings_make_room(struct mappings *mappings,
                                               struct mapping_place place)
{
    bool is_first = place.leaf == 0 && place.piece == 0;
    bool is_last = place.leaf + 1 == mappings->leaf_count && place.piece == MAPPINGS_LEAF;
    uint32_t keep = is_first ? 1 : is_last ? MAPPINGS_LEAF - 1 : MAPPINGS_LEAF / 2;

    mappings_split_leaf(mappings, place.leaf, keep);
    if (place.piece > keep)
        return (struct mapping_place){place.leaf + 1, place.piece - keep};
    return place;
}

/* Joins the leaf with the next one if both have few pieces. */
static void mappings_join(struct mappings *mappings, size_t at)
{
    struct mapping_leaf *leaf, *next;

    if (at + 1 >= mappings->leaf_count)
        return;
    leaf = mappings->leaves[at].leaf;
    next = mappings->leaves[at + 1].leaf;
    if (leaf->count + next->count > MAPPINGS_JOIN)
        return;
    memcpy(leaf->pieces + leaf->count, next->pieces, next->count * sizeof *next->pieces);
    leaf->count += next->count;
    mappings_remove_leaf(mappings, at + 1);
}

/* The halves of a leaf that was split may have small neighbours. */
static void mappings_join_halves(struct mappings *mappings, size_t at)
{
    mappings_join(mappings, at + 1);
    if (at)
        mappings_join(mappings, at - 1);
}

static void mappings_insert(struct mappings *mappings, struct mapping_piece piece)
{
    struct mapping_place place = mappings_place_of(mappings, piece.start);
    struct mapping_leaf *leaf;
    size_t split = SIZE_MAX;

    if (!mappings->leaf_count)
        mappings_insert_leaf(mappings, 0);
    if (mappings->leaves[place.leaf].leaf->count == MAPPINGS_LEAF) {
        split = place.leaf;
        place = mappings_make_room(mappings, place);
    }
    leaf = mappings->leaves[place.leaf].leaf;
    memmove(&leaf->pieces[place.piece + 1], &leaf->pieces[place.piece],
            (leaf->count++ - place.piece) * sizeof piece);
    leaf->pieces[place.piece] = piece;
    mappings->leaves[place.leaf].start = leaf->pieces[0].start;
    mappings->piece_count++;
    if (split != SIZE_MAX)
        mappings_join_halves(mappings, split);
}

static void mappings_erase(struct mappings *mappings, struct mapping_place place)
{
    struct mapping_leaf *leaf = mappings->leaves[place.leaf].leaf;

    mappings->piece_count--;
    memmove(&leaf->pieces[place.piece], &leaf->pieces[place.piece + 1],
            (--leaf->count - place.piece) * sizeof *leaf->pieces);
    if (!leaf->count) {
        mappings_remove_leaf(mappings, place.leaf);
    } else {
        mappings->leaves[place.leaf].start = leaf->pieces[0].start;
        mappings_join(mappings, place.leaf);
    }
    if (place.leaf)
        mappings_join(mappings, place.leaf - 1);
}

/* ---- Mappings ------------------------------------------------------------------------------ */

static uint32_t mappings_number(struct mappings *mappings)
{
    uint32_t number = mappings->free;

    if (number) {
        mappings->free = mappings->all[number - 1].site;
        return number - 1;
    }
    arena_grow(&mappings->memory, (mappings->used + (size_t)1) * sizeof *mappings->all);
    mappings->all = mappings->memory.base;
    return mappings->used++;
}

uint32_t mappings_add(struct mappings *mappings, const struct mapping *made, uint64_t end)
{
    uint32_t number = mappings_number(mappings);
    struct mapping *mapping = &mappings->all[number];

    *mapping = *made;
    mapping->pieces = 1;
    mapping->bytes = end - made->start;
    mappings_insert(mappings, (struct mapping_piece){made->start, end, number});
    return number;
}

/* Takes [start, end), which lies in the piece at the place, out of it. */
static void mappings_take(struct mappings *mappings, struct mapping_place place, uint64_t start,
                          uint64_t end)
{
    struct mapping_leaf *leaf = mappings->leaves[place.leaf].leaf;
    struct mapping_piece *piece = &leaf->pieces[place.piece], whole = *piece;
    struct mapping *mapping = &mappings->all[whole.mapping];

    if (whole.start == start && whole.end == end) {
        mapping->pieces--;
        mappings_erase(mappings, place);
    } else if (whole.start == start) {
        piece->start = end;
        mappings->leaves[place.leaf].start = leaf->pieces[0].start;
    } else {
        piece->end = start;
        if (end < whole.end) {
            mapping->pieces++;
            mappings_insert(mappings, (struct mapping_piece){end, whole.end, whole.mapping});
        }
    }
}

static void mappings_tell_gone(struct mappings *mappings, uint32_t number, uint64_t bytes,
                               mappings_gone *gone, void *context)
{
    struct mapping *mapping = &mappings->all[number];

    mapping->bytes -= bytes;
    if (gone)
        gone(context, number, mapping, bytes);
    if (mapping->bytes)
        return;
    mapping->site = mappings->free;
    mappings->free = number + 1;
}

void mappings_cut(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t before,
                  mappings_gone *gone, void *context)
{
    struct mapping_place place;
    struct mapping_piece *found;

    while (start < end && (found = mappings_find(mappings, start, &place)) && found->start < end) {
        struct mapping_piece piece = *found;
        uint64_t from = piece.start > start ? piece.start : start;
        uint64_t to = piece.end < end ? piece.end : end;
        start = to;
        if (mappings->all[piece.mapping].born > before)
            continue;
        mappings_take(mappings, place, from, to);
        mappings_tell_gone(mappings, piece.mapping, to - from, gone, context);
    }
}

void mappings_end(struct mappings *mappings, uint32_t number, uint64_t from, mappings_gone *gone,
                  void *context)
{
    uint64_t bytes = mappings->all[number].bytes;
    struct mapping_place place;
    struct mapping_piece *found;

    while (mappings->all[number].pieces && (found = mappings_find(mappings, from, &place))) {
        from = found->end;
        if (found->mapping == number)
            mappings_take(mappings, place, found->start, found->end);
    }
    mappings_tell_gone(mappings, number, bytes, gone, context);
}

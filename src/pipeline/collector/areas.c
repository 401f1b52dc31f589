/* Assigns an owner to each part of the address space (areas.h). Claims are sorted and cut so that
 * none overlap. Mappings are cut at the claims in one sweep, and a second sweep gives areas with
 * live blocks to the allocator. */
#include "collector/areas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "procfs/process.h"
#include "wire/wire.h"

/* glibc's arenas but the main one: HEAP_MAX_SIZE of malloc/arena.c on 64 bits. */
#define ARENA_BYTES (64ull << 20)

#define USER_SPACE_END (1ull << 56)

/* ---- Claims -------------------------------------------------------------------------------- */

static int areas_claim_compare(const void *left, const void *right)
{
    const struct area_claim *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (int)b->owner - (int)a->owner; /* the tool's and stacks before mmap */
}

static bool areas_claim_is_sound(const struct area_claim *claim)
{
    return claim->start < claim->end && claim->end <= USER_SPACE_END;
}

size_t areas_prune_claims(struct area_claim *claims, size_t count)
{
    uint64_t page = process_page_bytes(), covered = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (areas_claim_is_sound(&claims[i]))
            claims[kept++] = claims[i];
    count = kept;
    kept = 0;
    if (count)
        qsort(claims, count, sizeof *claims, areas_claim_compare);
    for (size_t i = 0; i < count; i++) {
        struct area_claim claim = claims[i];
        claim.start &= ~(page - 1);
        claim.end = (claim.end + page - 1) & ~(page - 1);
        if (claim.start < covered)
            claim.start = covered;
        if (claim.start >= claim.end)
            continue;
        covered = claim.end;
        claims[kept++] = claim;
    }
    return kept;
}

/* ---- Mappings ------------------------------------------------------------------------------ */

/* Whether the kernel has joined a module's .bss with the program's memory behind it. */
static bool areas_is_joined(const struct smaps_mapping *mapping)
{
    return mapping->kind == SMAPS_BSS && mapping->bss_end > mapping->start &&
           mapping->bss_end < mapping->end;
}

static bool areas_is_ours(const struct smaps *smaps, size_t index)
{
    const struct smaps_mapping *mapping = &smaps->mappings[index];
    if (mapping->kind == SMAPS_BSS && index > 0)
        mapping--;
    return wire_is_recorder(mapping->path);
}

static bool areas_is_reserved_till(const struct smaps *smaps, size_t index, uint64_t end)
{
    return index < smaps->count && smaps->mappings[index].kind == SMAPS_RESERVED &&
           smaps->mappings[index].end >= end;
}

/* An arena that has grown to its full size has no reserved rest, and the kernel joins it with its
 * neighbours. Such an arena is recognised by its blocks alone. */
static bool areas_is_arena(const struct smaps *smaps, size_t index)
{
    const struct smaps_mapping *mapping = &smaps->mappings[index];
    uint64_t last = mapping->end / ARENA_BYTES * ARENA_BYTES;
    return mapping->start == last && mapping->writable && mapping->end > last &&
           areas_is_reserved_till(smaps, index + 1, last + ARENA_BYTES) &&
           smaps->mappings[index + 1].start == mapping->end;
}

static enum area_owner areas_owner_of(const struct smaps *smaps, size_t index)
{
    /* clang-format off */
    static const enum area_owner owners[SMAPS_KINDS] = {
        [SMAPS_HEAP] = AREA_ALLOCATOR,      [SMAPS_ANONYMOUS] = AREA_MMAP,
        [SMAPS_RESERVED] = AREA_MMAP,       [SMAPS_TEXT] = AREA_FILE,
        [SMAPS_RODATA] = AREA_FILE,         [SMAPS_DATA] = AREA_GLOBALS,
        [SMAPS_BSS] = AREA_GLOBALS,         [SMAPS_FILE] = AREA_FILE,
        [SMAPS_SHARED_MEMORY] = AREA_SHARED, [SMAPS_MAIN_STACK] = AREA_STACK,
        [SMAPS_THREAD_STACK] = AREA_STACK,  [SMAPS_VDSO] = AREA_OTHER,
        [SMAPS_HUGE] = AREA_OTHER,          [SMAPS_DEVICE] = AREA_OTHER,
        [SMAPS_TOOL] = AREA_TOOL,           [SMAPS_OTHER] = AREA_OTHER,
    };
    /* clang-format on */
    const struct smaps_mapping *mapping = &smaps->mappings[index];
    enum smaps_kind kind = mapping->kind;
    if (areas_is_ours(smaps, index))
        return AREA_TOOL;
    return kind == SMAPS_ANONYMOUS && areas_is_arena(smaps, index) ? AREA_ALLOCATOR : owners[kind];
}

uint64_t areas_tool_rss(const struct smaps *smaps)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < smaps->count; i++)
        if (!areas_is_joined(&smaps->mappings[i]) && /* smaps does not say what our part costs */
            (smaps->mappings[i].kind == SMAPS_TOOL || areas_owner_of(smaps, i) == AREA_TOOL))
            bytes += figure_or(smaps->mappings[i].bytes.rss, 0);
    return bytes;
}

static struct area area_of(const struct smaps *smaps, size_t index)
{
    const struct smaps_mapping *mapping = &smaps->mappings[index];
    return (struct area){
        .start = mapping->start,
        .end = mapping->end,
        .owner = areas_owner_of(smaps, index),
        .is_anonymous = mapping->kind == SMAPS_HEAP || mapping->kind == SMAPS_ANONYMOUS ||
                        mapping->kind == SMAPS_RESERVED,
        .outside_rss = mapping->kind == SMAPS_HUGE || mapping->kind == SMAPS_DEVICE,
        .rss_bytes = figure_or(mapping->bytes.rss, 0),
        .mapping = index,
    };
}

/* ---- Areas --------------------------------------------------------------------------------- */

static int areas_add(struct areas *areas, struct area area, uint64_t start, uint64_t end)
{
    if (!array_make_room(&areas->list, &areas->capacity, areas->count, sizeof *areas->list))
        return -ENOMEM;
    area.is_piece = area.is_piece || start != area.start || end != area.end;
    area.rss_bytes = area.is_piece ? 0 : area.rss_bytes;
    area.start = start;
    area.end = end;
    areas->list[areas->count++] = area;
    return 0;
}

static bool areas_is_file_like(enum mapping_kind kind)
{
    return kind == MAPPING_FILE || kind == MAPPING_FILE_SHARED || kind == MAPPING_SHARED ||
           kind == MAPPING_SYSV;
}

/* A mapping with MAP_GROWSDOWN, which threads' stacks do not have. The kernel extends it downwards,
 * and the extension belongs to the claim. */
static bool areas_grows(const struct smaps_mapping *mapping, const struct area_claim *claim)
{
    return mapping->flags & SMAPS_GROWS_DOWN && claim->owner == AREA_MMAP;
}

/* Code, constants and variables of modules are the loader's, and [heap] is the allocator's. A claim
 * on them is wrong, except for a program that moves the break itself. */
static bool areas_can_be_claimed(const struct smaps_mapping *mapping,
                                 const struct area_claim *claim)
{
    switch (mapping->kind) {
    case SMAPS_FILE:
    case SMAPS_SHARED_MEMORY:
        return claim->owner == AREA_MMAP && areas_is_file_like(claim->kind);
    case SMAPS_HEAP:
        return claim->owner == AREA_MMAP && claim->kind == MAPPING_BREAK;
    case SMAPS_ANONYMOUS:
    case SMAPS_BSS:
    case SMAPS_RESERVED:
        return !areas_is_file_like(claim->kind) || claim->kind == MAPPING_FILE; /* of /dev/zero */
    case SMAPS_THREAD_STACK:
        return mapping->guessed || areas_grows(mapping, claim);
    default:
        return false;
    }
}

/* The owner of a file's or shared memory's mapping is as smaps says. The claim only adds the call
 * path. */
static void areas_give(struct area *area, const struct area_claim *claim)
{
    bool keeps_owner = area->owner == AREA_FILE || area->owner == AREA_SHARED;
    area->is_claimed = true;
    area->is_allocators = claim->owner == AREA_ALLOCATOR;
    area->path = claim->path;
    area->tid = claim->tid;
    if (keeps_owner)
        return;
    area->owner = claim->owner;
    area->is_anonymous = claim->owner == AREA_MMAP || area->is_allocators;
}

/* Cuts `whole` at the claims from `claim` on. */
static int areas_cut(struct areas *areas, const struct area *whole,
                     const struct smaps_mapping *mapping, const struct area_claim *claim,
                     const struct area_claim *end)
{
    uint64_t at = whole->start;
    int error = 0;
    for (; claim < end && claim->start < whole->end && !error; claim++) {
        if (!areas_can_be_claimed(mapping, claim))
            continue;
        bool is_all =
            claim->start < at || (areas_grows(mapping, claim) && claim->end == mapping->end);
        uint64_t from = is_all ? at : claim->start;
        uint64_t to = claim->end < whole->end ? claim->end : whole->end;
        struct area claimed = *whole;
        areas_give(&claimed, claim);
        if (from > at)
            error = areas_add(areas, *whole, at, from);
        if (!error)
            error = areas_add(areas, claimed, from, to);
        at = to;
    }
    return !error && at < whole->end ? areas_add(areas, *whole, at, whole->end) : error;
}

/* Skips the claims that end before the area. */
static int areas_cut_at_claims(struct areas *areas, const struct area *whole,
                               const struct smaps_mapping *mapping, const struct area_claim **claim,
                               const struct area_claim *end)
{
    while (*claim < end && (*claim)->end <= whole->start)
        ++*claim;
    return areas_cut(areas, whole, mapping, *claim, end);
}

/* Leaves a module's variables in `whole`. Returns the program's memory behind them. */
static struct area areas_split(struct area *whole, uint64_t module_end)
{
    struct area behind = *whole;
    whole->end = behind.start = module_end;
    whole->is_piece = behind.is_piece = true;
    behind.owner = AREA_MMAP;
    behind.is_anonymous = true;
    return behind;
}

static int areas_find_mappings(struct areas *areas, const struct smaps *smaps,
                               const struct area_claim *claim, const struct area_claim *end)
{
    int error = 0;
    for (size_t i = 0; i < smaps->count && !error; i++) {
        struct area whole = area_of(smaps, i);
        if (!areas_is_joined(&smaps->mappings[i])) {
            error = areas_cut_at_claims(areas, &whole, &smaps->mappings[i], &claim, end);
            continue;
        }
        struct area behind = areas_split(&whole, smaps->mappings[i].bss_end);
        error = areas_cut_at_claims(areas, &whole, &smaps->mappings[i], &claim, end);
        if (!error)
            error = areas_cut_at_claims(areas, &behind, &smaps->mappings[i], &claim, end);
    }
    return error;
}

/* A block may reach over several areas: the kernel cuts mappings at every madvise. */
static void areas_note_blocks(struct areas *areas, const struct live_list *blocks)
{
    size_t at = 0;
    for (size_t i = 0; i < areas->count; i++) {
        struct area *area = &areas->list[i];
        at = live_list_first_above(blocks, at, area->start);
        area->holds_block = at < blocks->count && blocks->blocks[at].address < area->end;
        if (area->holds_block && area->is_anonymous)
            area->owner = AREA_ALLOCATOR;
    }
}

int areas_find(struct areas *areas, const struct smaps *smaps, const struct area_claim *claims,
               size_t claim_count, const struct live_list *blocks)
{
    areas->count = 0;
    int error = areas_find_mappings(areas, smaps, claims, claims ? claims + claim_count : NULL);
    if (!error)
        areas_note_blocks(areas, blocks);
    return error;
}

/* Cuts one area at the labels from `label` on. */
static int areas_label_one(struct areas *areas, const struct area *whole,
                           const struct area_label *label, const struct area_label *end)
{
    uint64_t page = process_page_bytes(), at = whole->start;
    int error = 0;
    for (; label < end && label->start < whole->end && !error; label++) {
        uint64_t from = label->start & ~(page - 1), to = (label->end + page - 1) & ~(page - 1);
        from = from > at ? from : at;
        to = to < whole->end ? to : whole->end;
        if (from >= to)
            continue;
        struct area labelled = *whole;
        labelled.label = label->name;
        if (from > at)
            error = areas_add(areas, *whole, at, from);
        if (!error)
            error = areas_add(areas, labelled, from, to);
        at = to;
    }
    return !error && at < whole->end ? areas_add(areas, *whole, at, whole->end) : error;
}

static bool areas_can_be_labelled(const struct area *area)
{
    return !area->holds_block &&
           (area->owner == AREA_MMAP || area->owner == AREA_FILE || area->owner == AREA_SHARED);
}

int areas_label(struct areas *areas, const struct area_label *labels, size_t count)
{
    const struct area_label *end = labels + count;
    struct areas cut = AREAS_INIT;
    int error = 0;
    if (!count)
        return 0;
    for (size_t i = 0; i < areas->count && !error; i++) {
        const struct area *area = &areas->list[i];
        while (labels < end && labels->end <= area->start)
            labels++;
        error = areas_can_be_labelled(area) ? areas_label_one(&cut, area, labels, end)
                                            : areas_add(&cut, *area, area->start, area->end);
    }
    if (!error) {
        struct areas old = *areas;
        *areas = cut;
        cut = old;
    }
    areas_release(&cut);
    return error;
}

void areas_release(struct areas *areas)
{
    free(areas->list);
    *areas = AREAS_INIT;
}

static bool areas_has_content(const struct area *area)
{
    return area->owner != AREA_FILE && area->owner != AREA_OTHER && area->owner != AREA_TOOL;
}

void areas_want_content(struct areas *areas)
{
    for (size_t i = 0; i < areas->count; i++)
        areas->list[i].wants_pages = areas_has_content(&areas->list[i]);
}

void areas_want_heat(struct areas *areas, const struct smaps *smaps)
{
    for (size_t i = 0; i < areas->count; i++)
        areas->list[i].wants_pages =
            areas_has_content(&areas->list[i]) && !smaps->mappings[areas->list[i].mapping].shared;
}

bool area_needs_pages(const struct area *area)
{
    return area->holds_block || area->is_piece || area->wants_pages || area_is_allocators(area) ||
           area->owner == AREA_GLOBALS;
}

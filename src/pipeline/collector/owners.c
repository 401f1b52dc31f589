/* Makes the rows of owners (owners.h) from the areas and what the sweep has found in them. Rows of
 * one owner are found by hash. Proportional bytes are computed for each area, from what smaps says
 * of its mapping. */
#include "collector/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

#define OTHER_PATHS "other call paths"
#define WHOLE_FREE  "whole free pages"
#define TABLES      "free pages or its tables"
#define CHANGED     "changed during the look"
#define NO_THREAD   "no thread that is known"
#define NAMELESS    "(unnamed)"
#define RECORDER    "recorder"

/* An amount that is added to an owner's row. */
struct amount {
    uint64_t count;
    struct figure virtual_bytes, huge, idle, forked, blank, copy, spared, cold_1s, cold_10s, filled;
    uint64_t resident, swapped;
    double proportional;
    const uint64_t *nodes; /* NULL: not known */
};

/* ---- Rows ---------------------------------------------------------------------------------- */

static bool owners_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool owners_is_of(const struct profile_owner *row, const struct profile_owner *key)
{
    return row->kind == key->kind && row->path == key->path &&
           figure_equal(row->thread, key->thread) && owners_text_equal(row->name, key->name) &&
           owners_text_equal(row->module, key->module);
}

static uint64_t owners_hash(const struct profile_owner *key)
{
    uint64_t hash =
        hash_u64((uint64_t)key->path << 8 | (unsigned)key->kind) ^ figure_or(key->thread, 0);
    if (key->name)
        hash ^= hash_bytes(key->name, strlen(key->name));
    return hash_u64(hash);
}

/* The owner's row, made if it is not there. NULL: no memory. */
static struct profile_owner *owners_row(struct owners *owners, const struct profile_owner *key)
{
    uint64_t hash = owners_hash(key);
    uint32_t number;
    for (struct map_probe probe = map_probe(&owners->by_key, hash); map_next(&probe, &number);)
        if (owners_is_of(&owners->rows[number], key))
            return &owners->rows[number];
    if (!array_make_bare_room(&owners->rows, &owners->capacity, owners->count,
                              sizeof *owners->rows) ||
        !map_try_add(&owners->by_key, hash, (uint32_t)owners->count)) {
        owners->failed = true;
        return NULL;
    }
    owners->rows[owners->count] = *key;
    return &owners->rows[owners->count++];
}

/* The whole bytes of a share. The fraction is carried to the next share. */
static uint64_t owners_whole_bytes(struct owners *owners, double share)
{
    double sum = share + owners->carry + 1e-6;
    uint64_t bytes = sum > 0 ? (uint64_t)sum : 0;
    owners->carry = sum - 1e-6 - (double)bytes;
    return bytes;
}

static void owners_sum(struct figure *to, struct figure more)
{
    *to = figure_add(*to, more);
}

static struct figure owners_on_node(const struct amount *amount, unsigned node)
{
    if (amount->nodes)
        return figure_of(amount->nodes[node]);
    return amount->resident ? FIGURE_UNKNOWN : FIGURE_OF(0);
}

static void owners_add(struct owners *owners, const struct profile_owner *key,
                       const struct amount *amount)
{
    if (!amount->resident && !amount->swapped && !figure_positive(amount->virtual_bytes))
        return;
    struct profile_owner *row = owners_row(owners, key);
    if (!row)
        return;
    owners_sum(&row->count, figure_of(amount->count));
    owners_sum(&row->virtual_bytes, amount->virtual_bytes);
    owners_sum(&row->resident_bytes, figure_of(amount->resident));
    owners_sum(&row->proportional_bytes,
               figure_of(owners_whole_bytes(owners, amount->proportional)));
    owners_sum(&row->swapped_bytes, figure_of(amount->swapped));
    owners_sum(&row->huge_bytes, amount->huge);
    owners_sum(&row->huge_idle_bytes, amount->idle);
    owners_sum(&row->shared_bytes, amount->forked);
    owners_sum(&row->zero_bytes, amount->blank);
    owners_sum(&row->copy_bytes, amount->copy);
    owners_sum(&row->compressible_bytes, amount->spared);
    owners_sum(&row->unwritten_1s_bytes, amount->cold_1s);
    owners_sum(&row->unwritten_10s_bytes, amount->cold_10s);
    owners_sum(&row->filled_bytes, amount->filled);
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        owners_sum(&row->node_bytes[i], owners_on_node(amount, i));
}

static struct profile_owner owners_key(enum profile_owner_kind kind, uint32_t path,
                                       const char *name)
{
    return (struct profile_owner){
        .kind = (int)kind, .path = path, .name = name, .thread = FIGURE_UNKNOWN};
}

/* ---- Proportional bytes -------------------------------------------------------------------- */

/* How much of a mapping's PSS one byte counts: a byte that is shared with a fork, and any other. */
struct owners_weight {
    double forked, other;
};

/* Pages of a file are shared with other processes too. Which ones is not known, so all bytes count
 * alike. */
static struct owners_weight owners_weight(uint64_t pss, uint64_t resident, uint64_t forked,
                                          bool is_file)
{
    double whole = resident ? (double)pss / (double)resident : 0;
    if (is_file || !forked || pss < resident - forked)
        return (struct owners_weight){whole, whole};
    return (struct owners_weight){((double)pss - (double)(resident - forked)) / (double)forked, 1};
}

static double owners_weigh(struct owners_weight weight, const struct residency_bytes *bytes)
{
    return weight.forked * (double)bytes->forked +
           weight.other * (double)(bytes->resident - bytes->forked);
}

/* ---- Amounts ------------------------------------------------------------------------------- */

static struct figure owners_known_if(bool is_known, uint64_t bytes)
{
    return is_known || !bytes ? figure_of(bytes) : FIGURE_UNKNOWN;
}

static struct figure owners_spared(const struct owners_request *request,
                                   const struct residency_bytes *bytes)
{
    return request->knows_content ? figure_of(bytes->spared / request->residency->page_bytes)
                                  : FIGURE_UNKNOWN;
}

/* Unknown if none of the bytes were watched for writes. */
static struct figure owners_watched(const struct owners_request *request,
                                    const struct residency_bytes *bytes, uint64_t cold)
{
    bool knows = request->knows_heat && (bytes->watched || !bytes->resident);
    return knows ? figure_of(cold) : FIGURE_UNKNOWN;
}

/* Bytes of huge pages that nobody touched: the kernel fills a huge page with zeros, and they are
 * zeros still. */
static struct figure owners_idle(const struct owners_request *request,
                                 const struct residency_bytes *bytes)
{
    if (!request->knows_huge)
        return FIGURE_UNKNOWN;
    return request->knows_content ? figure_of(bytes->idle) : owners_known_if(false, bytes->huge);
}

/* An amount from the sweep over the page table. */
static struct amount owners_swept(const struct owners_request *request,
                                  const struct residency_bytes *bytes, double proportional)
{
    bool knows_huge = request->knows_huge;
    return (struct amount){
        .resident = bytes->resident,
        .swapped = bytes->swapped,
        .proportional = proportional,
        .virtual_bytes = FIGURE_UNKNOWN,
        .huge = knows_huge ? figure_of(bytes->huge) : FIGURE_UNKNOWN,
        .idle = owners_idle(request, bytes),
        .forked = figure_of(bytes->forked),
        .blank = request->knows_content ? figure_of(bytes->blank) : FIGURE_UNKNOWN,
        .copy = request->knows_content ? figure_of(bytes->copy) : FIGURE_UNKNOWN,
        .spared = owners_spared(request, bytes),
        .cold_1s = owners_watched(request, bytes, bytes->cold_1s),
        .cold_10s = owners_watched(request, bytes, bytes->cold_10s),
        .filled = owners_watched(request, bytes, bytes->filled),
        .nodes = request->knows_nodes ? bytes->nodes : NULL,
    };
}

static bool owners_is_private(const struct smaps_mapping *mapping)
{
    return !mapping->shared && mapping->kind != SMAPS_SHARED_MEMORY;
}

/* Shared bytes of a private mapping are shared with a fork if none of them are a file's. */
static struct figure owners_forked_of(const struct smaps_mapping *mapping)
{
    const struct smaps_bytes *bytes = &mapping->bytes;
    if (!owners_is_private(mapping) || figure_zero(bytes->anonymous) || figure_zero(bytes->shared))
        return figure_of(0);
    return figure_equal(bytes->anonymous, bytes->rss) ? bytes->shared : FIGURE_UNKNOWN;
}

/* An amount from smaps, for a mapping that is one area. */
static struct amount owners_mapped(const struct smaps_mapping *mapping, uint64_t resident)
{
    const struct smaps_bytes *bytes = &mapping->bytes;
    return (struct amount){
        .resident = resident,
        .swapped = figure_or(bytes->swap, 0),
        .proportional = (double)figure_or(bytes->pss, resident),
        .huge = bytes->huge,
        .idle = figure_zero(bytes->huge) ? figure_of(0) : FIGURE_UNKNOWN,
        .forked = owners_forked_of(mapping),
        .blank = resident ? FIGURE_UNKNOWN : figure_of(0),
        .copy = resident ? FIGURE_UNKNOWN : figure_of(0),
        .spared = resident ? FIGURE_UNKNOWN : figure_of(0),
        .cold_1s = resident ? FIGURE_UNKNOWN : figure_of(0),
        .cold_10s = resident ? FIGURE_UNKNOWN : figure_of(0),
        .filled = resident ? FIGURE_UNKNOWN : figure_of(0),
    };
}

/* ---- Whose an area is ---------------------------------------------------------------------- */

const char *owners_thread_name(const struct owners_request *request, pid_t tid)
{
    size_t first = 0;
    SEARCH_FIRST(first, request->thread_count, at, request->threads[at].tid < tid);
    bool is_there = first < request->thread_count && request->threads[first].tid == tid;
    return is_there ? request->threads[first].name : NULL;
}

static struct profile_owner owners_of_stack(const struct owners_request *request,
                                            const struct area *area,
                                            const struct smaps_mapping *mapping)
{
    pid_t tid = mapping->kind == SMAPS_MAIN_STACK ? request->pid : area->tid;
    const char *name = owners_thread_name(request, tid);
    struct profile_owner key = owners_key(PROFILE_OWNER_STACK, 0, name ? name : NO_THREAD);
    if (tid > 0)
        key.thread = figure_of((uint64_t)tid);
    return key;
}

/* The name is that of the file or segment. Anonymous memory has none if the call that mapped it is
 * known. */
static struct profile_owner owners_of_mapping(const struct owners_request *request,
                                              const struct area *area,
                                              const struct smaps_mapping *mapping)
{
    const char *name = *mapping->path ? mapping->path : NULL;
    if (area->owner == AREA_SHARED && (!name || strcmp(name, "/dev/zero") == 0))
        name = "shared memory";
    if (!name && !area->is_claimed)
        name = request->unknown ? request->unknown : "not seen when it was mapped";
    return owners_key(PROFILE_OWNER_MAPPING, area->is_claimed ? area->path : 0, name);
}

static bool owners_is_allocators(const struct owners_request *request, const struct area *area)
{
    return request->unknown && request->knows_mappings && !area->is_claimed && area->is_anonymous;
}

/* The zeroed part of a module's variables has no name to the kernel. */
static const char *owners_module(const struct smaps *smaps, size_t index)
{
    const struct smaps_mapping *mapping = &smaps->mappings[index];
    while (mapping > smaps->mappings && mapping->kind == SMAPS_BSS && !*mapping->path)
        mapping--;
    return mapping->path;
}

static struct profile_owner owners_of_globals(const struct owners_request *request,
                                              const struct area *area)
{
    struct profile_owner key = owners_key(PROFILE_OWNER_GLOBALS, 0, NAMELESS);
    key.module = owners_module(request->smaps, area->mapping);
    return key;
}

struct profile_owner owners_of_area(const struct owners_request *request, const struct area *area)
{
    const struct smaps_mapping *mapping = &request->smaps->mappings[area->mapping];
    if (area->label)
        return owners_key(PROFILE_OWNER_MAPPING, 0, area->label);
    switch (area->owner) {
    case AREA_MMAP:
        if (owners_is_allocators(request, area))
            return owners_key(PROFILE_OWNER_ALLOCATOR, 0, request->unknown);
        return owners_of_mapping(request, area, mapping);
    case AREA_TABLES:
        return owners_key(PROFILE_OWNER_ALLOCATOR, 0, TABLES);
    case AREA_SHARED:
        return owners_of_mapping(request, area, mapping);
    case AREA_FILE:
        return area->is_claimed ? owners_of_mapping(request, area, mapping)
                                : owners_key(PROFILE_OWNER_FILE, 0, mapping->path);
    case AREA_STACK:
        return owners_of_stack(request, area, mapping);
    case AREA_GLOBALS:
        return owners_of_globals(request, area);
    case AREA_TOOL:
        return owners_key(PROFILE_OWNER_TOOL, 0, RECORDER);
    default:
        return owners_key(mapping->kind == SMAPS_VDSO ? PROFILE_OWNER_KERNEL : PROFILE_OWNER_OTHER,
                          0, *mapping->path ? mapping->path : NULL);
    }
}

/* ---- Areas --------------------------------------------------------------------------------- */

/* Sums over the memory that call paths share. They give the weights of the paths' bytes. */
struct heap {
    struct residency_bytes live, free;
    double live_share, free_share;
};

/* Adds pieces of variables, and takes them from `rest`; the remaining bytes have no name. */
static void owners_add_touched(struct owners *owners, const struct owners_request *request,
                               size_t area, struct owners_weight weight,
                               struct residency_bytes *rest)
{
    const struct residency *residency = request->residency;
    const struct area *whose = &residency->areas->list[area];
    const char *module = owners_module(request->smaps, whose->mapping);
    size_t *at = &owners->touched_count;
    while (*at < residency->touched_count && residency->touched[*at].area < area)
        (*at)++;
    for (; *at < residency->touched_count && residency->touched[*at].area == area; (*at)++) {
        const struct residency_touched *piece = &residency->touched[*at];
        struct amount amount = owners_swept(request, &piece->bytes, 0);
        owners->touched[*at] = (struct proc_touched){
            .start = piece->start,
            .end = piece->end,
            .module = module,
            .resident_bytes = figure_of(amount.resident),
            .proportional_bytes =
                figure_of(owners_whole_bytes(owners, owners_weigh(weight, &piece->bytes))),
            .swapped_bytes = figure_of(amount.swapped),
            .huge_bytes = amount.huge,
            .shared_bytes = amount.forked,
            .zero_bytes = amount.blank,
            .copy_bytes = amount.copy,
            .compressible_bytes = amount.spared,
            .unwritten_1s_bytes = amount.cold_1s,
            .unwritten_10s_bytes = amount.cold_10s,
            .filled_bytes = amount.filled};
        for (unsigned i = 0; i < PROFILE_NODES; i++)
            owners->touched[*at].node_bytes[i] = owners_on_node(&amount, i);
        residency_bytes_take(rest, &piece->bytes);
    }
}

static void owners_add_swept(struct owners *owners, const struct owners_request *request,
                             size_t index, struct owners_weight weight, struct heap *heap)
{
    const struct area *area = &request->residency->areas->list[index];
    const struct residency_area *found = &request->residency->by_area[index];
    struct residency_bytes rest = found->all;
    residency_bytes_take(&rest, &found->live);
    residency_bytes_add(&heap->live, &found->live);
    heap->live_share += owners_weigh(weight, &found->live);
    if (area->owner == AREA_ALLOCATOR) {
        residency_bytes_add(&heap->free, &rest);
        heap->free_share += owners_weigh(weight, &rest);
        return;
    }
    if (area->owner == AREA_GLOBALS)
        owners_add_touched(owners, request, index, weight, &rest);
    struct profile_owner key = owners_of_area(request, area);
    struct amount amount = owners_swept(request, &rest, owners_weigh(weight, &rest));
    amount.virtual_bytes =
        area->owner == AREA_GLOBALS ? FIGURE_OF(0) : figure_of(area->end - area->start);
    amount.count = area->owner != AREA_GLOBALS;
    owners_add(owners, &key, &amount);
}

/* An amount that smaps has counted and the page table, read later, has not. */
static struct amount owners_gone(uint64_t bytes, double proportional)
{
    return (struct amount){.resident = bytes,
                           .proportional = proportional > 0 ? proportional : 0,
                           .virtual_bytes = FIGURE_UNKNOWN,
                           .huge = FIGURE_UNKNOWN,
                           .idle = FIGURE_UNKNOWN,
                           .forked = FIGURE_UNKNOWN,
                           .blank = FIGURE_UNKNOWN,
                           .copy = FIGURE_UNKNOWN,
                           .spared = FIGURE_UNKNOWN,
                           .cold_1s = FIGURE_UNKNOWN,
                           .cold_10s = FIGURE_UNKNOWN,
                           .filled = FIGURE_UNKNOWN};
}

/* Large blocks have mappings of their own, which are unmapped with them. If such blocks fill a
 * mapping, the bytes that have gone were theirs. With smaller or more blocks they may as well have
 * been free memory between blocks. */
enum { GONE_BLOCK_BYTES = 64 << 10, GONE_BLOCKS_MOST = 1 << 16 };
#define GONE_FILLED 0.9

static uint64_t owners_bytes_within(const struct live_entry *block,
                                    const struct smaps_mapping *mapping)
{
    uint64_t start = block->address > mapping->start ? block->address : mapping->start;
    uint64_t end = live_entry_end(block) < mapping->end ? live_entry_end(block) : mapping->end;
    return end - start;
}

/* Whether large blocks fill the mapping. `first` is the number of the first block; sets `count`. */
static bool owners_are_filled_by_large(const struct live_list *list, size_t first,
                                       const struct smaps_mapping *mapping, size_t *count)
{
    uint64_t filled = 0;
    size_t i = first;
    for (; i < list->count && list->blocks[i].address < mapping->end; i++) {
        if (i - first == GONE_BLOCKS_MOST)
            return false;
        filled += owners_bytes_within(&list->blocks[i], mapping);
    }
    *count = i - first;
    return *count && filled / *count >= GONE_BLOCK_BYTES &&
           (double)filled >= GONE_FILLED * (double)(mapping->end - mapping->start);
}

/* An upper bound of the block's bytes in the mapping that the page table lacks. Other blocks of its
 * call path may lack them instead. */
static uint64_t owners_lacking(const struct residency *residency, const struct live_entry *block,
                               const struct smaps_mapping *mapping)
{
    uint64_t within = owners_bytes_within(block, mapping);
    uint64_t all = figure_or(residency->rows[block->row].live_bytes, 0);
    uint64_t there = residency->paths[block->row].live.resident;
    uint64_t lacking = all > there ? all - there : 0;
    return lacking < within ? lacking : within;
}

/* Divides what has gone of a mapping among the blocks that fill it, by what they lack, which is
 * `left` in all. */
static void owners_add_gone_blocks(struct owners *owners, const struct residency *residency,
                                   const struct smaps_mapping *mapping, size_t first, uint64_t left,
                                   struct amount gone)
{
    for (size_t i = first; left; i++) {
        const struct live_entry *block = &residency->blocks->blocks[i];
        uint64_t lacking = owners_lacking(residency, block, mapping);
        double part = (double)lacking / (double)left;
        struct amount amount =
            owners_gone((uint64_t)((double)gone.resident * part + 0.5), gone.proportional * part);
        if (lacking == left || amount.resident > gone.resident)
            amount.resident = gone.resident;
        struct profile_owner key =
            owners_key(PROFILE_OWNER_BLOCKS, residency->rows[block->row].path, NULL);
        amount.virtual_bytes = FIGURE_OF(0); /* the row has them */
        owners_add(owners, &key, &amount);
        left -= lacking;
        gone.resident -= amount.resident;
        gone.proportional -= amount.proportional;
    }
}

static void owners_add_changed(struct owners *owners, const struct owners_request *request,
                               const struct smaps_mapping *mapping, struct amount gone)
{
    const struct profile_owner key = owners_key(PROFILE_OWNER_OTHER, 0, CHANGED);
    const struct live_list *list = request->residency->blocks;
    bool knows = request->has_all_blocks && !request->unknown && gone.resident >= GONE_BLOCK_BYTES;
    size_t count, first = knows ? live_list_first_above(list, 0, mapping->start) : 0;
    uint64_t lacking = 0;
    if (knows && owners_are_filled_by_large(list, first, mapping, &count))
        for (size_t i = first; i < first + count; i++)
            lacking += owners_lacking(request->residency, &list->blocks[i], mapping);
    if (lacking && (double)lacking >= GONE_FILLED * (double)gone.resident)
        owners_add_gone_blocks(owners, request->residency, mapping, first, lacking, gone);
    else if (gone.resident)
        owners_add(owners, &key, &gone);
}

/* The areas [first, end) of one mapping. */
static void owners_add_mapping(struct owners *owners, const struct owners_request *request,
                               size_t first, size_t end, struct heap *heap)
{
    const struct area *areas = request->residency->areas->list;
    const struct smaps_mapping *mapping = &request->smaps->mappings[areas[first].mapping];
    struct residency_bytes found = {0};
    uint64_t rss = figure_or(mapping->bytes.rss, 0);
    if (!area_needs_pages(&areas[first])) {
        struct profile_owner key = owners_of_area(request, &areas[first]);
        struct amount amount = owners_mapped(mapping, rss);
        amount.virtual_bytes = figure_of(mapping->end - mapping->start);
        amount.count = 1;
        owners_add(owners, &key, &amount);
        return;
    }
    for (size_t i = first; i < end; i++)
        residency_bytes_add(&found, &request->residency->by_area[i].all);
    uint64_t pss = figure_or(mapping->bytes.pss, rss);
    bool has_file = !figure_equal(mapping->bytes.anonymous, mapping->bytes.rss);
    struct owners_weight weight =
        owners_weight(pss, rss, found.forked < rss ? found.forked : rss, has_file);
    for (size_t i = first; i < end; i++)
        owners_add_swept(owners, request, i, weight, heap);
    if (rss > found.resident)
        owners_add_changed(
            owners, request, mapping,
            owners_gone(rss - found.resident, (double)pss - owners_weigh(weight, &found)));
}

static void owners_add_mappings(struct owners *owners, const struct owners_request *request,
                                struct heap *heap)
{
    const struct areas *areas = request->residency->areas;
    for (size_t i = 0, next; i < areas->count; i = next) {
        for (next = i + 1;
             next < areas->count && areas->list[next].mapping == areas->list[i].mapping;)
            next++;
        if (!areas->list[i].outside_rss)
            owners_add_mapping(owners, request, i, next, heap);
    }
}

/* ---- Call paths ---------------------------------------------------------------------------- */

static struct owners_weight owners_heap_weight(const struct residency_bytes *bytes, double share)
{
    return owners_weight((uint64_t)(share + 0.5), bytes->resident, bytes->forked, false);
}

static void owners_add_blocks(struct owners *owners, const struct owners_request *request,
                              const struct heap *heap)
{
    const struct residency *residency = request->residency;
    struct owners_weight live = owners_heap_weight(&heap->live, heap->live_share);
    struct owners_weight free = owners_heap_weight(&heap->free, heap->free_share);
    for (size_t i = 0; i < residency->row_count; i++) {
        const struct profile_residency *row = &residency->rows[i];
        const struct residency_path *path = &residency->paths[i];
        struct amount amount = owners_swept(request, &path->live, owners_weigh(live, &path->live));
        struct profile_owner key = owners_key(PROFILE_OWNER_BLOCKS, row->path, NULL);
        amount.count = figure_or(row->live_count, 0);
        amount.virtual_bytes = row->live_bytes;
        owners_add(owners, &key, &amount);
        if (request->unknown)
            continue;
        amount = owners_swept(request, &path->free, owners_weigh(free, &path->free));
        key = owners_key(PROFILE_OWNER_ALLOCATOR, row->path, NULL);
        owners_add(owners, &key, &amount);
    }
}

/* Free memory of the allocator: pages without a block if all blocks are known; otherwise all bytes
 * that no known block has. */
static void owners_add_free(struct owners *owners, const struct owners_request *request,
                            const struct heap *heap)
{
    struct residency_bytes rest = heap->free;
    struct owners_weight weight = owners_heap_weight(&heap->free, heap->free_share);
    if (!request->unknown) {
        rest = request->residency->whole_free;
        rest.swapped = heap->free.swapped;
    }
    if (!request->has_all_blocks)
        residency_bytes_add(&rest, &heap->live);
    struct amount amount = owners_swept(request, &rest, owners_weigh(weight, &rest));
    const struct profile_owner key =
        owners_key(PROFILE_OWNER_ALLOCATOR, 0, request->unknown ? request->unknown : WHOLE_FREE);
    if (!request->unknown)
        amount.idle = amount.huge; /* nothing is on them */
    owners_add(owners, &key, &amount);
}

/* ---- Which rows stay ----------------------------------------------------------------------- */

static int owners_bytes_compare(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    if (!a->path != !b->path)
        return a->path ? 1 : -1;
    int by_bytes = figure_compare(b->resident_bytes, a->resident_bytes);
    return by_bytes ? by_bytes : (a->path > b->path) - (a->path < b->path);
}

static void owners_join(struct profile_owner *to, const struct profile_owner *from)
{
    owners_sum(&to->count, from->count);
    owners_sum(&to->virtual_bytes, from->virtual_bytes);
    owners_sum(&to->resident_bytes, from->resident_bytes);
    owners_sum(&to->proportional_bytes, from->proportional_bytes);
    owners_sum(&to->swapped_bytes, from->swapped_bytes);
    owners_sum(&to->huge_bytes, from->huge_bytes);
    owners_sum(&to->huge_idle_bytes, from->huge_idle_bytes);
    owners_sum(&to->shared_bytes, from->shared_bytes);
    owners_sum(&to->zero_bytes, from->zero_bytes);
    owners_sum(&to->copy_bytes, from->copy_bytes);
    owners_sum(&to->compressible_bytes, from->compressible_bytes);
    owners_sum(&to->unwritten_1s_bytes, from->unwritten_1s_bytes);
    owners_sum(&to->unwritten_10s_bytes, from->unwritten_10s_bytes);
    owners_sum(&to->filled_bytes, from->filled_bytes);
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        owners_sum(&to->node_bytes[i], from->node_bytes[i]);
}

/* Keeps the rows without a path and the `limit` largest ones with a path. The others become one row
 * for each kind. */
static void owners_cut(struct owners *owners, size_t limit)
{
    struct profile_owner rest[PROFILE_OWNER_KINDS] = {{0}};
    bool has_rest[PROFILE_OWNER_KINDS] = {false};
    size_t named = 0;
    qsort(owners->rows, owners->count, sizeof *owners->rows, owners_bytes_compare);
    while (named < owners->count && !owners->rows[named].path)
        named++;
    size_t kept = named + limit;
    if (kept >= owners->count)
        return;
    for (size_t i = kept; i < owners->count; i++) {
        owners_join(&rest[owners->rows[i].kind], &owners->rows[i]);
        has_rest[owners->rows[i].kind] = true;
    }
    for (int kind = 0; kind < PROFILE_OWNER_KINDS; kind++) {
        if (!has_rest[kind])
            continue;
        rest[kind].kind = kind;
        rest[kind].name = OTHER_PATHS;
        rest[kind].thread = FIGURE_UNKNOWN;
        owners->rows[kept++] = rest[kind]; /* in the place of one that was beyond the limit */
    }
    owners->count = kept;
}

static int owners_compare(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    int by_name = strcmp(a->name ? a->name : "", b->name ? b->name : "");
    return by_name ? by_name : figure_compare(a->thread, b->thread);
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* Room for what has blocks, so that thousands of rows are not copied from one array to the next. A
 * failure is met again by the row that has no room. */
static void owners_reserve(struct owners *owners, const struct owners_request *request)
{
    size_t rows = request->has_all_blocks ? request->residency->row_count : 0;
    (void)!array_make_bare_room(&owners->rows, &owners->capacity, rows, sizeof *owners->rows);
    (void)!map_reserve(&owners->by_key, rows);
}

int owners_make(struct owners *owners, const struct owners_request *request)
{
    struct heap heap = {.live_share = 0};
    owners_release(owners);
    owners->touched = calloc(request->residency->touched_count + 1, sizeof *owners->touched);
    if (!owners->touched)
        return -ENOMEM;
    owners_reserve(owners, request);
    owners_add_mappings(owners, request, &heap);
    if (request->has_all_blocks)
        owners_add_blocks(owners, request, &heap);
    owners_add_free(owners, request, &heap);
    map_release(&owners->by_key);
    if (owners->failed) {
        owners_release(owners);
        return -ENOMEM;
    }
    if (request->limit && owners->count)
        owners_cut(owners, request->limit);
    array_fit(&owners->rows, &owners->capacity, owners->count, sizeof *owners->rows);
    if (owners->count)
        qsort(owners->rows, owners->count, sizeof *owners->rows, owners_compare);
    return 0;
}

void owners_release(struct owners *owners)
{
    free(owners->rows);
    free(owners->touched);
    map_release(&owners->by_key);
    *owners = OWNERS_INIT;
}

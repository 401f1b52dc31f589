/* Lays live blocks over runs of pages (residency.h). One sweep advances through areas, blocks and
 * runs together. The page under the sweep is kept open until all its blocks are known, then its
 * free bytes are shared among them. */
#include "collector/residency.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "collector/heat.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The row of a path, made if it is not there. */
static int residency_row_of_path(struct residency *residency, uint32_t path, uint32_t *row)
{
    uint64_t hash = hash_u64(path);
    for (struct map_probe probe = map_probe(&residency->by_path, hash); map_next(&probe, row);)
        if (residency->rows[*row].path == path)
            return 0;
    if (!array_make_bare_room(&residency->rows, &residency->row_capacity, residency->row_count,
                              sizeof *residency->rows) ||
        !array_make_bare_room(&residency->counts, &residency->count_capacity, residency->row_count,
                              sizeof *residency->counts) ||
        !map_try_add(&residency->by_path, hash, (uint32_t)residency->row_count))
        return -ENOMEM;
    *row = (uint32_t)residency->row_count++;
    residency->counts[*row] = (struct residency_count){0};
    residency->rows[*row] = (struct profile_residency){.path = path,
                                                       .lost_count = FIGURE_UNKNOWN,
                                                       .lost_bytes = FIGURE_UNKNOWN,
                                                       .indirect_count = FIGURE_UNKNOWN,
                                                       .indirect_bytes = FIGURE_UNKNOWN,
                                                       .possible_count = FIGURE_UNKNOWN,
                                                       .possible_bytes = FIGURE_UNKNOWN,
                                                       .reachable_count = FIGURE_UNKNOWN,
                                                       .reachable_bytes = FIGURE_UNKNOWN};
    return 0;
}

static void residency_add(struct figure *sum, uint64_t bytes)
{
    *sum = figure_add(*sum, figure_of(bytes));
}

/* A cache of rows, because most blocks are of few paths, with the counts that were not added to the
 * rows yet. */
enum { RECENT_ROWS = 1024 };
struct residency_recent {
    uint64_t node_plus_1; /* 0: none */
    uint32_t row;
    struct residency_count count;
};

static void residency_sum_up(uint64_t *sum, uint64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = UINT64_MAX; /* the largest figure */
}

static void residency_count_recent(struct residency *residency, const struct residency_recent *last)
{
    if (!last->node_plus_1)
        return;
    struct residency_count *count = &residency->counts[last->row];
    count->blocks += last->count.blocks;
    residency_sum_up(&count->bytes, last->count.bytes);
    residency_sum_up(&count->disjoint_bytes, last->count.disjoint_bytes);
}

/* Puts the row of another path in the place of `last`. */
static __attribute__((noinline)) int
residency_find_row(struct residency *residency, struct residency_recent *last, uint32_t node)
{
    uint32_t row = 0;
    int error = residency_row_of_path(residency, node, &row);
    if (error)
        return error;
    residency_count_recent(residency, last);
    *last = (struct residency_recent){.node_plus_1 = node + UINT64_C(1), .row = row};
    return 0;
}

/* Counts the blocks of a stretch, and keeps their disjoint parts. */
static int residency_take_stretch(struct residency *residency, struct residency_recent *recent,
                                  struct live_list *list, struct live_stretch *stretch)
{
    struct live_stretch at = *stretch; /* in registers */
    const struct live_entry *block = at.blocks, *end = block + at.count;
    for (; block < end; block++) {
        struct residency_recent *last = &recent[block->node % RECENT_ROWS];
        if (last->node_plus_1 != block->node + UINT64_C(1)) {
            int error = residency_find_row(residency, last, block->node);
            if (error)
                return error;
        }
        last->count.blocks++;
        residency_sum_up(&last->count.bytes, block->size_bytes);
        residency_sum_up(&last->count.disjoint_bytes, live_list_keep(list, &at, block, last->row));
    }
    *stretch = at;
    return 0;
}

int residency_take_blocks(struct residency *residency, struct live_list *list)
{
    struct residency_recent recent[RECENT_ROWS] = {{0}};
    struct live_stretch stretch = LIVE_STRETCH_INIT;
    while (live_list_sort_next(list, &stretch)) {
        int error = residency_take_stretch(residency, recent, list, &stretch);
        if (error)
            return error;
    }
    list->count = stretch.kept;
    for (size_t i = 0; i < RECENT_ROWS; i++)
        residency_count_recent(residency, &recent[i]);
    for (size_t i = 0; i < residency->row_count; i++) {
        residency->rows[i].live_count = figure_of(residency->counts[i].blocks);
        residency->rows[i].live_bytes = figure_of(residency->counts[i].bytes);
    }
    return 0;
}

static struct profile_residency *residency_row_of(struct residency *residency, size_t block)
{
    return &residency->rows[residency->blocks->blocks[block].row];
}

/* ---- Kinds of pages ------------------------------------------------------------------------ */

void residency_bytes_add(struct residency_bytes *to, const struct residency_bytes *from)
{
    to->resident += from->resident;
    to->swapped += from->swapped;
    to->huge += from->huge;
    to->forked += from->forked;
    to->blank += from->blank;
    to->copy += from->copy;
    to->idle += from->idle;
    to->spared += from->spared;
    to->watched += from->watched;
    to->cold_1s += from->cold_1s;
    to->cold_10s += from->cold_10s;
    to->filled += from->filled;
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        to->nodes[i] += from->nodes[i];
}

void residency_bytes_take(struct residency_bytes *to, const struct residency_bytes *from)
{
    to->resident -= from->resident;
    to->swapped -= from->swapped;
    to->huge -= from->huge;
    to->forked -= from->forked;
    to->blank -= from->blank;
    to->copy -= from->copy;
    to->idle -= from->idle;
    to->spared -= from->spared;
    to->watched -= from->watched;
    to->cold_1s -= from->cold_1s;
    to->cold_10s -= from->cold_10s;
    to->filled -= from->filled;
    for (unsigned i = 0; i < PROFILE_NODES; i++)
        to->nodes[i] -= from->nodes[i];
}

#define RESIDENCY_PLACE(figure) (offsetof(struct residency_bytes, figure) / sizeof(uint64_t))

static void residency_kinds_add(struct residency_kinds *kinds, bool is_so, size_t place)
{
    kinds->places[kinds->count] = (uint8_t)place;
    kinds->count += is_so;
}

static struct residency_kinds residency_kinds_of(const struct page_table_run *run)
{
    struct residency_kinds kinds = {.count = 0};
    bool is_there = run->state == PAGES_RESIDENT && !run->zero;
    residency_kinds_add(&kinds, run->state == PAGES_SWAPPED, RESIDENCY_PLACE(swapped));
    if (!is_there)
        return kinds;
    residency_kinds_add(&kinds, true, RESIDENCY_PLACE(resident));
    residency_kinds_add(&kinds, run->huge, RESIDENCY_PLACE(huge));
    residency_kinds_add(&kinds, run->forked, RESIDENCY_PLACE(forked));
    residency_kinds_add(&kinds, run->blank, RESIDENCY_PLACE(blank));
    residency_kinds_add(&kinds, run->copy, RESIDENCY_PLACE(copy));
    residency_kinds_add(&kinds, run->huge && run->blank, RESIDENCY_PLACE(idle));
    residency_kinds_add(&kinds, run->heat & HEAT_KNOWN, RESIDENCY_PLACE(watched));
    residency_kinds_add(&kinds, run->heat & HEAT_COLD_1S, RESIDENCY_PLACE(cold_1s));
    residency_kinds_add(&kinds, run->heat & HEAT_COLD_10S, RESIDENCY_PLACE(cold_10s));
    residency_kinds_add(&kinds, run->heat & HEAT_FILLED, RESIDENCY_PLACE(filled));
    residency_kinds_add(&kinds, run->node, RESIDENCY_PLACE(nodes) + run->node - 1u);
    kinds.spared = run->spared;
    return kinds;
}

/* Adds so many bytes of the run. */
static void residency_note(const struct residency *residency, struct residency_bytes *to,
                           uint64_t bytes)
{
    const struct residency_kinds *kinds = &residency->kinds;
    uint64_t *figures = (uint64_t *)to;
    for (unsigned i = 0; i < kinds->count; i++)
        figures[kinds->places[i]] += bytes;
    if (kinds->spared)
        to->spared += bytes * kinds->spared;
}

/* ---- Pages of the allocator ---------------------------------------------------------------- */

static void residency_open_page(struct residency *residency, uint64_t page, size_t block)
{
    residency->open_page = page;
    residency->open_live_bytes = 0;
    residency->open_first = block;
    residency->open_last = block;
    residency->next_page = page + residency->page_bytes;
}

static bool residency_page_is_open(const struct residency *residency, uint64_t page)
{
    return residency->open_last >= residency->open_first && residency->open_page == page;
}

static void residency_pin(struct residency *residency, size_t block, uint64_t bytes)
{
    struct profile_residency *row = residency_row_of(residency, block);
    residency_add(&row->pinned_bytes, bytes);
    heap_map_add_pinned(&residency->heap, residency->area, residency->open_page,
                        residency->blocks->blocks[block].row, row->path, bytes);
    residency->pinned_bytes += bytes;
    if (block + 1 > residency->last_pinning) {
        residency_add(&row->pinning_count, 1);
        residency->last_pinning = block + 1;
    }
}

/* Whether the run counts as `resident` and nothing else, as most pages do. */
static bool residency_run_is_plain(const struct residency *residency)
{
    return residency->kinds.count == 1 && residency->run.state == PAGES_RESIDENT &&
           !residency->kinds.spared;
}

/* The k-th of n blocks gets free * (k + 1) / n - free * k / n, which is exactly the free bytes in
 * all. The remainders are summed up, because a division for each block would be half of the sweep's
 * time. */
static void residency_share_out(struct residency *residency, uint64_t free_bytes, bool is_pinned)
{
    const struct live_entry *blocks = residency->blocks->blocks;
    uint64_t count = residency->open_last - residency->open_first + 1;
    uint64_t each = free_bytes / count, remainder = free_bytes % count, carry = 0;
    bool is_plain = residency_run_is_plain(residency);
    for (size_t block = residency->open_first; block <= residency->open_last; block++) {
        carry += remainder;
        bool has_more = carry >= count;
        carry -= has_more ? count : 0;
        if (is_plain)
            residency->plain[blocks[block].row].free += each + has_more;
        else
            residency_note(residency, &residency->paths[blocks[block].row].free, each + has_more);
        if (is_pinned)
            residency_pin(residency, block, each + has_more);
    }
}

static void residency_close_page(struct residency *residency)
{
    if (residency->open_last < residency->open_first)
        return;
    if (residency->open_live_bytes < residency->page_bytes)
        residency_share_out(residency, residency->page_bytes - residency->open_live_bytes,
                            residency->open_live_bytes < residency->page_bytes / 2);
    residency->open_first = 1;
    residency->open_last = 0;
}

/* The pages from the first one not counted up to `page` have no live block. */
static void residency_close_until(struct residency *residency, uint64_t page)
{
    residency_close_page(residency);
    if (page > residency->next_page)
        residency_note(residency, &residency->whole_free, page - residency->next_page);
    residency->next_page = page;
}

/* `bytes` of [start, end) are live: all or, of a block of no bytes, none. */
static void residency_stand_on(struct residency *residency, uint64_t page, size_t block,
                               uint64_t bytes)
{
    if (!residency_page_is_open(residency, page)) {
        residency_close_until(residency, page);
        residency_open_page(residency, page, block);
    }
    residency->open_last = block;
    residency->open_live_bytes += bytes;
}

static void residency_lay_block(struct residency *residency, size_t block, uint64_t start,
                                uint64_t end)
{
    uint64_t page_bytes = residency->page_bytes;
    uint64_t first = start & ~(page_bytes - 1), last = (end - 1) & ~(page_bytes - 1);
    bool has_bytes = residency->blocks->blocks[block].size_bytes > 0;
    if (first == last) {
        residency_stand_on(residency, first, block, has_bytes ? end - start : 0);
        return;
    }
    residency_stand_on(residency, first, block, first + page_bytes - start);
    if (last > first + page_bytes) { /* whole pages of its own need no look */
        residency_close_until(residency, first + page_bytes);
        residency->next_page = last;
    }
    residency_stand_on(residency, last, block, end - last);
}

/* ---- The sweep ----------------------------------------------------------------------------- */

static void residency_add_bytes(struct residency *residency, uint32_t row, uint64_t bytes)
{
    struct residency_path *path = &residency->paths[row];
    if (!residency->areas->list[residency->area].outside_rss)
        residency_note(residency, &path->live, bytes);
    else if (residency->run.state == PAGES_SWAPPED)
        path->outside_swapped += bytes;
    else
        path->outside_resident += bytes;
}

int residency_begin(struct residency *residency, const struct areas *areas,
                    const struct live_list *blocks, uint64_t page_bytes, size_t cells)
{
    residency->areas = areas;
    residency->blocks = blocks;
    residency->page_bytes = page_bytes;
    residency->area = residency->block = residency->last_pinning = 0;
    residency->whole_free = (struct residency_bytes){0};
    residency->pinned_bytes = residency->touched_count = 0;
    residency->open_first = 1;
    residency->open_last = 0;
    free(residency->by_area);
    free(residency->paths);
    free(residency->plain);
    residency->by_area = calloc(areas->count + 1, sizeof *residency->by_area);
    residency->paths = calloc(residency->row_count + 1, sizeof *residency->paths);
    residency->plain = calloc(residency->row_count + 1, sizeof *residency->plain);
    if (!residency->by_area || !residency->paths || !residency->plain ||
        heap_map_begin(&residency->heap, areas, residency->row_count, page_bytes, cells))
        return -ENOMEM;
    return 0;
}

static const struct area *residency_area_at(struct residency *residency, uint64_t address)
{
    const struct areas *areas = residency->areas;
    while (residency->area < areas->count && areas->list[residency->area].end <= address)
        residency->area++;
    return residency->area < areas->count ? &areas->list[residency->area] : NULL;
}

/* The first block that reaches above `address`; the last one of the run before may do so. */
static size_t residency_first_above(struct residency *residency, uint64_t address)
{
    const struct live_list *blocks = residency->blocks;
    while (residency->block < blocks->count &&
           live_entry_end(&blocks->blocks[residency->block]) <= address)
        residency->block++;
    return residency->block;
}

/* Without memory for it, the piece has no name. */
static void residency_touch(struct residency *residency, uint64_t start, uint64_t end)
{
    if (start >= end || residency->touched_count == RESIDENCY_TOUCHED ||
        !array_make_room(&residency->touched, &residency->touched_capacity,
                         residency->touched_count, sizeof *residency->touched))
        return;
    residency->touched[residency->touched_count++] =
        (struct residency_touched){.start = start, .end = end, .area = residency->area};
    residency_note(residency, &residency->touched[residency->touched_count - 1].bytes, end - start);
}

/* The parts of a run of variables outside live blocks (a pool in a static array has blocks). */
static void residency_touch_between_blocks(struct residency *residency)
{
    const struct live_list *list = residency->blocks;
    const struct page_table_run *run = &residency->run;
    uint64_t at = run->start;
    size_t i = residency_first_above(residency, run->start);
    for (; i < list->count && list->blocks[i].address < run->end; i++) {
        const struct live_entry *block = &list->blocks[i];
        uint64_t end = block->size_bytes ? live_entry_end(block) : block->address;
        residency_touch(residency, at, block->address);
        at = end > at ? end : at;
    }
    residency_touch(residency, at, run->end);
}

/* Lays the part of block number `at` that is in the run. Returns its live bytes. */
static uint64_t residency_lay_one(struct residency *residency, size_t at, bool is_heap, bool counts)
{
    const struct live_entry *block = &residency->blocks->blocks[at];
    const struct page_table_run *run = &residency->run;
    uint64_t end = live_entry_end(block);
    uint64_t from = block->address > run->start ? block->address : run->start;
    uint64_t to = end < run->end ? end : run->end;
    uint64_t live = block->size_bytes && counts ? to - from : 0;
    if (live)
        residency_add_bytes(residency, block->row, live);
    if (is_heap) {
        residency_lay_block(residency, at, from, to);
        heap_map_add_block(&residency->heap, residency->area, at, from, to, block->size_bytes);
    }
    return live;
}

/* The blocks from `block` on that end on the open page. Returns the first that does not. */
static const struct live_entry *residency_lay_plain(const struct residency *residency,
                                                    const struct live_entry *block, uint64_t *bytes)
{
    const struct live_entry *last = residency->blocks->blocks + residency->blocks->count;
    struct residency_plain *plain = residency->plain;
    uint64_t end = residency->open_page + residency->page_bytes, sum = 0;
    for (; block < last && live_entry_end(block) <= end; block++) {
        sum += block->size_bytes;
        plain[block->row].live += block->size_bytes;
    }
    *bytes = sum;
    return block;
}

/* The same for a run that counts as more than `resident`. */
static const struct live_entry *residency_lay_kinds(struct residency *residency,
                                                    const struct live_entry *block, uint64_t *bytes)
{
    const struct live_entry *last = residency->blocks->blocks + residency->blocks->count;
    uint64_t end = residency->open_page + residency->page_bytes;
    for (*bytes = 0; block < last && live_entry_end(block) <= end; block++) {
        *bytes += block->size_bytes;
        residency_add_bytes(residency, block->row, block->size_bytes);
    }
    return block;
}

/* The blocks from number `first` on that begin and end on the open page, on which `first - 1` ends:
 * most blocks of a heap are such. Returns their bytes. */
static uint64_t residency_lay_within(struct residency *residency, size_t first, size_t *next)
{
    const struct live_entry *blocks = residency->blocks->blocks, *end;
    uint64_t live;
    bool is_plain =
        residency_run_is_plain(residency) && !residency->areas->list[residency->area].outside_rss;
    end = is_plain ? residency_lay_plain(residency, blocks + first, &live)
                   : residency_lay_kinds(residency, blocks + first, &live);
    *next = (size_t)(end - blocks);
    if (*next > first) {
        residency->open_last = *next - 1;
        residency->open_live_bytes += live;
        heap_map_add_within(&residency->heap, residency->area, residency->open_page, first,
                            *next - first, live);
    }
    return live;
}

static void residency_lay_blocks(struct residency *residency, const struct page_table_run *run,
                                 bool is_heap)
{
    const struct live_list *list = residency->blocks;
    bool counts = residency->kinds.count > 0;
    uint64_t live = 0;
    size_t i = residency_first_above(residency, run->start), next;
    for (; i < list->count && list->blocks[i].address < run->end; i = next) {
        live += residency_lay_one(residency, i, is_heap, counts);
        next = i + 1;
        if (is_heap)
            live += residency_lay_within(residency, next, &next);
        residency->block = next - 1;
    }
    residency_note(residency, &residency->by_area[residency->area].live, live);
}

void residency_run(struct residency *residency, const struct page_table_run *run)
{
    const struct area *area = residency_area_at(residency, run->start);
    bool is_there = run->state == PAGES_RESIDENT && !run->zero;
    bool is_heap = is_there && area && area->owner == AREA_ALLOCATOR;
    if (!area || run->state == PAGES_UNTOUCHED)
        return;
    residency->run = *run;
    residency->kinds = residency_kinds_of(run);
    residency_note(residency, &residency->by_area[residency->area].all, run->end - run->start);
    if (area->owner == AREA_GLOBALS && (is_there || run->state == PAGES_SWAPPED))
        residency_touch_between_blocks(residency);
    if (is_heap)
        heap_map_add_run(&residency->heap, residency->area, run->start, run->end);
    residency->next_page = run->start;
    residency_lay_blocks(residency, run, is_heap);
    if (is_heap)
        residency_close_until(residency, run->end);
}

void residency_release(struct residency *residency)
{
    free(residency->rows);
    free(residency->counts);
    map_release(&residency->by_path);
    free(residency->by_area);
    free(residency->paths);
    free(residency->plain);
    free(residency->touched);
    heap_map_release(&residency->heap);
    *residency = RESIDENCY_INIT;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static void residency_complete_row(struct residency *residency, size_t row)
{
    const struct residency_path *path = &residency->paths[row];
    uint64_t resident = path->live.resident + path->outside_resident;
    uint64_t swapped = path->live.swapped + path->outside_swapped;
    residency->rows[row].resident_bytes = figure_of(resident);
    residency->rows[row].swapped_bytes = figure_of(swapped);
    residency->rows[row].untouched_bytes =
        figure_sub(figure_of(residency->counts[row].disjoint_bytes), figure_of(resident + swapped));
}

static void residency_sum_rows(struct residency *residency, struct profile_sample *sample)
{
    struct figure swapped = figure_of(0), untouched = figure_of(0);
    for (size_t i = 0; i < residency->row_count; i++) {
        residency_complete_row(residency, i);
        swapped = figure_add(swapped, residency->rows[i].swapped_bytes);
        untouched = figure_add(untouched, residency->rows[i].untouched_bytes);
    }
    sample->live_swapped_bytes = swapped;
    sample->untouched_bytes = untouched;
}

static void residency_came_to(struct figure *figure, uint64_t bytes)
{
    *figure = figure_add(*figure, figure_of(bytes)); /* an unknown figure stays unknown */
}

/* More pages of the mapping are present than smaps has counted. They are private, because shared
 * mappings are not swept. */
static void residency_came(struct smaps_bytes *bytes, struct profile_sample *sample, uint64_t more)
{
    struct figure *const sums[] = {&bytes->rss,
                                   &bytes->pss,
                                   &bytes->uss,
                                   &bytes->anonymous,
                                   &sample->resident_bytes,
                                   &sample->proportional_bytes,
                                   &sample->unique_bytes};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        residency_came_to(sums[i], more);
}

/* The pieces of a mapping are neighbours in the list. */
static void residency_settle(const struct residency *residency, struct smaps *smaps,
                             struct profile_sample *sample)
{
    const struct areas *areas = residency->areas;
    for (size_t i = 0, next; i < areas->count; i = next) {
        const struct area *area = &areas->list[i];
        struct smaps_bytes *bytes = &smaps->mappings[area->mapping].bytes;
        uint64_t found = 0;
        for (next = i; next < areas->count && areas->list[next].mapping == area->mapping; next++)
            found += residency->by_area[next].all.resident;
        if (area_needs_pages(area) && !area->outside_rss && found > figure_or(bytes->rss, found))
            residency_came(bytes, sample, found - figure_or(bytes->rss, found));
    }
}

static void residency_add_plain(struct residency *residency)
{
    for (size_t i = 0; i < residency->row_count; i++) {
        residency->paths[i].live.resident += residency->plain[i].live;
        residency->paths[i].free.resident += residency->plain[i].free;
        residency->plain[i] = (struct residency_plain){0};
    }
}

void residency_sum(struct residency *residency, struct smaps *smaps, struct profile_sample *sample)
{
    residency_add_plain(residency);
    uint64_t live = 0, by_owner[AREA_OWNERS] = {0}, sum = 0;
    for (size_t i = 0; i < residency->areas->count; i++) {
        const struct area *area = &residency->areas->list[i];
        const struct residency_area *pages = &residency->by_area[i];
        if (area->outside_rss)
            continue;
        live += pages->live.resident;
        by_owner[area->owner] +=
            area_needs_pages(area) ? pages->all.resident - pages->live.resident : area->rss_bytes;
    }
    residency_settle(residency, smaps, sample);
    sample->has_ledger = figure_known(sample->resident_bytes);
    sample->live_touched_bytes = figure_of(live);
    sample->slack_bytes = figure_of(by_owner[AREA_ALLOCATOR] + by_owner[AREA_TABLES]);
    sample->mmap_bytes = figure_of(by_owner[AREA_MMAP]);
    sample->file_bytes = figure_of(by_owner[AREA_FILE]);
    sample->stack_bytes = figure_of(by_owner[AREA_STACK]);
    sample->globals_bytes = figure_of(by_owner[AREA_GLOBALS]);
    sample->shared_bytes = figure_of(by_owner[AREA_SHARED]);
    sample->tool_bytes = figure_of(by_owner[AREA_TOOL]);
    sample->other_bytes = figure_of(by_owner[AREA_OTHER]);
    for (unsigned owner = 0; owner < AREA_OWNERS; owner++)
        sum += by_owner[owner];
    sample->unexplained_bytes = (int64_t)(figure_or(sample->resident_bytes, 0) - sum - live);
    sample->returnable_bytes = figure_of(residency->whole_free.resident);
    sample->pinned_bytes = figure_of(residency->pinned_bytes);
    residency_sum_rows(residency, sample);
}

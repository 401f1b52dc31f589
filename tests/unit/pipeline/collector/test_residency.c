/* The ledger's computation against an oracle that looks at every byte, on memory that is made up:
 * random mappings, claims, pages and blocks, overlapping ones too. And its rules one by one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <setjmp.h>
#include <cmocka.h>
#include "../../model/numbers.h"

#include "collector/area_memory.h"
#include "collector/areas.h"
#include "collector/live_list.h"
#include "collector/residency.h"
#include "procfs/process.h"

enum { PAGE = 4096, PAGES = 96, MAX_BLOCKS = 400, MAX_MAPPINGS = 12, MAX_CLAIMS = 6, PATHS = 9 };
#define BASE 0x7f0000400000ull

struct world {
    struct smaps_mapping mappings[MAX_MAPPINGS];
    size_t mapping_count;
    struct area_claim claims[MAX_CLAIMS];
    size_t claim_count;
    struct live_entry blocks[MAX_BLOCKS];
    size_t block_count;
    enum pages_state state[PAGES];
    bool zero[PAGES];
};

static unsigned below(unsigned limit)
{
    return (unsigned)rand() % limit;
}

/* ---- The thing under test ---- */

struct outcome {
    struct residency residency;
    struct profile_heap_page *cells; /* to be freed */
    size_t cell_count;
    struct profile_sample sample;
};

static void sink(struct residency *residency, const struct areas *areas, const struct world *world)
{
    for (size_t i = 0; i < areas->count; i++) {
        const struct area *area = &areas->list[i];
        if (!area_needs_pages(area))
            continue;
        for (uint64_t at = area->start; at < area->end;) {
            size_t page = (at - BASE) / PAGE;
            struct page_table_run run = {
                .start = at, .state = world->state[page], .zero = world->zero[page]};
            do
                at += PAGE;
            while (at < area->end && world->state[(at - BASE) / PAGE] == run.state &&
                   world->zero[(at - BASE) / PAGE] == run.zero && below(8));
            run.end = at;
            residency_run(residency, &run);
        }
    }
}

/* By regions, as a look is given its blocks, or as they come. */
static void fill(struct live_list *list, const struct live_entry *blocks, size_t count,
                 bool by_regions)
{
    assert_int_equal(live_list_reserve(list, count + 1), 0);
    if (!by_regions)
        memcpy(list->blocks, blocks, count * sizeof *blocks);
    list->count = by_regions ? 0 : count;
    for (size_t i = 0; by_regions && i < count; i++)
        assert_true(live_list_expect(list, &blocks[i].address, 1));
    if (by_regions)
        assert_int_equal(live_list_lay_out(list), 0);
    for (size_t i = 0; by_regions && i < count; i++)
        live_list_put(list, &blocks[i]);
    assert_int_equal(list->count, count);
}

static struct outcome compute_map(struct world *world, size_t cells)
{
    struct outcome outcome = {.residency = RESIDENCY_INIT};
    struct smaps smaps = {.mappings = world->mappings, .count = world->mapping_count};
    struct area_claim claims[MAX_CLAIMS];
    memcpy(claims, world->claims, sizeof claims);
    struct live_list list = LIVE_LIST_INIT;
    fill(&list, world->blocks, world->block_count, below(2));
    struct areas areas = AREAS_INIT;
    assert_int_equal(residency_take_blocks(&outcome.residency, &list), 0);
    size_t claim_count = areas_prune_claims(claims, world->claim_count);
    assert_int_equal(areas_find(&areas, &smaps, claims, claim_count, &list), 0);
    assert_int_equal(residency_begin(&outcome.residency, &areas, &list, PAGE, cells), 0);
    sink(&outcome.residency, &areas, world);
    for (size_t i = 0; i < smaps.count; i++)
        outcome.sample.resident_bytes =
            figure_add(outcome.sample.resident_bytes, smaps.mappings[i].bytes.rss);
    residency_sum(&outcome.residency, &smaps, &outcome.sample);
    outcome.cells = heap_map_take(&outcome.residency.heap, &outcome.cell_count);
    areas_release(&areas);
    live_list_release(&list);
    return outcome;
}

static struct outcome compute(struct world *world)
{
    struct outcome outcome = compute_map(world, PAGES);
    free(outcome.cells);
    outcome.cells = NULL;
    return outcome;
}

static const struct profile_residency *row(const struct outcome *outcome, uint32_t path)
{
    for (size_t i = 0; i < outcome->residency.row_count; i++)
        if (outcome->residency.rows[i].path == path)
            return &outcome->residency.rows[i];
    return NULL;
}

/* ---- The oracle: a byte at a time ---- */

struct oracle_row {
    uint64_t live_count, live_bytes, resident_bytes, untouched_bytes, swapped_bytes;
    uint64_t pinned_bytes, pinning_count;
};

struct oracle {
    struct oracle_row rows[PATHS];
    uint64_t owners[AREA_OWNERS], live, returnable, pinned;
};

/* Whose bytes these are: block index + 1, 0 nobody's. A block of no bytes takes one place,
 * marked. */
static int byte_block[PAGES * PAGE];
static bool byte_counts[PAGES * PAGE];

static int block_compare(const void *left, const void *right)
{
    const struct live_entry *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void claim_bytes(struct world *world)
{
    memset(byte_block, 0, sizeof byte_block);
    qsort(world->blocks, world->block_count, sizeof *world->blocks, block_compare);
    uint64_t covered = 0;
    for (size_t i = 0; i < world->block_count; i++) {
        const struct live_entry *block = &world->blocks[i];
        uint64_t bytes = block->size_bytes ? block->size_bytes : 1;
        for (uint64_t at = block->address; at < block->address + bytes; at++)
            if (at >= covered) {
                byte_block[at - BASE] = (int)i + 1;
                byte_counts[at - BASE] = block->size_bytes > 0;
            }
        if (block->address + bytes > covered)
            covered = block->address + bytes;
    }
}

static int mapping_of(const struct world *world, size_t page)
{
    uint64_t address = BASE + page * PAGE;
    for (size_t i = 0; i < world->mapping_count; i++)
        if (world->mappings[i].start <= address && address < world->mappings[i].end)
            return (int)i;
    return -1;
}

static int claim_of(const struct world *world, size_t page)
{
    uint64_t address = BASE + page * PAGE;
    for (size_t i = 0; i < world->claim_count; i++)
        if (world->claims[i].start <= address && address < world->claims[i].end)
            return (int)i;
    return -1;
}

static bool page_has_block(size_t page)
{
    for (size_t i = page * PAGE; i < (page + 1) * PAGE; i++)
        if (byte_block[i])
            return true;
    return false;
}

static enum area_owner kind_owner(enum smaps_kind kind)
{
    switch (kind) {
    case SMAPS_HEAP:
        return AREA_ALLOCATOR;
    case SMAPS_ANONYMOUS:
        return AREA_MMAP;
    case SMAPS_DATA:
        return AREA_GLOBALS;
    case SMAPS_THREAD_STACK:
        return AREA_STACK;
    case SMAPS_SHARED_MEMORY:
        return AREA_SHARED;
    default:
        return AREA_FILE;
    }
}

/* Owner of the piece of pages [first, end), which have mapping and claim in common. */
static enum area_owner piece_owner(const struct world *world, size_t first, size_t end)
{
    enum smaps_kind kind = world->mappings[mapping_of(world, first)].kind;
    int claim = kind == SMAPS_ANONYMOUS ? claim_of(world, first) : -1;
    if (claim >= 0 && world->claims[claim].owner != AREA_MMAP)
        return world->claims[claim].owner;
    if (kind == SMAPS_ANONYMOUS)
        for (size_t page = first; page < end; page++)
            if (page_has_block(page))
                return AREA_ALLOCATOR;
    return kind_owner(kind);
}

static void judge_page(struct oracle *oracle, const struct world *world, size_t page,
                       enum area_owner owner, bool pinned[MAX_BLOCKS])
{
    uint64_t live = 0, standing = 0;
    int last = 0, on_page[MAX_BLOCKS];
    bool is_there = world->state[page] == PAGES_RESIDENT && !world->zero[page];
    for (size_t i = page * PAGE; i < (page + 1) * PAGE; i++) {
        int block = byte_block[i];
        if (!block)
            continue;
        if (block != last)
            on_page[standing++] = block - 1;
        last = block;
        if (!byte_counts[i])
            continue;
        live++;
        struct oracle_row *row = &oracle->rows[world->blocks[block - 1].node];
        if (is_there)
            row->resident_bytes++;
        else if (world->state[page] == PAGES_SWAPPED)
            row->swapped_bytes++;
        else
            row->untouched_bytes++;
    }
    if (!is_there)
        return;
    oracle->live += live;
    oracle->owners[owner] += PAGE - live;
    if (owner != AREA_ALLOCATOR)
        return;
    if (!standing)
        oracle->returnable += PAGE;
    if (!standing || 2 * live >= PAGE)
        return;
    uint64_t given = 0, free_bytes = PAGE - live;
    oracle->pinned += free_bytes;
    for (uint64_t k = 0; k < standing; k++) {
        struct oracle_row *row = &oracle->rows[world->blocks[on_page[k]].node];
        row->pinned_bytes += free_bytes * (k + 1) / standing - given;
        given = free_bytes * (k + 1) / standing;
        row->pinning_count += !pinned[on_page[k]];
        pinned[on_page[k]] = true;
    }
}

static struct oracle judge(struct world *world)
{
    static struct oracle oracle;
    bool pinned[MAX_BLOCKS] = {false};
    memset(&oracle, 0, sizeof oracle);
    claim_bytes(world);
    for (size_t i = 0; i < world->block_count; i++) {
        oracle.rows[world->blocks[i].node].live_count++;
        oracle.rows[world->blocks[i].node].live_bytes += world->blocks[i].size_bytes;
    }
    for (size_t first = 0, end; first < PAGES; first = end) {
        int mapping = mapping_of(world, first);
        bool can_cut = mapping >= 0 && world->mappings[mapping].kind == SMAPS_ANONYMOUS;
        end = first + 1;
        while (end < PAGES && mapping_of(world, end) == mapping &&
               (!can_cut || claim_of(world, end) == claim_of(world, first)))
            end++;
        enum area_owner owner = mapping >= 0 ? piece_owner(world, first, end) : AREA_OTHER;
        for (size_t page = first; page < end; page++)
            judge_page(&oracle, world, page, owner, pinned);
    }
    return oracle;
}

/* ---- The oracle's map of the heap ---- */

struct piece {
    size_t first, end; /* pages */
};

/* The allocator's pieces of the address space. */
static size_t find_heap(const struct world *world, struct piece pieces[PAGES])
{
    size_t count = 0;
    for (size_t first = 0, end; first < PAGES; first = end) {
        int mapping = mapping_of(world, first);
        bool can_cut = mapping >= 0 && world->mappings[mapping].kind == SMAPS_ANONYMOUS;
        end = first + 1;
        while (end < PAGES && mapping_of(world, end) == mapping &&
               (!can_cut || claim_of(world, end) == claim_of(world, first)))
            end++;
        if (mapping >= 0 && piece_owner(world, first, end) == AREA_ALLOCATOR)
            pieces[count++] = (struct piece){first, end};
    }
    return count;
}

static size_t cell_pages(const struct piece *pieces, size_t count, size_t limit)
{
    for (size_t pages = 1;; pages *= 2) {
        size_t cells = 0;
        for (size_t i = 0; i < count; i++)
            cells += (pieces[i].end - pieces[i].first + pages - 1) / pages;
        if (cells <= limit || pages >= PAGES)
            return pages;
    }
}

static void judge_page_of_cell(const struct world *world, size_t page, bool seen[MAX_BLOCKS + 1],
                               uint64_t shares[PATHS], struct profile_heap_page *cell)
{
    uint64_t live = 0, standing = 0, given = 0;
    int on_page[MAX_BLOCKS];
    for (size_t i = page * PAGE; i < (page + 1) * PAGE; i++) {
        int block = byte_block[i];
        if (!block)
            continue;
        live += byte_counts[i];
        cell->live_count += !seen[block];
        seen[block] = true;
        if (!standing || on_page[standing - 1] != block - 1)
            on_page[standing++] = block - 1;
    }
    cell->resident_bytes += PAGE;
    cell->live_bytes += live;
    if (!standing || 2 * live >= PAGE)
        return;
    for (uint64_t k = 0; k < standing; k++) {
        uint64_t up_to = (PAGE - live) * (k + 1) / standing;
        shares[world->blocks[on_page[k]].node] += up_to - given;
        given = up_to;
    }
    cell->pinned_bytes += given;
}

static struct profile_heap_page judge_cell(const struct world *world, size_t first, size_t end)
{
    struct profile_heap_page cell = {.address = BASE + first * PAGE, .bytes = (end - first) * PAGE};
    bool seen[MAX_BLOCKS + 1] = {false};
    uint64_t shares[PATHS] = {0}, most = 0;
    for (size_t page = first; page < end; page++)
        if (world->state[page] == PAGES_RESIDENT && !world->zero[page])
            judge_page_of_cell(world, page, seen, shares, &cell);
    for (uint32_t path = 0; path < PATHS; path++)
        if (shares[path] > most) {
            most = shares[path];
            cell.path = path;
        }
    return cell;
}

static void assert_map_is_right(const struct world *world, const struct outcome *outcome,
                                size_t limit)
{
    struct piece pieces[PAGES];
    size_t count = find_heap(world, pieces), pages = cell_pages(pieces, count, limit), at = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t first = pieces[i].first; first < pieces[i].end; first += pages) {
            size_t end = first + pages < pieces[i].end ? first + pages : pieces[i].end;
            struct profile_heap_page want = judge_cell(world, first, end);
            assert_true(at < outcome->cell_count);
            assert_memory_equal(&outcome->cells[at++], &want, sizeof want);
        }
    assert_int_equal(outcome->cell_count, at);
}

/* ---- Random worlds ---- */

static void make_mappings(struct world *world)
{
    static const enum smaps_kind kinds[] = {SMAPS_HEAP,         SMAPS_ANONYMOUS,    SMAPS_ANONYMOUS,
                                            SMAPS_ANONYMOUS,    SMAPS_DATA,         SMAPS_TEXT,
                                            SMAPS_THREAD_STACK, SMAPS_SHARED_MEMORY};
    size_t page = 0;
    while (world->mapping_count < MAX_MAPPINGS) {
        page += below(3) ? 0 : below(5);
        size_t end = page + 1 + below(20);
        if (end > PAGES)
            break;
        world->mappings[world->mapping_count++] =
            (struct smaps_mapping){.start = BASE + page * PAGE,
                                   .end = BASE + end * PAGE,
                                   .path = "",
                                   .kind = kinds[below(sizeof kinds / sizeof *kinds)],
                                   .writable = true};
        page = end;
    }
}

static void make_pages(struct world *world)
{
    unsigned luck = 1 + below(6);
    for (size_t page = 0; page < PAGES; page++) {
        int mapping = mapping_of(world, page);
        if (mapping < 0)
            continue;
        bool same = page && below(luck);
        world->state[page] = same ? world->state[page - 1] : below(PAGES_STATES);
        world->zero[page] = world->state[page] == PAGES_RESIDENT && !below(8);
        if (world->state[page] == PAGES_RESIDENT && !world->zero[page])
            world->mappings[mapping].bytes.rss =
                figure_add(world->mappings[mapping].bytes.rss, figure_of(PAGE));
    }
}

static void make_claims(struct world *world)
{
    static const enum area_owner owners[] = {AREA_TOOL, AREA_STACK, AREA_MMAP};
    for (size_t page = 0; world->claim_count < MAX_CLAIMS;) {
        page += below(30);
        size_t end = page + 1 + below(12);
        if (end > PAGES)
            break;
        world->claims[world->claim_count++] = (struct area_claim){
            .start = BASE + page * PAGE, .end = BASE + end * PAGE, .owner = owners[below(3)]};
        page = end;
    }
    for (size_t i = world->claim_count; i > 1; i--) {
        size_t other = below((unsigned)i);
        struct area_claim claim = world->claims[i - 1];
        world->claims[i - 1] = world->claims[other];
        world->claims[other] = claim;
    }
}

/* Addresses differ: which of two at one address is the first is nobody's business. */
static void make_blocks(struct world *world)
{
    size_t count = below(2) ? below(MAX_BLOCKS) : below(20);
    unsigned largest = below(3) ? 200 : 6 * PAGE;
    for (size_t i = 0; i < count; i++) {
        size_t at = below(PAGES * PAGE / 16) * 16, bytes = below(6) ? below(largest) : 0;
        bool taken = at + bytes >= PAGES * PAGE;
        for (size_t k = 0; k < world->block_count; k++)
            taken |= world->blocks[k].address == BASE + at;
        if (!taken)
            world->blocks[world->block_count++] = (struct live_entry){
                .address = BASE + at, .size_bytes = bytes, .node = below(PATHS)};
    }
}

static void assert_rows_equal(const struct outcome *outcome, const struct oracle *oracle)
{
    size_t used = 0;
    for (uint32_t path = 0; path < PATHS; path++) {
        const struct profile_residency *got = row(outcome, path);
        const struct oracle_row *want = &oracle->rows[path];
        used += want->live_count > 0;
        if (!want->live_count) {
            assert_null(got);
            continue;
        }
        assert_non_null(got);
        assert_int_equal(number_of(got->live_count), want->live_count);
        assert_int_equal(number_of(got->live_bytes), want->live_bytes);
        assert_int_equal(number_of(got->resident_bytes), want->resident_bytes);
        assert_int_equal(number_of(got->swapped_bytes), want->swapped_bytes);
        assert_int_equal(number_of(got->untouched_bytes), want->untouched_bytes);
        assert_int_equal(number_of(got->pinned_bytes), want->pinned_bytes);
        assert_int_equal(number_of(got->pinning_count), want->pinning_count);
    }
    assert_int_equal(outcome->residency.row_count, used);
}

static void assert_ledger_equals(const struct profile_sample *got, const struct oracle *want)
{
    assert_int_equal(number_of(got->live_touched_bytes), want->live);
    assert_int_equal(number_of(got->slack_bytes), want->owners[AREA_ALLOCATOR]);
    assert_int_equal(number_of(got->mmap_bytes), want->owners[AREA_MMAP]);
    assert_int_equal(number_of(got->file_bytes), want->owners[AREA_FILE]);
    assert_int_equal(number_of(got->stack_bytes), want->owners[AREA_STACK]);
    assert_int_equal(number_of(got->globals_bytes), want->owners[AREA_GLOBALS]);
    assert_int_equal(number_of(got->shared_bytes), want->owners[AREA_SHARED]);
    assert_int_equal(number_of(got->tool_bytes), want->owners[AREA_TOOL]);
    assert_int_equal(number_of(got->returnable_bytes), want->returnable);
    assert_int_equal(number_of(got->pinned_bytes), want->pinned);
    assert_int_equal(got->unexplained_bytes, 0);
}

static void any_memory_is_counted_as_byte_by_byte(void **state)
{
    (void)state;
    const char *told = getenv("TIDEMARK_SEED");
    unsigned seed = told ? (unsigned)strtoul(told, NULL, 0) : (unsigned)time(NULL);
    print_message("TIDEMARK_SEED=%u\n", seed);
    srand(seed);
    for (unsigned trial = 0; trial < 600; trial++) {
        static struct world world;
        memset(&world, 0, sizeof world);
        make_mappings(&world);
        make_pages(&world);
        make_claims(&world);
        make_blocks(&world);
        size_t cells = below(2) ? PAGES : 1 + below(40);
        struct outcome outcome = compute_map(&world, cells);
        struct oracle oracle = judge(&world);
        assert_rows_equal(&outcome, &oracle);
        assert_ledger_equals(&outcome.sample, &oracle);
        assert_map_is_right(&world, &outcome, cells);
        free(outcome.cells);
        residency_release(&outcome.residency);
    }
}

/* ---- Rules ---- */

static void heap_of(struct world *world, size_t pages)
{
    world->mappings[world->mapping_count++] =
        (struct smaps_mapping){.start = BASE,
                               .end = BASE + pages * PAGE,
                               .path = "[heap]",
                               .kind = SMAPS_HEAP,
                               .bytes.rss = figure_of(pages * PAGE)};
    for (size_t page = 0; page < pages; page++)
        world->state[page] = PAGES_RESIDENT;
}

static void add_block(struct world *world, uint64_t offset, uint64_t bytes, uint32_t node)
{
    world->blocks[world->block_count++] =
        (struct live_entry){.address = BASE + offset, .size_bytes = bytes, .node = node};
}

static void one_small_block_pins_its_page(void **state)
{
    (void)state;
    struct world world = {0};
    heap_of(&world, 4);
    add_block(&world, 16, 48, 3);
    add_block(&world, 2 * PAGE + 16, 48, 3);
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(row(&outcome, 3)->pinned_bytes), 2 * (PAGE - 48));
    assert_int_equal(number_of(row(&outcome, 3)->pinning_count), 2);
    assert_int_equal(number_of(outcome.sample.returnable_bytes), 2 * PAGE);
    assert_int_equal(number_of(outcome.sample.slack_bytes), 4 * PAGE - 96);
    residency_release(&outcome.residency);
}

static void a_page_is_pinned_by_whom_most_of_its_blocks_are(void **state)
{
    (void)state;
    struct world world = {0};
    heap_of(&world, 4);
    add_block(&world, 16, 1000, 7);
    add_block(&world, 2000, 16, 3);
    add_block(&world, 2032, 16, 3);
    add_block(&world, PAGE + 16, 16, 5);
    add_block(&world, PAGE + 48, 0, 4);
    add_block(&world, 2 * PAGE, PAGE / 2, 6);
    struct outcome outcome = compute_map(&world, PAGES);
    assert_int_equal(outcome.cell_count, 4);
    assert_int_equal(outcome.cells[0].path, 3);
    assert_int_equal(outcome.cells[0].pinned_bytes, PAGE - 1032);
    assert_int_equal(outcome.cells[0].live_count, 3);
    assert_int_equal(outcome.cells[1].path, 4); /* of equals the lowest number */
    assert_int_equal(outcome.cells[1].live_bytes, 16);
    assert_int_equal(outcome.cells[2].path, 0);
    assert_int_equal(outcome.cells[2].pinned_bytes, 0);
    assert_int_equal(outcome.cells[3].live_count, 0);
    assert_int_equal(outcome.cells[3].resident_bytes, PAGE);
    free(outcome.cells);
    residency_release(&outcome.residency);
    outcome = compute_map(&world, 3); /* pages in pairs */
    assert_int_equal(outcome.cell_count, 2);
    assert_int_equal(outcome.cells[0].live_count, 5);
    assert_int_equal(outcome.cells[0].resident_bytes, 2 * PAGE);
    assert_int_equal(outcome.cells[0].path, 3); /* two thirds of 3064, the others half of 4080 */
    free(outcome.cells);
    residency_release(&outcome.residency);
}

static void a_page_half_in_use_is_not_pinned(void **state)
{
    (void)state;
    struct world world = {0};
    heap_of(&world, 2);
    add_block(&world, 0, PAGE / 2, 1);
    add_block(&world, PAGE, PAGE / 2 - 1, 2);
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(row(&outcome, 1)->pinning_count), 0);
    assert_int_equal(number_of(row(&outcome, 2)->pinning_count), 1);
    assert_int_equal(number_of(row(&outcome, 2)->pinned_bytes), PAGE / 2 + 1);
    residency_release(&outcome.residency);
}

static void a_block_of_no_bytes_holds_its_page(void **state)
{
    (void)state;
    struct world world = {0};
    heap_of(&world, 1);
    add_block(&world, 16, 0, 1);
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(outcome.sample.returnable_bytes), 0);
    assert_int_equal(number_of(row(&outcome, 1)->pinned_bytes), PAGE);
    assert_int_equal(number_of(row(&outcome, 1)->resident_bytes), 0);
    residency_release(&outcome.residency);
}

static void a_block_may_reach_over_mappings(void **state)
{
    (void)state;
    struct world world = {0};
    for (unsigned i = 0; i < 2; i++) {
        world.mappings[world.mapping_count++] =
            (struct smaps_mapping){.start = BASE + i * 4 * PAGE,
                                   .end = BASE + (i + 1) * 4 * PAGE,
                                   .path = "",
                                   .kind = SMAPS_ANONYMOUS,
                                   .bytes.rss = figure_of(4 * PAGE)};
        for (unsigned page = 0; page < 4; page++)
            world.state[4 * i + page] = PAGES_RESIDENT;
    }
    add_block(&world, 16, 6 * PAGE, 1);
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(row(&outcome, 1)->resident_bytes), 6 * PAGE);
    assert_int_equal(number_of(outcome.sample.slack_bytes), 2 * PAGE);
    assert_int_equal(number_of(outcome.sample.mmap_bytes), 0);
    residency_release(&outcome.residency);
}

/* Three mappings of four pages, as smaps says, of which the page table then finds so many. */
static struct outcome mappings_of(struct world *world, const unsigned *said, const unsigned *found)
{
    for (unsigned i = 0; i < 3; i++) {
        world->mappings[world->mapping_count++] =
            (struct smaps_mapping){.start = BASE + i * 4 * PAGE,
                                   .end = BASE + (i + 1) * 4 * PAGE,
                                   .path = "",
                                   .kind = SMAPS_HEAP,
                                   .bytes.rss = figure_of(said[i] * PAGE),
                                   .bytes.pss = figure_of(said[i] * PAGE)};
        for (unsigned page = 0; page < 4; page++)
            world->state[4 * i + page] = page < found[i] ? PAGES_RESIDENT : PAGES_UNTOUCHED;
    }
    add_block(world, 16, 100, 1);
    return compute(world);
}

static void what_comes_during_a_look_is_resident(void **state)
{
    (void)state;
    struct world world = {0};
    struct outcome outcome = mappings_of(&world, (unsigned[]){1, 4, 2}, (unsigned[]){3, 4, 2});
    assert_int_equal(number_of(outcome.sample.resident_bytes), 9 * PAGE);
    assert_int_equal(number_of(world.mappings[0].bytes.rss), 3 * PAGE);
    assert_int_equal(number_of(world.mappings[0].bytes.pss), 3 * PAGE);
    assert_int_equal(number_of(outcome.sample.slack_bytes), 9 * PAGE - 100);
    assert_int_equal(outcome.sample.unexplained_bytes, 0);
    residency_release(&outcome.residency);
}

static void what_goes_during_a_look_is_the_rest_and_never_below_nothing(void **state)
{
    (void)state;
    struct world world = {0};
    struct outcome outcome = mappings_of(&world, (unsigned[]){1, 4, 2}, (unsigned[]){4, 2, 2});
    assert_int_equal(number_of(outcome.sample.resident_bytes), 10 * PAGE);
    assert_int_equal(number_of(outcome.sample.slack_bytes), 8 * PAGE - 100);
    assert_int_equal(outcome.sample.unexplained_bytes, 2 * PAGE);
    residency_release(&outcome.residency);
}

static void a_block_that_is_nowhere_is_untouched(void **state)
{
    (void)state;
    struct world world = {0};
    heap_of(&world, 1);
    add_block(&world, 50 * PAGE, 1000, 1);
    world.blocks[world.block_count++] =
        (struct live_entry){.address = UINT64_MAX - 15, .size_bytes = UINT64_MAX, .node = 2};
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(row(&outcome, 1)->untouched_bytes), 1000);
    assert_int_equal(number_of(row(&outcome, 2)->resident_bytes), 0);
    residency_release(&outcome.residency);
}

static void mad_claims_give_way(void **state)
{
    (void)state;
    struct world world = {.claims = {{BASE + 2 * PAGE, BASE + 4 * PAGE, AREA_TOOL},
                                     {BASE + 3 * PAGE, BASE + 6 * PAGE, AREA_STACK},
                                     {BASE + PAGE, BASE, AREA_TOOL},
                                     {0, UINT64_MAX, AREA_TOOL}},
                          .claim_count = 4};
    heap_of(&world, 8);
    world.mappings[0].kind = SMAPS_ANONYMOUS;
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(outcome.sample.tool_bytes), 2 * PAGE);
    assert_int_equal(number_of(outcome.sample.stack_bytes), 2 * PAGE);
    assert_int_equal(number_of(outcome.sample.mmap_bytes), 4 * PAGE);
    residency_release(&outcome.residency);
}

static void an_empty_arena_is_the_allocators(void **state)
{
    (void)state;
    struct world world = {0};
    uint64_t arena = (BASE >> 26) << 26;
    world.mappings[world.mapping_count++] = (struct smaps_mapping){.start = BASE - 0,
                                                                   .end = BASE + PAGE,
                                                                   .path = "",
                                                                   .kind = SMAPS_ANONYMOUS,
                                                                   .writable = true,
                                                                   .bytes.rss = figure_of(PAGE)};
    world.state[0] = PAGES_RESIDENT;
    struct outcome outcome = compute(&world);
    assert_int_equal(number_of(outcome.sample.mmap_bytes), PAGE);
    residency_release(&outcome.residency);

    /* clang-format off */
    struct smaps_mapping mappings[] = {
        {.start = arena, .end = arena + PAGE, .path = "", .kind = SMAPS_ANONYMOUS,
         .writable = true, .bytes.rss = figure_of(PAGE)},
        {.start = arena + PAGE, .end = arena + (64 << 20), .path = "", .kind = SMAPS_RESERVED}};
    /* clang-format on */
    struct smaps smaps = {.mappings = mappings, .count = 2};
    struct areas areas = AREAS_INIT;
    struct live_list none = LIVE_LIST_INIT;
    assert_int_equal(areas_find(&areas, &smaps, NULL, 0, &none), 0);
    assert_int_equal(areas.list[0].owner, AREA_ALLOCATOR);
    mappings[1].end -= PAGE;
    assert_int_equal(areas_find(&areas, &smaps, NULL, 0, &none), 0);
    assert_int_equal(areas.list[0].owner, AREA_MMAP);
    areas_release(&areas);
}

static void the_recorders_library_is_the_tools(void **state)
{
    (void)state;
    struct smaps_mapping mappings[] = {
        {.start = BASE, .end = BASE + PAGE, .path = "/x/libtidemark.so", .kind = SMAPS_DATA},
        {.start = BASE + PAGE, .end = BASE + 2 * PAGE, .path = "", .kind = SMAPS_BSS},
        {.start = BASE + 2 * PAGE, .end = BASE + 3 * PAGE, .path = "", .kind = SMAPS_ANONYMOUS}};
    struct smaps smaps = {.mappings = mappings, .count = 3};
    struct areas areas = AREAS_INIT;
    struct live_list none = LIVE_LIST_INIT;
    assert_int_equal(areas_find(&areas, &smaps, NULL, 0, &none), 0);
    assert_int_equal(areas.list[0].owner, AREA_TOOL);
    assert_int_equal(areas.list[1].owner, AREA_TOOL);
    assert_int_equal(areas.list[2].owner, AREA_MMAP);
    areas_release(&areas);
}

static void memory_that_the_kernel_joined_with_a_modules_bss_is_the_programs(void **state)
{
    (void)state;
    struct smaps_mapping mappings[] = {
        {.start = BASE, .end = BASE + PAGE, .path = "/x/libx.so", .kind = SMAPS_DATA},
        {.start = BASE + PAGE,
         .end = BASE + 9 * PAGE,
         .path = "",
         .kind = SMAPS_BSS,
         .bss_end = BASE + 3 * PAGE,
         .bytes.rss = figure_of(8 * PAGE)}};
    struct smaps smaps = {.mappings = mappings, .count = 2};
    struct areas areas = AREAS_INIT;
    struct live_list none = LIVE_LIST_INIT;
    assert_int_equal(areas_find(&areas, &smaps, NULL, 0, &none), 0);
    assert_int_equal(areas.count, 3);
    assert_int_equal(areas.list[1].owner, AREA_GLOBALS);
    assert_true(areas.list[1].end == BASE + 3 * PAGE && areas.list[1].is_piece);
    assert_int_equal(areas.list[2].owner, AREA_MMAP);
    assert_true(areas.list[2].end == BASE + 9 * PAGE && areas.list[2].is_piece);
    mappings[0].path = "/x/libtidemark.so";
    assert_int_equal(areas_find(&areas, &smaps, NULL, 0, &none), 0);
    assert_int_equal(areas.list[1].owner, AREA_TOOL);
    assert_int_equal(areas.list[2].owner, AREA_MMAP);
    assert_int_equal(areas_tool_rss(&smaps), 0);
    areas_release(&areas);
}

static void find_with(struct areas *areas, const struct smaps *smaps, uint64_t block,
                      const struct area_claim *claim)
{
    struct live_list list = LIVE_LIST_INIT;
    assert_int_equal(live_list_reserve(&list, 1), 0);
    list.blocks[0] = (struct live_entry){.address = block, .size_bytes = 16};
    list.count = block != 0;
    assert_int_equal(areas_find(areas, smaps, claim, claim != NULL, &list), 0);
    live_list_release(&list);
}

/* An allocator keeps what was freed, in mappings of which the kernel has made others since. */
static void what_was_the_allocators_stays_it(void **state)
{
    (void)state;
    struct smaps_mapping mappings[] = {
        {.start = BASE, .end = BASE + 4 * PAGE, .path = "", .kind = SMAPS_ANONYMOUS},
        {.start = BASE + 8 * PAGE, .end = BASE + 9 * PAGE, .path = "", .kind = SMAPS_ANONYMOUS}};
    struct smaps smaps = {.mappings = mappings, .count = 2};
    struct area_claim claim = {
        .start = BASE, .end = BASE + PAGE, .owner = AREA_MMAP, .kind = MAPPING_ANONYMOUS};
    struct areas areas = AREAS_INIT;
    struct area_memory memory = {0};
    find_with(&areas, &smaps, BASE + PAGE, NULL);
    area_memory_recall(&memory, &areas, true);
    find_with(&areas, &smaps, BASE + 8 * PAGE, NULL);
    assert_int_equal(areas.list[0].owner, AREA_MMAP);
    area_memory_recall(&memory, &areas, true);
    assert_int_equal(areas.list[0].owner, AREA_ALLOCATOR);
    assert_int_equal(memory.count, 2);
    mappings[0].end = BASE + 2 * PAGE;
    find_with(&areas, &smaps, 0, &claim); /* by now the program's */
    area_memory_recall(&memory, &areas, true);
    assert_int_equal(areas.count, 3);
    assert_int_equal(areas.list[0].owner, AREA_MMAP);
    assert_int_equal(areas.list[1].owner, AREA_ALLOCATOR);
    assert_int_equal(areas.list[2].owner, AREA_ALLOCATOR);
    mappings[1].start = BASE + 16 * PAGE; /* never seen with a block */
    mappings[1].end = BASE + 17 * PAGE;
    find_with(&areas, &smaps, 0, NULL);
    area_memory_recall(&memory, &areas, true);
    assert_int_equal(areas.list[0].owner, AREA_ALLOCATOR);
    assert_int_equal(areas.list[1].owner, AREA_MMAP);
    areas_release(&areas);
    area_memory_release(&memory);
}

/* What it has mapped itself is no mapping of the program's, whether blocks were seen in it or not. */
static void what_an_allocator_maps_is_its_own(void **state)
{
    (void)state;
    struct smaps_mapping mappings[] = {
        {.start = BASE, .end = BASE + 4 * PAGE, .path = "", .kind = SMAPS_ANONYMOUS}};
    struct smaps smaps = {.mappings = mappings, .count = 1};
    struct area_claim claim = {.start = BASE + PAGE,
                               .end = BASE + 3 * PAGE,
                               .owner = AREA_ALLOCATOR,
                               .kind = MAPPING_ANONYMOUS};
    struct areas areas = AREAS_INIT;
    struct area_memory memory = {0};
    find_with(&areas, &smaps, 0, &claim);
    area_memory_recall(&memory, &areas, true);
    assert_int_equal(areas.count, 3);
    assert_int_equal(areas.list[0].owner, AREA_MMAP);
    assert_int_equal(areas.list[1].owner, AREA_TABLES);
    assert_int_equal(areas.list[2].owner, AREA_MMAP);
    find_with(&areas, &smaps, 0, &claim);
    area_memory_recall(&memory, &areas, false); /* a sample: blocks may be in it */
    assert_int_equal(areas.list[1].owner, AREA_ALLOCATOR);
    find_with(&areas, &smaps, BASE + 2 * PAGE, &claim);
    area_memory_recall(&memory, &areas, true);
    find_with(&areas, &smaps, 0, &claim);
    area_memory_recall(&memory, &areas, true);
    assert_int_equal(areas.list[1].owner, AREA_ALLOCATOR);
    areas_release(&areas);
    area_memory_release(&memory);
}

/* Against a plain list of pages. */
static void any_looks_are_recalled_page_by_page(void **state)
{
    (void)state;
    enum { PIECES = 40, LOOKS = 200 };
    bool had[PIECES] = {false};
    struct smaps_mapping mappings[PIECES];
    struct smaps smaps = {.mappings = mappings};
    struct areas areas = AREAS_INIT;
    struct area_memory memory = {0};
    srand((unsigned)time(NULL));
    for (unsigned look = 0; look < LOOKS; look++) {
        smaps.count = 0;
        for (unsigned i = 0; i < PIECES; i++)
            if (rand() % 3)
                mappings[smaps.count++] = (struct smaps_mapping){.start = BASE + i * PAGE,
                                                                 .end = BASE + (i + 1) * PAGE,
                                                                 .path = "",
                                                                 .kind = SMAPS_ANONYMOUS};
        size_t holder = (size_t)rand() % (smaps.count + 1);
        uint64_t block = holder < smaps.count ? mappings[holder].start : 0;
        find_with(&areas, &smaps, block, NULL);
        area_memory_recall(&memory, &areas, true);
        had[block ? (block - BASE) / PAGE : 0] |= block != 0;
        for (size_t i = 0; i < areas.count; i++)
            assert_int_equal(areas.list[i].owner == AREA_ALLOCATOR,
                             had[(areas.list[i].start - BASE) / PAGE]);
    }
    areas_release(&areas);
    area_memory_release(&memory);
}

/* ---- Sorting ---- */

/* Heat knows nothing of shared memory. So its pages are not looked at, however much of it there is. */
static void heat_wants_the_pages_of_private_memory_alone(void **state)
{
    (void)state;
    struct smaps_mapping mappings[] = {
        {.start = BASE, .end = BASE + PAGE, .path = "", .kind = SMAPS_ANONYMOUS, .writable = true},
        {.start = BASE + 2 * PAGE,
         .end = BASE + 9 * PAGE,
         .path = "/dev/zero (deleted)",
         .kind = SMAPS_SHARED_MEMORY,
         .writable = true,
         .shared = true}};
    struct smaps smaps = {.mappings = mappings, .count = 2};
    struct area_claim claims[] = {
        {.start = BASE, .end = BASE + PAGE, .owner = AREA_MMAP},
        {.start = BASE + 2 * PAGE, .end = BASE + 9 * PAGE, .owner = AREA_MMAP}};
    struct areas areas = AREAS_INIT;
    struct live_list none = LIVE_LIST_INIT;
    assert_int_equal(areas_find(&areas, &smaps, claims, 2, &none), 0);
    assert_int_equal(areas.count, 2);
    assert_false(area_needs_pages(&areas.list[0]) || area_needs_pages(&areas.list[1]));
    areas_want_heat(&areas, &smaps);
    assert_true(area_needs_pages(&areas.list[0]));
    assert_false(area_needs_pages(&areas.list[1]));
    areas_want_content(&areas);
    assert_true(area_needs_pages(&areas.list[0]) && area_needs_pages(&areas.list[1]));
    areas_release(&areas);
}

static void assert_sorted(const struct live_entry *blocks, size_t count, bool by_regions)
{
    struct live_list list = LIVE_LIST_INIT;
    struct live_stretch stretch = LIVE_STRETCH_INIT;
    uint64_t sum = 0, sorted_sum = 0;
    size_t seen = 0;
    fill(&list, blocks, count, by_regions);
    for (size_t i = 0; i < count; i++)
        sum += blocks[i].address * (blocks[i].size_bytes | 1);
    uint64_t last = 0;
    for (; live_list_sort_next(&list, &stretch); seen += stretch.count) {
        assert_int_equal(stretch.first, seen);
        for (size_t i = 0; i < stretch.count; i++) {
            sorted_sum += stretch.blocks[i].address * (stretch.blocks[i].size_bytes | 1);
            assert_true(last <= stretch.blocks[i].address);
            last = stretch.blocks[i].address;
        }
    }
    assert_int_equal(seen, count);
    assert_true(sum == sorted_sum);
    live_list_release(&list);
}

/* Anywhere, in a few crowded places, or more regions than there may be. */
static uint64_t any_address(unsigned how, uint64_t mask)
{
    uint64_t any = (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ (uint64_t)rand();
    return how ? (uint64_t)below(how) << 40 | (any & 0xffff) : any & mask;
}

static void any_list_is_sorted(void **state)
{
    (void)state;
    struct live_entry *blocks = malloc(200000 * sizeof *blocks);
    assert_non_null(blocks);
    for (unsigned trial = 0; trial < 200; trial++) {
        size_t count = below(trial % 20 ? 3000 : 200000);
        uint64_t mask = ~0ull >> below(64);
        unsigned how = below(2) ? below(5) : 0;
        for (size_t i = 0; i < count; i++)
            blocks[i] = (struct live_entry){.address = any_address(how, mask),
                                            .size_bytes = (uint64_t)rand()};
        assert_sorted(blocks, count, trial & 1);
    }
    free(blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_memory_is_counted_as_byte_by_byte),
        cmocka_unit_test(one_small_block_pins_its_page),
        cmocka_unit_test(a_page_is_pinned_by_whom_most_of_its_blocks_are),
        cmocka_unit_test(a_page_half_in_use_is_not_pinned),
        cmocka_unit_test(a_block_of_no_bytes_holds_its_page),
        cmocka_unit_test(a_block_may_reach_over_mappings),
        cmocka_unit_test(what_comes_during_a_look_is_resident),
        cmocka_unit_test(what_goes_during_a_look_is_the_rest_and_never_below_nothing),
        cmocka_unit_test(a_block_that_is_nowhere_is_untouched),
        cmocka_unit_test(mad_claims_give_way),
        cmocka_unit_test(an_empty_arena_is_the_allocators),
        cmocka_unit_test(the_recorders_library_is_the_tools),
        cmocka_unit_test(memory_that_the_kernel_joined_with_a_modules_bss_is_the_programs),
        cmocka_unit_test(what_was_the_allocators_stays_it),
        cmocka_unit_test(what_an_allocator_maps_is_its_own),
        cmocka_unit_test(any_looks_are_recalled_page_by_page),
        cmocka_unit_test(heat_wants_the_pages_of_private_memory_alone),
        cmocka_unit_test(any_list_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

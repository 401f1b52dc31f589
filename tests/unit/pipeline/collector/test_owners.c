/* The rows of owners against an oracle that asks of each byte whose it is, on address spaces that
 * are made up: random mappings, claims, pages and blocks. And rules one by one. */
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

#include "collector/areas.h"
#include "collector/live_list.h"
#include "collector/owners.h"
#include "collector/residency.h"

enum { PAGE = 4096, PAGES = 64, MAX_BLOCKS = 300, MAX_MAPPINGS = 12, MAX_CLAIMS = 8, PATHS = 9 };
#define BASE 0x7f0000400000ull

struct page {
    enum pages_state state;
    bool zero, huge, forked, blank, copy;
    uint32_t spared;
    uint8_t node; /* its place + 1; 0: not known */
};

struct world {
    struct smaps_mapping mappings[MAX_MAPPINGS];
    size_t mapping_count;
    struct area_claim claims[MAX_CLAIMS];
    size_t claim_count;
    struct live_entry blocks[MAX_BLOCKS];
    size_t block_count;
    struct page pages[PAGES];
};

static unsigned below(unsigned limit)
{
    return (unsigned)rand() % limit;
}

static uint64_t address_of(size_t page)
{
    return BASE + page * PAGE;
}

static bool is_there(const struct page *page)
{
    return page->state == PAGES_RESIDENT && !page->zero;
}

/* ---- The thing under test ---- */

struct outcome {
    struct areas areas;
    struct residency residency;
    struct owners owners;
    struct profile_sample sample;
    struct live_list list;
    struct smaps smaps;
};

static void sweep(struct outcome *outcome, const struct world *world)
{
    for (size_t i = 0; i < outcome->areas.count; i++) {
        const struct area *area = &outcome->areas.list[i];
        for (uint64_t at = area->start; area_needs_pages(area) && at < area->end; at += PAGE) {
            const struct page *page = &world->pages[(at - BASE) / PAGE];
            struct page_table_run run = {.start = at,
                                         .end = at + PAGE,
                                         .state = page->state,
                                         .huge = page->huge,
                                         .zero = page->zero,
                                         .forked = page->forked,
                                         .blank = page->blank,
                                         .copy = page->copy,
                                         .spared = page->spared,
                                         .node = page->node};
            residency_run(&outcome->residency, &run);
        }
    }
}

static const struct owners_thread threads[] = {{100, "main"}, {101, "worker"}};

static struct owners_request request_of(struct outcome *outcome)
{
    return (struct owners_request){.residency = &outcome->residency,
                                   .smaps = &outcome->smaps,
                                   .pid = 100,
                                   .threads = threads,
                                   .thread_count = 2,
                                   .has_all_blocks = true,
                                   .knows_huge = true,
                                   .knows_nodes = true,
                                   .knows_content = true};
}

static void look(struct outcome *outcome, struct world *world)
{
    struct area_claim claims[MAX_CLAIMS];
    *outcome =
        (struct outcome){.areas = AREAS_INIT,
                         .residency = RESIDENCY_INIT,
                         .owners = OWNERS_INIT,
                         .list = LIVE_LIST_INIT,
                         .smaps = {.mappings = world->mappings, .count = world->mapping_count}};
    memcpy(claims, world->claims, sizeof claims);
    assert_int_equal(live_list_reserve(&outcome->list, world->block_count + 1), 0);
    memcpy(outcome->list.blocks, world->blocks, world->block_count * sizeof *world->blocks);
    outcome->list.count = world->block_count;
    assert_int_equal(residency_take_blocks(&outcome->residency, &outcome->list), 0);
    size_t count = areas_prune_claims(claims, world->claim_count);
    assert_int_equal(areas_find(&outcome->areas, &outcome->smaps, claims, count, &outcome->list),
                     0);
    areas_want_content(&outcome->areas);
    assert_int_equal(
        residency_begin(&outcome->residency, &outcome->areas, &outcome->list, PAGE, PAGES), 0);
    sweep(outcome, world);
    for (size_t i = 0; i < world->mapping_count; i++)
        outcome->sample.resident_bytes =
            figure_add(outcome->sample.resident_bytes, world->mappings[i].bytes.rss);
    residency_sum(&outcome->residency, &outcome->smaps, &outcome->sample);
}

static void leave(struct outcome *outcome)
{
    owners_release(&outcome->owners);
    areas_release(&outcome->areas);
    residency_release(&outcome->residency);
    live_list_release(&outcome->list);
}

/* ---- The oracle ---- */

struct sums {
    uint64_t resident, swapped, huge, forked, blank, copy;
    uint64_t idle; /* of blocks and mappings */
    uint64_t nodes[PROFILE_NODES];
};

struct oracle {
    uint64_t spared; /* bytes times those of a page */
    struct sums by_path[PROFILE_OWNER_KINDS][PATHS];
};

static int byte_block[PAGES * PAGE];
static bool byte_counts[PAGES * PAGE];

static int block_compare(const void *left, const void *right)
{
    const struct live_entry *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void claim_bytes(struct world *world)
{
    uint64_t covered = 0;
    memset(byte_block, 0, sizeof byte_block);
    qsort(world->blocks, world->block_count, sizeof *world->blocks, block_compare);
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
    for (size_t i = 0; i < world->mapping_count; i++)
        if (world->mappings[i].start <= address_of(page) &&
            address_of(page) < world->mappings[i].end)
            return (int)i;
    return -1;
}

static bool is_file(enum mapping_kind kind)
{
    return kind != MAPPING_ANONYMOUS && kind != MAPPING_BREAK && kind != MAPPING_UNKNOWN;
}

/* The claim that counts. */
static int claim_of(const struct world *world, size_t page)
{
    int mapping = mapping_of(world, page);
    enum smaps_kind kind = mapping < 0 ? SMAPS_OTHER : world->mappings[mapping].kind;
    for (size_t i = 0; i < world->claim_count; i++) {
        const struct area_claim *claim = &world->claims[i];
        if (claim->start > address_of(page) || address_of(page) >= claim->end)
            continue;
        bool is_mmap = claim->owner == AREA_MMAP;
        if (kind == SMAPS_ANONYMOUS || kind == SMAPS_BSS)
            return is_file(claim->kind) && claim->kind != MAPPING_FILE ? -1 : (int)i;
        if (kind == SMAPS_FILE || kind == SMAPS_SHARED_MEMORY)
            return is_mmap && is_file(claim->kind) ? (int)i : -1;
        if (kind == SMAPS_HEAP)
            return is_mmap && claim->kind == MAPPING_BREAK ? (int)i : -1;
        return -1;
    }
    return -1;
}

static bool page_has_block(size_t page)
{
    for (size_t i = page * PAGE; i < (page + 1) * PAGE; i++)
        if (byte_block[i])
            return true;
    return false;
}

struct whose {
    enum profile_owner_kind kind;
    uint32_t path;
};

static struct whose whose_kind(enum smaps_kind kind, const struct area_claim *claim)
{
    uint32_t path = claim ? claim->path : 0;
    if (claim && claim->owner == AREA_STACK)
        return (struct whose){PROFILE_OWNER_STACK, 0};
    if (claim && claim->owner == AREA_TOOL)
        return (struct whose){PROFILE_OWNER_TOOL, 0};
    if (claim || kind == SMAPS_ANONYMOUS || kind == SMAPS_SHARED_MEMORY)
        return (struct whose){PROFILE_OWNER_MAPPING, path};
    switch (kind) {
    case SMAPS_HEAP:
        return (struct whose){PROFILE_OWNER_ALLOCATOR, 0};
    case SMAPS_DATA:
    case SMAPS_BSS:
        return (struct whose){PROFILE_OWNER_GLOBALS, 0};
    case SMAPS_MAIN_STACK:
        return (struct whose){PROFILE_OWNER_STACK, 0};
    case SMAPS_VDSO:
        return (struct whose){PROFILE_OWNER_KERNEL, 0};
    default:
        return (struct whose){PROFILE_OWNER_FILE, 0};
    }
}

/* Of the piece of pages [first, end), which have mapping and claim in common. */
static struct whose whose_piece(const struct world *world, size_t first, size_t end)
{
    enum smaps_kind kind = world->mappings[mapping_of(world, first)].kind;
    int number = claim_of(world, first);
    const struct area_claim *claim = number < 0 ? NULL : &world->claims[number];
    bool can_hold =
        claim ? claim->owner == AREA_MMAP && kind != SMAPS_FILE && kind != SMAPS_SHARED_MEMORY
              : kind == SMAPS_ANONYMOUS;
    for (size_t page = first; can_hold && page < end; page++)
        if (page_has_block(page))
            return (struct whose){PROFILE_OWNER_ALLOCATOR, 0};
    return whose_kind(kind, claim);
}

static void add(struct oracle *oracle, struct whose whose, const struct page *page, uint64_t bytes)
{
    struct sums *sums = &oracle->by_path[whose.kind][whose.path];
    bool there = is_there(page);
    sums->resident += there ? bytes : 0;
    sums->swapped += page->state == PAGES_SWAPPED ? bytes : 0;
    sums->huge += there && page->huge ? bytes : 0;
    sums->forked += there && page->forked ? bytes : 0;
    if (!there || whose.kind == PROFILE_OWNER_TOOL)
        return;
    sums->blank += page->blank ? bytes : 0;
    sums->copy += page->copy ? bytes : 0;
    if (whose.kind == PROFILE_OWNER_BLOCKS || whose.kind == PROFILE_OWNER_MAPPING)
        sums->idle += page->huge && page->blank ? bytes : 0;
    oracle->spared += bytes * page->spared;
    if (page->node)
        sums->nodes[page->node - 1] += bytes;
}

static void judge_page(struct oracle *oracle, const struct world *world, size_t number,
                       struct whose owner)
{
    const struct page *page = &world->pages[number];
    uint64_t live = 0, given = 0;
    int last = 0, on_page[MAX_BLOCKS], standing = 0;
    for (size_t i = number * PAGE; i < (number + 1) * PAGE; i++) {
        int block = byte_block[i];
        if (block && block != last)
            on_page[standing++] = block - 1;
        if (block)
            last = block;
        if (!block || !byte_counts[i])
            continue;
        live++;
        add(oracle, (struct whose){PROFILE_OWNER_BLOCKS, world->blocks[block - 1].node}, page, 1);
    }
    if (owner.kind != PROFILE_OWNER_ALLOCATOR || !standing || !is_there(page)) {
        add(oracle, owner, page, PAGE - live);
        return;
    }
    for (uint64_t k = 0; k < (uint64_t)standing; k++) {
        uint64_t up_to = (PAGE - live) * (k + 1) / (uint64_t)standing;
        add(oracle, (struct whose){PROFILE_OWNER_ALLOCATOR, world->blocks[on_page[k]].node}, page,
            up_to - given);
        given = up_to;
    }
}

static void judge(struct oracle *oracle, struct world *world)
{
    memset(oracle, 0, sizeof *oracle);
    claim_bytes(world);
    for (size_t first = 0, end; first < PAGES; first = end) {
        int mapping = mapping_of(world, first);
        end = first + 1;
        while (end < PAGES && mapping_of(world, end) == mapping &&
               claim_of(world, end) == claim_of(world, first))
            end++;
        for (size_t page = first; mapping >= 0 && page < end; page++)
            judge_page(oracle, world, page, whose_piece(world, first, end));
    }
}

/* ---- Random worlds ---- */

static void make_mappings(struct world *world)
{
    static const enum smaps_kind kinds[] = {
        SMAPS_HEAP, SMAPS_ANONYMOUS,  SMAPS_ANONYMOUS, SMAPS_DATA,          SMAPS_BSS,
        SMAPS_TEXT, SMAPS_MAIN_STACK, SMAPS_FILE,      SMAPS_SHARED_MEMORY, SMAPS_VDSO};
    static const char *const paths[SMAPS_KINDS] = {
        [SMAPS_DATA] = "/lib/a.so", [SMAPS_TEXT] = "/lib/a.so",           [SMAPS_FILE] = "/data",
        [SMAPS_VDSO] = "[vdso]",    [SMAPS_SHARED_MEMORY] = "/dev/shm/s",
    };
    size_t page = 0;
    while (world->mapping_count < MAX_MAPPINGS) {
        page += below(3) ? 0 : below(5);
        size_t end = page + 1 + below(20);
        if (end > PAGES)
            break;
        enum smaps_kind kind = kinds[below(sizeof kinds / sizeof *kinds)];
        world->mappings[world->mapping_count++] =
            (struct smaps_mapping){.start = address_of(page),
                                   .end = address_of(end),
                                   .path = paths[kind] ? paths[kind] : "",
                                   .kind = kind,
                                   .shared = kind == SMAPS_SHARED_MEMORY,
                                   .writable = true};
        page = end;
    }
}

static bool is_private(const struct smaps_mapping *mapping)
{
    return mapping->kind != SMAPS_TEXT && mapping->kind != SMAPS_FILE &&
           mapping->kind != SMAPS_SHARED_MEMORY && mapping->kind != SMAPS_VDSO;
}

/* And what smaps says of them: a page that a fork shares counts half. */
static void make_pages(struct world *world)
{
    for (size_t i = 0; i < PAGES; i++) {
        struct page *page = &world->pages[i];
        int number = mapping_of(world, i);
        if (number < 0)
            continue;
        struct smaps_mapping *mapping = &world->mappings[number];
        struct smaps_bytes *bytes = &mapping->bytes;
        page->state = below(PAGES_STATES);
        page->zero = page->state == PAGES_RESIDENT && is_private(mapping) && !below(8);
        if (page->state == PAGES_SWAPPED)
            bytes->swap = figure_add(bytes->swap, figure_of(PAGE));
        if (!is_there(page))
            continue;
        page->huge = !below(3);
        page->blank = is_private(mapping) && !below(4);
        page->copy = is_private(mapping) && !page->blank && !below(3);
        page->spared = is_private(mapping) && !page->blank && !page->copy ? below(PAGE) : 0;
        page->forked = is_private(mapping) && !below(3);
        page->node = is_private(mapping) ? (uint8_t)below(PROFILE_NODES + 1) : 0;
        bytes->rss = figure_add(bytes->rss, figure_of(PAGE));
        bytes->pss = figure_add(bytes->pss, figure_of(page->forked ? PAGE / 2 : PAGE));
        if (is_private(mapping))
            bytes->anonymous = figure_add(bytes->anonymous, figure_of(PAGE));
        if (page->huge)
            bytes->huge = figure_add(bytes->huge, figure_of(PAGE));
        if (page->forked)
            bytes->shared = figure_add(bytes->shared, figure_of(PAGE));
    }
}

static void make_claims(struct world *world)
{
    static const enum area_owner owners[] = {AREA_TOOL, AREA_STACK, AREA_MMAP, AREA_MMAP,
                                             AREA_MMAP};
    for (size_t page = 0; world->claim_count < MAX_CLAIMS;) {
        page += below(12);
        size_t end = page + 1 + below(12);
        if (end > PAGES)
            break;
        enum area_owner owner = owners[below(5)];
        world->claims[world->claim_count++] =
            (struct area_claim){.start = address_of(page),
                                .end = address_of(end),
                                .owner = owner,
                                .kind = owner == AREA_MMAP ? below(MAPPING_KINDS) : MAPPING_UNKNOWN,
                                .path = owner == AREA_MMAP ? below(PATHS) : 0,
                                .tid = owner == AREA_STACK ? 101 : 0};
        page = end;
    }
}

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
                .address = BASE + at, .size_bytes = bytes, .node = 1 + below(PATHS - 1)};
    }
}

/* ---- What must hold ---- */

/* What of the tool's is blank is not asked for. Each row is rounded down. */
static void add_row(struct oracle *got, const struct profile_owner *row)
{
    struct sums *sums = &got->by_path[row->kind][row->path];
    sums->resident += number_of(row->resident_bytes);
    sums->swapped += number_of(row->swapped_bytes);
    sums->huge += number_of(row->huge_bytes);
    sums->forked += number_of(row->shared_bytes);
    if (row->kind == PROFILE_OWNER_TOOL)
        return;
    sums->blank += figure_or(row->zero_bytes, 0);
    sums->copy += figure_or(row->copy_bytes, 0);
    if (row->kind == PROFILE_OWNER_BLOCKS || row->kind == PROFILE_OWNER_MAPPING)
        sums->idle += figure_or(row->huge_idle_bytes, 0);
    got->spared += figure_or(row->compressible_bytes, 0);
    for (int i = 0; i < PROFILE_NODES; i++)
        sums->nodes[i] += figure_or(row->node_bytes[i], 0);
}

static void add_piece(struct oracle *got, const struct proc_touched *piece)
{
    struct profile_owner row = {.kind = PROFILE_OWNER_GLOBALS,
                                .resident_bytes = piece->resident_bytes,
                                .swapped_bytes = piece->swapped_bytes,
                                .huge_bytes = piece->huge_bytes,
                                .shared_bytes = piece->shared_bytes,
                                .zero_bytes = piece->zero_bytes,
                                .copy_bytes = piece->copy_bytes,
                                .compressible_bytes = piece->compressible_bytes};
    memcpy(row.node_bytes, piece->node_bytes, sizeof row.node_bytes);
    add_row(got, &row);
}

static void assert_sums_equal(const struct oracle *got, const struct oracle *want)
{
    for (int kind = 0; kind < PROFILE_OWNER_KINDS; kind++)
        for (uint32_t path = 0; path < PATHS; path++)
            assert_memory_equal(&got->by_path[kind][path], &want->by_path[kind][path],
                                sizeof(struct sums));
}

static void assert_spared_is_right(const struct oracle *got, const struct oracle *want)
{
    enum { SUMMANDS = 1000 };
    assert_in_range(got->spared,
                    want->spared / PAGE > SUMMANDS ? want->spared / PAGE - SUMMANDS : 0,
                    want->spared / PAGE);
}

static void assert_proportional_is_right(const struct world *world, const struct owners *owners)
{
    uint64_t sum = 0, want = 0;
    for (size_t i = 0; i < owners->count; i++)
        sum += number_of(owners->rows[i].proportional_bytes);
    for (size_t i = 0; i < owners->touched_count; i++)
        sum += number_of(owners->touched[i].proportional_bytes);
    for (size_t i = 0; i < world->mapping_count; i++)
        want += number_of(world->mappings[i].bytes.pss);
    assert_in_range(sum, want > 1 ? want - 1 : 0, want + 1);
}

static void each_byte_has_the_owner_that_an_oracle_gives_it(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        static struct world world;
        static struct oracle got, want;
        struct outcome outcome;
        memset(&world, 0, sizeof world);
        memset(&got, 0, sizeof got);
        make_mappings(&world);
        make_pages(&world);
        make_claims(&world);
        make_blocks(&world);
        judge(&want, &world);
        look(&outcome, &world);
        struct owners_request request = request_of(&outcome);
        assert_int_equal(owners_make(&outcome.owners, &request), 0);
        for (size_t i = 0; i < outcome.owners.count; i++)
            add_row(&got, &outcome.owners.rows[i]);
        for (size_t i = 0; i < outcome.owners.touched_count; i++)
            add_piece(&got, &outcome.owners.touched[i]);
        assert_sums_equal(&got, &want);
        assert_spared_is_right(&got, &want);
        assert_proportional_is_right(&world, &outcome.owners);
        leave(&outcome);
    }
}

static void no_row_is_on_a_node_where_nobody_was_asked(void **state)
{
    (void)state;
    static struct world world;
    struct outcome outcome;
    memset(&world, 0, sizeof world);
    make_mappings(&world);
    make_pages(&world);
    make_blocks(&world);
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    request.knows_nodes = false;
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    for (size_t i = 0; i < outcome.owners.count; i++)
        for (int node = 0; node < PROFILE_NODES; node++)
            if (figure_positive(outcome.owners.rows[i].resident_bytes))
                assert_false(figure_known(outcome.owners.rows[i].node_bytes[node]));
    leave(&outcome);
}

static uint64_t sum_of(const struct owners *owners)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < owners->count; i++)
        sum += number_of(owners->rows[i].resident_bytes);
    for (size_t i = 0; i < owners->touched_count; i++)
        sum += number_of(owners->touched[i].resident_bytes);
    return sum;
}

/* smaps is read before the page table: pages that come and go in between. */
static void the_sum_is_what_is_resident_whatever_is_known(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        static struct world world;
        struct outcome outcome;
        memset(&world, 0, sizeof world);
        make_mappings(&world);
        make_pages(&world);
        make_claims(&world);
        make_blocks(&world);
        for (size_t i = 0; i < world.mapping_count; i++)
            if (below(2))
                world.mappings[i].bytes.rss = world.mappings[i].bytes.pss =
                    figure_of(below(20) * PAGE);
        look(&outcome, &world);
        struct owners_request request = request_of(&outcome);
        request.unknown = below(2) ? "before the recording" : NULL;
        request.has_all_blocks = !request.unknown || below(2);
        request.knows_huge = below(2);
        request.limit = below(4);
        assert_int_equal(owners_make(&outcome.owners, &request), 0);
        assert_int_equal(sum_of(&outcome.owners), number_of(outcome.sample.resident_bytes));
        leave(&outcome);
    }
}

/* ---- Rules ---- */

static const struct profile_owner *row_of(const struct owners *owners, int kind, uint32_t path,
                                          const char *name)
{
    for (size_t i = 0; i < owners->count; i++) {
        const struct profile_owner *row = &owners->rows[i];
        if (row->kind == kind && row->path == path && !row->name == !name &&
            (!name || strcmp(row->name, name) == 0))
            return row;
    }
    return NULL;
}

static void map(struct world *world, size_t page, size_t pages, enum smaps_kind kind,
                const char *path)
{
    struct smaps_mapping *mapping = &world->mappings[world->mapping_count++];
    *mapping = (struct smaps_mapping){.start = address_of(page),
                                      .end = address_of(page + pages),
                                      .kind = kind,
                                      .path = path,
                                      .writable = true};
    mapping->bytes.rss = mapping->bytes.pss = mapping->bytes.anonymous = figure_of(pages * PAGE);
    for (size_t i = page; i < page + pages; i++)
        world->pages[i].state = PAGES_RESIDENT;
}

static void stacks_are_their_threads(void **state)
{
    (void)state;
    struct world world = {.claim_count = 2};
    struct outcome outcome;
    map(&world, 0, 4, SMAPS_MAIN_STACK, "[stack]");
    map(&world, 10, 8, SMAPS_ANONYMOUS, "");
    world.claims[0] = (struct area_claim){
        .start = address_of(10), .end = address_of(13), .owner = AREA_STACK, .tid = 101};
    world.claims[1] = (struct area_claim){
        .start = address_of(13), .end = address_of(14), .owner = AREA_STACK, .tid = 999};
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    const struct profile_owner *main_stack =
        row_of(&outcome.owners, PROFILE_OWNER_STACK, 0, "main");
    const struct profile_owner *worker = row_of(&outcome.owners, PROFILE_OWNER_STACK, 0, "worker");
    const struct profile_owner *ended =
        row_of(&outcome.owners, PROFILE_OWNER_STACK, 0, "no thread that is known");
    assert_int_equal(number_of(main_stack->resident_bytes), 4 * PAGE);
    assert_int_equal(number_of(main_stack->thread), 100);
    assert_int_equal(number_of(worker->resident_bytes), 3 * PAGE);
    assert_int_equal(number_of(worker->thread), 101);
    assert_int_equal(number_of(ended->resident_bytes), PAGE);
    const struct profile_owner *rest =
        row_of(&outcome.owners, PROFILE_OWNER_MAPPING, 0, "not seen when it was mapped");
    assert_int_equal(number_of(rest->resident_bytes), 4 * PAGE);
    leave(&outcome);
}

static void blocks_from_before_have_a_name(void **state)
{
    (void)state;
    struct world world = {.block_count = 1};
    struct outcome outcome;
    map(&world, 0, 4, SMAPS_HEAP, "[heap]");
    map(&world, 10, 2, SMAPS_ANONYMOUS, "");
    world.blocks[0] =
        (struct live_entry){.address = address_of(1), .size_bytes = PAGE / 2, .node = 3};
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    request.unknown = "before the recording";
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    const struct owners *owners = &outcome.owners;
    assert_int_equal(number_of(row_of(owners, PROFILE_OWNER_BLOCKS, 3, NULL)->resident_bytes),
                     PAGE / 2);
    assert_int_equal(
        number_of(
            row_of(owners, PROFILE_OWNER_ALLOCATOR, 0, "before the recording")->resident_bytes),
        3 * PAGE + PAGE / 2);
    assert_int_equal(
        number_of(row_of(owners, PROFILE_OWNER_MAPPING, 0, "before the recording")->resident_bytes),
        2 * PAGE);
    assert_null(row_of(owners, PROFILE_OWNER_ALLOCATOR, 3, NULL));
    leave(&outcome);
}

static void a_file_that_the_program_maps_has_path_and_name(void **state)
{
    (void)state;
    struct world world = {.claim_count = 1};
    struct outcome outcome;
    map(&world, 0, 4, SMAPS_FILE, "/data/base");
    map(&world, 8, 4, SMAPS_FILE, "/usr/lib/locale");
    world.claims[0] = (struct area_claim){.start = address_of(0),
                                          .end = address_of(4),
                                          .owner = AREA_MMAP,
                                          .kind = MAPPING_FILE_SHARED,
                                          .path = 5};
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    assert_int_equal(
        number_of(row_of(&outcome.owners, PROFILE_OWNER_MAPPING, 5, "/data/base")->resident_bytes),
        4 * PAGE);
    assert_int_equal(
        number_of(
            row_of(&outcome.owners, PROFILE_OWNER_FILE, 0, "/usr/lib/locale")->resident_bytes),
        4 * PAGE);
    leave(&outcome);
}

static void rows_beyond_the_limit_are_one(void **state)
{
    (void)state;
    struct world world = {.block_count = 5};
    struct outcome outcome;
    map(&world, 0, 16, SMAPS_HEAP, "[heap]");
    for (uint32_t i = 0; i < 5; i++)
        world.blocks[i] = (struct live_entry){
            .address = address_of(3 * i), .size_bytes = (i + 1) * PAGE / 2, .node = i + 1};
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    request.limit = 2;
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    assert_int_equal(sum_of(&outcome.owners), 16 * PAGE);
    assert_int_equal(outcome.owners.capacity, outcome.owners.count);
    assert_non_null(row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, 5, NULL));
    assert_non_null(row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, 4, NULL));
    assert_null(row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, 1, NULL));
    assert_int_equal(
        number_of(
            row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, 0, "other call paths")->resident_bytes),
        3 * PAGE);
    leave(&outcome);
}

static void what_went_during_the_look_is_a_row(void **state)
{
    (void)state;
    struct world world = {.claim_count = 1};
    struct outcome outcome;
    map(&world, 0, 8, SMAPS_ANONYMOUS, "");
    world.pages[7].state = PAGES_UNTOUCHED;
    world.claims[0] = (struct area_claim){
        .start = address_of(0), .end = address_of(4), .owner = AREA_MMAP, .path = 2};
    look(&outcome, &world);
    struct owners_request request = request_of(&outcome);
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    assert_int_equal(
        number_of(row_of(&outcome.owners, PROFILE_OWNER_OTHER, 0, "changed during the look")
                      ->resident_bytes),
        PAGE);
    assert_int_equal(sum_of(&outcome.owners), 8 * PAGE);
    leave(&outcome);
}

/* Two blocks of 64 and 128 KiB in a mapping of 49 pages, of which `left` are left. */
static void look_at_large_blocks(struct outcome *outcome, struct world *world, size_t left)
{
    *world = (struct world){.block_count = 2};
    map(world, 0, 49, SMAPS_ANONYMOUS, "");
    for (size_t i = left; i < 49; i++)
        world->pages[i].state = PAGES_UNTOUCHED;
    world->blocks[0] =
        (struct live_entry){.address = address_of(0) + 16, .size_bytes = 16 * PAGE, .node = 3};
    world->blocks[1] =
        (struct live_entry){.address = address_of(17), .size_bytes = 32 * PAGE, .node = 4};
    look(outcome, world);
}

static void what_went_with_large_blocks_was_theirs(void **state)
{
    (void)state;
    for (size_t left = 0; left < 33; left += 16) {
        struct world world;
        struct outcome outcome;
        look_at_large_blocks(&outcome, &world, left);
        struct owners_request request = request_of(&outcome);
        assert_int_equal(owners_make(&outcome.owners, &request), 0);
        assert_null(row_of(&outcome.owners, PROFILE_OWNER_OTHER, 0, "changed during the look"));
        assert_int_equal(sum_of(&outcome.owners), 49 * PAGE);
        /* Each had all of its pages, however many of them are left; a page is of neither. */
        for (uint32_t path = 3; path <= 4; path++) {
            const struct profile_owner *row =
                row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, path, NULL);
            uint64_t size = (path == 3 ? 16 : 32) * PAGE;
            assert_in_range(number_of(row->resident_bytes), size, size + PAGE);
        }
        leave(&outcome);
    }
}

/* Three blocks fill 60 pages, and pages go by chance. */
static void no_block_had_more_than_it_has(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct world world = {.block_count = 3};
        struct outcome outcome;
        unsigned from = 0, chance = 1 + below(8);
        map(&world, 0, 60, SMAPS_ANONYMOUS, "");
        for (unsigned i = 0; i < 3; i++, from += 20)
            world.blocks[i] =
                (struct live_entry){.address = address_of(from) + below(64) * 16,
                                    .size_bytes = (17 + below(2)) * PAGE + below(PAGE),
                                    .node = 3 + i};
        for (unsigned i = 0; i < 60; i++)
            if (below(8) < chance)
                world.pages[i].state = PAGES_UNTOUCHED;
        look(&outcome, &world);
        struct owners_request request = request_of(&outcome);
        assert_int_equal(owners_make(&outcome.owners, &request), 0);
        assert_int_equal(sum_of(&outcome.owners), 60 * PAGE);
        for (unsigned i = 0; i < 3; i++) {
            const struct profile_owner *row =
                row_of(&outcome.owners, PROFILE_OWNER_BLOCKS, 3 + i, NULL);
            uint64_t most = world.blocks[i].size_bytes;
            if (row)
                assert_in_range(number_of(row->resident_bytes), 0, most + most / 8);
        }
        leave(&outcome);
    }
}

static void what_went_of_blocks_that_are_not_all_known_is_a_row(void **state)
{
    (void)state;
    struct world world;
    struct outcome outcome;
    look_at_large_blocks(&outcome, &world, 0);
    struct owners_request request = request_of(&outcome);
    request.has_all_blocks = false;
    assert_int_equal(owners_make(&outcome.owners, &request), 0);
    assert_int_equal(
        number_of(row_of(&outcome.owners, PROFILE_OWNER_OTHER, 0, "changed during the look")
                      ->resident_bytes),
        49 * PAGE);
    leave(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_has_the_owner_that_an_oracle_gives_it),
        cmocka_unit_test(no_row_is_on_a_node_where_nobody_was_asked),
        cmocka_unit_test(the_sum_is_what_is_resident_whatever_is_known),
        cmocka_unit_test(stacks_are_their_threads),
        cmocka_unit_test(blocks_from_before_have_a_name),
        cmocka_unit_test(a_file_that_the_program_maps_has_path_and_name),
        cmocka_unit_test(rows_beyond_the_limit_are_one),
        cmocka_unit_test(what_went_during_the_look_is_a_row),
        cmocka_unit_test(what_went_with_large_blocks_was_theirs),
        cmocka_unit_test(no_block_had_more_than_it_has),
        cmocka_unit_test(what_went_of_blocks_that_are_not_all_known_is_a_row),
    };
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    printf("SEED=%u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Graphs with known answers, and random ones against the plainest way to find the same: every block
 * for every word, classes by repeating until nothing changes, dominators by taking each node
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "graph/graph.h"
#include "graph/graph_share.h"

enum { BLOCKS = 40, WORDS = 6, HOLDERS = 7, RANGES = 3, NODES = 1 + HOLDERS + BLOCKS + RANGES };
enum { CHAIN = 2950, ROUNDS = 1000, RANGE_RANK = 200, NO_RANK = 255 };

#define VTABLE 0x7000000ull

/* A process of few blocks. Words that lie at `words[i]` are the block's from its first aligned
 * address on. */
struct process {
    struct graph_block blocks[BLOCKS];
    uint64_t words[BLOCKS][WORDS];
    uint8_t borrowed[BLOCKS]; /* bit k: words[i][k] holds nothing */
    size_t count;
    uint64_t roots[HOLDERS][WORDS];
    struct graph_block ranges[RANGES];
    uint64_t range_words[RANGES][WORDS];
    uint64_t class_at, *class_words; /* a class of GLib's: seven words */
};

static const uint8_t ranks[HOLDERS] = {0, 0, 0, 0, 1, 1, 3};

static bool process_read(void *context, uint64_t address, uint64_t *words, size_t count)
{
    const struct process *process = context;
    if (process->class_words && address == process->class_at && count == 7) {
        memcpy(words, process->class_words, 8 * count);
        return true;
    }
    for (size_t i = 0; i < process->count; i++) {
        uint64_t offset = address - process->blocks[i].address;
        if (address >= process->blocks[i].address &&
            offset + 8 * count <= sizeof process->words[i]) {
            memcpy(words, (const char *)process->words[i] + offset, 8 * count);
            return true;
        }
    }
    return false;
}

static bool process_is_vtable(void *context, uint64_t address)
{
    (void)context;
    return address == VTABLE;
}

static size_t process_word_count(const struct process *process, size_t block)
{
    return (size_t)(process->blocks[block].size_bytes / 8);
}

static void process_add_block(const struct process *process, struct graph *graph, uint32_t block)
{
    size_t count = process_word_count(process, block);
    if (!process->borrowed[block])
        graph_add_words(graph, block, process->words[block], count);
    for (size_t i = 0; i < count && process->borrowed[block]; i++)
        if (process->borrowed[block] >> i & 1)
            graph_add_borrowed_words(graph, block, &process->words[block][i], 1);
        else
            graph_add_words(graph, block, &process->words[block][i], 1);
}

static void process_graph(struct process *process, struct graph *graph)
{
    struct graph_memory memory = {process_read, process_is_vtable, NULL, process};
    assert_int_equal(graph_begin(graph, process->blocks, process->count, &memory), 0);
    if (process->ranges[0].size_bytes)
        assert_int_equal(graph_keep_holders(graph, process->ranges, RANGES), 0);
    for (uint32_t i = 0; i < HOLDERS; i++)
        graph_add_roots(graph, 0x1000 * (i + 1), process->roots[i], WORDS);
    for (uint32_t i = 0; i < process->count; i++)
        process_add_block(process, graph, i);
    for (uint32_t i = 0; i < RANGES && process->ranges[i].size_bytes; i++)
        graph_add_range_words(graph, i, process->range_words[i], WORDS);
}

/* ---- Chance ---- */

static uint64_t random_state = 0x1234567;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

/* ---- The plainest way ---- */

struct plain {
    size_t nodes, first_range;   /* root, holders, blocks, ranges */
    uint8_t edges[NODES][NODES]; /* 0 none, 1 interior, 2 start */
    uint8_t ranks[NODES];
};

/* Is the beginning of the block kept one or two words before this one, or one behind? */
static bool plain_is_aligned(const struct process *process, size_t block, size_t word)
{
    for (size_t i = 0; i < process_word_count(process, block); i++)
        if ((i + 1 == word || i + 2 == word || i == word + 1) &&
            process->words[block][i] == process->blocks[block].address)
            return true;
    return false;
}

static void plain_add(const struct process *process, struct plain *plain, size_t from,
                      uint64_t word)
{
    for (size_t i = 0; i < process->count; i++) {
        const struct graph_block *block = &process->blocks[i];
        uint64_t bytes = block->size_bytes ? block->size_bytes : 1, at = word - block->address;
        if (word < block->address || at >= bytes || from == 1 + HOLDERS + i)
            continue;
        const uint64_t *first = process->words[i];
        bool header = at == 8 && first[0] && (bytes - 8) % first[0] == 0;
        bool string = at == 24 && first[0] <= first[1] && 24 + first[1] + 1 == bytes;
        bool base = at % 8 == 0 && first[0] == VTABLE && first[at / 8] == VTABLE;
        bool aligned = at % 8 == 0 && plain_is_aligned(process, i, (size_t)at / 8);
        uint8_t kind = at == 0 || header || string || base || aligned ? 2 : 1;
        uint8_t *edge = &plain->edges[from][1 + HOLDERS + i];
        *edge = *edge > kind ? *edge : kind;
    }
    for (size_t i = 0; i < RANGES; i++)
        if (word - process->ranges[i].address < process->ranges[i].size_bytes &&
            from != plain->first_range + i)
            plain->edges[from][plain->first_range + i] = 2;
}

static void plain_make(const struct process *process, struct plain *plain, bool with_borrowed)
{
    memset(plain, 0, sizeof *plain);
    plain->first_range = 1 + HOLDERS + process->count;
    plain->nodes = plain->first_range + RANGES;
    for (size_t i = 0; i < HOLDERS; i++) {
        plain->edges[0][1 + i] = 2;
        for (size_t k = 0; k < WORDS; k++)
            plain_add(process, plain, 1 + i, process->roots[i][k]);
    }
    for (size_t i = 0; i < process->count; i++)
        for (size_t k = 0; k < process_word_count(process, i); k++)
            if (with_borrowed || !(process->borrowed[i] >> k & 1))
                plain_add(process, plain, 1 + HOLDERS + i, process->words[i][k]);
    for (size_t i = 0; i < RANGES && process->ranges[i].size_bytes; i++)
        for (size_t k = 0; k < WORDS; k++)
            plain_add(process, plain, plain->first_range + i, process->range_words[i][k]);
}

/* Nodes that the root reaches, over start edges only or over all. */
static void plain_reach(const struct plain *plain, uint8_t least, bool *reached)
{
    memset(reached, 0, plain->nodes * sizeof *reached);
    reached[0] = true;
    for (size_t i = plain->first_range; i < plain->nodes; i++)
        reached[i] = true; /* roots here */
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < plain->nodes; i++)
            for (size_t k = 0; k < plain->nodes; k++)
                if (reached[i] && !reached[k] && plain->edges[i][k] >= least)
                    again = reached[k] = true;
    }
}

static void plain_check_classes(const struct plain *plain, const struct process *process,
                                const struct graph_reach *reach)
{
    bool start[NODES], any[NODES];
    uint64_t lost_bytes = 0, sum = 0;
    plain_reach(plain, 2, start);
    plain_reach(plain, 1, any);
    for (size_t i = 0; i < process->count; i++) {
        size_t node = 1 + HOLDERS + i;
        uint8_t class = reach->classes[i];
        assert_int_equal(class == GRAPH_REACHABLE, start[node]);
        assert_int_equal(class == GRAPH_POSSIBLE, any[node] && !start[node]);
        lost_bytes += any[node] ? 0 : process->blocks[i].size_bytes;
        if (class == GRAPH_INDIRECT)
            assert_int_equal(reach->classes[reach->heads[i]], GRAPH_LOST);
    }
    for (size_t i = 0; i < reach->island_count; i++)
        sum +=
            process->blocks[reach->islands[i].head].size_bytes + reach->islands[i].indirect_bytes;
    assert_int_equal(sum, lost_bytes);
    assert_int_equal(reach->bytes[GRAPH_LOST] + reach->bytes[GRAPH_INDIRECT], lost_bytes);
    assert_int_equal(reach->island_count, reach->counts[GRAPH_LOST]);
}

/* No head can be reached from another lost block that is not below it. */
static void plain_check_islands(const struct plain *plain, const struct process *process,
                                const struct graph_reach *reach)
{
    for (size_t i = 0; i < process->count; i++)
        for (size_t k = 0; k < process->count; k++) {
            if (!plain->edges[1 + HOLDERS + i][1 + HOLDERS + k] || reach->classes[k] != GRAPH_LOST)
                continue;
            assert_int_equal(reach->classes[i], GRAPH_INDIRECT); /* a ring: i is below k */
            assert_int_equal(reach->heads[i], k);
        }
}

/* ---- Who keeps it, the plainest way ---- */

static void plain_rank_from(struct plain *plain, size_t node, uint8_t rank)
{
    if (plain->ranks[node] != NO_RANK)
        return;
    plain->ranks[node] = rank;
    for (size_t i = 0; i < plain->nodes; i++)
        if (plain->edges[node][i])
            plain_rank_from(plain, i, rank);
}

/* Each node has the lowest rank that it can be reached from. Edges between ranks go; the root gets
 * edges to ranges that nothing leads to. */
static void plain_rank(struct plain *plain)
{
    memset(plain->ranks, NO_RANK, sizeof plain->ranks);
    for (size_t i = 0; i < HOLDERS; i++)
        plain_rank_from(plain, 1 + i, ranks[i]);
    for (size_t i = plain->first_range; i < plain->nodes; i++)
        if (plain->ranks[i] == NO_RANK) {
            plain->edges[0][i] = 1;
            plain_rank_from(plain, i, RANGE_RANK);
        }
    for (size_t i = 1; i < plain->nodes; i++)
        for (size_t k = 1; k < plain->nodes; k++)
            if (plain->ranks[i] != plain->ranks[k])
                plain->edges[i][k] = 0;
}

static void plain_search(const struct plain *plain, size_t node, size_t without, bool *reached)
{
    if (node == without || reached[node])
        return;
    reached[node] = true;
    for (size_t i = 0; i < plain->nodes; i++)
        if (plain->edges[node][i])
            plain_search(plain, i, without, reached);
}

static bool dominates(const struct graph_dominators *found, uint32_t above, uint32_t order)
{
    while (order > above)
        order = found->dominators[order];
    return order == above;
}

static void plain_check_dominators(const struct plain *plain, const struct graph_dominators *found)
{
    bool all[NODES] = {false};
    plain_search(plain, 0, SIZE_MAX, all);
    for (size_t i = 0; i < plain->nodes; i++)
        assert_int_equal(found->orders[i] != GRAPH_NONE, all[i]);
    for (size_t node = 0; node < plain->nodes; node++) {
        bool rest[NODES] = {false};
        plain_search(plain, 0, node, rest);
        for (size_t i = 0; i < plain->nodes && all[node]; i++)
            if (all[i])
                assert_int_equal(dominates(found, found->orders[node], found->orders[i]), !rest[i]);
    }
}

/* ---- Who holds it together, the plainest way ---- */

/* A row for each holder, and for each range that is one: what it reaches. */
struct plain_reached {
    bool by[NODES][NODES];
    bool is_holder[NODES];
};

static void plain_reach_from_each(const struct plain *plain, struct plain_reached *reached)
{
    memset(reached, 0, sizeof *reached);
    for (size_t i = 1; i < plain->nodes; i++) {
        reached->is_holder[i] = plain->edges[0][i];
        if (reached->is_holder[i])
            plain_search(plain, i, SIZE_MAX, reached->by[i]);
    }
}

/* Nodes are together if they are in one group; what a node dominates is with it. */
static uint32_t group_of(const struct graph_dominators *found, const struct graph_shares *shares,
                         size_t node)
{
    uint32_t order = found->orders[node];
    return order == GRAPH_NONE ? GRAPH_NONE : shares->group_of[found->tops[order]];
}

static uint64_t bytes_of(const struct graph *graph, size_t node)
{
    return node > HOLDERS && node - 1 - HOLDERS < graph->count
               ? graph->blocks[node - 1 - HOLDERS].size_bytes
               : 0;
}

static bool is_block(const struct graph *graph, size_t node)
{
    return node > HOLDERS && node - 1 - HOLDERS < graph->count;
}

static void check_share(const struct graph *graph, const struct graph_dominators *found,
                        const struct graph_shares *shares, uint32_t group,
                        const struct graph_share *share, const struct plain *plain,
                        const struct plain_reached *reached)
{
    uint64_t count = 0, bytes = 0, direct = 0, alone = 0;
    size_t holder = found->nodes[share->holder];
    assert_true(reached->is_holder[holder]);
    for (size_t i = 1; i < plain->nodes; i++) {
        uint32_t order = found->orders[i];
        if (order == GRAPH_NONE)
            continue;
        bool is_mine = group_of(found, shares, i) == group;
        count += is_mine && reached->by[holder][i] && is_block(graph, i);
        bytes += is_mine && reached->by[holder][i] ? bytes_of(graph, i) : 0;
        direct += is_mine && plain->edges[holder][found->nodes[found->tops[order]]]
                      ? bytes_of(graph, i)
                      : 0;
        alone += found->tops[order] == share->holder ? bytes_of(graph, i) : 0;
    }
    assert_int_equal(share->reached_count, count);
    assert_int_equal(share->reached_bytes, bytes);
    assert_int_equal(share->direct_bytes, direct);
    assert_int_equal(share->alone_bytes, alone);
}

/* A group has all holders that reach something of it, each once, and its head reaches all. */
static void check_group(const struct graph *graph, const struct graph_dominators *found,
                        const struct graph_shares *shares, uint32_t group,
                        const struct plain *plain, const struct plain_reached *reached)
{
    const struct graph_share_group *of = &shares->groups[group];
    const struct graph_share *list = shares->shares + of->first;
    uint32_t all = 0;
    bool listed[NODES] = {false};
    assert_false(of->is_part);
    for (uint32_t i = 0; i < of->count; i++) {
        check_share(graph, found, shares, group, &list[i], plain, reached);
        assert_false(listed[found->nodes[list[i].holder]]);
        listed[found->nodes[list[i].holder]] = true;
        assert_true(i < 2 || list[i].reached_bytes <= list[i - 1].reached_bytes);
    }
    for (size_t holder = 1; holder < plain->nodes; holder++) {
        bool any = false;
        for (size_t i = 1; i < plain->nodes; i++) {
            bool is_mine = group_of(found, shares, i) == group;
            any |= is_mine && reached->by[holder][i];
            if (is_mine && holder == found->nodes[list[0].holder])
                assert_true(reached->by[holder][i]);
        }
        assert_int_equal(any, listed[holder]);
        all += any;
    }
    assert_true(all >= 2);
    assert_int_equal(of->all, all);
}

/* What one holder reaches, or holds as one, is in no group; all else is in one. */
static size_t groups_seen;

static void check_shares(const struct graph *graph, const struct graph_dominators *found,
                         const struct plain *plain)
{
    static struct plain_reached reached;
    struct graph_shares shares;
    plain_reach_from_each(plain, &reached);
    assert_int_equal(graph_share(&shares, graph, found, random_below(300)), 0);
    for (size_t i = 1; i < plain->nodes; i++) {
        size_t holders = 0, top = found->orders[i] == GRAPH_NONE
                                      ? 0
                                      : found->nodes[found->tops[found->orders[i]]];
        for (size_t holder = 1; holder < plain->nodes; holder++)
            holders += reached.by[holder][i];
        assert_int_equal(group_of(found, &shares, i) != GRAPH_NONE,
                         holders >= 2 && !reached.is_holder[top]);
    }
    groups_seen += shares.group_count;
    for (uint32_t i = 0; i < shares.group_count; i++)
        check_group(graph, found, &shares, i, plain, &reached);
    graph_shares_release(&shares);
}

static void check_holders(struct plain *plain, struct graph *graph)
{
    uint32_t of_roots[HOLDERS * WORDS];
    struct graph_dominators found;
    assert_true(graph->roots.count <= HOLDERS * WORDS);
    for (size_t i = 0; i < graph->roots.count; i++)
        of_roots[i] = (uint32_t)(graph->root_at[i] / 0x1000 - 1);
    const struct graph_holders holders = {of_roots, ranks, HOLDERS};
    assert_int_equal(graph_dominate(graph, &holders, &found), 0);
    plain_rank(plain);
    plain_check_dominators(plain, &found);
    check_shares(graph, &found, plain);
    graph_dominators_release(&found);
}

/* ---- Random processes ---- */

static uint64_t random_word(const struct process *process)
{
    if (process->ranges[0].size_bytes && random_below(8) == 0)
        return process->ranges[random_below(RANGES)].address + random_below(0x2000);
    const struct graph_block *block = &process->blocks[random_below(process->count)];
    switch (random_below(8)) {
    case 0:
    case 1:
    case 2:
        return block->address;
    case 3:
        return block->address + random_below(56);
    case 4:
        return random_below(4) ? 1 + random_below(40) : VTABLE;
    default:
        return 0;
    }
}

/* Below the blocks, or above. */
static void random_ranges(struct process *process)
{
    uint64_t address = random_below(2) ? 0x555400000000 : 0x7fff00000000;
    for (size_t i = 0; i < RANGES; i++) {
        process->ranges[i] = (struct graph_block){address, 0x1000};
        address += 0x1000 + random_below(3) * 0x1000;
    }
}

static void random_process(struct process *process)
{
    memset(process, 0, sizeof *process);
    process->count = 1 + random_below(BLOCKS);
    uint64_t address = 0x555500000000 + 4096 * random_below(100);
    for (size_t i = 0; i < process->count; i++) {
        process->blocks[i] = (struct graph_block){address, random_below(8 * WORDS + 1)};
        address += 64 + (random_below(5) ? 0 : random_below(1ull << 40) & ~15ull);
    }
    if (random_below(2))
        random_ranges(process);
    for (size_t i = 0; i < RANGES; i++)
        for (size_t k = 0; k < WORDS; k++)
            process->range_words[i][k] = random_below(8) ? 0 : random_word(process);
    for (size_t i = 0; i < process->count; i++)
        for (size_t k = 0; k < WORDS; k++)
            process->words[i][k] = random_below(16) == 0 ? process->blocks[i].address
                                   : random_below(3)     ? 0
                                                         : random_word(process);
    for (size_t i = 0; i < process->count; i++)
        process->borrowed[i] = random_below(4) ? 0 : (uint8_t)random_below(1u << WORDS);
    uint64_t rare = random_below(2) ? 12 : 2;
    for (size_t i = 0; i < HOLDERS; i++)
        for (size_t k = 0; k < WORDS; k++)
            process->roots[i][k] = random_below(rare) ? 0 : random_word(process);
}

static void random_graphs(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct process process;
        static struct plain plain;
        struct graph graph;
        struct graph_reach reach;
        random_process(&process);
        plain_make(&process, &plain, true);
        process_graph(&process, &graph);
        assert_int_equal(graph_reach(&graph, &reach), 0);
        plain_check_classes(&plain, &process, &reach);
        plain_check_islands(&plain, &process, &reach);
        graph_forget_borrowed(&graph);
        plain_make(&process, &plain, false);
        if (process.ranges[0].size_bytes)
            check_holders(&plain, &graph);
        graph_reach_release(&reach);
        graph_release(&graph);
    }
    assert_true(groups_seen > ROUNDS / 10);
}

/* ---- Known ones ---- */

/* Blocks of 48 bytes, 64 apart. */
static void known_process(struct process *process, size_t count)
{
    memset(process, 0, sizeof *process);
    process->count = count;
    for (size_t i = 0; i < count; i++)
        process->blocks[i] = (struct graph_block){0x10000 + 64 * i, 48};
}

/* 0 -> 1 -> 2 hang below nothing; 3 and 4 point to each other; 5 is held by its middle. */
static void lists_rings_and_middles(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    struct graph_reach reach;
    known_process(&process, 7);
    process.words[0][0] = process.blocks[1].address;
    process.words[1][5] = process.blocks[2].address;
    process.words[3][0] = process.blocks[4].address;
    process.words[4][0] = process.blocks[3].address;
    process.roots[2][0] = process.blocks[5].address + 40;
    process.roots[3][5] = process.blocks[6].address;
    process_graph(&process, &graph);
    assert_int_equal(graph_reach(&graph, &reach), 0);
    static const uint8_t classes[] = {GRAPH_LOST,     GRAPH_INDIRECT, GRAPH_INDIRECT, GRAPH_LOST,
                                      GRAPH_INDIRECT, GRAPH_POSSIBLE, GRAPH_REACHABLE};
    assert_memory_equal(reach.classes, classes, sizeof classes);
    assert_int_equal(reach.island_count, 2);
    assert_int_equal(reach.islands[0].indirect_count, 2);
    assert_int_equal(reach.islands[0].indirect_bytes, 96);
    assert_int_equal(reach.heads[2], 0);
    assert_int_equal(reach.islands[1].indirect_bytes, 48);
    graph_reach_release(&reach);
    graph_release(&graph);
}

/* Blocks of many pages, of no bytes, and side by side at the pages' ends; `more` behind them. */
static void addresses_find_their_blocks_of(size_t more)
{
    static struct graph_block blocks[6 + 2000] = {
        {0x1000, 1},       {0x1001, 0}, {0x1ff8, 16}, {0x2008, 4096}, {0x10000000, 1ull << 40},
        {0x20000000000, 8}};
    struct graph_memory memory = {process_read, process_is_vtable, NULL, NULL};
    struct graph graph;
    for (size_t i = 0; i < more; i++)
        blocks[6 + i] = (struct graph_block){0x30000000000 + 64 * i, 48};
    assert_int_equal(graph_begin(&graph, blocks, 6 + more, &memory), 0);
    assert_int_equal(graph.leaves != NULL, more != 0);
    static const struct {
        uint64_t address;
        uint32_t block;
    } cases[] = {{0xfff, GRAPH_NONE},
                 {0x1000, 0},
                 {0x1001, 1},
                 {0x1002, GRAPH_NONE},
                 {0x1ff7, GRAPH_NONE},
                 {0x1ff8, 2},
                 {0x2007, 2},
                 {0x2008, 3},
                 {0x3007, 3},
                 {0x3008, GRAPH_NONE},
                 {0x10000000, 4},
                 {0x1000ffffff, 4},
                 {0x1001000ffff, GRAPH_NONE},
                 {0x20000000007, 5},
                 {0x20000000008, GRAPH_NONE},
                 {0, GRAPH_NONE},
                 {UINT64_MAX, GRAPH_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(graph_find(&graph, cases[i].address), cases[i].block);
    for (uint32_t i = 0; i < more; i++) {
        assert_int_equal(graph_find(&graph, 0x30000000000 + 64 * i + 47), 6 + i);
        assert_int_equal(graph_find(&graph, 0x30000000000 + 64 * i + 48), GRAPH_NONE);
    }
    graph_release(&graph);
}

static void addresses_find_their_blocks(void **state)
{
    (void)state;
    struct graph_memory memory = {.read = process_read, .is_vtable = process_is_vtable};
    struct graph graph;
    addresses_find_their_blocks_of(0);
    addresses_find_their_blocks_of(2000); /* by the index */
    const struct graph_block high = {1ull << 48, 8};
    assert_int_equal(graph_begin(&graph, &high, 1, &memory), -34);
}

/* ---- Many blocks and many words, against a look at each ---- */

enum { MANY = 3000, LONG = 300 };

/* Blocks of all sizes, close together and far apart, on both sides of a border of a GiB. */
static void many_blocks(struct graph_block *blocks)
{
    uint64_t at = 0x7f003ff00000;
    for (size_t i = 0; i < MANY; i++) {
        uint64_t bytes = rand() % 40 ? (uint64_t)(rand() % 100) : (uint64_t)(rand() % 20000);
        if (i % 1000 == 500)
            bytes = 30 << 20; /* in no index */
        blocks[i] = (struct graph_block){at, bytes};
        at += (bytes ? bytes : 1) + (rand() % 50 ? 0 : (uint64_t)(rand() % 30000));
    }
}

static uint32_t plain_find(const struct graph_block *blocks, uint64_t address)
{
    for (uint32_t i = 0; i < MANY; i++)
        if (address - blocks[i].address < (blocks[i].size_bytes ? blocks[i].size_bytes : 1))
            return i;
    return GRAPH_NONE;
}

static void any_address_finds_what_a_look_at_each_block_finds(void **state)
{
    (void)state;
    static struct graph_block blocks[MANY];
    static struct process nothing;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, &nothing};
    for (unsigned seed = 1; seed <= 10; seed++) {
        struct graph graph;
        srand(seed);
        many_blocks(blocks);
        assert_int_equal(graph_begin(&graph, blocks, MANY, &memory), 0);
        for (size_t i = 0; i < MANY; i++) {
            uint64_t address = blocks[i].address + (uint64_t)(rand() % 8300) - 200;
            assert_int_equal(graph_find(&graph, address), plain_find(blocks, address));
            assert_int_equal(graph_find(&graph, blocks[i].address), i);
        }
        graph_release(&graph);
    }
}

/* Most words are no addresses; those that are stand anywhere. */
static void long_runs_of_words_lose_no_pointer(void **state)
{
    (void)state;
    struct process process;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, &process};
    known_process(&process, 2);
    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        uint64_t words[LONG];
        size_t count = (size_t)rand() % LONG + 1, expected = 0;
        struct graph graph;
        for (size_t i = 0; i < count; i++) {
            bool is_pointer = rand() % (seed % 2 ? 40 : 3) == 0;
            uint64_t noise = rand() % 2 ? 0 : (uint64_t)rand() << 33;
            words[i] = is_pointer ? process.blocks[i % 2].address : noise;
            expected += is_pointer;
        }
        assert_int_equal(graph_begin(&graph, process.blocks, process.count, &memory), 0);
        graph_add_roots(&graph, 0, words, count);
        assert_int_equal(graph.roots.count, expected);
        graph_release(&graph);
    }
}

/* The next page of a block is gone. */
static bool read_a_page_end(void *context, uint64_t address, uint64_t *words, size_t count)
{
    (void)context;
    words[0] = 7; /* elements of 56 bytes */
    return address == 0x10ff0 && count <= 2;
}

static void the_first_words_say_what_they_can_where_more_cannot_be_read(void **state)
{
    (void)state;
    struct graph graph;
    struct graph_memory memory = {read_a_page_end, process_is_vtable, NULL, NULL};
    const struct graph_block array = {0x10ff0, 8 + 7 * 56};
    const uint64_t pointer = array.address + 8;
    assert_int_equal(graph_begin(&graph, &array, 1, &memory), 0);
    graph_add_roots(&graph, 0, &pointer, 1);
    assert_int_equal(graph.roots.count, 1);
    assert_int_equal(graph.roots.to[0], 0);
    graph_release(&graph);
}

static bool process_is_code(void *context, uint64_t address)
{
    (void)context;
    return address == 0x400000;
}

/* 0 has an instance behind its private data, 1 is its class, 2 the type; 3 has no class there. */
static void an_object_of_glib_is_held_by_its_instance(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    struct graph_reach reach;
    known_process(&process, 4);
    process.blocks[1].size_bytes = 56;
    process.words[0][2] = process.blocks[1].address;
    process.words[1][0] = process.blocks[2].address;
    process.roots[0][0] = process.blocks[0].address + 16;
    process.roots[0][1] = process.blocks[1].address;
    process.roots[0][2] = process.blocks[2].address;
    process.roots[0][3] = process.blocks[3].address + 16;
    static uint64_t class[7] = {0, 0, 0x400000, 0, 0, 0x400000, 0x400000};
    class[0] = process.blocks[2].address;
    process.class_at = process.blocks[1].address;
    process.class_words = class;
    struct graph_memory memory = {process_read, process_is_vtable, process_is_code, &process};
    assert_int_equal(graph_begin(&graph, process.blocks, process.count, &memory), 0);
    graph_add_roots(&graph, 0, process.roots[0], 4);
    assert_int_equal(graph_reach(&graph, &reach), 0);
    static const uint8_t classes[] = {GRAPH_REACHABLE, GRAPH_REACHABLE, GRAPH_REACHABLE,
                                      GRAPH_POSSIBLE};
    assert_memory_equal(reach.classes, classes, sizeof classes);
    graph_reach_release(&reach);
    graph_release(&graph);
}

/* Of pointers with tags: those to the beginnings of 0 and 1, a word that only lies in 2, and an
 * odd pointer to 3. */
static void highest_bits_of_a_pointer_may_be_something_else(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    struct graph_reach reach;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, &process};
    known_process(&process, 4);
    const uint64_t roots[] = {
        process.blocks[0].address | 1ull << 48, process.blocks[1].address | 0xfffcull << 48,
        (process.blocks[2].address + 8) | 1ull << 48, process.blocks[3].address | 1};
    assert_int_equal(graph_begin(&graph, process.blocks, process.count, &memory), 0);
    graph_add_roots(&graph, 0, roots, 4);
    assert_int_equal(graph_reach(&graph, &reach), 0);
    static const uint8_t classes[] = {GRAPH_REACHABLE, GRAPH_REACHABLE, GRAPH_LOST, GRAPH_POSSIBLE};
    assert_memory_equal(reach.classes, classes, sizeof classes);
    graph_reach_release(&reach);
    graph_release(&graph);
}

static uint64_t offset_of(const struct process *process, size_t from, size_t to)
{
    return process->blocks[to].address - process->blocks[from].address;
}

/* 0 is a pattern with its elements in 1; 2 are characters with leaves in 3 (5 and 6) and numbers in
 * 4; 7 looks like a pattern, but has room for more elements than 8. */
/* Block 0 has four words; what the last two point to it has let go of. */
static void the_last_words_of_a_block_hold_nothing_whatever_their_highest_bits(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    known_process(&process, 5);
    uint64_t words[] = {process.blocks[1].address, process.blocks[2].address,
                        process.blocks[3].address, process.blocks[4].address | 0xfff8000000000000};
    memcpy(process.words[0], words, sizeof words);
    process_graph(&process, &graph);
    graph_borrow_last(&graph, 0, words + 2, 2);
    graph_forget_borrowed(&graph);
    assert_int_equal(graph.first[1] - graph.first[0], 2);
    assert_int_equal(graph.edges.to[graph.first[0]], 1);
    assert_int_equal(graph.edges.to[graph.first[0] + 1], 2);
    graph_release(&graph);
}

/* Block 0 has four words; behind the first two there are instructions and numbers. */
static void words_after_the_first_of_a_block_hold_nothing(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    known_process(&process, 5);
    uint64_t words[] = {process.blocks[1].address, 7, process.blocks[3].address,
                        process.blocks[4].address};
    memcpy(process.words[0], words, sizeof words);
    process_graph(&process, &graph);
    graph_borrow_after(&graph, 0, words, 2);
    graph_forget_borrowed(&graph);
    assert_int_equal(graph.first[1] - graph.first[0], 1);
    assert_int_equal(graph.edges.to[graph.first[0]], 1);
    graph_release(&graph);
}

static void fontconfig_points_by_offsets(void **state)
{
    (void)state;
    struct process process;
    struct graph graph;
    struct graph_reach reach;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, &process};
    known_process(&process, 9);
    for (size_t i = 0; i < 9; i++)
        process.blocks[i].size_bytes = i == 1 || i == 8 ? 48 : 24;
    process.blocks[3].size_bytes = 16;
    const uint64_t pattern[] = {2 | 3ull << 32, offset_of(&process, 0, 1), 1};
    const uint64_t characters[] = {1 | 2ull << 32, offset_of(&process, 2, 3),
                                   offset_of(&process, 2, 4)};
    const uint64_t other[] = {2 | 4ull << 32, offset_of(&process, 7, 8), 1};
    process.words[3][0] = offset_of(&process, 3, 5);
    process.words[3][1] = offset_of(&process, 3, 6);
    const uint64_t roots[] = {process.blocks[0].address, process.blocks[2].address,
                              process.blocks[7].address};
    assert_int_equal(graph_begin(&graph, process.blocks, process.count, &memory), 0);
    graph_add_roots(&graph, 0, roots, 3);
    graph_add_offsets(&graph, 0, pattern, 3);
    graph_add_offsets(&graph, 2, characters, 3);
    graph_add_offsets(&graph, 7, other, 3);
    assert_int_equal(graph_reach(&graph, &reach), 0);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(reach.classes[i], i == 8 ? GRAPH_LOST : GRAPH_REACHABLE);
    graph_reach_release(&reach);
    graph_release(&graph);
}

static size_t leaves_read;

static bool read_one_leaf(void *context, uint64_t address, uint64_t *words, size_t count)
{
    (void)context, (void)address;
    leaves_read += count;
    memset(words, 0, count * sizeof *words);
    return true;
}

/* Else each of many blocks of three words would have the same large one read. */
static void no_character_set_has_more_leaves_than_there_are_characters(void **state)
{
    (void)state;
    struct graph graph;
    const struct graph_block blocks[] = {{.address = 0x10000, .size_bytes = 24},
                                         {.address = 0x20000, .size_bytes = 1 << 20}};
    struct graph_memory memory = {read_one_leaf, process_is_vtable, NULL, NULL};
    assert_int_equal(graph_begin(&graph, blocks, 2, &memory), 0);
    for (uint64_t count = 0x1100; count <= 0x1101; count++) {
        const uint64_t words[] = {1 | count << 32, 0x10000, 0x10000};
        leaves_read = 0;
        graph_add_offsets(&graph, 0, words, 3);
        assert_int_equal(leaves_read, count == 0x1100 ? 0x1100 : 0);
    }
    graph_release(&graph);
}

/* ---- Many holders ---- */

/* Holder i points to block i, and block i to `below(i)`. */
static void many_holders(struct graph_dominators *found, struct graph_shares *shares,
                         uint32_t count, uint32_t (*below)(uint32_t block))
{
    static struct process nothing;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, &nothing};
    struct graph_block *blocks = calloc(count, sizeof *blocks);
    uint32_t *of_roots = calloc(count, sizeof *of_roots);
    uint8_t *same = calloc(count, sizeof *same);
    struct graph graph;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = (struct graph_block){0x10000 + 64 * i, 48};
        of_roots[i] = i;
    }
    assert_int_equal(graph_begin(&graph, blocks, count, &memory), 0);
    assert_int_equal(graph_keep_holders(&graph, NULL, 0), 0);
    for (uint32_t i = 0; i < count; i++)
        graph_add_roots(&graph, 0x1000 + 8 * i, &blocks[i].address, 1);
    for (uint32_t i = 0; i < count; i++)
        graph_add_words(&graph, i, &blocks[below(i)].address, 1);
    const struct graph_holders holders = {of_roots, same, count};
    assert_int_equal(graph_dominate(&graph, &holders, found), 0);
    assert_int_equal(graph_share(shares, &graph, found, 1), 0);
    graph_release(&graph);
    free(blocks);
    free(of_roots);
    free(same);
}

static uint32_t below_to_the_first(uint32_t block)
{
    (void)block;
    return 0;
}

/* As classes lead to a class that they are derived from. */
static void the_nearest_of_many_holders_is_first_and_all_are_counted(void **state)
{
    enum { COUNT = 50 };
    struct graph_dominators found;
    struct graph_shares shares;
    (void)state;
    many_holders(&found, &shares, COUNT, below_to_the_first);
    assert_int_equal(shares.group_count, 1);
    const struct graph_share_group *group = shares.groups;
    assert_int_equal(group->all, COUNT);
    assert_int_equal(group->count, GRAPH_SHARES_MOST);
    assert_false(group->is_part);
    assert_int_equal(found.nodes[shares.shares[0].holder], 1);
    for (uint32_t i = 0; i < group->count; i++) {
        assert_int_equal(shares.shares[i].reached_bytes, 48);
        assert_int_equal(shares.shares[i].direct_bytes, i ? 0 : 48);
        assert_int_equal(shares.shares[i].alone_bytes, i ? 48 : 0);
    }
    graph_shares_release(&shares);
    graph_dominators_release(&found);
}

enum { RING = 5 };

static uint32_t below_in_a_ring(uint32_t block)
{
    return (block + 1) % RING;
}

static void a_ring_is_held_by_all_that_lead_into_it(void **state)
{
    struct graph_dominators found;
    struct graph_shares shares;
    (void)state;
    many_holders(&found, &shares, RING, below_in_a_ring);
    assert_int_equal(shares.group_count, 1);
    assert_int_equal(shares.groups->all, RING);
    for (uint32_t i = 0; i < RING; i++) {
        assert_int_equal(shares.shares[i].reached_count, RING);
        assert_int_equal(shares.shares[i].direct_bytes, 48);
    }
    graph_shares_release(&shares);
    graph_dominators_release(&found);
}

static uint32_t below_to_the_next(uint32_t block)
{
    return block + 1 < CHAIN ? block + 1 : block;
}

/* Block i is reached by i + 1 holders: that is more than is kept. What is said is true, and that it
 * is not all is said too. */
static void too_many_sets_are_known_in_part(void **state)
{
    struct graph_dominators found;
    struct graph_shares shares;
    uint32_t parts = 0;
    (void)state;
    many_holders(&found, &shares, CHAIN, below_to_the_next);
    for (uint32_t i = 1; i < CHAIN; i++) {
        uint32_t order = found.orders[1 + CHAIN + i];
        const struct graph_share_group *group = &shares.groups[shares.group_of[order]];
        assert_true(group->all >= 2);
        assert_true(group->is_part || group->all == i + 1);
        parts += group->is_part;
        for (uint32_t k = 0; k < group->count; k++) {
            uint32_t holder = found.nodes[shares.shares[group->first + k].holder] - 1;
            assert_true(shares.shares[group->first + k].reached_bytes <= 48 * (CHAIN - holder));
            assert_true(holder <= i || group->is_part);
        }
    }
    assert_true(parts > 0 && parts < CHAIN / 10);
    graph_shares_release(&shares);
    graph_dominators_release(&found);
}

static void nothing_at_all(void **state)
{
    (void)state;
    struct graph_memory memory = {process_read, process_is_vtable, NULL, NULL};
    uint64_t word = 0;
    struct graph graph;
    struct graph_reach reach;
    assert_int_equal(graph_begin(&graph, NULL, 0, &memory), 0);
    graph_add_roots(&graph, 0, &word, 1);
    assert_int_equal(graph_reach(&graph, &reach), 0);
    assert_int_equal(reach.island_count, 0);
    graph_reach_release(&reach);
    graph_release(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_rings_and_middles),
        cmocka_unit_test(addresses_find_their_blocks),
        cmocka_unit_test(any_address_finds_what_a_look_at_each_block_finds),
        cmocka_unit_test(long_runs_of_words_lose_no_pointer),
        cmocka_unit_test(the_first_words_say_what_they_can_where_more_cannot_be_read),
        cmocka_unit_test(an_object_of_glib_is_held_by_its_instance),
        cmocka_unit_test(highest_bits_of_a_pointer_may_be_something_else),
        cmocka_unit_test(the_last_words_of_a_block_hold_nothing_whatever_their_highest_bits),
        cmocka_unit_test(words_after_the_first_of_a_block_hold_nothing),
        cmocka_unit_test(fontconfig_points_by_offsets),
        cmocka_unit_test(no_character_set_has_more_leaves_than_there_are_characters),
        cmocka_unit_test(the_nearest_of_many_holders_is_first_and_all_are_counted),
        cmocka_unit_test(a_ring_is_held_by_all_that_lead_into_it),
        cmocka_unit_test(too_many_sets_are_known_in_part),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

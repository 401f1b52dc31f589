/* Rows are kept as they come until there are as many as the piece may have. From then on they are a
 * heap whose root is the last of them in the order: a row that comes before it takes its place.
 * What is not behind the last row of the piece before was shown already. Rows are never equal, so
 * none is shown twice or left out. */
#include "heap_at/block_pick.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"

/* ---- Order --------------------------------------------------------------------------------- */

static int block_pick_by_address(const void *a, const void *b)
{
    const struct block_row *x = a, *y = b;

    if (x->block.address != y->block.address)
        return x->block.address > y->block.address ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static int block_pick_by_size(const void *a, const void *b)
{
    const struct replay_block *x = &((const struct block_row *)a)->block;
    const struct replay_block *y = &((const struct block_row *)b)->block;

    return x->size_bytes != y->size_bytes ? x->size_bytes < y->size_bytes ? 1 : -1
                                          : block_pick_by_address(a, b);
}

static int block_pick_by_age(const void *a, const void *b)
{
    const struct replay_block *x = &((const struct block_row *)a)->block;
    const struct replay_block *y = &((const struct block_row *)b)->block;

    return x->birth_ticks != y->birth_ticks ? x->birth_ticks > y->birth_ticks ? 1 : -1
                                            : block_pick_by_address(a, b);
}

static int block_pick_by_path(const void *a, const void *b)
{
    const struct replay_block *x = &((const struct block_row *)a)->block;
    const struct replay_block *y = &((const struct block_row *)b)->block;

    return x->node != y->node ? x->node > y->node ? 1 : -1 : block_pick_by_size(a, b);
}

static int (*const block_pick_orders[])(const void *, const void *) = {
    [BLOCKS_BY_SIZE] = block_pick_by_size,
    [BLOCKS_BY_AGE] = block_pick_by_age,
    [BLOCKS_BY_ADDRESS] = block_pick_by_address,
    [BLOCKS_BY_PATH] = block_pick_by_path,
};

/* ---- A piece ------------------------------------------------------------------------------- */

void block_pick_begin(struct block_pick *pick, uint64_t most)
{
    pick->has_last = pick->count > 0;
    if (pick->has_last)
        pick->last = pick->rows[pick->count - 1];
    pick->count = 0;
    pick->most = most < BLOCK_PICK_MOST ? (size_t)most : BLOCK_PICK_MOST;
}

/* Puts `row` at `at`, or below where a row that is later in the order belongs there. */
static void block_pick_sink(struct block_pick *pick, size_t at, struct block_row row)
{
    int (*order)(const void *, const void *) = block_pick_orders[pick->order];

    for (size_t below = 2 * at + 1; below < pick->count; below = 2 * at + 1) {
        if (below + 1 < pick->count && order(&pick->rows[below + 1], &pick->rows[below]) > 0)
            below++;
        if (order(&row, &pick->rows[below]) >= 0)
            break;
        pick->rows[at] = pick->rows[below];
        at = below;
    }
    pick->rows[at] = row;
}

static void block_pick_add(struct block_pick *pick, const struct block_row *row)
{
    if (!array_make_bare_room(&pick->rows, &pick->room, pick->count, sizeof *pick->rows)) {
        pick->no_memory = true;
        return;
    }
    pick->rows[pick->count++] = *row;
    for (size_t at = pick->count / 2; pick->count == pick->most && at-- > 0;)
        block_pick_sink(pick, at, pick->rows[at]);
}

void block_pick_offer(struct block_pick *pick, const struct block_row *row)
{
    int (*order)(const void *, const void *) = block_pick_orders[pick->order];

    if (pick->has_last && order(row, &pick->last) <= 0)
        return;
    if (pick->count < pick->most)
        block_pick_add(pick, row);
    else if (pick->most && order(row, &pick->rows[0]) < 0)
        block_pick_sink(pick, 0, *row);
}

int block_pick_end(struct block_pick *pick)
{
    if (pick->count)
        qsort(pick->rows, pick->count, sizeof *pick->rows, block_pick_orders[pick->order]);
    return pick->no_memory ? -ENOMEM : 0;
}

void block_pick_release(struct block_pick *pick)
{
    free(pick->rows);
}

/* ---- Nodes --------------------------------------------------------------------------------- */

enum { PAGES = 1 << 16, PAGE_WORDS = (1 << 16) / 64 };

void block_nodes_add(struct block_nodes *nodes, uint32_t node)
{
    if (!nodes->pages)
        nodes->pages = calloc(PAGES, sizeof *nodes->pages);
    uint64_t **page = nodes->pages ? &nodes->pages[node >> 16] : NULL;
    if (page && !*page)
        *page = calloc(PAGE_WORDS, sizeof **page);
    if (page && *page)
        (*page)[(node & 0xffff) / 64] |= 1ULL << node % 64;
    else
        nodes->no_memory = true;
}

static size_t block_nodes_count(const struct block_nodes *nodes)
{
    size_t count = 0;

    for (size_t i = 0; nodes->pages && i < PAGES; i++)
        for (size_t k = 0; nodes->pages[i] && k < PAGE_WORDS; k++)
            count += (size_t)__builtin_popcountll(nodes->pages[i][k]);
    return count;
}

uint32_t *block_nodes_list(const struct block_nodes *nodes, size_t *count)
{
    uint32_t *list =
        nodes->no_memory ? NULL : malloc((block_nodes_count(nodes) + 1) * sizeof *list);

    *count = 0;
    for (size_t i = 0; list && nodes->pages && i < PAGES; i++)
        for (size_t k = 0; nodes->pages[i] && k < PAGE_WORDS; k++)
            for (uint64_t word = nodes->pages[i][k]; word; word &= word - 1)
                list[(*count)++] = (uint32_t)(i << 16 | k * 64 | (unsigned)__builtin_ctzll(word));
    return list;
}

void block_nodes_release(struct block_nodes *nodes)
{
    for (size_t i = 0; nodes->pages && i < PAGES; i++)
        free(nodes->pages[i]);
    free(nodes->pages);
}

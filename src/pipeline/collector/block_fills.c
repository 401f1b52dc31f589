/* Sums findings of a graph by call path, shape and bytes of an element (block_fills.h): one row for
 * each finding; the rows are sorted, and rows with the same key are joined in place. */
#include "collector/block_fills.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert((int)PROFILE_FILL_VECTOR == GRAPH_FILL_VECTOR &&
                   (int)PROFILE_FILL_STRING == GRAPH_FILL_STRING &&
                   (int)PROFILE_FILL_HASH == GRAPH_FILL_HASH &&
                   (int)PROFILE_FILL_RUST_HASH == GRAPH_FILL_RUST_HASH &&
                   (int)PROFILE_FILL_RUST_VEC == GRAPH_FILL_RUST_VEC &&
                   (int)PROFILE_FILL_SHAPES == GRAPH_FILL_SHAPES,
               "shapes are numbered alike");

static int block_fills_compare(const void *left, const void *right)
{
    const struct profile_block_fill *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

static void block_fills_join(struct block_fills *fills)
{
    size_t kept = 0;
    for (size_t i = 0; i < fills->count; i++) {
        struct profile_block_fill *last = kept ? &fills->rows[kept - 1] : NULL;
        if (!last || block_fills_compare(last, &fills->rows[i])) {
            fills->rows[kept++] = fills->rows[i];
            continue;
        }
        last->count += fills->rows[i].count;
        last->bytes += fills->rows[i].bytes;
        last->used_bytes += fills->rows[i].used_bytes;
    }
    fills->count = kept;
}

int block_fills_find(struct block_fills *fills, const struct graph *graph,
                     const struct live_list *blocks, const struct profile_residency *paths)
{
    *fills = (struct block_fills){0};
    fills->rows = malloc((graph->fill_count + 1) * sizeof *fills->rows);
    if (!fills->rows)
        return -ENOMEM;
    for (size_t i = 0; i < graph->fill_count; i++) {
        const struct graph_fill *found = &graph->fills[i];
        const struct live_entry *block = &blocks->blocks[found->block];
        fills->rows[fills->count++] =
            (struct profile_block_fill){.path = block->node,
                                        .shape = (int)found->shape,
                                        .unit = found->unit,
                                        .count = 1,
                                        .bytes = block->size_bytes,
                                        .used_bytes = found->used_bytes,
                                        .live_count = figure_or(paths[block->row].live_count, 0)};
    }
    qsort(fills->rows, fills->count, sizeof *fills->rows, block_fills_compare);
    block_fills_join(fills);
    return 0;
}

struct figure block_fills_count(const struct block_fills *fills)
{
    uint64_t count = 0;
    for (size_t i = 0; i < fills->count; i++)
        count += fills->rows[i].count;
    return figure_of(count);
}

void block_fills_release(struct block_fills *fills)
{
    free(fills->rows);
    *fills = (struct block_fills){0};
}

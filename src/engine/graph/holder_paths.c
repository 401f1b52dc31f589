/* What each call path retains (holder_tree.h). One walk goes through the tree of dominators from
 * the top, with a running sum of the blocks that it has entered. What a path retains is what the
 * sum grows by between entering a topmost block of the path and leaving that block. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "graph/holder_tree.h"

struct holder_paths_walk {
    const struct graph *graph;
    const struct graph_dominators *dominators;
    const struct holder_names *names;
    uint32_t *rows;            /* by order: the row of its path; GRAPH_NONE: it is no block */
    uint32_t *first, *next;    /* by order: the list of what it dominates; 0: none */
    uint32_t *open;            /* by row: how many blocks of the path the walk is inside of */
    uint64_t bytes, count;     /* of the blocks entered so far */
    struct holder_path *paths; /* rows */
    size_t path_count, path_room;
    struct map by_path;
};

static uint32_t holder_paths_row(struct holder_paths_walk *walk, uint32_t path)
{
    uint64_t hash = hash_u64(path);
    uint32_t row;
    for (struct map_probe probe = map_probe(&walk->by_path, hash); map_next(&probe, &row);)
        if (walk->paths[row].path == path)
            return row;
    if (!array_make_room(&walk->paths, &walk->path_room, walk->path_count, sizeof *walk->paths) ||
        !map_try_add(&walk->by_path, hash, (uint32_t)walk->path_count))
        return GRAPH_NONE;
    walk->paths[walk->path_count] = (struct holder_path){.path = path};
    return (uint32_t)walk->path_count++;
}

/* The block of an order; GRAPH_NONE: the order is no block's. */
static uint32_t holder_paths_block(const struct holder_paths_walk *walk, uint32_t order)
{
    uint32_t node = walk->dominators->nodes[order], holders = walk->dominators->holder_count;
    return node > holders && node - 1 - holders < walk->graph->count ? node - 1 - holders
                                                                     : GRAPH_NONE;
}

static bool holder_paths_take_block(struct holder_paths_walk *walk, uint32_t order)
{
    uint32_t block = holder_paths_block(walk, order);
    walk->rows[order] = GRAPH_NONE;
    if (block == GRAPH_NONE)
        return true;
    uint32_t row = holder_paths_row(walk, walk->names->path(walk->names->context, block));
    if (row == GRAPH_NONE)
        return false;
    walk->rows[order] = row;
    walk->paths[row].own_count++;
    walk->paths[row].own_bytes += walk->graph->blocks[block].size_bytes;
    return true;
}

static void holder_paths_link(struct holder_paths_walk *walk)
{
    const struct graph_dominators *dominators = walk->dominators;
    for (uint32_t order = dominators->count; order-- > 1;) {
        uint32_t above = dominators->dominators[order];
        walk->next[order] = walk->first[above];
        walk->first[above] = order;
    }
}

/* Subtracts the sum so far (modulo 2^64); leaving the block adds the sum of then. */
static void holder_paths_enter(struct holder_paths_walk *walk, uint32_t order)
{
    uint32_t row = walk->rows[order];
    if (row == GRAPH_NONE)
        return;
    if (!walk->open[row]++) {
        walk->paths[row].retained_bytes -= walk->bytes;
        walk->paths[row].retained_count -= walk->count;
    }
    walk->bytes += walk->graph->blocks[holder_paths_block(walk, order)].size_bytes;
    walk->count++;
}

static void holder_paths_leave(struct holder_paths_walk *walk, uint32_t order)
{
    uint32_t row = walk->rows[order];
    if (row == GRAPH_NONE || --walk->open[row])
        return;
    walk->paths[row].retained_bytes += walk->bytes;
    walk->paths[row].retained_count += walk->count;
}

static void holder_paths_go(struct holder_paths_walk *walk)
{
    uint32_t order = 0;
    for (;;) {
        if (walk->first[order]) {
            order = walk->first[order];
            holder_paths_enter(walk, order);
            continue;
        }
        while (order && !walk->next[order]) {
            holder_paths_leave(walk, order);
            order = walk->dominators->dominators[order];
        }
        if (!order)
            return;
        holder_paths_leave(walk, order);
        order = walk->next[order];
        holder_paths_enter(walk, order);
    }
}

static int holder_paths_compare(const void *left, const void *right)
{
    const struct holder_path *a = left, *b = right;
    if (a->retained_bytes != b->retained_bytes)
        return a->retained_bytes < b->retained_bytes ? 1 : -1;
    return (a->path > b->path) - (a->path < b->path);
}

static int holder_paths_run(struct holder_paths_walk *walk)
{
    size_t count = walk->dominators->count;
    walk->rows = calloc(count + 1, sizeof *walk->rows);
    walk->first = calloc(count + 1, sizeof *walk->first);
    walk->next = calloc(count + 1, sizeof *walk->next);
    if (!walk->rows || !walk->first || !walk->next)
        return -ENOMEM;
    for (uint32_t order = 0; order < count; order++)
        if (!holder_paths_take_block(walk, order))
            return -ENOMEM;
    walk->open = calloc(walk->path_count + 1, sizeof *walk->open);
    if (!walk->open)
        return -ENOMEM;
    holder_paths_link(walk);
    holder_paths_go(walk);
    if (walk->path_count)
        qsort(walk->paths, walk->path_count, sizeof *walk->paths, holder_paths_compare);
    return 0;
}

int holder_paths_make(struct holder_path **out, size_t *count, const struct graph *graph,
                      const struct graph_dominators *dominators, const struct holder_names *names)
{
    struct holder_paths_walk walk = {.graph = graph, .dominators = dominators, .names = names};
    int error = holder_paths_run(&walk);
    free(walk.rows);
    free(walk.first);
    free(walk.next);
    free(walk.open);
    map_release(&walk.by_path);
    if (error)
        free(walk.paths);
    *out = error ? NULL : walk.paths;
    *count = error ? 0 : walk.path_count;
    return error;
}

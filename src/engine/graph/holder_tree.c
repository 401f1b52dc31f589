/* Groups the tree of dominators by call path (holder_tree.h). Nodes are taken by their orders, so
 * the dominator of a node has its group before the node. */
#include "graph/holder_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

/* Deeper groups, and those beyond MOST_GROUPS, are one HOLDER_REST with all that is below them. */
enum { MOST_DEPTH = 24, MOST_GROUPS = 1 << 20 };

struct holder_tree_making {
    struct holder_tree *tree;
    const struct graph *graph;
    const struct graph_dominators *dominators;
    const struct graph_shares *shares;
    const struct holder_names *names;
    uint32_t *of_orders; /* by order: its group */
    struct map by_key;   /* of groups */
    uint32_t last;       /* the group that was found last */
    bool no_memory;
};

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint64_t holder_tree_hash(const struct holder_group *key)
{
    return hash_u64(hash_u64((uint64_t)key->parent << 32 | key->key) + key->kind);
}

static bool holder_tree_equal(const struct holder_group *group, const struct holder_group *key)
{
    return group->parent == key->parent && group->key == key->key && group->kind == key->kind;
}

static uint32_t holder_tree_find(struct holder_tree_making *making, const struct holder_group *key,
                                 uint64_t hash)
{
    const struct holder_group *groups = making->tree->groups;
    uint32_t number;
    if (making->tree->count && holder_tree_equal(&groups[making->last], key))
        return making->last;
    for (struct map_probe probe = map_probe(&making->by_key, hash); map_next(&probe, &number);)
        if (holder_tree_equal(&groups[number], key))
            return making->last = number;
    return GRAPH_NONE;
}

static uint32_t holder_tree_add(struct holder_tree_making *making, const struct holder_group *key)
{
    struct holder_tree *tree = making->tree;
    uint64_t hash = holder_tree_hash(key);
    uint32_t number = holder_tree_find(making, key, hash);
    if (number != GRAPH_NONE)
        return number;
    if (!array_make_room(&tree->groups, &tree->room, tree->count, sizeof *tree->groups) ||
        !map_try_add(&making->by_key, hash, (uint32_t)tree->count)) {
        making->no_memory = true;
        return GRAPH_NONE;
    }
    tree->groups[tree->count] = *key;
    return making->last = (uint32_t)tree->count++;
}

/* The group of that name at or above `parent`; if there is none, the one right below it, made if
 * needed. */
static uint32_t holder_tree_below(struct holder_tree_making *making, uint32_t parent,
                                  enum holder_kind kind, uint32_t name)
{
    const struct holder_group *groups = making->tree->groups;
    struct holder_group key = {.parent = parent, .key = name, .kind = (uint8_t)kind};
    for (uint32_t at = parent; at != GRAPH_NONE; at = groups[at].parent)
        if (groups[at].kind == HOLDER_REST || (groups[at].kind == kind && groups[at].key == name))
            return at;
    key.depth = parent == GRAPH_NONE ? 0 : (uint8_t)(groups[parent].depth + 1);
    if (key.depth == MOST_DEPTH || making->tree->count >= MOST_GROUPS) {
        key.kind = HOLDER_REST;
        key.key = 0;
    }
    return holder_tree_add(making, &key);
}

/* ---- Whose group ----------------------------------------------------------------------------- */

/* The parent of a node that the root dominates and that is no holder. A range that is a holder has
 * no parent. */
static uint32_t holder_tree_top_of(struct holder_tree_making *making, uint32_t order)
{
    uint32_t group = making->shares->group_of[order];
    return group == GRAPH_NONE ? GRAPH_NONE
                               : holder_tree_below(making, GRAPH_NONE, HOLDER_SEVERAL, group);
}

static uint32_t holder_tree_group_of(struct holder_tree_making *making, uint32_t order)
{
    const struct graph_dominators *dominators = making->dominators;
    uint32_t node = dominators->nodes[order], above = dominators->dominators[order];
    if (node <= dominators->holder_count)
        return holder_tree_below(making, GRAPH_NONE, HOLDER_ROOT, node - 1);
    uint32_t block = node - 1 - dominators->holder_count;
    bool is_range = block >= making->graph->count;
    uint32_t parent = above ? making->of_orders[above] : holder_tree_top_of(making, order);
    if (making->no_memory)
        return GRAPH_NONE;
    if (is_range)
        return holder_tree_below(
            making, parent, HOLDER_RANGE,
            making->names->range(making->names->context, block - making->graph->count));
    return holder_tree_below(making, parent, HOLDER_BLOCKS,
                             making->names->path(making->names->context, block));
}

static void holder_tree_count(struct holder_tree_making *making, uint32_t order, uint32_t group)
{
    uint32_t block = making->dominators->nodes[order] - 1 - making->dominators->holder_count;
    making->of_orders[order] = group;
    if (making->dominators->nodes[order] <= making->dominators->holder_count ||
        block >= making->graph->count)
        return;
    making->tree->groups[group].own_count++;
    making->tree->groups[group].own_bytes += making->graph->blocks[block].size_bytes;
}

static void holder_tree_retain(struct holder_tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct holder_group *group = &tree->groups[i];
        group->retained_count += group->own_count;
        group->retained_bytes += group->own_bytes;
        if (group->parent == GRAPH_NONE)
            continue;
        tree->groups[group->parent].retained_count += group->retained_count;
        tree->groups[group->parent].retained_bytes += group->retained_bytes;
    }
}

int holder_tree_make(struct holder_tree *tree, const struct graph *graph,
                     const struct graph_dominators *dominators, const struct graph_shares *shares,
                     const struct holder_names *names)
{
    struct holder_tree_making making = {
        .tree = tree, .graph = graph, .dominators = dominators, .shares = shares, .names = names};
    *tree = (struct holder_tree){0};
    making.of_orders = calloc(dominators->count + 1, sizeof *making.of_orders);
    making.no_memory = !making.of_orders;
    for (uint32_t order = 1; order < dominators->count && !making.no_memory; order++) {
        uint32_t group = holder_tree_group_of(&making, order);
        if (!making.no_memory)
            holder_tree_count(&making, order, group);
    }
    free(making.of_orders);
    map_release(&making.by_key);
    if (making.no_memory)
        holder_tree_release(tree);
    else
        holder_tree_retain(tree);
    return making.no_memory ? -ENOMEM : 0;
}

void holder_tree_release(struct holder_tree *tree)
{
    free(tree->groups);
    *tree = (struct holder_tree){0};
}

/* ---- Cutting --------------------------------------------------------------------------------- */

struct cutting {
    struct holder_tree *from, to;
    uint32_t *moved; /* by group: its number in `to`; if it is cut off, the number of its rest */
    uint32_t *rests; /* by group of `to`: the number of its rest + 1; the last entry: the top's */
};

/* The rest below a group of the new tree, made if needed. `parent` GRAPH_NONE: at the top. */
static uint32_t holder_tree_rest_of(struct cutting *cutting, uint32_t parent)
{
    uint32_t *rest = &cutting->rests[parent == GRAPH_NONE ? 2 * cutting->from->count : parent];
    if (!*rest) {
        unsigned depth = parent == GRAPH_NONE ? 0 : cutting->to.groups[parent].depth + 1u;
        cutting->to.groups[cutting->to.count++] =
            (struct holder_group){.parent = parent, .kind = HOLDER_REST, .depth = (uint8_t)depth};
        *rest = (uint32_t)cutting->to.count;
    }
    return *rest - 1;
}

static void holder_tree_keep(struct cutting *cutting, uint32_t number, bool stays)
{
    const struct holder_group *group = &cutting->from->groups[number];
    uint32_t parent = group->parent == GRAPH_NONE ? GRAPH_NONE : cutting->moved[group->parent];
    bool is_below_rest = parent != GRAPH_NONE && cutting->to.groups[parent].kind == HOLDER_REST;
    if (stays && !is_below_rest && group->kind != HOLDER_REST) {
        cutting->moved[number] = (uint32_t)cutting->to.count;
        cutting->to.groups[cutting->to.count] = *group;
        cutting->to.groups[cutting->to.count++].parent = parent;
        return;
    }
    uint32_t rest = is_below_rest ? parent : holder_tree_rest_of(cutting, parent);
    struct holder_group *to = &cutting->to.groups[rest];
    cutting->moved[number] = rest;
    to->merged += is_below_rest ? 0 : 1;
    to->own_count += group->own_count;
    to->own_bytes += group->own_bytes;
}

/* Groups that stay retain what they did; a rest retains what its groups own. */
static void holder_tree_settle(struct holder_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct holder_group *group = &tree->groups[i];
        if (group->kind == HOLDER_REST) {
            group->retained_count = group->own_count;
            group->retained_bytes = group->own_bytes;
        }
    }
}

int holder_tree_cut(struct holder_tree *tree, uint64_t least_bytes, unsigned depth)
{
    struct cutting cutting = {.from = tree};
    cutting.to.groups = calloc(2 * tree->count + 1, sizeof *cutting.to.groups);
    cutting.moved = calloc(tree->count + 1, sizeof *cutting.moved);
    cutting.rests = calloc(2 * tree->count + 1, sizeof *cutting.rests);
    bool there = cutting.to.groups && cutting.moved && cutting.rests;
    for (uint32_t i = 0; i < tree->count && there; i++) {
        const struct holder_group *group = &tree->groups[i];
        holder_tree_keep(&cutting, i,
                         group->depth <= depth && group->retained_bytes >= least_bytes &&
                             group->retained_count);
    }
    free(cutting.moved);
    free(cutting.rests);
    if (!there) {
        free(cutting.to.groups);
        return -ENOMEM;
    }
    holder_tree_settle(&cutting.to);
    holder_tree_release(tree);
    *tree = cutting.to;
    return 0;
}

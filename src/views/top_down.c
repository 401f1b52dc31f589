/* See top_down.h. */
#include "views/top_down.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "views/functions.h"

static uint64_t value_of(const struct call_metrics *metrics, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)metrics + offset, sizeof value);
    return value == UINT64_MAX ? 0 : value;
}

uint64_t *call_tree_inclusive(const struct profile *profile, size_t offset, const bool *wanted)
{
    uint64_t *values = calloc(profile->node_count + 1, sizeof *values);
    for (size_t i = 0; values && i < profile->site_count; i++)
        if (!wanted || wanted[profile->sites[i].path])
            values[profile->sites[i].path] += value_of(&profile->sites[i].metrics, offset);
    for (size_t i = profile->node_count; values && i-- > 1;)
        values[profile->nodes[i].parent] += values[i];
    return values;
}

/* ---- Finding the child of a node for a function -------------------------------------------- */

struct builder {
    const struct profile *profile;
    const bool *hidden;
    struct top_down *tree;
    uint32_t *table; /* open addressing; indices of nodes, 0: empty */
    size_t mask;
    uint32_t *node_of; /* by node of the profile */
};

static size_t slot_of(const struct builder *builder, uint32_t parent, uint32_t key)
{
    size_t at = hash_u64((uint64_t)parent << 32 | key) & builder->mask;
    for (uint32_t found; (found = builder->table[at]); at = (at + 1) & builder->mask)
        if (builder->tree->nodes[found].parent == parent && builder->tree->nodes[found].key == key)
            break;
    return at;
}

static int grow(struct builder *builder)
{
    struct top_down *tree = builder->tree;
    size_t capacity = tree->capacity ? tree->capacity * 2 : 512;
    struct top_down_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
    if (!nodes)
        return -ENOMEM;
    tree->nodes = nodes;
    tree->capacity = capacity;
    free(builder->table);
    builder->table = calloc(capacity * 2, sizeof *builder->table);
    builder->mask = capacity * 2 - 1;
    if (!builder->table)
        return -ENOMEM;
    for (size_t i = 1; i < tree->count; i++)
        builder->table[slot_of(builder, nodes[i].parent, nodes[i].key)] = (uint32_t)i;
    return 0;
}

/* 0: out of memory. */
static uint32_t child_for(struct builder *builder, uint32_t parent, uint32_t code, uint32_t line)
{
    struct top_down *tree = builder->tree;
    uint32_t key = function_key(builder->profile, code, line);
    size_t slot = slot_of(builder, parent, key);
    if (builder->table[slot])
        return builder->table[slot];
    if (tree->count == tree->capacity) {
        if (grow(builder))
            return 0;
        slot = slot_of(builder, parent, key);
    }
    uint32_t made = (uint32_t)tree->count++;
    tree->nodes[made] =
        (struct top_down_node){key, code, line, parent, 0, tree->nodes[parent].first_child, 0, 0};
    tree->nodes[parent].first_child = made;
    return builder->table[slot] = made;
}

/* The tree's node below `at` for the frames of a location, outermost first. */
static int add_frames(struct builder *builder, uint32_t location, uint32_t *at)
{
    const struct profile_code *code = &builder->profile->codes[location];
    for (uint32_t i = code->line_count; i-- > 0;) {
        uint32_t line = code->first_line + i;
        if (builder->hidden && builder->hidden[line])
            continue;
        *at = child_for(builder, *at, location, line);
        if (!*at)
            return -ENOMEM;
    }
    return 0;
}

/* A path of hidden frames only stands below the root as its innermost one. */
static int add_own(struct builder *builder, uint32_t path, uint64_t value)
{
    uint32_t at = builder->node_of[path];
    uint32_t location = builder->profile->nodes[path].location;
    if (!at)
        at = child_for(builder, 0, location, builder->profile->codes[location].first_line);
    if (!at)
        return -ENOMEM;
    builder->tree->nodes[at].exclusive += value;
    return 0;
}

static int build(struct builder *builder, const uint64_t *inclusive, size_t offset,
                 const bool *wanted)
{
    const struct profile *profile = builder->profile;
    int error = grow(builder);
    if (error)
        return error;
    builder->tree->nodes[builder->tree->count++] = (struct top_down_node){.key = UINT32_MAX};
    for (size_t i = 1; i < profile->node_count && !error; i++) {
        builder->node_of[i] = builder->node_of[profile->nodes[i].parent];
        if (inclusive[i])
            error = add_frames(builder, profile->nodes[i].location, &builder->node_of[i]);
    }
    for (size_t i = 0; i < profile->site_count && !error; i++) {
        uint64_t value = value_of(&profile->sites[i].metrics, offset);
        if (value && (!wanted || wanted[profile->sites[i].path]))
            error = add_own(builder, profile->sites[i].path, value);
    }
    for (size_t i = builder->tree->count; i-- > 0 && !error;) {
        struct top_down_node *node = &builder->tree->nodes[i];
        node->inclusive += node->exclusive;
        if (i)
            builder->tree->nodes[node->parent].inclusive += node->inclusive;
    }
    return error;
}

int top_down_init(struct top_down *tree, const struct profile *profile, size_t offset,
                  const bool *hidden, const bool *wanted)
{
    *tree = (struct top_down){0};
    struct builder builder = {.profile = profile, .hidden = hidden, .tree = tree};
    uint64_t *inclusive = call_tree_inclusive(profile, offset, wanted);
    builder.node_of = calloc(profile->node_count + 1, sizeof *builder.node_of);
    int error = inclusive && builder.node_of ? build(&builder, inclusive, offset, wanted) : -ENOMEM;
    free(inclusive);
    free(builder.node_of);
    free(builder.table);
    if (error)
        top_down_release(tree);
    return error;
}

void top_down_release(struct top_down *tree)
{
    free(tree->nodes);
    *tree = (struct top_down){0};
}

/* ---- Sorting ------------------------------------------------------------------------------- */

static int by_falling_value(const void *a, const void *b)
{
    const struct top_down_node *left = *(const struct top_down_node *const *)a;
    const struct top_down_node *right = *(const struct top_down_node *const *)b;
    if (left->inclusive != right->inclusive)
        return left->inclusive < right->inclusive ? 1 : -1;
    return left < right ? -1 : left > right;
}

void top_down_sort(struct top_down *tree, uint32_t node)
{
    size_t count = 0;
    for (uint32_t child = tree->nodes[node].first_child; child; child = tree->nodes[child].next)
        count++;
    struct top_down_node **children = calloc(count + 1, sizeof(struct top_down_node *));
    if (!children) /* unsorted, but right */
        return;
    count = 0;
    for (uint32_t child = tree->nodes[node].first_child; child; child = tree->nodes[child].next)
        children[count++] = &tree->nodes[child];
    qsort(children, count, sizeof(struct top_down_node *), by_falling_value);
    uint32_t *link = &tree->nodes[node].first_child;
    for (size_t i = 0; i < count; i++) {
        *link = (uint32_t)(children[i] - tree->nodes);
        link = &children[i]->next;
    }
    *link = 0;
    free(children);
}

/* Builds the call tree from main() down (top_down.h). Nodes are numbered in a table with open
 * addressing by (parent, function), but for the newest child of each. Values are added to parents
 * in one pass from the last node to the first. */
#include "aggregate/top_down.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "aggregate/functions.h"

static void top_down_add(struct figure *sum, struct figure value)
{
    *sum = figure_add(*sum, value);
}

struct figure *top_down_inclusive(const struct profile *profile, const struct metric_row *row,
                                  const bool *wanted)
{
    struct figure *values = malloc((profile->node_count + 1) * sizeof *values);
    for (size_t i = 0; values && i < profile->node_count; i++)
        values[i] = figure_of(0);
    for (size_t i = 0; values && i < profile->site_count; i++)
        if (!wanted || wanted[profile_site_path(profile, i)])
            top_down_add(&values[profile_site_path(profile, i)],
                         profile_site_figure(profile, i, row));
    for (size_t i = profile->node_count; values && i-- > 1;)
        top_down_add(&values[profile->nodes[i].parent], values[i]);
    return values;
}

/* ---- Finding the child of a node for a function -------------------------------------------- */

struct builder {
    const struct profile *profile;
    const bool *hidden;
    struct top_down *tree;
    struct map children; /* of nodes of the tree, by parent and key; not the newest of a parent */
    uint32_t *node_of;   /* by node of the profile */
};

static uint64_t top_down_hash(uint32_t parent, uint32_t key)
{
    return hash_u64((uint64_t)parent << 32 | key);
}

/* The child of `parent` for a function; 0: none. Most nodes have one child. It is the newest, which
 * is found without the table, so the table has as many entries as the tree has leaves. */
static uint32_t top_down_find_child(const struct builder *builder, uint32_t parent, uint32_t key)
{
    const struct top_down_node *nodes = builder->tree->nodes;
    uint32_t newest = nodes[parent].first_child, found;
    if (!newest || nodes[newest].key == key)
        return newest;
    if (!nodes[newest].next)
        return 0;
    for (struct map_probe probe = map_probe(&builder->children, top_down_hash(parent, key));
         map_next(&probe, &found);)
        if (nodes[found].parent == parent && nodes[found].key == key)
            return found;
    return 0;
}

/* Makes room for a child of `parent`, and puts its newest one so far into the table. */
static bool top_down_make_room(struct builder *builder, uint32_t parent)
{
    struct top_down *tree = builder->tree;
    if (!array_make_room(&tree->nodes, &tree->capacity, tree->count, sizeof *tree->nodes))
        return false;
    uint32_t newest = tree->nodes[parent].first_child;
    return !newest ||
           map_try_add(&builder->children, top_down_hash(parent, tree->nodes[newest].key), newest);
}

/* 0: out of memory. */
static uint32_t top_down_child_for(struct builder *builder, uint32_t parent, uint32_t code,
                                   uint32_t line)
{
    struct top_down *tree = builder->tree;
    uint32_t key = function_key(builder->profile, code, line);
    uint32_t found = top_down_find_child(builder, parent, key);
    if (found)
        return found;
    if (!top_down_make_room(builder, parent))
        return 0;
    uint32_t made = (uint32_t)tree->count++;
    tree->nodes[made] = (struct top_down_node){.key = key,
                                               .code = code,
                                               .line = line,
                                               .parent = parent,
                                               .next = tree->nodes[parent].first_child,
                                               .inclusive = figure_of(0),
                                               .exclusive = figure_of(0)};
    tree->nodes[parent].first_child = made;
    return made;
}

/* The tree's node below `at` for the frames of a location, outermost first. */
static int top_down_add_frames(struct builder *builder, uint32_t location, uint32_t *at)
{
    const struct profile_code *code = &builder->profile->codes[location];
    for (uint32_t i = code->line_count; i-- > 0;) {
        uint32_t line = code->first_line + i;
        if (builder->hidden && builder->hidden[line])
            continue;
        *at = top_down_child_for(builder, *at, location, line);
        if (!*at)
            return -ENOMEM;
    }
    return 0;
}

/* A path of hidden frames only stands below the root as its innermost one. */
static int top_down_add_own(struct builder *builder, uint32_t path, struct figure value)
{
    uint32_t at = builder->node_of[path];
    uint32_t location = builder->profile->nodes[path].location;
    if (!at)
        at = top_down_child_for(builder, 0, location, builder->profile->codes[location].first_line);
    if (!at)
        return -ENOMEM;
    top_down_add(&builder->tree->nodes[at].exclusive, value);
    return 0;
}

static int top_down_build(struct builder *builder, const struct figure *inclusive,
                          const struct metric_row *row, const bool *wanted)
{
    const struct profile *profile = builder->profile;
    int error = 0;
    if (!array_make_room(&builder->tree->nodes, &builder->tree->capacity, 0,
                         sizeof *builder->tree->nodes))
        return -ENOMEM;
    builder->tree->nodes[builder->tree->count++] = (struct top_down_node){
        .key = UINT32_MAX, .inclusive = figure_of(0), .exclusive = figure_of(0)};
    for (size_t i = 1; i < profile->node_count && !error; i++) {
        builder->node_of[i] = builder->node_of[profile->nodes[i].parent];
        if (!figure_zero(inclusive[i]))
            error = top_down_add_frames(builder, profile->nodes[i].location, &builder->node_of[i]);
    }
    for (size_t i = 0; i < profile->site_count && !error; i++) {
        struct figure value = profile_site_figure(profile, i, row);
        if (!figure_zero(value) && (!wanted || wanted[profile_site_path(profile, i)]))
            error = top_down_add_own(builder, profile_site_path(profile, i), value);
    }
    for (size_t i = builder->tree->count; i-- > 0 && !error;) {
        struct top_down_node *node = &builder->tree->nodes[i];
        top_down_add(&node->inclusive, node->exclusive);
        if (i)
            top_down_add(&builder->tree->nodes[node->parent].inclusive, node->inclusive);
    }
    return error;
}

int top_down_init(struct top_down *tree, const struct profile *profile,
                  const struct metric_row *row, const bool *hidden, const bool *wanted)
{
    *tree = (struct top_down){0};
    struct builder builder = {.profile = profile, .hidden = hidden, .tree = tree};
    struct figure *inclusive = top_down_inclusive(profile, row, wanted);
    builder.node_of = calloc(profile->node_count + 1, sizeof *builder.node_of);
    int error =
        inclusive && builder.node_of ? top_down_build(&builder, inclusive, row, wanted) : -ENOMEM;
    free(inclusive);
    free(builder.node_of);
    map_release(&builder.children);
    if (error)
        top_down_release(tree);
    return error;
}

/* ---- Frames without a tree ----------------------------------------------------------------- */

struct top_down_visit {
    const struct profile *profile;
    const bool *hidden;
    top_down_frame *take;
    void *context;
    bool *has_code; /* by code location: its frames were taken */
    bool *is_below; /* by node: a frame on the way to it is shown */
};

/* Returns whether a frame of the location is shown. */
static bool top_down_take_code(struct top_down_visit *visit, uint32_t location)
{
    const struct profile_code *code = &visit->profile->codes[location];
    bool is_shown = false;
    for (uint32_t i = code->line_count; i-- > 0;) {
        uint32_t line = code->first_line + i;
        if (visit->hidden && visit->hidden[line])
            continue;
        is_shown = true;
        if (!visit->has_code[location])
            visit->take(visit->context, location, line);
    }
    visit->has_code[location] = true;
    return is_shown;
}

static void top_down_take_all(struct top_down_visit *visit, const struct figure *inclusive,
                              const struct metric_row *row, const bool *wanted)
{
    const struct profile *profile = visit->profile;
    for (size_t i = 1; i < profile->node_count; i++) {
        const struct profile_node *node = &profile->nodes[i];
        bool is_shown = !figure_zero(inclusive[i]) && top_down_take_code(visit, node->location);
        visit->is_below[i] = visit->is_below[node->parent] || is_shown;
    }
    for (size_t i = 0; i < profile->site_count; i++) {
        uint32_t path = profile_site_path(profile, i), location = profile->nodes[path].location;
        if (!visit->is_below[path] && (!wanted || wanted[path]) &&
            !figure_zero(profile_site_figure(profile, i, row)))
            visit->take(visit->context, location, profile->codes[location].first_line);
    }
}

int top_down_visit_frames(const struct profile *profile, const struct metric_row *row,
                          const bool *hidden, const bool *wanted, top_down_frame *take,
                          void *context)
{
    struct top_down_visit visit = {profile, hidden, take, context, NULL, NULL};
    struct figure *inclusive = top_down_inclusive(profile, row, wanted);
    visit.has_code = calloc(profile->code_count + 1, sizeof *visit.has_code);
    visit.is_below = calloc(profile->node_count + 1, sizeof *visit.is_below);
    int error = inclusive && visit.has_code && visit.is_below ? 0 : -ENOMEM;
    if (!error)
        top_down_take_all(&visit, inclusive, row, wanted);
    free(inclusive);
    free(visit.has_code);
    free(visit.is_below);
    return error;
}

void top_down_release(struct top_down *tree)
{
    free(tree->nodes);
    *tree = (struct top_down){0};
}

/* ---- Sorting ------------------------------------------------------------------------------- */

static int top_down_by_falling_value(const void *a, const void *b)
{
    const struct top_down_node *left = *(const struct top_down_node *const *)a;
    const struct top_down_node *right = *(const struct top_down_node *const *)b;
    int order = figure_compare(right->inclusive, left->inclusive);
    if (order)
        return order;
    return left < right ? -1 : left > right;
}

void top_down_sort(struct top_down *tree, uint32_t node)
{
    size_t count = 0;
    for (uint32_t child = tree->nodes[node].first_child; child; child = tree->nodes[child].next)
        count++;
    if (count < 2)
        return;
    struct top_down_node **children = calloc(count + 1, sizeof(struct top_down_node *));
    if (!children) /* unsorted, but right */
        return;
    count = 0;
    for (uint32_t child = tree->nodes[node].first_child; child; child = tree->nodes[child].next)
        children[count++] = &tree->nodes[child];
    qsort(children, count, sizeof(struct top_down_node *), top_down_by_falling_value);
    uint32_t *link = &tree->nodes[node].first_child;
    for (size_t i = 0; i < count; i++) {
        *link = (uint32_t)(children[i] - tree->nodes);
        link = &children[i]->next;
    }
    *link = 0;
    free(children);
}

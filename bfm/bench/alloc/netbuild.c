/*   input lists ──sort──▶ streams ──queue of starts──▶ scanline ──▶ nets
 *   (shape, cell)         (start)                      │
 *                                     an interval tree per layer (interval: copied geometry),
 *                                     a heap of ends (end), queries and their hits
 *
 * Two shapes are connected when they overlap or touch and lie in the same layer or in neighbouring
 * ones. The input remains until the end; nets are destructed after the search. */
#include "netbuild.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "memory.h"

struct box {
    int32_t x1, y1, x2, y2; /* all inside */
};

struct shape { /* 32 bytes */
    struct box box;
    uint32_t layer, id;
    struct net *net;
};

struct cell { /* 16 */
    struct shape *shape;
    struct cell *next;
};

struct start { /* 24: the next shape of a layer's stream */
    int32_t x;
    uint32_t layer;
    struct cell *cell;
    uint64_t order;
};

struct interval { /* 64: a node of a treap by (y1, id); highest: the largest y2 below it */
    struct interval *left, *right;
    struct box box;
    int32_t highest;
    uint32_t priority, id, layer;
    struct net *net;
    uint64_t pad;
};

struct end { /* 40: a node of a pairing heap by x */
    struct end *child, *sibling;
    struct interval *interval;
    int64_t x;
    uint64_t layer;
};

struct query { /* 40 */
    int32_t y1, y2;
    uint64_t layer;
    struct hit *hits;
    uint64_t count;
    struct net *net;
};

struct hit { /* 16 */
    struct net *net;
    struct hit *next;
};

struct member { /* 16 */
    struct shape *shape;
    struct member *next;
};

struct net { /* 56: union by rank with path compression */
    struct net *parent, *next;
    uint32_t rank, id;
    uint64_t size;
    struct member *first, *last;
    struct bond *bonds;
};

struct bond { /* 24: a connection that merged two nets */
    uint32_t one, other;
    uint64_t weight;
    struct bond *next;
};

struct task {
    uint64_t shapes, allocations, overlaps, net_count;
    struct cell *inputs[NETBUILD_LAYERS];
    struct start *starts[NETBUILD_LAYERS];
    struct interval *trees[NETBUILD_LAYERS];
    struct end *ends;
    struct net *nets;
};

static void *netbuild_need(struct task *task, size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        block_refused(bytes);
    task->allocations++;
    return block;
}

/* --- input ------------------------------------------------------------------------------------ */

/* So wide that a shape overlaps about one other in each layer that it can connect to. */
static int32_t netbuild_side_of(uint64_t shapes)
{
    uint64_t area = shapes / NETBUILD_LAYERS * 12000, side = 1000;
    while (side * side < area)
        side += side / 64;
    return (int32_t)side;
}

static struct box netbuild_random_box(uint64_t *random, int32_t side)
{
    struct box box;
    bool flat = block_random(random) >> 63;
    box.x1 = (int32_t)block_below(random, (uint64_t)side);
    box.y1 = (int32_t)block_below(random, (uint64_t)side);
    box.x2 = box.x1 + 4 + (int32_t)block_below(random, flat ? 160 : 40);
    box.y2 = box.y1 + 4 + (int32_t)block_below(random, flat ? 40 : 160);
    return box;
}

static void netbuild_make_input(struct task *task, uint64_t seed)
{
    uint64_t random = seed * 2 + 1;
    int32_t side = netbuild_side_of(task->shapes);
    for (uint64_t id = 0; id < task->shapes; id++) {
        struct shape *shape = netbuild_need(task, sizeof *shape);
        struct cell *cell = netbuild_need(task, sizeof *cell);
        *shape = (struct shape){netbuild_random_box(&random, side),
                                (uint32_t)(id % NETBUILD_LAYERS), (uint32_t)id, NULL};
        *cell = (struct cell){shape, task->inputs[shape->layer]};
        task->inputs[shape->layer] = cell;
    }
}

static bool netbuild_cell_before(const struct cell *a, const struct cell *b)
{
    return a->shape->box.x1 != b->shape->box.x1 ? a->shape->box.x1 < b->shape->box.x1
                                                : a->shape->id < b->shape->id;
}

static struct cell *netbuild_merge(struct cell *a, struct cell *b)
{
    struct cell *list = NULL, **end = &list;
    while (a && b) {
        struct cell **least = netbuild_cell_before(a, b) ? &a : &b;
        *end = *least;
        end = &(*least)->next;
        *least = (*least)->next;
    }
    *end = a ? a : b;
    return list;
}

/* Bottom up: sorted[k] holds 2^k cells or none. */
static struct cell *netbuild_sort(struct cell *list)
{
    struct cell *sorted[40] = {NULL}, *result = NULL;
    while (list) {
        struct cell *carry = list;
        unsigned k = 0;
        list = list->next;
        carry->next = NULL;
        for (; sorted[k]; k++) {
            carry = netbuild_merge(sorted[k], carry);
            sorted[k] = NULL;
        }
        sorted[k] = carry;
    }
    for (unsigned k = 0; k < 40; k++)
        result = netbuild_merge(sorted[k], result);
    return result;
}

/* --- the queue of starts: as many as there are layers, so it is searched ---------------------- */

static void netbuild_start_push(struct task *task, uint32_t layer, struct cell *cell,
                                uint64_t order)
{
    struct start *start = NULL;
    if (cell) {
        start = netbuild_need(task, sizeof *start);
        *start = (struct start){cell->shape->box.x1, layer, cell, order};
    }
    task->starts[layer] = start;
}

/* The next shape of all streams, NULL at the end. */
static struct shape *netbuild_start_pop(struct task *task)
{
    struct start *least = NULL;
    for (unsigned layer = 0; layer < NETBUILD_LAYERS; layer++) {
        struct start *start = task->starts[layer];
        if (start && (!least || start->x < least->x))
            least = start;
    }
    if (!least)
        return NULL;
    struct shape *shape = least->cell->shape;
    netbuild_start_push(task, least->layer, least->cell->next, least->order + 1);
    free(least);
    return shape;
}

/* --- the heap of ends ------------------------------------------------------------------------- */

static struct end *netbuild_ends_meld(struct end *a, struct end *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->x < a->x) {
        struct end *swap = a;
        a = b;
        b = swap;
    }
    b->sibling = a->child;
    a->child = b;
    return a;
}

static struct end *netbuild_ends_without_first(struct end *first)
{
    struct end *pairs = NULL, *list = first->child, *heap = NULL;
    while (list) {
        struct end *one = list, *two = list->sibling;
        list = two ? two->sibling : NULL;
        one->sibling = NULL;
        if (two)
            two->sibling = NULL;
        one = netbuild_ends_meld(one, two);
        one->sibling = pairs;
        pairs = one;
    }
    while (pairs) {
        struct end *next = pairs->sibling;
        pairs->sibling = NULL;
        heap = netbuild_ends_meld(heap, pairs);
        pairs = next;
    }
    return heap;
}

/* --- interval trees --------------------------------------------------------------------------- */

static bool netbuild_interval_before(const struct interval *a, const struct interval *b)
{
    return a->box.y1 != b->box.y1 ? a->box.y1 < b->box.y1 : a->id < b->id;
}

static void netbuild_interval_update(struct interval *node)
{
    int32_t highest = node->box.y2;
    if (node->left && node->left->highest > highest)
        highest = node->left->highest;
    if (node->right && node->right->highest > highest)
        highest = node->right->highest;
    node->highest = highest;
}

/* Splits `tree` by `at`: what is before it, and the rest. */
static void netbuild_interval_split(struct interval *tree, const struct interval *at,
                                    struct interval **before, struct interval **after)
{
    if (!tree) {
        *before = *after = NULL;
        return;
    }
    if (netbuild_interval_before(tree, at)) {
        netbuild_interval_split(tree->right, at, &tree->right, after);
        *before = tree;
    } else {
        netbuild_interval_split(tree->left, at, before, &tree->left);
        *after = tree;
    }
    netbuild_interval_update(tree);
}

static struct interval *netbuild_interval_join(struct interval *a, struct interval *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        a->right = netbuild_interval_join(a->right, b);
        netbuild_interval_update(a);
        return a;
    }
    b->left = netbuild_interval_join(a, b->left);
    netbuild_interval_update(b);
    return b;
}

static struct interval *netbuild_interval_insert(struct interval *tree, struct interval *node)
{
    if (!tree || tree->priority < node->priority) {
        netbuild_interval_split(tree, node, &node->left, &node->right);
        netbuild_interval_update(node);
        return node;
    }
    if (netbuild_interval_before(node, tree))
        tree->left = netbuild_interval_insert(tree->left, node);
    else
        tree->right = netbuild_interval_insert(tree->right, node);
    netbuild_interval_update(tree);
    return tree;
}

static struct interval *netbuild_interval_remove(struct interval *tree, const struct interval *node)
{
    if (tree == node)
        return netbuild_interval_join(tree->left, tree->right);
    if (netbuild_interval_before(node, tree))
        tree->left = netbuild_interval_remove(tree->left, node);
    else
        tree->right = netbuild_interval_remove(tree->right, node);
    netbuild_interval_update(tree);
    return tree;
}

static void netbuild_interval_search(struct task *task, const struct interval *tree,
                                     struct query *query)
{
    if (!tree || tree->highest < query->y1)
        return;
    netbuild_interval_search(task, tree->left, query);
    if (tree->box.y1 > query->y2)
        return;
    if (tree->box.y2 >= query->y1) {
        struct hit *hit = netbuild_need(task, sizeof *hit);
        *hit = (struct hit){tree->net, query->hits};
        query->hits = hit;
        query->count++;
    }
    netbuild_interval_search(task, tree->right, query);
}

/* --- nets -------------------------------------------------------------------------------------- */

static struct net *netbuild_begin(struct task *task, struct shape *shape)
{
    struct net *net = netbuild_need(task, sizeof *net);
    struct member *member = netbuild_need(task, sizeof *member);
    *member = (struct member){shape, NULL};
    *net = (struct net){net, task->nets, 0, shape->id, 1, member, member, NULL};
    task->nets = net;
    task->net_count++;
    shape->net = net;
    return net;
}

static struct net *netbuild_find(struct net *net)
{
    struct net *root = net;
    while (root->parent != root)
        root = root->parent;
    while (net->parent != root) {
        struct net *up = net->parent;
        net->parent = root;
        net = up;
    }
    return root;
}

static void netbuild_connect(struct task *task, struct net *a, struct net *b)
{
    a = netbuild_find(a);
    b = netbuild_find(b);
    if (a == b)
        return;
    if (a->rank < b->rank) {
        struct net *swap = a;
        a = b;
        b = swap;
    }
    a->rank += a->rank == b->rank;
    b->parent = a;
    a->size += b->size;
    a->id = a->id < b->id ? a->id : b->id;
    a->last->next = b->first;
    a->last = b->last;
    b->first = b->last = NULL;
    struct bond *bond = netbuild_need(task, sizeof *bond);
    *bond = (struct bond){a->id, b->id, a->size, a->bonds};
    a->bonds = bond;
    task->net_count--;
}

/* Of one net; the sum over all does not depend on their order. */
static uint64_t netbuild_digest(uint64_t size, uint64_t least_id)
{
    uint64_t state = (least_id << 24) + size + 1;
    return block_random(&state);
}

static void netbuild_destruct(struct task *task, struct netbuild_result *result)
{
    for (struct net *net = task->nets, *next; net; net = next) {
        next = net->next;
        if (net->parent == net)
            result->checksum += netbuild_digest(net->size, net->id);
        for (struct member *member = net->first, *after; member; member = after) {
            after = member->next;
            free(member);
        }
        for (struct bond *bond = net->bonds, *after; bond; bond = after) {
            after = bond->next;
            free(bond);
        }
    }
    for (struct net *net = task->nets, *next; net; net = next) {
        next = net->next;
        free(net);
    }
}

/* --- the scanline ----------------------------------------------------------------------------- */

static void netbuild_leave_before(struct task *task, int64_t x)
{
    while (task->ends && task->ends->x < x) {
        struct end *end = task->ends;
        task->ends = netbuild_ends_without_first(end);
        task->trees[end->layer] = netbuild_interval_remove(task->trees[end->layer], end->interval);
        free(end->interval);
        free(end);
    }
}

static void netbuild_search_layer(struct task *task, const struct shape *shape, unsigned layer)
{
    struct query *query = netbuild_need(task, sizeof *query);
    *query = (struct query){shape->box.y1, shape->box.y2, layer, NULL, 0, shape->net};
    netbuild_interval_search(task, task->trees[layer], query);
    task->overlaps += query->count;
    for (struct hit *hit = query->hits, *next; hit; hit = next) {
        next = hit->next;
        netbuild_connect(task, query->net, hit->net);
        free(hit);
    }
    free(query);
}

static void netbuild_enter(struct task *task, struct shape *shape)
{
    struct interval *interval = netbuild_need(task, sizeof *interval);
    struct end *end = netbuild_need(task, sizeof *end);
    uint64_t random = shape->id * 0x9E3779B97F4A7C15u + 1;
    *interval = (struct interval){.box = shape->box,
                                  .highest = shape->box.y2,
                                  .id = shape->id,
                                  .priority = (uint32_t)(block_random(&random) >> 32),
                                  .layer = shape->layer,
                                  .net = shape->net};
    *end = (struct end){NULL, NULL, interval, shape->box.x2, shape->layer};
    task->trees[shape->layer] = netbuild_interval_insert(task->trees[shape->layer], interval);
    task->ends = netbuild_ends_meld(task->ends, end);
}

static void netbuild_scan(struct task *task)
{
    struct shape *shape;
    for (unsigned layer = 0; layer < NETBUILD_LAYERS; layer++)
        netbuild_start_push(task, layer, task->inputs[layer], 0);
    while ((shape = netbuild_start_pop(task))) {
        netbuild_leave_before(task, shape->box.x1);
        netbuild_begin(task, shape);
        unsigned from = shape->layer ? shape->layer - 1 : 0, to = shape->layer + 1;
        for (unsigned layer = from; layer <= to && layer < NETBUILD_LAYERS; layer++)
            netbuild_search_layer(task, shape, layer);
        netbuild_enter(task, shape);
    }
    netbuild_leave_before(task, INT64_MAX);
}

static void netbuild_free_input(struct task *task)
{
    for (unsigned layer = 0; layer < NETBUILD_LAYERS; layer++) {
        for (struct cell *cell = task->inputs[layer], *next; cell; cell = next) {
            next = cell->next;
            free(cell->shape);
            free(cell);
        }
    }
}

void netbuild_run(uint64_t shapes, uint64_t seed, struct netbuild_result *result)
{
    struct task task = {.shapes = shapes};
    *result = (struct netbuild_result){0};
    netbuild_make_input(&task, seed);
    for (unsigned layer = 0; layer < NETBUILD_LAYERS; layer++)
        task.inputs[layer] = netbuild_sort(task.inputs[layer]);
    netbuild_scan(&task);
    result->nets = task.net_count;
    result->overlaps = task.overlaps;
    netbuild_destruct(&task, result);
    netbuild_free_input(&task);
    result->allocations = task.allocations;
}

/* --- the oracle ------------------------------------------------------------------------------- */

static uint32_t netbuild_root_of(uint32_t *parents, uint32_t id)
{
    while (parents[id] != id)
        id = parents[id];
    return id;
}

static bool netbuild_connected(const struct box *a, const struct box *b)
{
    return a->x1 <= b->x2 && b->x1 <= a->x2 && a->y1 <= b->y2 && b->y1 <= a->y2;
}

void netbuild_compare_all(uint64_t shapes, uint64_t seed, struct netbuild_result *result)
{
    struct box *boxes = memory_map(shapes * sizeof *boxes);
    uint32_t *parents = memory_map(shapes * sizeof *parents);
    uint32_t *sizes = memory_map(shapes * sizeof *sizes);
    uint64_t random = seed * 2 + 1;
    *result = (struct netbuild_result){0};
    for (uint32_t i = 0; i < shapes; i++) {
        boxes[i] = netbuild_random_box(&random, netbuild_side_of(shapes));
        parents[i] = i;
        for (uint32_t k = 0; k < i; k++) {
            int apart = (int)(i % NETBUILD_LAYERS) - (int)(k % NETBUILD_LAYERS);
            if (apart < -1 || apart > 1 || !netbuild_connected(&boxes[i], &boxes[k]))
                continue;
            uint32_t a = netbuild_root_of(parents, i), b = netbuild_root_of(parents, k);
            parents[a > b ? a : b] = a > b ? b : a;
            result->overlaps++;
        }
    }
    for (uint32_t i = 0; i < shapes; i++)
        sizes[netbuild_root_of(parents, i)]++;
    for (uint32_t i = 0; i < shapes; i++) {
        if (parents[i] == i) { /* the root is its least member */
            result->nets++;
            result->checksum += netbuild_digest(sizes[i], i);
        }
    }
    memory_unmap(boxes, shapes * sizeof *boxes);
    memory_unmap(parents, shapes * sizeof *parents);
    memory_unmap(sizes, shapes * sizeof *sizes);
}

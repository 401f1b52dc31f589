/* See diff_tree.h. Both passes over a profile walk its nodes in order, parents first, and keep for
 * each where its path stands: the innermost frame that is not hidden, its line, and (in the second)
 * the tree's node. The second takes the calls in the order in which the first has said them. A
 * node's first children are a list, because few nodes have many. */
#include "diff/diff_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "aggregate/metric_choice.h"
#include "aggregate/functions.h"

struct standing {
    uint32_t function; /* identity; 0: no frame yet */
    uint32_t line;
    uint32_t node;
};

/* The frames of each location that are shown, the outermost inlined one first: all that a walk asks
 * of a node, close together. */
struct shown_frames {
    struct shown_range {
        uint32_t first, count;
    } * of_code;
    struct shown_frame {
        uint32_t function, line; /* identity */
    } * frames;
};

struct diff_tree_pass {
    const struct profile *profile;
    const bool *hidden;
    struct shown_frames shown;
    const uint32_t *by_key;
    int group;
    bool callers_only;
    struct said_calls *said;
    struct calls *say; /* the first pass; else */
    const struct calls *sites;
    size_t taken; /* of said */
    struct diff_tree *tree;
};

/* ---- The tree ------------------------------------------------------------------------------ */

static uint64_t diff_tree_hash(uint32_t parent, uint32_t site)
{
    return hash_u64(hash_u64(parent) + site);
}

/* A search among the first children stays near the parent; one in a table of all nodes would miss
 * the cache for each node of each run. */
enum { FIRST_CHILDREN = 8 };

/* `among_first`: the parent has fewer than FIRST_CHILDREN. */
static int diff_tree_add_node(struct diff_tree *tree, uint32_t parent, uint32_t site,
                              bool among_first)
{
    uint32_t number = (uint32_t)tree->node_count;
    if (!array_make_room(&tree->nodes, &tree->node_capacity, tree->node_count,
                         sizeof *tree->nodes) ||
        (!among_first && !map_try_add(&tree->more_children, diff_tree_hash(parent, site), number)))
        return -ENOMEM;
    tree->nodes[number] = (struct diff_tree_node){parent, site, 0, 0, 0};
    if (among_first && number) {
        tree->nodes[number].sibling = tree->nodes[parent].child;
        tree->nodes[parent].child = number;
    }
    tree->node_count++;
    return 0;
}

/* 0: it is not there. */
static uint32_t diff_tree_find_more(const struct diff_tree *tree, uint32_t parent, uint32_t site)
{
    uint32_t node;
    for (struct map_probe probe = map_probe(&tree->more_children, diff_tree_hash(parent, site));
         map_next(&probe, &node);)
        if (tree->nodes[node].parent == parent && tree->nodes[node].site == site)
            return node;
    return 0;
}

/* 0: out of memory. */
static uint32_t diff_tree_child_of(struct diff_tree *tree, uint32_t parent, uint32_t site)
{
    uint32_t node = tree->nodes[parent].child;
    int passed = 0;
    for (; node && tree->nodes[node].site != site; node = tree->nodes[node].sibling)
        passed++;
    bool among_first = passed < FIRST_CHILDREN;
    if (!node && !among_first)
        node = diff_tree_find_more(tree, parent, site);
    if (node)
        return node;
    return diff_tree_add_node(tree, parent, site, among_first) ? 0 : (uint32_t)tree->node_count - 1;
}

static double *diff_tree_grown(double *figures, size_t from, size_t to)
{
    return array_make_room(&figures, &from, to - 1, sizeof *figures) ? figures : NULL;
}

static int diff_tree_grow_leaves(struct diff_tree *tree, bool sampled)
{
    size_t capacity = tree->leaf_capacity ? 2 * tree->leaf_capacity : 1024;
    size_t from = tree->leaf_capacity * tree->run_count, to = capacity * tree->run_count;
    double *values = diff_tree_grown(tree->values, from, to);
    if (!values)
        return -ENOMEM;
    tree->values = values;
    if (sampled) {
        double *variances = diff_tree_grown(tree->variances, from, to);
        if (!variances)
            return -ENOMEM;
        tree->variances = variances;
    }
    tree->leaf_capacity = capacity;
    return 0;
}

/* The leaf's place in the figures of a run. */
static int diff_tree_leaf_of(struct diff_tree *tree, uint32_t node, bool sampled, size_t *leaf)
{
    if (!tree->nodes[node].leaf) {
        if (tree->leaf_count == tree->leaf_capacity && diff_tree_grow_leaves(tree, sampled))
            return -ENOMEM;
        tree->nodes[node].leaf = (uint32_t)++tree->leaf_count;
    }
    *leaf = tree->nodes[node].leaf - 1;
    return 0;
}

void diff_tree_release(struct diff_tree *tree)
{
    for (size_t i = 0; tree->at_site && i < tree->run_count; i++)
        free(tree->at_site[i]);
    for (size_t i = 0; tree->said && i < tree->run_count; i++)
        free(tree->said[i].numbers);
    free(tree->at_site);
    free(tree->said);
    free(tree->nodes);
    map_release(&tree->more_children);
    free(tree->values);
    free(tree->variances);
    *tree = (struct diff_tree){0};
}

/* ---- Passes -------------------------------------------------------------------------------- */

/* One step of a path: the function where it stands calls `callee`, or allocates (0). */
static int diff_tree_step(struct diff_tree_pass *pass, struct standing *at, uint32_t callee,
                          uint32_t line)
{
    struct said_calls *said = pass->said;
    if (pass->say) {
        if (!array_make_room(&said->numbers, &said->capacity, said->count, sizeof *said->numbers) ||
            calls_add(pass->say, pass->group, at->function, callee, at->line,
                      &said->numbers[said->count++]))
            return -ENOMEM;
    } else {
        uint32_t site = calls_site(pass->sites, said->numbers[pass->taken++]);
        at->node = diff_tree_child_of(pass->tree, at->node, site);
        if (!at->node)
            return -ENOMEM;
    }
    at->function = callee;
    at->line = line;
    return 0;
}

static uint32_t diff_tree_identity_at(const struct diff_tree_pass *pass, uint32_t code,
                                      uint32_t line)
{
    return pass->by_key[function_key(pass->profile, code, line)];
}

static uint32_t diff_tree_show_code(struct diff_tree_pass *pass, uint32_t number, uint32_t at)
{
    const struct profile_code *code = &pass->profile->codes[number];
    for (uint32_t i = code->line_count; i--;) {
        uint32_t line = code->first_line + i;
        if (!pass->hidden[line])
            pass->shown.frames[at++] = (struct shown_frame){
                diff_tree_identity_at(pass, number, line), pass->profile->lines[line].line};
    }
    return at;
}

static int diff_tree_find_shown(struct diff_tree_pass *pass)
{
    const struct profile *profile = pass->profile;
    size_t lines = 0;
    for (size_t i = 0; i < profile->code_count; i++)
        lines += profile->codes[i].line_count;
    pass->shown.of_code = calloc(profile->code_count + 1, sizeof *pass->shown.of_code);
    pass->shown.frames = calloc(lines + 1, sizeof *pass->shown.frames);
    if (!pass->shown.of_code || !pass->shown.frames)
        return -ENOMEM;
    for (uint32_t i = 0, at = 0; i < profile->code_count; i++) {
        uint32_t end = diff_tree_show_code(pass, i, at);
        pass->shown.of_code[i] = (struct shown_range){at, end - at};
        at = end;
    }
    return 0;
}

static int diff_tree_walk_node(struct diff_tree_pass *pass, struct standing *at, uint32_t node)
{
    struct shown_range range = pass->shown.of_code[pass->profile->nodes[node].location];
    const struct shown_frame *frames = pass->shown.frames + range.first;
    int error = 0;
    for (uint32_t i = 0; i < range.count && !error; i++)
        error = diff_tree_step(pass, at, frames[i].function, frames[i].line);
    return error;
}

/* A path without a frame that is shown stands for its innermost one. */
static int diff_tree_end_path(struct diff_tree_pass *pass, struct standing at, uint32_t node,
                              uint32_t *leaf)
{
    int error = 0;
    if (!at.function) {
        uint32_t location = node ? pass->profile->nodes[node].location : 0;
        uint32_t line = pass->profile->codes[location].first_line;
        error = diff_tree_step(pass, &at, diff_tree_identity_at(pass, location, line),
                               node ? pass->profile->lines[line].line : 0);
    }
    if (!error)
        error = diff_tree_step(pass, &at, 0, 0);
    *leaf = at.node;
    return error;
}

/* Which nodes lie on a path that counts. */
static bool *diff_tree_nodes_on_ways(const struct diff_run *run)
{
    const struct profile *profile = run->profile;
    bool *on_way = calloc(profile->node_count + 1, sizeof *on_way);
    for (size_t i = 0; on_way && i < profile->site_count; i++)
        if (!run->wanted || run->wanted[profile_site_path(profile, i)])
            on_way[profile_site_path(profile, i)] = true;
    for (size_t i = profile->node_count; on_way && i-- > 1;)
        if (on_way[i])
            on_way[profile->nodes[i].parent] = true;
    return on_way;
}

static int diff_tree_walk_nodes(struct diff_tree_pass *pass, const bool *on_way,
                                struct standing *standing)
{
    const struct profile *profile = pass->profile;
    int error = 0;
    for (uint32_t i = 1; i < profile->node_count && !error; i++) {
        if (!on_way[i])
            continue;
        standing[i] = standing[profile->nodes[i].parent];
        error = diff_tree_walk_node(pass, &standing[i], i);
    }
    return error;
}

/* `at_site`: where each site's path ends, or NULL. */
static int diff_tree_walk(struct diff_tree_pass *pass, const struct diff_run *run,
                          uint32_t *at_site)
{
    const struct profile *profile = pass->profile;
    struct standing *standing = calloc(profile->node_count + 1, sizeof *standing);
    bool *on_way = diff_tree_nodes_on_ways(run);
    int error = standing && on_way ? diff_tree_find_shown(pass) : -ENOMEM;
    if (!error && !pass->callers_only)
        error = diff_tree_walk_nodes(pass, on_way, standing);
    for (size_t i = 0; i < profile->site_count && !error; i++) {
        uint32_t path = profile_site_path(profile, i), leaf;
        if (run->wanted && !run->wanted[path])
            continue;
        error = diff_tree_end_path(pass, standing[path], path, &leaf);
        if (!error && at_site)
            at_site[i] = leaf;
    }
    free(standing);
    free(on_way);
    free(pass->shown.of_code);
    free(pass->shown.frames);
    return error;
}

static struct diff_tree_pass diff_tree_pass_of(const struct diff_tree *tree,
                                               const struct identities *identities, size_t number,
                                               const struct diff_run *run, const bool *hidden)
{
    return (struct diff_tree_pass){.profile = run->profile,
                                   .hidden = hidden,
                                   .by_key = identities->by_key[number],
                                   .said = &tree->said[number],
                                   .group = run->group,
                                   .callers_only = tree->callers_only};
}

int diff_tree_say_calls(struct diff_tree *tree, struct calls *sites,
                        const struct identities *identities, size_t number,
                        const struct diff_run *run, const bool *hidden)
{
    if (!tree->said)
        tree->said = calloc(tree->run_count, sizeof *tree->said);
    if (!tree->said)
        return -ENOMEM;
    struct diff_tree_pass pass = diff_tree_pass_of(tree, identities, number, run, hidden);
    pass.say = sites;
    return diff_tree_walk(&pass, run, NULL);
}

int diff_tree_add_run(struct diff_tree *tree, const struct calls *sites,
                      const struct identities *identities, size_t number,
                      const struct diff_run *run, const bool *hidden)
{
    struct diff_tree_pass pass = diff_tree_pass_of(tree, identities, number, run, hidden);
    pass.sites = sites;
    pass.tree = tree;
    if (!tree->at_site)
        tree->at_site = calloc(tree->run_count, sizeof *tree->at_site);
    if (!tree->at_site || (!tree->node_count && diff_tree_add_node(tree, 0, UINT32_MAX, true)))
        return -ENOMEM;
    tree->at_site[number] = calloc(run->profile->site_count + 1, sizeof **tree->at_site);
    int error = tree->at_site[number] ? diff_tree_walk(&pass, run, tree->at_site[number]) : -ENOMEM;
    free(tree->said[number].numbers);
    tree->said[number] = (struct said_calls){0};
    return error;
}

/* ---- Figures ------------------------------------------------------------------------------- */

struct filling {
    struct diff_tree *tree;
    size_t number;
    const struct metric *metric;
    double bytes2;   /* of a unit of variance; 0: the run is whole */
    double interval; /* the longest of all runs; 0: variances are not kept */
};

static struct figure diff_tree_blocks_of(const struct metric *metric,
                                         const struct call_metrics *call)
{
    if (metric->row == METRIC_ROW(at_peak_bytes))
        return call->at_peak_count;
    if (metric->row == METRIC_ROW(live_bytes))
        return call->live_count;
    return call_metrics_blocks(call);
}

/* What a sample of these bytes would have: blocks of s bytes are seen with p = 1 - e^(-s/interval)
 * and count 1/p times, so each adds s^2 (1-p)/p. A sample that has seen nothing has no variance of
 * its own. */
static double diff_tree_variance_as_sample(const struct filling *filling,
                                           const struct call_metrics *call, uint64_t value)
{
    double blocks = figure_double(diff_tree_blocks_of(filling->metric, call));
    double size = blocks > 0 ? (double)value / blocks : 0;
    return size > 0 ? blocks * size * size / expm1(size / filling->interval) : 0;
}

static double diff_tree_variance_of(const struct filling *filling, const struct call_metrics *call,
                                    uint64_t value)
{
    return filling->bytes2 > 0
               ? filling->bytes2 * (double)figure_or(metric_variance(filling->metric, call), 0)
               : diff_tree_variance_as_sample(filling, call, value);
}

/* NAN: not known, and so no sum is that it is in. Sums of some metrics pass over it. */
static double diff_tree_value_of(const struct filling *filling, const struct profile_site *site)
{
    struct figure figure = metric_of(filling->metric, &site->metrics);
    bool passes_over = filling->metric->row->merge == METRIC_LEAST;
    return passes_over ? (double)figure_or(figure, 0) : figure_double(figure);
}

static int diff_tree_add_site(const struct filling *filling, const struct profile_site *site,
                              uint32_t node)
{
    double value = node ? diff_tree_value_of(filling, site) : 0;
    bool sampled = filling->interval > 0;
    size_t leaf;
    if (value == 0)
        return 0;
    if (diff_tree_leaf_of(filling->tree, node, sampled, &leaf))
        return -ENOMEM;
    size_t at = leaf * filling->tree->run_count + filling->number;
    filling->tree->values[at] += value;
    if (sampled && !isnan(value))
        filling->tree->variances[at] +=
            diff_tree_variance_of(filling, &site->metrics, (uint64_t)value);
    return 0;
}

static void diff_tree_forget_figures(struct diff_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++)
        tree->nodes[i].leaf = 0;
    free(tree->values);
    free(tree->variances);
    tree->values = tree->variances = NULL;
    tree->leaf_count = tree->leaf_capacity = 0;
}

static double diff_tree_longest_interval(const struct diff_run *runs, size_t count)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = runs[i].profile->sample_bytes > longest ? runs[i].profile->sample_bytes : longest;
    return (double)longest;
}

int diff_tree_fill(struct diff_tree *tree, const struct diff_run *runs, int metric)
{
    int error = 0;
    bool has_variance = metrics[metric].row->variance != METRIC_NO_VARIANCE;
    double interval = has_variance ? diff_tree_longest_interval(runs, tree->run_count) : 0;
    diff_tree_forget_figures(tree);
    for (size_t i = 0; i < tree->run_count; i++) {
        const struct profile *profile = runs[i].profile;
        double of_run = (double)profile->sample_bytes;
        struct filling filling = {tree, i, &metrics[metric], of_run * of_run / 1024, interval};
        struct profile_site room;
        for (size_t j = 0; j < profile->site_count && !error; j++)
            error = diff_tree_add_site(&filling, profile_site_at(profile, j, &room),
                                       tree->at_site[i][j]);
    }
    return error;
}

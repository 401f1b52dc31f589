/* See diff_tree.h. The runs' steps are joined level by level. Within a level each step is looked up
 * by its caller's node and its call site, in a table of that level alone. Such a table, the level
 * and the one above it fit in the processor's cache, where a table of all nodes would miss it for
 * each step. Leaves are joined at the end. */
#include "diff/diff_tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "aggregate/metric_choice.h"

/* ---- The tree ------------------------------------------------------------------------------ */

struct joining {
    struct diff_tree *tree;
    const struct calls *calls;
    struct diff_steps *steps; /* by run */
    struct map map;           /* of the level's nodes, by parent and site */
};

/* The table has room. */
static uint32_t diff_tree_node_of(struct joining *joining, uint32_t parent, uint32_t site)
{
    struct diff_tree *tree = joining->tree;
    uint64_t hash = hash_u64((uint64_t)parent << 32 | site);
    uint32_t node;
    for (struct map_probe probe = map_probe(&joining->map, hash); map_next(&probe, &node);)
        if (tree->nodes[node].parent == parent && tree->nodes[node].site == site)
            return node;
    node = (uint32_t)tree->node_count++;
    tree->nodes[node] = (struct diff_tree_node){parent, site};
    map_add(&joining->map, hash, node);
    return node;
}

/* Empties the table, and makes room for `count` nodes. To empty it takes as long as it is large, so
 * a small level does not keep the table of a large one. */
static bool diff_tree_begin_level(struct joining *joining, size_t count)
{
    enum { MUCH_LARGER = 32 };
    if (joining->map.slot_count / MUCH_LARGER > count)
        map_release(&joining->map);
    else
        map_empty(&joining->map);
    return map_reserve(&joining->map, count);
}

/* False: there is none so deep. */
static bool diff_tree_join_level(struct joining *joining, size_t number, int *error)
{
    size_t count = 0;
    for (size_t run = 0; run < joining->tree->run_count; run++)
        if (number < joining->steps[run].level_count)
            count += joining->steps[run].levels[number].count;
    if (count && !diff_tree_begin_level(joining, count))
        *error = -ENOMEM;
    for (size_t run = 0; run < joining->tree->run_count && count && !*error; run++) {
        struct diff_steps *steps = &joining->steps[run];
        if (number >= steps->level_count)
            continue;
        const struct step *above = number ? steps->levels[number - 1].steps : NULL;
        struct step_level *level = &steps->levels[number];
        for (size_t i = 0; i < level->count; i++) {
            struct step *step = &level->steps[i];
            step->from = diff_tree_node_of(joining, above ? above[step->from].from : 0,
                                           calls_site(joining->calls, step->call));
        }
    }
    return count;
}

static int diff_tree_join_ends(struct joining *joining, size_t run, const struct diff_run *of)
{
    struct diff_tree *tree = joining->tree;
    const struct diff_steps *steps = &joining->steps[run];
    tree->at_site[run] = calloc(of->profile->site_count + 1, sizeof **tree->at_site);
    if (!tree->at_site[run])
        return -ENOMEM;
    for (size_t i = 0; i < of->profile->site_count; i++) {
        const struct step_end *end = &steps->ends[i];
        if (end->level)
            tree->at_site[run][i] =
                diff_tree_node_of(joining, steps->levels[end->level - 1].steps[end->step].from,
                                  calls_site(joining->calls, end->call));
    }
    return 0;
}

static int diff_tree_join_all_ends(struct joining *joining, const struct diff_run *runs)
{
    struct diff_tree *tree = joining->tree;
    size_t ends = 0;
    for (size_t run = 0; run < tree->run_count; run++)
        ends += runs[run].profile->site_count;
    int error = diff_tree_begin_level(joining, ends) ? 0 : -ENOMEM;
    tree->first_leaf = tree->node_count;
    for (size_t run = 0; run < tree->run_count && !error; run++) {
        error = diff_tree_join_ends(joining, run, &runs[run]);
        diff_steps_release(&joining->steps[run]);
    }
    return error;
}

/* Room for as many nodes as there can be. Pages of it that are not needed take no memory. */
static int diff_tree_begin(struct diff_tree *tree, const struct diff_steps *steps,
                           const struct diff_run *runs, size_t run_count)
{
    size_t most = 1;
    for (size_t run = 0; run < run_count; run++) {
        most += runs[run].profile->site_count;
        for (size_t i = 0; i < steps[run].level_count; i++)
            most += steps[run].levels[i].count;
    }
    tree->run_count = run_count;
    tree->nodes = most < UINT32_MAX ? malloc(most * sizeof *tree->nodes) : NULL;
    tree->at_site = calloc(run_count, sizeof *tree->at_site);
    if (!tree->nodes || !tree->at_site)
        return -ENOMEM;
    tree->nodes[0] = (struct diff_tree_node){0, UINT32_MAX};
    tree->node_count = 1;
    return 0;
}

int diff_tree_make(struct diff_tree *tree, const struct calls *calls, struct diff_steps *steps,
                   const struct diff_run *runs, size_t run_count)
{
    struct joining joining = {.tree = tree, .calls = calls, .steps = steps};
    int error = diff_tree_begin(tree, steps, runs, run_count);
    for (size_t level = 0; !error && diff_tree_join_level(&joining, level, &error); level++)
        ;
    if (!error)
        error = diff_tree_join_all_ends(&joining, runs);
    if (!error) {
        tree->figures_of =
            calloc(tree->node_count - tree->first_leaf + 1, sizeof *tree->figures_of);
        error = tree->figures_of ? 0 : -ENOMEM;
    }
    map_release(&joining.map);
    return error;
}

static double *diff_tree_grown(double *figures, size_t from, size_t to)
{
    return array_make_room(&figures, &from, to - 1, sizeof *figures) ? figures : NULL;
}

static int diff_tree_grow_figures(struct diff_tree *tree, bool sampled)
{
    size_t room = tree->figure_room ? 2 * tree->figure_room : 1024;
    size_t from = tree->figure_room * tree->run_count, to = room * tree->run_count;
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
    tree->figure_room = room;
    return 0;
}

/* *place: of the leaf among the figures of a run. */
static int diff_tree_place_of(struct diff_tree *tree, uint32_t leaf, bool sampled, size_t *place)
{
    uint32_t *figures = &tree->figures_of[leaf - tree->first_leaf];
    if (!*figures) {
        if (tree->figure_count == tree->figure_room && diff_tree_grow_figures(tree, sampled))
            return -ENOMEM;
        *figures = (uint32_t)++tree->figure_count;
    }
    *place = *figures - 1;
    return 0;
}

void diff_tree_release(struct diff_tree *tree)
{
    for (size_t i = 0; tree->at_site && i < tree->run_count; i++)
        free(tree->at_site[i]);
    free(tree->at_site);
    free(tree->nodes);
    free(tree->figures_of);
    free(tree->values);
    free(tree->variances);
    *tree = (struct diff_tree){0};
}

/* ---- Figures ------------------------------------------------------------------------------- */

struct filling {
    struct diff_tree *tree;
    size_t run;
    const struct profile *profile;
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
static double diff_tree_value_of(const struct filling *filling, size_t site)
{
    const struct metric_row *row = filling->metric->row;
    struct figure figure = profile_site_figure(filling->profile, site, row);
    return row->merge == METRIC_LEAST ? (double)figure_or(figure, 0) : figure_double(figure);
}

static int diff_tree_add_site(const struct filling *filling, size_t site, uint32_t leaf)
{
    struct diff_tree *tree = filling->tree;
    double value = leaf ? diff_tree_value_of(filling, site) : 0;
    bool sampled = filling->interval > 0;
    struct profile_site room;
    size_t place;
    if (value == 0)
        return 0;
    if (diff_tree_place_of(tree, leaf, sampled, &place))
        return -ENOMEM;
    size_t at = place * tree->run_count + filling->run;
    tree->values[at] += value;
    if (sampled && !isnan(value))
        tree->variances[at] += diff_tree_variance_of(
            filling, &profile_site_at(filling->profile, site, &room)->metrics, (uint64_t)value);
    return 0;
}

static void diff_tree_forget_figures(struct diff_tree *tree)
{
    for (size_t i = 0; i < tree->node_count - tree->first_leaf; i++)
        tree->figures_of[i] = 0;
    free(tree->values);
    free(tree->variances);
    tree->values = tree->variances = NULL;
    tree->figure_count = tree->figure_room = 0;
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
        struct filling filling = {tree,    i, profile, &metrics[metric], of_run * of_run / 1024,
                                  interval};
        for (size_t j = 0; j < profile->site_count && !error; j++)
            error = diff_tree_add_site(&filling, j, tree->at_site[i][j]);
    }
    return error;
}

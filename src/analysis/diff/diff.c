/* Compares groups of runs (diff.h). Profiles are merged into one tree with a figure for each run.
 * Growth is a difference of means, and its noise comes from Student's t over the runs and from the
 * samples' variances. */
#include "diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diff/diff_tree.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "aggregate/functions.h"
#include "aggregate/metric_choice.h"

struct diff_private {
    struct identities identities;
    struct calls sites;
    struct diff_tree tree;
    double *by_function, *variance_by_function; /* by identity, run */
};

/* ---- Figures ------------------------------------------------------------------------------- */

/* The 99.5 % quantile of Student's t: Abramowitz and Stegun, table 26.10. */
static double diff_student(size_t degrees)
{
    static const double table[] = {0,     63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499,
                                   3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
                                   2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807,
                                   2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750};
    return degrees < sizeof table / sizeof *table ? table[degrees] : 2.75;
}
static const double normal = 2.576;

struct groups {
    double sum[2], squares[2], variance[2]; /* squares: of the distances from the mean */
    size_t count[2], sampled[2];
    double as_sample; /* the mean variance that samples of the whole runs would have */
};

static bool diff_is_sample(const struct diff_run *run)
{
    return run->profile && run->profile->sample_bytes;
}

static void diff_add_variances(struct groups *groups, const struct diff_run *runs, size_t run_count,
                               const double *variances)
{
    double sum = 0, whole = 0;
    for (size_t i = 0; i < run_count; i++) {
        if (diff_is_sample(&runs[i])) {
            groups->variance[runs[i].group] += variances[i];
            groups->sampled[runs[i].group]++;
        } else {
            sum += variances[i];
            whole++;
        }
    }
    groups->as_sample = whole > 0 ? sum / whole : 0;
}

static struct groups diff_groups_of(const struct diff_run *runs, size_t run_count,
                                    const double *values, const double *variances)
{
    struct groups groups = {0};
    for (size_t i = 0; i < run_count; i++) {
        groups.sum[runs[i].group] += values[i];
        groups.count[runs[i].group]++;
    }
    for (size_t i = 0; i < run_count; i++) {
        int of = runs[i].group;
        double distance = values[i] - groups.sum[of] / (double)groups.count[of];
        groups.squares[of] += distance * distance;
    }
    if (variances)
        diff_add_variances(&groups, runs, run_count, variances);
    return groups;
}

static double diff_noise_of_runs(const struct groups *groups)
{
    double before = (double)groups->count[0], after = (double)groups->count[1];
    size_t runs = groups->count[0] + groups->count[1];
    if (runs < 3)
        return NAN;
    double pooled = (groups->squares[0] + groups->squares[1]) / (double)(runs - 2);
    return diff_student(runs - 2) * sqrt(pooled * (1 / before + 1 / after));
}

/* If nothing changed, a sample varies as much as samples of the other group's whole runs would.
 * This counts where a sample has seen nothing: its own variance is 0 then. */
static double diff_noise_of_samples(const struct groups *groups)
{
    double seen = 0, expected = 0;
    for (int i = 0; i < 2; i++) {
        double squared = (double)(groups->count[i] * groups->count[i]);
        seen += groups->variance[i] / squared;
        expected += groups->as_sample * (double)groups->sampled[i] / squared;
    }
    return normal * sqrt(fmax(seen, expected));
}

static struct diff_figure diff_figure_with(const struct diff_run *runs, size_t run_count,
                                           const double *values, const double *variances)
{
    struct groups groups = diff_groups_of(runs, run_count, values, variances);
    struct diff_figure figure = {groups.sum[0] / (double)groups.count[0],
                                 groups.sum[1] / (double)groups.count[1],
                                 diff_noise_of_runs(&groups)};
    if (variances)
        figure.noise = fmax(figure.noise, diff_noise_of_samples(&groups)); /* fmax passes over
                                                                            * NAN */
    return figure;
}

struct diff_figure diff_figure_of(const struct diff_run *runs, size_t run_count,
                                  const double *values)
{
    return diff_figure_with(runs, run_count, values, NULL);
}

bool diff_counts(const struct diff_figure *figure)
{
    double size = fabs(diff_of(figure));
    return size > 0 && !(size <= figure->noise);
}

/* ---- Scales -------------------------------------------------------------------------------- */

static double diff_measure(const struct profile *profile, enum diff_norm norm)
{
    if (norm == DIFF_PER_COUNT)
        return (double)figure_or(profile->program.total.alloc_count, 0);
    return (double)facts_number(profile, PROFILE_META_DURATION);
}

/* So that all runs are as long as those before were on average; 1 where that cannot be. */
static void diff_set_scales(struct diff *difference)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < difference->run_count; i++) {
        difference->scale[i] = 1;
        if (difference->runs[i].group == DIFF_BEFORE) {
            sum += diff_measure(difference->runs[i].profile, difference->options.norm);
            count++;
        }
    }
    for (size_t i = 0; i < difference->run_count && difference->options.norm; i++) {
        double of = diff_measure(difference->runs[i].profile, difference->options.norm);
        if (of > 0 && sum > 0)
            difference->scale[i] = sum / count / of;
    }
}

static void diff_scale_tree(struct diff *difference)
{
    struct diff_tree *tree = &difference->own->tree;
    for (size_t i = 0; i < tree->figure_count * tree->run_count; i++) {
        double scale = difference->scale[i % tree->run_count];
        tree->values[i] *= scale;
        if (tree->variances)
            tree->variances[i] *= scale * scale;
    }
}

/* ---- Functions ----------------------------------------------------------------------------- */

static uint32_t diff_function_of(const struct diff_private *own, uint32_t node)
{
    return own->sites.sites[own->tree.nodes[node].site].function;
}

/* Adds a leaf's figures to every function on its way that was not seen on it yet; exclusive: to
 * the first only. */
static void diff_add_leaf(struct diff_private *own, uint32_t leaf, bool inclusive, uint32_t *stamps)
{
    size_t runs = own->tree.run_count, from = (diff_tree_figures_of(&own->tree, leaf) - 1) * runs;
    for (uint32_t node = leaf; node; node = own->tree.nodes[node].parent) {
        uint32_t function = diff_function_of(own, node);
        if (stamps[function] == leaf)
            continue;
        stamps[function] = leaf;
        for (size_t i = 0; i < runs; i++) {
            own->by_function[function * runs + i] += own->tree.values[from + i];
            if (own->variance_by_function)
                own->variance_by_function[function * runs + i] += own->tree.variances[from + i];
        }
        if (!inclusive)
            return;
    }
}

static int diff_sum_functions(struct diff *difference)
{
    struct diff_private *own = difference->own;
    size_t cells = own->identities.count * own->tree.run_count;
    uint32_t *stamps = calloc(own->identities.count + 1, sizeof *stamps);
    own->by_function = calloc(cells + 1, sizeof *own->by_function);
    if (own->tree.variances)
        own->variance_by_function = calloc(cells + 1, sizeof *own->variance_by_function);
    bool complete =
        stamps && own->by_function && (own->variance_by_function || !own->tree.variances);
    for (uint32_t i = (uint32_t)own->tree.first_leaf; complete && i < own->tree.node_count; i++)
        if (diff_tree_figures_of(&own->tree, i))
            diff_add_leaf(own, i, difference->options.inclusive, stamps);
    free(stamps);
    return complete ? 0 : -ENOMEM;
}

/* ---- Lists --------------------------------------------------------------------------------- */

static struct diff_figure diff_figure_at(const struct diff *difference, const double *values,
                                         const double *variances, size_t at)
{
    size_t from = at * difference->run_count;
    return diff_figure_with(difference->runs, difference->run_count, values + from,
                            variances ? variances + from : NULL);
}

/* A number that rises as growth falls. What is not known stands between what has grown and what has
 * shrunk. */
static uint64_t diff_growth_rank(const struct diff_figure *figure)
{
    double growth = diff_of(figure);
    uint64_t bits;
    growth = isnan(growth) || growth == 0 ? 0 : growth;
    memcpy(&bits, &growth, sizeof bits);
    return bits >> 63 ? bits : ~bits ^ (uint64_t)1 << 63;
}

enum { RANK_BYTES = 8, BYTE_VALUES = 256 };

struct ranked {
    uint64_t rank;
    uint32_t index;
};

/* By one byte of the ranks; those that are equal in it stay as they are. */
static void diff_sort_by_byte(struct ranked *to, const struct ranked *from, size_t count, int byte)
{
    size_t firsts[BYTE_VALUES + 1] = {0};
    for (size_t i = 0; i < count; i++)
        firsts[(from[i].rank >> 8 * byte & 255) + 1]++;
    for (size_t i = 0; i < BYTE_VALUES; i++)
        firsts[i + 1] += firsts[i];
    for (size_t i = 0; i < count; i++)
        to[firsts[from[i].rank >> 8 * byte & 255]++] = from[i];
}

/* Sorts by falling growth; what has grown alike stays in its order. A radix sort, by the bytes in
 * which the ranks differ. `ranked`: `count` of them, with room for as many more. */
static struct ranked *diff_sort_ranks(struct ranked *ranked, size_t count)
{
    uint64_t differ = 0;
    struct ranked *from = ranked, *to = ranked + count;
    for (size_t i = 1; i < count; i++)
        differ |= ranked[i].rank ^ ranked[0].rank;
    for (int byte = 0; byte < RANK_BYTES; byte++) {
        if (!(differ >> 8 * byte & 255))
            continue;
        diff_sort_by_byte(to, from, count, byte);
        struct ranked *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* Has a group anything, or may it have? */
static bool diff_has_figure(const struct diff_figure *figure)
{
    return !(figure->before <= 0 && figure->after <= 0);
}

/* The rows' `figure` is at `offset`. */
static int diff_sort_by_growth(void *rows, size_t count, size_t bytes, size_t offset)
{
    char *row = rows, *sorted = malloc(count * bytes + 1);
    struct ranked *ranked = calloc(2 * count + 1, sizeof *ranked), *order;
    int error = sorted && ranked ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !error; i++)
        ranked[i] = (struct ranked){
            diff_growth_rank((const struct diff_figure *)(row + i * bytes + offset)), (uint32_t)i};
    if (!error) {
        order = diff_sort_ranks(ranked, count);
        for (size_t i = 0; i < count; i++)
            memcpy(sorted + i * bytes, row + order[i].index * bytes, bytes);
        memcpy(row, sorted, count * bytes);
    }
    free(sorted);
    free(ranked);
    return error;
}

static int diff_list_functions(struct diff *difference)
{
    const struct diff_private *own = difference->own;
    difference->functions = calloc(own->identities.count + 1, sizeof *difference->functions);
    if (!difference->functions)
        return -ENOMEM;
    for (uint32_t i = 1; i < own->identities.count; i++) {
        struct diff_figure figure =
            diff_figure_at(difference, own->by_function, own->variance_by_function, i);
        if (diff_has_figure(&figure))
            difference->functions[difference->function_count++] = (struct diff_function){i, figure};
    }
    return diff_sort_by_growth(difference->functions, difference->function_count,
                               sizeof *difference->functions,
                               offsetof(struct diff_function, figure));
}

static int diff_list_paths(struct diff *difference)
{
    const struct diff_tree *tree = &difference->own->tree;
    difference->paths = calloc(tree->figure_count + 1, sizeof *difference->paths);
    if (!difference->paths)
        return -ENOMEM;
    for (uint32_t i = (uint32_t)tree->first_leaf; i < tree->node_count; i++)
        if (diff_tree_figures_of(tree, i))
            difference->paths[difference->path_count++] =
                (struct diff_path){i, diff_figure_at(difference, tree->values, tree->variances,
                                                     diff_tree_figures_of(tree, i) - 1)};
    return diff_sort_by_growth(difference->paths, difference->path_count, sizeof *difference->paths,
                               offsetof(struct diff_path, figure));
}

static void diff_sum_all(struct diff *difference)
{
    const struct diff_tree *tree = &difference->own->tree;
    double values[DIFF_RUNS_MAX] = {0}, variances[DIFF_RUNS_MAX] = {0};
    for (size_t i = 0; i < tree->figure_count * tree->run_count; i++) {
        values[i % tree->run_count] += tree->values[i];
        variances[i % tree->run_count] += tree->variances ? tree->variances[i] : 0;
    }
    difference->total = diff_figure_with(difference->runs, difference->run_count, values,
                                         tree->variances ? variances : NULL);
}

/* ---- Making -------------------------------------------------------------------------------- */

static int diff_join_paths(struct diff *difference, bool *const *hidden)
{
    struct diff_private *own = difference->own;
    struct diff_steps steps[DIFF_RUNS_MAX] = {0};
    int error = 0;
    for (size_t i = 0; i < difference->run_count && !error; i++)
        error = diff_steps_make(&steps[i], &own->sites, own->identities.by_key[i],
                                &difference->runs[i], hidden[i], difference->callers_only);
    if (!error)
        error = calls_align(&own->sites);
    if (!error)
        error =
            diff_tree_make(&own->tree, &own->sites, steps, difference->runs, difference->run_count);
    for (size_t i = 0; i < difference->run_count; i++)
        diff_steps_release(&steps[i]);
    return error;
}

static void diff_say_through(struct identity *identity, const char *through)
{
    if (!identity->through)
        identity->through = through;
    else if (strcmp(identity->through, through) != 0)
        identity->through = "";
}

/* Of each function, the wrapper through which all its paths ask. */
static void diff_find_wrappers(struct diff *difference, size_t run, const bool *hidden)
{
    const struct profile *profile = difference->runs[run].profile;
    const struct identities *identities = &difference->own->identities;
    const bool *wanted = difference->runs[run].wanted;
    for (size_t i = 0; i < profile->site_count; i++) {
        struct frame_walk walk;
        uint32_t path = profile_site_path(profile, i);
        struct frame frame = frame_walk_begin(&walk, profile, hidden, path);
        if (!frame.code || (wanted && !wanted[path]))
            continue;
        uint32_t key = function_key(profile, frame.code, frame.line);
        const char *through =
            frame.through ? frame_function(profile, frame_at(frame.through_code, frame.through))
                          : NULL;
        diff_say_through(&identities->of[identities->by_key[run][key]], through ? through : "");
    }
}

static int diff_name_and_pass(struct diff *difference)
{
    const struct profile *profiles[DIFF_RUNS_MAX];
    bool *hidden[DIFF_RUNS_MAX] = {0};
    int error = 0;
    for (size_t i = 0; i < difference->run_count; i++) {
        const struct profile *profile = profiles[i] = difference->runs[i].profile;
        hidden[i] = difference->options.hide_std ? frames_of_libraries(profile)
                                                 : calloc(profile->line_count + 1, 1);
        error = hidden[i] ? error : -ENOMEM;
    }
    if (!error)
        error = identities_init(&difference->own->identities, profiles, difference->run_count);
    for (size_t i = 0; i < difference->run_count && !error; i++)
        if (difference->options.hide_std && !difference->callers_only)
            diff_find_wrappers(difference, i, hidden[i]);
    if (!error)
        error = diff_join_paths(difference, hidden);
    for (size_t i = 0; i < difference->run_count; i++)
        free(hidden[i]);
    return error;
}

/* All figures, of the metric asked for. */
static int diff_count_up(struct diff *difference)
{
    int error =
        diff_tree_fill(&difference->own->tree, difference->runs, difference->options.metric);
    if (!error) {
        diff_scale_tree(difference);
        diff_sum_all(difference);
        error = diff_sum_functions(difference);
    }
    if (!error)
        error = diff_list_functions(difference);
    return error ? error : diff_list_paths(difference);
}

/* Is there a run of which only the callers of the allocator are known (`is`), or more than these
 * (not `is`)? */
static bool diff_has_callers_only(const struct diff_run *runs, size_t run_count, bool is)
{
    for (size_t i = 0; i < run_count; i++)
        if (facts_callers_only(runs[i].profile) == is)
            return true;
    return false;
}

int diff_make(struct diff *difference, const struct diff_run *runs, size_t run_count,
              const struct diff_options *options)
{
    *difference = (struct diff){.options = *options, .run_count = run_count, .runs = runs};
    difference->own = calloc(1, sizeof *difference->own);
    if (!difference->own)
        return -ENOMEM;
    difference->callers_only = diff_has_callers_only(runs, run_count, true) &&
                               diff_has_callers_only(runs, run_count, false);
    diff_set_scales(difference);
    int error = diff_name_and_pass(difference);
    if (!error)
        error = diff_count_up(difference);
    if (error)
        diff_release(difference);
    return error;
}

static void diff_release_figures(struct diff *difference)
{
    free(difference->own->by_function);
    free(difference->own->variance_by_function);
    free(difference->functions);
    free(difference->paths);
    difference->own->by_function = difference->own->variance_by_function = NULL;
    difference->functions = NULL;
    difference->paths = NULL;
    difference->function_count = difference->path_count = 0;
}

int diff_by(struct diff *difference, int metric)
{
    if (metric == difference->options.metric)
        return 0;
    difference->options.metric = metric;
    diff_release_figures(difference);
    int error = diff_count_up(difference);
    if (error)
        diff_release(difference);
    return error;
}

void diff_release(struct diff *difference)
{
    if (difference->own) {
        diff_release_figures(difference);
        identities_release(&difference->own->identities);
        calls_release(&difference->own->sites);
        diff_tree_release(&difference->own->tree);
    }
    free(difference->own);
    *difference = (struct diff){0};
}

/* ---- Asking -------------------------------------------------------------------------------- */

const char *diff_function_name(const struct diff *difference, uint32_t identity)
{
    return difference->own->identities.of[identity].name;
}

const char *diff_function_file(const struct diff *difference, uint32_t identity)
{
    return difference->own->identities.of[identity].file;
}

const char *diff_function_through(const struct diff *difference, uint32_t identity)
{
    const char *through = difference->own->identities.of[identity].through;
    return through && *through ? through : NULL;
}

double diff_function_value(const struct diff *difference, uint32_t identity, size_t run)
{
    return difference->own->by_function[identity * difference->run_count + run];
}

double diff_path_value(const struct diff *difference, uint32_t node, size_t run)
{
    const struct diff_tree *tree = &difference->own->tree;
    return tree->values[(diff_tree_figures_of(tree, node) - 1) * tree->run_count + run];
}

bool diff_frame_next(const struct diff *difference, uint32_t *node, struct diff_frame *frame)
{
    const struct diff_private *own = difference->own;
    if (!*node)
        return false;
    const struct call_site *site = &own->sites.sites[own->tree.nodes[*node].site];
    *node = own->tree.nodes[*node].parent;
    if (!site->function)
        return false;
    *frame = (struct diff_frame){own->identities.of[site->function].name,
                                 own->identities.of[site->function].file,
                                 {site->line[0], site->line[1]},
                                 site->callee ? NULL
                                              : diff_function_through(difference, site->function)};
    return true;
}

size_t diff_node_count(const struct diff *difference)
{
    return difference->own->tree.node_count;
}

/* ---- Whole runs ---------------------------------------------------------------------------- */

enum {
    TOTAL_PEAK,
    TOTAL_RESIDENT,
    TOTAL_LEFT,
    TOTAL_LEFT_COUNT,
    TOTAL_COUNT,
    TOTAL_BYTES,
    TOTAL_TEMPORARY,
    TOTAL_REALLOCS,
    TOTAL_DURATION,
};

static double diff_total_of(const struct profile *profile, int which)
{
    const struct call_metrics *total = &profile->program.total;
    switch (which) {
    case TOTAL_PEAK:
        return figure_double(total->peak_bytes);
    case TOTAL_RESIDENT:
        return figure_double(facts_resident_peak(profile));
    case TOTAL_LEFT:
        return figure_double(total->live_bytes);
    case TOTAL_LEFT_COUNT:
        return figure_double(total->live_count);
    case TOTAL_COUNT:
        return figure_double(total->alloc_count);
    case TOTAL_BYTES:
        return figure_double(total->alloc_bytes);
    case TOTAL_TEMPORARY:
        return figure_double(total->temporary_count);
    case TOTAL_REALLOCS:
        return figure_double(total->realloc_count);
    default:
        return profile_get(profile, PROFILE_META_DURATION)
                   ? (double)facts_number(profile, PROFILE_META_DURATION)
                   : NAN;
    }
}

/* Unknown: a sample does not tell how sure it is. */
static struct figure diff_variance_of_total(const struct profile *profile, int which)
{
    const struct call_metrics *total = &profile->program.total;
    return which == TOTAL_PEAK    ? total->at_peak_variance
           : which == TOTAL_LEFT  ? total->live_variance
           : which == TOTAL_BYTES ? total->alloc_variance
                                  : FIGURE_UNKNOWN;
}

/* With the error bars of samples. */
static struct diff_figure diff_figure_of_total(const struct diff *difference, const double *values,
                                               int which)
{
    double variances[DIFF_RUNS_MAX] = {0};
    bool sampled = false, known = true;
    for (size_t i = 0; i < difference->run_count; i++) {
        if (!diff_is_sample(&difference->runs[i]))
            continue;
        double bytes = difference->scale[i] * (double)difference->runs[i].profile->sample_bytes;
        struct figure variance = diff_variance_of_total(difference->runs[i].profile, which);
        variances[i] = bytes * bytes / 1024 * figure_double(variance);
        sampled = true;
        known &= figure_known(variance);
    }
    for (size_t i = 0; i < difference->run_count; i++)
        known &= !isnan(values[i]);
    return sampled && known
               ? diff_figure_with(difference->runs, difference->run_count, values, variances)
               : diff_figure_of(difference->runs, difference->run_count, values);
}

void diff_totals(const struct diff *difference, struct diff_total totals[DIFF_TOTALS])
{
    static const struct {
        const char *name, *title;
        int unit;
    } table[DIFF_TOTALS] = {
        [TOTAL_PEAK] = {"peak_bytes", "peak", DIFF_BYTES},
        [TOTAL_RESIDENT] = {"resident_peak_bytes", "resident peak", DIFF_BYTES},
        [TOTAL_LEFT] = {"live_bytes", "alive at the end", DIFF_BYTES},
        [TOTAL_LEFT_COUNT] = {"live_count", "blocks at the end", DIFF_COUNT},
        [TOTAL_COUNT] = {"alloc_count", "allocations", DIFF_COUNT},
        [TOTAL_BYTES] = {"alloc_bytes", "bytes allocated", DIFF_BYTES},
        [TOTAL_TEMPORARY] = {"temporary_count", "temporary", DIFF_COUNT},
        [TOTAL_REALLOCS] = {"realloc_count", "reallocations", DIFF_COUNT},
        [TOTAL_DURATION] = {"duration_ns", "duration", DIFF_NS},
    };
    for (int i = 0; i < DIFF_TOTALS; i++) {
        double values[DIFF_RUNS_MAX];
        for (size_t j = 0; j < difference->run_count; j++)
            values[j] = (i == TOTAL_DURATION ? 1 : difference->scale[j]) *
                        diff_total_of(difference->runs[j].profile, i);
        totals[i] = (struct diff_total){table[i].name, table[i].title, (int)table[i].unit,
                                        diff_figure_of_total(difference, values, i)};
    }
}

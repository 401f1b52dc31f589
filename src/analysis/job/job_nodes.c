/* What the ranks of each node, and all of a job, held together over time.
 *
 * Each rank's steps begin at edges; between two edges of any ranks nothing changes. The edges of a
 * node are sorted once and walked with three running sums. */
#include "job/job_nodes.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/array.h"
#include "base/search.h"

/* ---- The walk ------------------------------------------------------------------------------ */

struct job_nodes_edge {
    uint64_t at_ns;
    uint32_t member, step; /* step JOB_STEPS: the rank's end */
};

struct level {
    uint64_t max, min, resident;
    bool resident_known, runs;
};

struct job_nodes_sweep {
    const struct job_rank **members;
    size_t member_count;
    struct job_nodes_edge *edges;
    size_t edge_count, next;
    struct level *now; /* by member */
    uint64_t max, min, resident;
    size_t resident_known, running;
};

static int job_nodes_compare_edges(const void *left, const void *right)
{
    const struct job_nodes_edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static uint64_t job_nodes_step_begin(const struct job_rank *rank, unsigned step)
{
    return rank->start_unix_ns + (uint64_t)((job_u128)rank->duration_ns * step / JOB_STEPS);
}

static struct level job_nodes_level_of(const struct job_rank *rank, uint32_t step)
{
    if (step >= JOB_STEPS)
        return (struct level){0};
    uint16_t resident = rank->resident_max[step];
    uint64_t peak = figure_or(rank->peak_bytes, 0); /* known of all members */
    uint64_t resident_peak = 0;
    bool is_known =
        resident != JOB_NO_SHARE && figure_get(rank->resident_peak_bytes, &resident_peak);
    return (struct level){
        job_share_max(rank->requested_max[step], peak),
        job_share_min(rank->requested_min[step], peak),
        is_known ? job_share_max(resident, resident_peak) : 0,
        is_known,
        true,
    };
}

static void job_nodes_sweep_begin(struct job_nodes_sweep *sweep, const struct job_rank **members,
                                  size_t count)
{
    *sweep = (struct job_nodes_sweep){.members = members, .member_count = count};
    sweep->edges = memory_resize(NULL, count * (JOB_STEPS + 1), sizeof *sweep->edges);
    sweep->now = memory_resize(NULL, count, sizeof *sweep->now);
    memset(sweep->now, 0, count * sizeof *sweep->now);
    for (size_t i = 0; i < count; i++)
        for (uint32_t step = 0; step <= JOB_STEPS; step++)
            sweep->edges[sweep->edge_count++] =
                (struct job_nodes_edge){job_nodes_step_begin(members[i], step), (uint32_t)i, step};
    if (count)
        qsort(sweep->edges, sweep->edge_count, sizeof *sweep->edges, job_nodes_compare_edges);
}

static void job_nodes_sweep_end(struct job_nodes_sweep *sweep)
{
    free(sweep->edges);
    free(sweep->now);
}

static void job_nodes_pass_edge(struct job_nodes_sweep *sweep, const struct job_nodes_edge *edge)
{
    struct level *now = &sweep->now[edge->member];
    struct level to = job_nodes_level_of(sweep->members[edge->member], edge->step);
    sweep->max += to.max - now->max;
    sweep->min += to.min - now->min;
    sweep->resident += to.resident - now->resident;
    sweep->resident_known += to.resident_known;
    sweep->resident_known -= now->resident_known;
    sweep->running += to.runs;
    sweep->running -= now->runs;
    *now = to;
}

/* Goes on to the next moment at which something changes; false: there is none. The sums then hold
 * from *at_ns until *until_ns. */
static bool job_nodes_sweep_next(struct job_nodes_sweep *sweep, uint64_t *at_ns, uint64_t *until_ns)
{
    if (sweep->next == sweep->edge_count)
        return false;
    *at_ns = sweep->edges[sweep->next].at_ns;
    while (sweep->next < sweep->edge_count && sweep->edges[sweep->next].at_ns == *at_ns)
        job_nodes_pass_edge(sweep, &sweep->edges[sweep->next++]);
    *until_ns = sweep->next < sweep->edge_count ? sweep->edges[sweep->next].at_ns : *at_ns;
    return true;
}

/* Of all that run. A rank that was not looked at is no zero. */
static struct figure job_nodes_resident_of(const struct job_nodes_sweep *sweep)
{
    bool is_known = sweep->running && sweep->resident_known == sweep->running;
    return is_known ? figure_of(sweep->resident) : FIGURE_UNKNOWN;
}

static void job_nodes_raise(uint64_t *to, uint64_t bytes)
{
    if (bytes > *to)
        *to = bytes;
}

/* ---- Bounds -------------------------------------------------------------------------------- */

/* When its high-water mark was; where that is not known, at its end. */
static uint64_t job_nodes_mark_ns(const struct job_rank *rank)
{
    return rank->start_unix_ns + figure_or(rank->peak_ns, rank->duration_ns);
}

static int job_nodes_compare_moments(const void *left, const void *right)
{
    const struct job_rank *a = *(const struct job_rank *const *)left;
    const struct job_rank *b = *(const struct job_rank *const *)right;
    uint64_t a_at = job_nodes_mark_ns(a), b_at = job_nodes_mark_ns(b);
    return a_at != b_at ? (a_at < b_at ? -1 : 1) : job_rank_order(a, b);
}

/* What rank `rank` holds at least at a moment inside of its run. */
static uint64_t job_nodes_least_at(const struct job_rank *rank, uint64_t at_ns)
{
    unsigned step = JOB_STEPS;
    while (step && job_nodes_step_begin(rank, step) > at_ns)
        step--;
    if (step == JOB_STEPS && job_nodes_step_begin(rank, step) == at_ns)
        step--; /* its last moment */
    return job_nodes_level_of(rank, step).min;
}

struct job_nodes_finding {
    struct job_node_peak *node;
    const struct job_rank **by_peak; /* in the order of their high-water marks' moments */
    size_t next;
};

/* The high-water marks that were reached while the sums hold: a rank's mark is exact, and the
 * others held at least their minima. */
static void job_nodes_take_marks(struct job_nodes_finding *finding,
                                 const struct job_nodes_sweep *sweep, uint64_t until_ns)
{
    for (; finding->next < sweep->member_count; finding->next++) {
        const struct job_rank *rank = finding->by_peak[finding->next];
        uint64_t at_ns = job_nodes_mark_ns(rank);
        if (at_ns >= until_ns)
            return;
        uint64_t least = job_nodes_least_at(rank, at_ns);
        if (least <= sweep->min && figure_known(rank->peak_ns))
            job_nodes_raise(&finding->node->lower_bytes,
                            sweep->min - least + figure_or(rank->peak_bytes, 0));
    }
}

static void job_nodes_take_sums(struct job_node_peak *node, const struct job_nodes_sweep *sweep,
                                uint64_t at_ns)
{
    job_nodes_raise(&node->lower_bytes, sweep->min);
    if (sweep->max > node->upper_bytes) {
        node->upper_bytes = sweep->max;
        node->at_unix_ns = at_ns;
    }
    struct figure resident = job_nodes_resident_of(sweep);
    if (figure_compare(resident, node->resident_bytes) > 0) {
        node->resident_bytes = resident;
        node->resident_at_unix_ns = at_ns;
    }
}

/* Keeps those with the largest part, the largest first. */
static void job_nodes_take_top(struct job_node_peak *node, size_t rank, uint64_t bytes)
{
    size_t at = node->top_count;
    while (at && node->top_bytes[at - 1] < bytes)
        at--;
    if (at == NODE_TOP || !bytes)
        return;
    size_t kept = node->top_count < NODE_TOP ? node->top_count : NODE_TOP - 1;
    memmove(&node->top[at + 1], &node->top[at], (kept - at) * sizeof *node->top);
    memmove(&node->top_bytes[at + 1], &node->top_bytes[at], (kept - at) * sizeof *node->top_bytes);
    node->top[at] = rank;
    node->top_bytes[at] = bytes;
    node->top_count = kept + 1;
}

/* Those with the largest part at the moment of the upper bound. */
static void job_nodes_find_top(struct job_node_peak *node, const struct job_summary *summary,
                               const struct job_rank **members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        for (unsigned step = 0; step < JOB_STEPS; step++)
            if (job_nodes_step_begin(members[i], step) <= node->at_unix_ns &&
                node->at_unix_ns < job_nodes_step_begin(members[i], step + 1))
                bytes = job_nodes_level_of(members[i], step).max;
        job_nodes_take_top(node, (size_t)(members[i] - summary->ranks), bytes);
    }
}

void job_node_take_mark(struct job_node_peak *node, const struct job_node_mark *mark, bool is_all)
{
    job_nodes_raise(&node->lower_bytes, mark->bytes);
    job_nodes_raise(&node->upper_bytes, node->lower_bytes);
    if (!is_all)
        return;
    node->is_exact = true;
    node->lower_bytes = node->upper_bytes = mark->bytes;
    node->at_unix_ns = mark->at_unix_ns;
    node->top_count = 0;
    for (size_t i = 0; i < mark->rank_count; i++)
        job_nodes_take_top(node, mark->ranks[i], mark->rank_bytes[i]);
}

static bool job_nodes_are_dated(const struct job_rank **members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!members[i]->start_unix_ns)
            return false;
    return true;
}

/* Nobody says what they held at one moment. */
static void job_nodes_add_marks(struct job_node_peak *node, const struct job_summary *summary,
                                const struct job_rank **members, size_t count)
{
    node->upper_bytes = node->peak_sum;
    for (size_t i = 0; i < count; i++) {
        uint64_t peak = figure_or(members[i]->peak_bytes, 0); /* known of all members */
        job_nodes_raise(&node->lower_bytes, peak);
        job_nodes_take_top(node, (size_t)(members[i] - summary->ranks), peak);
    }
}

static void job_nodes_find_peak(struct job_node_peak *node, const struct job_rank **members,
                                size_t count)
{
    struct job_nodes_sweep sweep;
    uint64_t at_ns, until_ns;
    struct job_nodes_finding finding = {.node = node,
                                        .by_peak = memory_resize(NULL, count, sizeof *members)};
    if (count) {
        memcpy(finding.by_peak, members, count * sizeof *members);
        qsort(finding.by_peak, count, sizeof *members, job_nodes_compare_moments);
    }
    job_nodes_sweep_begin(&sweep, members, count);
    while (job_nodes_sweep_next(&sweep, &at_ns, &until_ns)) {
        job_nodes_take_marks(&finding, &sweep, until_ns);
        job_nodes_take_sums(node, &sweep, at_ns);
    }
    job_nodes_sweep_end(&sweep);
    free(finding.by_peak);
    for (size_t i = 0; i < count; i++) /* each rank alone reached its own mark */
        job_nodes_raise(&node->lower_bytes, figure_or(members[i]->peak_bytes, 0));
    job_nodes_raise(&node->upper_bytes, node->lower_bytes);
}

/* ---- Nodes --------------------------------------------------------------------------------- */

/* Processes with the same boot id share a clock, whatever their hosts are called. */
const char *job_node_key(const struct job_rank *rank)
{
    return rank->boot ? rank->boot : rank->node ? rank->node : "";
}

static int job_nodes_compare_by_node(const void *left, const void *right)
{
    const struct job_rank *a = *(const struct job_rank *const *)left;
    const struct job_rank *b = *(const struct job_rank *const *)right;
    int order = strcmp(job_node_key(a), job_node_key(b));
    return order ? order : job_rank_order(a, b);
}

static void job_nodes_take_member(struct job_node_peak *node, const struct job_rank *rank)
{
    node->ranks += !rank->is_helper;
    node->helpers += rank->is_helper;
    node->peak_sum += figure_or(rank->peak_bytes, 0);
    node->machine_bytes = figure_min(node->machine_bytes, rank->machine_bytes);
    node->limit_bytes = figure_min(node->limit_bytes, rank->limit_bytes);
    node->cgroup_peak_bytes = figure_max(node->cgroup_peak_bytes, rank->cgroup_peak_bytes);
    if (figure_known(rank->available_bytes) &&
        (!figure_known(node->available_bytes) ||
         figure_less(rank->available_bytes, node->available_bytes))) {
        node->available_bytes = rank->available_bytes;
        node->available_unix_ns = rank->available_unix_ns;
    }
    job_nodes_raise(&node->step_ns, rank->duration_ns / JOB_STEPS);
}

/* `all` is of one node; those with figures come to its front. */
static struct job_node_peak job_nodes_look_at(const struct job_summary *summary,
                                              const struct job_rank **all, size_t count)
{
    struct job_node_peak node = {.key = job_node_key(all[0]),
                                 .name = all[0]->node ? all[0]->node : "?",
                                 .resident_bytes = FIGURE_UNKNOWN,
                                 .machine_bytes = FIGURE_UNKNOWN,
                                 .limit_bytes = FIGURE_UNKNOWN,
                                 .cgroup_peak_bytes = FIGURE_UNKNOWN,
                                 .available_bytes = FIGURE_UNKNOWN,
                                 .available_unix_ns = FIGURE_UNKNOWN};
    size_t members = 0;
    for (size_t i = 0; i < count; i++) {
        if (!job_rank_has_levels(all[i])) {
            node.unread++;
            continue;
        }
        job_nodes_take_member(&node, all[i]);
        all[members++] = all[i];
    }
    if (members > 1 && !job_nodes_are_dated(all, members)) {
        job_nodes_add_marks(&node, summary, all, members);
        return node;
    }
    job_nodes_find_peak(&node, all, members);
    job_nodes_find_top(&node, summary, all, members);
    if (!job_nodes_are_dated(all, members)) /* it is alone: when in its run is known, not when */
        node.at_unix_ns = node.resident_at_unix_ns = 0;
    return node;
}

static int job_nodes_compare_names(const void *left, const void *right)
{
    const struct job_node_peak *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    return (a->at_unix_ns > b->at_unix_ns) - (a->at_unix_ns < b->at_unix_ns);
}

static const struct job_rank **job_nodes_pointers_to(const struct job_summary *summary)
{
    const struct job_rank **all = memory_resize(NULL, summary->rank_count, sizeof *all);
    for (size_t i = 0; i < summary->rank_count; i++)
        all[i] = &summary->ranks[i];
    return all;
}

struct job_node_peak *job_nodes(const struct job_summary *summary, size_t *count)
{
    const struct job_rank **all = job_nodes_pointers_to(summary);
    struct job_node_peak *nodes = NULL;
    size_t capacity = 0;
    *count = 0;
    if (summary->rank_count)
        qsort(all, summary->rank_count, sizeof *all, job_nodes_compare_by_node);
    for (size_t i = 0, past; i < summary->rank_count; i = past) {
        for (past = i + 1; past < summary->rank_count; past++)
            if (strcmp(job_node_key(all[i]), job_node_key(all[past])))
                break;
        struct job_node_peak node = job_nodes_look_at(summary, all + i, past - i);
        if (!*node.key && !node.ranks && !node.helpers)
            continue; /* only ranks that could not be read, on no known node */
        array_need_room(&nodes, &capacity, *count, sizeof *nodes);
        nodes[(*count)++] = node;
    }
    if (*count)
        qsort(nodes, *count, sizeof *nodes, job_nodes_compare_names);
    free(all);
    return nodes;
}

static int job_nodes_compare_keys(const void *left, const void *right, void *context)
{
    const struct job_node_peak *nodes = context;
    return strcmp(nodes[*(const uint32_t *)left].key, nodes[*(const uint32_t *)right].key);
}

uint32_t *job_nodes_of_ranks(const struct job_summary *summary, const struct job_node_peak *nodes,
                             size_t count)
{
    uint32_t *by_key = memory_resize(NULL, count, sizeof *by_key);
    uint32_t *of = memory_resize(NULL, summary->rank_count, sizeof *of);
    for (size_t i = 0; i < count; i++)
        by_key[i] = (uint32_t)i;
    if (count)
        qsort_r(by_key, count, sizeof *by_key, job_nodes_compare_keys, (void *)nodes);
    for (size_t i = 0; i < summary->rank_count; i++) {
        const char *key = job_node_key(&summary->ranks[i]);
        size_t first = 0;
        SEARCH_FIRST(first, count, at, strcmp(nodes[by_key[at]].key, key) < 0);
        bool is_there = first < count && !strcmp(nodes[by_key[first]].key, key);
        of[i] = is_there ? by_key[first] : JOB_NO_NODE;
    }
    free(by_key);
    return of;
}

/* ---- The whole job ------------------------------------------------------------------------- */

static void job_nodes_find_extent(struct job_course *course, const struct job_rank **members,
                                  size_t count)
{
    uint64_t begin = UINT64_MAX, end = 0; /* a minimum and a maximum of nothing */
    for (size_t i = 0; i < count; i++) {
        begin = members[i]->start_unix_ns < begin ? members[i]->start_unix_ns : begin;
        job_nodes_raise(&end, members[i]->start_unix_ns + members[i]->duration_ns);
    }
    course->start_unix_ns = count ? begin : 0;
    course->at_unix_ns = course->start_unix_ns; /* if none of them ever held anything */
    course->duration_ns = count ? end - begin : 0;
}

static void job_nodes_take_moment(struct job_moment *moment, const struct job_nodes_sweep *sweep)
{
    job_nodes_raise(&moment->requested_max, sweep->max);
    if (sweep->min < moment->requested_min)
        moment->requested_min = sweep->min;
    moment->resident_max = figure_max(moment->resident_max, job_nodes_resident_of(sweep));
}

void job_course_init(struct job_course *course, const struct job_summary *summary, size_t count)
{
    const struct job_rank **members = job_nodes_pointers_to(summary);
    size_t member_count = 0;
    uint64_t at_ns, until_ns;
    struct job_nodes_sweep sweep;
    *course = (struct job_course){.count = count};
    for (size_t i = 0; i < summary->rank_count; i++) {
        if (!job_rank_has_levels(members[i]))
            continue;
        if (members[i]->start_unix_ns)
            members[member_count++] = members[i];
        else
            course->undated++;
    }
    course->moments = memory_resize(NULL, count, sizeof *course->moments);
    for (size_t i = 0; i < count; i++)
        course->moments[i] = (struct job_moment){UINT64_MAX, 0, FIGURE_UNKNOWN};
    job_nodes_find_extent(course, members, member_count);
    job_nodes_sweep_begin(&sweep, members, member_count);
    uint64_t whole = course->duration_ns ? course->duration_ns : 1;
    while (job_nodes_sweep_next(&sweep, &at_ns, &until_ns)) {
        size_t first = (size_t)((job_u128)(at_ns - course->start_unix_ns) * count / whole);
        size_t last = (size_t)((job_u128)(until_ns - course->start_unix_ns) * count / whole);
        for (size_t i = first; i <= last && i < count && until_ns > at_ns; i++)
            job_nodes_take_moment(&course->moments[i], &sweep);
        if (sweep.max > course->upper_bytes) {
            course->upper_bytes = sweep.max;
            course->at_unix_ns = at_ns;
        }
    }
    job_nodes_sweep_end(&sweep);
    for (size_t i = 0; i < count; i++)
        if (course->moments[i].requested_min > course->moments[i].requested_max)
            course->moments[i].requested_min = 0;
    free(members);
}

void job_course_release(struct job_course *course)
{
    free(course->moments);
    *course = (struct job_course){0};
}

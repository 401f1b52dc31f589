/* Groups call paths by the first frame of the program's own (call_sites.h). A counting sort orders
 * paths by group. A group's callers are a tree with lists of children, where the last child that
 * was found moves to the front. */
#include "aggregate/call_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "aggregate/match.h"

/* Where a recursion ends, by the node of one of its frames: a walk that stands behind that frame,
 * at `from`, goes on with `frame`, and then stands at `node` and `at`. Of many paths in one
 * recursion each would else be walked to its end. */
struct recursion_end {
    uint32_t from; /* 0: not known */
    uint32_t node, at;
    struct frame frame;
    bool is_root; /* there is no other frame */
};

struct frame call_sites_frame(const struct call_sites *sites, uint32_t node)
{
    struct frame_walk walk;
    return node < sites->profile->node_count
               ? frame_walk_begin(&walk, sites->profile, sites->hidden, node)
               : frame_at(0, 0);
}

/* ---- Grouping ------------------------------------------------------------------------------ */

static void call_sites_add_to_group(struct call_sites *sites, struct site_group *group,
                                    const struct call_metrics *call)
{
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        sites->totals[i] = metric_join(&metrics[i], sites->totals[i], metric_of(&metrics[i], call));
    merged_add_path(&group->merged, call);
    group->count++;
    sites->path_count++;
}

/* order[]: a counting sort of the sites by group. */
static void call_sites_sort_by_group(struct call_sites *sites, const uint32_t *group_of)
{
    size_t first = 0;
    for (size_t i = 0; i < sites->group_count; i++) {
        sites->groups[i].first = first;
        first += sites->groups[i].count;
        sites->groups[i].count = 0;
    }
    for (size_t i = 0; i < sites->profile->site_count; i++) {
        if (group_of[i] == UINT32_MAX)
            continue;
        struct site_group *group = &sites->groups[group_of[i]];
        sites->order[group->first + group->count++] = (uint32_t)i;
    }
}

static int call_sites_group(struct call_sites *sites)
{
    const struct profile *profile = sites->profile;
    struct frame_groups groups;
    int error = frame_groups_init(&groups, profile, sites->hidden, sites->wanted);
    if (error)
        return error;
    sites->group_count = groups.count;
    for (size_t i = 0; i < groups.count; i++)
        sites->groups[i].frame = groups.frames[i];
    struct profile_site room;
    for (size_t i = 0; i < profile->site_count; i++)
        if (groups.of_site[i] != UINT32_MAX)
            call_sites_add_to_group(sites, &sites->groups[groups.of_site[i]],
                                    &profile_site_at(profile, i, &room)->metrics);
    call_sites_sort_by_group(sites, groups.of_site);
    frame_groups_release(&groups);
    return 0;
}

int call_sites_init_wanted(struct call_sites *sites, const struct profile *profile, bool *wanted,
                           bool hide_std)
{
    size_t count = profile->site_count;
    *sites = (struct call_sites){.profile = profile, .wanted = wanted};
    for (size_t i = 0; i < METRIC_CHOICES; i++) /* of no path: 0 where the recording says it */
        sites->totals[i] = metric_is_known(&metrics[i], &profile->program.total)
                               ? metric_nothing(&metrics[i])
                               : FIGURE_UNKNOWN;
    sites->hidden = hide_std ? frames_of_libraries(profile) : calloc(profile->line_count + 1, 1);
    sites->order = calloc(count + 1, sizeof *sites->order);
    sites->groups = calloc(count + 1, sizeof *sites->groups);
    sites->recursion_ends = calloc(profile->node_count + 1, sizeof *sites->recursion_ends);
    bool possible = sites->hidden && sites->order && sites->groups && sites->recursion_ends;
    int error = possible ? call_sites_group(sites) : -ENOMEM;
    if (error)
        call_sites_release(sites);
    return error;
}

int call_sites_init(struct call_sites *sites, const struct profile *profile, const char *filter,
                    bool hide_std)
{
    bool *wanted = NULL;
    int error = filter ? match_paths(profile, filter, &wanted) : 0;
    if (!error)
        return call_sites_init_wanted(sites, profile, wanted, hide_std);
    *sites = (struct call_sites){0};
    return error;
}

void call_sites_release(struct call_sites *sites)
{
    free(sites->hidden);
    free(sites->wanted);
    free(sites->order);
    free(sites->groups);
    free(sites->recursion_ends);
    *sites = (struct call_sites){0};
}

static struct figure call_sites_rank(const struct site_group *group, size_t metric)
{
    return metric_rank(&metrics[metric], call_sites_group_value(group, metric));
}

size_t call_sites_top(const struct call_sites *sites, size_t metric, const struct site_group **top,
                      size_t max)
{
    size_t count = 0, filled = 0;
    for (size_t i = 0; i < sites->group_count; i++) {
        const struct site_group *group = &sites->groups[i];
        struct figure value = call_sites_group_value(group, metric);
        if (!metric_is_any(&metrics[metric], value))
            continue;
        count++;
        size_t at = filled;
        while (at && figure_less(call_sites_rank(top[at - 1], metric),
                                 metric_rank(&metrics[metric], value)))
            at--;
        if (at >= max)
            continue;
        filled += filled < max;
        memmove(&top[at + 1], &top[at], (filled - 1 - at) * sizeof *top);
        top[at] = group;
    }
    return count;
}

/* ---- Callers ------------------------------------------------------------------------------- */

/* The child of `parent` for a frame; made if it is not there. 0: out of memory. */
static uint32_t call_sites_child_for(struct callers *callers, const struct profile *profile,
                                     uint32_t parent, struct frame frame)
{
    uint64_t key = frame_key(profile, frame);
    uint32_t *link = &callers->nodes[parent].first_child;
    for (; *link; link = &callers->nodes[*link].next) {
        uint32_t found = *link;
        if (frame_key(profile, callers->nodes[found].frame) != key)
            continue;
        /* To the front: the next path is likely to come the same way. */
        *link = callers->nodes[found].next;
        callers->nodes[found].next = callers->nodes[parent].first_child;
        callers->nodes[parent].first_child = found;
        return found;
    }
    if (!array_make_bare_room(&callers->nodes, &callers->capacity, callers->count,
                              sizeof *callers->nodes))
        return 0;
    uint32_t made = (uint32_t)callers->count++;
    callers->nodes[made] = (struct caller){.frame = frame,
                                           .value = metric_nothing(callers->metric),
                                           .next = callers->nodes[parent].first_child};
    callers->nodes[parent].first_child = made;
    return made;
}

/* Notes the end for the frames from `walk` on, which are `count`. */
static void call_sites_note_end(const struct call_sites *sites, struct frame_walk walk,
                                size_t count, struct recursion_end end)
{
    struct frame frame;
    while (count-- && frame_walk_next(&walk, &frame)) {
        end.from = walk.at;
        sites->recursion_ends[walk.node] = end;
    }
}

bool call_sites_next_other(const struct call_sites *sites, struct frame_walk *walk,
                           struct frame *frame, uint64_t key)
{
    enum { SHORT = 16 }; /* these are walked again, and no memory is touched */
    const struct frame_walk begin = *walk;
    size_t count = 0;
    bool is_other = false;
    while (!is_other && frame_walk_next(walk, frame)) {
        is_other = frame_key(sites->profile, *frame) != key;
        const struct recursion_end *end = &sites->recursion_ends[walk->node];
        if (is_other || count++ < SHORT || end->from != walk->at)
            continue;
        *frame = end->frame;
        is_other = !end->is_root;
        walk->node = end->node;
        walk->at = end->at;
    }
    if (count > SHORT)
        call_sites_note_end(sites, begin, count,
                            (struct recursion_end){0, walk->node, walk->at, *frame, !is_other});
    return is_other;
}

static int call_sites_add_path(struct callers *callers, const struct call_sites *sites,
                               uint32_t path, struct figure value, size_t depth)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, sites->profile, sites->hidden, path);
    uint64_t last = frame_key(sites->profile, frame);
    uint32_t at = 0;
    callers->nodes[0].value = metric_join(callers->metric, callers->nodes[0].value, value);
    while (call_sites_next_other(sites, &walk, &frame, last)) { /* recursion: once is enough */
        last = frame_key(sites->profile, frame);
        if (!depth--) {
            callers->nodes[at].continues = true;
            break;
        }
        at = call_sites_child_for(callers, sites->profile, at, frame);
        if (!at)
            return -ENOMEM;
        callers->nodes[at].value = metric_join(callers->metric, callers->nodes[at].value, value);
    }
    return 0;
}

/* Children by falling rank; insertion, as the lists are short. */
static void call_sites_sort_children(struct callers *callers, uint32_t parent)
{
    uint32_t sorted = 0;
    for (uint32_t child = callers->nodes[parent].first_child, next; child; child = next) {
        next = callers->nodes[child].next;
        uint32_t *link = &sorted;
        struct figure rank = metric_rank(callers->metric, callers->nodes[child].value);
        while (*link &&
               figure_compare(metric_rank(callers->metric, callers->nodes[*link].value), rank) >= 0)
            link = &callers->nodes[*link].next;
        callers->nodes[child].next = *link;
        *link = child;
    }
    callers->nodes[parent].first_child = sorted;
}

int callers_build(struct callers *callers, const struct call_sites *sites,
                  const struct site_group *group, size_t metric, size_t depth)
{
    *callers = (struct callers){calloc(64, sizeof *callers->nodes), 1, 64, &metrics[metric]};
    if (!callers->nodes)
        return -ENOMEM;
    callers->nodes[0].frame = group->frame;
    callers->nodes[0].value = metric_nothing(callers->metric);
    for (size_t i = 0; i < group->count; i++) {
        struct profile_site room;
        const struct profile_site *site =
            profile_site_at(sites->profile, sites->order[group->first + i], &room);
        struct figure value = metric_of(&metrics[metric], &site->metrics);
        int error = metric_is_any(callers->metric, value) || !figure_known(value)
                        ? call_sites_add_path(callers, sites, site->path, value, depth)
                        : 0;
        if (error) {
            callers_release(callers);
            return error;
        }
    }
    for (size_t i = 0; i < callers->count; i++)
        call_sites_sort_children(callers, (uint32_t)i);
    return 0;
}

void callers_release(struct callers *callers)
{
    free(callers->nodes);
    *callers = (struct callers){0};
}

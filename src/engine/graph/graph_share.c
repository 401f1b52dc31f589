/* Finds the holders of what nobody holds alone (graph_share.h), among the tops alone: each node is
 * reached by the holders that reach its top.
 *
 *   leads ──▶ rings of tops (Tarjan, "Depth-first search and linear graph algorithms", 1972):
 *             a ring is finished after all that leads to it
 *         ──▶ by ring: its own holders, and the sets of what leads to it, as one set
 *         ──▶ by set: how much it keeps; its head; by head: a group
 *
 * A set is kept once, and so is each union, so that a thousand blocks that the same holders reach
 * cost one. What sets may take is bounded (MOST_KEPT, MOST_READ): beyond that a ring has the
 * largest set that leads to it, marked as a part.
 *
 * Memory: 4 bytes a node, 96 bytes a top, 4 bytes for each holder of each set. */
#include "graph/graph_share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "graph/number_lists.h"

enum { MOST_KEPT = 1 << 22, MOST_READ = 1 << 26 };

struct graph_share_top {
    uint32_t order;
    uint32_t index, low; /* of the search for rings; index 0: not met */
    uint32_t next;       /* the lead that the search follows next */
    uint32_t set;        /* NUMBER_LISTS_NONE: not finished */
    uint32_t from;       /* the top from which the search came */
    bool is_holder;
    uint64_t count, bytes; /* what it dominates */
};

/* What a set of holders keeps together. */
struct graph_share_set {
    uint64_t count, bytes;
    uint32_t head, group;
};

/* What a holder reaches. */
struct graph_share_sum {
    uint64_t count, bytes, direct_bytes;
    bool is_listed; /* among the holders of the group in the making */
};

struct graph_share_way {
    const struct graph *graph;
    const struct graph_dominators *dominators;
    struct graph_shares *out;
    uint64_t little_bytes;
    struct graph_share_top *tops;
    uint32_t *numbers; /* by order: of a top its number in `tops` */
    uint32_t top_count, met;
    uint32_t *open; /* tops of rings that are not finished, as they were met */
    uint32_t open_count;
    uint32_t *marks; /* by top: of the holders that are in a list already */
    uint32_t mark;
    struct number_lists sets, unions; /* unions: lists of sets */
    uint32_t *of_unions;              /* by union: its set */
    size_t union_room;
    uint32_t *list; /* a list in the making */
    size_t list_count, list_room;
    uint64_t read; /* numbers that were read for unions */
    struct graph_share_set *by_set;
    struct graph_share_sum *by_holder; /* by top: in all; later in one group */
    bool no_memory;
};

/* ---- Tops ------------------------------------------------------------------------------------ */

static void graph_share_count(struct graph_share_way *way)
{
    const struct graph_dominators *of = way->dominators;
    for (uint32_t order = 1; order < of->count; order++) {
        struct graph_share_top *top = &way->tops[way->numbers[of->tops[order]]];
        uint32_t block = of->nodes[order] - 1 - of->holder_count;
        if (of->nodes[order] <= of->holder_count || block >= way->graph->count)
            continue;
        top->count++;
        top->bytes += way->graph->blocks[block].size_bytes;
    }
}

static void graph_share_find_tops(struct graph_share_way *way)
{
    const struct graph_dominators *of = way->dominators;
    for (uint32_t order = 1; order < of->count; order++) {
        if (of->tops[order] != order)
            continue;
        struct graph_share_top *top = &way->tops[way->top_count];
        way->numbers[order] = way->top_count++;
        *top = (struct graph_share_top){
            .order = order, .next = of->lead_first[order], .set = NUMBER_LISTS_NONE};
        for (uint32_t at = of->lead_first[order]; at < of->lead_first[order + 1]; at++)
            top->is_holder |= of->leads[at] == 0;
    }
}

/* The top that a lead comes from; NUMBER_LISTS_NONE: from the root. */
static uint32_t graph_share_from(const struct graph_share_way *way, uint32_t at)
{
    uint32_t order = way->dominators->leads[at] & GRAPH_LEAD_TOP;
    return order ? way->numbers[order] : NUMBER_LISTS_NONE;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

static int graph_share_compare_numbers(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void graph_share_put(struct graph_share_way *way, uint32_t number)
{
    if (array_make_bare_room(&way->list, &way->list_room, way->list_count, sizeof *way->list))
        way->list[way->list_count++] = number;
    else
        way->no_memory = true;
}

static uint32_t graph_share_keep(struct graph_share_way *way, struct number_lists *lists,
                                 bool is_part)
{
    qsort(way->list, way->list_count, sizeof *way->list, graph_share_compare_numbers);
    size_t kept = 0;
    for (size_t i = 0; i < way->list_count; i++)
        if (!kept || way->list[kept - 1] != way->list[i])
            way->list[kept++] = way->list[i];
    uint32_t list = number_lists_add(lists, way->list, (uint32_t)kept, is_part);
    way->list_count = 0;
    way->no_memory |= list == NUMBER_LISTS_NONE;
    return list;
}

/* A union that would be too much: the largest of its sets, as a part. */
static uint32_t graph_share_largest(struct graph_share_way *way, const uint32_t *sets,
                                    uint32_t count)
{
    uint32_t largest = sets[0];
    for (uint32_t i = 1; i < count; i++)
        if (way->sets.lists[sets[i]].count > way->sets.lists[largest].count)
            largest = sets[i];
    uint32_t part = number_lists_part_of(&way->sets, largest);
    way->no_memory |= part == NUMBER_LISTS_NONE;
    return part;
}

static uint32_t graph_share_unite(struct graph_share_way *way, const uint32_t *sets, uint32_t count)
{
    uint64_t read = 0;
    bool is_part = false;
    for (uint32_t i = 0; i < count; i++)
        read += way->sets.lists[sets[i]].count;
    way->read += read;
    if (way->read > MOST_READ || way->sets.number_count + read > MOST_KEPT)
        return graph_share_largest(way, sets, count);
    way->mark++;
    for (uint32_t i = 0; i < count; i++) {
        const struct number_list *of = &way->sets.lists[sets[i]];
        is_part |= of->is_part;
        for (uint32_t k = 0; k < of->count; k++) {
            uint32_t holder = way->sets.numbers[of->first + k];
            if (way->marks[holder] != way->mark)
                graph_share_put(way, holder);
            way->marks[holder] = way->mark;
        }
    }
    return way->no_memory ? NUMBER_LISTS_NONE : graph_share_keep(way, &way->sets, is_part);
}

/* The set of a list of sets. Each list is united once. */
static uint32_t graph_share_set_of(struct graph_share_way *way)
{
    size_t before = way->unions.count;
    uint32_t number = graph_share_keep(way, &way->unions, false);
    if (way->no_memory ||
        !array_make_room(&way->of_unions, &way->union_room, number, sizeof *way->of_unions)) {
        way->no_memory = true;
        return NUMBER_LISTS_NONE;
    }
    const struct number_list list = way->unions.lists[number];
    const uint32_t *sets = number_lists_at(&way->unions, number);
    if (number == before)
        way->of_unions[number] = list.count == 1 ? *sets : graph_share_unite(way, sets, list.count);
    return way->of_unions[number];
}

/* ---- Rings ----------------------------------------------------------------------------------- */

static uint32_t graph_share_set_of_holder(struct graph_share_way *way, uint32_t number)
{
    uint32_t set = number_lists_add(&way->sets, &number, 1, false);
    way->no_memory |= set == NUMBER_LISTS_NONE;
    return set;
}

/* The ring is open[first .. open_count): all that leads to it is finished, or is in it. */
static void graph_share_finish_ring(struct graph_share_way *way, uint32_t first)
{
    for (uint32_t i = first; i < way->open_count && !way->no_memory; i++) {
        const struct graph_share_top *top = &way->tops[way->open[i]];
        if (top->is_holder)
            graph_share_put(way, graph_share_set_of_holder(way, way->open[i]));
        for (uint32_t at = way->dominators->lead_first[top->order];
             at < way->dominators->lead_first[top->order + 1]; at++) {
            uint32_t from = graph_share_from(way, at);
            if (from != NUMBER_LISTS_NONE && way->tops[from].set != NUMBER_LISTS_NONE)
                graph_share_put(way, way->tops[from].set);
        }
    }
    uint32_t set = way->no_memory ? NUMBER_LISTS_NONE : graph_share_set_of(way);
    while (way->open_count > first)
        way->tops[way->open[--way->open_count]].set = set;
}

static void graph_share_meet(struct graph_share_way *way, uint32_t number, uint32_t from)
{
    struct graph_share_top *top = &way->tops[number];
    top->index = top->low = ++way->met;
    top->from = from;
    way->open[way->open_count++] = number;
}

/* Where a ring's first top lies among the open ones. */
static uint32_t graph_share_place(const struct graph_share_way *way, uint32_t number)
{
    uint32_t place = way->open_count - 1;
    while (way->open[place] != number)
        place--;
    return place;
}

static void graph_share_lower(struct graph_share_top *top, uint32_t low)
{
    if (low < top->low)
        top->low = low;
}

/* All leads of the top were followed. Returns the top to go on with. */
static uint32_t graph_share_leave(struct graph_share_way *way, uint32_t number)
{
    struct graph_share_top *top = &way->tops[number];
    if (top->low == top->index)
        graph_share_finish_ring(way, graph_share_place(way, number));
    else
        graph_share_lower(&way->tops[top->from], top->low);
    return top->from;
}

static void graph_share_search(struct graph_share_way *way, uint32_t start)
{
    graph_share_meet(way, start, NUMBER_LISTS_NONE);
    for (uint32_t at = start; at != NUMBER_LISTS_NONE && !way->no_memory;) {
        struct graph_share_top *top = &way->tops[at];
        if (top->next == way->dominators->lead_first[top->order + 1]) {
            at = graph_share_leave(way, at);
            continue;
        }
        uint32_t from = graph_share_from(way, top->next++);
        if (from == NUMBER_LISTS_NONE)
            continue;
        if (!way->tops[from].index) {
            graph_share_meet(way, from, at);
            at = from;
        } else if (way->tops[from].set == NUMBER_LISTS_NONE) {
            graph_share_lower(top, way->tops[from].index);
        }
    }
}

/* ---- Heads ----------------------------------------------------------------------------------- */

/* What sets keep, and what each holder reaches of that in all. */
static void graph_share_sum_up(struct graph_share_way *way)
{
    for (uint32_t i = 0; i < way->top_count; i++) {
        const struct graph_share_top *top = &way->tops[i];
        struct graph_share_set *set = &way->by_set[top->set];
        set->count += top->is_holder ? 0 : top->count;
        set->bytes += top->is_holder ? 0 : top->bytes;
    }
    for (uint32_t set = 0; set < way->sets.count; set++)
        for (uint32_t i = 0; i < way->sets.lists[set].count; i++)
            way->by_holder[number_lists_at(&way->sets, set)[i]].bytes += way->by_set[set].bytes;
}

static int graph_share_compare_tops(const void *left, const void *right, void *context)
{
    const struct graph_share_way *way = context;
    const struct graph_share_top *a = &way->tops[*(const uint32_t *)left];
    const struct graph_share_top *b = &way->tops[*(const uint32_t *)right];
    uint32_t of_a = way->by_set[a->set].group, of_b = way->by_set[b->set].group;
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The tops that several hold, by group and set. At first there are no groups. */
static uint32_t graph_share_sort_tops(struct graph_share_way *way)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < way->top_count; i++)
        if (!way->tops[i].is_holder)
            way->open[count++] = i;
    if (count)
        qsort_r(way->open, count, sizeof *way->open, graph_share_compare_tops, way);
    return count;
}

/* Adds to the holders that point to the top themselves what it keeps. */
static void graph_share_add_direct(struct graph_share_way *way, uint32_t number)
{
    const struct graph_share_top *top = &way->tops[number];
    way->mark++;
    for (uint32_t at = way->dominators->lead_first[top->order];
         at < way->dominators->lead_first[top->order + 1]; at++) {
        uint32_t from = graph_share_from(way, at);
        if (!(way->dominators->leads[at] & GRAPH_LEAD_OWN) || !way->tops[from].is_holder ||
            way->marks[from] == way->mark)
            continue;
        way->marks[from] = way->mark;
        way->by_holder[from].direct_bytes += top->bytes;
    }
}

static bool graph_share_is_nearer(const struct graph_share_way *way, uint32_t a, uint32_t b)
{
    const struct graph_share_sum *of_a = &way->by_holder[a], *of_b = &way->by_holder[b];
    if (of_a->direct_bytes != of_b->direct_bytes)
        return of_a->direct_bytes > of_b->direct_bytes;
    if (of_a->bytes != of_b->bytes)
        return of_a->bytes > of_b->bytes;
    if (way->tops[a].bytes != way->tops[b].bytes)
        return way->tops[a].bytes > way->tops[b].bytes;
    return a < b;
}

/* Of one set, whose tops are open[from .. to). */
static void graph_share_find_head(struct graph_share_way *way, uint32_t from, uint32_t to)
{
    uint32_t set = way->tops[way->open[from]].set;
    const struct number_list list = way->sets.lists[set];
    const uint32_t *holders = number_lists_at(&way->sets, set);
    for (uint32_t i = from; i < to; i++)
        graph_share_add_direct(way, way->open[i]);
    uint32_t head = holders[0];
    for (uint32_t i = 1; i < list.count; i++)
        if (graph_share_is_nearer(way, holders[i], head))
            head = holders[i];
    way->by_set[set].head = head;
    for (uint32_t i = from; i < to; i++)
        for (uint32_t at = way->dominators->lead_first[way->tops[way->open[i]].order];
             at < way->dominators->lead_first[way->tops[way->open[i]].order + 1]; at++)
            if (way->dominators->leads[at])
                way->by_holder[graph_share_from(way, at)].direct_bytes = 0;
}

/* How much of `open` from `from` on is of one set. */
static uint32_t graph_share_end_of_set(const struct graph_share_way *way, uint32_t from,
                                       uint32_t count)
{
    uint32_t to = from + 1;
    while (to < count && way->tops[way->open[to]].set == way->tops[way->open[from]].set)
        to++;
    return to;
}

/* Of a set that keeps little: a head of larger sets, if it has one. `heads`: by top, how much the
 * sets of which it is the head keep. */
static void graph_share_join(struct graph_share_way *way, uint32_t set, const uint64_t *heads)
{
    const uint32_t *holders = number_lists_at(&way->sets, set);
    uint32_t best = holders[0];
    for (uint32_t i = 1; i < way->sets.lists[set].count; i++)
        if (heads[holders[i]] > heads[best])
            best = holders[i];
    if (heads[best])
        way->by_set[set].head = best;
}

static void graph_share_find_heads(struct graph_share_way *way, uint32_t count)
{
    uint64_t *heads = calloc((size_t)way->top_count + 1, sizeof *heads);
    way->no_memory |= !heads;
    for (uint32_t from = 0, to; from < count && heads; from = to) {
        to = graph_share_end_of_set(way, from, count);
        graph_share_find_head(way, from, to);
        const struct graph_share_set *set = &way->by_set[way->tops[way->open[from]].set];
        if (set->bytes >= way->little_bytes)
            heads[set->head] += set->bytes;
    }
    for (uint32_t from = 0, to; from < count && heads; from = to) {
        uint32_t set = way->tops[way->open[from]].set;
        to = graph_share_end_of_set(way, from, count);
        if (way->by_set[set].bytes < way->little_bytes)
            graph_share_join(way, set, heads);
    }
    free(heads);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint32_t graph_share_add_group(struct graph_share_way *way)
{
    struct graph_shares *out = way->out;
    if (!array_make_room(&out->groups, &out->group_room, out->group_count, sizeof *out->groups)) {
        way->no_memory = true;
        return GRAPH_NONE;
    }
    return (uint32_t)out->group_count++;
}

/* Groups are numbered by their heads' first sets. `marks` has the group of a head. */
static void graph_share_number_groups(struct graph_share_way *way, uint32_t count)
{
    memset(way->marks, 0xff, ((size_t)way->top_count + 1) * sizeof *way->marks);
    for (uint32_t i = 0; i < count && !way->no_memory; i++) {
        struct graph_share_set *set = &way->by_set[way->tops[way->open[i]].set];
        if (way->marks[set->head] == GRAPH_NONE)
            way->marks[set->head] = graph_share_add_group(way);
        set->group = way->marks[set->head];
    }
    memset(way->marks, 0, ((size_t)way->top_count + 1) * sizeof *way->marks);
    way->mark = 0;
}

static void graph_share_add_set(struct graph_share_way *way, uint32_t set,
                                struct graph_share_group *group)
{
    const uint32_t *holders = number_lists_at(&way->sets, set);
    const struct number_list list = way->sets.lists[set];
    group->is_part |= list.is_part;
    for (uint32_t i = 0; i < list.count; i++) {
        struct graph_share_sum *sum = &way->by_holder[holders[i]];
        if (!sum->is_listed)
            graph_share_put(way, holders[i]);
        sum->is_listed = true;
        sum->count += way->by_set[set].count;
        sum->bytes += way->by_set[set].bytes;
    }
}

static int graph_share_compare(const void *left, const void *right, void *context)
{
    const struct graph_share_way *way = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct graph_share_sum *of_a = &way->by_holder[a], *of_b = &way->by_holder[b];
    if (of_a->bytes != of_b->bytes)
        return of_a->bytes > of_b->bytes ? -1 : 1;
    return graph_share_is_nearer(way, a, b) ? -1 : a != b;
}

static void graph_share_put_share(struct graph_share_way *way, uint32_t number)
{
    struct graph_shares *out = way->out;
    const struct graph_share_sum *sum = &way->by_holder[number];
    const struct graph_share_top *top = &way->tops[number];
    if (array_make_room(&out->shares, &out->share_room, out->share_count, sizeof *out->shares))
        out->shares[out->share_count++] = (struct graph_share){top->order,
                                                               sum->count,
                                                               sum->bytes,
                                                               sum->direct_bytes,
                                                               top->is_holder ? top->count : 0,
                                                               top->is_holder ? top->bytes : 0};
    else
        way->no_memory = true;
}

/* The holders in `list` become the group's shares, the head first. */
static void graph_share_end_group(struct graph_share_way *way, struct graph_share_group *group,
                                  uint32_t head)
{
    group->first = way->out->share_count;
    group->all = (uint32_t)way->list_count;
    qsort_r(way->list, way->list_count, sizeof *way->list, graph_share_compare, way);
    graph_share_put_share(way, head);
    for (size_t i = 0; i < way->list_count; i++) {
        if (way->list[i] != head && way->out->share_count - group->first < GRAPH_SHARES_MOST)
            graph_share_put_share(way, way->list[i]);
    }
    group->count = (uint32_t)(way->out->share_count - group->first);
    for (size_t i = 0; i < way->list_count; i++)
        way->by_holder[way->list[i]] = (struct graph_share_sum){0};
    way->list_count = 0;
}

static void graph_share_make_groups(struct graph_share_way *way, uint32_t count)
{
    memset(way->by_holder, 0, ((size_t)way->top_count + 1) * sizeof *way->by_holder);
    for (uint32_t from = 0, to; from < count && !way->no_memory; from = to) {
        const struct graph_share_set *set = &way->by_set[way->tops[way->open[from]].set];
        struct graph_share_group *group = &way->out->groups[set->group];
        to = graph_share_end_of_set(way, from, count);
        graph_share_add_set(way, way->tops[way->open[from]].set, group);
        for (uint32_t i = from; i < to; i++)
            graph_share_add_direct(way, way->open[i]);
        if (to == count || way->by_set[way->tops[way->open[to]].set].group != set->group)
            graph_share_end_group(way, group, set->head);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool graph_share_begin(struct graph_share_way *way)
{
    const struct graph_dominators *of = way->dominators;
    size_t tops = 1;
    for (uint32_t order = 1; order < of->count; order++)
        tops += of->tops[order] == order;
    way->numbers = calloc((size_t)of->count + 1, sizeof *way->numbers);
    way->tops = calloc(tops, sizeof *way->tops);
    way->open = calloc(tops, sizeof *way->open);
    way->marks = calloc(tops, sizeof *way->marks);
    way->by_holder = calloc(tops, sizeof *way->by_holder);
    return way->numbers && way->tops && way->open && way->marks && way->by_holder;
}

/* The numbers of tops become the tops' groups, in place. */
static void graph_share_tell_groups(struct graph_share_way *way)
{
    const struct graph_dominators *of = way->dominators;
    uint32_t *group_of = way->numbers;
    group_of[0] = GRAPH_NONE;
    for (uint32_t order = 1; order < of->count; order++) {
        const struct graph_share_top *top =
            of->tops[order] == order ? &way->tops[group_of[order]] : NULL;
        group_of[order] = top && !top->is_holder ? way->by_set[top->set].group : GRAPH_NONE;
    }
    way->out->group_of = group_of;
    way->numbers = NULL;
}

static void graph_share_run(struct graph_share_way *way)
{
    graph_share_find_tops(way);
    graph_share_count(way);
    for (uint32_t i = 0; i < way->top_count && !way->no_memory; i++)
        if (!way->tops[i].index)
            graph_share_search(way, i);
    way->by_set = way->no_memory ? NULL : calloc(way->sets.count + 1, sizeof *way->by_set);
    way->no_memory |= !way->by_set;
    if (way->no_memory)
        return;
    graph_share_sum_up(way);
    uint32_t count = graph_share_sort_tops(way);
    graph_share_find_heads(way, count);
    if (way->no_memory)
        return;
    graph_share_number_groups(way, count);
    if (way->no_memory)
        return;
    graph_share_sort_tops(way);
    graph_share_make_groups(way, count);
    graph_share_tell_groups(way);
}

int graph_share(struct graph_shares *out, const struct graph *graph,
                const struct graph_dominators *dominators, uint64_t little_bytes)
{
    struct graph_share_way way = {
        .graph = graph, .dominators = dominators, .out = out, .little_bytes = little_bytes};
    *out = (struct graph_shares){0};
    way.no_memory = !graph_share_begin(&way);
    if (!way.no_memory)
        graph_share_run(&way);
    number_lists_release(&way.sets);
    number_lists_release(&way.unions);
    void *const arrays[] = {way.numbers,   way.tops, way.open,   way.marks,
                            way.of_unions, way.list, way.by_set, way.by_holder};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    if (way.no_memory)
        graph_shares_release(out);
    return way.no_memory ? -ENOMEM : 0;
}

void graph_shares_forget_tops(struct graph_shares *shares)
{
    free(shares->group_of);
    shares->group_of = NULL;
}

void graph_shares_release(struct graph_shares *shares)
{
    graph_shares_forget_tops(shares);
    free(shares->groups);
    free(shares->shares);
    *shares = (struct graph_shares){0};
}

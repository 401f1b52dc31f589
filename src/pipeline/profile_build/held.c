/* Makes rows from the graph that a look has kept (held.h). Roots are sorted by address, so those of
 * one variable are neighbours, and so are those of one place. */
#include "profile_build/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/search.h"
#include "graph/holder_tree.h"

/* Rows are for people. So holders of less than a thousandth are summed up, and so are deeper
 * levels. */
enum { LEAST_PART = 1000, DEPTH = 6, PATHS = 200 };
enum { RANKS = 5 };

struct holder {
    enum profile_holder_kind kind;
    const char *name, *module;
    pid_t tid;
};

struct naming_holders {
    struct held *held;
    variable_find_module *find;
    void *context;
    struct variable_module module; /* of the last variable */
    size_t place;                  /* of the last root */
    const struct globals_place *variable;
    struct holder *holders;
    size_t count, room;
    uint32_t *of_roots;
};

unsigned held_rank(enum profile_holder_kind kind)
{
    switch (kind) {
    case PROFILE_HOLDER_MODULE_VARIABLE:
        return 0;
    case PROFILE_HOLDER_CLASS:
        return 1;
    case PROFILE_HOLDER_VARIABLE:
    case PROFILE_HOLDER_TLS:
        return 2;
    case PROFILE_HOLDER_STACK:
    case PROFILE_HOLDER_REGISTERS:
        return 3;
    default:
        return RANKS - 1;
    }
}

const struct held_place *held_place_at(const struct held *held, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, held->place_count, at, held->places[at].end <= address);
    return first < held->place_count && held->places[first].start <= address ? &held->places[first]
                                                                             : NULL;
}

/* ---- Names that a run-time gives ------------------------------------------------------------- */

const char *held_keep_text(struct held *held, const char *text)
{
    if (!array_make_room(&held->texts, &held->text_room, held->text_count, sizeof *held->texts))
        return NULL;
    char *kept = strdup(text);
    if (kept)
        held->texts[held->text_count++] = kept;
    return kept;
}

int held_add_name(struct held *held, uint64_t address, uint32_t block,
                  enum profile_holder_kind kind, const char *name, const char *module)
{
    if (!array_make_room(&held->names, &held->name_room, held->name_count, sizeof *held->names))
        return -ENOMEM;
    graph_add_name(&held->graph, address, block);
    if (held->graph.no_memory)
        return -ENOMEM;
    held->names[held->name_count++] = (struct held_name){kind, name, module};
    return 0;
}

/* The name that an interpreter gave; NULL: the root has the name of its place. */
static const struct held_name *held_name_of_root(const struct held *held, size_t root)
{
    size_t first = held->graph.roots.count - held->name_count;
    return root < first ? NULL : &held->names[root - first];
}

enum profile_holder_kind held_kind_of_root(const struct held *held, size_t root)
{
    const struct held_name *name = held_name_of_root(held, root);
    const struct held_place *place = name ? NULL : held_place_at(held, held->graph.root_at[root]);
    if (name)
        return name->kind;
    return place ? place->kind : PROFILE_HOLDER_REGISTERS;
}

/* ---- Holders --------------------------------------------------------------------------------- */

static bool held_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool held_is_same(const struct holder *a, const struct holder *b)
{
    return a->kind == b->kind && a->tid == b->tid && held_text_equal(a->name, b->name) &&
           held_text_equal(a->module, b->module);
}

/* The number of a holder, new if it is not among the last BACK ones. Holders that come back later,
 * such as the nameless bytes of a module, are few. */
static uint32_t held_holder(struct naming_holders *naming, const struct holder *holder)
{
    enum { BACK = 64 };
    for (size_t i = naming->count; i-- > 0 && naming->count - i <= BACK;)
        if (held_is_same(&naming->holders[i], holder))
            return (uint32_t)i;
    if (!array_make_room(&naming->holders, &naming->room, naming->count, sizeof *naming->holders))
        return GRAPH_NONE;
    naming->holders[naming->count] = *holder;
    return (uint32_t)naming->count++;
}

/* The variable at an address; NULL: it has no name. */
static const struct globals_place *held_variable_at(struct naming_holders *naming, uint64_t address)
{
    struct variable_module *module = &naming->module;
    if ((address < module->start || address >= module->end) &&
        !naming->find(naming->context, address, module))
        *module = (struct variable_module){0};
    uint64_t in_file = address - module->bias;
    size_t first = 0;
    SEARCH_FIRST(first, module->place_count, at,
                 module->places[at].address + module->places[at].bytes <= in_file);
    return first < module->place_count && module->places[first].address <= in_file
               ? &module->places[first]
               : NULL;
}

static struct holder held_holder_at(struct naming_holders *naming, uint64_t address)
{
    const struct held_place *place = address ? held_place_at(naming->held, address) : NULL;
    if (!place)
        return (struct holder){.kind =
                                   address ? PROFILE_HOLDER_ALLOCATOR : PROFILE_HOLDER_REGISTERS};
    const struct globals_place *variable =
        place->kind == PROFILE_HOLDER_VARIABLE ? held_variable_at(naming, address) : NULL;
    return (struct holder){place->kind, variable ? variable->name : place->name, place->module,
                           place->tid};
}

static struct holder held_holder_of_root(struct naming_holders *naming, size_t root)
{
    const struct held_name *name = held_name_of_root(naming->held, root);
    return name ? (struct holder){name->kind, name->name, name->module, 0}
                : held_holder_at(naming, naming->held->graph.root_at[root]);
}

static int held_name_roots(struct naming_holders *naming)
{
    const struct graph *graph = &naming->held->graph;
    naming->of_roots = calloc(graph->roots.count + 1, sizeof *naming->of_roots);
    if (!naming->of_roots)
        return -ENOMEM;
    for (size_t i = 0; i < graph->roots.count; i++) {
        struct holder holder = held_holder_of_root(naming, i);
        naming->of_roots[i] = held_holder(naming, &holder);
        if (naming->of_roots[i] == GRAPH_NONE)
            return -ENOMEM;
    }
    return 0;
}

/* Holders by rank, and their ranks. */
static uint8_t *held_sort_holders(struct naming_holders *naming)
{
    uint32_t *now = calloc(naming->count + 1, sizeof *now);
    struct holder *sorted = calloc(naming->count + 1, sizeof *sorted);
    uint8_t *ranks = calloc(naming->count + 1, 1);
    uint32_t next = 0;
    for (unsigned rank = 0; rank < RANKS && now && sorted && ranks; rank++)
        for (size_t i = 0; i < naming->count; i++) {
            if (held_rank(naming->holders[i].kind) != rank)
                continue;
            ranks[next] = (uint8_t)rank;
            sorted[next] = naming->holders[i];
            now[i] = next++;
        }
    bool there = now && sorted && ranks;
    for (size_t i = 0; i < naming->held->graph.roots.count && there; i++)
        naming->of_roots[i] = now[naming->of_roots[i]];
    free(now);
    free(there ? naming->holders : sorted);
    if (there)
        naming->holders = sorted;
    else
        free(ranks);
    return there ? ranks : NULL;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct telling {
    const struct held *held;
    const struct holder *holders;
    struct graph_dominators *dominators;
    struct graph_shares shares;
    struct held_rows *out;
};

static uint32_t held_path_of(void *context, uint32_t block)
{
    const struct held *held = context;
    return held->paths[block];
}

static bool held_is_same_range(const struct held_place *a, const struct held_place *b)
{
    return a->kind == b->kind && a->path == b->path && held_text_equal(a->name, b->name);
}

/* The first range of that name. */
static uint32_t held_range_of(void *context, uint32_t range)
{
    enum { MOST = 4096 };
    const struct held *held = context;
    for (uint32_t i = 0; i < range && i < MOST; i++)
        if (held_is_same_range(&held->range_places[i], &held->range_places[range]))
            return i;
    return range;
}

/* What a holder is, by its order: one with a name, or a range. */
static void held_name_sharer(const struct telling *telling, uint32_t order,
                             struct profile_sharer *row)
{
    uint32_t node = telling->dominators->nodes[order], holders = telling->dominators->holder_count;
    *row = (struct profile_sharer){
        .kind = PROFILE_HOLDER_MAPPING, .thread = FIGURE_UNKNOWN, .merged = figure_of(0)};
    if (node <= holders) {
        const struct holder *holder = &telling->holders[node - 1];
        row->kind = (int)holder->kind;
        row->name = holder->name;
        row->module = holder->module;
        row->thread = holder->tid ? figure_of((uint64_t)holder->tid) : FIGURE_UNKNOWN;
    } else {
        const struct held_place *place =
            &telling->held->range_places[node - 1 - holders - telling->held->graph.count];
        row->name = place->name;
        row->path = place->path;
    }
}

/* The name of several is that of their head. */
static void held_name_several(const struct telling *telling, struct profile_holder *row,
                              uint32_t group)
{
    struct profile_sharer head;
    const struct graph_share_group *of = &telling->shares.groups[group];
    held_name_sharer(telling, telling->shares.shares[of->first].holder, &head);
    if (head.kind == PROFILE_HOLDER_MAPPING)
        return;
    row->name = head.name;
    row->module = head.module;
    row->thread = head.thread;
}

static void held_name_row(const struct telling *telling, struct profile_holder *row,
                          const struct holder_group *group)
{
    static const enum profile_holder_kind kinds[] = {[HOLDER_SEVERAL] = PROFILE_HOLDER_SEVERAL,
                                                     [HOLDER_RANGE] = PROFILE_HOLDER_MAPPING,
                                                     [HOLDER_BLOCKS] = PROFILE_HOLDER_BLOCKS,
                                                     [HOLDER_REST] = PROFILE_HOLDER_REST};
    row->kind = (int)kinds[group->kind];
    if (group->kind == HOLDER_SEVERAL) {
        held_name_several(telling, row, group->key);
    } else if (group->kind == HOLDER_ROOT) {
        const struct holder *holder = &telling->holders[group->key];
        row->kind = (int)holder->kind;
        row->name = holder->name;
        row->module = holder->module;
        row->thread = holder->tid ? figure_of((uint64_t)holder->tid) : FIGURE_UNKNOWN;
    } else if (group->kind == HOLDER_RANGE) {
        row->name = telling->held->range_places[group->key].name;
        row->path = telling->held->range_places[group->key].path;
    } else if (group->kind == HOLDER_BLOCKS) {
        row->path = group->key;
    }
}

static bool held_has_rest(const struct graph_share_group *group)
{
    return group->is_part || group->count < group->all;
}

/* The holders of the group, and how many have no row. */
static void held_tell_sharers(const struct telling *telling, const struct holder_group *group,
                              uint32_t id)
{
    struct held_rows *out = telling->out;
    const struct graph_share_group *of = &telling->shares.groups[group->key];
    uint32_t place = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        const struct graph_share *share = &telling->shares.shares[of->first + i];
        struct profile_sharer *row = &out->sharers[out->sharer_count++];
        held_name_sharer(telling, share->holder, row);
        row->holder = id;
        row->place = ++place;
        row->reached_count = share->reached_count;
        row->reached_bytes = share->reached_bytes;
        row->direct_bytes = share->direct_bytes;
        row->alone_count = share->alone_count;
        row->alone_bytes = share->alone_bytes;
    }
    if (held_has_rest(of))
        out->sharers[out->sharer_count++] = (struct profile_sharer){
            .holder = id,
            .place = ++place,
            .kind = PROFILE_HOLDER_REST,
            .thread = FIGURE_UNKNOWN,
            .merged = of->is_part ? FIGURE_UNKNOWN : figure_of(of->all - of->count)};
}

/* How many rows the holders of several take. */
static size_t held_count_sharers(const struct telling *telling, const struct holder_tree *tree)
{
    size_t count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->groups[i].kind != HOLDER_SEVERAL)
            continue;
        const struct graph_share_group *of = &telling->shares.groups[tree->groups[i].key];
        count += of->count + held_has_rest(of);
    }
    return count;
}

static void held_tell_tree(const struct telling *telling, const struct holder_tree *tree)
{
    struct held_rows *out = telling->out;
    for (size_t i = 0; i < tree->count; i++) {
        const struct holder_group *group = &tree->groups[i];
        struct profile_holder *row = &out->rows[out->count++];
        *row =
            (struct profile_holder){.id = (uint32_t)i + 1,
                                    .parent = group->parent == GRAPH_NONE ? 0 : group->parent + 1,
                                    .thread = FIGURE_UNKNOWN,
                                    .merged = group->merged,
                                    .own_count = group->own_count,
                                    .own_bytes = group->own_bytes,
                                    .retained_count = group->retained_count,
                                    .retained_bytes = group->retained_bytes};
        held_name_row(telling, row, group);
        if (group->kind == HOLDER_SEVERAL)
            held_tell_sharers(telling, group, row->id);
    }
}

static void held_tell_lost(const struct telling *telling, const struct graph_dominators *dominators)
{
    struct profile_holder row = {.kind = PROFILE_HOLDER_LOST, .thread = FIGURE_UNKNOWN};
    const struct graph *graph = &telling->held->graph;
    for (uint32_t i = 0; i < graph->count; i++)
        if (dominators->orders[graph_node_of_block(dominators, i)] == GRAPH_NONE) {
            row.own_count++;
            row.own_bytes += graph->blocks[i].size_bytes;
        }
    row.retained_count = row.own_count;
    row.retained_bytes = row.own_bytes;
    row.id = (uint32_t)telling->out->count + 1;
    if (row.own_count)
        telling->out->rows[telling->out->count++] = row;
}

static void held_tell_paths(const struct telling *telling, const struct holder_path *paths,
                            size_t count, uint64_t least)
{
    struct held_rows *out = telling->out;
    for (size_t i = 0; i < count && paths[i].retained_bytes >= least; i++) {
        out->rows[out->count] = (struct profile_holder){.id = (uint32_t)out->count + 1,
                                                        .kind = PROFILE_HOLDER_PATH,
                                                        .path = paths[i].path,
                                                        .thread = FIGURE_UNKNOWN,
                                                        .own_count = paths[i].own_count,
                                                        .own_bytes = paths[i].own_bytes,
                                                        .retained_count = paths[i].retained_count,
                                                        .retained_bytes = paths[i].retained_bytes};
        out->count++;
    }
}

static uint64_t held_least(const struct graph *graph)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->count; i++)
        bytes += graph->blocks[i].size_bytes;
    return bytes / LEAST_PART + 1;
}

static int held_tell_rows(const struct telling *telling, const struct holder_tree *tree,
                          const struct holder_path *paths, size_t path_count, uint64_t least)
{
    struct held_rows *out = telling->out;
    out->rows = calloc(tree->count + path_count + 2, sizeof *out->rows);
    out->sharers = calloc(held_count_sharers(telling, tree) + 1, sizeof *out->sharers);
    if (!out->rows || !out->sharers)
        return -ENOMEM;
    held_tell_tree(telling, tree);
    held_tell_lost(telling, telling->dominators);
    held_tell_paths(telling, paths, path_count, least);
    return 0;
}

/* Each array goes when it was asked for the last time: there may be a million blocks. */
static int held_tell(struct telling *telling)
{
    struct graph_dominators *dominators = telling->dominators;
    struct held *held = (struct held *)telling->held;
    const struct holder_names names = {held_path_of, held_range_of, held};
    struct holder_tree tree = {0};
    struct holder_path *paths = NULL;
    size_t path_count = 0;
    uint64_t least = held_least(&held->graph);
    int error = graph_share(&telling->shares, &held->graph, dominators, least);
    graph_dominators_forget_tops(dominators);
    if (!error)
        error = holder_tree_make(&tree, &held->graph, dominators, &telling->shares, &names);
    graph_shares_forget_tops(&telling->shares);
    if (!error)
        error = holder_tree_cut(&tree, least, DEPTH);
    if (!error)
        error = holder_paths_make(&paths, &path_count, &held->graph, dominators, &names);
    path_count = path_count < PATHS ? path_count : PATHS;
    if (!error)
        error = held_tell_rows(telling, &tree, paths, path_count, least);
    holder_tree_release(&tree);
    graph_shares_release(&telling->shares);
    free(paths);
    return error;
}

/* ---- The chain ------------------------------------------------------------------------------- */

static void held_tell_step(struct held *held, uint32_t at, struct profile_chain *row)
{
    uint32_t node = held->chain.nodes[at], range = node - held->graph.count;
    bool is_block = node < held->graph.count, is_last = at + 1 == held->chain.count;
    const struct graph_block *block = is_block ? &held->blocks[node] : &held->ranges[range];
    const struct held_step *step = &held->steps[at + 1];
    *row = (struct profile_chain){
        .kind = is_block ? PROFILE_HOLDER_BLOCKS : PROFILE_HOLDER_MAPPING,
        .path = is_block ? held->paths[node] : held->range_places[range].path,
        .name = is_block ? NULL : held->range_places[range].name,
        .thread = FIGURE_UNKNOWN,
        .address = figure_of(block->address),
        .bytes = figure_of(block->size_bytes),
        .pointer_offset = is_last ? FIGURE_UNKNOWN : figure_of(step->pointer_offset),
        .target_offset = is_last ? FIGURE_UNKNOWN : figure_of(step->target_offset)};
}

static void held_tell_root(struct naming_holders *naming, struct profile_chain *row)
{
    const struct held *held = naming->held;
    uint64_t address = held->graph.root_at[held->chain.root];
    struct holder holder = held_holder_of_root(naming, held->chain.root);
    const struct globals_place *variable =
        holder.kind == PROFILE_HOLDER_VARIABLE ? held_variable_at(naming, address) : NULL;
    uint64_t start = variable ? variable->address + naming->module.bias : address;
    *row = (struct profile_chain){
        .kind = (int)holder.kind,
        .name = holder.name,
        .module = holder.module,
        .thread = holder.tid ? figure_of((uint64_t)holder.tid) : FIGURE_UNKNOWN,
        .address = address ? figure_of(start) : FIGURE_UNKNOWN,
        .bytes = variable ? figure_of(variable->bytes) : FIGURE_UNKNOWN,
        .pointer_offset = address ? figure_of(address - start) : FIGURE_UNKNOWN,
        .target_offset = figure_of(held->steps[0].target_offset)};
}

static int held_tell_chain(struct naming_holders *naming, struct held_rows *out)
{
    struct held *held = naming->held;
    if (!held->chain.count || !held->steps)
        return 0;
    out->chain = calloc(held->chain.count + 1, sizeof *out->chain);
    if (!out->chain)
        return -ENOMEM;
    if (held->chain.root != GRAPH_NONE)
        held_tell_root(naming, &out->chain[out->chain_count++]);
    for (uint32_t i = 0; i < held->chain.count; i++)
        held_tell_step(held, i, &out->chain[out->chain_count++]);
    for (size_t i = 0; i < out->chain_count; i++)
        out->chain[i].step = (uint32_t)i;
    return 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int held_run(struct naming_holders *naming, struct held_rows *out)
{
    struct graph_dominators dominators = {0};
    int error = held_name_roots(naming);
    uint8_t *ranks = error ? NULL : held_sort_holders(naming);
    if (!error && !ranks)
        error = -ENOMEM;
    const struct graph_holders holders = {naming->of_roots, ranks, (uint32_t)naming->count};
    if (!error)
        error = graph_dominate(&naming->held->graph, &holders, &dominators);
    struct telling telling = {naming->held, naming->holders, &dominators, {0}, out};
    if (!error)
        error = held_tell(&telling);
    if (!error)
        error = held_tell_chain(naming, out);
    graph_dominators_release(&dominators);
    free(ranks);
    return error;
}

int held_solve(struct held *held, variable_find_module *find, void *context, struct held_rows *out)
{
    struct naming_holders naming = {.held = held, .find = find, .context = context};
    *out = (struct held_rows){0};
    int error = held_run(&naming, out);
    free(naming.holders);
    free(naming.of_roots);
    if (error)
        held_rows_release(out);
    return error;
}

void held_rows_release(struct held_rows *rows)
{
    free(rows->rows);
    free(rows->sharers);
    free(rows->chain);
    *rows = (struct held_rows){0};
}

void held_free(struct held *held)
{
    if (!held)
        return;
    graph_release(&held->graph);
    free(held->chain.nodes);
    free(held->steps);
    free(held->blocks);
    free(held->paths);
    free(held->ranges);
    free(held->range_places);
    free(held->places);
    free(held->names);
    for (size_t i = 0; i < held->text_count; i++)
        free(held->texts[i]);
    free(held->texts);
    free(held);
}

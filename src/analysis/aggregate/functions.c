/* See functions.h.
 *
 * The call tree is walked depth first. A function counts how often it is on the way from the root
 * to where the walk stands; where a node is left and that count falls to 0, what was gathered below
 * the node is the function's. So recursion counts once, with no list of what a path holds.
 *
 * What is gathered lies on a stack: a node's sum takes over the place of its first child's. The
 * child with most sites below it goes first, and then only those ancestors have a sum of their own
 * whose heaviest child is not on the way: log2(sites) at most. That is a few KiB, in cache. */
#include "aggregate/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/map.h"

enum { RUNNING_SUMS_MAX = 33 }; /* log2 of the largest number of sites, and one */

/* ---- Keys ---------------------------------------------------------------------------------- */

/* What has neither a name nor an address of its own. */
enum { MARKS = FUNCTION_KEY_UNNAMED - FUNCTION_KEY_ANONYMOUS };

size_t function_key_count(const struct profile *profile)
{
    return profile->function_count + MARKS + profile->code_count;
}

uint32_t function_key(const struct profile *profile, uint32_t code, uint32_t line)
{
    const struct profile_code *of = &profile->codes[code];
    size_t marks = profile->function_count - FUNCTION_KEY_ANONYMOUS;
    if (!code)
        return (uint32_t)(marks + FUNCTION_KEY_NO_PATH);
    if (of->mark)
        return (uint32_t)(marks + (of->mark == 2 ? FUNCTION_KEY_CUT : FUNCTION_KEY_UNWALKABLE));
    if (profile->lines[line].function)
        return profile->lines[line].function;
    if (of->module != UINT32_MAX)
        return (uint32_t)(profile->function_count + MARKS + code);
    return (uint32_t)(marks + FUNCTION_KEY_ANONYMOUS);
}

enum function_key_kind function_key_kind(const struct profile *profile, uint32_t key,
                                         uint32_t *index)
{
    size_t functions = profile->function_count;
    *index = key;
    if (key < functions)
        return FUNCTION_KEY_FUNCTION;
    *index = 0;
    if (key < functions + MARKS)
        return (enum function_key_kind)(FUNCTION_KEY_ANONYMOUS + (key - functions));
    *index = profile->codes[key - functions - MARKS].module;
    return *index == UINT32_MAX ? FUNCTION_KEY_ANONYMOUS
                                : FUNCTION_KEY_UNNAMED; /* no line has the former */
}

bool function_key_frame(const struct profile *profile, uint32_t key, struct frame *frame)
{
    size_t first = profile->function_count + MARKS;
    if (key < first)
        return false;
    *frame = frame_at((uint32_t)(key - first), profile->codes[key - first].first_line);
    return true;
}

void function_key_add_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                           struct frame frame)
{
    uint32_t index;
    if (function_key_kind(profile, key, &index) == FUNCTION_KEY_ANONYMOUS)
        strbuf_add_string(out, "[code in no module]"); /* of many addresses, not of the first */
    else
        frame_add_name(out, profile, frame);
}

size_t functions_library_key_count(const struct profile *profile)
{
    return profile->module_count + MARKS;
}

/* `firsts`: of each module the first one with its path. */
static uint32_t functions_library_key_of(const struct profile *profile, const uint32_t *firsts,
                                         uint32_t code)
{
    const struct profile_code *of = &profile->codes[code];
    size_t marks = profile->module_count - FUNCTION_KEY_ANONYMOUS;
    if (!code)
        return (uint32_t)(marks + FUNCTION_KEY_NO_PATH);
    if (of->mark)
        return (uint32_t)(marks + (of->mark == 2 ? FUNCTION_KEY_CUT : FUNCTION_KEY_UNWALKABLE));
    return of->module == UINT32_MAX ? (uint32_t)(marks + FUNCTION_KEY_ANONYMOUS)
                                    : firsts[of->module];
}

static const char *functions_library_path(const struct profile *profile, uint32_t module)
{
    return profile->modules[module].path ? profile->modules[module].path : "";
}

static uint32_t functions_library_first(const struct profile *profile, struct map *by_path,
                                        uint32_t module)
{
    const char *path = functions_library_path(profile, module);
    uint64_t hash = hash_bytes(path, strlen(path));
    uint32_t first;
    for (struct map_probe probe = map_probe(by_path, hash); map_next(&probe, &first);)
        if (!strcmp(functions_library_path(profile, first), path))
            return first;
    map_try_add(by_path, hash, module); /* without memory the module has a row of its own */
    return module;
}

/* A library that was loaded again is the same one. malloc'd; NULL: no memory. */
static uint32_t *functions_library_firsts(const struct profile *profile)
{
    uint32_t *firsts = calloc(profile->module_count + 1, sizeof *firsts);
    struct map by_path = {0};
    for (uint32_t i = 0; firsts && i < profile->module_count; i++)
        firsts[i] = functions_library_first(profile, &by_path, i);
    map_release(&by_path);
    return firsts;
}

void functions_library_key_add_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                                    struct frame frame)
{
    if (key < profile->module_count)
        strbuf_add_string(out, functions_library_path(profile, key));
    else if (key == profile->module_count)
        strbuf_add_string(out, "[code in no module]");
    else
        frame_add_name(out, profile, frame);
}

/* ---- The tree, with the heaviest child first ----------------------------------------------- */

struct node {
    uint32_t child, next; /* 0: none */
    uint32_t sites;       /* at and below it; during the walk: does it have a sum? */
};

struct functions_walk {
    const struct profile *profile;
    const bool *hidden;
    uint32_t *libraries; /* by module; NULL: by function */
    struct node *nodes;
    uint32_t *site_of; /* by node: index of its site + 1, 0: none */
    uint32_t *on_way;  /* by key */
    struct function_row *rows;
    struct merged_metrics sums[RUNNING_SUMS_MAX];
    size_t sum_count;
};

static void function_link_child(struct node *nodes, uint32_t parent, uint32_t child)
{
    uint32_t *link = &nodes[parent].child;
    if (*link && nodes[child].sites <= nodes[*link].sites)
        link = &nodes[*link].next;
    nodes[child].next = *link;
    *link = child;
    nodes[parent].sites += nodes[child].sites;
}

/* Children have higher numbers than their parents: in a pass from the end, each node is complete
 * when it is linked. */
static void function_link_nodes(struct functions_walk *walk, const bool *wanted)
{
    const struct profile *profile = walk->profile;
    for (size_t i = 0; i < profile->site_count; i++) {
        uint32_t path = profile_site_path(profile, i);
        if (wanted && !wanted[path])
            continue;
        walk->site_of[path] = (uint32_t)i + 1;
        walk->nodes[path].sites = 1;
    }
    for (size_t i = profile->node_count; i-- > 1;)
        if (walk->nodes[i].sites)
            function_link_child(walk->nodes, profile->nodes[i].parent, (uint32_t)i);
    for (size_t i = 0; i < profile->node_count; i++)
        walk->nodes[i].sites = 0;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static bool function_is_hidden(const struct functions_walk *walk, uint32_t line)
{
    return walk->hidden && walk->hidden[line];
}

static uint32_t function_walk_key(const struct functions_walk *walk, uint32_t code, uint32_t line)
{
    return walk->libraries ? functions_library_key_of(walk->profile, walk->libraries, code)
                           : function_key(walk->profile, code, line);
}

static struct function_row *function_row_of(struct functions_walk *walk, uint32_t code,
                                            uint32_t line)
{
    struct function_row *row = &walk->rows[function_walk_key(walk, code, line)];
    if (!row->code && !row->line) {
        row->code = code;
        row->line = line;
    }
    return row;
}

bool function_exclusive_frame(const struct profile *profile, const bool *hidden, uint32_t node,
                              uint32_t *code, uint32_t *line)
{
    *code = profile->nodes[node].location;
    *line = profile->codes[*code].first_line;
    for (; node; node = profile->nodes[node].parent) {
        uint32_t location = profile->nodes[node].location;
        const struct profile_code *of = &profile->codes[location];
        for (uint32_t i = 0; i < of->line_count; i++) {
            if (hidden && hidden[of->first_line + i])
                continue;
            *code = location;
            *line = of->first_line + i;
            return true;
        }
    }
    return false;
}

static struct merged_metrics *function_sum_of(struct functions_walk *walk, uint32_t node)
{
    if (!walk->nodes[node].sites) {
        walk->nodes[node].sites = 1;
        walk->sums[walk->sum_count++].paths = 0; /* no metric of it means anything yet */
    }
    return &walk->sums[walk->sum_count - 1];
}

/* The site's own part, added when all below its node is done. */
static void function_add_site(struct functions_walk *walk, uint32_t node)
{
    uint32_t code = 0, line = 0, site = walk->site_of[node];
    if (!site)
        return;
    struct profile_site room;
    const struct call_metrics *added = &profile_site_at(walk->profile, site - 1, &room)->metrics;
    bool visible = function_exclusive_frame(walk->profile, walk->hidden, node, &code, &line);
    struct function_row *row = function_row_of(walk, code, line);
    merged_add_path(&row->exclusive, added);
    if (!visible)
        merged_add_path(&row->inclusive, added);
    merged_add_path(function_sum_of(walk, node), added);
}

static void function_enter(struct functions_walk *walk, uint32_t node)
{
    uint32_t location = walk->profile->nodes[node].location;
    const struct profile_code *code = &walk->profile->codes[location];
    for (uint32_t i = 0; i < code->line_count; i++)
        if (!function_is_hidden(walk, code->first_line + i))
            walk->on_way[function_walk_key(walk, location, code->first_line + i)]++;
}

/* Adds the node's sum to the functions that leave the way with it. The parent's sum grows by it, or
 * becomes it. */
static void function_leave(struct functions_walk *walk, uint32_t node)
{
    uint32_t location = walk->profile->nodes[node].location;
    uint32_t parent = walk->profile->nodes[node].parent;
    const struct profile_code *code = &walk->profile->codes[location];
    function_add_site(walk, node);
    const struct merged_metrics *sum = &walk->sums[walk->sum_count - 1];
    for (uint32_t i = 0; i < code->line_count; i++) {
        uint32_t line = code->first_line + i;
        if (!function_is_hidden(walk, line) &&
            !--walk->on_way[function_walk_key(walk, location, line)])
            merged_add(&function_row_of(walk, location, line)->inclusive, sum);
    }
    if (!parent || !walk->nodes[parent].sites) {
        walk->nodes[parent].sites = 1;
        walk->sum_count -= !parent; /* of the root no sum is wanted */
        return;
    }
    merged_add(&walk->sums[walk->sum_count - 2], sum);
    walk->sum_count--;
}

static void function_walk_tree(struct functions_walk *walk)
{
    uint32_t node = walk->nodes[0].child;
    if (node)
        function_enter(walk, node);
    while (node) {
        uint32_t to = walk->nodes[node].child;
        if (to) {
            walk->nodes[node].child = 0; /* seen */
            function_enter(walk, node = to);
            continue;
        }
        function_leave(walk, node);
        to = walk->nodes[node].next;
        if (to)
            function_enter(walk, to);
        node = to ? to : walk->profile->nodes[node].parent;
    }
}

/* Events without a call path. */
static void function_add_root(struct functions_walk *walk)
{
    if (!walk->site_of[0])
        return;
    struct profile_site room;
    const struct call_metrics *added =
        &profile_site_at(walk->profile, walk->site_of[0] - 1, &room)->metrics;
    struct function_row *row = &walk->rows[function_walk_key(walk, 0, 0)];
    merged_add_path(&row->exclusive, added);
    merged_add_path(&row->inclusive, added);
}

/* ---- The answer ---------------------------------------------------------------------------- */

static void function_keep_rows(struct functions *functions, const struct functions_walk *walk,
                               size_t keys)
{
    size_t count = 0;
    for (size_t key = 0; key < keys; key++) {
        if (!walk->rows[key].inclusive.paths)
            continue;
        walk->rows[key].key = (uint32_t)key;
        merged_settle(&walk->rows[key].exclusive, &walk->rows[key].inclusive.metrics);
        if (count != key)
            walk->rows[count] = walk->rows[key];
        count++;
    }
    struct function_row *rows = realloc(walk->rows, (count + 1) * sizeof *rows);
    *functions = (struct functions){rows ? rows : walk->rows, count};
}

static int function_run(struct functions *functions, struct functions_walk *walk, size_t keys,
                        const bool *wanted)
{
    const struct profile *profile = walk->profile;
    walk->nodes = calloc(profile->node_count + 1, sizeof *walk->nodes);
    walk->site_of = calloc(profile->node_count + 1, sizeof *walk->site_of);
    walk->on_way = calloc(keys, sizeof *walk->on_way);
    walk->rows = calloc(keys, sizeof *walk->rows);
    *functions = (struct functions){0};
    bool complete = walk->nodes && walk->site_of && walk->on_way && walk->rows;
    if (complete) {
        function_link_nodes(walk, wanted);
        function_walk_tree(walk);
        function_add_root(walk);
        function_keep_rows(functions, walk, keys);
    } else {
        free(walk->rows);
    }
    free(walk->nodes);
    free(walk->site_of);
    free(walk->on_way);
    return complete ? 0 : -ENOMEM;
}

int functions_init(struct functions *functions, const struct profile *profile, const bool *hidden,
                   const bool *wanted)
{
    struct functions_walk walk = {.profile = profile, .hidden = hidden};
    return function_run(functions, &walk, function_key_count(profile), wanted);
}

int functions_init_libraries(struct functions *functions, const struct profile *profile,
                             const bool *hidden, const bool *wanted)
{
    struct functions_walk walk = {
        .profile = profile, .hidden = hidden, .libraries = functions_library_firsts(profile)};
    int error = walk.libraries
                    ? function_run(functions, &walk, functions_library_key_count(profile), wanted)
                    : -ENOMEM;
    free(walk.libraries);
    return error;
}

void functions_release(struct functions *functions)
{
    free(functions->rows);
    *functions = (struct functions){0};
}

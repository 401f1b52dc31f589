/* Merges the call trees of a job's ranks (job_tree.h). Modules, locations and nodes are numbered in
 * hash tables. Where ranks disagree on a name or a path, the better or the smaller one is kept, so
 * that the order of the ranks does not matter. */
#include "job/job_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/memory.h"
#include "base/array.h"
#include "job/job_bytes.h"
#include "format/names.h"

enum { NONE = 0xffffffff };

/* ---- Modules ------------------------------------------------------------------------------- */

static bool job_tree_is_module(const void *array, uint32_t number, const void *key)
{
    const struct job_module *module = (const struct job_module *)array + number, *like = key;
    if (module->build_id_bytes != like->build_id_bytes)
        return false;
    if (!like->build_id_bytes)
        return !strcmp(module->path, like->path);
    return !memcmp(module->build_id, like->build_id, like->build_id_bytes) &&
           !strcmp(name_base(module->path), name_base(like->path));
}

static uint64_t job_tree_module_hash(const struct job_module *module)
{
    if (module->build_id_bytes)
        return hash_bytes(module->build_id, module->build_id_bytes);
    return hash_bytes(module->path, strlen(module->path));
}

/* Symbols of which some were not unpacked (5) are worse than lines (4) and better than
 * functions. */
static int job_tree_quality_rank(int quality)
{
    return quality == 5 ? 2 * 4 - 1 : 2 * quality;
}

/* Of two paths the one that comes first, so that it does not matter which was met first. */
static void job_tree_improve_module(struct job_module *module, const struct job_module *like)
{
    if (strcmp(like->path, module->path) < 0) {
        free(module->path);
        module->path = memory_copy_string(like->path);
    }
    if (job_tree_quality_rank(like->quality) > job_tree_quality_rank(module->quality))
        module->quality = like->quality;
}

static uint32_t job_tree_add_module(struct job_tree *tree, const struct job_module *like)
{
    bool is_new;
    uint32_t number = map_number(&tree->module_map, job_tree_module_hash(like), job_tree_is_module,
                                 tree->modules, like, (uint32_t)tree->module_count, &is_new);
    if (!is_new) {
        job_tree_improve_module(&tree->modules[number], like);
        return number;
    }
    struct job_module module = *like;
    module.path = memory_copy_string(like->path);
    module.build_id = NULL;
    if (like->build_id_bytes)
        module.build_id = memcpy(memory_resize(NULL, like->build_id_bytes, 1), like->build_id,
                                 like->build_id_bytes);
    array_need_room(&tree->modules, &tree->module_capacity, tree->module_count, sizeof module);
    tree->modules[tree->module_count++] = module;
    return number;
}

/* ---- Locations ----------------------------------------------------------------------------- */

/* Addresses without a module mean nothing in another process: there it is the frames that count. */
static bool job_tree_goes_by_frames(const struct job_location *location)
{
    return location->module == NONE || location->address == UINT64_MAX;
}

static bool job_tree_is_location(const void *array, uint32_t number, const void *key)
{
    const struct job_location *location = (const struct job_location *)array + number, *like = key;
    if (location->module != like->module || location->mark != like->mark ||
        location->address != like->address)
        return false;
    return !job_tree_goes_by_frames(like) ||
           (location->frame_bytes == like->frame_bytes &&
            !memcmp(location->frames, like->frames, like->frame_bytes));
}

static uint64_t job_tree_location_hash(const struct job_location *location)
{
    uint64_t hash =
        hash_u64(location->address ^ (uint64_t)location->module << 40) + (uint64_t)location->mark;
    return job_tree_goes_by_frames(location)
               ? hash ^ hash_bytes(location->frames, location->frame_bytes)
               : hash;
}

static int job_tree_compare_frames(const struct job_location *a, const struct job_location *b)
{
    if (a->frame_bytes != b->frame_bytes)
        return a->frame_bytes < b->frame_bytes ? -1 : 1;
    return memcmp(a->frames, b->frames, a->frame_bytes);
}

/* The better symbols win, whichever rank had them; of equally good ones the larger bytes. */
static void job_tree_improve_location(struct job_location *location,
                                      const struct job_location *like)
{
    int rank = job_tree_quality_rank(like->quality),
        best = job_tree_quality_rank(location->quality);
    if (rank < best || (rank == best && job_tree_compare_frames(like, location) <= 0))
        return;
    free(location->frames);
    location->quality = like->quality;
    location->frame_bytes = like->frame_bytes;
    location->frames =
        memcpy(memory_resize(NULL, like->frame_bytes, 1), like->frames, like->frame_bytes);
}

static uint32_t job_tree_add_location(struct job_tree *tree, const struct job_location *like)
{
    bool is_new;
    uint32_t number =
        map_number(&tree->location_map, job_tree_location_hash(like), job_tree_is_location,
                   tree->locations, like, (uint32_t)tree->location_count, &is_new);
    if (!is_new) {
        job_tree_improve_location(&tree->locations[number], like);
        return number;
    }
    struct job_location location = *like;
    location.frames =
        memcpy(memory_resize(NULL, like->frame_bytes, 1), like->frames, like->frame_bytes);
    array_need_room(&tree->locations, &tree->location_capacity, tree->location_count,
                    sizeof location);
    tree->locations[tree->location_count++] = location;
    return number;
}

/* ---- Frames as bytes ----------------------------------------------------------------------- */

enum { HAS_FUNCTION = 1, HAS_LINKAGE = 2, HAS_FILE = 4 };

static void job_tree_put_frame(struct strbuf *out, const char *function, const char *linkage,
                               const char *file, uint32_t line)
{
    strbuf_add_char(out, (char)((function ? HAS_FUNCTION : 0) | (linkage ? HAS_LINKAGE : 0) |
                                (file ? HAS_FILE : 0)));
    if (function)
        strbuf_add(out, function, strlen(function) + 1);
    if (linkage)
        strbuf_add(out, linkage, strlen(linkage) + 1);
    if (file)
        strbuf_add(out, file, strlen(file) + 1);
    for (int shift = 0; shift < 32; shift += 8)
        strbuf_add_char(out, (char)(line >> shift));
}

static const char *job_tree_take_string(const char **at)
{
    const char *string = *at;
    *at += strlen(string) + 1;
    return string;
}

struct profile_frame *job_tree_frames(const struct job_location *location, size_t *count)
{
    struct profile_frame *frames = NULL;
    const char *at = location->frames, *end = at + location->frame_bytes;
    size_t capacity = 0;
    for (*count = 0; at < end; ++*count) {
        array_need_room(&frames, &capacity, *count, sizeof *frames);
        int has = *at++;
        struct profile_frame *frame = &frames[*count];
        frame->function = has & HAS_FUNCTION ? job_tree_take_string(&at) : NULL;
        frame->linkage = has & HAS_LINKAGE ? job_tree_take_string(&at) : NULL;
        frame->file = has & HAS_FILE ? job_tree_take_string(&at) : NULL;
        frame->line = 0;
        for (int shift = 0; shift < 32; shift += 8)
            frame->line |= (uint32_t)(unsigned char)*at++ << shift;
    }
    return frames;
}

/* Are these the bytes of frames? */
static bool job_tree_are_frames(const char *at, size_t bytes)
{
    const char *end = at + bytes;
    while (at < end) {
        unsigned has = (unsigned char)*at++;
        if (has > 7)
            return false;
        for (; has; has &= has - 1) {
            const char *past = memchr(at, 0, (size_t)(end - at));
            if (!past)
                return false;
            at = past + 1;
        }
        if (end - at < 4)
            return false;
        at += 4;
    }
    return true;
}

/* ---- Nodes and sites ----------------------------------------------------------------------- */

static bool job_tree_is_node(const void *array, uint32_t number, const void *key)
{
    const struct job_node *node = (const struct job_node *)array + number, *like = key;
    return node->parent == like->parent && node->location == like->location;
}

static uint32_t job_tree_add_node(struct job_tree *tree, uint32_t parent, uint32_t location)
{
    struct job_node like = {parent, location, 0};
    bool is_new;
    uint32_t number =
        map_number(&tree->node_map, hash_u64((uint64_t)parent << 32 | location), job_tree_is_node,
                   tree->nodes, &like, (uint32_t)tree->node_count, &is_new);
    if (!is_new)
        return number;
    array_need_room(&tree->nodes, &tree->node_capacity, tree->node_count, sizeof like);
    tree->nodes[tree->node_count++] = like;
    return number;
}

static void job_tree_add_root(struct job_tree *tree)
{
    if (!tree->node_count)
        job_tree_add_node(tree, 0, NONE);
}

static void job_tree_add_site(struct job_tree *tree, uint32_t node, const struct job_site *from)
{
    if (!tree->nodes[node].site) {
        array_need_room(&tree->sites, &tree->site_capacity, tree->site_count, sizeof *from);
        tree->sites[tree->site_count++] = *from;
        tree->nodes[node].site = (uint32_t)tree->site_count;
        return;
    }
    struct job_site *site = &tree->sites[tree->nodes[node].site - 1];
    merged_add(&site->merged, &from->merged);
    site->peak_bytes = figure_add(site->peak_bytes, from->peak_bytes);
    int order = figure_compare(from->peak_most, site->peak_most);
    if (order > 0) {
        site->peak_most = from->peak_most;
        site->peak_ticks = from->peak_ticks;
    } else if (!order) {
        site->peak_ticks = figure_min(site->peak_ticks, from->peak_ticks);
    }
}

/* ---- Programs ------------------------------------------------------------------------------ */

/* The numbers of struct program_metrics behind its `total`, in their order in the bytes. All are
 * sums. What processes map themselves is not among them: it is unknown of a job. */
#define REST(FIGURE, NUMBER)                                                                       \
    FIGURE(live_peak_count)                                                                        \
    NUMBER(foreign_frees)                                                                          \
    NUMBER(replaced_blocks)                                                                        \
    FIGURE(unmap_count)                                                                            \
    FIGURE(unmap_bytes)                                                                            \
    FIGURE(brk_count)                                                                              \
    FIGURE(brk_bytes)                                                                              \
    NUMBER(events)                                                                                 \
    NUMBER(late_events)                                                                            \
    NUMBER(lost_events)                                                                            \
    NUMBER(malformed_events)
#define REST_BYTES(field) +sizeof(((struct program_metrics *)0)->field)
/* What ranks map themselves is unknown of a job. */
#define NOT_ADDED(FIGURE)                                                                          \
    FIGURE(mapped)                                                                                 \
    FIGURE(all_peak_bytes)                                                                         \
    FIGURE(all_peak_ticks)                                                                         \
    FIGURE(discard_count)                                                                          \
    FIGURE(discard_bytes)
_Static_assert(sizeof(struct program_metrics) ==
                   sizeof(struct call_metrics) REST(REST_BYTES, REST_BYTES) NOT_ADDED(REST_BYTES),
               "a new number of the program needs its line in REST");

static void job_tree_add_rest(struct program_metrics *into, const struct program_metrics *from)
{
#define ADD_FIGURE(field) into->field = figure_add(into->field, from->field);
#define ADD_NUMBER(field) into->field += from->field;
    REST(ADD_FIGURE, ADD_NUMBER)
    program_metrics_forget_mapped(into);
}

static void job_tree_add_programs(struct job_tree *into, const struct job_tree *from)
{
    if (from->total.paths)
        merged_add(&into->total, &from->total);
    job_tree_add_rest(&into->rest, &from->rest);
    into->peak_sum = figure_add(into->peak_sum, from->peak_sum);
    into->ranks += from->ranks;
}

/* ---- A profile ----------------------------------------------------------------------------- */

struct adding {
    struct job_tree *tree;
    const struct profile *profile;
    uint32_t *modules, *locations, *nodes; /* by index in the profile: number in the tree + 1 */
};

static uint32_t job_tree_module_of(struct adding *adding, uint32_t index)
{
    if (index == NONE)
        return NONE;
    if (!adding->modules[index]) {
        const struct profile_module *module = &adding->profile->modules[index];
        struct job_module like = {(char *)module->path, (uint8_t *)module->build_id,
                                  module->build_id_bytes, module->quality};
        adding->modules[index] = job_tree_add_module(adding->tree, &like) + 1;
    }
    return adding->modules[index] - 1;
}

static void job_tree_put_frames(struct strbuf *out, const struct profile *profile,
                                const struct profile_code *code)
{
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        const struct profile_function *function = &profile->functions[line->function];
        if (line->function || line->file)
            job_tree_put_frame(out, line->function ? function->name : NULL, function->linkage,
                               line->file, line->line);
    }
}

static uint32_t job_tree_location_of(struct adding *adding, uint32_t index)
{
    if (!index)
        return NONE;
    if (adding->locations[index])
        return adding->locations[index] - 1;
    const struct profile_code *code = &adding->profile->codes[index];
    struct strbuf frames = STRBUF_INIT;
    job_tree_put_frames(&frames, adding->profile, code);
    struct job_location like = {
        .module = job_tree_module_of(adding, code->module),
        .mark = code->mark,
        .address = code->module == NONE ? 0 : code->address,
        .quality = code->module == NONE ? 0 : adding->profile->modules[code->module].quality,
        .frames = frames.data,
        .frame_bytes = frames.length,
    };
    adding->locations[index] = job_tree_add_location(adding->tree, &like) + 1;
    strbuf_release(&frames);
    return adding->locations[index] - 1;
}

/* Adds the nodes that have metrics on them or below. Parents come first, so that the wanted nodes
 * are marked in a pass from the end. */
static void job_tree_add_paths(struct adding *adding)
{
    const struct profile *profile = adding->profile;
    size_t owner_count;
    const struct profile_owner *owners = job_owners_of(profile, &owner_count);
    for (size_t i = 0; i < profile->site_count; i++)
        adding->nodes[profile_site_path(profile, i)] = 1;
    for (size_t i = 0; i < owner_count; i++)
        adding->nodes[owners[i].path] = 1;
    for (size_t i = profile->node_count; i-- > 1;)
        if (adding->nodes[i])
            adding->nodes[profile->nodes[i].parent] = 1;
    adding->nodes[0] = 0; /* the root is the root */
    for (size_t i = 1; i < profile->node_count; i++)
        if (adding->nodes[i])
            adding->nodes[i] =
                job_tree_add_node(adding->tree, adding->nodes[profile->nodes[i].parent],
                                  job_tree_location_of(adding, profile->nodes[i].location));
}

static void job_tree_add_metrics(struct adding *adding)
{
    const struct profile *profile = adding->profile;
    for (size_t i = 0; i < profile->site_count; i++) {
        struct profile_site room;
        const struct profile_site *from = profile_site_at(profile, i, &room);
        struct job_site site = {
            {0}, from->metrics.peak_bytes, from->metrics.peak_bytes, from->metrics.peak_ticks};
        merged_add_path(&site.merged, &from->metrics);
        job_tree_add_site(adding->tree, adding->nodes[from->path], &site);
    }
}

static void *job_tree_zeroes(size_t count, size_t bytes)
{
    return memset(memory_resize(NULL, count + 1, bytes), 0, (count + 1) * bytes);
}

void job_tree_add_profile(struct job_tree *tree, const struct profile *profile)
{
    struct adding adding = {tree, profile, job_tree_zeroes(profile->module_count, sizeof(uint32_t)),
                            job_tree_zeroes(profile->code_count, sizeof(uint32_t)),
                            job_tree_zeroes(profile->node_count, sizeof(uint32_t))};
    struct job_tree program = {
        .rest = profile->program, .ranks = 1, .peak_sum = profile->program.total.peak_bytes};
    job_tree_add_root(tree);
    job_tree_add_paths(&adding);
    job_tree_add_metrics(&adding);
    job_owners_add_profile(&tree->owners, profile, adding.nodes);
    merged_add_path(&program.total, &profile->program.total);
    job_tree_add_programs(tree, &program);
    free(adding.modules);
    free(adding.locations);
    free(adding.nodes);
}

/* ---- Another tree -------------------------------------------------------------------------- */

void job_tree_release(struct job_tree *tree)
{
    for (size_t i = 0; i < tree->module_count; i++) {
        free(tree->modules[i].path);
        free(tree->modules[i].build_id);
    }
    for (size_t i = 0; i < tree->location_count; i++)
        free(tree->locations[i].frames);
    free(tree->modules);
    free(tree->locations);
    free(tree->nodes);
    free(tree->sites);
    map_release(&tree->module_map);
    map_release(&tree->location_map);
    map_release(&tree->node_map);
    job_owners_release(&tree->owners);
    *tree = (struct job_tree){0};
}

static void job_tree_add_nodes(struct job_tree *into, const struct job_tree *from,
                               const uint32_t *locations)
{
    uint32_t *nodes = job_tree_zeroes(from->node_count, sizeof *nodes);
    for (size_t i = 0; i < from->node_count; i++) {
        const struct job_node *node = &from->nodes[i];
        if (i)
            nodes[i] = job_tree_add_node(into, nodes[node->parent],
                                         node->location == NONE ? NONE : locations[node->location]);
        if (node->site)
            job_tree_add_site(into, nodes[i], &from->sites[node->site - 1]);
    }
    job_owners_merge(&into->owners, &from->owners, nodes);
    free(nodes);
}

void job_tree_merge(struct job_tree *into, struct job_tree *from)
{
    uint32_t *modules = job_tree_zeroes(from->module_count, sizeof *modules);
    uint32_t *locations = job_tree_zeroes(from->location_count, sizeof *locations);
    if (from->node_count)
        job_tree_add_root(into);
    for (size_t i = 0; i < from->module_count; i++)
        modules[i] = job_tree_add_module(into, &from->modules[i]);
    for (size_t i = 0; i < from->location_count; i++) {
        struct job_location location = from->locations[i];
        if (location.module != NONE)
            location.module = modules[location.module];
        locations[i] = job_tree_add_location(into, &location);
    }
    job_tree_add_nodes(into, from, locations);
    job_tree_add_programs(into, from);
    free(modules);
    free(locations);
    job_tree_release(from);
}

/* ---- Modules that differ ------------------------------------------------------------------- */

static int job_tree_compare_bases(const void *left, const void *right)
{
    const struct job_module *a = *(struct job_module *const *)left;
    const struct job_module *b = *(struct job_module *const *)right;
    return strcmp(name_base(a->path), name_base(b->path));
}

/* By number: does another module have the same file name? *any: does one at all? */
static bool *job_tree_find_differing(const struct job_tree *tree, bool *any)
{
    size_t count = tree->module_count;
    bool *differs = job_tree_zeroes(count, sizeof *differs);
    struct job_module **order = memory_resize(NULL, count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = &tree->modules[i];
    qsort(order, count, sizeof *order, job_tree_compare_bases);
    *any = false;
    for (size_t i = 1; i < count; i++)
        if (!job_tree_compare_bases(&order[i - 1], &order[i]))
            *any = differs[order[i - 1] - tree->modules] = differs[order[i] - tree->modules] = true;
    free(order);
    return differs;
}

/* The functions of a location without linkage, file and line, which differ from build to build. */
static void job_tree_put_names(struct strbuf *out, const struct job_location *location)
{
    size_t count;
    struct profile_frame *frames = job_tree_frames(location, &count);
    for (size_t i = 0; i < count; i++)
        job_tree_put_frame(out, frames[i].function, NULL, NULL, 0);
    free(frames);
}

/* Module paths of the joined ones: their file name alone, for there is no one file. */
static uint32_t job_tree_join_module(struct job_tree *into, const struct job_module *module,
                                     bool differs)
{
    struct job_module like = *module;
    if (differs) {
        like.path = (char *)name_base(module->path);
        like.build_id = NULL;
        like.build_id_bytes = 0;
    }
    return job_tree_add_module(into, &like);
}

static uint32_t job_tree_join_location(struct job_tree *into, const struct job_location *from,
                                       uint32_t module, bool differs)
{
    struct job_location like = *from;
    struct strbuf names = STRBUF_INIT;
    like.module = module;
    if (differs) {
        job_tree_put_names(&names, from);
        like.address = UINT64_MAX;
        like.quality = 0;
        like.frames = names.data;
        like.frame_bytes = names.length;
    }
    uint32_t number = job_tree_add_location(into, &like);
    strbuf_release(&names);
    return number;
}

static void job_tree_join_differing(struct job_tree *tree)
{
    bool any;
    bool *differs = job_tree_find_differing(tree, &any);
    if (any) {
        struct job_tree joined = {0};
        uint32_t *modules = job_tree_zeroes(tree->module_count, sizeof *modules);
        uint32_t *locations = job_tree_zeroes(tree->location_count, sizeof *locations);
        job_tree_add_root(&joined);
        for (size_t i = 0; i < tree->module_count; i++)
            modules[i] = job_tree_join_module(&joined, &tree->modules[i], differs[i]);
        for (size_t i = 0; i < tree->location_count; i++) {
            uint32_t module = tree->locations[i].module;
            locations[i] = job_tree_join_location(&joined, &tree->locations[i],
                                                  module == NONE ? NONE : modules[module],
                                                  module != NONE && differs[module]);
        }
        job_tree_add_nodes(&joined, tree, locations);
        job_tree_add_programs(&joined, tree);
        free(modules);
        free(locations);
        job_tree_release(tree);
        *tree = joined;
    }
    free(differs);
}

/* ---- Order --------------------------------------------------------------------------------- */

static int job_tree_compare_modules(const void *left, const void *right, void *context)
{
    const struct job_tree *tree = context;
    const struct job_module *a = &tree->modules[*(const uint32_t *)left];
    const struct job_module *b = &tree->modules[*(const uint32_t *)right];
    int order = strcmp(a->path, b->path);
    if (order || a->build_id_bytes != b->build_id_bytes)
        return order ? order : a->build_id_bytes < b->build_id_bytes ? -1 : 1;
    return a->build_id_bytes ? memcmp(a->build_id, b->build_id, a->build_id_bytes) : 0;
}

static int job_tree_compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Modules are in their order already. */
static int job_tree_compare_locations(const void *left, const void *right, void *context)
{
    const struct job_tree *tree = context;
    const struct job_location *a = &tree->locations[*(const uint32_t *)left];
    const struct job_location *b = &tree->locations[*(const uint32_t *)right];
    int order = job_tree_compare_numbers(a->module, b->module);
    order = order ? order : job_tree_compare_numbers(a->address, b->address);
    order = order ? order : job_tree_compare_numbers((uint64_t)a->mark, (uint64_t)b->mark);
    return order ? order : job_tree_compare_frames(a, b);
}

typedef int compare_items(const void *left, const void *right, void *context);

/* Puts `items` in order; by old number: the new one, in malloc'd memory. */
static uint32_t *job_tree_put_in_order(struct job_tree *tree, void *items, size_t count,
                                       size_t bytes, compare_items *compare)
{
    uint32_t *order = memory_resize(NULL, count, sizeof *order);
    uint32_t *new_numbers = job_tree_zeroes(count, sizeof *new_numbers);
    char *copy = memory_resize(NULL, count, bytes);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (count) {
        qsort_r(order, count, sizeof *order, compare, tree);
        memcpy(copy, items, count * bytes);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)items + i * bytes, copy + order[i] * bytes, bytes);
        new_numbers[order[i]] = (uint32_t)i;
    }
    free(copy);
    free(order);
    return new_numbers;
}

/* By parent, then by location. */
static int job_tree_compare_nodes(const void *left, const void *right, void *context)
{
    const struct job_tree *tree = context;
    const struct job_node *a = &tree->nodes[*(const uint32_t *)left];
    const struct job_node *b = &tree->nodes[*(const uint32_t *)right];
    int order = job_tree_compare_numbers(a->parent, b->parent);
    return order ? order : job_tree_compare_numbers(a->location, b->location);
}

/* Breadth first: when the nodes of one depth have their order, that of the next follows from their
 * parents' numbers and their locations. */
static void job_tree_order_nodes(struct job_tree *tree)
{
    size_t count = tree->node_count, placed = count > 0, depth_begin = 0;
    uint32_t *order = job_tree_zeroes(count, sizeof *order),
             *number = job_tree_zeroes(count, sizeof *number);
    uint32_t *next = job_tree_zeroes(count, sizeof *next),
             *child = job_tree_zeroes(count, sizeof *child);
    for (size_t i = count; i-- > 1;) {
        next[i] = child[tree->nodes[i].parent];
        child[tree->nodes[i].parent] = (uint32_t)i;
    }
    while (depth_begin < placed) {
        size_t depth_end = placed;
        for (size_t i = depth_begin; i < depth_end; i++) {
            size_t first = placed;
            for (uint32_t at = child[order[i]]; at; at = next[at])
                order[placed++] = at;
            if (placed > first + 1)
                qsort_r(order + first, placed - first, sizeof *order, job_tree_compare_nodes, tree);
        }
        depth_begin = depth_end;
    }
    for (size_t i = 0; i < count; i++)
        number[order[i]] = (uint32_t)i;
    struct job_node *nodes = memory_resize(NULL, count, sizeof *nodes);
    struct job_site *sites = memory_resize(NULL, tree->site_count, sizeof *sites);
    size_t site_count = 0;
    for (size_t i = 0; i < count; i++) {
        nodes[i] = tree->nodes[order[i]];
        nodes[i].parent = number[nodes[i].parent];
        if (!nodes[i].site)
            continue;
        sites[site_count++] = tree->sites[nodes[i].site - 1];
        nodes[i].site = (uint32_t)site_count;
    }
    free(tree->nodes);
    free(tree->sites);
    tree->nodes = nodes;
    tree->sites = sites;
    tree->node_capacity = count;
    tree->site_capacity = site_count;
    job_owners_settle(&tree->owners, number);
    free(order);
    free(number);
    free(next);
    free(child);
}

void job_tree_settle(struct job_tree *tree)
{
    job_tree_join_differing(tree);
    uint32_t *modules = job_tree_put_in_order(tree, tree->modules, tree->module_count,
                                              sizeof *tree->modules, job_tree_compare_modules);
    for (size_t i = 0; i < tree->location_count; i++)
        if (tree->locations[i].module != NONE)
            tree->locations[i].module = modules[tree->locations[i].module];
    uint32_t *locations =
        job_tree_put_in_order(tree, tree->locations, tree->location_count, sizeof *tree->locations,
                              job_tree_compare_locations);
    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].location != NONE)
            tree->nodes[i].location = locations[tree->nodes[i].location];
    job_tree_order_nodes(tree);
    map_release(&tree->module_map);
    map_release(&tree->location_map);
    map_release(&tree->node_map);
    free(modules);
    free(locations);
}

/* ---- As bytes ------------------------------------------------------------------------------ */

static void job_tree_put_metrics(struct strbuf *out, const struct merged_metrics *merged)
{
    bytes_put(out, merged->paths);
    for (size_t i = 0; i < METRICS; i++) /* "not known" is 0 */
        bytes_put(out, metric_value(&metric_rows[i], &merged->metrics).raw + 1);
}

static void job_tree_get_metrics(struct bytes_reader *reader, struct merged_metrics *merged)
{
    merged->paths = bytes_get(reader);
    for (size_t i = 0; i < METRICS; i++)
        metric_field(&metric_rows[i], &merged->metrics)->raw = bytes_get(reader) - 1;
}

static void job_tree_write_modules(struct strbuf *out, const struct job_tree *tree)
{
    bytes_put(out, tree->module_count);
    for (size_t i = 0; i < tree->module_count; i++) {
        const struct job_module *module = &tree->modules[i];
        bytes_put_string(out, module->path);
        bytes_put_blob(out, module->build_id, module->build_id_bytes);
        bytes_put(out, (uint64_t)module->quality);
    }
}

static void job_tree_write_locations(struct strbuf *out, const struct job_tree *tree)
{
    bytes_put(out, tree->location_count);
    for (size_t i = 0; i < tree->location_count; i++) {
        const struct job_location *location = &tree->locations[i];
        bytes_put(out, (uint32_t)(location->module + 1));
        bytes_put(out, location->address);
        bytes_put(out, (uint64_t)location->mark);
        bytes_put(out, (uint64_t)location->quality);
        bytes_put_blob(out, location->frames, location->frame_bytes);
    }
}

static void job_tree_write_nodes(struct strbuf *out, const struct job_tree *tree)
{
    bytes_put(out, tree->node_count);
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct job_node *node = &tree->nodes[i];
        bytes_put(out, i - node->parent);
        bytes_put(out, (uint32_t)(node->location + 1));
        bytes_put(out, node->site > 0);
        if (!node->site)
            continue;
        const struct job_site *site = &tree->sites[node->site - 1];
        job_tree_put_metrics(out, &site->merged);
        bytes_put(out, site->peak_bytes.raw);
        bytes_put(out, site->peak_most.raw);
        bytes_put(out, site->peak_ticks.raw);
    }
}

void job_tree_write(struct strbuf *out, const struct job_tree *tree)
{
#define PUT_FIGURE(field) bytes_put(out, tree->rest.field.raw);
#define PUT_NUMBER(field) bytes_put(out, tree->rest.field);
    bytes_put(out, tree->ranks);
    bytes_put(out, tree->peak_sum.raw);
    job_tree_put_metrics(out, &tree->total);
    REST(PUT_FIGURE, PUT_NUMBER)
    job_tree_write_modules(out, tree);
    job_tree_write_locations(out, tree);
    job_tree_write_nodes(out, tree);
    job_owners_write(out, &tree->owners);
}

static void job_tree_read_module(struct bytes_reader *reader, struct job_tree *tree)
{
    struct job_module module = {.path = bytes_get_string(reader)};
    module.build_id = (uint8_t *)bytes_get_blob(reader, &module.build_id_bytes);
    module.quality = (int)bytes_get_below(reader, 255);
    reader->failed |= !module.path || module.build_id_bytes > 64;
    size_t before = tree->module_count;
    if (!reader->failed)
        reader->failed |= job_tree_add_module(tree, &module) != before;
    free(module.path);
}

static void job_tree_read_location(struct bytes_reader *reader, struct job_tree *tree)
{
    struct job_location location;
    location.module = (uint32_t)bytes_get_below(reader, tree->module_count) - 1;
    location.address = bytes_get(reader);
    location.mark = (int)bytes_get_below(reader, 0xffff);
    location.quality = (int)bytes_get_below(reader, 255);
    location.frames = (char *)bytes_get_blob(reader, &location.frame_bytes);
    reader->failed |=
        !reader->failed && !job_tree_are_frames(location.frames, location.frame_bytes);
    size_t before = tree->location_count;
    if (!reader->failed)
        reader->failed |= job_tree_add_location(tree, &location) != before;
}

static void job_tree_read_node(struct bytes_reader *reader, struct job_tree *tree)
{
    size_t number = tree->node_count;
    uint64_t back = bytes_get_below(reader, number);
    uint32_t location = (uint32_t)bytes_get_below(reader, tree->location_count) - 1;
    bool has_site = bytes_get_below(reader, 1);
    reader->failed |= number && !back;
    if (reader->failed || job_tree_add_node(tree, (uint32_t)(number - back), location) != number) {
        reader->failed = true;
        return;
    }
    if (!has_site)
        return;
    struct job_site site = {0};
    job_tree_get_metrics(reader, &site.merged);
    site.peak_bytes.raw = bytes_get(reader);
    site.peak_most.raw = bytes_get(reader);
    site.peak_ticks.raw = bytes_get(reader);
    reader->failed |= !site.merged.paths;
    job_tree_add_site(tree, (uint32_t)number, &site);
}

int job_tree_read(struct job_tree *tree, const void *bytes, size_t count)
{
    struct bytes_reader reader = {bytes, (const unsigned char *)bytes + count, false};
#define GET_FIGURE(field) tree->rest.field.raw = bytes_get(&reader);
#define GET_NUMBER(field) tree->rest.field = bytes_get(&reader);
    *tree = (struct job_tree){.ranks = bytes_get(&reader)};
    tree->peak_sum.raw = bytes_get(&reader);
    job_tree_get_metrics(&reader, &tree->total);
    REST(GET_FIGURE, GET_NUMBER)
    program_metrics_forget_mapped(&tree->rest);
    for (size_t left = bytes_get_count(&reader, 3); left && !reader.failed; left--)
        job_tree_read_module(&reader, tree);
    for (size_t left = bytes_get_count(&reader, 5); left && !reader.failed; left--)
        job_tree_read_location(&reader, tree);
    for (size_t left = bytes_get_count(&reader, 3); left && !reader.failed; left--)
        job_tree_read_node(&reader, tree);
    job_owners_read(&reader, &tree->owners, tree->node_count);
    if (!reader.failed && reader.at == reader.end)
        return 0;
    job_tree_release(tree);
    return -EINVAL;
}

/* Call paths of a trace with their names, without replaying anything. Views of a trace at one
 * moment must be fast for any number of nodes. So each address is resolved once, and each node then
 * takes one lookup in a table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profile_build/code_index.h"
#include "base/error.h"
#include "profile_build/naming.h"
#include "base/hash.h"
#include "offline/doubt.h"
#include "offline/offline.h"
#include "wire/wire.h"

enum { FRAMES_MAX = 64 };

/* An address, with the module that held it (-1: none). */
struct trace_names_place {
    uint64_t ip;
    int32_t module;
    uint32_t code; /* 0: empty slot */
};

struct trace_names {
    const struct trace *trace;
    struct profile *profile;
    struct code_index *known; /* the supplement's codes */
    struct profile_builder *builder;
    struct trace_module *modules; /* in the order of the trace */
    uint32_t *module_index;       /* in the profile; UINT32_MAX: not there yet */
    size_t module_count;
    bool overlap; /* some modules overlap, so an address may belong to several */
    struct trace_names_place *places; /* open addressing */
    size_t place_count, place_room;
    uint32_t first_new; /* codes from here on are not the supplement's */
    bool no_memory;
};

/* ---- Modules ------------------------------------------------------------------------------- */

static int offline_names_by_start(const void *left, const void *right)
{
    const struct trace_module *a = *(const struct trace_module *const *)left;
    const struct trace_module *b = *(const struct trace_module *const *)right;
    return (a->start > b->start) - (a->start < b->start);
}

static bool offline_names_do_overlap(const struct trace_module *modules, size_t count)
{
    const struct trace_module **sorted = malloc(count * sizeof *sorted + 1);
    bool found = !sorted;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &modules[i];
    if (sorted && count)
        qsort(sorted, count, sizeof *sorted, offline_names_by_start);
    for (size_t i = 1; sorted && i < count; i++)
        found |= sorted[i]->start < sorted[i - 1]->end;
    free(sorted);
    return found;
}

/* The newest module that held the address when the node was made, as in profile_build.c; -1:
 * none. */
static int32_t offline_names_module_of(const struct trace_names *names, uint64_t ip, uint32_t node)
{
    for (size_t i = names->module_count; i-- > 0;) {
        const struct trace_module *module = &names->modules[i];
        if (ip >= module->start && ip < module->end && node >= module->born && node < module->died)
            return (int32_t)i;
    }
    return -1;
}

/* Whether an address that was found for one node has the same module for another node. */
static bool offline_names_still_holds(const struct trace_names *names,
                                      const struct trace_names_place *place, uint32_t node)
{
    if (names->overlap || place->module < 0)
        return false;
    const struct trace_module *module = &names->modules[place->module];
    return node >= module->born && node < module->died;
}

static const char *offline_names_main_program(const struct trace_names *names)
{
    const char *path = profile_get(names->profile, PROFILE_META_EXECUTABLE);
    return path ? path : "";
}

static bool offline_names_is_script(const struct trace_names *names, int32_t number)
{
    return number >= 0 && wire_is_script(names->modules[number].start);
}

/* "NAME\nFILE" (wire.h). */
static const char *offline_names_script_file(const struct trace_module *module)
{
    const char *end = strchr(module->path, '\n');
    return end ? end + 1 : "?";
}

/* The first function of a file stands for the file, as in profile_build.c. */
static int32_t offline_names_first_of_file(const struct trace_names *names, int32_t number)
{
    const char *file = offline_names_script_file(&names->modules[number]);
    for (int32_t i = 0; i < number; i++)
        if (offline_names_is_script(names, i) &&
            !strcmp(offline_names_script_file(&names->modules[i]), file))
            return i;
    return number;
}

static const char *offline_names_path_of(const struct trace_names *names, int32_t number)
{
    const struct trace_module *module = &names->modules[number];
    if (offline_names_is_script(names, number))
        return offline_names_script_file(module);
    return *module->path ? module->path : offline_names_main_program(names);
}

static uint32_t offline_names_profile_module_of(struct trace_names *names, int32_t number)
{
    if (number < 0)
        return UINT32_MAX;
    if (offline_names_is_script(names, number) && names->module_index[number] == UINT32_MAX)
        number = offline_names_first_of_file(names, number);
    uint32_t *index = &names->module_index[number];
    const struct trace_module *module = &names->modules[number];
    struct profile_module added = {.id = (int64_t)module->number + 1,
                                   .path = offline_names_path_of(names, number),
                                   .build_id = module->build_id,
                                   .build_id_bytes = module->build_id_bytes,
                                   .start = module->start,
                                   .end = module->end,
                                   .bias = module->bias};
    if (*index == UINT32_MAX)
        *index = profile_builder_module(names->builder, &added);
    return *index;
}

/* ---- Codes --------------------------------------------------------------------------------- */

static void offline_names_script_code(struct trace_names *names, uint32_t code, uint64_t ip,
                                      const struct trace_module *module)
{
    const char *end = strchr(module->path, '\n');
    char *function = strndup(module->path, end ? (size_t)(end - module->path) : SIZE_MAX / 2);
    struct profile_frame frame = {function, NULL, offline_names_script_file(module),
                                  wire_script_line(ip)};
    names->no_memory |= !function;
    if (function)
        profile_builder_frames(names->builder, code, &frame, 1);
    free(function);
}

static uint64_t offline_names_address(const struct trace_names *names, uint64_t ip, int32_t number)
{
    return number < 0                               ? ip
           : offline_names_is_script(names, number) ? ip & ~WIRE_SCRIPT_BIT
                                                    : ip - names->modules[number].bias;
}

static uint32_t offline_names_make_code(struct trace_names *names, uint64_t ip, int32_t number)
{
    uint32_t module = offline_names_profile_module_of(names, number);
    uint64_t address = offline_names_address(names, ip, number);
    uint32_t code = code_index_find(names->known, module, address);
    struct profile_code added = {
        .module = module, .address = address, .mark = ip < WIRE_MARK_LIMIT ? (int)ip : 0};
    if (code)
        return code;
    code = profile_builder_code(names->builder, &added);
    if (code && offline_names_is_script(names, number))
        offline_names_script_code(names, code, ip, &names->modules[number]);
    return code;
}

static struct trace_names_place *offline_names_slot_of(struct trace_names_place *places,
                                                       size_t room, uint64_t ip, int32_t module,
                                                       bool any_module)
{
    size_t at = hash_u64(ip) & (room - 1);
    while (places[at].code && (places[at].ip != ip || (!any_module && places[at].module != module)))
        at = (at + 1) & (room - 1);
    return &places[at];
}

static bool offline_names_grow(struct trace_names *names)
{
    size_t room = names->place_room ? 2 * names->place_room : 1 << 12;
    struct trace_names_place *places = calloc(room, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < names->place_room; i++) {
        const struct trace_names_place *old = &names->places[i];
        if (old->code)
            *offline_names_slot_of(places, room, old->ip, old->module, false) = *old;
    }
    free(names->places);
    names->places = places;
    names->place_room = room;
    return true;
}

/* The code at `ip` when the node was made; 0 also if memory is out. */
static uint32_t offline_names_code_of(struct trace_names *names, uint64_t ip, uint32_t node)
{
    if (!ip)
        return 0; /* a node that is missing */
    names->no_memory |= 2 * names->place_count >= names->place_room && !offline_names_grow(names);
    if (names->no_memory)
        return 0;
    struct trace_names_place *place =
        offline_names_slot_of(names->places, names->place_room, ip, 0, true);
    if (place->code && offline_names_still_holds(names, place, node))
        return place->code;
    int32_t module = ip < WIRE_MARK_LIMIT ? -1 : offline_names_module_of(names, ip, node);
    place = offline_names_slot_of(names->places, names->place_room, ip, module, false);
    if (!place->code) {
        *place = (struct trace_names_place){ip, module, offline_names_make_code(names, ip, module)};
        names->place_count += place->code != 0;
    }
    return place->code;
}

static void offline_names_fill_nodes(struct trace_names *names, const struct trace_node *nodes,
                                     size_t count)
{
    struct profile *profile = names->profile;
    for (size_t i = 1; i < count; i++) {
        profile->nodes[i].parent = nodes[i].parent < i ? nodes[i].parent : 0;
        profile->nodes[i].location = offline_names_code_of(names, nodes[i].ip, (uint32_t)i);
    }
}

/* ---- Names from the object files ----------------------------------------------------------- */

/* Which codes are to be named, by number; NULL: out of memory. */
static bool *offline_names_choose_codes(const struct trace_names *names,
                                        const struct offline_wanted *wanted)
{
    const struct profile *profile = names->profile;
    bool *chosen = calloc(profile->code_count + 1, 1);
    bool *seen = wanted ? calloc(profile->node_count + 1, 1) : NULL;
    if (!chosen || (wanted && !seen)) {
        free(chosen);
        free(seen);
        return NULL;
    }
    for (size_t i = 0; wanted && i < wanted->count; i++)
        for (uint32_t node = wanted->nodes[i]; node < profile->node_count && node && !seen[node];
             node = profile->nodes[node].parent)
            seen[node] = chosen[profile->nodes[node].location] = true;
    if (!wanted)
        memset(chosen, 1, profile->code_count);
    free(seen);
    return chosen;
}

static void offline_names_code(struct trace_names *names, struct naming *naming, int handle,
                               uint32_t number)
{
    struct symbols_frame resolved[FRAMES_MAX];
    struct profile_frame frames[FRAMES_MAX];
    const struct profile_code *code = &names->profile->codes[number];
    size_t count = naming_resolve(naming, handle, 0, code->address - 1, resolved, FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct profile_frame){resolved[i].function, resolved[i].linkage,
                                           resolved[i].file, resolved[i].line};
    profile_builder_frames(names->builder, number, frames, count);
}

/* Handles of naming.h by index into the profile's modules; -1: not asked for yet. */
static int offline_names_handle_of(const struct trace_names *names, struct naming *naming,
                                   int *handles, uint32_t module)
{
    const struct profile_module *known = &names->profile->modules[module];
    if (handles[module] < 0)
        handles[module] =
            naming_add_module(naming, known->path, known->build_id, known->build_id_bytes);
    return handles[module];
}

static int offline_names_codes(struct trace_names *names, const struct offline_wanted *wanted)
{
    struct profile *profile = names->profile;
    bool *chosen = offline_names_choose_codes(names, wanted);
    int *handles = malloc((profile->module_count + 1) * sizeof *handles);
    struct naming *naming = chosen && handles ? naming_open(0) : NULL;
    for (size_t i = 0; naming && i < profile->module_count; i++)
        handles[i] = -1;
    for (uint32_t i = names->first_new; naming && i < profile->code_count; i++) {
        uint32_t module = profile->codes[i].module;
        if (!chosen[i] || profile->codes[i].mark || module == UINT32_MAX ||
            wire_is_script(profile->modules[module].start))
            continue;
        int handle = offline_names_handle_of(names, naming, handles, module);
        offline_names_code(names, naming, handle, i);
        profile->modules[module].quality = naming_module_quality(naming, handle);
    }
    naming_close(naming);
    free(handles);
    free(chosen);
    return naming ? 0 : -ENOMEM;
}

/* ---- Facts --------------------------------------------------------------------------------- */

static void offline_names_take_facts(struct trace_names *names)
{
    const char *key, *value;
    size_t prefix = strlen(TRACE_FACT_META);
    for (size_t i = 0; i < trace_fact_count(names->trace); i++) {
        trace_fact_at(names->trace, i, &key, &value);
        if (!strncmp(key, TRACE_FACT_META, prefix))
            profile_builder_fact(names->builder, key + prefix, value);
    }
}

static void offline_names_say_doubt(struct trace_names *names)
{
    profile_builder_fact(names->builder, PROFILE_META_NAMED_LATER, OFFLINE_DOUBT);
}

const char *offline_names_doubt(const struct profile *names)
{
    return profile_get(names, PROFILE_META_NAMED_LATER);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int offline_names_read_supplement(struct trace_names *names, size_t node_count,
                                         bool *is_there)
{
    void *bytes;
    size_t size;
    int error = trace_supplement(names->trace, &bytes, &size);
    if (error)
        return error;
    *is_there = bytes && profile_read_supplement(&names->profile, bytes, size,
                                                 "the trace's supplement", node_count, true) == 0;
    free(bytes);
    if (!*is_there)
        names->profile = profile_new(node_count);
    return names->profile ? 0 : -ENOMEM;
}

static int offline_names_prepare(struct trace_names *names, bool has_supplement)
{
    names->known = code_index_new(names->profile);
    names->builder = profile_builder_new(names->profile);
    names->module_index = malloc((names->module_count + 1) * sizeof *names->module_index);
    if (!names->known || !names->builder || !names->module_index)
        return -ENOMEM;
    for (size_t i = 0; i < names->module_count; i++)
        names->module_index[i] =
            code_index_module(names->known, (int64_t)names->modules[i].number + 1);
    names->overlap = offline_names_do_overlap(names->modules, names->module_count);
    names->first_new = (uint32_t)names->profile->code_count;
    if (!has_supplement)
        offline_names_take_facts(names);
    return 0;
}

static int offline_names_fill(struct trace_names *names, const struct trace_node *nodes,
                              size_t count, const struct offline_wanted *wanted)
{
    bool has_supplement = false;
    int error = offline_names_read_supplement(names, count, &has_supplement);
    if (!error)
        error = offline_names_prepare(names, has_supplement);
    if (error)
        return error;
    offline_names_fill_nodes(names, nodes, count);
    if (names->no_memory)
        return -ENOMEM;
    if (names->profile->code_count > names->first_new)
        error = offline_names_codes(names, wanted);
    if (!error && !has_supplement)
        offline_names_say_doubt(names);
    return error;
}

static void offline_names_release(struct trace_names *names)
{
    code_index_free(names->known);
    free(names->modules);
    free(names->module_index);
    free(names->places);
}

int offline_names(const struct trace *trace, size_t before_block,
                  const struct offline_wanted *wanted, struct profile **out)
{
    struct trace_names names = {.trace = trace};
    struct trace_node *nodes = NULL;
    size_t count;
    *out = NULL;
    if (trace_nodes(trace, before_block, &nodes, &count) ||
        trace_modules(trace, SIZE_MAX, &names.modules, &names.module_count)) {
        free(nodes);
        return -ENOMEM;
    }
    int error = offline_names_fill(&names, nodes, count, wanted);
    if (names.builder && profile_builder_free(names.builder) && !error)
        error = -ENOMEM;
    free(nodes);
    offline_names_release(&names);
    if (error) {
        profile_free(names.profile);
        return error == -ENOMEM ? error_set(error, "out of memory while reading a trace") : error;
    }
    *out = names.profile;
    return 0;
}

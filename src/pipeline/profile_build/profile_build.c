/* Writes a profile from a snapshot (profile_build.h). It numbers code locations in a table of
 * (address, module), resolves each once, writes the nodes that are new, and then the changed blocks
 * of metrics in one transaction. */
#include "profile_build/profile_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "profile_build/globals.h"
#include "profile_build/held.h"
#include "profile_build/name_turn.h"
#include "profile_build/naming.h"
#include "profile_build/sources.h"
#include "profile_build/variable_owners.h"
#include "profile/profile.h"
#include "wire/wire.h"

enum { FRAMES_MAX = 64 };

/* The most variables with rows of their own in a sample, and the smallest. The others are one row
 * for each module. */
#define VARIABLES_OF_A_SAMPLE 1000
#define VARIABLE_BYTES        4096

struct profile_build_module {
    struct origins_module entry; /* with another path: */
    char *path;
    char *function; /* of an interpreted function, whose file is `path`; NULL: a module of the
                       loader's */
    uint32_t first; /* the first entry of that file, which stands for the file in the profile */
    int symbols;    /* handle */
    bool used;      /* the profile has an address in it */
    int told_quality;
};

/* ip → location, for addresses of one module (or of none, module -1). */
struct profile_build_place {
    uint64_t ip;
    int32_t module;
    uint32_t location; /* 0: empty slot */
    bool is_nameless;  /* JIT code that no map had a name for */
    bool is_typed;     /* the type that its call allocates was asked for */
    bool hands_on;     /* the call hands on what it gets, so its caller is asked */
};

struct profile_build_fact {
    char *key, *text; /* text NULL: a number */
    int64_t number;
};

/* What a block of sites adds to the totals, as last written. */
struct profile_build_part {
    uint64_t lifetime_ns, freed_lifetime_ns, alloc_time_ns, free_time_ns;
    uint64_t unattributed; /* calls recorded without a path */
    uint64_t unwalkable;   /* call paths with metrics that begin where a walk ended early */
};

/* A module that is the only one, or the newest, on a page. */
struct profile_build_page {
    uint64_t number;
    uint32_t module; /* its place among the loaded ones + 1; 0: none is known */
};
enum { PAGE_BITS = 12, PAGES_KNOWN = 256 };

struct writer {
    struct profile_writer *profile;
    struct naming *naming;
    char *path, *executable;
    pid_t pid;
    size_t module_cursor;
    struct profile_build_module *modules;
    size_t module_count, module_room;
    uint32_t *loaded; /* numbers of those that are the loader's */
    size_t loaded_count, loaded_room;
    struct profile_build_page pages[PAGES_KNOWN]; /* by hash of the page's number */
    uint32_t *scripts; /* by the number of the function: its place in `modules`; UINT32_MAX: none */
    size_t script_count, script_room;
    struct map script_files;            /* places in `modules`, by path */
    struct profile_build_place *places; /* open addressing, a power of two */
    size_t place_count, place_room;
    bool has_nameless;                /* a place is nameless */
    unsigned jit_maps;                /* naming_jit_maps() when these were asked for last */
    bool *unwalkable;                 /* by node, of those written */
    struct profile_build_part *parts; /* by number of the block */
    size_t part_count, part_room;
    struct profile_build_part total;
    uint32_t nodes_written; /* nodes below this are in the profile; 0 and the root never are */
    struct profile_build_fact *facts;
    size_t fact_count, fact_room;
    struct sources *sources;     /* NULL: not wanted */
    struct globals *globals;     /* being read; NULL else */
    const struct profile *known; /* what was known before; NULL else */
    bool has_known_variables;    /* they are written */
};

int profile_build_open(struct writer **out, const char *path, pid_t pid, const char *executable)
{
    struct naming *naming = naming_open(pid);
    int status = profile_build_open_named(out, path, naming, executable);
    if (status < 0)
        naming_close(naming);
    else
        (*out)->pid = pid;
    return status;
}

static struct writer *profile_build_new(struct profile_writer *profile, struct naming *naming,
                                        const char *path, const char *executable)
{
    struct writer *writer = memory_need(calloc(1, sizeof *writer));
    *writer = (struct writer){.profile = profile,
                              .naming = naming,
                              .path = memory_need(strdup(path)),
                              .executable = memory_need(strdup(executable)),
                              .nodes_written = 1};
    return writer;
}

int profile_build_open_named(struct writer **out, const char *path, struct naming *naming,
                             const char *executable)
{
    struct profile_writer *profile;
    int status = profile_writer_open(&profile, path);
    if (status == 0)
        *out = profile_build_new(profile, naming, path, executable);
    return status;
}

int profile_build_open_at_once(struct writer **out, const char *path, pid_t pid,
                               const char *executable)
{
    struct profile_writer *profile;
    int status = profile_writer_open_at_once(&profile, path);
    if (status < 0)
        return status;
    *out = profile_build_new(profile, naming_open(pid), path, executable);
    (*out)->pid = pid;
    return 0;
}

int profile_build_open_memory(struct writer **out, const char *name, pid_t pid,
                              const char *executable)
{
    struct profile_writer *profile;
    int status = profile_writer_open_log(&profile, name);
    if (status < 0)
        return status;
    *out = profile_build_new(profile, naming_open(pid), name, executable);
    (*out)->pid = pid;
    return 0;
}

static void profile_build_writer_free(struct writer *writer)
{
    for (size_t i = 0; i < writer->module_count; i++) {
        free(writer->modules[i].path);
        free(writer->modules[i].function);
    }
    for (size_t i = 0; i < writer->fact_count; i++) {
        free(writer->facts[i].key);
        free(writer->facts[i].text);
    }
    if (writer->globals)
        globals_end(writer->globals);
    globals_free(writer->globals);
    naming_close(writer->naming);
    sources_free(writer->sources);
    free(writer->modules);
    free(writer->loaded);
    free(writer->scripts);
    map_release(&writer->script_files);
    free(writer->places);
    free(writer->unwalkable);
    free(writer->parts);
    free(writer->facts);
    free(writer->path);
    free(writer->executable);
    free(writer);
}

void profile_build_rest(struct writer *writer)
{
    if (name_turns_are_taken())
        profile_writer_rest(writer->profile);
    naming_rest(writer->naming);
}

/* ---- Facts ---- */

static void profile_build_add_fact(struct writer *writer, const char *key, char *text,
                                   int64_t number)
{
    array_need_room(&writer->facts, &writer->fact_room, writer->fact_count, sizeof *writer->facts);
    writer->facts[writer->fact_count++] =
        (struct profile_build_fact){memory_need(strdup(key)), text, number};
}

void profile_build_fact(struct writer *writer, const char *key, const char *value)
{
    if (value)
        profile_build_add_fact(writer, key, memory_need(strdup(value)), 0);
}

void profile_build_fact_number(struct writer *writer, const char *key, int64_t value)
{
    profile_build_add_fact(writer, key, NULL, value);
}

static int profile_build_write_facts(struct writer *writer)
{
    int status = 0;
    for (size_t i = 0; i < writer->fact_count; i++) {
        struct profile_build_fact *fact = &writer->facts[i];
        if (status == 0)
            status = fact->text ? profile_put_text(writer->profile, fact->key, fact->text)
                                : profile_put_integer(writer->profile, fact->key, fact->number);
        free(fact->key);
        free(fact->text);
    }
    writer->fact_count = 0;
    return status;
}

/* ---- Modules ---- */

static bool profile_build_is_path(const void *modules, uint32_t number, const void *path)
{
    return strcmp(((const struct profile_build_module *)modules)[number].path, path) == 0;
}

/* Adds an interpreted function and its file (wire.h). */
static void profile_build_add_script(struct writer *writer, struct profile_build_module *module)
{
    uint32_t index = (uint32_t)(module - writer->modules);
    uint32_t number = wire_script_function(module->entry.start);
    const char *file = strchr(module->path, '\n');
    char *whole = module->path;
    bool is_new;
    module->path = memory_need(strdup(file ? file + 1 : "?"));
    module->function = whole;
    whole[file ? (size_t)(file - whole) : strlen(whole)] = '\0';
    module->first =
        map_number(&writer->script_files, hash_bytes(module->path, strlen(module->path)),
                   profile_build_is_path, writer->modules, module->path, index, &is_new);
    while (number >= writer->script_count && number < WIRE_SCRIPT_FUNCTIONS) {
        array_need_room(&writer->scripts, &writer->script_room, writer->script_count,
                        sizeof *writer->scripts);
        writer->scripts[writer->script_count++] = UINT32_MAX;
    }
    if (number < writer->script_count)
        writer->scripts[number] = index;
}

static void profile_build_add_loaded(struct writer *writer, uint32_t index)
{
    array_need_room(&writer->loaded, &writer->loaded_room, writer->loaded_count,
                    sizeof *writer->loaded);
    writer->loaded[writer->loaded_count++] = index;
    memset(writer->pages, 0, sizeof writer->pages);
}

static void profile_build_add_module(void *context, const struct origins_module *source)
{
    struct writer *writer = context;
    array_need_room(&writer->modules, &writer->module_room, writer->module_count,
                    sizeof *writer->modules);
    struct profile_build_module *module = &writer->modules[writer->module_count++];
    const char *path = *source->path ? source->path : writer->executable;
    *module = (struct profile_build_module){
        .entry = *source, .path = memory_need(strdup(path)), .told_quality = -1};
    if (wire_is_script(source->start))
        profile_build_add_script(writer, module);
    else if (wire_is_jit_dump(source->start))
        naming_add_jit_dump(writer->naming, writer->pid, path);
    else
        profile_build_add_loaded(writer, (uint32_t)(module - writer->modules));
    module->symbols =
        naming_add_module(writer->naming, path, source->build_id, source->build_id_bytes);
}

static int profile_build_script_of(const struct writer *writer, uint64_t ip)
{
    uint32_t number = wire_script_function(ip);
    return number < writer->script_count && writer->scripts[number] != UINT32_MAX
               ? (int)writer->scripts[number]
               : -1;
}

static bool profile_build_is_within(const struct writer *writer, size_t at, uint64_t ip,
                                    uint32_t node)
{
    const struct origins_module *entry = &writer->modules[writer->loaded[at]].entry;
    return ip >= entry->start && ip < entry->end && node >= entry->born &&
           node < atomic_load_explicit(entry->died, memory_order_relaxed);
}

/* No module that was loaded behind number `at` has a byte of the page. */
static bool profile_build_is_newest_on(const struct writer *writer, size_t at, uint64_t page)
{
    uint64_t lo = page << PAGE_BITS, hi = lo + (1u << PAGE_BITS);
    for (size_t i = writer->loaded_count; i-- > at + 1;) {
        const struct origins_module *entry = &writer->modules[writer->loaded[i]].entry;
        if (entry->start < hi && entry->end > lo)
            return false;
    }
    return true;
}

/* The module that held `ip` when node number `node` was made; the newest that fits. -1: none. */
static int profile_build_module_of(struct writer *writer, uint64_t ip, uint32_t node)
{
    uint64_t number = ip >> PAGE_BITS;
    struct profile_build_page *page = &writer->pages[hash_u64(number) % PAGES_KNOWN];
    if (wire_is_script(ip))
        return profile_build_script_of(writer, ip);
    if (page->module && page->number == number &&
        profile_build_is_within(writer, page->module - 1, ip, node))
        return (int)writer->loaded[page->module - 1];
    for (size_t i = writer->loaded_count; i-- > 0;)
        if (profile_build_is_within(writer, i, ip, node)) {
            if (profile_build_is_newest_on(writer, i, number))
                *page = (struct profile_build_page){number, (uint32_t)i + 1};
            return (int)writer->loaded[i];
        }
    return -1;
}

static int profile_build_write_module(struct writer *writer, size_t index, int quality)
{
    struct profile_build_module *module = &writer->modules[index];
    struct profile_module row = {.id = (int64_t)index + 1,
                                 .path = module->path,
                                 .build_id = module->entry.build_id,
                                 .build_id_bytes = module->entry.build_id_bytes,
                                 .start = module->entry.start,
                                 .end = module->entry.end,
                                 .bias = module->entry.bias,
                                 .quality = quality};
    module->told_quality = quality;
    return profile_put_module(writer->profile, &row);
}

static int profile_build_write_modules(struct writer *writer)
{
    int status = 0;
    for (size_t i = 0; i < writer->module_count && status == 0; i++) {
        const struct profile_build_module *module = &writer->modules[i];
        if (!module->used)
            continue;
        int quality = module->function ? SYMBOLS_LINES
                                       : naming_module_quality(writer->naming, module->symbols);
        if (quality != module->told_quality)
            status = profile_build_write_module(writer, i, quality);
    }
    return status;
}

/* ---- Locations ---- */

static struct profile_build_place *profile_build_place_slot(struct profile_build_place *places,
                                                            size_t room, uint64_t ip,
                                                            int32_t module)
{
    size_t at = hash_u64(ip ^ (uint64_t)(uint32_t)module << 48) & (room - 1);
    while (places[at].location && (places[at].ip != ip || places[at].module != module))
        at = (at + 1) & (room - 1);
    return &places[at];
}

static void profile_build_places_grow(struct writer *writer)
{
    size_t room = writer->place_room ? 2 * writer->place_room : 1 << 10;
    struct profile_build_place *places = memory_need(calloc(room, sizeof *places));
    for (size_t i = 0; i < writer->place_room; i++) {
        struct profile_build_place *old = &writer->places[i];
        if (old->location)
            *profile_build_place_slot(places, room, old->ip, old->module) = *old;
    }
    free(writer->places);
    writer->places = places;
    writer->place_room = room;
}

static size_t profile_build_resolve(struct writer *writer, int module, uint64_t ip,
                                    struct symbols_frame frames[FRAMES_MAX])
{
    if (module >= 0 && writer->modules[module].function) {
        frames[0] = (struct symbols_frame){.function = writer->modules[module].function,
                                           .file = writer->modules[module].path,
                                           .line = wire_script_line(ip)};
        return 1;
    }
    /* A return address belongs to the call before it. */
    uint64_t address = ip - 1 - (module < 0 ? 0 : writer->modules[module].entry.bias);
    return naming_resolve(writer->naming, module < 0 ? -1 : writer->modules[module].symbols,
                          writer->pid, address, frames, FRAMES_MAX);
}

static void profile_build_note_sources(struct writer *writer, int module,
                                       const struct symbols_frame *frames, size_t count)
{
    if (!writer->sources || module < 0)
        return;
    const char *path = writer->modules[module].path;
    for (size_t i = 0; i < count; i++)
        if (frames[i].file && sources_add(writer->sources, frames[i].file, path) < 0)
            memory_need(NULL);
}

static void profile_build_note_nameless(struct writer *writer, struct profile_build_place *place,
                                        bool is_named)
{
    place->is_nameless = place->module < 0 && !is_named;
    if (place->is_nameless && !writer->has_nameless)
        writer->jit_maps = naming_jit_maps(writer->naming, writer->pid);
    writer->has_nameless |= place->is_nameless;
}

static int profile_build_write_location(struct writer *writer, struct profile_build_place *place)
{
    const uint64_t ip = place->ip;
    const int module = place->module;
    struct symbols_frame resolved[FRAMES_MAX];
    struct profile_frame frames[FRAMES_MAX];
    struct profile_location location = {
        .id = place->location, .module_id = -1, .address = ip, .frames = frames};
    if (ip < WIRE_MARK_LIMIT) {
        location.mark = (int)ip;
        return profile_put_location(writer->profile, &location);
    }
    if (module >= 0 && writer->modules[module].function) {
        writer->modules[writer->modules[module].first].used = true;
        location.module_id = writer->modules[module].first + 1;
        location.address = ip & ~WIRE_SCRIPT_BIT;
    } else if (module >= 0) {
        writer->modules[module].used = true;
        location.module_id = module + 1;
        location.address = ip - writer->modules[module].entry.bias;
    }
    location.frame_count = profile_build_resolve(writer, module, ip, resolved);
    for (size_t i = 0; i < location.frame_count; i++)
        frames[i] = (struct profile_frame){resolved[i].function, resolved[i].linkage,
                                           resolved[i].file, resolved[i].line};
    profile_build_note_nameless(writer, place, location.frame_count && resolved[0].function);
    profile_build_note_sources(writer, module, resolved, location.frame_count);
    return profile_put_location(writer->profile, &location);
}

/* Asks again for the names of JIT code when the process has written a map since. Without another
 * map nobody is asked twice: where code is freed, other code gets its address. */
static int profile_build_name_late(struct writer *writer)
{
    int status = 0;
    if (!writer->has_nameless)
        return 0;
    unsigned maps = naming_jit_maps(writer->naming, writer->pid);
    if (maps == writer->jit_maps)
        return 0;
    writer->jit_maps = maps;
    for (size_t i = 0; i < writer->place_room && status == 0; i++)
        if (writer->places[i].is_nameless)
            status = profile_build_write_location(writer, &writer->places[i]);
    return status;
}

/* The location's id, > 0, or -errno. */
static int64_t profile_build_location_of(struct writer *writer, uint64_t ip, uint32_t node)
{
    int module = ip < WIRE_MARK_LIMIT ? -1 : profile_build_module_of(writer, ip, node);
    if (4 * writer->place_count >= 3 * writer->place_room)
        profile_build_places_grow(writer);
    struct profile_build_place *place =
        profile_build_place_slot(writer->places, writer->place_room, ip, module);
    if (!place->location) {
        *place = (struct profile_build_place){
            .ip = ip, .module = module, .location = (uint32_t)++writer->place_count};
        int status = profile_build_write_location(writer, place);
        if (status < 0)
            return status;
    }
    return place->location;
}

/* ---- Paths ---- */

static int profile_build_write_nodes(struct writer *writer, const struct origins *origins,
                                     uint32_t count)
{
    writer->unwalkable = memory_need(realloc(writer->unwalkable, (size_t)count + 1));
    writer->unwalkable[0] = false;
    for (uint32_t id = writer->nodes_written; id < count; id++) {
        struct origins_node node = origins->node(origins->context, id);
        int64_t location = profile_build_location_of(writer, node.ip, id);
        if (location < 0)
            return (int)location;
        uint32_t parent = node.parent < id ? node.parent : 0; /* a later parent is damage */
        int status = profile_put_path(writer->profile, id, parent, location);
        if (status < 0)
            return status;
        writer->unwalkable[id] = wire_mark_is_unwalkable(node.ip) || writer->unwalkable[parent];
        writer->nodes_written = id + 1;
    }
    origins->leave_nodes(origins->context, count);
    return 0;
}

/* ---- Types of what calls allocate ---- */

static int profile_build_write_type(struct writer *writer, const struct profile_build_place *place,
                                    const struct symbols_call_type *type)
{
    const struct profile_build_module *module = &writer->modules[place->module];
    struct profile_call_type row = {.module_id = place->module + 1,
                                    .address = place->ip - module->entry.bias,
                                    .kind = type->hands_on    ? PROFILE_CALL_HANDED_ON
                                            : type->is_made   ? PROFILE_CALL_MADE
                                            : type->is_scalar ? PROFILE_CALL_SCALAR
                                            : type->is_open   ? PROFILE_CALL_OPEN
                                                              : PROFILE_CALL_STRUCTURE,
                                    .name = type->name,
                                    .bytes = type->bytes,
                                    .hole_count = FIGURE_UNKNOWN,
                                    .hole_bytes = FIGURE_UNKNOWN,
                                    .padding_bytes = FIGURE_UNKNOWN};
    if (type->has_layout) {
        row.hole_count = figure_of(type->layout.hole_count);
        row.hole_bytes = figure_of(type->layout.hole_bytes);
        row.padding_bytes = figure_of(type->layout.padding_bytes);
    }
    return profile_put_call_type(writer->profile, &row);
}

/* Each place is asked once. */
static int profile_build_find_type(struct writer *writer, struct profile_build_place *place)
{
    struct symbols_call_type type;
    if (place->is_typed)
        return 0;
    place->is_typed = true;
    if (place->module < 0 || wire_is_script(place->ip))
        return 0;
    const struct profile_build_module *module = &writer->modules[place->module];
    if (!naming_type_of_call(writer->naming, module->symbols, place->ip - module->entry.bias,
                             &type))
        return 0;
    place->hands_on = type.hands_on;
    return profile_build_write_type(writer, place, &type);
}

/* Asks for types from the innermost call on, as long as functions hand on what they get. */
static int profile_build_type_path(struct writer *writer, const struct origins *origins,
                                   uint32_t path)
{
    enum { MOST_CALLS = 8 };
    int status = 0;
    for (int i = 0; i < MOST_CALLS && path && path < writer->nodes_written && !status; i++) {
        struct origins_node node = origins->node(origins->context, path);
        if (node.ip < WIRE_MARK_LIMIT)
            break;
        struct profile_build_place *place =
            profile_build_place_slot(writer->places, writer->place_room, node.ip,
                                     profile_build_module_of(writer, node.ip, path));
        if (!place->location)
            break;
        status = profile_build_find_type(writer, place);
        if (!place->hands_on)
            break;
        path = node.parent < path ? node.parent : 0;
    }
    return status;
}

static int profile_build_write_types(struct writer *writer, const struct origins *origins,
                                     const struct snapshot *snapshot)
{
    int status = 0;
    for (size_t i = 0; i < snapshot->block_count; i++)
        for (size_t at = 0; at < snapshot->blocks[i].count && !status; at++)
            status = profile_build_type_path(writer, origins,
                                             snapshot->paths[snapshot->blocks[i].paths + at]);
    return status;
}

/* ---- Metrics ---- */

static struct profile_build_part profile_build_part_of(const struct writer *writer,
                                                       const struct snapshot *snapshot,
                                                       const struct snapshot_block *block)
{
    struct profile_build_part part = {.lifetime_ns = block->lifetime_ns,
                                      .freed_lifetime_ns = block->freed_lifetime_ns,
                                      .alloc_time_ns = block->alloc_time_ns,
                                      .free_time_ns = block->free_time_ns,
                                      .unattributed = block->unattributed};
    for (size_t i = 0; i < block->count; i++) {
        uint32_t path = snapshot->paths[block->paths + i];
        /* A path beyond the published nodes is damage, which the reader of the profile reports. */
        part.unwalkable += path < writer->nodes_written && writer->unwalkable[path];
    }
    return part;
}

static void profile_build_replace_part(struct writer *writer, size_t number,
                                       struct profile_build_part part)
{
    array_need_room(&writer->parts, &writer->part_room, number, sizeof *writer->parts);
    if (number >= writer->part_count)
        writer->part_count = number + 1;
    struct profile_build_part *old = &writer->parts[number], *total = &writer->total;
    total->lifetime_ns += part.lifetime_ns - old->lifetime_ns;
    total->freed_lifetime_ns += part.freed_lifetime_ns - old->freed_lifetime_ns;
    total->alloc_time_ns += part.alloc_time_ns - old->alloc_time_ns;
    total->free_time_ns += part.free_time_ns - old->free_time_ns;
    total->unattributed += part.unattributed - old->unattributed;
    total->unwalkable += part.unwalkable - old->unwalkable;
    *old = part;
}

static int profile_build_write_sites(struct writer *writer, const struct snapshot *snapshot)
{
    int status = 0;
    for (size_t i = 0; i < snapshot->block_count && status == 0; i++) {
        const struct snapshot_block *block = &snapshot->blocks[i];
        profile_build_replace_part(writer, block->first / PROFILE_BLOCK_SITES,
                                   profile_build_part_of(writer, snapshot, block));
        status = profile_put_sites(writer->profile, block->first, block->count,
                                   snapshot->bodies.data + block->body, block->body_bytes);
    }
    for (size_t i = 0; i < snapshot->mapped_block_count && status == 0; i++) {
        const struct snapshot_block *block = &snapshot->mapped_blocks[i];
        status = profile_put_mapped_sites(writer->profile, block->first, block->count,
                                          snapshot->bodies.data + block->body, block->body_bytes);
    }
    return status;
}

static int profile_build_write_threads(struct writer *writer, const struct snapshot *snapshot)
{
    int status = 0;
    for (size_t i = 0; i < snapshot->thread_count && status == 0; i++)
        status = profile_put_thread(writer->profile, i, &snapshot->threads[i]);
    return status;
}

static int profile_build_write_totals(struct writer *writer, const struct snapshot *snapshot)
{
    struct program_metrics program = snapshot->program;
    if (figure_known(program.total.lifetime_sum))
        program.total.lifetime_sum =
            figure_of(writer->total.lifetime_ns); /* rounded as its parts are */
    if (call_metrics_know_frees(&program.total))
        program.total.freed_lifetime_sum = figure_of(writer->total.freed_lifetime_ns);
    if (call_metrics_know_times(&program.total)) {
        program.total.alloc_time = figure_of(writer->total.alloc_time_ns);
        program.total.free_time = figure_of(writer->total.free_time_ns);
    }
    profile_build_fact_number(writer, "duration_ns", (int64_t)snapshot->duration_ns);
    profile_build_fact_number(writer, "waits", (int64_t)snapshot->waits);
    profile_build_fact_number(writer, "wait_ns", (int64_t)snapshot->wait_ns);
    if (snapshot->exit_wait_ns)
        profile_build_fact_number(writer, PROFILE_META_EXIT_WAIT_NS,
                                  (int64_t)snapshot->exit_wait_ns);
    profile_build_fact_number(writer, "damaged_rings", (int64_t)snapshot->damaged_rings);
    profile_build_fact_number(writer, "unwalkable", (int64_t)writer->total.unwalkable);
    profile_build_fact_number(writer, "unattributed", (int64_t)writer->total.unattributed);
    return profile_put_program(writer->profile, &program);
}

/* ---- Looks --------------------------------------------------------------------------------- */

/* The newest module at the address. An unloaded one may have had the address before. */
static bool profile_build_find_module(void *context, uint64_t address,
                                      struct variable_module *found)
{
    const struct writer *writer = context;
    for (size_t i = writer->loaded_count; i-- > 0;) {
        const struct profile_build_module *module = &writer->modules[writer->loaded[i]];
        if (address < module->entry.start || address >= module->entry.end)
            continue;
        *found = (struct variable_module){
            .start = module->entry.start, .end = module->entry.end, .bias = module->entry.bias};
        int64_t id = (int64_t)writer->loaded[i] + 1;
        if (writer->globals) {
            found->places = globals_places(writer->globals, id, &found->place_count);
            found->stretches = globals_stretches(writer->globals, id, &found->stretch_count);
        }
        return true;
    }
    return false;
}

static int profile_build_put_owners(struct writer *writer, struct profile_owner *rows, size_t count,
                                    uint32_t sample)
{
    for (size_t i = 0; i < count; i++)
        rows[i].sample = sample;
    return count ? profile_put_owners(writer->profile, rows, count) : 0;
}

/* Writes the owners of touched data of modules, which are variables. */
static int profile_build_write_touched(struct writer *writer, const struct proc_sample *proc_sample)
{
    struct variable_owners variables = VARIABLE_OWNERS_INIT;
    if (!proc_sample->touched_count || !writer->globals)
        return 0;
    globals_end(writer->globals);
    variables.least_bytes = VARIABLE_BYTES;
    variable_owners_divide(&variables, proc_sample->touched, proc_sample->touched_count,
                           profile_build_find_module, writer);
    variable_owners_cut(&variables, VARIABLES_OF_A_SAMPLE, VARIABLE_BYTES);
    int status =
        profile_build_put_owners(writer, variables.rows, variables.count, proc_sample->sample->id);
    variable_owners_release(&variables);
    return status;
}

static int profile_build_write_owners(struct writer *writer, const struct proc_sample *proc_sample)
{
    uint32_t id = proc_sample->sample->id;
    int status =
        profile_build_put_owners(writer, proc_sample->owners, proc_sample->owner_count, id);
    if (status == 0)
        status = profile_build_write_touched(writer, proc_sample);
    for (size_t i = 0; i < proc_sample->container_count; i++)
        proc_sample->containers[i].sample = id;
    return status || !proc_sample->container_count
               ? status
               : profile_put_containers(writer->profile, proc_sample->containers,
                                        proc_sample->container_count);
}

static int profile_build_put_holders(struct writer *writer, struct profile_holder *rows,
                                     size_t count, uint32_t sample)
{
    for (size_t i = 0; i < count; i++)
        rows[i].sample = sample;
    return count ? profile_put_holders(writer->profile, rows, count) : 0;
}

static int profile_build_put_sharers(struct writer *writer, struct profile_sharer *rows,
                                     size_t count, uint32_t sample)
{
    for (size_t i = 0; i < count; i++)
        rows[i].sample = sample;
    return count ? profile_put_sharers(writer->profile, rows, count) : 0;
}

static int profile_build_put_chain(struct writer *writer, struct profile_chain *rows, size_t count,
                                   uint32_t sample)
{
    for (size_t i = 0; i < count; i++)
        rows[i].sample = sample;
    return count ? profile_put_chain(writer->profile, rows, count) : 0;
}

/* Without memory for the dominators the sample has no rows of holders. */
static int profile_build_solve_held(struct writer *writer, const struct proc_sample *proc_sample)
{
    struct held_rows rows;
    uint32_t id = proc_sample->sample->id;
    if (writer->globals)
        globals_end(writer->globals);
    if (held_solve(proc_sample->held, profile_build_find_module, writer, &rows))
        return 0;
    int status = profile_build_put_holders(writer, rows.rows, rows.count, id);
    if (status == 0)
        status = profile_build_put_sharers(writer, rows.sharers, rows.sharer_count, id);
    if (status == 0)
        status = profile_build_put_chain(writer, rows.chain, rows.chain_count, id);
    held_rows_release(&rows);
    return status;
}

static int profile_build_write_holders(struct writer *writer, const struct proc_sample *proc_sample)
{
    uint32_t id = proc_sample->sample->id;
    if (proc_sample->held)
        return profile_build_solve_held(writer, proc_sample);
    int status =
        profile_build_put_holders(writer, proc_sample->holders, proc_sample->holder_count, id);
    if (status == 0)
        status =
            profile_build_put_sharers(writer, proc_sample->sharers, proc_sample->sharer_count, id);
    return status
               ? status
               : profile_build_put_chain(writer, proc_sample->chain, proc_sample->chain_count, id);
}

static int profile_build_write_proc_sample(struct writer *writer,
                                           const struct proc_sample *proc_sample)
{
    uint32_t id = proc_sample->sample->id;
    int status = profile_put_sample(writer->profile, proc_sample->sample);
    for (size_t i = 0; i < proc_sample->mapping_count && status == 0; i++) {
        proc_sample->mappings[i].sample = id;
        status = profile_put_mapping(writer->profile, &proc_sample->mappings[i]);
    }
    for (size_t i = 0; i < proc_sample->row_count; i++)
        proc_sample->rows[i].sample = id;
    for (size_t i = 0; i < proc_sample->cell_count; i++)
        proc_sample->cells[i].sample = id;
    for (size_t i = 0; i < proc_sample->island_count; i++)
        proc_sample->islands[i].sample = id;
    for (size_t i = 0; i < proc_sample->type_count; i++)
        proc_sample->types[i].sample = id;
    for (size_t i = 0; i < proc_sample->fill_count; i++)
        proc_sample->fills[i].sample = id;
    if (status == 0 && proc_sample->row_count)
        status = profile_put_residency(writer->profile, proc_sample->rows, proc_sample->row_count);
    if (status == 0 && proc_sample->cell_count)
        status =
            profile_put_heap_pages(writer->profile, proc_sample->cells, proc_sample->cell_count);
    if (status == 0)
        status = profile_build_write_owners(writer, proc_sample);
    if (status == 0)
        status = profile_build_write_holders(writer, proc_sample);
    if (status == 0)
        status =
            profile_put_islands(writer->profile, proc_sample->islands, proc_sample->island_count);
    if (status == 0)
        status =
            profile_put_block_types(writer->profile, proc_sample->types, proc_sample->type_count);
    return status ? status
                  : profile_put_block_fills(writer->profile, proc_sample->fills,
                                            proc_sample->fill_count);
}

static int profile_build_write_proc_samples(struct writer *writer, const struct snapshot *snapshot)
{
    int status = 0;
    for (size_t i = 0; i < snapshot->proc_sample_count && status == 0; i++)
        status = profile_build_write_proc_sample(writer, &snapshot->proc_samples[i]);
    return status;
}

/* Begins to read variables before the end of the process if a look needs their names. */
static void profile_build_want_globals(struct writer *writer, const struct origins *origins,
                                       const struct snapshot *snapshot)
{
    for (size_t i = 0; !writer->globals && i < snapshot->proc_sample_count; i++)
        if (snapshot->proc_samples[i].touched_count || snapshot->proc_samples[i].held)
            profile_build_read_globals(writer, origins);
}

/* ---- Variables ----------------------------------------------------------------------------- */

static bool profile_build_has_globals(const struct profile_build_module *module)
{
    return atomic_load_explicit(module->entry.died, memory_order_relaxed) == UINT32_MAX &&
           !wire_is_recorder(module->path);
}

void profile_build_read_globals(struct writer *writer, const struct origins *origins)
{
    origins->modules(origins->context, &writer->module_cursor, profile_build_add_module, writer);
    struct globals_module *modules = memory_need(calloc(writer->module_count + 1, sizeof *modules));
    size_t count = 0;
    for (size_t i = 0; i < writer->loaded_count; i++) {
        const struct profile_build_module *module = &writer->modules[writer->loaded[i]];
        if (profile_build_has_globals(module))
            modules[count++] =
                (struct globals_module){(int64_t)writer->loaded[i] + 1, module->path,
                                        module->entry.build_id, module->entry.build_id_bytes};
    }
    writer->globals = globals_begin(writer->pid, modules, count);
    free(modules);
}

/* Writes a module that is in no call path, because the profile has its variables. */
static int profile_build_write_module_of(struct writer *writer, int64_t id, int quality)
{
    const struct profile_build_module *module = &writer->modules[id - 1];
    if (module->used || module->told_quality >= 0)
        return 0;
    return profile_build_write_module(writer, (size_t)id - 1, quality);
}

static int profile_build_write_modules_of(struct writer *writer, const struct globals_found *found)
{
    int status = 0;
    for (size_t i = 0; i < found->section_count && status == 0; i++) {
        int64_t id = found->sections[i].module_id;
        status = profile_build_write_module_of(writer, id, globals_quality(writer->globals, id));
    }
    return status;
}

static int profile_build_write_globals(struct writer *writer)
{
    if (!writer->globals)
        return 0;
    const struct globals_found *found = globals_end(writer->globals);
    int status = profile_build_write_modules_of(writer, found);
    if (status == 0)
        status = profile_put_variables(writer->profile, found->variables, found->variable_count);
    if (status == 0)
        status = profile_put_sections(writer->profile, found->sections, found->section_count);
    if (found->unplaced_modules)
        profile_build_fact_number(writer, PROFILE_META_UNPLACED, (int64_t)found->unplaced_modules);
    globals_free(writer->globals);
    writer->globals = NULL;
    return status;
}

/* ---- What was known before ----------------------------------------------------------------- */

void profile_build_give_known(struct writer *writer, const struct profile *known)
{
    writer->known = known;
}

/* The id of the known profile's module with that index. 0: there is no such module here, which is
 * damage. */
static int64_t profile_build_module_id(const struct writer *writer, int64_t index)
{
    int64_t id = writer->known->modules[index].id;
    return id > 0 && (uint64_t)id <= writer->module_count ? id : 0;
}

static int profile_build_put_known_variables(struct writer *writer)
{
    const struct profile *known = writer->known;
    struct profile_variable *rows = memory_need(malloc(known->variable_count * sizeof *rows + 1));
    size_t count = 0;
    for (size_t i = 0; i < known->variable_count; i++) {
        rows[count] = known->variables[i];
        rows[count].module_id = profile_build_module_id(writer, known->variables[i].module_id);
        count += rows[count].module_id > 0;
    }
    int status = profile_put_variables(writer->profile, rows, count);
    free(rows);
    return status;
}

static int profile_build_put_known_sections(struct writer *writer)
{
    const struct profile *known = writer->known;
    struct profile_section_total *rows =
        memory_need(malloc(known->section_count * sizeof *rows + 1));
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < known->section_count && status == 0; i++) {
        int64_t index = known->sections[i].module_id, id = profile_build_module_id(writer, index);
        rows[count] = known->sections[i];
        rows[count].module_id = id;
        count += id > 0;
        if (id > 0)
            status = profile_build_write_module_of(writer, id, known->modules[index].quality);
    }
    if (status == 0)
        status = profile_put_sections(writer->profile, rows, count);
    free(rows);
    return status;
}

static int profile_build_put_known_types(struct writer *writer)
{
    int status = 0;
    for (size_t i = 0; i < writer->known->call_type_count && status == 0; i++) {
        struct profile_call_type row = writer->known->call_types[i];
        row.module_id = profile_build_module_id(writer, row.module_id);
        if (row.module_id > 0)
            status = profile_put_call_type(writer->profile, &row);
    }
    return status;
}

static int profile_build_write_known(struct writer *writer)
{
    if (!writer->known || writer->has_known_variables)
        return 0;
    writer->has_known_variables = true;
    int status = profile_build_put_known_sections(writer);
    if (status == 0)
        status = profile_build_put_known_types(writer);
    return status ? status : profile_build_put_known_variables(writer);
}

static int profile_build_write_all(struct writer *writer, const struct origins *origins,
                                   const struct snapshot *snapshot)
{
    origins->modules(origins->context, &writer->module_cursor, profile_build_add_module, writer);
    profile_build_want_globals(writer, origins, snapshot);
    int status = profile_build_name_late(writer);
    if (status == 0)
        status = profile_build_write_nodes(writer, origins, snapshot->node_count);
    if (status == 0)
        status = profile_build_write_sites(writer, snapshot);
    if (status == 0)
        status = profile_build_write_types(writer, origins, snapshot);
    if (status == 0)
        status = profile_build_write_modules(writer);
    if (status == 0)
        status = profile_build_write_threads(writer, snapshot);
    if (status == 0)
        status = profile_build_write_totals(writer, snapshot);
    if (status == 0)
        status = details_write(&snapshot->details, writer->profile);
    if (status == 0 && snapshot->page_uses)
        status =
            profile_put_page_uses(writer->profile, snapshot->page_uses, snapshot->page_use_count);
    if (status == 0 && snapshot->machine_moments)
        status = profile_put_machine_moments(writer->profile, snapshot->machine_moments,
                                             snapshot->machine_moment_count);
    if (status == 0)
        status = profile_put_timeline(writer->profile, snapshot->buckets, snapshot->bucket_count,
                                      snapshot->bucket_ns);
    if (status == 0)
        status = profile_build_write_proc_samples(writer, snapshot);
    if (status == 0)
        status = profile_build_write_globals(writer);
    if (status == 0)
        status = profile_build_write_known(writer);
    return status == 0 ? profile_build_write_facts(writer) : status;
}

void profile_build_be_patient(struct writer *writer, bool (*patience)(void *context), void *context)
{
    profile_writer_be_patient(writer->profile, patience, context);
}

int profile_build_write(struct writer *writer, const struct origins *origins,
                        const struct snapshot *snapshot)
{
    int status = profile_writer_begin(writer->profile);
    if (status == 0)
        status = profile_build_write_all(writer, origins, snapshot);
    int committed = profile_writer_commit(writer->profile);
    return status ? status : committed;
}

/* ---- Sources ---- */

void profile_build_keep_sources(struct writer *writer)
{
    writer->sources = memory_need(sources_new());
}

static int profile_build_put_source(void *context, const char *path, const char *text, size_t bytes)
{
    struct writer *writer = context;
    return profile_put_source(writer->profile, path, text, bytes);
}

/* If the process has another root, our files are not its sources. */
static int profile_build_write_sources(struct writer *writer)
{
    struct sources_result result = {.missing = sources_count(writer->sources)};
    int status = 0;
    if (naming_sees_our_files(writer->naming))
        status = sources_read(writer->sources, SOURCES_FILE_LIMIT, SOURCES_TOTAL_LIMIT,
                              profile_build_put_source, writer, &result);
    if (result.missing + result.too_large)
        profile_build_fact_number(writer, PROFILE_META_SKIPPED_SOURCES,
                                  (int64_t)(result.missing + result.too_large));
    profile_build_fact(writer, PROFILE_META_CHANGED_SOURCES, result.changed);
    free(result.changed);
    return status == 0 ? profile_build_write_facts(writer) : status;
}

static int profile_build_write_known_sources(struct writer *writer)
{
    const struct profile *known = writer->known;
    int status = 0;
    for (size_t i = 0; i < known->source_count && status == 0; i++)
        status = profile_put_source(writer->profile, known->sources[i].path, known->sources[i].text,
                                    known->sources[i].bytes);
    return status;
}

static int profile_build_embed_sources(struct writer *writer)
{
    int status = profile_writer_begin(writer->profile);
    if (status == 0)
        status = writer->sources ? profile_build_write_sources(writer)
                                 : profile_build_write_known_sources(writer);
    int committed = profile_writer_commit(writer->profile);
    return status ? status : committed;
}

int profile_build_finish(struct writer *writer, bool pack)
{
    int embedded = writer->sources || writer->known ? profile_build_embed_sources(writer) : 0;
    int status = profile_writer_finish(writer->profile, pack);
    profile_build_writer_free(writer);
    return status ? status : embedded;
}

int profile_build_finish_memory(struct writer *writer, struct strbuf *body)
{
    int embedded = writer->sources || writer->known ? profile_build_embed_sources(writer) : 0;
    int status = profile_writer_finish_log(writer->profile, body);
    profile_build_writer_free(writer);
    return status ? status : embedded;
}

void profile_build_discard(struct writer *writer)
{
    profile_writer_discard(writer->profile);
    profile_build_writer_free(writer);
}

int profile_build_copy(struct writer *writer, const char *path, const struct profile_fact *facts,
                       size_t count)
{
    return profile_writer_copy(writer->profile, path, facts, count);
}

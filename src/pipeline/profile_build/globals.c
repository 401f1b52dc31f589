/* Reads the global variables of a process's modules on a thread (globals.h). A list that all
 * processes share keeps each file's variables by path and build-id, so each file is read once. The
 * largest ones over all modules are kept. */
#include "profile_build/globals.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/allocator.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "profile_build/name_turn.h"
#include "symbols/string_pool.h"
#include "symbols/symbols.h"
#include "symbols/static_variables.h"

/* A profile keeps the largest of hundreds of thousands of variables. The section totals include the
 * others. */
#define MODULE_VARIABLES 200
#define ALL_VARIABLES    2000

/* The time for finding lines of variables, of all modules together. The system's libraries go
 * without lines: a C library with debug information would take a third of a second, and users do
 * not change its variables. */
#define PLACES_NS 300000000u

_Static_assert((int)VARIABLES_DATA == PROFILE_SECTION_DATA &&
                   (int)VARIABLES_BSS == PROFILE_SECTION_BSS &&
                   (int)VARIABLES_RODATA == PROFILE_SECTION_RODATA &&
                   (int)VARIABLES_RELRO == PROFILE_SECTION_RELRO &&
                   (int)VARIABLES_TDATA == PROFILE_SECTION_TDATA &&
                   (int)VARIABLES_TBSS == PROFILE_SECTION_TBSS &&
                   (int)VARIABLES_OTHER == PROFILE_SECTIONS,
               "kinds of sections are numbered alike");

/* Below 24 MiB for the places of one file. */
#define MODULE_PLACES (1u << 20)

enum { BUILD_ID_MAX = 64 };

/* What a profile has of a module. `pool` has the strings. */
struct globals_content {
    struct globals_content *next;
    char *path; /* NULL: not in the cache, because nothing shows that the file is the same next
                   time */
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_bytes;
    struct profile_variable *variables;
    size_t variable_count;
    struct globals_place *places; /* by address, disjoint */
    size_t place_count;
    struct globals_stretch *stretches; /* by address */
    size_t stretch_count;
    struct profile_section_total sections[PROFILE_SECTIONS];
    size_t section_count;
    struct pool pool;
    int quality;
    bool unplaced;
};

/* The files read so far. They are kept, because a build runs the same compiler a thousand times. */
static struct globals_content *globals_cache;
static pthread_mutex_t globals_cache_lock = PTHREAD_MUTEX_INITIALIZER;

struct globals {
    pthread_t thread;
    bool has_thread;
    bool is_abandoned;         /* names were given up; the thread still uses all of this but … */
    struct globals_found none; /* … the result in that case */
    char root[64];
    struct globals_module *modules;
    size_t module_count;
    struct globals_content **contents; /* one per module; NULL where it could not be read */
    struct globals_found found;
};

/* ---- The content of a module --------------------------------------------------------------- */

static void globals_keep_variables(struct globals_content *content, const struct variables *read)
{
    size_t room = read->count < MODULE_VARIABLES ? read->count : MODULE_VARIABLES;
    content->variables = calloc(room + 1, sizeof *content->variables);
    for (size_t i = 0; content->variables && i < read->count && content->variable_count < room;
         i++) {
        const struct variable *variable = &read->list[i];
        enum variables_kind kind = read->sections[variable->section].kind;
        if (kind == VARIABLES_OTHER)
            continue;
        content->variables[content->variable_count++] = (struct profile_variable){
            .name = pool_intern(&content->pool, variable->name),
            .linkage = variable->linkage ? pool_intern(&content->pool, variable->linkage) : NULL,
            .bytes = variable->bytes,
            .section = (int)kind,
            .file = variable->file ? pool_intern(&content->pool, variable->file) : NULL,
            .line = variable->line};
    }
}

static int globals_place_compare(const void *left, const void *right)
{
    const struct globals_place *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes); /* the one that spans others first */
}

/* Makes places disjoint: the first one keeps the bytes that two places share. */
static size_t globals_part_places(struct globals_place *places, size_t count)
{
    uint64_t covered = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct globals_place place = places[i];
        uint64_t end = place.address + place.bytes;
        if (end <= covered || end < place.address)
            continue;
        place.address = place.address > covered ? place.address : covered;
        place.bytes = end - place.address;
        covered = end;
        places[kept++] = place;
    }
    return kept;
}

/* The largest variables come first, so beyond MODULE_PLACES only the smallest have no place. */
static void globals_keep_places(struct globals_content *content, const struct variables *read)
{
    size_t room = read->count < MODULE_PLACES ? read->count : MODULE_PLACES, count = 0;
    struct globals_place *places = calloc(room + 1, sizeof *places);
    for (size_t i = 0; places && i < read->count && count < room; i++) {
        const struct variable *variable = &read->list[i];
        enum variables_kind kind = read->sections[variable->section].kind;
        if (kind == VARIABLES_TDATA || kind == VARIABLES_TBSS)
            continue;
        places[count++] = (struct globals_place){variable->address, variable->bytes,
                                                 pool_intern(&content->pool, variable->name)};
    }
    if (count)
        qsort(places, count, sizeof *places, globals_place_compare);
    content->places = places;
    content->place_count = places ? globals_part_places(places, count) : 0;
}

/* Sections, for bytes without a variable's name. Without section headers there are none. */
static void globals_keep_stretches(struct globals_content *content, const struct variables *read)
{
    struct strbuf name = STRBUF_INIT;
    content->stretches = calloc(read->section_count + 1, sizeof *content->stretches);
    for (size_t i = 0; content->stretches && i < read->section_count; i++) {
        const struct variables_section *section = &read->sections[i];
        if (section->kind == VARIABLES_TDATA || section->kind == VARIABLES_TBSS)
            continue;
        strbuf_reset(&name);
        strbuf_addf(&name, "(unnamed %s)", section->name);
        content->stretches[content->stretch_count++] = (struct globals_stretch){
            section->address, section->bytes, pool_intern(&content->pool, name.data)};
    }
    strbuf_release(&name);
}

static void globals_keep_sections(struct globals_content *content, const struct variables *read)
{
    struct profile_section_total totals[PROFILE_SECTIONS] = {{.section = 0}}; /* of 0 bytes */
    for (size_t i = 0; i < read->section_count; i++) {
        const struct variables_section *section = &read->sections[i];
        if (section->kind == VARIABLES_OTHER)
            continue;
        struct profile_section_total *total = &totals[section->kind];
        total->bytes = figure_add(total->bytes, figure_of(section->bytes));
        total->named_bytes = figure_add(total->named_bytes, figure_of(section->named_bytes));
        total->variables = figure_add(total->variables, figure_of(section->variable_count));
    }
    for (int kind = 0; kind < PROFILE_SECTIONS; kind++) {
        if (!figure_positive(totals[kind].bytes))
            continue;
        totals[kind].section = kind;
        totals[kind].exported_only = read->names != VARIABLES_NAMES_ALL;
        content->sections[content->section_count++] = totals[kind];
    }
}

static int globals_quality_of(const struct variables *read)
{
    switch (read->names) {
    case VARIABLES_NAMES_ALL:
        return read->unit_count ? SYMBOLS_LINES : SYMBOLS_FUNCTIONS;
    case VARIABLES_NAMES_EXPORTS:
        return SYMBOLS_EXPORTS;
    default:
        return SYMBOLS_NONE;
    }
}

static bool globals_is_systems(const char *path)
{
    const char *below = strncmp(path, "/usr/lib", 8) == 0 ? path + 8
                        : strncmp(path, "/lib", 4) == 0   ? path + 4
                                                          : "";
    return *below == '/' || strncmp(below, "32/", 3) == 0 || strncmp(below, "64/", 3) == 0 ||
           strncmp(below, "x32/", 4) == 0;
}

static struct globals_content *
globals_content_read(const char *root, const struct globals_module *module, uint64_t deadline_ns)
{
    uint64_t now_ns = now_monotonic_ns();
    bool has_time = now_ns < deadline_ns && !globals_is_systems(module->path);
    struct variables read;
    struct variables_request request = {
        .root = root,
        .path = module->path,
        .build_id = module->build_id,
        .build_id_bytes = module->build_id_bytes,
        .place_ms = has_time ? (unsigned)((deadline_ns - now_ns) / 1000000) : 0};
    struct globals_content *content = calloc(1, sizeof *content);
    if (!content || variables_read(&read, &request) < 0) {
        free(content);
        return NULL;
    }
    globals_keep_variables(content, &read);
    globals_keep_places(content, &read);
    globals_keep_stretches(content, &read);
    globals_keep_sections(content, &read);
    content->quality = globals_quality_of(&read);
    content->unplaced =
        read.places == VARIABLES_PLACES_PARTLY || (!request.place_ms && read.unit_count > 0);
    variables_release(&read);
    return content;
}

static void globals_content_free(struct globals_content *content)
{
    if (!content || content->path)
        return;
    pool_release(&content->pool);
    free(content->variables);
    free(content->places);
    free(content->stretches);
    free(content);
}

/* ---- Those of all processes ---------------------------------------------------------------- */

static struct globals_content *globals_cache_find(const struct globals_module *module)
{
    pthread_mutex_lock(&globals_cache_lock);
    struct globals_content *at = globals_cache;
    while (at && !(at->build_id_bytes == module->build_id_bytes &&
                   memcmp(at->build_id, module->build_id, at->build_id_bytes) == 0 &&
                   strcmp(at->path, module->path) == 0))
        at = at->next;
    pthread_mutex_unlock(&globals_cache_lock);
    return at;
}

/* If two processes read the same file at once, both keep it. */
static void globals_cache_add(struct globals_content *content, const struct globals_module *module)
{
    if (!module->build_id_bytes || module->build_id_bytes > BUILD_ID_MAX ||
        !(content->path = strdup(module->path)))
        return;
    content->build_id_bytes = module->build_id_bytes;
    memcpy(content->build_id, module->build_id, module->build_id_bytes);
    pthread_mutex_lock(&globals_cache_lock);
    content->next = globals_cache;
    globals_cache = content;
    pthread_mutex_unlock(&globals_cache_lock);
}

static void globals_read_module(struct globals *globals, size_t index, uint64_t deadline_ns)
{
    const struct globals_module *module = &globals->modules[index];
    struct globals_content *content = module->build_id_bytes ? globals_cache_find(module) : NULL;
    if (!content && (content = globals_content_read(globals->root, module, deadline_ns)))
        globals_cache_add(content, module);
    globals->contents[index] = content;
}

static void globals_read_all(struct globals *globals)
{
    uint64_t deadline_ns = now_monotonic_ns() + PLACES_NS;
    for (size_t i = 0; i < globals->module_count && !symbols_have_given_up(); i++)
        globals_read_module(globals, i, deadline_ns);
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static void globals_add(struct globals_found *found, const struct globals_content *content,
                        int64_t module_id)
{
    for (size_t i = 0; i < content->variable_count; i++) {
        found->variables[found->variable_count] = content->variables[i];
        found->variables[found->variable_count++].module_id = module_id;
    }
    for (size_t i = 0; i < content->section_count; i++) {
        found->sections[found->section_count] = content->sections[i];
        found->sections[found->section_count++].module_id = module_id;
    }
    found->unplaced_modules += content->unplaced;
}

static int globals_size_compare(const void *left, const void *right)
{
    const struct profile_variable *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->module_id != b->module_id ? (a->module_id < b->module_id ? -1 : 1)
                                        : strcmp(a->name, b->name);
}

static int globals_module_compare(const void *left, const void *right)
{
    const struct profile_variable *a = left, *b = right;
    if (a->module_id != b->module_id)
        return a->module_id < b->module_id ? -1 : 1;
    return globals_size_compare(left, right);
}

static void globals_choose(struct globals *globals)
{
    struct globals_found *found = &globals->found;
    size_t count = globals->module_count;
    found->variables = calloc(count * MODULE_VARIABLES + 1, sizeof *found->variables);
    found->sections = calloc(count * PROFILE_SECTIONS + 1, sizeof *found->sections);
    if (!found->variables || !found->sections)
        return;
    for (size_t i = 0; i < count; i++)
        if (globals->contents[i])
            globals_add(found, globals->contents[i], globals->modules[i].id);
    if (found->variable_count > ALL_VARIABLES) {
        qsort(found->variables, found->variable_count, sizeof *found->variables,
              globals_size_compare);
        found->variable_count = ALL_VARIABLES;
    }
    if (found->variable_count)
        qsort(found->variables, found->variable_count, sizeof *found->variables,
              globals_module_compare);
}

/* ---- From outside -------------------------------------------------------------------------- */

static void *globals_thread(void *context)
{
    struct globals *globals = context;
    int turn = name_turn_begin(NAME_TURN_VARIABLES);
    globals_read_all(globals);
    if (name_turns_are_taken())
        allocator_trim(0);
    name_turn_end(turn);
    globals_choose(globals);
    return NULL;
}

/* Whether all files were read for another process, so that no thread is needed. */
static bool globals_are_known(const struct globals *globals)
{
    bool known = true;
    for (size_t i = 0; known && i < globals->module_count; i++)
        known = globals->modules[i].build_id_bytes && globals_cache_find(&globals->modules[i]);
    return known;
}

struct globals *globals_begin(pid_t pid, const struct globals_module *modules, size_t count)
{
    struct globals *globals = calloc(1, sizeof *globals);
    if (!globals)
        return NULL;
    snprintf(globals->root, sizeof globals->root, "/proc/%d/root", (int)pid);
    globals->modules = calloc(count + 1, sizeof *globals->modules);
    globals->contents = calloc(count + 1, sizeof *globals->contents);
    if (globals->modules && globals->contents) {
        memcpy(globals->modules, modules, count * sizeof *modules);
        globals->module_count = count;
        globals->has_thread = !globals_are_known(globals) &&
                              pthread_create(&globals->thread, NULL, globals_thread, globals) == 0;
        if (!globals->has_thread)
            globals_thread(globals);
        return globals;
    }
    globals_free(globals);
    return NULL;
}

const struct globals_found *globals_end(struct globals *globals)
{
    if (!globals->is_abandoned && (!globals->has_thread || symbols_join(globals->thread))) {
        globals->has_thread = false;
        return &globals->found;
    }
    globals->is_abandoned = true;
    globals->none.unplaced_modules = globals->module_count;
    return &globals->none;
}

/* NULL: the module was not read. */
static const struct globals_content *globals_content_of(const struct globals *globals,
                                                        int64_t module_id)
{
    for (size_t i = 0; i < globals->module_count && !globals->is_abandoned; i++)
        if (globals->modules[i].id == module_id && globals->contents[i])
            return globals->contents[i];
    return NULL;
}

int globals_quality(const struct globals *globals, int64_t module_id)
{
    const struct globals_content *content = globals_content_of(globals, module_id);
    return content ? content->quality : SYMBOLS_NONE;
}

const struct globals_place *globals_places(const struct globals *globals, int64_t module_id,
                                           size_t *count)
{
    const struct globals_content *content = globals_content_of(globals, module_id);
    *count = content ? content->place_count : 0;
    return content ? content->places : NULL;
}

const struct globals_stretch *globals_stretches(const struct globals *globals, int64_t module_id,
                                                size_t *count)
{
    const struct globals_content *content = globals_content_of(globals, module_id);
    *count = content ? content->stretch_count : 0;
    return content ? content->stretches : NULL;
}

void globals_free(struct globals *globals)
{
    if (!globals || globals->is_abandoned)
        return;
    for (size_t i = 0; i < globals->module_count; i++)
        globals_content_free(globals->contents[i]);
    free(globals->found.variables);
    free(globals->found.sections);
    free(globals->contents);
    free(globals->modules);
    free(globals);
}

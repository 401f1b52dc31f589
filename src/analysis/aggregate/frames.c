/* Walks the frames of call paths (frames.h). A walk goes from a node up to the root, through each
 * location's inlined frames, and passes over library frames. Groups are found by hashing the first
 * frame that is left. */
#include "aggregate/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/map.h"
#include "aggregate/wrappers.h"
#include "base/text.h"
#include "format/names.h"

/* ---- Frames -------------------------------------------------------------------------------- */

const char *frame_function(const struct profile *profile, struct frame frame)
{
    uint32_t function = profile->lines[frame.line].function;
    return function ? profile->functions[function].name : NULL;
}

const char *frame_file(const struct profile *profile, struct frame frame, uint32_t *line)
{
    *line = profile->lines[frame.line].line;
    return profile->lines[frame.line].file;
}

const char *frame_module(const struct profile *profile, struct frame frame)
{
    uint32_t module = profile->codes[frame.code].module;
    return module == UINT32_MAX ? NULL : profile->modules[module].path;
}

bool frame_is_interpreted(const struct profile *profile, struct frame frame)
{
    uint32_t line;
    const char *module = frame_module(profile, frame), *file = frame_file(profile, frame, &line);
    return module && file && !strcmp(module, file);
}

bool frame_has_name(const struct profile *profile, struct frame frame)
{
    return profile->lines[frame.line].function || frame_is_interpreted(profile, frame);
}

/* Of a script whose functions are not known: "leak.py:5". */
static void frames_add_script_line(struct strbuf *out, const struct profile *profile,
                                   struct frame frame)
{
    uint32_t line;
    strbuf_add_string(out, name_base(frame_file(profile, frame, &line)));
    if (line)
        strbuf_addf(out, ":%u", line);
}

void frame_add_name(struct strbuf *out, const struct profile *profile, struct frame frame)
{
    const struct profile_code *code = &profile->codes[frame.code];
    const char *function = frame_function(profile, frame);
    const char *module = frame_module(profile, frame);
    if (!frame.code)
        strbuf_add_string(out, "[no call path]");
    else if (code->mark == 2)
        strbuf_add_string(out, "[deeper than --max-depth]");
    else if (code->mark)
        strbuf_add_string(out, "[stack could not be walked further]");
    else if (function && strcmp(function, "?"))
        strbuf_add_string(out, function);
    else if (frame_is_interpreted(profile, frame))
        frames_add_script_line(out, profile, frame);
    else
        strbuf_addf(out, "%s%s0x%llx", module ? name_base(module) : "", module ? "+" : "",
                    (unsigned long long)code->address);
}

void frame_add_through(struct strbuf *out, const struct profile *profile, struct frame frame)
{
    if (frame.through)
        frame_add_name(out, profile, frame_at(frame.through_code, frame.through));
}

void frame_add_owner(struct strbuf *out, const struct profile *profile, struct frame frame,
                     const char *arrow, size_t columns)
{
    struct strbuf name = STRBUF_INIT;
    if (frame.through) {
        frame_add_through(&name, profile, frame);
        name_add_short(out, name.data, columns);
        strbuf_add_string(out, arrow);
        strbuf_reset(&name);
    }
    frame_add_name(&name, profile, frame);
    name_add_short(out, name.data, columns);
    strbuf_release(&name);
}

uint64_t frame_key(const struct profile *profile, struct frame frame)
{
    const struct profile_line *line = &profile->lines[frame.line];
    if (!line->function)
        return 1ull << 63 | frame.code;
    return (uint64_t)line->function << 31 ^ line->line;
}

/* ---- On a line ----------------------------------------------------------------------------- */

/* A file below the directory that the program was started in is named from there. */
static const char *frame_without_directory(const struct profile *profile, const char *file)
{
    const char *directory = profile_get(profile, PROFILE_META_DIRECTORY);
    size_t length = directory ? strlen(directory) : 0;
    bool below = length && !strncmp(file, directory, length) && file[length] == '/';
    return below ? file + length + 1 : file;
}

static bool frame_is_program(const struct profile *profile, const char *module)
{
    const char *executable = profile_get(profile, PROFILE_META_EXECUTABLE);
    return executable && !strcmp(executable, module);
}

static void frames_add_place(struct strbuf *out, const struct profile *profile, struct frame frame,
                             size_t columns, bool with_line)
{
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    const char *module = frame_module(profile, frame);
    if (file)
        name_add_place(out, frame_without_directory(profile, file), with_line ? line : 0, columns);
    else if (module && frame_function(profile, frame) && !frame_is_program(profile, module))
        name_add_place(out, name_base(module), 0, columns);
}

void frame_add_place(struct strbuf *out, const struct profile *profile, struct frame frame,
                     size_t columns)
{
    frames_add_place(out, profile, frame, columns, true);
}

void frame_add_file(struct strbuf *out, const struct profile *profile, struct frame frame,
                    size_t columns)
{
    frames_add_place(out, profile, frame, columns, false);
}

/* Room for a name or a place, but hardly for both; and what a name is left at least, beside a
 * place. */
enum { NARROW = FRAME_ROOM_NARROW, NAME_LEAST = 10, PLACE_LEAST = 12 };

static size_t frame_room_behind(const struct style *style, size_t used)
{
    return style->columns > used + 16 ? style->columns - used : 16;
}

size_t frame_place_room(const struct style *style, const char *name, size_t used, size_t most)
{
    size_t room = frame_room_behind(style, used), core = name_short_bytes(name);
    return core + 2 + most > room && core + 2 + PLACE_LEAST <= room ? room - core - 2 : most;
}

void frame_add_columns(struct strbuf *out, const struct style *style, const char *name,
                       const char *place, size_t used, bool strong)
{
    struct strbuf shown = STRBUF_INIT;
    size_t room = frame_room_behind(style, used), place_columns = text_width(place);
    size_t name_columns = text_width(name);
    if (place_columns + 2 + (name_columns < NAME_LEAST ? name_columns : NAME_LEAST) > room)
        place_columns = 0; /* who it is goes before where it is */
    name_add_short(&shown, name, room - place_columns - (place_columns ? 2 : 0));
    if (strong)
        style_add(out, style, TONE_TITLE, shown.data);
    else
        strbuf_add_string(out, shown.data);
    if (place_columns) {
        strbuf_add_repeated(out, " ", room - text_width(shown.data) - place_columns);
        style_add(out, style, TONE_DIM, place);
    }
    strbuf_add_char(out, '\n');
    strbuf_release(&shown);
}

enum { THROUGH_MOST = 24, NAME_BESIDE_THROUGH = 20 };

size_t frame_add_wrapper(struct strbuf *out, const struct style *style, const char *wrapper,
                         const char *name, size_t room)
{
    struct strbuf through = STRBUF_INIT;
    size_t core = name_short_bytes(name);
    name_add_short(&through, wrapper, THROUGH_MOST);
    strbuf_add_string(&through, style_sign(style, " ← ", " <- "));
    size_t columns = text_width(through.data);
    if (columns + (core < NAME_BESIDE_THROUGH ? core : NAME_BESIDE_THROUGH) > room)
        columns = 0;
    else
        style_add(out, style, TONE_DIM, through.data);
    strbuf_release(&through);
    return columns;
}

static size_t frame_show_through(struct strbuf *out, const struct style *style,
                                 const struct profile *profile, struct frame frame,
                                 const char *name, size_t room)
{
    if (!frame.through)
        return 0;
    struct strbuf wrapper = STRBUF_INIT;
    frame_add_through(&wrapper, profile, frame);
    size_t columns = frame_add_wrapper(out, style, wrapper.data, name, room);
    strbuf_release(&wrapper);
    return columns;
}

void frame_add_line(struct strbuf *out, const struct style *style, const struct profile *profile,
                    struct frame frame, size_t used, bool strong)
{
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    size_t room = frame_room_behind(style, used);
    frame_add_place(&place, profile, frame,
                    frame_place_room(style, name.data, used, room * 9 / 20));
    size_t place_columns = text_width(place.data) + 2;
    if (place_columns < room)
        used += frame_show_through(out, style, profile, frame, name.data, room - place_columns);
    frame_add_columns(out, style, name.data, place.data, used, strong);
    strbuf_release(&name);
    strbuf_release(&place);
}

void frame_add_tight_line(struct strbuf *out, const struct style *style,
                          const struct profile *profile, struct frame frame, size_t used)
{
    size_t room = frame_room_behind(style, used);
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    size_t core = name_short_bytes(name.data);
    if (room >= NARROW)
        frame_add_place(&place, profile, frame, room * 9 / 20);
    else if (core + 2 + NARROW / 3 < room)
        frame_add_place(&place, profile, frame, room - core - 2);
    size_t place_columns = text_width(place.data) + 2;
    if (place_columns < room)
        used += frame_show_through(out, style, profile, frame, name.data, room - place_columns);
    frame_add_columns(out, style, name.data, place.data, used, false);
    strbuf_release(&name);
    strbuf_release(&place);
}

void frame_write(struct json *json, const struct profile *profile, struct frame frame)
{
    struct strbuf name = STRBUF_INIT;
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    frame_add_name(&name, profile, frame);
    json_string(json, "function", name.data);
    if (frame.through) {
        strbuf_reset(&name);
        frame_add_through(&name, profile, frame);
        json_string(json, "through", name.data);
    }
    json_string(json, "file", file);
    if (line)
        json_unsigned(json, "line", line);
    else
        json_null(json, "line");
    json_string(json, "module", frame_module(profile, frame));
    strbuf_release(&name);
}

/* ---- Walking ------------------------------------------------------------------------------- */

/* Run-times that compile while they run, and have named the functions of programs. */
struct frames_runtimes {
    bool javascript, java;
};

static bool frames_begin_with(const char *text, const char *const *beginnings)
{
    for (; text && *beginnings; beginnings++)
        if (*text == **beginnings && !strncmp(text, *beginnings, strlen(*beginnings)))
            return true;
    return false;
}

/* "java.nio.ByteBuffer Images.thumbnail(int)": without what it returns. */
static const char *frames_java_name(const char *function)
{
    size_t length;
    return function ? name_core(function, &length) : NULL;
}

static bool frames_is_java_library(const char *function)
{
    static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun.", NULL};
    return frames_begin_with(frames_java_name(function), packages);
}

static struct frames_runtimes frames_runtimes_of(const struct profile *profile)
{
    struct frames_runtimes runtimes = {0};
    for (size_t i = 0; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        if (code->mark || frame_module(profile, frame_at((uint32_t)i, 0)))
            continue;
        for (uint32_t j = 0; j < code->line_count; j++) {
            const struct profile_line *line = &profile->lines[code->first_line + j];
            runtimes.javascript |= line->file != NULL;
            runtimes.java |=
                line->function && frames_is_java_library(profile->functions[line->function].name);
        }
    }
    return runtimes;
}

/* Functions that take pages for a managed heap. Their frames are shown, because the function of the
 * program that happened to need a page says nothing about whose objects will lie there. V8 has a
 * class for each of its spaces. */
static bool frames_is_managed_heap(const char *function)
{
    static const char *const java[] = {
        "os::pd_",       "os::commit_memory", "os::reserve_memory", "VirtualSpace:",
        "ReservedSpace", "metaspace::",       "Metaspace",          NULL};
    static const char v8[] = "v8::internal::";
    if (!function || strncmp(function, v8, strlen(v8)) != 0)
        return frames_begin_with(function, java);
    const char *class = function + strlen(v8), *end = strstr(class, "::");
    const char *space = strstr(class, "Space");
    return end && space && space < end;
}

/* The run-time below functions of JavaScript: V8, node, what of node is written in JavaScript, and
 * code that V8 made and did not name. */
static bool frames_is_of_node(const char *function, const char *file, const char *module)
{
    static const char *const names[] = {"v8::", "node::", "cppgc::", "Builtins_", NULL};
    return (file && !strncmp(file, "node:", 5)) || (!function && !module) ||
           frames_begin_with(function, names);
}

/* The run-time below functions of Java: the virtual machine, its libraries, and its own code. */
static bool frames_is_of_java(const char *function, const char *module)
{
    static const char *const stubs[] = {"Interpreter", "StubRoutines", "I2C/C2I", "RuntimeStub",
                                        "ICBuffer",    "Unknown",      NULL};
    static const char *const modules[] = {"libjvm.so", "libjli.so", "libjava.so",
                                          "libnio.so", "libnet.so", NULL};
    if (module)
        return frames_begin_with(name_base(module), modules);
    return !function || frames_begin_with(function, stubs) || frames_is_java_library(function);
}

/* Verdicts on a function or a module, each asked for once. */
enum frames_verdict { FRAMES_NOT_ASKED = 0, FRAMES_OWN, FRAMES_LIBRARY };

struct frames_hiding {
    const struct profile *profile;
    bool *hidden;
    struct frames_runtimes runtimes;
    unsigned char *by_function, *by_module; /* enum frames_verdict; NULL: ask each time */
};

static bool frames_library_function(const struct frames_hiding *hiding,
                                    const struct profile_line *line)
{
    const struct profile_function *function = &hiding->profile->functions[line->function];
    const char *name = line->function ? function->name : NULL;
    if (!hiding->by_function || line->file != function->file)
        return name_is_library_function(name, function->linkage, line->file);
    unsigned char *verdict = &hiding->by_function[line->function];
    if (!*verdict)
        *verdict = name_is_library_function(name, function->linkage, line->file) ? FRAMES_LIBRARY
                                                                                 : FRAMES_OWN;
    return *verdict == FRAMES_LIBRARY;
}

static bool frames_library_module(const struct frames_hiding *hiding, uint32_t module)
{
    if (module == UINT32_MAX)
        return false;
    const char *path = hiding->profile->modules[module].path;
    if (!hiding->by_module)
        return name_is_library_module(path);
    unsigned char *verdict = &hiding->by_module[module];
    if (!*verdict)
        *verdict = name_is_library_module(path) ? FRAMES_LIBRARY : FRAMES_OWN;
    return *verdict == FRAMES_LIBRARY;
}

/* A run-time's own allocating functions are not in the third part: they do not say whose the memory
 * is. */
static void frames_hide_line(const struct frames_hiding *hiding, uint32_t code, uint32_t at)
{
    const struct profile *profile = hiding->profile;
    const struct profile_line *line = &profile->lines[at];
    bool *of_runtime = hiding->hidden + 2 * (profile->line_count + 1) + at;
    const char *name = frame_function(profile, frame_at(code, at));
    const char *module = frame_module(profile, frame_at(code, at));
    bool library = frames_library_module(hiding, profile->codes[code].module) ||
                   frames_library_function(hiding, line);
    *of_runtime = (hiding->runtimes.javascript && frames_is_of_node(name, line->file, module)) ||
                  (hiding->runtimes.java && frames_is_of_java(name, module));
    if (library || frames_is_managed_heap(name))
        *of_runtime = false;
    hiding->hidden[at] = library || *of_runtime;
    if (*of_runtime && name && wrapper_name_of(name) >= WRAPPER_NAME_ALLOCATES)
        *of_runtime = false;
}

/* Fills the first and the third part of `hidden` (frames_of_libraries()). */
static void frames_hide(const struct profile *profile, bool *hidden)
{
    struct frames_hiding hiding = {.profile = profile,
                                   .hidden = hidden,
                                   .runtimes = frames_runtimes_of(profile),
                                   .by_function = calloc(profile->function_count + 1, 1),
                                   .by_module = calloc(profile->module_count + 1, 1)};
    for (size_t i = 0; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        for (uint32_t j = 0; j < code->line_count && !code->mark; j++)
            frames_hide_line(&hiding, (uint32_t)i, code->first_line + j);
    }
    free(hiding.by_function);
    free(hiding.by_module);
}

bool *frames_of_libraries(const struct profile *profile)
{
    bool *hidden = calloc(3 * (profile->line_count + 1), sizeof *hidden);
    if (hidden)
        frames_hide(profile, hidden);
    if (hidden && !wrappers_hide(profile, hidden)) {
        free(hidden);
        return NULL;
    }
    return hidden;
}

bool *frames_of_libraries_in_trace(const struct profile *profile)
{
    struct profile asking = *profile;
    bool *is_caller = calloc(profile->node_count + 1, sizeof *is_caller), *hidden = NULL;
    asking.sites = calloc(profile->node_count + 1, sizeof *asking.sites);
    asking.site_count = 0;
    for (size_t i = 1; is_caller && i < profile->node_count; i++)
        is_caller[profile->nodes[i].parent] = true;
    for (size_t i = 1; is_caller && asking.sites && i < profile->node_count; i++)
        if (!is_caller[i])
            asking.sites[asking.site_count++].path = (uint32_t)i;
    if (is_caller && asking.sites)
        hidden = frames_of_libraries(&asking);
    free(is_caller);
    free(asking.sites);
    return hidden;
}

static bool frame_walk_raw(struct frame_walk *walk, struct frame *frame)
{
    const struct profile *profile = walk->profile;
    while (walk->node) {
        const struct profile_node *node = &profile->nodes[walk->node];
        const struct profile_code *code = &profile->codes[node->location];
        if (walk->at < code->line_count) {
            *frame = frame_at(node->location, code->first_line + walk->at++);
            return true;
        }
        walk->node = node->parent;
        walk->at = 0;
    }
    return false;
}

bool frame_walk_next(struct frame_walk *walk, struct frame *frame)
{
    const bool *of_wrappers = walk->hidden + walk->profile->line_count + 1;
    struct frame through = {0};
    while (frame_walk_raw(walk, frame)) {
        if (!walk->hidden[frame->line]) {
            frame->through = through.line;
            frame->through_code = through.code;
            return true;
        }
        if (of_wrappers[frame->line])
            through = *frame;
    }
    return false;
}

struct frame frame_walk_begin(struct frame_walk *walk, const struct profile *profile,
                              const bool *hidden, uint32_t node)
{
    struct frame frame = {0};
    *walk = (struct frame_walk){profile, hidden, node, 0};
    if (frame_walk_next(walk, &frame))
        return frame;
    /* All is hidden: the innermost frame of a run-time, and not of a library below the run-time. */
    const bool *of_runtime = hidden + 2 * (profile->line_count + 1);
    struct frame_walk raw = {profile, hidden, node, 0};
    while (frame_walk_raw(&raw, &frame))
        if (of_runtime[frame.line] && profile->lines[frame.line].function)
            return frame;
    raw = (struct frame_walk){profile, hidden, node, 0};
    return frame_walk_raw(&raw, &frame) ? frame : (struct frame){0};
}

/* ---- Groups -------------------------------------------------------------------------------- */

struct group_keys {
    struct map map;      /* of groups */
    uint64_t *keys;      /* by group */
    struct figure *most; /* by group: held at the peak by the path whose wrapper is named */
};

/* The group of a key. `count` is how many there are, and the number of a group that is new. */
static uint32_t frame_group_of(struct group_keys *table, uint64_t key, size_t count)
{
    uint32_t group;
    for (struct map_probe probe = map_probe(&table->map, hash_u64(key)); map_next(&probe, &group);)
        if (table->keys[group] == key)
            return group;
    table->keys[count] = key;
    map_add(&table->map, hash_u64(key), (uint32_t)count);
    return (uint32_t)count;
}

/* Of a function that allocates through several wrappers, names the one of the path that held most
 * at the peak. */
static void frame_group_name_wrapper(struct group_keys *table, struct frame *shown, uint32_t group,
                                     struct frame frame, struct figure held)
{
    if (!figure_less(table->most[group], held))
        return;
    table->most[group] = held;
    shown->through = frame.through;
    shown->through_code = frame.through_code;
}

static void frame_group_sites(struct frame_groups *groups, struct group_keys *table,
                              const struct profile *profile, const bool *hidden, const bool *wanted)
{
    struct frame_walk walk;
    for (size_t i = 0; i < profile->site_count; i++) {
        groups->of_site[i] = UINT32_MAX;
        uint32_t path = profile_site_path(profile, i);
        if (wanted && !wanted[path])
            continue;
        struct frame frame = frame_walk_begin(&walk, profile, hidden, path);
        uint32_t group = frame_group_of(table, frame_key(profile, frame), groups->count);
        if (group == groups->count)
            groups->frames[groups->count++] = frame;
        groups->of_site[i] = group;
        frame_group_name_wrapper(table, &groups->frames[group], group, frame,
                                 profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)));
    }
}

int frame_groups_init(struct frame_groups *groups, const struct profile *profile,
                      const bool *hidden, const bool *wanted)
{
    size_t count = profile->site_count;
    struct group_keys table = {
        {0}, calloc(count + 1, sizeof *table.keys), calloc(count + 1, sizeof *table.most)};
    *groups = (struct frame_groups){calloc(count + 1, sizeof(struct frame)), 0,
                                    calloc(count + 1, sizeof(uint32_t))};
    bool complete = table.keys && table.most && groups->frames && groups->of_site;
    if (complete)
        frame_group_sites(groups, &table, profile, hidden, wanted);
    else
        frame_groups_release(groups);
    free(table.keys);
    free(table.most);
    map_release(&table.map);
    return complete ? 0 : -ENOMEM;
}

void frame_groups_release(struct frame_groups *groups)
{
    free(groups->frames);
    free(groups->of_site);
    *groups = (struct frame_groups){0};
}

void frame_add_callers(struct strbuf *out, const struct style *style, struct frame_walk *walk,
                       size_t most, size_t used)
{
    struct frame frame;
    for (size_t i = 0; i < most && frame_walk_next(walk, &frame); i++) {
        strbuf_add_repeated(out, " ", used);
        style_add(out, style, TONE_DIM, style_sign(style, "↑ ", "^ "));
        frame_add_line(out, style, walk->profile, frame, used + 2, false);
    }
}

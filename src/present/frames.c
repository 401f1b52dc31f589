/* See frames.h. */
#include "present/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "present/names.h"

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
    else
        strbuf_addf(out, "%s%s0x%llx", module ? name_base(module) : "", module ? "+" : "",
                    (unsigned long long)code->address);
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
static const char *without_directory(const struct profile *profile, const char *file)
{
    const char *directory = profile_get(profile, PROFILE_META_DIRECTORY);
    size_t length = directory ? strlen(directory) : 0;
    bool below = length && !strncmp(file, directory, length) && file[length] == '/';
    return below ? file + length + 1 : file;
}

static bool is_program(const struct profile *profile, const char *module)
{
    const char *executable = profile_get(profile, PROFILE_META_EXECUTABLE);
    return executable && !strcmp(executable, module);
}

static void add_place(struct strbuf *out, const struct profile *profile, struct frame frame,
                      size_t columns, bool with_line)
{
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    const char *module = frame_module(profile, frame);
    if (file)
        name_add_place(out, without_directory(profile, file), with_line ? line : 0, columns);
    else if (module && frame_function(profile, frame) && !is_program(profile, module))
        name_add_place(out, name_base(module), 0, columns);
}

void frame_add_place(struct strbuf *out, const struct profile *profile, struct frame frame,
                     size_t columns)
{
    add_place(out, profile, frame, columns, true);
}

void frame_add_file(struct strbuf *out, const struct profile *profile, struct frame frame,
                    size_t columns)
{
    add_place(out, profile, frame, columns, false);
}

/* Room for a name or a place, but hardly for both; and what a name is left at least, beside a
 * place. */
enum { NARROW = FRAME_ROOM_NARROW, NAME_LEAST = 10 };

static size_t room_behind(const struct style *style, size_t used)
{
    return style->columns > used + 16 ? style->columns - used : 16;
}

void frame_add_columns(struct strbuf *out, const struct style *style, const char *name,
                       const char *place, size_t used, bool strong)
{
    struct strbuf shown = STRBUF_INIT;
    size_t room = room_behind(style, used), place_columns = text_width(place);
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

void frame_add_line(struct strbuf *out, const struct style *style, const struct profile *profile,
                    struct frame frame, size_t used, bool strong)
{
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    frame_add_place(&place, profile, frame, room_behind(style, used) * 9 / 20);
    frame_add_columns(out, style, name.data, place.data, used, strong);
    strbuf_release(&name);
    strbuf_release(&place);
}

void frame_add_tight_line(struct strbuf *out, const struct style *style,
                          const struct profile *profile, struct frame frame, size_t used)
{
    size_t room = room_behind(style, used), core;
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    name_core(name.data, &core);
    if (room >= NARROW)
        frame_add_place(&place, profile, frame, room * 9 / 20);
    else if (core + 2 + NARROW / 3 < room)
        frame_add_place(&place, profile, frame, room - core - 2);
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
    json_string(json, "file", file);
    if (line)
        json_unsigned(json, "line", line);
    else
        json_null(json, "line");
    json_string(json, "module", frame_module(profile, frame));
    strbuf_release(&name);
}

/* ---- Walking ------------------------------------------------------------------------------- */

bool *frames_of_libraries(const struct profile *profile)
{
    bool *hidden = calloc(profile->line_count + 1, sizeof *hidden);
    for (size_t i = 0; hidden && i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        const char *module = frame_module(profile, (struct frame){(uint32_t)i, 0});
        for (uint32_t j = 0; j < code->line_count; j++) {
            const struct profile_line *line = &profile->lines[code->first_line + j];
            const struct profile_function *function = &profile->functions[line->function];
            hidden[code->first_line + j] =
                !code->mark && name_is_library(line->function ? function->name : NULL,
                                               function->linkage, line->file, module);
        }
    }
    return hidden;
}

static bool walk_raw(struct frame_walk *walk, struct frame *frame)
{
    const struct profile *profile = walk->profile;
    while (walk->node) {
        const struct profile_node *node = &profile->nodes[walk->node];
        const struct profile_code *code = &profile->codes[node->location];
        if (walk->at < code->line_count) {
            *frame = (struct frame){node->location, code->first_line + walk->at++};
            return true;
        }
        walk->node = node->parent;
        walk->at = 0;
    }
    return false;
}

bool frame_walk_next(struct frame_walk *walk, struct frame *frame)
{
    while (walk_raw(walk, frame))
        if (!walk->hidden[frame->line])
            return true;
    return false;
}

struct frame frame_walk_begin(struct frame_walk *walk, const struct profile *profile,
                              const bool *hidden, uint32_t node)
{
    struct frame frame = {0, 0};
    *walk = (struct frame_walk){profile, hidden, node, 0};
    if (frame_walk_next(walk, &frame))
        return frame;
    struct frame_walk raw = {profile, hidden, node, 0};
    return walk_raw(&raw, &frame) ? frame : (struct frame){0, 0};
}

/* ---- Groups -------------------------------------------------------------------------------- */

struct key_table {
    uint64_t *keys;
    uint32_t *groups; /* + 1; 0: empty */
    size_t mask;
};

static uint32_t *key_slot(struct key_table *table, uint64_t key)
{
    size_t at = hash_u64(key) & table->mask;
    while (table->groups[at] && table->keys[at] != key)
        at = (at + 1) & table->mask;
    table->keys[at] = key;
    return &table->groups[at];
}

static size_t table_size(size_t items)
{
    size_t size = 64;
    while (size < 2 * items)
        size *= 2;
    return size;
}

static void group_sites(struct frame_groups *groups, struct key_table *table,
                        const struct profile *profile, const bool *hidden, const bool *wanted)
{
    struct frame_walk walk;
    for (size_t i = 0; i < profile->site_count; i++) {
        groups->of_site[i] = UINT32_MAX;
        uint32_t path = profile->sites[i].path;
        if (wanted && !wanted[path])
            continue;
        struct frame frame = frame_walk_begin(&walk, profile, hidden, path);
        uint32_t *slot = key_slot(table, frame_key(profile, frame));
        if (!*slot) {
            groups->frames[groups->count++] = frame;
            *slot = (uint32_t)groups->count;
        }
        groups->of_site[i] = *slot - 1;
    }
}

int frame_groups_init(struct frame_groups *groups, const struct profile *profile,
                      const bool *hidden, const bool *wanted)
{
    size_t count = profile->site_count, slots = table_size(count);
    struct key_table table = {calloc(slots, sizeof(uint64_t)), calloc(slots, sizeof(uint32_t)),
                              slots - 1};
    *groups = (struct frame_groups){calloc(count + 1, sizeof(struct frame)), 0,
                                    calloc(count + 1, sizeof(uint32_t))};
    bool complete = table.keys && table.groups && groups->frames && groups->of_site;
    if (complete)
        group_sites(groups, &table, profile, hidden, wanted);
    else
        frame_groups_release(groups);
    free(table.keys);
    free(table.groups);
    return complete ? 0 : -ENOMEM;
}

void frame_groups_release(struct frame_groups *groups)
{
    free(groups->frames);
    free(groups->of_site);
    *groups = (struct frame_groups){0};
}

/* Finds types of call paths (path_types.h). What a function's name says is found out once, and each
 * path stops at the first function that does not hand the call on. */
#include "aggregate/path_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/metric_choice.h"
#include "aggregate/order.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "format/allocated_types.h"
#include "model/interpreter.h"

/* Of a path's live blocks 1 / UNLIKE at most may begin with something else: objects that are being
 * made, or have just been. */
enum { UNLIKE = 10 };

const char *const path_type_source_names[PATH_TYPE_SOURCES] = {
    [PATH_TYPE_BY_FRAMES] = "frames", [PATH_TYPE_BY_CLASS] = "class", [PATH_TYPE_BY_CALL] = "call"};

/* What a function says, without and with lines: 0 not asked yet; else SAYS + enum
 * allocated_type. */
struct said {
    uint8_t what[2];
    uint32_t row[2];
};
enum { SAYS = 1 };

struct typing {
    size_t room; /* of types->rows */
    struct path_types *types;
    const struct profile *profile;
    struct said *said;       /* by function */
    struct map names, calls; /* the second: rows of call_types, by module and address */
    struct strbuf text;
    struct profile_block_type *rows; /* of all looks, by path and name */
    size_t row_count, at;            /* sites are by path, too */
    uint64_t *live;                  /* by node: live blocks at these looks */
    bool no_memory;
};

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint32_t path_types_find(const struct typing *typing, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name));
    uint32_t number;
    for (struct map_probe probe = map_probe(&typing->names, hash); map_next(&probe, &number);)
        if (!strcmp(typing->types->rows[number].name, name))
            return number;
    return PATH_TYPE_NONE;
}

static uint32_t path_types_row(struct typing *typing, const char *name)
{
    struct path_types *types = typing->types;
    uint64_t hash = hash_bytes(name, strlen(name));
    uint32_t number = path_types_find(typing, name);
    if (number != PATH_TYPE_NONE)
        return number;
    bool has_room = array_make_room(&types->rows, &typing->room, types->count, sizeof *types->rows);
    char *copy = has_room ? strdup(name) : NULL;
    if (!copy || !map_try_add(&typing->names, hash, (uint32_t)types->count)) {
        free(copy);
        typing->no_memory = true;
        return PATH_TYPE_NONE;
    }
    types->rows[types->count] = (struct path_type){.name = copy};
    return (uint32_t)types->count++;
}

/* ---- By frames ------------------------------------------------------------------------------- */

static enum allocated_type path_types_ask(struct typing *typing, uint32_t line, uint32_t *row)
{
    const struct profile_line *of = &typing->profile->lines[line];
    struct said *said = &typing->said[of->function];
    bool has_lines = of->file && of->line;
    if (!of->function)
        return ALLOCATED_UNKNOWN;
    if (!said->what[has_lines]) {
        const char *name = typing->profile->functions[of->function].name;
        enum allocated_type what = allocated_type(&typing->text, name, has_lines);
        said->what[has_lines] = (uint8_t)(SAYS + what);
        if (what == ALLOCATED_FOUND)
            said->row[has_lines] = path_types_row(typing, typing->text.data);
    }
    *row = said->row[has_lines];
    return (enum allocated_type)(said->what[has_lines] - SAYS);
}

static uint32_t path_types_by_frames(struct typing *typing, uint32_t node)
{
    const struct profile *profile = typing->profile;
    for (uint32_t row = PATH_TYPE_NONE; node; node = profile->nodes[node].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[node].location];
        for (uint32_t i = 0; i < code->line_count; i++) {
            enum allocated_type what = path_types_ask(typing, code->first_line + i, &row);
            if (what != ALLOCATED_BY_NEXT)
                return what == ALLOCATED_FOUND ? row : PATH_TYPE_NONE;
        }
        if (!code->line_count)
            break;
    }
    return PATH_TYPE_NONE;
}

/* ---- By class -------------------------------------------------------------------------------- */

static bool path_types_has_classes(const struct profile *profile, uint32_t sample)
{
    for (size_t i = profile->sample_count; i-- > 0;)
        if (profile->samples[i].id == sample)
            return figure_known(profile->samples[i].class_count);
    return false;
}

static bool path_types_is_before(const struct profile_block_type *type,
                                 const struct profile_residency *live)
{
    return type->sample != live->sample ? type->sample < live->sample : type->path < live->path;
}

static int path_types_compare(const void *left, const void *right)
{
    const struct profile_block_type *a = left, *b = right;
    return a->path != b->path ? (a->path < b->path ? -1 : 1) : strcmp(a->name, b->name);
}

/* Rows of looks that found classes, of which it is also known how many live blocks the path had.
 * Both tables are by sample and path. */
static size_t path_types_gather(struct typing *typing, struct profile_block_type *rows)
{
    const struct profile *profile = typing->profile;
    size_t count = 0, at = 0;
    for (size_t i = 0; i < profile->residency_count; i++) {
        const struct profile_residency *live = &profile->residencies[i];
        while (at < profile->block_type_count &&
               path_types_is_before(&profile->block_types[at], live))
            at++;
        if (!path_types_has_classes(profile, live->sample))
            continue;
        typing->live[live->path] += figure_or(live->live_count, 0);
        for (; at < profile->block_type_count && profile->block_types[at].path == live->path &&
               profile->block_types[at].sample == live->sample;
             at++)
            rows[count++] = profile->block_types[at];
    }
    return count;
}

/* Those of all looks as one. */
static int path_types_find_classes(struct typing *typing)
{
    const struct profile *profile = typing->profile;
    struct profile_block_type *rows = calloc(profile->block_type_count + 1, sizeof *rows);
    typing->live = calloc(profile->node_count + 1, sizeof *typing->live);
    typing->rows = rows;
    if (!rows || !typing->live)
        return -ENOMEM;
    size_t count = path_types_gather(typing, rows);
    qsort(rows, count, sizeof *rows, path_types_compare);
    for (size_t i = 0; i < count; i++) {
        struct profile_block_type *last = typing->row_count ? &rows[typing->row_count - 1] : NULL;
        if (last && last->path == rows[i].path && !strcmp(last->name, rows[i].name))
            last->count += rows[i].count;
        else
            rows[typing->row_count++] = rows[i];
    }
    return 0;
}

/* A line of Python makes objects of many types, and which of them live longest says nothing of the
 * others. */
static bool path_types_is_interpreted(const struct profile *profile, uint32_t node)
{
    for (; node; node = profile->nodes[node].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[node].location];
        if (code->module == UINT32_MAX)
            continue;
        const char *module = profile->modules[code->module].path;
        const char *file = code->line_count ? profile->lines[code->first_line].file : NULL;
        if (interpreter_is_python(module) || (file && !strcmp(file, module)))
            return true;
    }
    return false;
}

static uint32_t path_types_by_class(struct typing *typing, uint32_t path)
{
    const struct profile_block_type *most = NULL;
    uint64_t typed = 0, live = typing->live[path];
    while (typing->at < typing->row_count && typing->rows[typing->at].path < path)
        typing->at++;
    for (; typing->at < typing->row_count && typing->rows[typing->at].path == path; typing->at++) {
        const struct profile_block_type *row = &typing->rows[typing->at];
        most = !most || row->count > most->count ? row : most;
        typed += row->count;
    }
    if (!most || path_types_is_interpreted(typing->profile, path))
        return PATH_TYPE_NONE;
    if (most->count <= live && most->count >= live - live / UNLIKE)
        return path_types_row(typing, most->name);
    typing->types->mixed += typed > most->count;
    return PATH_TYPE_NONE;
}

/* ---- By call --------------------------------------------------------------------------------- */

static uint64_t path_types_call_hash(int64_t module, uint64_t address)
{
    return hash_u64(address ^ (uint64_t)module << 48);
}

static bool path_types_find_calls(struct typing *typing)
{
    const struct profile *profile = typing->profile;
    for (size_t i = 0; i < profile->call_type_count; i++) {
        const struct profile_call_type *row = &profile->call_types[i];
        if (!map_try_add(&typing->calls, path_types_call_hash(row->module_id, row->address),
                         (uint32_t)i))
            return false;
    }
    return true;
}

static const struct profile_call_type *path_types_call_of(const struct typing *typing,
                                                          uint32_t location)
{
    const struct profile *profile = typing->profile;
    const struct profile_code *code = &profile->codes[location];
    uint32_t number;
    for (struct map_probe probe =
             map_probe(&typing->calls, path_types_call_hash((int64_t)code->module, code->address));
         map_next(&probe, &number);) {
        const struct profile_call_type *row = &profile->call_types[number];
        if (row->module_id == (int64_t)code->module && row->address == code->address)
            return row;
    }
    return NULL;
}

/* Is a block of these sizes an object of the type, or an array of them? An array of structures is
 * assumed only where multiples by chance are unlikely, because a pointer may also be assigned a
 * block that begins with the structure and goes on. */
static bool path_types_fits(const struct profile_call_type *type, const struct call_metrics *call)
{
    enum { LEAST_BYTES = 16 };
    if (!figure_known(call->size_min) || !figure_known(call->size_max) || !type->bytes)
        return false;
    uint64_t least = figure_or(call->size_min, 0), most = figure_or(call->size_max, 0);
    bool are_multiples = least && least % type->bytes == 0 && most % type->bytes == 0;
    bool is_power_of_two = !(type->bytes & (type->bytes - 1));
    switch (type->kind) {
    case PROFILE_CALL_MADE:
        return least == type->bytes && most == type->bytes;
    case PROFILE_CALL_OPEN:
        return least >= type->bytes;
    case PROFILE_CALL_SCALAR:
        return are_multiples;
    default:
        return (least == type->bytes && most == type->bytes) ||
               (are_multiples && type->bytes >= LEAST_BYTES && !is_power_of_two);
    }
}

static uint32_t path_types_by_call(struct typing *typing, size_t site)
{
    const struct profile *profile = typing->profile;
    const struct profile_call_type *type = NULL;
    uint32_t node = profile_site_path(profile, site);
    if (!profile->call_type_count)
        return PATH_TYPE_NONE;
    for (; node; node = profile->nodes[node].parent) {
        type = path_types_call_of(typing, profile->nodes[node].location);
        if (!type || type->kind != PROFILE_CALL_HANDED_ON)
            break;
    }
    bool is_type = node && type && type->name;
    struct profile_site room;
    return is_type && path_types_fits(type, &profile_site_at(profile, site, &room)->metrics)
               ? path_types_row(typing, type->name)
               : PATH_TYPE_NONE;
}

/* ---- Layouts --------------------------------------------------------------------------------- */

static bool path_types_is_same_layout(const struct profile_call_type *a,
                                      const struct profile_call_type *b)
{
    return a->bytes == b->bytes && figure_equal(a->hole_count, b->hole_count) &&
           figure_equal(a->hole_bytes, b->hole_bytes) &&
           figure_equal(a->padding_bytes, b->padding_bytes);
}

/* Two types of one name may have different layouts: then neither is given. */
static void path_types_find_layouts(struct typing *typing)
{
    static const struct profile_call_type several;
    const struct profile *profile = typing->profile;
    for (size_t i = 0; i < profile->call_type_count; i++) {
        const struct profile_call_type *row = &profile->call_types[i];
        uint32_t number = row->name && figure_known(row->hole_count)
                              ? path_types_find(typing, row->name)
                              : PATH_TYPE_NONE;
        if (number == PATH_TYPE_NONE)
            continue;
        struct path_type *type = &typing->types->rows[number];
        bool differs = type->layout && !path_types_is_same_layout(type->layout, row);
        type->layout = differs ? &several : row;
    }
    for (size_t i = 0; i < typing->types->count; i++)
        if (typing->types->rows[i].layout == &several)
            typing->types->rows[i].layout = NULL;
}

/* A structure with an open end (PROFILE_CALL_OPEN) has one object in each block. */
struct figure path_types_padding(const struct path_type *type)
{
    const struct profile_call_type *layout = type->layout;
    const struct call_metrics *call = &type->merged.metrics;
    if (!layout || !layout->bytes || !figure_known(call->at_peak_bytes) ||
        !figure_known(call->at_peak_count))
        return FIGURE_UNKNOWN;
    uint64_t objects = layout->kind == PROFILE_CALL_OPEN
                           ? figure_or(call->at_peak_count, 0)
                           : figure_or(call->at_peak_bytes, 0) / layout->bytes;
    uint64_t unused = figure_or(layout->hole_bytes, 0) + figure_or(layout->padding_bytes, 0);
    return figure_of(objects * unused);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void path_types_add(struct typing *typing, size_t site)
{
    struct path_types *types = typing->types;
    struct profile_site room;
    const struct call_metrics *call = &profile_site_at(typing->profile, site, &room)->metrics;
    uint32_t path = profile_site_path(typing->profile, site);
    enum path_type_source source = PATH_TYPE_BY_FRAMES;
    uint32_t row = path_types_by_frames(typing, path);
    if (row == PATH_TYPE_NONE) {
        source = PATH_TYPE_BY_CLASS;
        row = path_types_by_class(typing, path);
    }
    if (row == PATH_TYPE_NONE) {
        source = PATH_TYPE_BY_CALL;
        row = path_types_by_call(typing, site);
    }
    types->of_site[site] = row;
    if (row == PATH_TYPE_NONE) {
        merged_add_path(&types->unknown, call);
        return;
    }
    types->rows[row].sources[source] = true;
    merged_add_path(&types->rows[row].merged, call);
}

static void path_types_settle(struct path_types *types, const struct profile *profile)
{
    for (size_t i = 0; i < types->count; i++)
        merged_settle(&types->rows[i].merged, &profile->program.total);
    merged_settle(&types->unknown, &profile->program.total);
}

int path_types_init(struct path_types *types, const struct profile *profile, const bool *wanted)
{
    struct typing typing = {.types = types, .profile = profile, .text = STRBUF_INIT};
    *types = (struct path_types){0};
    bool is_heap = !profile_get(profile, PROFILE_META_LEVEL);
    for (size_t i = 0; i < profile->sample_count && is_heap; i++)
        types->has_classes |= figure_known(profile->samples[i].class_count);
    types->of_site = malloc((profile->site_count + 1) * sizeof *types->of_site);
    typing.said = calloc(profile->function_count + 1, sizeof *typing.said);
    typing.no_memory = !types->of_site || !typing.said || path_types_find_classes(&typing) ||
                       !path_types_find_calls(&typing);
    for (size_t i = 0; i < profile->site_count && !typing.no_memory; i++) {
        types->of_site[i] = PATH_TYPE_NONE;
        if (!wanted || wanted[profile_site_path(profile, i)])
            path_types_add(&typing, i);
    }
    path_types_settle(types, profile);
    path_types_find_layouts(&typing);
    free(typing.said);
    free(typing.rows);
    free(typing.live);
    map_release(&typing.names);
    map_release(&typing.calls);
    strbuf_release(&typing.text);
    if (typing.no_memory)
        path_types_release(types);
    return typing.no_memory ? -ENOMEM : 0;
}

void path_types_release(struct path_types *types)
{
    for (size_t i = 0; i < types->count; i++)
        free((char *)types->rows[i].name);
    free(types->rows);
    free(types->of_site);
    *types = (struct path_types){0};
}

uint32_t *path_types_order(const struct path_types *types, size_t metric)
{
    struct figure *values = calloc(types->count + 1, sizeof *values);
    for (size_t i = 0; values && i < types->count; i++)
        values[i] = metric_rank(&metrics[metric],
                                metric_of_merged(&metrics[metric], &types->rows[i].merged));
    uint32_t *order = values ? order_values(values, types->count) : NULL;
    free(values);
    return order;
}

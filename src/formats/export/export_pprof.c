/* pprof's profile.proto, packed with gzip: a sample for each call path, with all its figures at
 * once, so that -sample_index, -base and -diff_base choose among them.
 *
 * A call path has one sample for its blocks, one for its mappings, and one for each kind of
 * resident memory that it owns: readers add up samples of one stack. What is resident and has no
 * call path (files, stacks, variables) is a sample with one frame, as "[file] libc.so.6". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "export/proto.h"
#include "gzip/gzip.h"
#include "aggregate/facts.h"

/* Fields of the messages, by their names in profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_LINKAGE = 3,
    FUNCTION_FILE = 4,
};

struct export_pprof {
    struct exporting *exporting;
    struct strbuf message, part, inner;
    struct intern strings, functions;  /* number 1 is "" in the former: index 0 of the table */
    bool *has_location;                /* by code: it was written */
    struct figure *resident;           /* by site, or NULL: owners say it, or nothing does */
    const struct profile_sample *look; /* whose owners are exported; NULL: none */
    bool has_mapped;                   /* mappings are known, and the export is of all levels */
    uint64_t owner_locations;          /* so many were written, with numbers behind those of code */
};

/* What one sample is of; the others are NULL or unknown. */
struct pprof_row {
    const struct call_metrics *heap, *mapped;
    struct figure resident;
};

/* The index in the table of strings, which takes it up the first time. */
static uint64_t export_pprof_string_index(struct export_pprof *pprof, const char *string)
{
    bool is_new;
    uint32_t number = export_intern(&pprof->strings, string, strlen(string), &is_new);
    if (is_new)
        proto_string(&pprof->message, PROFILE_STRING, string);
    return number - 1;
}

/* ---- Sample types -------------------------------------------------------------------------- */

enum { TYPES = 11 };
struct sample_type {
    const char *name, *unit;
    enum memory_level level;
    size_t offset, more; /* in struct call_metrics; added up where there are two */
};
#define AT(field) offsetof(struct call_metrics, field)
#define NO_MORE   SIZE_MAX
static const struct sample_type types[TYPES] = {
    {"alloc_objects", "count", MEMORY_HEAP, AT(alloc_count), AT(realloc_count)},
    {"alloc_space", "bytes", MEMORY_HEAP, AT(alloc_bytes), AT(realloc_bytes)},
    {"inuse_objects", "count", MEMORY_HEAP, AT(live_count), NO_MORE},
    {"inuse_space", "bytes", MEMORY_HEAP, AT(live_bytes), NO_MORE},
    {"peak", "bytes", MEMORY_HEAP, AT(at_peak_bytes), NO_MORE},
    {"temporary", "count", MEMORY_HEAP, AT(temporary_count), NO_MORE},
    {"resident", "bytes", MEMORY_RESIDENT, NO_MORE, NO_MORE},
    {"mapped", "bytes", MEMORY_MAPPED, AT(at_peak_bytes), NO_MORE},
    {"mapped_inuse", "bytes", MEMORY_MAPPED, AT(live_bytes), NO_MORE},
    {"mapped_space", "bytes", MEMORY_MAPPED, AT(alloc_bytes), AT(realloc_bytes)},
    {"all", "bytes", MEMORY_ALL, AT(at_all_peak_bytes), NO_MORE},
};

static struct figure export_pprof_field_of(const struct call_metrics *metrics, size_t offset)
{
    return *(const struct figure *)((const char *)metrics + offset);
}

static bool export_pprof_has_type(const struct export_pprof *pprof, const struct sample_type *type)
{
    const struct program_metrics *program = &pprof->exporting->profile->program;
    if (type->level == MEMORY_RESIDENT)
        return pprof->resident || pprof->look;
    if (type->level == MEMORY_HEAP)
        return figure_known(export_pprof_field_of(&program->total, type->offset));
    return pprof->has_mapped &&
           (type->level == MEMORY_MAPPED || figure_known(program->all_peak_bytes));
}

/* The metrics of the row that the type is of; NULL: it has none. */
static const struct call_metrics *export_pprof_metrics_of(const struct pprof_row *row,
                                                          const struct sample_type *type)
{
    const struct call_metrics *any = row->heap ? row->heap : row->mapped;
    return type->level == MEMORY_HEAP     ? row->heap
           : type->level == MEMORY_MAPPED ? row->mapped
           : type->level == MEMORY_ALL    ? any
                                          : NULL;
}

/* Only of types that the profile has. */
static uint64_t export_pprof_value_of(const struct pprof_row *row, const struct sample_type *type)
{
    const struct call_metrics *metrics = export_pprof_metrics_of(row, type);
    if (type->level == MEMORY_RESIDENT)
        return figure_or(row->resident, 0);
    if (!metrics)
        return 0;
    struct figure value = export_pprof_field_of(metrics, type->offset);
    struct figure more =
        type->more == NO_MORE ? FIGURE_UNKNOWN : export_pprof_field_of(metrics, type->more);
    return figure_or(figure_known(more) ? figure_add(value, more) : value, 0);
}

static void export_pprof_add_type(struct export_pprof *pprof, unsigned field, const char *name,
                                  const char *unit)
{
    uint64_t type_index = export_pprof_string_index(pprof, name),
             unit_index = export_pprof_string_index(pprof, unit);
    proto_number(&pprof->part, TYPE_TYPE, type_index);
    proto_number(&pprof->part, TYPE_UNIT, unit_index);
    proto_part(&pprof->message, field, &pprof->part);
}

/* The type that shows the metric which was asked for, if one does. */
static void export_pprof_add_default_type(struct export_pprof *pprof)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].level == MEMORY_HEAP &&
            types[i].offset == pprof->exporting->options->metric->offset)
            proto_number(&pprof->message, PROFILE_DEFAULT_SAMPLE_TYPE,
                         export_pprof_string_index(pprof, types[i].name));
}

/* ---- Mappings, locations, functions -------------------------------------------------------- */

/* What the frames of a module say, in all. */
static void export_pprof_add_knowledge(struct export_pprof *pprof, uint32_t module)
{
    const struct profile *profile = pprof->exporting->profile;
    bool functions = false, files = false, lines = false, inlines = false;
    for (size_t i = 1; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        if (code->module != module)
            continue;
        const struct profile_line *line = &profile->lines[code->first_line];
        functions |= line->function != 0;
        files |= line->file != NULL;
        lines |= line->line != 0;
        inlines |= code->line_count > 1;
    }
    proto_number(&pprof->part, MAPPING_HAS_FUNCTIONS, functions);
    proto_number(&pprof->part, MAPPING_HAS_FILES, files);
    proto_number(&pprof->part, MAPPING_HAS_LINES, lines);
    proto_number(&pprof->part, MAPPING_HAS_INLINES, inlines);
}

static void export_pprof_add_mapping(struct export_pprof *pprof, uint32_t index)
{
    const struct profile_module *module = &pprof->exporting->profile->modules[index];
    struct strbuf build_id = STRBUF_INIT;
    for (size_t i = 0; i < module->build_id_bytes; i++)
        strbuf_addf(&build_id, "%02x", module->build_id[i]);
    uint64_t file = export_pprof_string_index(pprof, module->path ? module->path : "");
    uint64_t id = export_pprof_string_index(pprof, build_id.data);
    proto_number(&pprof->part, MAPPING_ID, (uint64_t)index + 1);
    proto_number(&pprof->part, MAPPING_START, module->start);
    proto_number(&pprof->part, MAPPING_LIMIT, module->end);
    proto_number(&pprof->part, MAPPING_FILE, file);
    proto_number(&pprof->part, MAPPING_BUILD_ID, id);
    export_pprof_add_knowledge(pprof, index);
    proto_part(&pprof->message, PROFILE_MAPPING, &pprof->part);
    strbuf_release(&build_id);
}

/* pprof takes the first mapping for the program's own. */
static void export_pprof_add_mappings(struct export_pprof *pprof)
{
    const struct profile *profile = pprof->exporting->profile;
    const char *executable = profile_get(profile, PROFILE_META_EXECUTABLE);
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < profile->module_count; i++) {
            const char *path = profile->modules[i].path;
            bool is_own = executable && path && !strcmp(executable, path);
            if (is_own == own)
                export_pprof_add_mapping(pprof, (uint32_t)i);
        }
}

/* A function is a name in a file. */
static uint64_t export_pprof_function_id(struct export_pprof *pprof, struct frame frame)
{
    const struct profile *profile = pprof->exporting->profile;
    const struct profile_function *function =
        &profile->functions[profile->lines[frame.line].function];
    const char *file = profile->lines[frame.line].file;
    struct strbuf name = STRBUF_INIT, key = STRBUF_INIT, path = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    export_add_file(&path, pprof->exporting, file ? file : function->file);
    strbuf_addf(&key, "%s%c%s", name.data, 0, path.data);
    bool is_new;
    uint32_t id = export_intern(&pprof->functions, key.data, key.length, &is_new);
    if (is_new) {
        uint64_t name_index = export_pprof_string_index(pprof, name.data);
        uint64_t linkage = function->linkage && profile->lines[frame.line].function
                               ? export_pprof_string_index(pprof, function->linkage)
                               : name_index;
        uint64_t file_index = export_pprof_string_index(pprof, path.data);
        struct strbuf made = STRBUF_INIT;
        proto_number(&made, FUNCTION_ID, id);
        proto_number(&made, FUNCTION_NAME, name_index);
        proto_number(&made, FUNCTION_LINKAGE, linkage);
        proto_number(&made, FUNCTION_FILE, file_index);
        proto_part(&pprof->message, PROFILE_FUNCTION, &made);
        strbuf_release(&made);
    }
    strbuf_release(&name);
    strbuf_release(&key);
    strbuf_release(&path);
    return id;
}

static void export_pprof_add_line(struct export_pprof *pprof, struct frame frame)
{
    uint64_t function = export_pprof_function_id(pprof, frame);
    proto_number(&pprof->inner, LINE_FUNCTION, function);
    proto_number(&pprof->inner, LINE_LINE, pprof->exporting->profile->lines[frame.line].line);
    proto_part(&pprof->part, LOCATION_LINE, &pprof->inner);
}

/* A code location with those of its frames that are shown. Its number is the code's. Code without a
 * name has no line: pprof then shows address and mapping. */
static void export_pprof_add_location(struct export_pprof *pprof, uint32_t code_index,
                                      bool show_all)
{
    const struct profile *profile = pprof->exporting->profile;
    const struct profile_code *code = &profile->codes[code_index];
    bool is_code = code_index && !code->mark;
    if (pprof->has_location[code_index])
        return;
    pprof->has_location[code_index] = true;
    proto_number(&pprof->part, LOCATION_ID, (uint64_t)code_index + 1);
    if (is_code && code->module != UINT32_MAX) {
        proto_number(&pprof->part, LOCATION_MAPPING, (uint64_t)code->module + 1);
        proto_number(&pprof->part, LOCATION_ADDRESS,
                     code->address + profile->modules[code->module].bias);
    } else if (is_code) {
        proto_number(&pprof->part, LOCATION_ADDRESS, code->address);
    }
    for (uint32_t i = 0; i < code->line_count; i++) {
        uint32_t line = code->first_line + i;
        bool has_name = !is_code || frame_has_name(profile, frame_at(code_index, line));
        if (has_name && (show_all || !pprof->exporting->hidden[line]))
            export_pprof_add_line(pprof, frame_at(code_index, line));
    }
    proto_part(&pprof->message, PROFILE_LOCATION, &pprof->part);
}

/* ---- Samples ------------------------------------------------------------------------------- */

static bool export_pprof_take_values(const struct export_pprof *pprof, const struct pprof_row *row,
                                     struct strbuf *values)
{
    bool any = false;
    for (size_t i = 0; i < TYPES; i++) {
        if (!export_pprof_has_type(pprof, &types[i]))
            continue;
        uint64_t value = export_pprof_value_of(row, &types[i]);
        proto_varint(values, value);
        any |= value != 0;
    }
    return any;
}

static void export_pprof_add_sample(struct export_pprof *pprof, struct strbuf *locations,
                                    struct strbuf *values)
{
    proto_part(&pprof->part, SAMPLE_LOCATION, locations);
    proto_part(&pprof->part, SAMPLE_VALUE, values);
    proto_part(&pprof->message, PROFILE_SAMPLE, &pprof->part);
}

/* Adds the locations of a path, which are written where they are new. */
static void export_pprof_take_path(struct export_pprof *pprof, uint32_t path,
                                   struct export_stack *stack, struct strbuf *locations)
{
    export_stack_take(stack, pprof->exporting, path);
    bool hidden_only = stack->count == 1 && pprof->exporting->hidden[stack->frames[0].line];
    for (size_t i = 0; i < stack->count; i++) {
        if (i && stack->frames[i].code == stack->frames[i - 1].code &&
            stack->frames[i].line > stack->frames[i - 1].line)
            continue; /* the caller of an inline frame: the same location */
        export_pprof_add_location(pprof, stack->frames[i].code, hidden_only);
        proto_varint(locations, (uint64_t)stack->frames[i].code + 1);
    }
}

static void export_pprof_add_path(struct export_pprof *pprof, const struct pprof_row *row,
                                  uint32_t path, struct export_stack *stack)
{
    struct strbuf locations = STRBUF_INIT, values = STRBUF_INIT;
    const bool *wanted = pprof->exporting->wanted;
    if ((!wanted || wanted[path]) && export_pprof_take_values(pprof, row, &values)) {
        export_pprof_take_path(pprof, path, stack, &locations);
        export_pprof_add_sample(pprof, &locations, &values);
    }
    strbuf_release(&locations);
    strbuf_release(&values);
}

/* ---- Owners of resident memory ------------------------------------------------------------- */

/* A location and a function of the owner's name; their numbers are behind those of code. */
static uint64_t export_pprof_add_owner_location(struct export_pprof *pprof,
                                                const struct profile_owner *owner)
{
    struct strbuf name = STRBUF_INIT, function = STRBUF_INIT;
    uint64_t location = pprof->exporting->profile->code_count + ++pprof->owner_locations;
    bool is_new;
    profile_owner_add_name(&name, owner);
    uint64_t index = export_pprof_string_index(pprof, name.data);
    uint32_t id = export_intern(&pprof->functions, name.data, name.length, &is_new);
    if (is_new) {
        proto_number(&function, FUNCTION_ID, id);
        proto_number(&function, FUNCTION_NAME, index);
        proto_part(&pprof->message, PROFILE_FUNCTION, &function);
    }
    proto_number(&pprof->inner, LINE_FUNCTION, id);
    proto_number(&pprof->part, LOCATION_ID, location);
    proto_part(&pprof->part, LOCATION_LINE, &pprof->inner);
    proto_part(&pprof->message, PROFILE_LOCATION, &pprof->part);
    strbuf_release(&name);
    strbuf_release(&function);
    return location;
}

static void export_pprof_add_unnamed_owner(struct export_pprof *pprof, const struct pprof_row *row,
                                           const struct profile_owner *owner)
{
    struct strbuf locations = STRBUF_INIT, values = STRBUF_INIT;
    if (!pprof->exporting->wanted && export_pprof_take_values(pprof, row, &values)) {
        proto_varint(&locations, export_pprof_add_owner_location(pprof, owner));
        export_pprof_add_sample(pprof, &locations, &values);
    }
    strbuf_release(&locations);
    strbuf_release(&values);
}

/* The tool's own memory is not the program's. */
static void export_pprof_add_owners(struct export_pprof *pprof, struct export_stack *stack)
{
    const struct profile *profile = pprof->exporting->profile;
    for (size_t i = 0; pprof->look && i < profile->owner_count; i++) {
        const struct profile_owner *owner = &profile->owners[i];
        struct pprof_row row = {.resident = owner->resident_bytes};
        if (owner->sample != pprof->look->id || owner->kind == PROFILE_OWNER_TOOL)
            continue;
        if (profile_owner_is_by_path(owner))
            export_pprof_add_path(pprof, &row, owner->path, stack);
        else
            export_pprof_add_unnamed_owner(pprof, &row, owner);
    }
}

static void export_pprof_add_samples(struct export_pprof *pprof)
{
    const struct profile *profile = pprof->exporting->profile;
    struct export_stack stack = EXPORT_STACK_INIT;
    for (size_t i = 0; i < profile->site_count; i++) {
        struct profile_site room;
        struct pprof_row row = {.heap = &profile_site_at(profile, i, &room)->metrics,
                                .resident = pprof->resident ? pprof->resident[i] : FIGURE_UNKNOWN};
        export_pprof_add_path(pprof, &row, profile_site_path(profile, i), &stack);
    }
    for (size_t i = 0; pprof->has_mapped && i < profile->mapped_site_count; i++) {
        struct pprof_row row = {.mapped = &profile->mapped_sites[i].metrics,
                                .resident = FIGURE_UNKNOWN};
        export_pprof_add_path(pprof, &row, profile->mapped_sites[i].path, &stack);
    }
    export_pprof_add_owners(pprof, &stack);
    export_stack_release(&stack);
}

static void export_pprof_add_comments(struct export_pprof *pprof)
{
    const struct profile *profile = pprof->exporting->profile;
    struct strbuf text = STRBUF_INIT;
    facts_add_warnings(&text, profile);
    char *rest = text.data;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            proto_number(&pprof->message, PROFILE_COMMENT, export_pprof_string_index(pprof, line));
    strbuf_release(&text);
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    if (command)
        proto_number(&pprof->message, PROFILE_COMMENT, export_pprof_string_index(pprof, command));
}

static void export_pprof_add_all(struct export_pprof *pprof)
{
    const struct profile *profile = pprof->exporting->profile;
    export_pprof_string_index(pprof, "");
    for (size_t i = 0; i < TYPES; i++)
        if (export_pprof_has_type(pprof, &types[i]))
            export_pprof_add_type(pprof, PROFILE_SAMPLE_TYPE, types[i].name, types[i].unit);
    export_pprof_add_default_type(pprof);
    export_pprof_add_type(pprof, PROFILE_PERIOD_TYPE, "space", "bytes");
    proto_number(&pprof->message, PROFILE_PERIOD,
                 profile->sample_bytes ? profile->sample_bytes : 1);
    proto_number(&pprof->message, PROFILE_TIME_NANOS, export_number(profile, PROFILE_META_START));
    proto_number(&pprof->message, PROFILE_DURATION_NANOS,
                 export_number(profile, PROFILE_META_DURATION));
    export_pprof_add_comments(pprof);
    export_pprof_add_mappings(pprof);
    export_pprof_add_samples(pprof);
}

/* Of a region, and of one level, there is nothing but what its call paths say. */
static void export_pprof_choose_levels(struct export_pprof *pprof)
{
    const struct profile *profile = pprof->exporting->profile;
    bool of_all = !pprof->exporting->options->region &&
                  !profile_get(profile, PROFILE_META_REGION) &&
                  !profile_get(profile, PROFILE_META_LEVEL);
    pprof->look = of_all ? facts_owners_sample(profile) : NULL;
    pprof->has_mapped = of_all && figure_known(profile->program.mapped.live_bytes);
    pprof->resident = pprof->look ? NULL : export_resident(pprof->exporting, NULL);
}

int export_pprof(struct exporting *exporting)
{
    struct export_pprof pprof = {
        .exporting = exporting, .message = STRBUF_INIT, .part = STRBUF_INIT, .inner = STRBUF_INIT};
    struct strbuf packed = STRBUF_INIT;
    export_pprof_choose_levels(&pprof);
    pprof.has_location = calloc(exporting->profile->code_count + 1, sizeof(bool));
    int error = pprof.has_location ? 0 : -ENOMEM;
    if (!error) {
        export_pprof_add_all(&pprof);
        error = gzip_pack(&packed, pprof.message.data, pprof.message.length, 6);
    }
    if (!error)
        fwrite(packed.data, 1, packed.length, exporting->out);
    free(pprof.has_location);
    free(pprof.resident);
    intern_release(&pprof.strings);
    intern_release(&pprof.functions);
    strbuf_release(&packed);
    strbuf_release(&pprof.message);
    strbuf_release(&pprof.part);
    strbuf_release(&pprof.inner);
    return error;
}

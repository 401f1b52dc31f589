/* Reads heap profiles in pprof's profile.proto: those of Go, tcmalloc, jemalloc (by jeprof) and our
 * own. The sample types say which metrics the samples have. Messages are kept by id until all are
 * read, because any of them may come first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/memory.h"
#include "base/varint.h"
#include "import/importers.h"

/* Where programs that are not relocated begin: their addresses are those of the file. */
enum { FIXED_BASE = 0x400000 };
enum { TYPES_MAX = 64, FRAMES_MAX = 256, STACK_MAX = 100000 };

/* A message: fields are read one after the other. */
struct import_pprof_message {
    const unsigned char *at, *end;
    bool is_wrong;
};
struct import_pprof_field {
    unsigned number, kind; /* 0: a number, 2: bytes */
    uint64_t value;
    struct import_pprof_message bytes;
};

static uint64_t import_pprof_varint(struct import_pprof_message *message)
{
    uint64_t value;
    const unsigned char *behind = varint_get(message->at, message->end, &value);

    if (!behind) {
        message->is_wrong = true;
        return 0;
    }
    message->at = behind;
    return value;
}

static bool import_pprof_pass_bytes(struct import_pprof_message *message, uint64_t count)
{
    if (count > (uint64_t)(message->end - message->at)) {
        message->is_wrong = true;
        return false;
    }
    message->at += count;
    return true;
}

/* False: there are no more, or it is wrong. */
static bool import_pprof_next_field(struct import_pprof_message *message,
                                    struct import_pprof_field *field)
{
    if (message->is_wrong || message->at == message->end)
        return false;
    uint64_t key = import_pprof_varint(message);
    *field = (struct import_pprof_field){.number = (unsigned)(key >> 3), .kind = (unsigned)key & 7};
    if (key >> 3 > 1 << 20)
        message->is_wrong = true;
    else if (field->kind == 0)
        field->value = import_pprof_varint(message);
    else if (field->kind == 1)
        import_pprof_pass_bytes(message, 8);
    else if (field->kind == 5)
        import_pprof_pass_bytes(message, 4);
    else if (field->kind == 2) {
        uint64_t count = import_pprof_varint(message);
        field->bytes.at = message->at;
        if (!message->is_wrong && import_pprof_pass_bytes(message, count))
            field->bytes.end = message->at;
    } else
        message->is_wrong = true;
    return !message->is_wrong;
}

/* ---- The tables ---------------------------------------------------------------------------- */

struct import_pprof_entry {
    uint64_t id;
    struct import_pprof_message message;
    uint32_t made; /* what became of it; 0: nothing yet */
};
struct import_pprof_ids {
    struct import_pprof_entry *entries; /* sorted by id, once all are there */
    size_t count, capacity;
};
struct import_pprof {
    struct gather *gather;
    struct strbuf *why;
    struct import_pprof_message *strings;
    size_t string_count, string_capacity;
    struct import_pprof_ids mappings, locations, functions;
    struct import_pprof_message executable; /* the first mapping */
    struct import_pprof_message types[TYPES_MAX];
    size_t type_count;
    size_t offsets[TYPES_MAX]; /* of the metric; SIZE_MAX: of no interest */
    uint64_t duration_ns, time_ns;
    bool has_any;
};

static int import_pprof_fail(struct import_pprof *pprof, const char *what)
{
    strbuf_reset(pprof->why);
    strbuf_addf(pprof->why, "the pprof file %s", what);
    return -EBADMSG;
}

static uint64_t import_pprof_number_in(struct import_pprof_message message, unsigned number)
{
    struct import_pprof_field field;
    uint64_t value = 0;
    while (import_pprof_next_field(&message, &field))
        if (field.number == number && field.kind == 0)
            value = field.value;
    return value;
}

static void import_pprof_add_id(struct import_pprof_ids *ids, struct import_pprof_message message)
{
    array_need_room(&ids->entries, &ids->capacity, ids->count, sizeof *ids->entries);
    ids->entries[ids->count++] =
        (struct import_pprof_entry){import_pprof_number_in(message, 1), message, 0};
}

static int import_pprof_by_id(const void *a, const void *b)
{
    uint64_t left = ((const struct import_pprof_entry *)a)->id,
             right = ((const struct import_pprof_entry *)b)->id;
    return left < right ? -1 : left > right;
}

static void import_pprof_sort_ids(struct import_pprof_ids *ids)
{
    if (ids->count)
        qsort(ids->entries, ids->count, sizeof *ids->entries, import_pprof_by_id);
}

/* NULL: there is none. */
static struct import_pprof_entry *import_pprof_find_id(const struct import_pprof_ids *ids,
                                                       uint64_t id)
{
    struct import_pprof_entry key = {.id = id};
    return ids->count ? bsearch(&key, ids->entries, ids->count, sizeof key, import_pprof_by_id)
                      : NULL;
}

static void import_pprof_string_at(const struct import_pprof *pprof, uint64_t index,
                                   const char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    if (index < pprof->string_count) {
        *text = (const char *)pprof->strings[index].at;
        *length = (size_t)(pprof->strings[index].end - pprof->strings[index].at);
    }
}

/* ---- Which metrics ------------------------------------------------------------------------- */

#define AT(field) offsetof(struct call_metrics, field)
static const struct {
    const char *name;
    size_t offset;
} known_types[] = {
    {"alloc_objects", AT(alloc_count)}, {"alloc_space", AT(alloc_bytes)},
    {"inuse_objects", AT(live_count)},  {"inuse_space", AT(live_bytes)},
    {"objects", AT(live_count)},        {"space", AT(live_bytes)},
    {"allocations", AT(alloc_count)},   {"peak", AT(at_peak_bytes)},
    {"temporary", AT(temporary_count)},
};

static size_t import_pprof_offset_of_type(const struct import_pprof *pprof,
                                          struct import_pprof_message type)
{
    const char *name;
    size_t length;
    import_pprof_string_at(pprof, import_pprof_number_in(type, 1), &name, &length);
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (length == strlen(known_types[i].name) && !memcmp(name, known_types[i].name, length))
            return known_types[i].offset;
    return SIZE_MAX;
}

static int import_pprof_settle_types(struct import_pprof *pprof)
{
    for (size_t i = 0; i < pprof->type_count; i++) {
        pprof->offsets[i] = import_pprof_offset_of_type(pprof, pprof->types[i]);
        for (size_t j = 0; j < i; j++)
            if (pprof->offsets[j] == pprof->offsets[i])
                pprof->offsets[i] = SIZE_MAX;
        if (pprof->offsets[i] == SIZE_MAX)
            continue;
        gather_knows(pprof->gather, pprof->offsets[i]);
        pprof->has_any = true;
    }
    return pprof->has_any
               ? 0
               : import_pprof_fail(pprof, "is not of a heap: none of its sample types is about "
                                          "allocations or memory in use");
}

/* ---- Locations ----------------------------------------------------------------------------- */

static int64_t import_pprof_module_of(struct import_pprof *pprof, uint64_t id, uint64_t *address)
{
    const struct import_pprof_entry *found = id ? import_pprof_find_id(&pprof->mappings, id) : NULL;
    const char *path;
    size_t length;
    if (!found)
        return -1;
    struct import_pprof_message mapping = found->message;
    uint64_t start = import_pprof_number_in(mapping, 2), end = import_pprof_number_in(mapping, 3);
    uint64_t offset = import_pprof_number_in(mapping, 4);
    import_pprof_string_at(pprof, import_pprof_number_in(mapping, 5), &path, &length);
    if (start > INT64_MAX || end > INT64_MAX || end < start)
        start = end = 0;
    bool is_inside = *address >= start && *address < end && offset <= start;
    bool is_fixed = start - offset == FIXED_BASE;
    uint64_t bias = is_inside && !is_fixed ? start - offset : 0;
    *address -= bias;
    return gather_module(pprof->gather, path, length, start, end, bias);
}

static void import_pprof_take_line(struct import_pprof *pprof, struct import_pprof_message line,
                                   struct gather_named *frame)
{
    uint64_t number = import_pprof_number_in(line, 2);
    const struct import_pprof_entry *found =
        import_pprof_find_id(&pprof->functions, import_pprof_number_in(line, 1));
    *frame = (struct gather_named){.line = number <= UINT32_MAX ? (uint32_t)number : 0};
    if (!found)
        return;
    struct import_pprof_message function = found->message;
    import_pprof_string_at(pprof, import_pprof_number_in(function, 2), &frame->function,
                           &frame->function_length);
    import_pprof_string_at(pprof, import_pprof_number_in(function, 4), &frame->file,
                           &frame->file_length);
}

static uint32_t import_pprof_location_of(struct import_pprof *pprof, uint64_t id)
{
    struct import_pprof_entry *found = import_pprof_find_id(&pprof->locations, id);
    struct gather_named frames[FRAMES_MAX];
    size_t count = 0;
    struct import_pprof_field field;
    if (!found || found->made)
        return found ? found->made : 0;
    struct import_pprof_message location = found->message;
    uint64_t address = import_pprof_number_in(location, 3);
    int64_t module = import_pprof_module_of(pprof, import_pprof_number_in(location, 2), &address);
    while (import_pprof_next_field(&location, &field))
        if (field.number == 4 && field.kind == 2 && count < FRAMES_MAX)
            import_pprof_take_line(pprof, field.bytes, &frames[count++]);
    return found->made = gather_location(pprof->gather, module, address & INT64_MAX, frames, count);
}

/* ---- Samples ------------------------------------------------------------------------------- */

struct numbers {
    uint64_t *values;
    size_t count, most;
};

/* Packed, or one field each. */
static bool import_pprof_take_numbers(struct numbers *numbers,
                                      const struct import_pprof_field *field)
{
    struct import_pprof_message packed = field->bytes;
    if (field->kind == 0) {
        if (numbers->count == numbers->most)
            return false;
        numbers->values[numbers->count++] = field->value;
        return true;
    }
    while (packed.at < packed.end && !packed.is_wrong) {
        if (numbers->count == numbers->most)
            return false;
        numbers->values[numbers->count++] = import_pprof_varint(&packed);
    }
    return !packed.is_wrong;
}

/* Values are signed: of a difference they may be below 0, which no profile can say. */
static int import_pprof_add_values(struct import_pprof *pprof, uint32_t path,
                                   const struct numbers *values)
{
    struct call_metrics *metrics = &gather_site(pprof->gather, path)->metrics;
    for (size_t i = 0; i < values->count && i < pprof->type_count; i++) {
        if (pprof->offsets[i] == SIZE_MAX)
            continue;
        if (values->values[i] > INT64_MAX)
            return import_pprof_fail(pprof, "holds values below zero: it is a difference of two");
        gather_add((struct figure *)((char *)metrics + pprof->offsets[i]), values->values[i]);
    }
    return 0;
}

static int import_pprof_take_sample(struct import_pprof *pprof, struct import_pprof_message sample,
                                    uint64_t *stack)
{
    uint64_t values[TYPES_MAX];
    struct numbers locations = {stack, 0, STACK_MAX}, figures = {values, 0, TYPES_MAX};
    struct import_pprof_field field;
    uint32_t path = 0;
    while (import_pprof_next_field(&sample, &field)) {
        struct numbers *numbers = field.number == 1   ? &locations
                                  : field.number == 2 ? &figures
                                                      : NULL;
        if (numbers && (field.kind == 0 || field.kind == 2) &&
            !import_pprof_take_numbers(numbers, &field))
            return import_pprof_fail(pprof, "holds a sample that makes no sense");
    }
    if (sample.is_wrong)
        return import_pprof_fail(pprof, "holds a sample that makes no sense");
    for (size_t i = locations.count; i-- > 0;) {
        uint32_t location = import_pprof_location_of(pprof, stack[i]);
        if (!location)
            return import_pprof_fail(pprof, "holds a sample of a location that is not there");
        path = gather_path(pprof->gather, path, location);
    }
    return import_pprof_add_values(pprof, path, &figures);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void import_pprof_take_table(struct import_pprof *pprof,
                                    const struct import_pprof_field *field)
{
    if (field->number == 6) {
        array_need_room(&pprof->strings, &pprof->string_capacity, pprof->string_count,
                        sizeof *pprof->strings);
        pprof->strings[pprof->string_count++] = field->bytes;
    } else if (field->number == 1 && pprof->type_count < TYPES_MAX) {
        pprof->types[pprof->type_count++] = field->bytes;
    } else if (field->number == 3) {
        import_pprof_add_id(&pprof->mappings, field->bytes);
    } else if (field->number == 4) {
        import_pprof_add_id(&pprof->locations, field->bytes);
    } else if (field->number == 5) {
        import_pprof_add_id(&pprof->functions, field->bytes);
    }
}

static int import_pprof_take_tables(struct import_pprof *pprof, struct import_pprof_message message)
{
    struct import_pprof_field field;
    while (import_pprof_next_field(&message, &field)) {
        if (field.kind == 2)
            import_pprof_take_table(pprof, &field);
        else if (field.kind == 0 && field.number == 9)
            pprof->time_ns = field.value;
        else if (field.kind == 0 && field.number == 10)
            pprof->duration_ns = field.value;
    }
    pprof->executable = pprof->mappings.count ? pprof->mappings.entries[0].message
                                              : (struct import_pprof_message){0};
    import_pprof_sort_ids(&pprof->mappings);
    import_pprof_sort_ids(&pprof->locations);
    import_pprof_sort_ids(&pprof->functions);
    return message.is_wrong ? import_pprof_fail(pprof, "is cut off or damaged")
                            : import_pprof_settle_types(pprof);
}

static int import_pprof_take_samples(struct import_pprof *pprof,
                                     struct import_pprof_message message)
{
    struct import_pprof_field field;
    uint64_t *stack = calloc(STACK_MAX, sizeof *stack);
    int error = 0;
    if (!stack)
        memory_exhausted();
    while (!error && import_pprof_next_field(&message, &field))
        if (field.number == 2 && field.kind == 2)
            error = import_pprof_take_sample(pprof, field.bytes, stack);
    free(stack);
    return error;
}

static void import_pprof_finish(struct import_pprof *pprof)
{
    const char *path;
    size_t length;
    if (pprof->mappings.count) {
        import_pprof_string_at(pprof, import_pprof_number_in(pprof->executable, 5), &path, &length);
        const char *slash = path ? memrchr(path, '/', length) : NULL;
        gather_fact(pprof->gather, PROFILE_META_EXECUTABLE, path, length);
        if (slash)
            gather_fact(pprof->gather, PROFILE_META_PROGRAM, slash + 1,
                        length - (size_t)(slash + 1 - path));
        else
            gather_fact(pprof->gather, PROFILE_META_PROGRAM, path, length);
    }
    if (pprof->time_ns && pprof->time_ns <= INT64_MAX)
        gather_number_fact(pprof->gather, PROFILE_META_START, pprof->time_ns);
    if (pprof->duration_ns && pprof->duration_ns <= INT64_MAX)
        pprof->gather->duration_ns = figure_of(pprof->duration_ns);
}

/* The first field of all writers that are known is the first sample type, or a sample. */
bool import_is_pprof(const char *bytes, size_t count)
{
    return count > 2 && (bytes[0] == 0x0a || bytes[0] == 0x12 || bytes[0] == 0x32);
}

int import_pprof(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct import_pprof pprof = {.gather = gather, .why = why};
    struct import_pprof_message message = {(const unsigned char *)bytes,
                                           (const unsigned char *)bytes + count, false};
    int error = import_pprof_take_tables(&pprof, message);
    if (!error)
        error = import_pprof_take_samples(&pprof, message);
    if (!error)
        import_pprof_finish(&pprof);
    free(pprof.strings);
    free(pprof.mappings.entries);
    free(pprof.locations.entries);
    free(pprof.functions.entries);
    return error;
}

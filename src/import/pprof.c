/* pprof's profile.proto, of heaps: Go's, tcmalloc's, jemalloc's by jeprof, and our own. Its sample
 * types say which metrics there are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/room.h"
#include "import/formats.h"

/* Where programs that are not relocated begin: their addresses are those of the file. */
enum { FIXED_BASE = 0x400000 };
enum { TYPES_MAX = 64, FRAMES_MAX = 256, STACK_MAX = 100000 };

/* A message: fields are read one after the other. */
struct message {
    const unsigned char *at, *end;
    bool is_wrong;
};
struct field {
    unsigned number, kind; /* 0: a number, 2: bytes */
    uint64_t value;
    struct message bytes;
};

static uint64_t varint(struct message *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        unsigned char byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    message->is_wrong = true;
    return 0;
}

static bool pass_bytes(struct message *message, uint64_t count)
{
    if (count > (uint64_t)(message->end - message->at)) {
        message->is_wrong = true;
        return false;
    }
    message->at += count;
    return true;
}

/* False: there are no more, or it is wrong. */
static bool next_field(struct message *message, struct field *field)
{
    if (message->is_wrong || message->at == message->end)
        return false;
    uint64_t key = varint(message);
    *field = (struct field){.number = (unsigned)(key >> 3), .kind = (unsigned)key & 7};
    if (key >> 3 > 1 << 20)
        message->is_wrong = true;
    else if (field->kind == 0)
        field->value = varint(message);
    else if (field->kind == 1)
        pass_bytes(message, 8);
    else if (field->kind == 5)
        pass_bytes(message, 4);
    else if (field->kind == 2) {
        uint64_t count = varint(message);
        field->bytes.at = message->at;
        if (!message->is_wrong && pass_bytes(message, count))
            field->bytes.end = message->at;
    } else
        message->is_wrong = true;
    return !message->is_wrong;
}

/* ---- The tables ---------------------------------------------------------------------------- */

struct entry {
    uint64_t id;
    struct message message;
    uint32_t made; /* what became of it; 0: nothing yet */
};
struct ids {
    struct entry *entries; /* sorted by id, once all are there */
    size_t count, capacity;
};
struct pprof {
    struct gather *gather;
    struct strbuf *why;
    struct message *strings;
    size_t string_count, string_capacity;
    struct ids mappings, locations, functions;
    struct message executable; /* the first mapping */
    struct message types[TYPES_MAX];
    size_t type_count;
    size_t offsets[TYPES_MAX]; /* of the metric; SIZE_MAX: of no interest */
    uint64_t duration_ns, time_ns;
    bool has_any;
};

static int fail(struct pprof *pprof, const char *what)
{
    strbuf_reset(pprof->why);
    strbuf_addf(pprof->why, "the pprof file %s", what);
    return -EBADMSG;
}

static uint64_t number_in(struct message message, unsigned number)
{
    struct field field;
    uint64_t value = 0;
    while (next_field(&message, &field))
        if (field.number == number && field.kind == 0)
            value = field.value;
    return value;
}

static void add_id(struct ids *ids, struct message message)
{
    room_need(&ids->entries, &ids->capacity, ids->count, sizeof *ids->entries);
    ids->entries[ids->count++] = (struct entry){number_in(message, 1), message, 0};
}

static int by_id(const void *a, const void *b)
{
    uint64_t left = ((const struct entry *)a)->id, right = ((const struct entry *)b)->id;
    return left < right ? -1 : left > right;
}

static void sort_ids(struct ids *ids)
{
    if (ids->count)
        qsort(ids->entries, ids->count, sizeof *ids->entries, by_id);
}

/* NULL: there is none. */
static struct entry *find_id(const struct ids *ids, uint64_t id)
{
    struct entry key = {.id = id};
    return ids->count ? bsearch(&key, ids->entries, ids->count, sizeof key, by_id) : NULL;
}

static void string_at(const struct pprof *pprof, uint64_t index, const char **text, size_t *length)
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

static size_t offset_of_type(const struct pprof *pprof, struct message type)
{
    const char *name;
    size_t length;
    string_at(pprof, number_in(type, 1), &name, &length);
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (length == strlen(known_types[i].name) && !memcmp(name, known_types[i].name, length))
            return known_types[i].offset;
    return SIZE_MAX;
}

static int settle_types(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->type_count; i++) {
        pprof->offsets[i] = offset_of_type(pprof, pprof->types[i]);
        for (size_t j = 0; j < i; j++)
            if (pprof->offsets[j] == pprof->offsets[i])
                pprof->offsets[i] = SIZE_MAX;
        if (pprof->offsets[i] == SIZE_MAX)
            continue;
        gather_knows(pprof->gather, pprof->offsets[i]);
        pprof->has_any = true;
    }
    return pprof->has_any ? 0
                          : fail(pprof, "is not of a heap: none of its sample types is about "
                                        "allocations or memory in use");
}

/* ---- Locations ----------------------------------------------------------------------------- */

static int64_t module_of(struct pprof *pprof, uint64_t id, uint64_t *address)
{
    const struct entry *found = id ? find_id(&pprof->mappings, id) : NULL;
    const char *path;
    size_t length;
    if (!found)
        return -1;
    struct message mapping = found->message;
    uint64_t start = number_in(mapping, 2), end = number_in(mapping, 3);
    uint64_t offset = number_in(mapping, 4);
    string_at(pprof, number_in(mapping, 5), &path, &length);
    if (start > INT64_MAX || end > INT64_MAX || end < start)
        start = end = 0;
    bool is_inside = *address >= start && *address < end && offset <= start;
    bool is_fixed = start - offset == FIXED_BASE;
    uint64_t bias = is_inside && !is_fixed ? start - offset : 0;
    *address -= bias;
    return gather_module(pprof->gather, path, length, start, end, bias);
}

static void take_line(struct pprof *pprof, struct message line, struct gather_named *frame)
{
    uint64_t number = number_in(line, 2);
    const struct entry *found = find_id(&pprof->functions, number_in(line, 1));
    *frame = (struct gather_named){.line = number <= UINT32_MAX ? (uint32_t)number : 0};
    if (!found)
        return;
    struct message function = found->message;
    string_at(pprof, number_in(function, 2), &frame->function, &frame->function_length);
    string_at(pprof, number_in(function, 4), &frame->file, &frame->file_length);
}

static uint32_t location_of(struct pprof *pprof, uint64_t id)
{
    struct entry *found = find_id(&pprof->locations, id);
    struct gather_named frames[FRAMES_MAX];
    size_t count = 0;
    struct field field;
    if (!found || found->made)
        return found ? found->made : 0;
    struct message location = found->message;
    uint64_t address = number_in(location, 3);
    int64_t module = module_of(pprof, number_in(location, 2), &address);
    while (next_field(&location, &field))
        if (field.number == 4 && field.kind == 2 && count < FRAMES_MAX)
            take_line(pprof, field.bytes, &frames[count++]);
    return found->made = gather_location(pprof->gather, module, address & INT64_MAX, frames, count);
}

/* ---- Samples ------------------------------------------------------------------------------- */

struct numbers {
    uint64_t *values;
    size_t count, most;
};

/* Packed, or one field each. */
static bool take_numbers(struct numbers *numbers, const struct field *field)
{
    struct message packed = field->bytes;
    if (field->kind == 0) {
        if (numbers->count == numbers->most)
            return false;
        numbers->values[numbers->count++] = field->value;
        return true;
    }
    while (packed.at < packed.end && !packed.is_wrong) {
        if (numbers->count == numbers->most)
            return false;
        numbers->values[numbers->count++] = varint(&packed);
    }
    return !packed.is_wrong;
}

/* Values are signed: of a difference they may be below 0, which no profile can say. */
static int add_values(struct pprof *pprof, uint32_t path, const struct numbers *values)
{
    struct call_metrics *metrics = &gather_site(pprof->gather, path)->metrics;
    for (size_t i = 0; i < values->count && i < pprof->type_count; i++) {
        uint64_t sum;
        if (pprof->offsets[i] == SIZE_MAX)
            continue;
        if (values->values[i] > INT64_MAX)
            return fail(pprof, "holds values below zero: it is a difference of two");
        memcpy(&sum, (char *)metrics + pprof->offsets[i], sizeof sum);
        sum = gather_sum(sum, values->values[i]);
        memcpy((char *)metrics + pprof->offsets[i], &sum, sizeof sum);
    }
    return 0;
}

static int take_sample(struct pprof *pprof, struct message sample, uint64_t *stack)
{
    uint64_t values[TYPES_MAX];
    struct numbers locations = {stack, 0, STACK_MAX}, figures = {values, 0, TYPES_MAX};
    struct field field;
    uint32_t path = 0;
    while (next_field(&sample, &field)) {
        struct numbers *numbers = field.number == 1   ? &locations
                                  : field.number == 2 ? &figures
                                                      : NULL;
        if (numbers && (field.kind == 0 || field.kind == 2) && !take_numbers(numbers, &field))
            return fail(pprof, "holds a sample that makes no sense");
    }
    if (sample.is_wrong)
        return fail(pprof, "holds a sample that makes no sense");
    for (size_t i = locations.count; i-- > 0;) {
        uint32_t location = location_of(pprof, stack[i]);
        if (!location)
            return fail(pprof, "holds a sample of a location that is not there");
        path = gather_path(pprof->gather, path, location);
    }
    return add_values(pprof, path, &figures);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void take_table(struct pprof *pprof, const struct field *field)
{
    if (field->number == 6) {
        room_need(&pprof->strings, &pprof->string_capacity, pprof->string_count,
                  sizeof *pprof->strings);
        pprof->strings[pprof->string_count++] = field->bytes;
    } else if (field->number == 1 && pprof->type_count < TYPES_MAX) {
        pprof->types[pprof->type_count++] = field->bytes;
    } else if (field->number == 3) {
        add_id(&pprof->mappings, field->bytes);
    } else if (field->number == 4) {
        add_id(&pprof->locations, field->bytes);
    } else if (field->number == 5) {
        add_id(&pprof->functions, field->bytes);
    }
}

static int take_tables(struct pprof *pprof, struct message message)
{
    struct field field;
    while (next_field(&message, &field)) {
        if (field.kind == 2)
            take_table(pprof, &field);
        else if (field.kind == 0 && field.number == 9)
            pprof->time_ns = field.value;
        else if (field.kind == 0 && field.number == 10)
            pprof->duration_ns = field.value;
    }
    pprof->executable =
        pprof->mappings.count ? pprof->mappings.entries[0].message : (struct message){0};
    sort_ids(&pprof->mappings);
    sort_ids(&pprof->locations);
    sort_ids(&pprof->functions);
    return message.is_wrong ? fail(pprof, "is cut off or damaged") : settle_types(pprof);
}

static int take_samples(struct pprof *pprof, struct message message)
{
    struct field field;
    uint64_t *stack = calloc(STACK_MAX, sizeof *stack);
    int error = 0;
    if (!stack)
        abort();
    while (!error && next_field(&message, &field))
        if (field.number == 2 && field.kind == 2)
            error = take_sample(pprof, field.bytes, stack);
    free(stack);
    return error;
}

static void finish(struct pprof *pprof)
{
    const char *path;
    size_t length;
    if (pprof->mappings.count) {
        string_at(pprof, number_in(pprof->executable, 5), &path, &length);
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
        pprof->gather->duration_ns = pprof->duration_ns;
}

/* The first field of all writers that are known is the first sample type, or a sample. */
bool import_is_pprof(const char *bytes, size_t count)
{
    return count > 2 && (bytes[0] == 0x0a || bytes[0] == 0x12 || bytes[0] == 0x32);
}

int import_pprof(struct gather *gather, const char *bytes, size_t count, struct strbuf *why)
{
    struct pprof pprof = {.gather = gather, .why = why};
    struct message message = {(const unsigned char *)bytes, (const unsigned char *)bytes + count,
                              false};
    int error = take_tables(&pprof, message);
    if (!error)
        error = take_samples(&pprof, message);
    if (!error)
        finish(&pprof);
    free(pprof.strings);
    free(pprof.mappings.entries);
    free(pprof.locations.entries);
    free(pprof.functions.entries);
    return error;
}

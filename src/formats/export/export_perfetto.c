/* A Perfetto trace, for ui.perfetto.dev and trace_processor: memory over time as counter tracks,
 * the live bytes of single call paths as tracks of their own, and two heap profiles with their call
 * stacks: what was allocated and freed, and what was alive at the peak.
 *
 * Times are nanoseconds since the start of the recording. */
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "export/proto.h"
#include "format/names.h"
#include "base/memory.h"

/* Fields of the messages, by their names in Perfetto's .proto files. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_PROFILE = 37,
    PACKET_TRACK_DESCRIPTOR = 60,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_COMMAND = 2,
    PROCESS_NAME = 6,
    COUNTER_UNIT = 3,
    UNIT_COUNT = 2,
    UNIT_BYTES = 3,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_COUNTER_VALUE = 30,
    TYPE_COUNTER = 4,
    PROFILE_STRINGS = 1,
    PROFILE_FRAMES = 2,
    PROFILE_CALLSTACKS = 3,
    PROFILE_MAPPINGS = 4,
    PROFILE_DUMPS = 5,
    PROFILE_CONTINUED = 6,
    PROFILE_INDEX = 7,
    INTERNED_ID = 1,
    INTERNED_TEXT = 2,
    MAPPING_ID = 1,
    MAPPING_BUILD_ID = 2,
    MAPPING_START = 4,
    MAPPING_END = 5,
    MAPPING_PATH = 7,
    FRAME_ID = 1,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_PC = 4,
    FRAME_LINE = 6,
    CALLSTACK_ID = 1,
    CALLSTACK_FRAME = 2,
    DUMP_PID = 1,
    DUMP_SAMPLES = 2,
    DUMP_FROM_STARTUP = 3,
    DUMP_TIMESTAMP = 9,
    DUMP_HEAP_NAME = 11,
    DUMP_INTERVAL = 12,
    SAMPLE_CALLSTACK = 1,
    SAMPLE_ALLOCATED = 2,
    SAMPLE_FREED = 3,
    SAMPLE_ALLOC_COUNT = 5,
    SAMPLE_FREE_COUNT = 6,
    SAMPLE_MAX = 8,
};

enum { SEQUENCE = 1, STATE_CLEARED = 1, PROCESS_TRACK = 1, PATH_TRACKS = 32 };
/* A packet that grows beyond this is continued in the next: readers map a packet at once. */
enum { PACKET_BYTES = 1 << 20 };

struct perfetto {
    struct exporting *exporting;
    struct strbuf packet, part, inner;
    bool has_begun;
    uint64_t next_track;
    /* of the heap profiles */
    struct intern strings, frames;
    bool *has_mapping; /* by module */
    uint64_t packets;
};

static uint64_t export_perfetto_pid_of(const struct perfetto *perfetto)
{
    uint64_t pid = export_number(perfetto->exporting->profile, PROFILE_META_PID);
    return pid ? pid : 1;
}

/* Adds what packets have in common and writes it. */
static void export_perfetto_write_packet(struct perfetto *perfetto, uint64_t time_ns)
{
    struct strbuf framed = STRBUF_INIT;
    proto_number(&perfetto->packet, PACKET_TIMESTAMP, time_ns);
    proto_number(&perfetto->packet, PACKET_SEQUENCE, SEQUENCE);
    if (!perfetto->has_begun)
        proto_number(&perfetto->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    perfetto->has_begun = true;
    proto_part(&framed, TRACE_PACKET, &perfetto->packet);
    fwrite(framed.data, 1, framed.length, perfetto->exporting->out);
    strbuf_release(&framed);
}

/* ---- Tracks -------------------------------------------------------------------------------- */

static void export_perfetto_write_process(struct perfetto *perfetto)
{
    const struct profile *profile = perfetto->exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    proto_number(&perfetto->part, TRACK_UUID, PROCESS_TRACK);
    proto_number(&perfetto->inner, PROCESS_PID, export_perfetto_pid_of(perfetto));
    proto_string(&perfetto->inner, PROCESS_COMMAND, command ? command : export_title(profile));
    proto_string(&perfetto->inner, PROCESS_NAME, export_title(profile));
    proto_part(&perfetto->part, TRACK_PROCESS, &perfetto->inner);
    proto_part(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, &perfetto->part);
    export_perfetto_write_packet(perfetto, 0);
    perfetto->next_track = PROCESS_TRACK + 1;
}

static uint64_t export_perfetto_begin_counter(struct perfetto *perfetto, const char *name,
                                              unsigned unit)
{
    uint64_t track = perfetto->next_track++;
    proto_number(&perfetto->part, TRACK_UUID, track);
    proto_string(&perfetto->part, TRACK_NAME, name);
    proto_number(&perfetto->part, TRACK_PARENT, PROCESS_TRACK);
    proto_number(&perfetto->inner, COUNTER_UNIT, unit);
    proto_part(&perfetto->part, TRACK_COUNTER, &perfetto->inner);
    proto_part(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, &perfetto->part);
    export_perfetto_write_packet(perfetto, 0);
    return track;
}

static void export_perfetto_write_value(struct perfetto *perfetto, uint64_t track, uint64_t time_ns,
                                        uint64_t value)
{
    proto_number(&perfetto->part, EVENT_TYPE, TYPE_COUNTER);
    proto_number(&perfetto->part, EVENT_TRACK, track);
    proto_number(&perfetto->part, EVENT_COUNTER_VALUE, value);
    proto_part(&perfetto->packet, PACKET_TRACK_EVENT, &perfetto->part);
    export_perfetto_write_packet(perfetto, time_ns);
}

/* A level keeps its extremes in each interval: the highest stands in its middle, the lowest at its
 * end. The highest of all is put at its own moment, where that is known. */
static void export_perfetto_write_level(struct perfetto *perfetto, const char *name, unsigned unit,
                                        size_t offset)
{
    const struct profile *profile = perfetto->exporting->profile;
    bool has_begun = false;
    uint64_t track = 0;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        struct timeline_level level;
        uint64_t lowest, highest;
        memcpy(&level, (const char *)&profile->buckets[i] + offset, sizeof level);
        if (!figure_get(level.min, &lowest) || !figure_get(level.max, &highest))
            continue;
        if (!has_begun)
            track = export_perfetto_begin_counter(perfetto, name, unit);
        has_begun = true;
        uint64_t time_ns = i * profile->bucket_ns;
        export_perfetto_write_value(perfetto, track, time_ns + profile->bucket_ns / 2, highest);
        if (lowest < highest)
            export_perfetto_write_value(perfetto, track, time_ns + profile->bucket_ns - 1, lowest);
    }
}

static void export_perfetto_write_rate(struct perfetto *perfetto, const char *name, unsigned unit,
                                       size_t offset)
{
    const struct profile *profile = perfetto->exporting->profile;
    if (!profile->bucket_count || !profile->bucket_ns)
        return;
    uint64_t track = export_perfetto_begin_counter(perfetto, name, unit);
    for (size_t i = 0; i < profile->bucket_count; i++) {
        struct figure figure;
        uint64_t count;
        memcpy(&figure, (const char *)&profile->buckets[i] + offset, sizeof figure);
        if (figure_get(figure, &count))
            export_perfetto_write_value(
                perfetto, track, i * profile->bucket_ns,
                (uint64_t)((double)count * 1e9 / (double)profile->bucket_ns));
    }
}

#define AT(field) offsetof(struct timeline_bucket, field)
static void export_perfetto_write_timeline(struct perfetto *perfetto)
{
    if (!export_is_of(perfetto->exporting, MEMORY_RESIDENT))
        export_perfetto_write_level(perfetto, export_level_words(perfetto->exporting), UNIT_BYTES,
                                    AT(requested));
    if (export_has_mapped(perfetto->exporting))
        export_perfetto_write_level(perfetto, "mapped", UNIT_BYTES, AT(mapped));
    export_perfetto_write_level(perfetto, "resident", UNIT_BYTES, AT(physical));
    export_perfetto_write_level(perfetto, "virtual", UNIT_BYTES, AT(virt));
    export_perfetto_write_level(perfetto, "live blocks", UNIT_COUNT, AT(blocks));
    const struct profile *profile = perfetto->exporting->profile;
    if (profile->bucket_count && !figure_known(profile->buckets[0].alloc_count))
        return;
    export_perfetto_write_rate(perfetto, "allocations per second", UNIT_COUNT, AT(alloc_count));
    export_perfetto_write_rate(perfetto, "bytes allocated per second", UNIT_BYTES, AT(alloc_bytes));
}

/* ---- Single call paths --------------------------------------------------------------------- */

static uint64_t export_perfetto_highest_point(const struct curve *curve)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < curve->count; i++)
        if (curve->points[i].bytes > bytes)
            bytes = curve->points[i].bytes;
    return bytes;
}

static int export_perfetto_by_falling_height(const void *a, const void *b)
{
    uint64_t left = export_perfetto_highest_point(*(const struct curve *const *)a);
    uint64_t right = export_perfetto_highest_point(*(const struct curve *const *)b);
    return left < right ? 1 : left > right ? -1 : 0;
}

/* "load < parse < main": the innermost frames of its path. */
static void export_perfetto_name_curve(struct perfetto *perfetto, uint32_t node,
                                       struct strbuf *name)
{
    struct export_stack stack = EXPORT_STACK_INIT;
    struct strbuf full = STRBUF_INIT;
    export_stack_take(&stack, perfetto->exporting, node);
    for (size_t i = 0; i < stack.count && i < 3; i++) {
        strbuf_reset(&full);
        frame_add_name(&full, perfetto->exporting->profile, stack.frames[i]);
        strbuf_add_string(name, i ? " < " : "");
        name_add_short(name, full.data, 40);
    }
    strbuf_release(&full);
    export_stack_release(&stack);
}

static void export_perfetto_write_curve(struct perfetto *perfetto, const struct curve *curve)
{
    struct strbuf name = STRBUF_INIT;
    export_perfetto_name_curve(perfetto, curve->node, &name);
    uint64_t track = export_perfetto_begin_counter(perfetto, name.data, UNIT_BYTES);
    for (uint32_t i = 0; i < curve->count; i++)
        export_perfetto_write_value(perfetto, track, curve->points[i].ticks,
                                    curve->points[i].bytes);
    strbuf_release(&name);
}

static void export_perfetto_write_curves(struct perfetto *perfetto)
{
    const struct profile *profile = perfetto->exporting->profile;
    const struct curve **curves = calloc(profile->curve_count + 1, sizeof *curves);
    size_t count = 0;
    if (!curves)
        memory_exhausted();
    for (size_t i = 0; i < profile->curve_count; i++) {
        const bool *wanted = perfetto->exporting->wanted;
        if (!wanted || wanted[profile->curves[i].node])
            curves[count++] = &profile->curves[i];
    }
    qsort(curves, count, sizeof *curves, export_perfetto_by_falling_height);
    for (size_t i = 0; i < count && i < PATH_TRACKS; i++)
        export_perfetto_write_curve(perfetto, curves[i]);
    free(curves);
}

/* ---- Heap profiles ------------------------------------------------------------------------- */

static uint64_t export_perfetto_string_id(struct perfetto *perfetto, const char *text)
{
    bool is_new;
    uint32_t id = export_intern(&perfetto->strings, text, strlen(text), &is_new);
    if (is_new) {
        struct strbuf made = STRBUF_INIT;
        proto_number(&made, INTERNED_ID, id);
        proto_string(&made, INTERNED_TEXT, text);
        proto_part(&perfetto->part, PROFILE_STRINGS, &made);
        strbuf_release(&made);
    }
    return id;
}

/* Path components are strings of their own. */
static void export_perfetto_add_path(struct perfetto *perfetto, struct strbuf *made,
                                     const char *path)
{
    char *copy = strdup(path), *rest = copy;
    if (!copy)
        memory_exhausted();
    for (char *piece; (piece = strsep(&rest, "/"));)
        if (*piece)
            proto_number(made, MAPPING_PATH, export_perfetto_string_id(perfetto, piece));
    free(copy);
}

static uint64_t export_perfetto_mapping_id(struct perfetto *perfetto, uint32_t index)
{
    const struct profile_module *module = &perfetto->exporting->profile->modules[index];
    struct strbuf made = STRBUF_INIT, build_id = STRBUF_INIT;
    if (!perfetto->has_mapping[index]) {
        perfetto->has_mapping[index] = true;
        strbuf_add(&build_id, module->build_id, module->build_id_bytes);
        proto_number(&made, MAPPING_ID, (uint64_t)index + 1);
        if (module->build_id_bytes && !memchr(build_id.data, 0, build_id.length))
            proto_number(&made, MAPPING_BUILD_ID,
                         export_perfetto_string_id(perfetto, build_id.data));
        proto_number(&made, MAPPING_START, module->start);
        proto_number(&made, MAPPING_END, module->end);
        export_perfetto_add_path(perfetto, &made, module->path ? module->path : "");
        proto_part(&perfetto->part, PROFILE_MAPPINGS, &made);
        strbuf_release(&made);
        strbuf_release(&build_id);
    }
    return (uint64_t)index + 1;
}

static uint64_t export_perfetto_frame_id(struct perfetto *perfetto, struct frame frame)
{
    const struct profile *profile = perfetto->exporting->profile;
    const struct profile_code *code = &profile->codes[frame.code];
    bool is_new;
    uint32_t key[] = {frame.code, frame.line};
    uint32_t id = export_intern(&perfetto->frames, (char *)key, sizeof key, &is_new);
    if (!is_new)
        return id;
    struct strbuf name = STRBUF_INIT, made = STRBUF_INIT;
    frame_add_name(&name, profile, frame);
    uint64_t name_id = export_perfetto_string_id(perfetto, name.data);
    proto_number(&made, FRAME_ID, id);
    proto_number(&made, FRAME_FUNCTION, name_id);
    if (code->module != UINT32_MAX) {
        proto_number(&made, FRAME_MAPPING, export_perfetto_mapping_id(perfetto, code->module));
        proto_number(&made, FRAME_PC, code->address);
    }
    if (profile->lines[frame.line].line)
        proto_number(&made, FRAME_LINE, profile->lines[frame.line].line);
    proto_part(&perfetto->part, PROFILE_FRAMES, &made);
    strbuf_release(&name);
    strbuf_release(&made);
    return id;
}

/* Outermost frame first. */
static void export_perfetto_add_callstack(struct perfetto *perfetto, size_t site,
                                          struct export_stack *stack)
{
    struct strbuf made = STRBUF_INIT;
    export_stack_take(stack, perfetto->exporting,
                      profile_site_path(perfetto->exporting->profile, site));
    proto_number(&made, CALLSTACK_ID, (uint64_t)site + 1);
    for (size_t i = stack->count; i-- > 0;)
        proto_number(&made, CALLSTACK_FRAME, export_perfetto_frame_id(perfetto, stack->frames[i]));
    proto_part(&perfetto->part, PROFILE_CALLSTACKS, &made);
    strbuf_release(&made);
}

/* A field that is absent reads as 0, so a figure that is not known has no field. */
static void export_perfetto_number(struct strbuf *made, unsigned field, struct figure figure)
{
    uint64_t number;
    if (figure_get(figure, &number))
        proto_number(made, field, number);
}

/* What was allocated has been freed or is alive, so each follows from the two others. */
static struct figure export_perfetto_freed(struct figure freed, struct figure made,
                                           struct figure live)
{
    return figure_known(freed) ? freed : figure_sub(made, live);
}

static bool export_perfetto_add_sample(struct strbuf *dump, size_t site,
                                       const struct call_metrics *metrics, bool at_peak)
{
    struct strbuf made = STRBUF_INIT;
    struct figure blocks = export_blocks(metrics), bytes = export_bytes(metrics);
    if (!figure_positive(at_peak ? metrics->at_peak_bytes : blocks))
        return false;
    proto_number(&made, SAMPLE_CALLSTACK, (uint64_t)site + 1);
    if (at_peak) {
        export_perfetto_number(&made, SAMPLE_MAX, metrics->at_peak_bytes);
    } else {
        export_perfetto_number(&made, SAMPLE_ALLOCATED, bytes);
        export_perfetto_number(
            &made, SAMPLE_FREED,
            export_perfetto_freed(metrics->free_bytes, bytes, metrics->live_bytes));
        export_perfetto_number(&made, SAMPLE_ALLOC_COUNT, blocks);
        export_perfetto_number(
            &made, SAMPLE_FREE_COUNT,
            export_perfetto_freed(metrics->free_count, blocks, metrics->live_count));
    }
    proto_part(dump, DUMP_SAMPLES, &made);
    strbuf_release(&made);
    return true;
}

static void export_perfetto_begin_dump(struct perfetto *perfetto, struct strbuf *dump,
                                       const char *heap, uint64_t time_ns)
{
    const struct profile *profile = perfetto->exporting->profile;
    proto_number(dump, DUMP_PID, export_perfetto_pid_of(perfetto));
    proto_number(dump, DUMP_FROM_STARTUP, 1);
    proto_number(dump, DUMP_TIMESTAMP, time_ns);
    proto_string(dump, DUMP_HEAP_NAME, heap);
    proto_number(dump, DUMP_INTERVAL, profile->sample_bytes ? profile->sample_bytes : 1);
}

static void export_perfetto_write_profile(struct perfetto *perfetto, struct strbuf *dump,
                                          uint64_t time_ns, bool is_continued)
{
    proto_part(&perfetto->part, PROFILE_DUMPS, dump);
    proto_number(&perfetto->part, PROFILE_CONTINUED, is_continued);
    proto_number(&perfetto->part, PROFILE_INDEX, perfetto->packets++);
    proto_part(&perfetto->packet, PACKET_PROFILE, &perfetto->part);
    export_perfetto_write_packet(perfetto, time_ns);
}

/* Each dump has all that it refers to in its own packets. */
static void export_perfetto_write_dump(struct perfetto *perfetto, const char *heap,
                                       uint64_t time_ns, bool at_peak)
{
    const struct profile *profile = perfetto->exporting->profile;
    struct export_stack stack = EXPORT_STACK_INIT;
    struct strbuf dump = STRBUF_INIT;
    intern_release(&perfetto->strings);
    intern_release(&perfetto->frames);
    memset(perfetto->has_mapping, 0, profile->module_count * sizeof *perfetto->has_mapping);
    export_perfetto_string_id(perfetto, "");
    export_perfetto_begin_dump(perfetto, &dump, heap, time_ns);
    for (size_t i = 0; i < profile->site_count; i++) {
        struct profile_site room;
        if (export_wants(perfetto->exporting, i) &&
            export_perfetto_add_sample(&dump, i, &profile_site_at(profile, i, &room)->metrics,
                                       at_peak))
            export_perfetto_add_callstack(perfetto, i, &stack);
        if (perfetto->part.length + dump.length > PACKET_BYTES) {
            export_perfetto_write_profile(perfetto, &dump, time_ns, true);
            export_perfetto_begin_dump(perfetto, &dump, heap, time_ns);
        }
    }
    export_perfetto_write_profile(perfetto, &dump, time_ns, false);
    strbuf_release(&dump);
    export_stack_release(&stack);
}

int export_perfetto(struct exporting *exporting)
{
    const struct profile *profile = exporting->profile;
    struct perfetto perfetto = {
        .exporting = exporting, .packet = STRBUF_INIT, .part = STRBUF_INIT, .inner = STRBUF_INIT};
    perfetto.has_mapping = calloc(profile->module_count + 1, sizeof *perfetto.has_mapping);
    if (!perfetto.has_mapping)
        memory_exhausted();
    export_perfetto_write_process(&perfetto);
    export_perfetto_write_timeline(&perfetto);
    export_perfetto_write_curves(&perfetto);
    export_perfetto_write_dump(&perfetto, "malloc at peak", figure_or(exporting->peak_ns, 0), true);
    export_perfetto_write_dump(&perfetto, "malloc", export_number(profile, PROFILE_META_DURATION),
                               false);
    free(perfetto.has_mapping);
    intern_release(&perfetto.strings);
    intern_release(&perfetto.frames);
    strbuf_release(&perfetto.packet);
    strbuf_release(&perfetto.part);
    strbuf_release(&perfetto.inner);
    return 0;
}

/* Writes types as JSON: all known types, those with most at the peak first; then the blocks of no
 * known type, and what was alive at a look. */
#include <errno.h>
#include <stdlib.h>
#include "aggregate/live_types.h"
#include "aggregate/path_types.h"
#include "report/report_writer.h"

/* The layout; null where it is not known. */
static void report_json_types_layout(struct report_writer *writer, const struct path_type *type)
{
    const struct profile_call_type *layout = type->layout;
    json_figure(&writer->json, "size_bytes", layout ? figure_of(layout->bytes) : FIGURE_UNKNOWN);
    json_figure(&writer->json, "hole_count", layout ? layout->hole_count : FIGURE_UNKNOWN);
    json_figure(&writer->json, "hole_bytes", layout ? layout->hole_bytes : FIGURE_UNKNOWN);
    json_figure(&writer->json, "padding_bytes", layout ? layout->padding_bytes : FIGURE_UNKNOWN);
    json_figure(&writer->json, "unused_at_peak_bytes", path_types_padding(type));
}

static void report_json_types_write(struct report_writer *writer, const struct path_type *type)
{
    json_object(&writer->json, NULL);
    json_string(&writer->json, "name", type->name);
    json_array(&writer->json, "sources");
    for (size_t i = 0; i < PATH_TYPE_SOURCES; i++)
        if (type->sources[i])
            json_string(&writer->json, NULL, path_type_source_names[i]);
    json_end(&writer->json);
    json_unsigned(&writer->json, "paths", type->merged.paths);
    report_json_types_layout(writer, type);
    report_json_metrics(writer, "metrics", &type->merged.metrics);
    json_end(&writer->json);
}

static void report_json_types_write_live(struct report_writer *writer, const struct live_type *type)
{
    json_object(&writer->json, NULL);
    json_string(&writer->json, "name", type->name);
    json_unsigned(&writer->json, "count", type->count);
    json_unsigned(&writer->json, "bytes", type->bytes);
    json_object(&writer->json, "most_by");
    report_json_path(writer, type->path);
    json_unsigned(&writer->json, "bytes", type->path_bytes);
    json_end(&writer->json);
    json_end(&writer->json);
}

/* What was alive by type; null: no look has found that out. */
static int report_json_types_alive(struct report_writer *writer)
{
    struct live_types types;
    int error = live_types_init(&types, writer->profile, writer->sites.wanted);
    if (error)
        return error;
    if (!types.sample) {
        json_null(&writer->json, "alive_by_type");
        return 0;
    }
    json_object(&writer->json, "alive_by_type");
    json_unsigned(&writer->json, "sample", types.sample->id);
    json_unsigned(&writer->json, "time_ns", types.sample->time_ns);
    json_unsigned(&writer->json, "count", types.blocks);
    json_unsigned(&writer->json, "bytes", types.bytes);
    json_figure(&writer->json, "unknown_count", types.unknown_count);
    json_figure(&writer->json, "unknown_bytes", types.unknown_bytes);
    json_array(&writer->json, "types");
    for (size_t i = 0; i < types.count; i++)
        report_json_types_write_live(writer, &types.rows[i]);
    json_end(&writer->json);
    json_end(&writer->json);
    live_types_release(&types);
    return 0;
}

int report_json_types(struct report_writer *writer)
{
    struct path_types types;
    int error = path_types_init(&types, writer->profile, writer->sites.wanted);
    uint32_t *order = error ? NULL : path_types_order(&types, 0);
    if (!order) {
        if (!error)
            path_types_release(&types);
        return -ENOMEM;
    }
    json_array(&writer->json, "types");
    for (size_t i = 0; i < types.count; i++)
        report_json_types_write(writer, &types.rows[order[i]]);
    json_end(&writer->json);
    json_object(&writer->json, "untyped");
    json_unsigned(&writer->json, "paths", types.unknown.paths);
    json_unsigned(&writer->json, "mixed_paths", types.mixed);
    json_bool(&writer->json, "classes_known", types.has_classes);
    report_json_metrics(writer, "metrics", &types.unknown.metrics);
    json_end(&writer->json);
    free(order);
    path_types_release(&types);
    return report_json_types_alive(writer);
}

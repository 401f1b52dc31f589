/* Writes how full containers are as JSON: sums, then each call path and kind of container. Those
 * with most unused room come first. */
#include <errno.h>
#include "aggregate/path_fills.h"
#include "report/report_writer.h"

static void report_json_fill_write_row(struct report_writer *writer, const struct path_fill *row)
{
    struct json *json = &writer->json;
    json_object(json, NULL);
    json_string(json, "what", profile_fill_names[row->shape]);
    json_string(json, "by", row->by_name ? "name" : "shape");
    report_json_path(writer, row->path);
    json_unsigned(json, "count", row->count);
    json_unsigned(json, "bytes", row->bytes);
    json_unsigned(json, "used_bytes", row->used_bytes);
    json_unsigned(json, "live_count", row->live_count);
    json_end(json);
}

int report_json_fill(struct report_writer *writer)
{
    struct path_fills fills;
    int error =
        path_fills_init(&fills, writer->profile, writer->sites.hidden, writer->sites.wanted);
    if (error)
        return error;
    if (!fills.sample) {
        json_null(&writer->json, "fill");
    } else {
        json_object(&writer->json, "fill");
        json_unsigned(&writer->json, "sample", fills.sample->id);
        json_unsigned(&writer->json, "count", fills.blocks);
        json_unsigned(&writer->json, "bytes", fills.bytes);
        json_unsigned(&writer->json, "used_bytes", fills.used_bytes);
        json_array(&writer->json, "containers");
        for (size_t i = 0; i < fills.count; i++)
            report_json_fill_write_row(writer, &fills.rows[i]);
        json_end(&writer->json);
        json_end(&writer->json);
    }
    path_fills_release(&fills);
    return 0;
}

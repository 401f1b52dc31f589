/* Content as JSON (doc/CONTENT.md): the sums of all that was read, then each owner with its figures
 * and the call path that has most of it. */
#include "aggregate/facts.h"
#include "content/content.h"

#include "base/json.h"

static void content_json_sum(struct json *json, const struct content_sum *sum)
{
    json_unsigned(json, "resident_bytes", sum->resident);
    json_unsigned(json, "zero_bytes", sum->zero);
    json_unsigned(json, "copy_bytes", sum->copy);
    json_unsigned(json, "compressible_bytes", sum->compressible);
}

static void content_json_stack(struct json *json, const struct content *content, uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, content->profile, content->hidden, node);
    json_array(json, "stack");
    do {
        json_object(json, NULL);
        frame_write(json, content->profile, frame);
        json_end(json);
    } while (frame_walk_next(&walk, &frame));
    json_end(json);
}

static void content_json_row(struct json *json, const struct content *content,
                             const struct content_row *row)
{
    json_object(json, NULL);
    json_string(json, "kind", profile_owner_names[row->kind]);
    if (row->frame.code)
        frame_write(json, content->profile, row->frame);
    else
        json_string(json, "name", row->named->name);
    content_json_sum(json, &row->sum);
    if (row->frame.code)
        content_json_stack(json, content, row->node);
    json_end(json);
}

int content_json(FILE *out, const struct content *content)
{
    const struct profile_sample *sample = content->sample;
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "at", facts_moment(sample));
    json_unsigned(&json, "time_ns", sample->time_ns);
    content_json_sum(&json, &content->all);
    json_array(&json, "owners");
    for (size_t i = 0; i < content->row_count; i++)
        content_json_row(&json, content, &content->rows[i]);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}

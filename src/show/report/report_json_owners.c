/* Writes the JSON report's account of resident memory by owner, of lag and drag, and of the
 * control group. Rows follow the descriptors of the detail tables. */
#include "report/report_writer.h"

#include "aggregate/facts.h"
#include "report/detail_json.h"

static void report_json_owners_write_row(struct report_writer *writer,
                                         const struct profile_owner *row)
{
    struct json *json = &writer->json;
    json_object(json, NULL);
    detail_json_columns(json, DETAIL_OWNERS, "kind", "kind", row);
    if (row->path)
        report_json_path(writer, row->path);
    detail_json_columns(json, DETAIL_OWNERS, "name", NULL, row);
    json_end(json);
}

static void report_json_owners_write_rows(struct report_writer *writer, uint32_t sample)
{
    const struct profile *profile = writer->profile;
    json_array(&writer->json, "owners");
    for (size_t i = 0; i < profile->owner_count; i++)
        if (profile->owners[i].sample == sample)
            report_json_owners_write_row(writer, &profile->owners[i]);
    json_end(&writer->json);
}

void report_json_owners(struct report_writer *writer)
{
    const struct profile_sample *sample = facts_owners_sample(writer->profile);
    if (!sample) {
        json_null(&writer->json, "resident_bytes");
        json_null(&writer->json, "owners_sample");
        json_null(&writer->json, "owners");
        return;
    }
    json_figure(&writer->json, "resident_bytes", sample->resident_bytes);
    json_unsigned(&writer->json, "owners_sample", sample->id);
    if (profile_is_job(writer->profile))
        json_unsigned(&writer->json, "owner_ranks",
                      facts_number(writer->profile, PROFILE_META_OWNER_RANKS));
    report_json_owners_write_rows(writer, sample->id);
}

void report_json_page_uses(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    struct json *json = &writer->json;
    if (!profile->page_use_count) {
        json_null(json, "page_uses");
        return;
    }
    json_array(json, "page_uses");
    for (size_t i = 0; i < profile->page_use_count; i++) {
        json_object(json, NULL);
        report_json_path(writer, profile->page_uses[i].path);
        detail_json_columns(json, DETAIL_PAGE_USES, "count", NULL, &profile->page_uses[i]);
        json_end(json);
    }
    json_end(json);
}

void report_json_container(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->container_count) {
        json_null(&writer->json, "container");
        return;
    }
    uint32_t last = profile->containers[profile->container_count - 1].sample;
    json_array(&writer->json, "container");
    for (size_t i = 0; i < profile->container_count; i++) {
        if (profile->containers[i].sample != last)
            continue;
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_CONTAINERS, NULL, NULL, &profile->containers[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* Regions and marks as JSON; null where there are none. */
#include <stddef.h>
#include "report/writer.h"

#define REGION(field)                                                                              \
    {                                                                                              \
#field, offsetof(struct profile_region, field)                                             \
    }
static const struct member region_members[] = {
    REGION(entered_count), REGION(unended_count), REGION(open_count),
    REGION(time_ns),       REGION(first_ns),      REGION(last_ns),
    REGION(peak_bytes),    REGION(peak_ns),       REGION(left_bytes),
    REGION(program_peak_bytes), REGION(program_peak_ns), {NULL, 0},
};

void write_regions(struct writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->region_count) {
        json_null(&writer->json, "regions");
        return;
    }
    json_array(&writer->json, "regions");
    for (uint32_t i = 0; i < profile->region_count; i++) {
        struct call_metrics total;
        profile_region_total(profile, i, &total);
        json_object(&writer->json, NULL);
        json_string(&writer->json, "name", profile->regions[i].name);
        write_members(writer, region_members, &profile->regions[i]);
        write_metrics(writer, "total", &total);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

void write_marks(struct writer *writer)
{
    static const char *const kinds[PROFILE_MARK_KINDS] = {
        [PROFILE_MARK_NAMED] = "mark", [PROFILE_MARK_PAUSED] = "paused",
        [PROFILE_MARK_RESUMED] = "resumed", [PROFILE_MARK_SNAPSHOT] = "snapshot"};
    const struct profile *profile = writer->profile;
    if (!profile->mark_count) {
        json_null(&writer->json, "marks");
        return;
    }
    json_array(&writer->json, "marks");
    for (size_t i = 0; i < profile->mark_count; i++) {
        const struct profile_mark *mark = &profile->marks[i];
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "time_ns", mark->time_ns);
        json_string(&writer->json, "kind", kinds[mark->kind]);
        json_string(&writer->json, "name", mark->name);
        write_unsigned_if(writer, mark->thread < profile->thread_count, "tid",
                          mark->thread < profile->thread_count
                              ? profile->threads[mark->thread].tid
                              : 0);
        json_unsigned(&writer->json, "live_bytes", mark->live_bytes);
        json_unsigned(&writer->json, "live_count", mark->live_count);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

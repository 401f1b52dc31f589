/* Writes regions and marks as JSON. Rows are written in the profile's order; a profile that has
 * none of them gets null. */
#include <stddef.h>
#include "report/detail_json.h"
#include "report/report_writer.h"

void report_json_regions(struct report_writer *writer)
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
        detail_json_columns(&writer->json, DETAIL_REGIONS, "name", NULL, &profile->regions[i]);
        report_json_metrics(writer, "total", &total);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

/* NULL: not known, or one of several in the row. */
static const struct thread_metrics *report_json_regions_thread(const struct profile *profile,
                                                               uint32_t row)
{
    const struct thread_metrics *thread =
        row < profile->thread_count ? &profile->threads[row] : NULL;
    return thread && !figure_positive(thread->earlier_count) ? thread : NULL;
}

void report_json_marks(struct report_writer *writer)
{
    const struct profile *profile = writer->profile;
    if (!profile->mark_count) {
        json_null(&writer->json, "marks");
        return;
    }
    json_array(&writer->json, "marks");
    for (size_t i = 0; i < profile->mark_count; i++) {
        const struct profile_mark *mark = &profile->marks[i];
        json_object(&writer->json, NULL);
        detail_json_columns(&writer->json, DETAIL_MARKS, "time_ns", "name", mark);
        const struct thread_metrics *thread = report_json_regions_thread(profile, mark->thread);
        report_json_unsigned_if(writer, thread, "tid", thread ? thread->tid : 0);
        detail_json_columns(&writer->json, DETAIL_MARKS, "live_bytes", NULL, mark);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

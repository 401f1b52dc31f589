/* Any bytes as another tool's recording, by each of the formats: refused with a sentence, or a
 * profile whose paths lead to the root and whose figures are known or not, but never beyond what a
 * file can say. The first byte says which format. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "import/gather.h"
#include "import/import.h"
#include "fuzz.h"

static void check_metrics(const struct call_metrics *metrics)
{
    uint64_t value;
    for (size_t i = 0; i < METRICS; i++)
        if (figure_get(metric_value(&metric_rows[i], metrics), &value))
            must(value <= INT64_MAX);
}

static void check(const struct gather *gather)
{
    for (size_t i = 1; i <= gather->paths.count; i++) {
        must(gather->path_list[i].parent < i);
        must(gather->path_list[i].location <= gather->locations.count);
    }
    for (size_t i = 0; i < gather->site_count; i++) {
        must(gather->sites[i].path <= gather->paths.count);
        check_metrics(&gather->sites[i].metrics);
    }
    check_metrics(&gather->program.total);
    for (size_t i = 0; i < gather->locations.count; i++) {
        const struct gather_location *location = &gather->location_list[i];
        must(location->module >= -1 && location->module < (int64_t)gather->modules.count);
        must(location->first_frame + location->frame_count <= gather->frame_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t formats = 0;
    struct strbuf why = STRBUF_INIT;
    struct gather *gather;
    if (!size)
        return 0;
    while (import_formats[formats].name)
        formats++;
    const struct import_format *format = &import_formats[data[0] % formats];
    char *bytes = malloc(size); /* its own block, so that sanitizers see its ends */
    memcpy(bytes, data + 1, size - 1);
    format->is_it(bytes, size - 1);
    if (import_bytes(&gather, bytes, size - 1, format, &why))
        must(why.length > 0);
    else
        check(gather);
    gather_free(gather);
    strbuf_release(&why);
    free(bytes);
    return 0;
}

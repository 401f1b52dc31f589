/* See metric.h. The order is that of REPORT_METRIC_CHOICE. */
#include "report/metric.h"

#include <ctype.h>
#include "present/facts.h"
#include "report/report.h"

#define AT(field) offsetof(struct call_metrics, field)

const struct metric metrics[METRIC_COUNT] = {
    {"peak", "Alive at the peak", "at_peak_bytes", "nothing was alive at the peak",
     AT(at_peak_bytes), METRIC_UNIT_BYTES, true, AT(at_peak_variance), false, NULL},
    {"leaked", "Never freed", "live_bytes", "everything was freed", AT(live_bytes),
     METRIC_UNIT_BYTES, true, AT(live_variance), false, NULL},
    {"count", "Most allocations", "alloc_count", "nothing was allocated", AT(alloc_count),
     METRIC_UNIT_COUNT, true, 0, false, NULL},
    {"bytes", "Most bytes allocated in all", "alloc_bytes", "nothing was allocated",
     AT(alloc_bytes), METRIC_UNIT_BYTES, true, AT(alloc_variance), false, NULL},
    {"temporary", "Temporary allocations", "temporary_count",
     "no block was freed before its thread's next allocation", AT(temporary_count),
     METRIC_UNIT_COUNT, true, 0, false, NULL},
    {"slack", "Bytes lost to rounding up", "slack_bytes", "no block was larger than asked for",
     AT(slack_bytes), METRIC_UNIT_BYTES, false, 0, false, NULL},
    {"realloc", "Most reallocations", "realloc_count", "nothing was reallocated", AT(realloc_count),
     METRIC_UNIT_COUNT, false, 0, false, NULL},
    {"mmap", "Bytes mapped", "map_bytes", "nothing was mapped", AT(map_bytes), METRIC_UNIT_BYTES,
     false, 0, true, NULL},
    {"freed", "Freed most", "freed_bytes", "no bytes were freed", AT(freed_bytes),
     METRIC_UNIT_BYTES, true, 0, false,
     "this profile does not say where memory was freed; record with `tidemark record "
     "--free-stacks` to see it"},
    {"failed", "Failed requests", "failed_count", "no request failed", AT(failed_count),
     METRIC_UNIT_COUNT, false, 0, false, NULL},
    {"zero", "Requests of zero bytes", "zero_count", "nothing of zero bytes was asked for",
     AT(zero_count), METRIC_UNIT_COUNT, false, 0, false, NULL},
    {"aligned", "Requests with an alignment", "aligned_count", "no alignment was asked for",
     AT(aligned_count), METRIC_UNIT_COUNT, false, 0, false, NULL},
    {"time", "Time to allocate", "alloc_time_ns", "allocating took no time", AT(alloc_time),
     METRIC_UNIT_NS, false, 0, false,
     "this profile does not say how long calls of the allocator took; record with `tidemark "
     "record --timed` to see it"},
};

const char *report_metric_missing(const struct profile *profile, int metric)
{
    if (metric == REPORT_ALL_METRICS || !profile->has_program ||
        metric_is_known(&metrics[metric], &profile->program.total))
        return NULL;
    return metrics[metric].missing
               ? metrics[metric].missing
               : "this profile does not know that: the tool that it was imported from did not "
                 "record it";
}

void metric_add_title(struct strbuf *out, const struct metric *metric,
                      const struct profile *profile, bool in_sentence)
{
    bool left = metric->offset == offsetof(struct call_metrics, live_bytes);
    const char *title = left ? facts_of_what_is_left(profile) : metric->title;
    int first = (unsigned char)*title;
    strbuf_add_char(out, (char)(in_sentence ? tolower(first) : toupper(first)));
    strbuf_add_string(out, title + 1);
}

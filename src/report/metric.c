/* See metric.h. The order is that of REPORT_METRIC_CHOICE. */
#include "report/metric.h"

#define AT(field) offsetof(struct call_metrics, field)

const struct metric metrics[METRIC_COUNT] = {
    {"peak", "Alive at the peak", "at_peak_bytes", "nothing was alive at the peak",
     AT(at_peak_bytes), true, true},
    {"leaked", "Never freed", "live_bytes", "everything was freed", AT(live_bytes), true, true},
    {"count", "Most allocations", "alloc_count", "nothing was allocated", AT(alloc_count), false,
     true},
    {"bytes", "Most bytes allocated in all", "alloc_bytes", "nothing was allocated",
     AT(alloc_bytes), true, true},
    {"temporary", "Temporary allocations", "temporary_count",
     "no block was freed before its thread's next allocation", AT(temporary_count), false, true},
    {"slack", "Bytes lost to rounding up", "slack_bytes", "no block was larger than asked for",
     AT(slack_bytes), true, false},
    {"realloc", "Most reallocations", "realloc_count", "nothing was reallocated", AT(realloc_count),
     false, false},
    {"mmap", "Bytes mapped", "map_bytes", "nothing was mapped", AT(map_bytes), true, false},
};

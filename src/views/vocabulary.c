/* See vocabulary.h. */
#include "views/vocabulary.h"

#define AT(field) offsetof(struct call_metrics, field)
#define BYTES     VOCABULARY_BYTES
#define COUNT     VOCABULARY_COUNT
#define NS        VOCABULARY_NS
#define SUM       VOCABULARY_SUM

_Static_assert(sizeof(struct call_metrics) == VOCABULARY_SIZE * sizeof(uint64_t),
               "a new metric needs its line here");

const struct vocabulary_entry vocabulary[VOCABULARY_SIZE] = {
    {"alloc_count", "allocations", "calls that returned a new block", AT(alloc_count), COUNT, SUM,
     NULL},
    {"alloc_bytes", "bytes allocated", "requested bytes of all allocations", AT(alloc_bytes), BYTES,
     SUM, "alloc_variance"},
    {"realloc_count", "reallocations", "calls that gave a block another size", AT(realloc_count),
     COUNT, SUM, NULL},
    {"realloc_bytes", "bytes reallocated", "requested bytes of the new blocks", AT(realloc_bytes),
     BYTES, SUM, NULL},
    {"realloc_moved", "moved", "reallocations that returned another address", AT(realloc_moved),
     COUNT, SUM, NULL},
    {"free_count", "freed blocks", "blocks made here whose life has ended, wherever that happened",
     AT(free_count), COUNT, SUM, NULL},
    {"free_bytes", "freed bytes", "requested bytes of the blocks made here whose life has ended",
     AT(free_bytes), BYTES, SUM, NULL},
    {"failed_count", "failed", "calls that returned NULL for want of memory", AT(failed_count),
     COUNT, SUM, NULL},
    {"zero_count", "of zero bytes", "requests of zero bytes that returned a block", AT(zero_count),
     COUNT, SUM, NULL},
    {"aligned_count", "aligned", "blocks requested with an alignment of their own",
     AT(aligned_count), COUNT, SUM, NULL},
    {"temporary_count", "temporary",
     "blocks freed by their thread before it allocated anything else", AT(temporary_count), COUNT,
     SUM, NULL},
    {"slack_bytes", "lost to rounding", "usable minus requested bytes, over all blocks ever",
     AT(slack_bytes), BYTES, SUM, NULL},
    {"size_min", "smallest", "smallest requested block", AT(size_min), BYTES, VOCABULARY_MIN, NULL},
    {"size_max", "largest", "largest requested block", AT(size_max), BYTES, VOCABULARY_MAX, NULL},
    {"lifetime_min_ns", "shortest life", "shortest life of a block that was freed",
     AT(lifetime_min), NS, VOCABULARY_MIN, NULL},
    {"lifetime_max_ns", "longest life", "longest life of a block that was freed", AT(lifetime_max),
     NS, VOCABULARY_MAX, NULL},
    {"lifetime_sum_ns", "lifetimes in all", "sum of the lifetimes of blocks that were freed",
     AT(lifetime_sum), NS, SUM, NULL},
    {"live_count", "live blocks", "blocks alive now; of a finished run: never freed",
     AT(live_count), COUNT, SUM, NULL},
    {"live_bytes", "live bytes", "requested bytes alive now; of a finished run: never freed",
     AT(live_bytes), BYTES, SUM, "live_variance"},
    {"live_slack_bytes", "live rounding", "usable minus requested bytes of the blocks alive now",
     AT(live_slack_bytes), BYTES, SUM, NULL},
    {"peak_bytes", "own peak", "high-water mark of this call path's own live bytes", AT(peak_bytes),
     BYTES, VOCABULARY_NEVER, NULL},
    {"peak_ns", "own peak at", "when that was first reached", AT(peak_ticks), VOCABULARY_MOMENT,
     VOCABULARY_NEVER, NULL},
    {"at_peak_bytes", "bytes at peak", "alive when the program was at its high-water mark",
     AT(at_peak_bytes), BYTES, SUM, "at_peak_variance"},
    {"at_peak_count", "blocks at peak",
     "blocks alive when the program was at its high-water mark", AT(at_peak_count), COUNT, SUM,
     NULL},
    {"map_count", "mmap calls", "calls of mmap from here", AT(map_count), COUNT, SUM, NULL},
    {"map_bytes", "mapped bytes", "bytes that they mapped", AT(map_bytes), BYTES, SUM, NULL},
    {"freed_count", "blocks freed here", "blocks whose life a free from here has ended",
     AT(freed_count), COUNT, SUM, NULL},
    {"freed_bytes", "bytes freed here", "requested bytes of them", AT(freed_bytes), BYTES, SUM,
     NULL},
    {"freed_elsewhere_count", "of other threads",
     "of the blocks freed here, those that another thread had allocated",
     AT(freed_elsewhere_count), COUNT, SUM, NULL},
    {"freed_lifetime_sum_ns", "lifetimes ended here", "sum of the lifetimes of the blocks freed here",
     AT(freed_lifetime_sum), NS, SUM, NULL},
    {"alloc_time_ns", "time to allocate", "time inside the allocator, in calls that made the blocks",
     AT(alloc_time), NS, SUM, NULL},
    {"free_time_ns", "time to free", "time inside the allocator, in calls that freed the blocks",
     AT(free_time), NS, SUM, NULL},
    {"sample_count", "samples", "blocks recorded, which the estimates rest on", AT(sample_count),
     COUNT, SUM, NULL},
    {"alloc_variance", "variance of bytes allocated", "of the estimate alloc_bytes",
     AT(alloc_variance), VOCABULARY_VARIANCE, SUM, NULL},
    {"live_variance", "variance of live bytes", "of the estimate live_bytes", AT(live_variance),
     VOCABULARY_VARIANCE, SUM, NULL},
    {"at_peak_variance", "variance of bytes at peak", "of the estimate at_peak_bytes",
     AT(at_peak_variance), VOCABULARY_VARIANCE, SUM, NULL},
};

const struct vocabulary_entry *vocabulary_find(const char *name)
{
    for (size_t i = 0; i < VOCABULARY_SIZE; i++)
        if (!strcmp(vocabulary[i].name, name))
            return &vocabulary[i];
    return NULL;
}

const char *vocabulary_unit_name(enum vocabulary_unit unit)
{
    static const char *const names[] = {"bytes", "count", "ns", "moment_ns", "variance"};
    return names[unit];
}

const char *vocabulary_merge_name(enum vocabulary_merge merge)
{
    static const char *const names[] = {"sum", "min", "max", "never"};
    return names[merge];
}

/* The structs of metrics.h with plain numbers for figures, so that tests compute expected values
 * and compare them: UINT64_MAX is the unknown. Layouts are the same; the structs may alias. */
#ifndef TIDEMARK_TESTS_NUMBERS_H
#define TIDEMARK_TESTS_NUMBERS_H

#include <string.h>
#include "model/metrics.h"

#define NUMBERS __attribute__((may_alias))

struct NUMBERS call_numbers {
#define METRIC(field, ...) uint64_t field;
#include "model/metrics.def"
};
struct NUMBERS program_numbers {
    struct call_numbers total;
    uint64_t live_peak_count, foreign_frees, replaced_blocks;
    uint64_t unmap_count, unmap_bytes, brk_count, brk_bytes;
    uint64_t events, late_events, lost_events, malformed_events;
    struct call_numbers mapped;
    uint64_t all_peak_bytes, all_peak_ticks, discard_count, discard_bytes;
};
struct NUMBERS level_numbers {
    uint64_t min, max;
};
struct NUMBERS bucket_numbers {
    struct level_numbers requested, blocks, physical, virt, tool, mapped, all;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
};
struct NUMBERS thread_numbers {
    uint32_t tid, seen_node;
    uint64_t start_ticks, end_ticks;
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
    uint64_t waits, wait_ticks;
    uint64_t malloc_count, calloc_count, aligned_count, new_count, realloc_count;
    uint64_t live_bytes, peak_bytes, peak_ticks;
    uint64_t freed_elsewhere_count, freed_elsewhere_bytes;
    uint64_t alloc_time, free_time;
    uint64_t stack_deepest_bytes, stack_touched_bytes;
    uint32_t stack_node;
    uint64_t pool_count, earlier_count;
    char name[16];
};

#define NUMBERS_MATCH(numbers, metrics, field)                                                     \
    _Static_assert(sizeof(struct numbers) == sizeof(struct metrics) &&                             \
                       offsetof(struct numbers, field) == offsetof(struct metrics, field),         \
                   "fields in the order of metrics.h")
NUMBERS_MATCH(call_numbers, call_metrics, resident_bytes);
NUMBERS_MATCH(program_numbers, program_metrics, discard_bytes);
NUMBERS_MATCH(bucket_numbers, timeline_bucket, free_bytes);
NUMBERS_MATCH(thread_numbers, thread_metrics, earlier_count);

/* What is unknown is UINT64_MAX. */
static inline uint64_t number_of(struct figure figure)
{
    return figure_or(figure, UINT64_MAX);
}

/* The way back. */
#define NUMBERS_BACK(numbers, metrics)                                                             \
    static inline struct metrics metrics##_of(const struct numbers *from)                          \
    {                                                                                              \
        struct metrics out;                                                                        \
        memcpy(&out, from, sizeof out);                                                            \
        return out;                                                                                \
    }
NUMBERS_BACK(call_numbers, call_metrics)
NUMBERS_BACK(program_numbers, program_metrics)
NUMBERS_BACK(bucket_numbers, timeline_bucket)
NUMBERS_BACK(thread_numbers, thread_metrics)

static inline const struct call_numbers *call_numbers_of(const struct call_metrics *metrics)
{
    return (const struct call_numbers *)(const void *)metrics;
}

static inline const struct program_numbers *
program_numbers_of(const struct program_metrics *metrics)
{
    return (const struct program_numbers *)(const void *)metrics;
}

static inline const struct thread_numbers *thread_numbers_of(const struct thread_metrics *metrics)
{
    return (const struct thread_numbers *)(const void *)metrics;
}

static inline const struct bucket_numbers *bucket_numbers_of(const struct timeline_bucket *buckets)
{
    return (const struct bucket_numbers *)(const void *)buckets;
}

#endif

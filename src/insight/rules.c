/* The rules, by what they look at. Ids are for ever. */
#include "insight/rule.h"

const struct rule rules[] = {
    {"incomplete-profile", ask_loss},
    {"leak-growth", ask_leak_growth},
    {"leak-possible", ask_leak_possible},
    {"small-blocks", ask_small_blocks},
    {"size-waste", ask_size_waste},
    {"short-lived-blocks", ask_short_lived},
    {"compiler-temporaries", ask_compiler_temporaries},
    {"large-recycling", ask_large_recycling},
    {"realloc-constant-growth", ask_realloc_growth},
    {"copy-growth", ask_copy_growth},
    {"peak-one-site", ask_peak_one_site},
    {"secondary-peak", ask_secondary_peak},
    {"fragmentation", ask_fragmentation},
    {"untouched-memory", ask_untouched},
    {"memory-limit", ask_memory_limit},
    {"thread-local-storage", ask_tls},
    {"large-globals", ask_globals},
    {"cross-thread-frees", ask_cross_thread_frees},
    {"allocator-time", ask_allocator_time},
};
const size_t rule_count = sizeof rules / sizeof *rules;

/* The rules, by what they look at. Ids are for ever. */
#include "insight/rule.h"

const struct rule rules[] = {
    {"incomplete-profile", ask_loss, false},
    {"leak-growth", ask_leak_growth, false},
    {"leak-possible", ask_leak_possible, false},
    {"small-blocks", ask_small_blocks, true},
    {"size-waste", ask_size_waste, true},
    {"short-lived-blocks", ask_short_lived, true},
    {"compiler-temporaries", ask_compiler_temporaries, true},
    {"large-recycling", ask_large_recycling, true},
    {"realloc-constant-growth", ask_realloc_growth, true},
    {"copy-growth", ask_copy_growth, true},
    {"peak-one-site", ask_peak_one_site, false},
    {"secondary-peak", ask_secondary_peak, false},
    {"fragmentation", ask_fragmentation, false},
    {"untouched-memory", ask_untouched, false},
    {"memory-limit", ask_memory_limit, false},
    {"thread-local-storage", ask_tls, false},
    {"large-globals", ask_globals, false},
    {"cross-thread-frees", ask_cross_thread_frees, true},
    {"allocator-time", ask_allocator_time, true},
};
const size_t rule_count = sizeof rules / sizeof *rules;

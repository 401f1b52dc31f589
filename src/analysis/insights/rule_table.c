/* The table of rules. A row has the id that users see, the function that looks, and whether the
 * rule needs counts. An id never changes, because suppressions and programs name it. */
#include "insights/rule.h"

const struct rule rules[] = {
    {"incomplete-profile", rule_loss, false},
    {"leak-lost", rule_leak_lost, false},
    {"leak-growth", rule_leak_growth, false},
    {"leak-possible", rule_leak_possible, false},
    {"small-blocks", rule_small_blocks, true},
    {"size-waste", rule_size_waste, true},
    {"short-lived-blocks", rule_short_lived, true},
    {"compiler-temporaries", rule_compiler_temporaries, true},
    {"large-recycling", rule_large_recycling, true},
    {"realloc-constant-growth", rule_realloc_growth, true},
    {"copy-growth", rule_copy_growth, true},
    {"peak-one-site", rule_peak_one_site, false},
    {"secondary-peak", rule_secondary_peak, false},
    {"fragmentation", rule_fragmentation, false},
    {"untouched-memory", rule_untouched, false},
    {"memory-limit", rule_memory_limit, false},
    {"thread-local-storage", rule_tls, false},
    {"large-globals", rule_globals, false},
    {"cross-thread-frees", rule_cross_thread_frees, true},
    {"allocator-time", rule_allocator_time, true},
};
const size_t rule_count = sizeof rules / sizeof *rules;

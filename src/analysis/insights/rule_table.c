/* The table of rules. A row has the id that users see, the function that looks, whether the rule
 * needs counts, the most severe that a finding of it may be, and whether it tells of a fault and not
 * of a cost. What a healthy program does too is a notice at most. An id never changes, because
 * suppressions and programs name it. */
#include "insights/rule.h"

const struct rule rules[] = {
    {"incomplete-profile", rule_loss, false, INSIGHT_WARNING, false},
    {"leak-lost", rule_leak_lost, false, INSIGHT_SEVERE, true},
    {"leak-growth", rule_leak_growth, false, INSIGHT_SEVERE, true},
    {"teardown-growth", rule_teardown_growth, false, INSIGHT_NOTICE, true},
    {"leak-possible", rule_leak_possible, false, INSIGHT_NOTICE, false},
    {"small-blocks", rule_small_blocks, true, INSIGHT_NOTICE, false},
    {"size-waste", rule_size_waste, true, INSIGHT_NOTICE, false},
    {"short-lived-blocks", rule_short_lived, true, INSIGHT_NOTICE, false},
    {"compiler-temporaries", rule_compiler_temporaries, true, INSIGHT_NOTICE, false},
    {"large-recycling", rule_large_recycling, true, INSIGHT_NOTICE, false},
    {"realloc-constant-growth", rule_realloc_growth, true, INSIGHT_WARNING, true},
    {"copy-growth", rule_copy_growth, true, INSIGHT_WARNING, true},
    {"peak-one-site", rule_peak_one_site, false, INSIGHT_NOTICE, false},
    {"secondary-peak", rule_secondary_peak, false, INSIGHT_NOTICE, false},
    {"fragmentation", rule_fragmentation, false, INSIGHT_SEVERE, true},
    {"untouched-memory", rule_untouched, false, INSIGHT_NOTICE, false},
    {"memory-limit", rule_memory_limit, false, INSIGHT_SEVERE, true},
    {"thread-local-storage", rule_tls, false, INSIGHT_NOTICE, false},
    {"large-globals", rule_globals, false, INSIGHT_NOTICE, false},
    {"cross-thread-frees", rule_cross_thread_frees, true, INSIGHT_NOTICE, false},
    {"allocator-time", rule_allocator_time, true, INSIGHT_WARNING, false},
};
const size_t rule_count = sizeof rules / sizeof *rules;

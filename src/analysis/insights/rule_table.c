/* The table of rules. A row has the id that users see, the function that looks, whether the rule
 * needs counts, the most severe that a finding of it may be, and its rank. What a healthy program
 * does too is a notice at most. An id never changes, because suppressions and programs name it. */
#include "insights/rule.h"

const struct rule rules[] = {
    {"incomplete-profile", rule_loss, false, INSIGHT_WARNING, RANK_COST},
    {"leak-lost", rule_leak_lost, false, INSIGHT_SEVERE, RANK_FAULT},
    {"leak-growth", rule_leak_growth, false, INSIGHT_SEVERE, RANK_FAULT},
    {"mapping-growth", rule_mapping_growth, false, INSIGHT_NOTICE, RANK_FAULT},
    {"grew-until-teardown", rule_teardown_growth, false, INSIGHT_NOTICE, RANK_HINT},
    {"leak-possible", rule_leak_possible, false, INSIGHT_NOTICE, RANK_HINT},
    {"small-blocks", rule_small_blocks, true, INSIGHT_NOTICE, RANK_COST},
    {"size-waste", rule_size_waste, true, INSIGHT_NOTICE, RANK_COST},
    {"short-lived-blocks", rule_short_lived, true, INSIGHT_NOTICE, RANK_COST},
    {"compiler-temporaries", rule_compiler_temporaries, true, INSIGHT_NOTICE, RANK_COST},
    {"large-recycling", rule_large_recycling, true, INSIGHT_NOTICE, RANK_COST},
    {"realloc-constant-growth", rule_realloc_growth, true, INSIGHT_WARNING, RANK_FAULT},
    {"copy-growth", rule_copy_growth, true, INSIGHT_WARNING, RANK_FAULT},
    {"resident-owner", rule_resident_owner, false, INSIGHT_INFO, RANK_HINT},
    {"peak-one-site", rule_peak_one_site, false, INSIGHT_NOTICE, RANK_HINT},
    {"secondary-peak", rule_secondary_peak, false, INSIGHT_NOTICE, RANK_COST},
    {"fragmentation", rule_fragmentation, false, INSIGHT_SEVERE, RANK_FAULT},
    {"untouched-memory", rule_untouched, false, INSIGHT_NOTICE, RANK_COST},
    {"unfilled-containers", rule_fill, false, INSIGHT_NOTICE, RANK_COST},
    {"empty-pages", rule_content, false, INSIGHT_NOTICE, RANK_COST},
    {"memory-limit", rule_memory_limit, false, INSIGHT_SEVERE, RANK_END},
    {"thread-local-storage", rule_tls, false, INSIGHT_NOTICE, RANK_COST},
    {"large-globals", rule_globals, false, INSIGHT_NOTICE, RANK_COST},
    {"deep-stack", rule_stacks, false, INSIGHT_NOTICE, RANK_COST},
    {"cross-thread-frees", rule_cross_thread_frees, true, INSIGHT_NOTICE, RANK_COST},
    {"allocator-time", rule_allocator_time, true, INSIGHT_WARNING, RANK_COST},
};
const size_t rule_count = sizeof rules / sizeof *rules;

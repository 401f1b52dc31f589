/* What the golden profile would say if all of issue 4's details had been recorded: put on it in
 * memory, and taken off before it is freed. Numbers are made up, but they fit together. */
#ifndef TIDEMARK_TESTS_DETAIL_H
#define TIDEMARK_TESTS_DETAIL_H

#include <string.h>
#include "profile/profile.h"

enum { MIB = 1 << 20, KIB = 1 << 10, MS = 1000000 };

static struct distribution_row detail_rows[] = {
    {DISTRIBUTION_SIZE, 0, 0, 3, 0},
    {DISTRIBUTION_SIZE, 14, 0, 1200, 18000},
    {DISTRIBUTION_SIZE, 48, 0, 50000, 2400000},
    {DISTRIBUTION_SIZE, 56, 0, 800, 46400},
    {DISTRIBUTION_SIZE, 320, 0, 4210, 1347200},
    {DISTRIBUTION_SIZE, 8192, 0, 12000, 98304000},
    {DISTRIBUTION_SIZE, MIB, 0, 24, 39845760},
    {DISTRIBUTION_SIZE_EXACT, 48, 0, 50000, 2400000},
    {DISTRIBUTION_SIZE_EXACT, 320, 0, 4210, 1347200},
    {DISTRIBUTION_SIZE_EXACT, 8192, 0, 12000, 98304000},
    {DISTRIBUTION_LIFETIME, 0, 0, 5, 80},
    {DISTRIBUTION_LIFETIME, 96, 0, 49990, 2399520},
    {DISTRIBUTION_LIFETIME, 1024, 0, 6000, 49152000},
    {DISTRIBUTION_LIFETIME, 805306368, 0, 23, 23068544},
    {DISTRIBUTION_LIFETIME_SIZE, 64, 32, 49990, 2399520},
    {DISTRIBUTION_LIFETIME_SIZE, 1024, 8192, 6000, 49152000},
    {DISTRIBUTION_LIFETIME_SIZE, 65536, 256, 40, 12800},
    {DISTRIBUTION_LIFETIME_SIZE, 536870912, MIB, 23, 23068544},
    {DISTRIBUTION_TIME_SIZE, 0, 32, 30000, 1440000},
    {DISTRIBUTION_TIME_SIZE, 500 * MS, 32, 20000, 960000},
    {DISTRIBUTION_TIME_SIZE, 500 * MS, 8192, 12000, 98304000},
    {DISTRIBUTION_TIME_SIZE, 980 * MS, MIB, 24, 39845760},
    {DISTRIBUTION_REALLOC, 64, 64, 900, 86400},
    {DISTRIBUTION_REALLOC, 64, 128, 100, 12800},
    {DISTRIBUTION_REALLOC, 4096, 1024, 7, 7168},
    {DISTRIBUTION_REALLOC_GROW, 16, 0, 930, 89000},
    {DISTRIBUTION_REALLOC_GROW, 64, 0, 70, 10240},
    {DISTRIBUTION_REALLOC_SHRINK, 3072, 0, 7, 7168},
};

static struct peak detail_peaks[] = {
    {210 * MS, 12 * MIB, FIGURE_OF(3 * MIB), MIB, 2, {{5, 9 * MIB}, {6, 2 * MIB}}},
    {460 * MS, 18 * MIB, FIGURE_OF(9 * MIB), 18 * MIB, 0, {{0, 0}}},
    {812 * MS,
     27587632,
     FIGURE_OF(16 * MIB),
     323120,
     3,
     {{3, 16777216}, {5, 8388608}, {10, 2098688}}},
};

static const struct curve_point detail_rise[] = {
    {10 * MS, MIB}, {300 * MS, 4 * MIB}, {600 * MS, 9 * MIB}, {812 * MS, 16 * MIB}};
static const struct curve_point detail_waves[] = {
    {5 * MS, 9 * MIB}, {205 * MS, 9 * MIB}, {230 * MS, MIB}, {450 * MS, 8 * MIB},
    {500 * MS, MIB},   {812 * MS, 8 * MIB}, {900 * MS, 0}};
/* Of the site of the waves too: in turns with them, and at 500 ms what one gives the other gets. */
static const struct curve_point detail_turns[] = {
    {300 * MS, MIB}, {500 * MS, 8 * MIB}, {700 * MS, 0}};
static struct curve detail_curves[] = {{3, 4, FIGURE_OF(8192), detail_rise, MEMORY_HEAP, 0},
                                       {5, 7, FIGURE_OF(16384), detail_waves, MEMORY_HEAP, 0},
                                       {10, 3, FIGURE_OF(8192), detail_turns, MEMORY_HEAP, 0}};

#define NOT_KNOWN FIGURE_UNKNOWN
static struct thread_metrics detail_threads[] = {
    {.tid = 4711,
     .alloc_count = FIGURE_OF(60000),
     .alloc_bytes = FIGURE_OF(120 * MIB),
     .free_count = FIGURE_OF(60000),
     .free_bytes = FIGURE_OF(110 * MIB),
     .malloc_count = FIGURE_OF(1000),
     .calloc_count = FIGURE_OF(0),
     .aligned_count = FIGURE_OF(24),
     .new_count = FIGURE_OF(58000),
     .realloc_count = FIGURE_OF(976),
     .live_bytes = FIGURE_OF(10 * MIB),
     .peak_bytes = FIGURE_OF(24 * MIB),
     .peak_ticks = FIGURE_OF(812 * MS),
     .freed_elsewhere_count = FIGURE_OF(1200),
     .freed_elsewhere_bytes = FIGURE_OF(3 * MIB),
     .alloc_time = FIGURE_OF(4 * MS),
     .free_time = FIGURE_OF(2 * MS),
     .stack_deepest_bytes = FIGURE_OF(212 * KIB),
     .stack_touched_bytes = FIGURE_OF(256 * KIB),
     .stack_node = 5,
     .name = "solver"},
    /* nothing known beyond the sums */
    {.tid = 4712,
     .start_ticks = MS,
     .end_ticks = 990 * MS,
     .alloc_count = FIGURE_OF(6237),
     .alloc_bytes = FIGURE_OF(15 * MIB),
     .free_count = FIGURE_OF(5233),
     .free_bytes = FIGURE_OF(14 * MIB),
     .waits = 3,
     .wait_ticks = 1500000,
     .malloc_count = NOT_KNOWN,
     .calloc_count = NOT_KNOWN,
     .aligned_count = NOT_KNOWN,
     .new_count = NOT_KNOWN,
     .realloc_count = NOT_KNOWN,
     .live_bytes = NOT_KNOWN,
     .peak_bytes = NOT_KNOWN,
     .peak_ticks = NOT_KNOWN,
     .freed_elsewhere_count = NOT_KNOWN,
     .freed_elsewhere_bytes = NOT_KNOWN,
     .alloc_time = NOT_KNOWN,
     .free_time = NOT_KNOWN,
     .stack_deepest_bytes = NOT_KNOWN,
     .stack_touched_bytes = NOT_KNOWN,
     .pool_count = NOT_KNOWN,
     .earlier_count = NOT_KNOWN,
     .name = "log\033[31m"},
};
static struct exchange detail_exchanges[] = {
    {0, 1, 1200, 3 * MIB}, {1, 0, 4, 512}, {UINT32_MAX, UINT32_MAX, 9, 900}};

static struct stack_peak detail_stack_peaks[] = {
    {0, 0, 2 * MS, 4000}, {0, 1, 300 * MS, 66000}, {1, 0, 400 * MS, 9000}};
static struct stack_layer detail_stack_layers[] = {{0, 1, 64000, 40}, {0, 2, 2000, 1}};

static struct profile_variable detail_variables[] = {
    {0, "solver::table", "_ZN6solver5tableE", 4 * MIB, PROFILE_SECTION_BSS,
     "/home/ann/solver/src/table.cpp", 12},
    {0, "scratch", NULL, 64 * KIB, PROFILE_SECTION_TBSS, NULL, 0},
    {1, "std::__detail::__prime_list", NULL, 2432, PROFILE_SECTION_RODATA, NULL, 0},
};
static struct profile_section_total detail_sections[] = {
    {0, PROFILE_SECTION_DATA, FIGURE_OF(4096), FIGURE_OF(4000), FIGURE_OF(12), false},
    {0, PROFILE_SECTION_BSS, FIGURE_OF(4 * MIB + 4096), FIGURE_OF(4 * MIB + 2000), FIGURE_OF(31),
     false},
    {0, PROFILE_SECTION_TDATA, FIGURE_OF(512), FIGURE_OF(512), FIGURE_OF(2), false},
    {0, PROFILE_SECTION_TBSS, FIGURE_OF(64 * KIB), FIGURE_OF(64 * KIB), FIGURE_OF(1), false},
    {1, PROFILE_SECTION_RODATA, FIGURE_OF(300 * KIB), FIGURE_OF(9000), FIGURE_OF(40), true},
};

#define NO_GRAPH_OF_SAMPLE                                                                         \
    .lost_count = NOT_KNOWN, .lost_bytes = NOT_KNOWN, .indirect_count = NOT_KNOWN,                 \
    .indirect_bytes = NOT_KNOWN, .possible_count = NOT_KNOWN, .possible_bytes = NOT_KNOWN,         \
    .reachable_count = NOT_KNOWN, .reachable_bytes = NOT_KNOWN, .class_count = NOT_KNOWN,          \
    .fill_count = NOT_KNOWN, .high_water_bytes = NOT_KNOWN
static struct profile_sample detail_samples[] = {
    {.id = 1,
     .why = PROFILE_SAMPLE_START,
     .time_ns = 2 * MS,
     .resident_bytes = FIGURE_OF(3 * MIB),
     .proportional_bytes = NOT_KNOWN,
     .unique_bytes = NOT_KNOWN,
     .swapped_bytes = FIGURE_OF(0),
     .virtual_bytes = FIGURE_OF(60 * MIB),
     .requested_bytes = FIGURE_OF(73728),
     .live_count = FIGURE_OF(12),
     .minor_faults = FIGURE_OF(300),
     .major_faults = FIGURE_OF(0),
     .voluntary_switches = NOT_KNOWN,
     .involuntary_switches = NOT_KNOWN,
     .cgroup_bytes = NOT_KNOWN,
     .cgroup_limit_bytes = NOT_KNOWN,
     .cgroup_peak_bytes = NOT_KNOWN,
     .machine_available_bytes = NOT_KNOWN,
     .machine_bytes = NOT_KNOWN,
     .ooms = NOT_KNOWN,
     .pass_ms = 0.4,
     NO_GRAPH_OF_SAMPLE},
    {.id = 2,
     .why = PROFILE_SAMPLE_RESIDENT_PEAK,
     .time_ns = 812 * MS,
     .resident_bytes = FIGURE_OF(32 * MIB),
     .proportional_bytes = FIGURE_OF(30 * MIB),
     .unique_bytes = FIGURE_OF(29 * MIB),
     .swapped_bytes = FIGURE_OF(0),
     .virtual_bytes = FIGURE_OF(90 * MIB),
     .requested_bytes = FIGURE_OF(27587632),
     .live_count = FIGURE_OF(2031),
     .minor_faults = FIGURE_OF(9000),
     .major_faults = FIGURE_OF(2),
     .voluntary_switches = FIGURE_OF(120),
     .involuntary_switches = FIGURE_OF(31),
     .cgroup_bytes = FIGURE_OF(36 * MIB),
     .cgroup_limit_bytes = FIGURE_OF(64 * MIB),
     .cgroup_peak_bytes = FIGURE_OF(48 * MIB),
     .machine_available_bytes = FIGURE_OF(900 * (uint64_t)MIB),
     .machine_bytes = FIGURE_OF(4096 * (uint64_t)MIB),
     .ooms = FIGURE_OF(0),
     .has_ledger = true,
     .live_touched_bytes = FIGURE_OF(22 * MIB),
     .slack_bytes = FIGURE_OF(2 * MIB),
     .mmap_bytes = FIGURE_OF(MIB),
     .file_bytes = FIGURE_OF(5 * MIB),
     .stack_bytes = FIGURE_OF(256 * KIB),
     .globals_bytes = FIGURE_OF(MIB),
     .shared_bytes = FIGURE_OF(0),
     .tool_bytes = FIGURE_OF(512 * KIB),
     .other_bytes = FIGURE_OF(0),
     .unexplained_bytes = 256 * KIB,
     .untouched_bytes = FIGURE_OF(4 * MIB),
     .live_swapped_bytes = FIGURE_OF(0),
     .returnable_bytes = FIGURE_OF(MIB),
     .pinned_bytes = FIGURE_OF(700 * KIB),
     .pass_ms = 3.5,
     NO_GRAPH_OF_SAMPLE},
};
static struct profile_mapping detail_mappings[] = {
    {1, "heap", NULL, 1, FIGURE_OF(8 * MIB), FIGURE_OF(2 * MIB), FIGURE_OF(2 * MIB),
     FIGURE_OF(2 * MIB), FIGURE_OF(0)},
    {2, "heap", "", 1, FIGURE_OF(28 * MIB), FIGURE_OF(24 * MIB), FIGURE_OF(24 * MIB),
     FIGURE_OF(24 * MIB), FIGURE_OF(0)},
    {2, "text", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 2, FIGURE_OF(2 * MIB), FIGURE_OF(MIB),
     NOT_KNOWN, FIGURE_OF(0), FIGURE_OF(0)},
    {2, "reserved", NULL, 3, FIGURE_OF(20 * MIB), FIGURE_OF(0), FIGURE_OF(0), FIGURE_OF(0),
     FIGURE_OF(0)},
};
/* Recorded before there was a graph of the live blocks. */
#define NO_GRAPH                                                                                   \
    NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN
static struct profile_residency detail_residencies[] = {
    {1, 6, FIGURE_OF(12), FIGURE_OF(73728), FIGURE_OF(73728), FIGURE_OF(0), FIGURE_OF(0),
     FIGURE_OF(0), FIGURE_OF(0), NO_GRAPH},
    {2, 3, FIGURE_OF(1), FIGURE_OF(16 * MIB), FIGURE_OF(12 * MIB), FIGURE_OF(4 * MIB), FIGURE_OF(0),
     FIGURE_OF(0), FIGURE_OF(0), NO_GRAPH},
    {2, 5, FIGURE_OF(1024), FIGURE_OF(8 * MIB), FIGURE_OF(8 * MIB), FIGURE_OF(0), FIGURE_OF(0),
     FIGURE_OF(4096), FIGURE_OF(1), NO_GRAPH},
    {2, 7, FIGURE_OF(1), FIGURE_OF(48), FIGURE_OF(48), FIGURE_OF(0), FIGURE_OF(0),
     FIGURE_OF(600 * KIB), FIGURE_OF(1), NO_GRAPH},
    {2, 10, FIGURE_OF(2), FIGURE_OF(2 * MIB), FIGURE_OF(2 * MIB), FIGURE_OF(0), NOT_KNOWN,
     NOT_KNOWN, NOT_KNOWN, NO_GRAPH},
};
static struct profile_heap_page detail_heap_pages[] = {
    {2, 5, 0x555555560000, 4096, 4096, 16, 1, 4080},
    {2, 0, 0x555555561000, 4096, 4096, 0, 0, 0},
    {2, 0, 0x555555562000, 4096, 4096, 4096, 3, 0},
    {2, 0, 0x555555563000, 4096, 0, 0, 0, 0},
    {2, 7, 0x555555564000, 4096, 4096, 1024, 2, 3072},
    {2, 0, 0x7ffff0000000, 4096, 4096, 3071, 9, 0},
    {2, 0, 0x7ffff0001000, 4096, 4096, 4095, 9, 0},
};
static struct profile_source detail_sources[] = {
    {"/home/ann/solver/src/main.cpp", "int main() {}\n", 14}};

#define PUT(array, source)                                                                         \
    (to->array##s = (source), to->array##_count = sizeof(source) / sizeof *(source))

static struct thread_metrics *detail_own_threads;

static void detail_add(struct profile *to)
{
    detail_own_threads = to->threads;
    PUT(thread, detail_threads);
    PUT(distribution, detail_rows);
    PUT(peak, detail_peaks);
    PUT(curve, detail_curves);
    PUT(exchange, detail_exchanges);
    PUT(stack_peak, detail_stack_peaks);
    PUT(stack_layer, detail_stack_layers);
    PUT(variable, detail_variables);
    PUT(section, detail_sections);
    PUT(sample, detail_samples);
    PUT(mapping, detail_mappings);
    PUT(source, detail_sources);
    PUT(heap_page, detail_heap_pages);
    to->residencies = detail_residencies;
    to->residency_count = sizeof detail_residencies / sizeof *detail_residencies;
    to->program.total.realloc_count = figure_of(1007);
    to->program.total.realloc_moved = figure_of(107);
}

static void detail_remove(struct profile *from)
{
    from->threads = detail_own_threads;
    from->distributions = NULL;
    from->peaks = NULL;
    from->curves = NULL;
    from->exchanges = NULL;
    from->stack_peaks = NULL;
    from->stack_layers = NULL;
    from->variables = NULL;
    from->sections = NULL;
    from->samples = NULL;
    from->mappings = NULL;
    from->residencies = NULL;
    from->heap_pages = NULL;
    from->sources = NULL;
    from->distribution_count = from->peak_count = from->curve_count = 0;
    from->stack_peak_count = from->stack_layer_count = 0;
    from->exchange_count = from->variable_count = from->section_count = 0;
    from->sample_count = from->mapping_count = from->residency_count = 0;
    from->source_count = from->heap_page_count = 0;
}

#endif

/* What stands beside sample.h in tests/golden/profile-v2-details*: everything that a profile says
 * beyond sums. Frozen with those files. Writing it, and comparing what was read. */
#ifndef TIDEMARK_TESTS_DETAIL_SAMPLE_H
#define TIDEMARK_TESTS_DETAIL_SAMPLE_H

#include "sample.h"

#define UNKNOWN      UINT64_MAX
#define ITEMS(array) (sizeof(array) / sizeof *(array))

static const struct distribution_row detail_distributions[] = {
    {DISTRIBUTION_SIZE, 0, 0, 3, 0},
    {DISTRIBUTION_SIZE, 48, 0, 50000, 2400000},
    {DISTRIBUTION_SIZE, 1048576, 0, 1, 1048576},
    {DISTRIBUTION_SIZE_EXACT, 48, 0, 49000, 2352000},
    {DISTRIBUTION_SIZE_EXACT, DISTRIBUTION_OTHERS, 0, 9, 0},
    {DISTRIBUTION_LIFETIME, 0, 0, 5, 80},
    {DISTRIBUTION_LIFETIME, 1ull << 62, 0, 1, INT64_MAX},
    {DISTRIBUTION_LIFETIME_SIZE, 1024, 32, 7, 300},
    {DISTRIBUTION_TIME_SIZE, 16000000, 64, 1000, 64000},
    {DISTRIBUTION_REALLOC, 64, 128, 20, 2560},
    {DISTRIBUTION_REALLOC_GROW, 64, 0, 20, 1280},
    {DISTRIBUTION_REALLOC_SHRINK, 8, 0, 2, 16},
};
static const struct peak detail_peaks[] = {
    {.ticks = 300000000, .bytes = 9437184, .valley_bytes = {1000000}, .rest_bytes = 9437184},
    {.ticks = 812000000,
     .bytes = 27585936,
     .valley_bytes = {16777216},
     .rest_bytes = 3120,
     .share_count = 4,
     .shares = {{3, 16777216}, {5, 8388608}, {10, 2097152}, {6, 320000}}},
};
static const struct exchange detail_exchanges[] = {
    {0, 1, 5000, 14000000},
    {1, 0, 10, INT64_MAX},
    {UINT32_MAX, UINT32_MAX, 1, 8},
};
static const struct stack_peak detail_stack_peaks[] = {
    {0, 3, 100, 4000}, {0, 0, 5000000, 70000}, {1, 5, 0, INT64_MAX}};
static const struct stack_layer detail_stack_layers[] = {
    {0, 3, 69000, 1000}, {0, 5, 1000, 1}, {1, 10, INT64_MAX, 1}};
static const struct curve_point detail_points[] = {
    {0, 0}, {100, 16384}, {100, 0}, {5000000, INT64_MAX}, {5000001, UINT64_MAX}, {900000000, 1},
};
static const struct curve detail_curves[] = {
    {3, 6, {8192}, detail_points, MEMORY_HEAP, 0},
    {5, 1, {1 << 20}, detail_points + 1, MEMORY_HEAP, 0},
    {10, 2, {UNKNOWN}, detail_points, MEMORY_HEAP, 0},
};
static const struct profile_variable detail_variables[] = {
    {1, "solver::table", "_ZN6solver5tableE", 1 << 20, PROFILE_SECTION_BSS,
     "/home/ann/solver/src/main.cpp", 12},
    {1, "buffer", NULL, 4096, PROFILE_SECTION_DATA, NULL, 0},
    {1, "scratch", NULL, 64, PROFILE_SECTION_TBSS, NULL, 0},
    {3, "old_state", NULL, INT64_MAX, PROFILE_SECTION_RELRO, NULL, UINT32_MAX},
};
static const struct profile_section_total detail_sections[] = {
    {1, PROFILE_SECTION_DATA, {8192}, {5000}, {12}, false},
    {1, PROFILE_SECTION_BSS, {1 << 21}, {1 << 20}, {40}, false},
    {3, PROFILE_SECTION_RELRO, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, true},
};
/* Golden files are from before the graph of the live blocks. */
#define NO_GRAPH_OF_SAMPLE                                                                         \
    .lost_count = {UNKNOWN}, .lost_bytes = {UNKNOWN}, .indirect_count = {UNKNOWN},                 \
    .indirect_bytes = {UNKNOWN}, .possible_count = {UNKNOWN}, .possible_bytes = {UNKNOWN},         \
    .reachable_count = {UNKNOWN}, .reachable_bytes = {UNKNOWN}, .class_count = {UNKNOWN},          \
    .fill_count = {UNKNOWN}
static const struct profile_sample detail_samples[] = {
    {.id = 1,
     .high_water_bytes = {UNKNOWN}, /* golden files are older */
     .why = PROFILE_SAMPLE_START,
     .time_ns = 0,
     .resident_bytes = {3000000},
     .proportional_bytes = {UNKNOWN},
     .unique_bytes = {UNKNOWN},
     .swapped_bytes = {UNKNOWN},
     .virtual_bytes = {50000000},
     .cgroup_bytes = {UNKNOWN},
     .cgroup_limit_bytes = {UNKNOWN},
     .cgroup_peak_bytes = {UNKNOWN},
     .machine_available_bytes = {8ull << 30},
     .machine_bytes = {16ull << 30},
     .ooms = {UNKNOWN},
     NO_GRAPH_OF_SAMPLE},
    {.id = 2,
     .high_water_bytes = {UNKNOWN}, /* golden files are older */
     .why = PROFILE_SAMPLE_RESIDENT_PEAK,
     .time_ns = 812000000,
     .resident_bytes = {30000000},
     .proportional_bytes = {29000000},
     .unique_bytes = {28000000},
     .swapped_bytes = {4096},
     .virtual_bytes = {80000000},
     .requested_bytes = {27585936},
     .live_count = {2032},
     .minor_faults = {9000},
     .major_faults = {3},
     .voluntary_switches = {100},
     .involuntary_switches = {7},
     .cgroup_bytes = {100000000},
     .cgroup_limit_bytes = {200000000},
     .cgroup_peak_bytes = {110000000},
     .machine_available_bytes = {7ull << 30},
     .machine_bytes = {16ull << 30},
     .ooms = {0},
     .has_ledger = true,
     .live_touched_bytes = {25000000},
     .slack_bytes = {1000000},
     .mmap_bytes = {500000},
     .file_bytes = {2600000},
     .stack_bytes = {140000},
     .globals_bytes = {70000},
     .shared_bytes = {0},
     .tool_bytes = {700000},
     .other_bytes = {4096},
     .unexplained_bytes = -14096,
     .untouched_bytes = {2585936},
     .live_swapped_bytes = {4096},
     .returnable_bytes = {8192},
     .pinned_bytes = {600000},
     .pass_ms = 1.625,
     NO_GRAPH_OF_SAMPLE},
    {.id = 4000000000,
     .high_water_bytes = {UNKNOWN}, /* golden files are older */
     .why = PROFILE_SAMPLE_END,
     .time_ns = INT64_MAX,
     .resident_bytes = {UNKNOWN},
     .proportional_bytes = {UNKNOWN},
     .unexplained_bytes = INT64_MIN,
     .pass_ms = 1e300,
     NO_GRAPH_OF_SAMPLE},
};
static const struct profile_mapping detail_mappings[] = {
    {2,
     "file",
     "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
     5,
     {2097152},
     {1000000},
     {500000},
     {1000},
     {0}},
    {2, "heap", NULL, 1, {30000000}, {27000000}, {27000000}, {27000000}, {4096}},
    {4000000000, "anonymous", "", 3, {INT64_MAX}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}},
};
#define NO_GRAPH                                                                                   \
    {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN},                   \
    {                                                                                              \
        UNKNOWN                                                                                    \
    }
static const struct profile_residency detail_residencies[] = {
    {2, 3, {1}, {16777216}, {16000000}, {777216}, {0}, {0}, {0}, NO_GRAPH},
    {2, 5, {1024}, {8388608}, {7000000}, {1384512}, {4096}, {500000}, {12}, NO_GRAPH},
    {2, 10, {2}, {2097152}, {2000000}, {97152}, {0}, {100000}, {2}, NO_GRAPH},
    {4000000000, 0, {1}, {16}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, NO_GRAPH},
    {4000000000, 9, {3}, {UINT64_MAX - 1}, {4096}, {0}, {0}, {0}, {0}, NO_GRAPH},
};
/* Came later: golden files have none. */
static const struct profile_heap_page detail_heap_pages[] = {
    {2, 5, 0x555555560000, 4096, 4096, 16, 1, 4080},
    {2, 0, 0x555555561000, 4096, 4096, 0, 0, 0},
    {2, 0, 0x555555562000, 4096, 0, 0, 0, 0},
    {2, 10, 0x7ffff0000000, 1 << 20, 1 << 20, 2048, 7, 500000},
};
static const struct profile_island detail_islands[] = {
    {2, 3, 10, 480, 90, 4320, {1000}, {2000}},
    {4000000000, 0, 1, INT64_MAX, 0, 0, {UNKNOWN}, {UNKNOWN}},
};
static const struct profile_block_fill detail_fills[] = {
    {2, 3, PROFILE_FILL_VECTOR, 0, 10, 480, 90, 12},
    {2, 3, PROFILE_FILL_RUST_VEC, 24, 1, 240, 24, 12},
    {4000000000, 0, PROFILE_FILL_HASH, 8, 1, INT64_MAX, 0, 1},
};
static const struct profile_page_use detail_page_uses[] = {
    {1, 3, 1, 2, 1 << 20, 4096, 4000, 1000, 2000, 16, 10, 20},
    {3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
};
static const struct profile_machine_moment detail_machine_moments[] = {
    {0, {8ull << 30}, {1 << 30}, {6ull << 30}, {0}, {100 << 20}, {UNKNOWN}},
    {250000000, {INT64_MAX}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}, {1 << 30}},
};
static const struct device_total detail_device_totals[] = {
    {DEVICE_SPACE_CUDA, 1 << 20, 5000, 4096, 1, 12, 3 << 20, 11, 2, INT64_MAX, 3, 1},
    {DEVICE_SPACE_HIP_PINNED, 0, 0, 0, 0, 0, 0, 0, 1, 1ull << 40, 0, 0},
};
static const struct device_site detail_device_sites[] = {
    {DEVICE_SPACE_CUDA, 1, 10, 3 << 20, 0, 0, 1 << 20, 1 << 20},
    {DEVICE_SPACE_CUDA, 3, 2, 8192, 1, 4096, 0, 8192},
};
static const struct device_level detail_device_levels[] = {
    {DEVICE_SPACE_CUDA, 0, 0},
    {DEVICE_SPACE_CUDA, 5000, 1 << 20},
};
static const struct profile_call_type detail_call_types[] = {
    {1, 0x1234, PROFILE_CALL_MADE, "ns::Widget", 40, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}},
    {1, 0xffff5678, PROFILE_CALL_HANDED_ON, NULL, 0, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}},
    {2, 0x10, PROFILE_CALL_SCALAR, "char", 1, {UNKNOWN}, {UNKNOWN}, {UNKNOWN}},
};
static const struct profile_holder detail_holders[] = {
    {2, 1, 0, PROFILE_HOLDER_VARIABLE, 0, "table", "/usr/bin/solver", {UNKNOWN}, 0, 0, 0, 12, 600},
    {2, 2, 1, PROFILE_HOLDER_BLOCKS, 5, NULL, NULL, {UNKNOWN}, 0, 12, 600, 12, 600},
    {2, 3, 0, PROFILE_HOLDER_STACK, 0, "worker", NULL, {4711}, 0, 0, 0, 0, 0},
    {4000000000, 1, 0, PROFILE_HOLDER_REST, 0, NULL, NULL, {UNKNOWN}, 7, 3, 9, 3, INT64_MAX},
};
static const struct profile_sharer detail_sharers[] = {
    {2,
     1,
     1,
     PROFILE_HOLDER_VARIABLE,
     0,
     "a",
     "/usr/bin/solver",
     {UNKNOWN},
     {0},
     12,
     600,
     600,
     1,
     8},
    {2, 1, 2, PROFILE_HOLDER_STACK, 0, "worker", NULL, {4711}, {0}, 3, 150, 0, 0, 0},
    {2, 1, 3, PROFILE_HOLDER_MAPPING, 5, NULL, NULL, {UNKNOWN}, {0}, 1, INT64_MAX, 0, 0, 0},
    {2, 1, 4, PROFILE_HOLDER_REST, 0, NULL, NULL, {UNKNOWN}, {70}, 0, 0, 0, 0, 0},
    {4000000000, 1, 1, PROFILE_HOLDER_REST, 0, NULL, NULL, {UNKNOWN}, {UNKNOWN}, 0, 0, 0, 0, 0},
};
static const struct profile_chain detail_chains[] = {
    {2,
     0,
     PROFILE_HOLDER_VARIABLE,
     0,
     "table",
     "/usr/bin/solver",
     {UNKNOWN},
     {0x555555560000},
     {128},
     {24},
     {0}},
    {2,
     1,
     PROFILE_HOLDER_BLOCKS,
     5,
     NULL,
     NULL,
     {UNKNOWN},
     {0x7fff00000000},
     {48},
     {UNKNOWN},
     {UNKNOWN}},
};
#define SOURCE(path, text)                                                                         \
    {                                                                                              \
        path, text, sizeof(text) - 1                                                               \
    }
static const struct profile_source detail_sources[] = {
    SOURCE("/home/ann/solver/src/empty.cpp", ""),
    SOURCE("/home/ann/solver/src/main.cpp", "#include \"mesh.hpp\"\n\nint main()\n{\n}\n"),
    SOURCE("/home/ann/solver/src/mesh.cpp", "/* \xc3\xa4 \xff */\r\nint x;"),
};

static inline struct thread_metrics detail_thread(int index)
{
    struct thread_numbers thread = sample_threads[index];
    thread.malloc_count = 50000;
    thread.calloc_count = thread.aligned_count = thread.new_count = 10;
    thread.realloc_count = 0;
    thread.live_bytes = 20000000;
    thread.peak_bytes = 27000000;
    thread.peak_ticks = 812000000;
    thread.freed_elsewhere_count = 5000;
    thread.freed_elsewhere_bytes = INT64_MAX;
    thread.alloc_time = thread.free_time = UNKNOWN;
    thread.stack_deepest_bytes = index ? UNKNOWN : 66000;
    thread.stack_touched_bytes = index ? UNKNOWN : 135168;
    thread.stack_node = index ? 0 : 10;
    memcpy(thread.name, index ? "" : "fifteen letters", 16 - (size_t)index * 15);
    return thread_metrics_of(&thread);
}

/* Without begin and commit; after sample_write(). */
static inline int details_write(struct profile_writer *writer)
{
    int error =
        profile_put_distributions(writer, detail_distributions, ITEMS(detail_distributions));
    for (int i = 0; i < SAMPLE_THREADS && !error; i++) {
        struct thread_metrics thread = detail_thread(i);
        error = profile_put_thread(writer, (size_t)i, &thread);
    }
    if (!error)
        error = profile_put_peaks(writer, detail_peaks, ITEMS(detail_peaks));
    if (!error)
        error = profile_put_exchanges(writer, detail_exchanges, ITEMS(detail_exchanges));
    if (!error)
        error = profile_put_stacks(writer, detail_stack_peaks, ITEMS(detail_stack_peaks),
                                   detail_stack_layers, ITEMS(detail_stack_layers));
    for (size_t i = 0; i < ITEMS(detail_curves) && !error; i++)
        error = profile_put_curve(writer, &detail_curves[i]);
    if (!error)
        error = profile_put_variables(writer, detail_variables, ITEMS(detail_variables));
    if (!error)
        error = profile_put_sections(writer, detail_sections, ITEMS(detail_sections));
    for (size_t i = 0; i < ITEMS(detail_samples) && !error; i++)
        error = profile_put_sample(writer, &detail_samples[i]);
    for (size_t i = 0; i < ITEMS(detail_mappings) && !error; i++)
        error = profile_put_mapping(writer, &detail_mappings[i]);
    if (!error)
        error = profile_put_residency(writer, detail_residencies, ITEMS(detail_residencies));
    if (!error)
        error = profile_put_heap_pages(writer, detail_heap_pages, ITEMS(detail_heap_pages));
    if (!error)
        error = profile_put_islands(writer, detail_islands, ITEMS(detail_islands));
    if (!error)
        error = profile_put_block_fills(writer, detail_fills, ITEMS(detail_fills));
    if (!error)
        error = profile_put_page_uses(writer, detail_page_uses, ITEMS(detail_page_uses));
    if (!error)
        error = profile_put_devices(
            writer, &(struct profile_devices){detail_device_totals, ITEMS(detail_device_totals),
                                              detail_device_sites, ITEMS(detail_device_sites),
                                              detail_device_levels, ITEMS(detail_device_levels)});
    if (!error)
        error = profile_put_machine_moments(writer, detail_machine_moments,
                                            ITEMS(detail_machine_moments));
    for (size_t i = 0; i < ITEMS(detail_call_types) && !error; i++)
        error = profile_put_call_type(writer, &detail_call_types[i]);
    if (!error)
        error = profile_put_holders(writer, detail_holders, ITEMS(detail_holders));
    if (!error)
        error = profile_put_sharers(writer, detail_sharers, ITEMS(detail_sharers));
    if (!error)
        error = profile_put_chain(writer, detail_chains, ITEMS(detail_chains));
    for (size_t i = 0; i < ITEMS(detail_sources) && !error; i++)
        error = profile_put_source(writer, detail_sources[i].path, detail_sources[i].text,
                                   detail_sources[i].bytes);
    return error;
}

static inline int details_file(const char *path, bool pack)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = profile_writer_begin(writer);
    if (!error)
        error = sample_write(writer);
    if (!error)
        error = details_write(writer);
    if (!error)
        return profile_writer_finish(writer, pack);
    profile_writer_abandon(writer);
    return error;
}

#endif

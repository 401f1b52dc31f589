/* The content of tests/golden/profile-v*: a small program's profile with everything in it. Frozen
 * with the golden files: what reads them must find this for ever. */
#ifndef TIDEMARK_TESTS_SAMPLE_H
#define TIDEMARK_TESTS_SAMPLE_H

#include <stdint.h>
#include <string.h>
#include "../../model/numbers.h"
#include "profile/profile.h"

static const uint8_t sample_build_id[] = {0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x03, 0x04};
static const struct profile_module sample_modules[] = {
    {1, "/home/ann/solver/build/solver", sample_build_id, sizeof sample_build_id, 0x555500000000,
     0x555500100000, 0x555500000000, 4},
    {2, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", NULL, 0, 0x7f0000000000, 0x7f0000200000,
     0x7f0000000000, 2},
    {3, "/opt/lib/libold.so", NULL, 0, 0x7f1000000000, 0x7f1000200000, 0x7f1000000000, 1},
};
enum { SAMPLE_MODULES = 3 };

static const struct profile_frame sample_frames[][3] = {
    {{"main", "main", "/home/ann/solver/src/main.cpp", 42}},
    {{"solver::Mesh::refine(int)", "_ZN6solver4Mesh6refineEi", "/home/ann/solver/src/mesh.cpp",
      118}},
    {{"std::vector<solver::Cell, std::allocator<solver::Cell> >::push_back(solver::Cell const&)",
      "_ZNSt6vectorIN6solver4CellESaIS1_EE9push_backERKS1_",
      "/usr/include/c++/12/bits/stl_vector.h", 1281},
     {"solver::Mesh::add_cell(solver::Cell const&)", "_ZN6solver4Mesh8add_cellERKNS_4CellE",
      "/home/ann/solver/src/mesh.cpp", 77}},
    {{"solver::Field<double, 3>::resize<solver::Layout<solver::RowMajor, 64> >(unsigned long)",
      "_ZN6solver5FieldIdLi3EE6resizeINS_6LayoutINS_8RowMajorELi64EEEEEvm",
      "/home/ann/solver/src/field.hpp", 203}},
    {{"solver::read_input(std::__cxx11::basic_string<char, std::char_traits<char>, "
      "std::allocator<char> > const&)",
      "_ZN6solver10read_inputERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
      "/home/ann/solver/src/input.cpp", 31}},
    {{"solver::step(double)", "_ZN6solver4stepEd", "/home/ann/solver/src/main.cpp", 27}},
    {{NULL, NULL, NULL, 0}}, /* in libold.so, without names */
    {{"solver::log\033[31m(char const*)", NULL, "/home/ann/solver/src/log.cpp", 9}}, /* unsafe */
};
static const struct profile_location sample_locations[] = {
    {1, 1, 0x1180, 0, sample_frames[0], 1},
    {2, 1, 0x2210, 0, sample_frames[1], 1},
    {3, 1, 0x2f04, 0, sample_frames[2], 2},
    {4, 1, 0x3a30, 0, sample_frames[3], 1},
    {5, 1, 0x41c8, 0, sample_frames[4], 1},
    {6, 1, 0x1090, 0, sample_frames[5], 1},
    {7, 3, 0x0999, 0, sample_frames[6], 1},
    {8, 1, 0x5000, 0, sample_frames[7], 1},
    {9, -1, 1, 1, NULL, 0},
};
enum { SAMPLE_LOCATIONS = 9 };

/* main → refine → add_cell; main → step → {resize, log}; main → read_input; ? → libold */
static const struct {
    uint32_t id, parent;
    int64_t location;
} sample_paths[] = {{1, 0, 1}, {2, 1, 2}, {3, 2, 3}, {4, 1, 6}, {5, 4, 4},
                    {6, 1, 5}, {7, 4, 8}, {8, 0, 9}, {9, 8, 7}, {10, 2, 4}};
enum { SAMPLE_PATHS = 10 };

/* Recorded without --free-stacks, --sample and the times of calls, as all recordings were when the
 * golden files were written: what they do not have is what is written today as not known. */
#define SAMPLE_UNKNOWN                                                                             \
    .freed_count = UINT64_MAX, .freed_bytes = UINT64_MAX, .freed_elsewhere_count = UINT64_MAX,     \
    .freed_lifetime_sum = UINT64_MAX, .alloc_time = UINT64_MAX, .free_time = UINT64_MAX,           \
    .sample_count = UINT64_MAX, .alloc_variance = UINT64_MAX, .live_variance = UINT64_MAX,         \
    .at_peak_variance = UINT64_MAX, .at_all_peak_bytes = UINT64_MAX, .reserved_bytes = UINT64_MAX, \
    .discarded_bytes = UINT64_MAX, .resident_bytes = UINT64_MAX
#define SAMPLE_SITE(count, bytes, freed, freed_bytes, temporary, at_peak, at_peak_n, own_peak)     \
    {                                                                                              \
        .alloc_count = count, .alloc_bytes = bytes, .free_count = freed,                           \
        .free_bytes = freed_bytes, .temporary_count = temporary, .at_peak_bytes = at_peak,         \
        .at_peak_count = at_peak_n, .live_count = (count) - (freed),                               \
        .live_bytes = (bytes) - (freed_bytes), .peak_bytes = own_peak, .peak_ticks = 800000000,    \
        .size_min = 16, .size_max = 1 << 20, .lifetime_min = (freed) ? 90 : UINT64_MAX,            \
        .lifetime_max = (freed) ? 900000000 : 0, .lifetime_sum = (freed)*1000ull,                  \
        .slack_bytes = (count)*8ull, SAMPLE_UNKNOWN                                                \
    }
static const struct {
    uint32_t path;
    struct call_numbers metrics;
} sample_sites[] = {
    {3, SAMPLE_SITE(18, 33554304, 17, 16777088, 0, 16777216, 1, 16777216)},
    {5, SAMPLE_SITE(12000, 98304000, 12000, 98304000, 6000, 8388608, 1024, 9437184)},
    {6, SAMPLE_SITE(4210, 1347200, 3210, 1027200, 1200, 320000, 1000, 1347200)},
    {7, SAMPLE_SITE(50000, 2400000, 50000, 2400000, 49990, 48, 1, 96)},
    {9, SAMPLE_SITE(3, 3072, 0, 0, 0, 3072, 3, 3072)},
    {10, SAMPLE_SITE(6, 6291456, 6, 6291456, 0, 2097152, 2, 4194304)},
};
enum { SAMPLE_SITES = 6 };

static inline struct program_numbers sample_program(void)
{
    struct program_numbers program = {.live_peak_count = 2100,
                                      .foreign_frees = 2,
                                      .events = 131465,
                                      .unmap_count = 1,
                                      .unmap_bytes = 4096,
                                      .all_peak_bytes = UINT64_MAX,
                                      .all_peak_ticks = UINT64_MAX,
                                      .discard_count = UINT64_MAX,
                                      .discard_bytes = UINT64_MAX};
    memset(&program.mapped, 0xff, sizeof program.mapped);
    struct call_numbers *total = &program.total;
    *total = (struct call_numbers){.size_min = 16,
                                   .size_max = 1 << 20,
                                   .lifetime_min = 90,
                                   .lifetime_max = 900000000,
                                   .peak_ticks = 812000000,
                                   .map_count = 2,
                                   .map_bytes = 1 << 20,
                                   SAMPLE_UNKNOWN};
    for (int i = 0; i < SAMPLE_SITES; i++) {
        const struct call_numbers *site = &sample_sites[i].metrics;
        total->alloc_count += site->alloc_count;
        total->alloc_bytes += site->alloc_bytes;
        total->free_count += site->free_count;
        total->free_bytes += site->free_bytes;
        total->temporary_count += site->temporary_count;
        total->at_peak_bytes += site->at_peak_bytes;
        total->at_peak_count += site->at_peak_count;
        total->live_count += site->live_count;
        total->live_bytes += site->live_bytes;
        total->lifetime_sum += site->lifetime_sum;
        total->slack_bytes += site->slack_bytes;
    }
    total->peak_bytes = total->at_peak_bytes;
    return program;
}

enum { SAMPLE_BUCKETS = 64 };
static inline struct bucket_numbers sample_bucket(unsigned i)
{
    uint64_t level = i < 48 ? i * i * 12000ull : 16777216 + (i % 8) * 100000;
    struct bucket_numbers bucket = {.requested = {level, level + 40000},
                                    .blocks = {i * 30, i * 30 + 12},
                                    .physical = {level + 3000000, level + 4000000},
                                    .virt = {50000000, 50000000 + level},
                                    .tool = {UINT64_MAX, 0},
                                    .mapped = {UINT64_MAX, UINT64_MAX},
                                    .all = {UINT64_MAX, UINT64_MAX},
                                    .alloc_count = 1000 + i,
                                    .alloc_bytes = 200000 + i,
                                    .free_count = 990 + i,
                                    .free_bytes = 190000 + i};
    if (i % 4 == 3) /* /proc is read less often than the timeline has buckets */
        bucket.physical = bucket.virt = (struct level_numbers){UINT64_MAX, 0};
    return bucket;
}

#define SAMPLE_THREAD_UNKNOWN                                                                      \
    .malloc_count = UINT64_MAX, .calloc_count = UINT64_MAX, .aligned_count = UINT64_MAX,           \
    .new_count = UINT64_MAX, .pool_count = UINT64_MAX, .realloc_count = UINT64_MAX,                \
    .earlier_count = UINT64_MAX, .live_bytes = UINT64_MAX, .peak_bytes = UINT64_MAX,               \
    .peak_ticks = UINT64_MAX, .freed_elsewhere_count = UINT64_MAX,                                 \
    .freed_elsewhere_bytes = UINT64_MAX, .alloc_time = UINT64_MAX, .free_time = UINT64_MAX,        \
    .stack_deepest_bytes = UINT64_MAX, .stack_touched_bytes = UINT64_MAX
/* clang-format off */
static const struct thread_numbers sample_threads[] = {
    {.tid = 4711, .alloc_count = 60000, .alloc_bytes = 130000000, .free_count = 60000,
     .free_bytes = 110000000, SAMPLE_THREAD_UNKNOWN},
    {.tid = 4712, .start_ticks = 1000000, .end_ticks = 990000000, .alloc_count = 6237,
     .alloc_bytes = 11900032, .free_count = 5233, .free_bytes = 14800000, .waits = 3,
     .wait_ticks = 1500000, SAMPLE_THREAD_UNKNOWN},
};
/* clang-format on */
enum { SAMPLE_THREADS = 2 };

static inline int sample_meta(struct profile_writer *writer)
{
    static const char *const texts[][2] = {
        {PROFILE_META_PROGRAM, "solver"},
        {PROFILE_META_EXECUTABLE, "/home/ann/solver/build/solver"},
        {PROFILE_META_COMMAND, "./build/solver --steps 12 'in put.dat'"},
        {PROFILE_META_DIRECTORY, "/home/ann/solver"},
        {PROFILE_META_HOST, "node17"},
        {PROFILE_META_STARTED_BY, "exec"},
        {PROFILE_META_END, "exit"},
        {PROFILE_META_TOOL, "tidemark 0.1.0"},
    };
    static const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {PROFILE_META_PID, 4711},
        {PROFILE_META_PARENT_PID, 4000},
        {PROFILE_META_START, 1790000000000000000},
        {PROFILE_META_DURATION, 1024000000},
        {PROFILE_META_END_STATUS, 0},
        {PROFILE_META_UNWALKABLE, 1},
        {PROFILE_META_UNATTRIBUTED, 0},
        {PROFILE_META_WAIT_NS, 1500000},
    };
    int error = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !error; i++)
        error = profile_put_text(writer, texts[i][0], texts[i][1]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !error; i++)
        error = profile_put_integer(writer, numbers[i].key, numbers[i].value);
    return error;
}

static inline int put_sites(struct profile_writer *writer, uint32_t first,
                            const struct replay_site *sites, size_t count)
{
    struct strbuf body = STRBUF_INIT;
    profile_encode_sites(&body, sites, count);
    int error = profile_put_sites(writer, first, count, body.data, body.length);
    strbuf_release(&body);
    return error;
}

static inline int sample_put_sites(struct profile_writer *writer)
{
    struct replay_site sites[SAMPLE_SITES];
    for (int i = 0; i < SAMPLE_SITES; i++)
        sites[i] =
            (struct replay_site){sample_sites[i].path, call_metrics_of(&sample_sites[i].metrics)};
    return put_sites(writer, 0, sites, SAMPLE_SITES);
}

/* All of it, without begin and commit. */
static inline int sample_write(struct profile_writer *writer)
{
    struct program_numbers numbers = sample_program();
    struct program_metrics program = program_metrics_of(&numbers);
    struct timeline_bucket buckets[SAMPLE_BUCKETS];
    for (unsigned i = 0; i < SAMPLE_BUCKETS; i++) {
        struct bucket_numbers bucket = sample_bucket(i);
        buckets[i] = timeline_bucket_of(&bucket);
    }
    int error = sample_meta(writer);
    for (int i = 0; i < SAMPLE_MODULES && !error; i++)
        error = profile_put_module(writer, &sample_modules[i]);
    for (int i = 0; i < SAMPLE_LOCATIONS && !error; i++)
        error = profile_put_location(writer, &sample_locations[i]);
    for (int i = 0; i < SAMPLE_PATHS && !error; i++)
        error = profile_put_path(writer, sample_paths[i].id, sample_paths[i].parent,
                                 sample_paths[i].location);
    if (!error)
        error = sample_put_sites(writer);
    for (int i = 0; i < SAMPLE_THREADS && !error; i++) {
        struct thread_metrics thread = thread_metrics_of(&sample_threads[i]);
        error = profile_put_thread(writer, (size_t)i, &thread);
    }
    if (!error)
        error = profile_put_program(writer, &program);
    return error ? error : profile_put_timeline(writer, buckets, SAMPLE_BUCKETS, 16000000);
}

static inline int sample_file(const char *path, bool pack)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = profile_writer_begin(writer);
    if (!error)
        error = sample_write(writer);
    if (!error)
        error = profile_writer_commit(writer);
    if (error) {
        profile_writer_abandon(writer);
        return error;
    }
    return profile_writer_finish(writer, pack);
}

#endif

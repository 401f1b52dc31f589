/* Profiles of the ranks of a job that never ran, with known answers: the phdMesh case of the
 * WMTrace paper, a spike while the mesh is loaded that grows with the rank, then a plateau that is
 * the same for all.
 *
 *   bytes at the peak of rank r of n
 *     main                1 MiB                      constant
 *     load_mesh           r × 64 KiB                 the imbalance
 *     halo_tables         n × 4 KiB                  grows with the job
 *     solve_cells         64 MiB / n                 scales
 *     MPI_Init            2 MiB, in libmpi           constant
 *     deflateInit_        256 KiB, in libz, called by libmpi
 *
 *   high-water mark       3.25 MiB + n × 4 KiB + 64 MiB / n + r × 64 KiB
 *   mean                  the same at r = (n - 1) / 2
 *   deviation             64 KiB × sqrt((n² - 1) / 12)
 *
 * The spike stands from 5 % to 15 % of the run and the peak is in it, at 10 %; before it the level
 * is half of what main and MPI hold, after it what main, halo_tables and MPI hold. */
#ifndef TESTS_JOB_MADE_H
#define TESTS_JOB_MADE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile.h"

enum { MADE_KIB = 1024, MADE_MIB = 1024 * 1024, MADE_BUCKETS = 1000 };
#define MADE_START_NS 1700000000000000000ll

struct made {
    uint32_t rank, ranks, per_node;
    int signal;           /* it dies of that */
    uint64_t duration_ns; /* of its run */
    uint64_t late_ns;     /* after the others that it starts */
    unsigned build;       /* another build of the program: other addresses, another build-id */
    const char *job;
};

enum made_function { MADE_MAIN, MADE_MESH, MADE_HALO, MADE_SOLVE, MADE_MPI, MADE_ZLIB, MADE_COUNT };

static inline uint64_t made_bytes(const struct made *made, enum made_function function)
{
    switch (function) {
    case MADE_MAIN:
        return MADE_MIB;
    case MADE_MESH:
        return (uint64_t)made->rank * 64 * MADE_KIB;
    case MADE_HALO:
        return (uint64_t)made->ranks * 4 * MADE_KIB;
    case MADE_SOLVE:
        return 64ull * MADE_MIB / made->ranks;
    case MADE_MPI:
        return 2 * MADE_MIB;
    default:
        return 256 * MADE_KIB;
    }
}

static inline uint64_t made_plateau(const struct made *made)
{
    return made_bytes(made, MADE_MAIN) + made_bytes(made, MADE_HALO) + made_bytes(made, MADE_MPI);
}

static inline uint64_t made_peak(const struct made *made)
{
    uint64_t sum = 0;
    for (int i = 0; i < MADE_COUNT; i++)
        sum += made_bytes(made, (enum made_function)i);
    return sum;
}

/* Locations: 1 main, 2 load_mesh, 3 halo_tables, 4 solve_cells, 5 MPI_Init, 6 deflateInit_. */
static inline void made_put_code(struct profile_writer *writer, const struct made *made)
{
    static const char *const names[] = {"main",        "load_mesh", "halo_tables",
                                        "solve_cells", "MPI_Init",  "deflateInit_"};
    uint8_t build_id[20] = {0xaa, (uint8_t)made->build};
    struct profile_module modules[] = {
        {1, "/opt/app/bin/phdmesh", build_id, sizeof build_id, 0x1000, 0x9000, 0, 4},
        {2, "/usr/lib/libmpi.so.40", NULL, 0, 0x10000, 0x20000, 0, 2},
        {3, "/usr/lib/libz.so.1", NULL, 0, 0x30000, 0x40000, 0, 2},
    };
    modules[0].start += (uint64_t)made->rank << 20; /* as address space layouts differ */
    for (int i = 0; i < 3; i++)
        profile_put_module(writer, &modules[i]);
    for (int i = 0; i < MADE_COUNT; i++) {
        bool own = i < MADE_MPI;
        struct profile_frame frame = {names[i], NULL, own ? "src/mesh.c" : NULL,
                                      own ? 10u * (unsigned)i + 1 + made->build : 0};
        struct profile_location location = {
            .id = i + 1,
            .module_id = own             ? 1
                         : i == MADE_MPI ? 2
                                         : 3,
            .address = 0x100u * (unsigned)(i + 1) + (own ? made->build * 8 : 0),
            .frames = &frame,
            .frame_count = 1,
        };
        profile_put_location(writer, &location);
    }
}

/* Paths: 1 main, 2 … 5 main → f, 6 main → MPI_Init → deflateInit_. */
static inline void made_put_paths(struct profile_writer *writer)
{
    profile_put_path(writer, 1, 0, 1);
    for (uint32_t i = MADE_MESH; i <= MADE_MPI; i++)
        profile_put_path(writer, i + 1, 1, (int64_t)i + 1);
    profile_put_path(writer, 6, 5, 6);
}

static inline struct call_metrics made_metrics(const struct made *made, uint64_t bytes, bool leaks)
{
    struct call_metrics metrics = {
        .alloc_count = FIGURE_OF(1),
        .alloc_bytes = FIGURE_OF(bytes),
        .free_count = FIGURE_OF(!leaks),
        .free_bytes = FIGURE_OF(leaks ? 0 : bytes),
        .size_min = FIGURE_OF(bytes),
        .size_max = FIGURE_OF(bytes),
        .lifetime_min = FIGURE_OF(leaks ? UINT64_MAX : 1000),
        .lifetime_max = FIGURE_OF(leaks ? 0 : 1000),
        .lifetime_sum = FIGURE_OF(leaks ? 0 : 1000),
        .live_count = FIGURE_OF(leaks),
        .live_bytes = FIGURE_OF(leaks ? bytes : 0),
        .peak_bytes = FIGURE_OF(bytes),
        .peak_ticks = FIGURE_OF(made->duration_ns / 10),
        .at_peak_bytes = FIGURE_OF(bytes),
        .at_peak_count = FIGURE_OF(1),
        .freed_count = FIGURE_UNKNOWN,
        .freed_bytes = FIGURE_UNKNOWN,
        .freed_elsewhere_count = FIGURE_UNKNOWN,
        .freed_lifetime_sum = FIGURE_UNKNOWN,
        .alloc_time = FIGURE_UNKNOWN,
        .free_time = FIGURE_UNKNOWN,
        .sample_count = FIGURE_UNKNOWN,
        .alloc_variance = FIGURE_UNKNOWN,
        .live_variance = FIGURE_UNKNOWN,
        .at_peak_variance = FIGURE_UNKNOWN,
    };
    return metrics;
}

static inline void made_put_metrics(struct profile_writer *writer, const struct made *made)
{
    struct replay_site sites[MADE_COUNT];
    struct program_metrics program = {.total = made_metrics(made, 0, false)};
    struct strbuf body = STRBUF_INIT;
    program.total.alloc_count = figure_of(0);
    program.events = 0;
    program.total.free_count = figure_of(0);
    program.total.size_min =
        figure_of(64 * MADE_KIB); /* of halo_tables of 16 ranks, the least there is */
    uint32_t count = 0;
    for (uint32_t i = 0; i < MADE_COUNT; i++) {
        uint64_t bytes = made_bytes(made, (enum made_function)i);
        bool leaks = i == MADE_MAIN || i == MADE_MPI;
        if (!bytes)
            continue;
        sites[count++] = (struct replay_site){i + 1, made_metrics(made, bytes, leaks)};
        program.total.alloc_count = figure_add(program.total.alloc_count, figure_of(1));
        program.total.size_max = figure_max(program.total.size_max, figure_of(bytes));
        program.total.alloc_bytes = figure_add(program.total.alloc_bytes, figure_of(bytes));
        program.total.live_bytes =
            figure_add(program.total.live_bytes, figure_of(leaks ? bytes : 0));
        program.total.live_count = figure_add(program.total.live_count, figure_of(leaks));
        program.events += 2;
    }
    program.total.peak_bytes = program.total.at_peak_bytes = figure_of(made_peak(made));
    profile_encode_sites(&body, sites, count);
    profile_put_sites(writer, 0, count, body.data, body.length);
    strbuf_release(&body);
    profile_put_program(writer, &program);
}

static inline void made_put_timeline(struct profile_writer *writer, const struct made *made)
{
    static __thread struct timeline_bucket buckets[MADE_BUCKETS];
    uint64_t before = made_plateau(made) / 2, after = made_plateau(made), peak = made_peak(made);
    for (int i = 0; i < MADE_BUCKETS; i++) {
        uint64_t level = i < MADE_BUCKETS / 20         ? before
                         : i < MADE_BUCKETS * 15 / 100 ? peak
                                                       : after;
        struct timeline_bucket *bucket = &buckets[i];
        memset(bucket, 0, sizeof *bucket);
        bucket->requested = (struct timeline_level){FIGURE_OF(level), FIGURE_OF(level)};
        bucket->blocks = (struct timeline_level){FIGURE_OF(1), FIGURE_OF(6)};
        bucket->virt = bucket->tool = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
        bucket->physical = bucket->virt;
        if (i % 100 == 50 || i == 100) /* looked at ten times, and at the peak */
            bucket->physical =
                (struct timeline_level){FIGURE_OF(level + MADE_MIB), FIGURE_OF(level + MADE_MIB)};
    }
    profile_put_timeline(writer, buckets, MADE_BUCKETS, made->duration_ns / MADE_BUCKETS);
}

static inline void made_put_meta(struct profile_writer *writer, const struct made *made)
{
    char node[32], boot[48];
    snprintf(node, sizeof node, "node%02u", made->rank / made->per_node);
    snprintf(boot, sizeof boot, "boot-%04u", made->rank / made->per_node);
    profile_put_text(writer, PROFILE_META_PROGRAM, "phdmesh");
    profile_put_text(writer, PROFILE_META_COMMAND, "./phdmesh -s 64");
    profile_put_text(writer, PROFILE_META_HOST, node);
    profile_put_text(writer, PROFILE_META_BOOT, boot);
    profile_put_text(writer, PROFILE_META_LAUNCHER, "openmpi");
    profile_put_text(writer, PROFILE_META_JOB, made->job ? made->job : "made");
    profile_put_text(writer, PROFILE_META_TOOL, "tidemark test");
    profile_put_integer(writer, PROFILE_META_RANK, made->rank);
    profile_put_integer(writer, PROFILE_META_RANKS, made->ranks);
    profile_put_integer(writer, PROFILE_META_PID, 1000 + made->rank);
    profile_put_integer(writer, PROFILE_META_START, MADE_START_NS + (int64_t)made->late_ns);
    profile_put_integer(writer, PROFILE_META_DURATION, (int64_t)made->duration_ns);
    profile_put_text(writer, PROFILE_META_END, made->signal ? "signal" : "exit");
    profile_put_integer(writer, PROFILE_META_END_STATUS, made->signal);
}

static inline void made_put_sample(struct profile_writer *writer, const struct made *made)
{
    struct profile_sample sample;
    memset(&sample, 0xff, sizeof sample);
    sample.id = 1;
    sample.why = PROFILE_SAMPLE_END;
    sample.time_ns = made->duration_ns;
    sample.machine_bytes = figure_of(256ull * MADE_MIB);
    sample.has_ledger = false;
    sample.unexplained_bytes = 0;
    sample.pass_ms = 0;
    profile_put_sample(writer, &sample);
}

static inline int made_write(const char *path, const struct made *made)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    profile_writer_begin(writer);
    made_put_meta(writer, made);
    made_put_code(writer, made);
    made_put_paths(writer);
    made_put_metrics(writer, made);
    made_put_timeline(writer, made);
    made_put_sample(writer, made);
    profile_writer_commit(writer);
    return profile_writer_finish(writer, true);
}

#endif

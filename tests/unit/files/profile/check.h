/* Profiles compared, field by field. */
#ifndef TIDEMARK_TESTS_CHECK_H
#define TIDEMARK_TESTS_CHECK_H

#include <unistd.h>
#include "profile/schema.h"
#include "sample.h"

static inline void check_string(const char *got, const char *expected)
{
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
}

static inline void check_level(struct timeline_level got, struct level_numbers expected)
{
    bool sampled = expected.min <= expected.max;
    assert_int_equal(number_of(got.min), expected.min);
    assert_int_equal(number_of(got.max), sampled ? expected.max : UINT64_MAX);
}

static inline void check_bucket(const struct timeline_bucket *got,
                                const struct bucket_numbers *expected)
{
    check_level(got->requested, expected->requested);
    check_level(got->blocks, expected->blocks);
    check_level(got->physical, expected->physical);
    check_level(got->virt, expected->virt);
    check_level(got->tool, expected->tool);
    assert_memory_equal(&got->alloc_count, &expected->alloc_count, 4 * sizeof(uint64_t));
}

static inline void check_code(const struct profile *profile, uint32_t index,
                              const struct profile_location *expected)
{
    const struct profile_code *code = &profile->codes[index];
    assert_int_equal(code->address, expected->address);
    assert_int_equal(code->mark, expected->mark);
    if (expected->module_id < 0)
        assert_int_equal(code->module, UINT32_MAX);
    else
        assert_int_equal(profile->modules[code->module].id, expected->module_id);
    assert_int_equal(code->line_count, expected->frame_count ? expected->frame_count : 1);
    for (size_t i = 0; i < expected->frame_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        const struct profile_frame *frame = &expected->frames[i];
        check_string(profile->functions[line->function].name,
                     frame->function ? frame->function : "?");
        check_string(profile->functions[line->function].linkage, frame->linkage);
        check_string(line->file, frame->file);
        assert_int_equal(line->line, frame->line);
    }
}

/* more_of_threads: what it has of threads is more than the sample's. */
static inline void check_sample(const struct profile *profile, bool more_of_threads)
{
    struct program_numbers program = sample_program();
    if (profile->damage)
        fail_msg("%s", profile->damage);
    assert_true(profile->complete);
    assert_true(profile->has_program);
    assert_memory_equal(&profile->program, &program, sizeof program);
    check_string(profile_get(profile, PROFILE_META_COMMAND),
                 "./build/solver --steps 12 'in put.dat'");
    check_string(profile_get(profile, PROFILE_META_PID), "4711");
    assert_int_equal(profile->module_count, SAMPLE_MODULES);
    for (int i = 0; i < SAMPLE_MODULES; i++) {
        check_string(profile->modules[i].path, sample_modules[i].path);
        assert_int_equal(profile->modules[i].bias, sample_modules[i].bias);
        assert_int_equal(profile->modules[i].quality, sample_modules[i].quality);
        assert_int_equal(profile->modules[i].build_id_bytes, sample_modules[i].build_id_bytes);
    }
    assert_memory_equal(profile->modules[0].build_id, sample_build_id, sizeof sample_build_id);
    assert_int_equal(profile->code_count, SAMPLE_LOCATIONS + 1);
    for (uint32_t i = 0; i < SAMPLE_LOCATIONS; i++)
        check_code(profile, i + 1, &sample_locations[i]);
    assert_int_equal(profile->node_count, SAMPLE_PATHS + 1);
    for (int i = 0; i < SAMPLE_PATHS; i++) {
        assert_int_equal(profile->nodes[i + 1].parent, sample_paths[i].parent);
        assert_int_equal(profile->nodes[i + 1].location, sample_paths[i].location);
    }
    assert_int_equal(profile->site_count, SAMPLE_SITES);
    for (int i = 0; i < SAMPLE_SITES; i++) {
        struct profile_site room;
        const struct profile_site *site = profile_site_at(profile, (size_t)i, &room);
        assert_int_equal(site->path, sample_sites[i].path);
        assert_memory_equal(&site->metrics, &sample_sites[i].metrics, sizeof(struct call_metrics));
    }
    assert_int_equal(profile->thread_count, SAMPLE_THREADS);
    if (!more_of_threads)
        assert_memory_equal(profile->threads, sample_threads, sizeof sample_threads);
    assert_int_equal(profile->bucket_count, SAMPLE_BUCKETS);
    assert_int_equal(profile->bucket_ns, 16000000);
    for (unsigned i = 0; i < SAMPLE_BUCKETS; i++) {
        struct bucket_numbers expected = sample_bucket(i);
        check_bucket(&profile->buckets[i], &expected);
    }
}

/* ---- Random content ------------------------------------------------------------------------ */

/* Numbers of every magnitude; what SQLite cannot hold stands in rows as the largest that it can. */
static inline uint64_t random_number(unsigned *seed)
{
    uint64_t value = (uint64_t)rand_r(seed) << 42 ^ (uint64_t)rand_r(seed) << 21 ^ rand_r(seed);
    return (value * 2 + (rand_r(seed) & 1)) >> (rand_r(seed) % 64);
}

static inline void fill_random(void *target, size_t bytes, unsigned *seed)
{
    uint64_t *number = target;
    for (size_t i = 0; i < bytes / sizeof *number; i++)
        number[i] = random_number(seed);
}

/* Metrics of all sites: some are 0 or the same for all, most are small, any may be an extreme. */
static inline void fill_random_sites(struct replay_site *sites, size_t count, unsigned *seed)
{
    for (size_t metric = 0; metric < METRICS; metric++) {
        unsigned kind = (unsigned)rand_r(seed) % 4;
        uint64_t same = rand_r(seed) % 2 ? UINT64_MAX : random_number(seed);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = kind == 0 ? 0 : kind == 1 ? same : (uint64_t)rand_r(seed) % 100;
            if (kind == 3 && rand_r(seed) % 4 == 0)
                value = rand_r(seed) % 3 ? random_number(seed) : UINT64_MAX;
            memcpy((char *)&sites[i].metrics + metric * sizeof value, &value, sizeof value);
        }
    }
    for (size_t i = 0; i < count; i++)
        sites[i].metrics.resident_bytes = FIGURE_UNKNOWN; /* it is not kept */
}

/* What no file has, and these have no looks. */
static inline bool is_of_looks(size_t offset)
{
    return offset == offsetof(struct program_metrics, total.resident_bytes) ||
           offset == offsetof(struct program_metrics, mapped.resident_bytes);
}

/* Is UINT64_MAX "none" there? */
static inline bool is_none_field(size_t offset)
{
    for (size_t i = 0; i < schema_call_field_count; i++)
        if (schema_call_fields[i].offset == offset)
            return schema_call_fields[i].kind != FIELD_PLAIN;
    return false;
}

static inline uint64_t stored(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : value;
}

static inline void check_numbers(const void *got, const void *expected, size_t bytes)
{
    const uint64_t *left = got, *right = expected;
    for (size_t i = 0; i < bytes / sizeof *left; i++) {
        bool none = is_of_looks(i * 8) || (is_none_field(i * 8) && right[i] == UINT64_MAX);
        assert_int_equal(left[i], none ? UINT64_MAX : stored(right[i]));
    }
}

/* A random tree with gaps in its numbers, and sites of random metrics on some of its nodes, in any
 * order, some blocks of them written twice. */
enum { RANDOM_NODES = 9000 };
struct random_profile {
    size_t node_count, site_count;
    uint32_t ids[RANDOM_NODES];
    uint32_t parents[RANDOM_NODES];    /* index + 1; 0 root */
    uint32_t site_nodes[RANDOM_NODES]; /* index */
    struct replay_site sites[RANDOM_NODES];
    struct program_metrics program;
};

static inline void make_random(struct random_profile *random, unsigned *seed)
{
    uint32_t id = 0, limit = rand_r(seed) % 4 ? 300 : RANDOM_NODES;
    random->node_count = 1 + (size_t)rand_r(seed) % (limit - 1);
    random->site_count = (size_t)rand_r(seed) % (random->node_count + 1);
    for (uint32_t i = 0; i < random->node_count; i++) {
        bool gap = rand_r(seed) % (limit / 10) == 0;
        random->ids[i] = id += 1 + (gap ? (uint32_t)rand_r(seed) % 50000 : 0);
        random->parents[i] = i ? (uint32_t)rand_r(seed) % i : 0;
        random->site_nodes[i] = i;
    }
    for (size_t i = random->node_count - 1; i > 0; i--) { /* shuffled */
        size_t j = (size_t)rand_r(seed) % (i + 1);
        uint32_t node = random->site_nodes[i];
        random->site_nodes[i] = random->site_nodes[j];
        random->site_nodes[j] = node;
    }
    for (size_t i = 0; i < random->site_count; i++)
        random->sites[i].node = random->ids[random->site_nodes[i]];
    fill_random(&random->program, sizeof random->program, seed);
    /* Where events were lost, no allocations are not known to be none: such a profile comes back
     * with unknown figures, which test_profile_writer.c has a test of. */
    if (figure_zero(random->program.total.alloc_count))
        random->program.total.alloc_count = figure_of(1);
}

static inline void maybe_commit(struct profile_writer *writer, unsigned *seed)
{
    if (rand_r(seed) % 10)
        return;
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
}

static inline void write_random(struct profile_writer *writer, struct random_profile *random,
                                unsigned *seed)
{
    assert_int_equal(profile_writer_begin(writer), 0);
    for (size_t i = 0; i < random->node_count; i++) {
        uint32_t parent = random->parents[i];
        assert_int_equal(
            profile_put_path(writer, random->ids[i], parent ? random->ids[parent - 1] : 0, 0), 0);
        maybe_commit(writer, seed);
    }
    for (size_t first = 0; first < random->site_count; first += PROFILE_BLOCK_SITES) {
        size_t rest = random->site_count - first;
        size_t count = rest < PROFILE_BLOCK_SITES ? rest : PROFILE_BLOCK_SITES;
        for (int again = rand_r(seed) % 3; again >= 0; again--) {
            fill_random_sites(random->sites + first, count, seed);
            assert_int_equal(put_sites(writer, (uint32_t)first, random->sites + first, count), 0);
            maybe_commit(writer, seed);
        }
    }
    assert_int_equal(profile_put_program(writer, &random->program), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
}

static inline void check_random(const struct random_profile *random, const char *path, bool in_rows)
{
    struct profile *profile;
    static size_t site_of[RANDOM_NODES]; /* by index of the node: site + 1 */
    if (profile_read(&profile, path)) {
        print_error("%s\n", error_text());
        fail();
    }
    if (profile->damage)
        fail_msg("%s", profile->damage);
    assert_int_equal(profile->node_count, random->node_count + 1);
    assert_int_equal(profile->site_count, random->site_count);
    for (size_t i = 0; i < random->node_count; i++) {
        assert_int_equal(profile->nodes[i + 1].parent, random->parents[i]);
        site_of[i] = 0;
    }
    for (size_t i = 0; i < random->site_count; i++)
        site_of[random->site_nodes[i]] = i + 1;
    for (size_t i = 0; i < random->site_count; i++) {
        struct profile_site room;
        const struct profile_site *got = profile_site_at(profile, i, &room);
        assert_true(got->path && (!i || got->path > profile_site_path(profile, i - 1)) &&
                    site_of[got->path - 1]);
        const struct replay_site *expected = &random->sites[site_of[got->path - 1] - 1];
        if (in_rows)
            check_numbers(&got->metrics, &expected->metrics, sizeof got->metrics);
        else
            assert_memory_equal(&got->metrics, &expected->metrics, sizeof got->metrics);
    }
    check_numbers(&profile->program, &random->program, sizeof profile->program);
    profile_free(profile);
}

/* As blocks, while they are written and afterwards, and as the rows that they are unpacked to. */
static inline void check_random_round_trip(const char *path, const char *rows, unsigned *seed)
{
    static struct random_profile random;
    struct profile_writer *writer;
    make_random(&random, seed);
    assert_int_equal(profile_writer_open(&writer, path), 0);
    write_random(writer, &random, seed);
    check_random(&random, path, false);
    for (int finished = 0; finished < 2; finished++) {
        if (finished)
            assert_int_equal(profile_writer_finish(writer, rand_r(seed) % 2), 0);
        check_random(&random, path, false);
        assert_int_equal(profile_unpack(path, rows), 0);
        check_random(&random, rows, true);
        assert_int_equal(unlink(rows), 0);
    }
}

#endif

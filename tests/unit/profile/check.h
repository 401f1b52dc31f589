/* Profiles compared, field by field. */
#ifndef TIDEMARK_TESTS_CHECK_H
#define TIDEMARK_TESTS_CHECK_H

#include "sample.h"

static inline void check_string(const char *got, const char *expected)
{
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
}

static inline void check_level(struct timeline_level got, struct timeline_level expected)
{
    if (expected.min > expected.max) {
        assert_true(got.min > got.max);
        return;
    }
    assert_int_equal(got.min, expected.min);
    assert_int_equal(got.max, expected.max);
}

static inline void check_bucket(const struct timeline_bucket *got,
                                const struct timeline_bucket *expected)
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

static inline void check_sample(const struct profile *profile)
{
    struct program_metrics program = sample_program();
    assert_null(profile->damage);
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
        assert_int_equal(profile->sites[i].path, sample_sites[i].path);
        assert_memory_equal(&profile->sites[i].metrics, &sample_sites[i].metrics,
                            sizeof(struct call_metrics));
    }
    assert_int_equal(profile->thread_count, SAMPLE_THREADS);
    assert_memory_equal(profile->threads, sample_threads, sizeof sample_threads);
    assert_int_equal(profile->bucket_count, SAMPLE_BUCKETS);
    assert_int_equal(profile->bucket_ns, 16000000);
    for (unsigned i = 0; i < SAMPLE_BUCKETS; i++) {
        struct timeline_bucket expected = sample_bucket(i);
        check_bucket(&profile->buckets[i], &expected);
    }
}

/* ---- Random content ------------------------------------------------------------------------ */

/* Numbers of every magnitude; what SQLite cannot hold is stored as the largest that it can. */
static inline uint64_t random_number(unsigned *seed)
{
    uint64_t value = (uint64_t)rand_r(seed) << 42 ^ (uint64_t)rand_r(seed) << 21 ^ rand_r(seed);
    return value >> (rand_r(seed) % 64);
}

static inline void fill_random(void *target, size_t bytes, unsigned *seed)
{
    uint64_t *number = target;
    for (size_t i = 0; i < bytes / sizeof *number; i++)
        number[i] = random_number(seed);
}

static inline uint64_t stored(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : value;
}

static inline void check_numbers(const void *got, const void *expected, size_t bytes, size_t none_a,
                                 size_t none_b)
{
    const uint64_t *left = got, *right = expected;
    for (size_t i = 0; i < bytes / sizeof *left; i++) {
        bool none = (i * 8 == none_a || i * 8 == none_b) && right[i] == UINT64_MAX;
        assert_int_equal(left[i], none ? UINT64_MAX : stored(right[i]));
    }
}

/* Sites of random metrics on a random tree with gaps in its numbers, some rows written twice. */
static inline void check_random_round_trip(const char *path, unsigned *seed)
{
    enum { NODES = 300 };
    static uint32_t ids[NODES], parents[NODES];
    static struct call_metrics sites[NODES];
    struct profile_writer *writer;
    size_t count = 1 + (size_t)rand_r(seed) % (NODES - 1);
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    uint32_t id = 0;
    for (size_t i = 0; i < count; i++) {
        ids[i] = id += 1 + (rand_r(seed) % 8 == 0 ? (uint32_t)rand_r(seed) % 5000000 : 0);
        parents[i] = i ? (uint32_t)rand_r(seed) % (uint32_t)i : 0; /* index + 1; 0 root */
        assert_int_equal(profile_put_path(writer, ids[i], parents[i] ? ids[parents[i] - 1] : 0, 0),
                         0);
        if (rand_r(seed) % 10 == 0) {
            assert_int_equal(profile_writer_commit(writer), 0);
            assert_int_equal(profile_writer_begin(writer), 0);
        }
        for (int again = rand_r(seed) % 3; again >= 0; again--) {
            fill_random(&sites[i], sizeof sites[i], seed);
            if (rand_r(seed) % 4 == 0)
                sites[i].size_min = sites[i].lifetime_min = UINT64_MAX;
            assert_int_equal(profile_put_site(writer, ids[i], &sites[i]), 0);
        }
    }
    struct program_metrics program;
    fill_random(&program, sizeof program, seed);
    assert_int_equal(profile_put_program(writer, &program), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_finish(writer, rand_r(seed) % 2), 0);

    struct profile *profile;
    assert_int_equal(profile_read(&profile, path), 0);
    assert_null(profile->damage);
    assert_int_equal(profile->node_count, count + 1);
    assert_int_equal(profile->site_count, count);
    size_t size_min = offsetof(struct call_metrics, size_min);
    size_t lifetime_min = offsetof(struct call_metrics, lifetime_min);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(profile->nodes[i + 1].parent, parents[i]);
        assert_int_equal(profile->sites[i].path, i + 1);
        check_numbers(&profile->sites[i].metrics, &sites[i], sizeof sites[i], size_min,
                      lifetime_min);
    }
    check_numbers(&profile->program, &program, sizeof program, size_min, lifetime_min);
    profile_free(profile);
}

#endif

/* Random summaries for comparison with brute force; the seed is printed. */
#ifndef TESTS_JOB_RANDOM_H
#define TESTS_JOB_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "job/job_summary.h"
#include "base/memory.h"

static uint64_t random_state;

static inline void random_begin(void)
{
    const char *given = getenv("SEED");
    random_state = given ? strtoull(given, NULL, 0)
                         : (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u ^ (uintptr_t)&random_state;
    printf("SEED=0x%llx\n", (unsigned long long)random_state);
}

static inline uint64_t random_u64(void)
{
    random_state += 0x9E3779B97F4A7C15u;
    uint64_t z = random_state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t random_below(uint64_t limit)
{
    return random_u64() % limit;
}

/* Of any size: from a bit to `bits`. */
static inline uint64_t random_bytes(unsigned bits)
{
    return random_u64() >> (64 - 1 - random_below(bits));
}

static inline struct job_rank random_rank(uint32_t number)
{
    static const char *const nodes[] = {"a", "b", "c", NULL};
    char file[32];
    snprintf(file, sizeof file, "rank-%u.tmk", number);
    struct job_rank rank = {
        .rank = number,
        .place = number,
        .rank_known = true,
        .state = random_below(8) ? JOB_COMPLETE : (enum job_state)random_below(JOB_STATES),
        .is_helper = !random_below(12),
        .node = memory_copy_string(nodes[random_below(4)]),
        .file = memory_copy_string(file),
        .start_unix_ns = 1000000 + random_below(5000),
        .duration_ns = 1 + random_below(20000),
        .peak_bytes = FIGURE_OF(random_bytes(40)),
        .live_bytes = FIGURE_OF(random_bytes(30)),
        .alloc_bytes = FIGURE_OF(random_u64()),
        .alloc_count = FIGURE_OF(random_u64()),
        .resident_peak_bytes = random_below(2) ? FIGURE_OF(random_bytes(40)) : FIGURE_UNKNOWN,
        .machine_bytes = FIGURE_UNKNOWN,
        .limit_bytes = FIGURE_UNKNOWN,
        .cgroup_peak_bytes = FIGURE_UNKNOWN,
        .available_bytes = FIGURE_UNKNOWN,
        .available_unix_ns = FIGURE_UNKNOWN,
    };
    uint64_t peak_ns = random_below(rank.duration_ns);
    rank.peak_ns = figure_of(peak_ns);
    if (!job_rank_is_read(&rank))
        rank.note = memory_copy_string("was damaged");
    for (int i = 0; i < JOB_STEPS && job_rank_is_read(&rank); i++) {
        uint16_t a = (uint16_t)random_below(JOB_SHARE + 1), b = (uint16_t)random_below(a + 1u);
        rank.requested_max[i] = a;
        rank.requested_min[i] = b;
        rank.resident_max[i] = random_below(3) ? (uint16_t)random_below(JOB_SHARE) : JOB_NO_SHARE;
    }
    /* the high-water mark is in the step that its moment is in */
    rank.requested_max[(peak_ns * JOB_STEPS + JOB_STEPS - 1) / rank.duration_ns % JOB_STEPS] =
        JOB_SHARE;
    rank.requested_max[peak_ns * JOB_STEPS / rank.duration_ns] = JOB_SHARE;
    return rank;
}

/* A digest of one rank with some of `functions` functions; bytes[f] gets its figures. */
static inline void random_digest(struct job_summary *digest, uint32_t number, unsigned functions,
                                 uint64_t (*bytes)[JOB_FIGURES])
{
    struct job_rank rank = random_rank(number);
    *digest = (struct job_summary){0};
    for (unsigned f = 0; f < functions; f++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", f);
        for (int i = 0; i < JOB_FIGURES; i++)
            bytes[f][i] = 0;
        if (random_below(3) == 0 || !job_rank_counts(&rank))
            continue;
        static const char *const wrappers[] = {"my_alloc", "", "xmalloc"};
        uint32_t entry = job_summary_entry(digest, (enum job_kind)(f % JOB_KINDS), name, "lib");
        if (f % JOB_KINDS == JOB_FUNCTION) /* most functions ask through the same one everywhere */
            job_summary_through(&digest->entries[entry],
                                f % 4 ? wrappers[f % 3] : wrappers[random_below(3)]);
        for (int i = 0; i < JOB_FIGURES; i++) {
            bytes[f][i] = random_below(4) ? random_bytes(56) : 0;
            job_sum_add(&digest->entries[entry].of[i], bytes[f][i], number);
        }
    }
    for (int i = 0; i < JOB_ENDS && job_rank_counts(&rank); i++) {
        struct job_end *end = &digest->ends[i];
        *end = (struct job_end){
            true, number, number, figure_or(rank.peak_bytes, 0), NULL, digest->entry_count};
        end->shares = memory_resize(NULL, digest->entry_count, sizeof *end->shares);
        for (uint32_t j = 0; j < digest->entry_count; j++) {
            unsigned f = (unsigned)atoi(digest->entries[j].name + 1);
            end->shares[j] = (struct job_share){j, {bytes[f][0], bytes[f][1], bytes[f][2]}};
        }
    }
    digest->program = memory_copy_string(number % 2 ? "odd" : "even");
    job_summary_add_rank(digest, &rank);
}

#endif

/* CPU time of writing 600,000 call paths and 204,800 sites in ten commits, as a collector does. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "profile/profile.h"
#include "base/error.h"

enum { COMMITS = 10, PATHS = 60000, SITES = 20 * PROFILE_BLOCK_SITES };

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct call_metrics some_metrics(unsigned *seed)
{
    return (struct call_metrics){
        .alloc_count = {(uint64_t)rand_r(seed) % 1000},
        .alloc_bytes = {(uint64_t)rand_r(seed) % 100000},
        .free_count = {(uint64_t)rand_r(seed) % 1000},
        .free_bytes = {(uint64_t)rand_r(seed) % 100000},
        .size_min = {(uint64_t)rand_r(seed) % 64},
        .size_max = {(uint64_t)rand_r(seed) % 4096},
        .lifetime_min = {(uint64_t)rand_r(seed)},
        .lifetime_max = {(uint64_t)rand_r(seed)},
        .lifetime_sum = {(uint64_t)rand_r(seed) * 7},
        .slack_bytes = {(uint64_t)rand_r(seed) % 1000},
        .peak_bytes = {(uint64_t)rand_r(seed) % 10000},
        .peak_ticks = {(uint64_t)rand_r(seed) * 3},
        .at_peak_bytes = {(uint64_t)rand_r(seed) % 1000},
        .at_peak_count = {(uint64_t)rand_r(seed) % 3},
    };
}

static int write_sites(struct profile_writer *writer, uint32_t number, uint32_t path,
                       unsigned *seed)
{
    struct replay_site sites[PROFILE_BLOCK_SITES];
    struct strbuf body = STRBUF_INIT;
    for (uint32_t i = 0; i < PROFILE_BLOCK_SITES; i++)
        sites[i] = (struct replay_site){path + 3 * i, some_metrics(seed)};
    profile_encode_sites(&body, sites, PROFILE_BLOCK_SITES);
    int error = profile_put_sites(writer, number, PROFILE_BLOCK_SITES, body.data, body.length);
    strbuf_release(&body);
    return error;
}

static int write_part(struct profile_writer *writer, uint32_t first, unsigned *seed)
{
    int error = profile_writer_begin(writer);
    for (uint32_t id = first; id < first + PATHS && !error; id++) {
        uint32_t back = 1 + (uint32_t)rand_r(seed) % 4;
        error = profile_put_path(writer, id, id > back ? id - back : 0, 1 + rand_r(seed) % 60000);
    }
    for (uint32_t i = 0; i < SITES && !error; i += PROFILE_BLOCK_SITES)
        error = write_sites(writer, first / PATHS * SITES + i, first + 3 * i, seed);
    return error ? error : profile_writer_commit(writer);
}

int main(int argc, char **argv)
{
    struct profile_writer *writer;
    unsigned seed = 1;
    double start = cpu_s();
    if (argc != 2 || profile_writer_open(&writer, argv[1])) {
        fprintf(stderr, "Usage: bench_writer FILE\n%s\n", error_text());
        return 1;
    }
    int error = 0;
    for (uint32_t i = 0; i < COMMITS && !error; i++)
        error = write_part(writer, 1 + i * PATHS, &seed);
    double written = cpu_s();
    if (!error)
        error = profile_writer_finish(writer, true);
    if (error)
        fprintf(stderr, "%s\n", error_text());
    printf("%d paths and sites: %.3f s of CPU; finish and pack: %.3f s\n",
           COMMITS * (PATHS + SITES), written - start, cpu_s() - written);
    return error != 0;
}

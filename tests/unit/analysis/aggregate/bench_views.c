/* What the views of a large profile cost: 1 M nodes, 200 k sites. Not part of the test run. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include "random_profile.h"
#include "aggregate/functions.h"
#include "aggregate/top_down.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int main(void)
{
    random_state = 1;
    struct profile *profile =
        random_profile((struct random_size){20000, 50, 200000, 1000000, 200000, 2000});
    long before = peak_kib();
    double start = now();
    struct functions functions;
    if (functions_init(&functions, profile, NULL, NULL))
        return 1;
    double end = now();
    printf("functions: %zu of %zu sites, %.3f s, %ld KiB\n", functions.count, profile->site_count,
           end - start, peak_kib() - before);
    functions_release(&functions);
    struct top_down tree;
    start = now();
    if (top_down_init(&tree, profile, METRIC_ROW(alloc_bytes), NULL, NULL))
        return 1;
    printf("top down: %zu nodes, %.3f s\n", tree.count, now() - start);
    top_down_release(&tree);
    random_profile_free(profile);
}

/* A profile in memory with a random call tree: recursion, direct and through others, inlined
 * frames, code without names, paths without metrics. */
#ifndef TESTS_RANDOM_PROFILE_H
#define TESTS_RANDOM_PROFILE_H

#include <stdlib.h>
#include "profile/profile.h"

static uint64_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

static struct call_metrics random_metrics(void)
{
    struct call_metrics metrics;
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &metrics) = figure_of(random_below(1000));
    return metrics;
}

struct random_size {
    uint32_t functions, modules, codes, nodes, sites, depth; /* depth: how far a parent lies back */
};

static struct profile *random_profile(struct random_size size)
{
    struct profile *profile = calloc(1, sizeof *profile);
    profile->function_count = size.functions;
    profile->functions = calloc(size.functions, sizeof *profile->functions);
    for (uint32_t i = 0; i < size.functions; i++)
        profile->functions[i].name = "?";
    profile->module_count = size.modules;
    profile->modules = calloc(size.modules + 1, sizeof *profile->modules);
    for (uint32_t i = 0; i < size.modules; i++) /* some are loaded again */
        profile->modules[i].path = i % 2 ? "/lib/odd.so" : "/lib/even.so";
    profile->code_count = size.codes;
    profile->codes = calloc(size.codes, sizeof *profile->codes);
    profile->lines = calloc(4 * (size_t)size.codes, sizeof *profile->lines);
    for (uint32_t i = 0; i < size.codes; i++) {
        struct profile_code *code = &profile->codes[i];
        code->module = random_below(5) && size.modules ? random_below(size.modules) : UINT32_MAX;
        code->mark = i && !random_below(20) ? 1 + (int)random_below(2) : 0;
        code->first_line = (uint32_t)profile->line_count;
        code->line_count = i ? 1 + random_below(3) : 1;
        for (uint32_t j = 0; j < code->line_count; j++)
            profile->lines[profile->line_count++].function = i ? random_below(size.functions) : 0;
    }
    profile->node_count = size.nodes;
    profile->nodes = calloc(size.nodes, sizeof *profile->nodes);
    for (uint32_t i = 1; i < size.nodes; i++) {
        uint32_t back = 1 + random_below(size.depth);
        profile->nodes[i].parent = back > i ? 0 : i - back;
        profile->nodes[i].location = 1 + random_below(size.codes - 1);
    }
    profile->sites = calloc(size.nodes, sizeof *profile->sites);
    for (uint32_t i = 0; i < size.nodes; i++) {
        if (random_below(size.nodes) >= size.sites)
            continue;
        profile->sites[profile->site_count].path = i;
        profile->sites[profile->site_count++].metrics = random_metrics();
    }
    return profile;
}

static void random_profile_free(struct profile *profile)
{
    free(profile->functions);
    free(profile->modules);
    free(profile->codes);
    free(profile->lines);
    free(profile->nodes);
    free(profile->sites);
    free(profile);
}

#endif

/* Knows the run-times' own pools (runtime_pools.h) by the innermost frames of a call path: by the
 * names of the functions that make them, or, where libstdc++ has no symbols, by who called the
 * library. */
#include "aggregate/runtime_pools.h"

#include <stddef.h>
#include <string.h>

static const char *runtime_pools_function(const struct profile *profile, uint32_t line)
{
    uint32_t function = profile->lines[line].function;
    const char *name = function ? profile->functions[function].name : NULL;
    return name ? name : "";
}

static const char *runtime_pools_module(const struct profile *profile, uint32_t node)
{
    uint32_t module = profile->codes[profile->nodes[node].location].module;
    const char *path = module == UINT32_MAX ? NULL : profile->modules[module].path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

static bool runtime_pools_begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* stdio makes a file's buffer when the file is first used. */
static bool runtime_pools_is_buffer(const char *function)
{
    return !strcmp(function, "_IO_file_doallocate") || !strcmp(function, "_IO_wfile_doallocate");
}

/* Of libstdc++, shared or linked into the program. */
static bool runtime_pools_is_exceptions(const char *function)
{
    return !strcmp(function, "_GLOBAL__sub_I_eh_alloc.cc") ||
           runtime_pools_begins(function, "(anonymous namespace)::pool::pool(") ||
           !strcmp(function, "(anonymous namespace)::pool::pool");
}

/* libstdc++ has no symbol for it: what the library allocates itself when the loader starts it. */
static bool runtime_pools_is_started(const struct profile *profile, uint32_t path)
{
    uint32_t caller = profile->nodes[path].parent;
    return caller && runtime_pools_begins(runtime_pools_module(profile, path), "libstdc++.so") &&
           (runtime_pools_begins(runtime_pools_module(profile, caller), "ld-linux") ||
            runtime_pools_begins(runtime_pools_module(profile, caller), "ld-musl"));
}

bool runtime_pools_has(const struct profile *profile, uint32_t path)
{
    if (!path)
        return false;
    const struct profile_code *code = &profile->codes[profile->nodes[path].location];
    for (uint32_t i = 0; i < code->line_count; i++) {
        const char *function = runtime_pools_function(profile, code->first_line + i);
        if (runtime_pools_is_buffer(function) || runtime_pools_is_exceptions(function))
            return true;
    }
    return runtime_pools_is_started(profile, path);
}

struct runtime_pools runtime_pools_left(const struct profile *profile)
{
    struct runtime_pools left = {figure_of(0), figure_of(0)};
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct profile_site *site = &profile->sites[i];
        if (figure_zero(site->metrics.live_count) || !runtime_pools_has(profile, site->path))
            continue;
        left.bytes = figure_add(left.bytes, site->metrics.live_bytes);
        left.count = figure_add(left.count, site->metrics.live_count);
    }
    return left;
}

bool runtime_pools_are_all(const struct profile *profile, const struct runtime_pools *left)
{
    uint64_t pools, all;
    return figure_get(left->count, &pools) && pools &&
           figure_get(profile->program.total.live_count, &all) && pools == all;
}

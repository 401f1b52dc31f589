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

/* ---- What lies deeper in the C library: its caches ---- */

enum {
    DEEPEST = 8, /* frames of the C library above what it keeps */
    /* Stacks of ended threads that glibc keeps for the next, of the size that they have unless told
     * otherwise: 40 MiB of 8 MiB. More are threads that nobody has joined. */
    THREADS_KEPT = 5,
};

/* Locales, conversions, time zones and name services: read once, kept for who asks next. By names
 * that a program may not have; then by the C library's own functions, below which that lies where
 * the library has no other names. */
static bool runtime_pools_is_cache(const char *function)
{
    static const char *const beginnings[] = {
        "_nl_find_locale", "_nl_load_locale", "__gconv_find_", "__gconv_load_", "__gconv_lookup_",
        "__gconv_read_",   "__wcsmbs_",       "__tz",          "__nss_"};
    for (size_t i = 0; *function == '_' && i < sizeof beginnings / sizeof *beginnings; i++)
        if (runtime_pools_begins(function, beginnings[i]))
            return true;
    return false;
}

static bool runtime_pools_is_one_of(const char *function, const char *const *names)
{
    while (*names && (**names != *function || strcmp(function, *names)))
        names++;
    return *names;
}

/* What these allocate themselves is the C library's, too. */
static bool runtime_pools_is_owner(const char *function)
{
    static const char *const names[] = {"setlocale",
                                        "tzset",
                                        "getpwnam",
                                        "getpwuid",
                                        "getpwent",
                                        "getgrnam",
                                        "getgrgid",
                                        "getgrent",
                                        "getspnam",
                                        "gethostbyname",
                                        "gethostbyname2",
                                        "gethostbyaddr",
                                        "getservbyname",
                                        "getservbyport",
                                        "getprotobyname",
                                        "getprotobynumber",
                                        NULL};
    return runtime_pools_is_one_of(function, names);
}

/* What these allocate themselves is their caller's: a locale_t. */
static bool runtime_pools_is_reader(const char *function)
{
    static const char *const names[] = {"newlocale",  "__newlocale", "localtime",  "localtime_r",
                                        "mktime",     "strftime",    "getpwnam_r", "getpwuid_r",
                                        "getgrnam_r", "getgrgid_r",  NULL};
    return runtime_pools_is_one_of(function, names);
}

static bool runtime_pools_are_few(const struct profile *profile, uint32_t path)
{
    uint64_t count;
    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].path == path)
            return figure_get(profile->sites[i].metrics.live_count, &count) &&
                   count <= THREADS_KEPT;
    return true;
}

static bool runtime_pools_is_kept(const struct profile *profile, uint32_t path,
                                  const char *function, unsigned inner)
{
    if (!strcmp(function, "_dl_allocate_tls")) /* goes with a thread's stack */
        return runtime_pools_are_few(profile, path);
    return runtime_pools_is_cache(function) || runtime_pools_is_owner(function) ||
           (inner && runtime_pools_is_reader(function));
}

static bool runtime_pools_is_of_c(const struct profile *profile, uint32_t path)
{
    uint32_t node = path;
    for (unsigned inner = 0; node && inner < DEEPEST; inner++, node = profile->nodes[node].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[node].location];
        for (uint32_t i = 0; i < code->line_count; i++)
            if (runtime_pools_is_kept(profile, path,
                                      runtime_pools_function(profile, code->first_line + i), inner))
                return true;
    }
    return false;
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
    return runtime_pools_is_started(profile, path) || runtime_pools_is_of_c(profile, path);
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

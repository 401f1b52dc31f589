/* Recognises the run-times' own pools (runtime_pools.h) by the innermost frames of a call path: by
 * the names of the functions that make them, or, where libstdc++ has no symbols, by who called the
 * library. */
#include "aggregate/runtime_pools.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

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

/* ---- What lies deeper in the C library: its caches ---- */

enum {
    DEEPEST = 8, /* frames of the C library above what it keeps */
    /* Stacks of ended threads that glibc keeps for the next, of the size that they have unless told
     * otherwise: 40 MiB of 8 MiB. More are threads that nobody has joined. */
    THREADS_KEPT = 5,
};

/* Locales, conversions, time zones and name services: read once and kept. These names begin with an
 * underscore, which is reserved for the C library. Where the library has only its exported names,
 * runtime_pools_is_owner() and runtime_pools_is_reader() recognise the same. */
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
        if (profile_site_path(profile, i) == path)
            return figure_get(profile_site_figure(profile, i, METRIC_ROW(live_count)), &count) &&
                   count <= THREADS_KEPT;
    return true;
}

/* ---- What each name says, and where it has to stand ---- */

enum {
    POOLS_MADE = 1,   /* of a code, innermost: a buffer, the pool for exceptions */
    POOLS_KEPT = 2,   /* within DEEPEST frames */
    POOLS_READ = 4,   /* the same, but not innermost */
    POOLS_THREAD = 8, /* goes with a thread's stack */
};
enum { POOLS_LIBSTDCXX = 1, POOLS_LOADER = 2 }; /* of a module */

static uint8_t runtime_pools_of_function(const char *function)
{
    bool is_made = runtime_pools_is_buffer(function) || runtime_pools_is_exceptions(function);
    bool is_kept = runtime_pools_is_cache(function) || runtime_pools_is_owner(function);
    bool is_thread = !strcmp(function, "_dl_allocate_tls");
    return (uint8_t)((is_made ? POOLS_MADE : 0) | (is_kept ? POOLS_KEPT : 0) |
                     (runtime_pools_is_reader(function) ? POOLS_READ : 0) |
                     (is_thread ? POOLS_THREAD : 0));
}

static uint8_t runtime_pools_of_module(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    if (!name)
        return 0;
    return runtime_pools_begins(name, "libstdc++.so") ? POOLS_LIBSTDCXX
           : runtime_pools_begins(name, "ld-linux") || runtime_pools_begins(name, "ld-musl")
               ? POOLS_LOADER
               : 0;
}

static bool runtime_pool_names_read_modules(struct runtime_pool_names *names)
{
    uint8_t all = 0;
    for (size_t i = 0; i < names->profile->module_count; i++)
        all |= names->of_module[i] = runtime_pools_of_module(names->profile->modules[i].path);
    return all & POOLS_LIBSTDCXX;
}

static bool runtime_pool_names_read_codes(struct runtime_pool_names *names)
{
    const struct profile *profile = names->profile;
    uint8_t *of_function = memory_zeroed(profile->function_count + 1, 1), all = 0;
    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].name)
            all |= of_function[i] = runtime_pools_of_function(profile->functions[i].name);
    of_function[0] = 0; /* no function */
    for (size_t i = 0; all && i < profile->code_count; i++)
        for (uint32_t k = 0; k < profile->codes[i].line_count; k++)
            names->of_code[i] |=
                of_function[profile->lines[profile->codes[i].first_line + k].function];
    free(of_function);
    return all;
}

void runtime_pool_names_init(struct runtime_pool_names *names, const struct profile *profile)
{
    *names = (struct runtime_pool_names){profile, memory_zeroed(profile->code_count + 1, 1),
                                         memory_zeroed(profile->module_count + 1, 1)};
    bool says = runtime_pool_names_read_modules(names);
    if (!runtime_pool_names_read_codes(names) && !says)
        runtime_pool_names_release(names);
}

void runtime_pool_names_release(struct runtime_pool_names *names)
{
    free(names->of_code);
    free(names->of_module);
    names->of_code = names->of_module = NULL;
}

static uint8_t runtime_pools_module_at(const struct runtime_pool_names *names, uint32_t node)
{
    const struct profile *profile = names->profile;
    uint32_t module = profile->codes[profile->nodes[node].location].module;
    return module == UINT32_MAX ? 0 : names->of_module[module];
}

/* The pool for exceptions where libstdc++ has no symbol for it: a block that the library allocates
 * itself when the loader initialises it. */
static bool runtime_pools_is_started(const struct runtime_pool_names *names, uint32_t path)
{
    uint32_t caller = names->profile->nodes[path].parent;
    return caller && runtime_pools_module_at(names, path) & POOLS_LIBSTDCXX &&
           runtime_pools_module_at(names, caller) & POOLS_LOADER;
}

static bool runtime_pools_is_of_c(const struct runtime_pool_names *names, uint32_t path)
{
    const struct profile *profile = names->profile;
    uint32_t node = path;
    for (unsigned inner = 0; node && inner < DEEPEST; inner++, node = profile->nodes[node].parent) {
        uint8_t says = names->of_code[profile->nodes[node].location];
        if (says & POOLS_KEPT || (inner && says & POOLS_READ) ||
            (says & POOLS_THREAD && runtime_pools_are_few(profile, path)))
            return true;
    }
    return false;
}

bool runtime_pools_has(const struct runtime_pool_names *names, uint32_t path)
{
    if (!path || !names->of_code)
        return false;
    return names->of_code[names->profile->nodes[path].location] & POOLS_MADE ||
           runtime_pools_is_started(names, path) || runtime_pools_is_of_c(names, path);
}

struct runtime_pools runtime_pools_left(const struct profile *profile)
{
    struct runtime_pools left = {figure_of(0), figure_of(0)};
    struct runtime_pool_names names;
    runtime_pool_names_init(&names, profile);
    for (size_t i = 0; names.of_code && i < profile->site_count; i++) {
        struct figure count = profile_site_figure(profile, i, METRIC_ROW(live_count));
        if (figure_zero(count) || !runtime_pools_has(&names, profile_site_path(profile, i)))
            continue;
        left.bytes =
            figure_add(left.bytes, profile_site_figure(profile, i, METRIC_ROW(live_bytes)));
        left.count = figure_add(left.count, count);
    }
    runtime_pool_names_release(&names);
    return left;
}

bool runtime_pools_are_all(const struct profile *profile, const struct runtime_pools *left)
{
    uint64_t pools, all;
    return figure_get(left->count, &pools) && pools &&
           figure_get(profile->program.total.live_count, &all) && pools == all;
}

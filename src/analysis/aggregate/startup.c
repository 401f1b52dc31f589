/* Finds the call paths of the start-up (startup.h). A node has the kind of its caller, or that of
 * its own function or module, so that one pass from the roots does. Who a run-time's own memory is
 * asked for by is the innermost frame that is not of the C library. */
#include "aggregate/startup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/names.h"

#define STARTUP_LIBRARIES_MOST (1 << 20) /* more is what the program is about */

static const struct {
    const char *function;
    enum startup_kind kind;
} startup_functions[] = {
    {"MPI_Init", STARTUP_MPI},          {"MPI_Init_thread", STARTUP_MPI},
    {"PMPI_Init", STARTUP_MPI},         {"PMPI_Init_thread", STARTUP_MPI},
    {"MPI_Finalize", STARTUP_MPI},      {"PMPI_Finalize", STARTUP_MPI},
    {"mpi_init_", STARTUP_MPI},         {"mpi_init_thread_", STARTUP_MPI},
    {"mpi_finalize_", STARTUP_MPI},     {"mpi_init_f08_", STARTUP_MPI},
    {"mpi_finalize_f08_", STARTUP_MPI}, {"setlocale", STARTUP_LOCALE},
    {"newlocale", STARTUP_LOCALE},      {"__newlocale", STARTUP_LOCALE},
    {"bindtextdomain", STARTUP_LOCALE}, {"__bindtextdomain", STARTUP_LOCALE},
    {"textdomain", STARTUP_LOCALE},     {"__textdomain", STARTUP_LOCALE},
    {"__dcigettext", STARTUP_LOCALE},   {"_GLOBAL__sub_I_eh_alloc.cc", STARTUP_EXCEPTIONS},
};

/* Beginnings of the names of modules, of which all is of a run-time's. */
static const struct {
    const char *beginning;
    enum startup_kind kind;
} startup_modules[] = {
    {"libgomp.so", STARTUP_OPENMP},  {"libomp.so", STARTUP_OPENMP},
    {"libomp5.so", STARTUP_OPENMP},  {"libiomp5.so", STARTUP_OPENMP},
    {"libnvomp.so", STARTUP_OPENMP}, {"libpmix.so", STARTUP_MPI},
    {"libopen-pal.so", STARTUP_MPI}, {"libopen-rte.so", STARTUP_MPI},
};

static const char *const startup_c_library[] = {"libc.so", "libc.musl", "ld-linux", "ld-musl",
                                                "libpthread.so"};

static bool startup_begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* ---- One node ------------------------------------------------------------------------------ */

static const char *startup_module(const struct profile *profile, uint32_t node)
{
    uint32_t module = profile->codes[profile->nodes[node].location].module;
    const char *path = module == UINT32_MAX ? NULL : profile->modules[module].path;
    return path ? name_base(path) : "";
}

static bool startup_is_c_library(const struct profile *profile, uint32_t node)
{
    const char *module = startup_module(profile, node);
    for (size_t i = 0; i < sizeof startup_c_library / sizeof *startup_c_library; i++)
        if (startup_begins(module, startup_c_library[i]))
            return true;
    return false;
}

static enum startup_kind startup_of_module(const struct profile *profile, uint32_t node)
{
    const char *module = startup_module(profile, node);
    for (size_t i = 0; i < sizeof startup_modules / sizeof *startup_modules; i++)
        if (startup_begins(module, startup_modules[i].beginning))
            return startup_modules[i].kind;
    return STARTUP_NONE;
}

static enum startup_kind startup_of_function(const char *function)
{
    for (size_t i = 0; function && i < sizeof startup_functions / sizeof *startup_functions; i++)
        if (!strcmp(function, startup_functions[i].function))
            return startup_functions[i].kind;
    return STARTUP_NONE;
}

static enum startup_kind startup_of_code(const struct profile *profile, uint32_t node)
{
    const struct profile_code *code = &profile->codes[profile->nodes[node].location];
    enum startup_kind kind = STARTUP_NONE;
    for (uint32_t i = 0; !kind && i < code->line_count; i++)
        kind = startup_of_function(
            profile->functions[profile->lines[code->first_line + i].function].name);
    return kind;
}

/* The loader runs constructors before main(): then it is the outermost frame. A thread that a
 * run-time of MPI made begins in the C library and goes on in that. */
static enum startup_kind startup_of_root(const struct profile *profile, uint32_t node)
{
    uint32_t parent = profile->nodes[node].parent;
    if (!parent)
        return startup_begins(startup_module(profile, node), "ld-") ? STARTUP_LIBRARIES
                                                                    : STARTUP_NONE;
    while (parent && startup_is_c_library(profile, parent))
        parent = profile->nodes[parent].parent;
    bool begins = !parent && !startup_is_c_library(profile, node);
    return begins && startup_of_module(profile, node) == STARTUP_MPI ? STARTUP_MPI : STARTUP_NONE;
}

/* Asked for by OpenMP's run-time itself, for its team. */
static enum startup_kind startup_of_asker(const struct profile *profile, uint32_t path)
{
    uint32_t node = path;
    while (node && startup_is_c_library(profile, node))
        node = profile->nodes[node].parent;
    return node && startup_of_module(profile, node) == STARTUP_OPENMP ? STARTUP_OPENMP
                                                                      : STARTUP_NONE;
}

/* ---- All of them --------------------------------------------------------------------------- */

static void startup_mark(struct startup *startup, const struct profile *profile)
{
    uint8_t *kinds = startup->of_node;
    for (uint32_t i = 1; i < profile->node_count; i++) {
        enum startup_kind own = startup_of_code(profile, i);
        kinds[i] = kinds[profile->nodes[i].parent];
        if (own && (!kinds[i] || kinds[i] == STARTUP_LIBRARIES))
            kinds[i] = (uint8_t)own;
        if (!kinds[i])
            kinds[i] = (uint8_t)startup_of_root(profile, i);
    }
    for (size_t i = 0; i < profile->site_count; i++) {
        uint32_t path = profile->sites[i].path;
        if (!kinds[path])
            kinds[path] = (uint8_t)startup_of_asker(profile, path);
    }
}

static void startup_drop_large_libraries(struct startup *startup, const struct profile *profile)
{
    uint64_t most = 0;
    for (size_t i = 0; i < profile->site_count; i++)
        if (startup->of_node[profile->sites[i].path] == STARTUP_LIBRARIES)
            most += figure_or(profile->sites[i].metrics.peak_bytes, 0);
    for (size_t i = 0; most >= STARTUP_LIBRARIES_MOST && i < profile->node_count; i++)
        if (startup->of_node[i] == STARTUP_LIBRARIES)
            startup->of_node[i] = STARTUP_NONE;
}

static void startup_add_up(struct startup *startup, const struct profile *profile)
{
    for (int kind = 0; kind < STARTUP_KINDS; kind++)
        startup->at_peak_bytes[kind] = figure_of(0);
    startup->live_bytes = startup->live_count = figure_of(0);
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct call_metrics *figures = &profile->sites[i].metrics;
        uint8_t kind = startup->of_node[profile->sites[i].path];
        if (!kind)
            continue;
        startup->at_peak_bytes[kind] =
            figure_add(startup->at_peak_bytes[kind], figures->at_peak_bytes);
        startup->live_bytes = figure_add(startup->live_bytes, figures->live_bytes);
        startup->live_count = figure_add(startup->live_count, figures->live_count);
    }
}

int startup_find(struct startup *startup, const struct profile *profile)
{
    *startup = (struct startup){.of_node = calloc(profile->node_count + 1, 1)};
    if (!startup->of_node)
        return -ENOMEM;
    startup_mark(startup, profile);
    startup_drop_large_libraries(startup, profile);
    startup_add_up(startup, profile);
    return 0;
}

void startup_release(struct startup *startup)
{
    free(startup->of_node);
    *startup = (struct startup){0};
}

bool *startup_others(const struct startup *startup, const struct profile *profile)
{
    bool *others = calloc(profile->node_count + 1, 1);
    for (size_t i = 0; others && i < profile->node_count; i++)
        others[i] = !startup->of_node[i];
    return others;
}

struct figure startup_sum(const struct startup *startup, const struct profile *profile,
                          const struct metric_row *row)
{
    struct figure sum = figure_of(0);
    for (size_t i = 0; i < profile->site_count; i++)
        if (startup_has(startup, profile->sites[i].path))
            sum = figure_add(sum, metric_value(row, &profile->sites[i].metrics));
    return sum;
}

const char *startup_kind_name(enum startup_kind kind)
{
    static const char *const names[STARTUP_KINDS] = {"",       "MPI",       "OpenMP",
                                                     "locale", "libraries", "C++ exceptions"};
    return names[kind];
}

void startup_add_name(struct strbuf *out, const struct startup *startup)
{
    bool named[STARTUP_KINDS] = {false};
    for (size_t count = 0; count < STARTUP_KINDS; count++) {
        int most = STARTUP_NONE;
        for (int kind = 1; kind < STARTUP_KINDS; kind++)
            if (!named[kind] && figure_positive(startup->at_peak_bytes[kind]) &&
                (!most || figure_less(startup->at_peak_bytes[most], startup->at_peak_bytes[kind])))
                most = kind;
        if (!most)
            break;
        named[most] = true;
        strbuf_addf(out, "%s%s", count ? ", " : "start-up of ", startup_kind_name(most));
    }
}

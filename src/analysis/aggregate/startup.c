/* Finds the call paths of the start-up (startup.h). A node has the kind of its caller, or that of
 * its own function or module, so that one pass from the roots does. A block is a run-time's own
 * where the innermost frame outside the C library is the run-time's. */
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

/* Beginnings of the file names of run-times' modules. */
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

/* ---- One code location --------------------------------------------------------------------- */

/* What a node's kind follows from, found once for each code location. There are far fewer locations
 * than nodes, and far fewer functions and modules than locations. */
struct startup_code {
    uint8_t of_function, of_module; /* enum startup_kind */
    bool is_c_library, is_loader;
};

struct startup_marking {
    const struct profile *profile;
    struct startup_code *codes;   /* by location */
    struct startup_code *modules; /* by module, the last: of none; without of_function */
    uint8_t *functions;           /* enum startup_kind, by function */
};

static const char *startup_module(const struct profile *profile, const struct profile_code *code)
{
    const char *path = code->module == UINT32_MAX ? NULL : profile->modules[code->module].path;
    return path ? name_base(path) : "";
}

static bool startup_is_c_library(const char *module)
{
    for (size_t i = 0; i < sizeof startup_c_library / sizeof *startup_c_library; i++)
        if (startup_begins(module, startup_c_library[i]))
            return true;
    return false;
}

static enum startup_kind startup_of_module(const char *module)
{
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

/* musl's is its C library, which calls main() and the functions of threads, too. */
static bool startup_is_loader(const char *module)
{
    return startup_begins(module, "ld-") && !startup_begins(module, "ld-musl");
}

static struct startup_code startup_of_module_alone(const char *path)
{
    const char *module = path ? name_base(path) : "";
    return (struct startup_code){.of_module = (uint8_t)startup_of_module(module),
                                 .is_c_library = startup_is_c_library(module),
                                 .is_loader = startup_is_loader(module)};
}

static struct startup_code startup_of_code(const struct startup_marking *marking,
                                           const struct profile_code *code)
{
    const struct profile *profile = marking->profile;
    bool has_module = code->module != UINT32_MAX;
    struct startup_code out = marking->modules[has_module ? code->module : profile->module_count];
    for (uint32_t i = 0; !out.of_function && i < code->line_count; i++)
        out.of_function = marking->functions[profile->lines[code->first_line + i].function];
    return out;
}

/* ---- One node ------------------------------------------------------------------------------ */

static const struct startup_code *startup_code_of(const struct startup_marking *marking,
                                                  uint32_t node)
{
    return &marking->codes[marking->profile->nodes[node].location];
}

/* `node`, or the nearest caller that is not the C library; 0: none. */
static uint32_t startup_outside_c_library(const struct startup_marking *marking, uint32_t node)
{
    while (node && startup_code_of(marking, node)->is_c_library)
        node = marking->profile->nodes[node].parent;
    return node;
}

/* The loader runs constructors before main(): then it is the outermost frame. A thread that a
 * run-time of MPI made begins in the C library and goes on in the run-time. */
static enum startup_kind startup_of_root(const struct startup_marking *marking, uint32_t node)
{
    const struct startup_code *code = startup_code_of(marking, node);
    uint32_t parent = marking->profile->nodes[node].parent;
    if (!parent)
        return code->is_loader ? STARTUP_LIBRARIES : STARTUP_NONE;
    bool is_mpi = code->of_module == STARTUP_MPI && !code->is_c_library;
    return is_mpi && !startup_outside_c_library(marking, parent) ? STARTUP_MPI : STARTUP_NONE;
}

/* Asked for by OpenMP's run-time itself, for its team. */
static enum startup_kind startup_of_asker(const struct startup_marking *marking, uint32_t path)
{
    uint32_t node = startup_outside_c_library(marking, path);
    return node && startup_code_of(marking, node)->of_module == STARTUP_OPENMP ? STARTUP_OPENMP
                                                                               : STARTUP_NONE;
}

/* Does OpenMP's run-time begin a thread with this code? A run-time that is linked into the program
 * has no module of its own, but its function's name. */
static bool startup_begins_team(const struct profile *profile, const struct profile_code *code)
{
    for (uint32_t i = 0; i < code->line_count; i++) {
        const char *name = profile->functions[profile->lines[code->first_line + i].function].name;
        if (name && (!strcmp(name, "gomp_thread_start") || !strcmp(name, "__kmp_launch_worker")))
            return true;
    }
    return startup_of_module(startup_module(profile, code)) == STARTUP_OPENMP;
}

bool startup_is_of_team(const struct profile *profile, uint32_t path)
{
    const struct profile_code *outermost = NULL;
    for (uint32_t at = path; at && at < profile->node_count; at = profile->nodes[at].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[at].location];
        if (!startup_is_c_library(startup_module(profile, code)))
            outermost = code;
    }
    return outermost && startup_begins_team(profile, outermost);
}

/* ---- All of them --------------------------------------------------------------------------- */

static void startup_judge_codes(const struct startup_marking *marking)
{
    const struct profile *profile = marking->profile;
    for (size_t i = 0; i < profile->module_count; i++)
        marking->modules[i] = startup_of_module_alone(profile->modules[i].path);
    marking->modules[profile->module_count] = startup_of_module_alone(NULL);
    for (size_t i = 0; i < profile->function_count; i++)
        marking->functions[i] = (uint8_t)startup_of_function(profile->functions[i].name);
    for (size_t i = 0; i < profile->code_count; i++)
        marking->codes[i] = startup_of_code(marking, &profile->codes[i]);
}

static void startup_mark(struct startup *startup, const struct startup_marking *marking)
{
    const struct profile *profile = marking->profile;
    uint8_t *kinds = startup->of_node;
    startup_judge_codes(marking);
    for (uint32_t i = 1; i < profile->node_count; i++) {
        uint8_t own = startup_code_of(marking, i)->of_function;
        kinds[i] = kinds[profile->nodes[i].parent];
        if (own && (!kinds[i] || kinds[i] == STARTUP_LIBRARIES))
            kinds[i] = own;
        if (!kinds[i])
            kinds[i] = (uint8_t)startup_of_root(marking, i);
    }
    for (size_t i = 0; i < profile->site_count; i++) {
        uint32_t path = profile_site_path(profile, i);
        if (!kinds[path])
            kinds[path] = (uint8_t)startup_of_asker(marking, path);
    }
}

static void startup_drop_large_libraries(struct startup *startup, const struct profile *profile)
{
    uint64_t most = 0;
    for (size_t i = 0; i < profile->site_count; i++)
        if (startup->of_node[profile_site_path(profile, i)] == STARTUP_LIBRARIES)
            most += figure_or(profile_site_figure(profile, i, METRIC_ROW(peak_bytes)), 0);
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
        uint8_t kind = startup->of_node[profile_site_path(profile, i)];
        if (!kind)
            continue;
        startup->at_peak_bytes[kind] =
            figure_add(startup->at_peak_bytes[kind],
                       profile_site_figure(profile, i, METRIC_ROW(at_peak_bytes)));
        startup->live_bytes = figure_add(startup->live_bytes,
                                         profile_site_figure(profile, i, METRIC_ROW(live_bytes)));
        startup->live_count = figure_add(startup->live_count,
                                         profile_site_figure(profile, i, METRIC_ROW(live_count)));
    }
}

int startup_find(struct startup *startup, const struct profile *profile)
{
    struct startup_marking marking = {
        profile, calloc(profile->code_count + 1, sizeof *marking.codes),
        calloc(profile->module_count + 1, sizeof *marking.modules),
        calloc(profile->function_count + 1, sizeof *marking.functions)};
    *startup = (struct startup){.of_node = calloc(profile->node_count + 1, 1)};
    bool possible = startup->of_node && marking.codes && marking.modules && marking.functions;
    if (possible) {
        startup_mark(startup, &marking);
        startup_drop_large_libraries(startup, profile);
        startup_add_up(startup, profile);
    }
    free(marking.codes);
    free(marking.modules);
    free(marking.functions);
    if (!possible)
        startup_release(startup);
    return possible ? 0 : -ENOMEM;
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
        if (startup_has(startup, profile_site_path(profile, i)))
            sum = figure_add(sum, profile_site_figure(profile, i, row));
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

/* See launcher.h. What each launcher sets is in its sources: Open MPI orte/mca/odls/base and
 * schizo/ompi, MPICH src/pm/hydra, Slurm's task environment (srun(1)), flux-environment(7), HPE's
 * palsd; PMIx has PMIX_RANK and PMIX_NAMESPACE in its standard. */
#include "procfs/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/strbuf.h"
#include "procfs/proc_file.h"
#include "procfs/process.h"

enum { MOST_ENVIRONMENT_BYTES = 8 << 20, MOST_ANCESTORS = 64 };

struct launcher_family {
    const char *name;
    const char *rank;
    const char *ranks[2];
    const char *local_rank;
    const char *node;
    const char *required; /* without it the rank is none */
    const char *id[2];    /* variables that together name the job: those that are set, joined by
                          dots */
    const char *salt;     /* random, the same in all ranks: its hash makes the id unique */
};

/* If several families' variables were set together, the first family counts, because its variables
 * tell most. */
/* clang-format off */
static const struct launcher_family families[] = {
    {.name = "openmpi", .rank = "OMPI_COMM_WORLD_RANK", .ranks = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     /* Up to release 4 a namespace is 16 bits of a hash and a counter; later it has host and pid
      * of mpirun. */
     .id = {"PMIX_NAMESPACE"}, .salt = "OMPI_MCA_orte_precondition_transports"},
    {.name = "mvapich", .rank = "MV2_COMM_WORLD_RANK", .ranks = {"MV2_COMM_WORLD_SIZE"},
     .local_rank = "MV2_COMM_WORLD_LOCAL_RANK"},
    {.name = "jsrun", .rank = "JSM_NAMESPACE_RANK", .ranks = {"JSM_NAMESPACE_SIZE"},
     .local_rank = "JSM_NAMESPACE_LOCAL_RANK", .id = {"PMIX_NAMESPACE"}},
    {.name = "pals", .rank = "PALS_RANKID", .ranks = {"PMI_SIZE"},
     .local_rank = "PALS_LOCAL_RANKID", .node = "PALS_NODEID", .id = {"PALS_APID"}},
    {.name = "alps", .rank = "ALPS_APP_PE", .id = {"ALPS_APP_ID"}},
    {.name = "flux", .rank = "FLUX_TASK_RANK", .ranks = {"FLUX_JOB_SIZE"},
     .local_rank = "FLUX_TASK_LOCAL_ID", .id = {"FLUX_JOB_ID"}},
    /* A batch script has SLURM_PROCID 0 as well, but is no step. */
    {.name = "slurm", .rank = "SLURM_PROCID", .ranks = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     .local_rank = "SLURM_LOCALID", .node = "SLURM_NODEID", .required = "SLURM_STEP_ID",
     .id = {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {.name = "hydra", .rank = "PMI_RANK", .ranks = {"PMI_SIZE"}, .local_rank = "MPI_LOCALRANKID"},
    {.name = "pmix", .rank = "PMIX_RANK", .id = {"PMIX_NAMESPACE"}},
};
/* clang-format on */
enum { FAMILIES = sizeof families / sizeof *families };

/* A batch system's number of the job. With it, an id that is unique for an hour is unique for
 * good. */
static const char *const batch_variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};

/* ---- Environments -------------------------------------------------------------------------- */

static const char *launcher_value_of(const struct strbuf *environment, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    const char *end = environment->data + environment->length;
    for (const char *at = environment->data; name && at < end; at += strlen(at) + 1)
        if (*at == *name && strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* -1: not set, or no number that a rank could be. */
static int64_t launcher_number_of(const struct strbuf *environment, const char *name)
{
    uint64_t number;
    const char *end, *value = launcher_value_of(environment, name);
    if (!value || !proc_number(value, &number, &end) || *end || number > INT32_MAX)
        return -1;
    return (int64_t)number;
}

/* Whether it may be one of the variables above. Most processes have none of them. */
static bool launcher_is_of_interest(const char *variable)
{
    static const char *const beginnings[] = {"OMPI_", "MV2_",   "JSM_", "PALS_", "PMI", "ALPS_",
                                             "FLUX_", "SLURM_", "MPI_", "PBS_",  "LSB_"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (*variable == *beginnings[i] &&
            strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Keeps only the variables of interest. */
static void launcher_sift(struct strbuf *environment)
{
    char *end = environment->data + environment->length, *to = environment->data;
    for (char *at = to, *next; at < end; at = next) {
        next = at + strlen(at) + 1;
        if (!launcher_is_of_interest(at))
            continue;
        memmove(to, at, (size_t)(next - at)); /* the last one's end is the buffer's */
        to += next - at;
    }
    strbuf_truncate(environment, to > end ? environment->length : (size_t)(to - environment->data));
}

static bool launcher_read_environment(struct strbuf *environment, pid_t pid)
{
    strbuf_reset(environment);
    if (proc_read(pid, "environ", MOST_ENVIRONMENT_BYTES, environment) < 0)
        return false;
    launcher_sift(environment);
    return true;
}

static int64_t launcher_rank_by(const struct launcher_family *family,
                                const struct strbuf *environment)
{
    if (family->required && !launcher_value_of(environment, family->required))
        return -1;
    return launcher_number_of(environment, family->rank);
}

/* ---- Ancestors ----------------------------------------------------------------------------- */

struct launcher_origin {
    const struct launcher_family *family;
    unsigned depth; /* number of ancestors with the same rank */
    pid_t starter;  /* the nearest ancestor without that rank; 0: not known */
};

static struct launcher_origin launcher_find_origin(const struct launcher_family *family, pid_t pid,
                                                   int64_t rank)
{
    struct launcher_origin origin = {.family = family};
    struct strbuf environment = STRBUF_INIT;
    process_parent(pid, &origin.starter);
    while (origin.starter > 0 && origin.depth < MOST_ANCESTORS &&
           launcher_read_environment(&environment, origin.starter) &&
           launcher_rank_by(family, &environment) == rank) {
        process_parent(origin.starter, &origin.starter);
        origin.depth++;
    }
    strbuf_release(&environment);
    return origin;
}

/* The family whose variables were set last, on the way down to this process. */
static struct launcher_origin launcher_innermost(const struct strbuf *environment, pid_t pid)
{
    struct launcher_origin best = {0};
    for (size_t i = 0; i < FAMILIES; i++) {
        int64_t rank = launcher_rank_by(&families[i], environment);
        if (rank < 0)
            continue;
        struct launcher_origin origin = launcher_find_origin(&families[i], pid, rank);
        if (!best.family || origin.depth < best.depth)
            best = origin;
    }
    return best;
}

/* ---- The job's id -------------------------------------------------------------------------- */

/* FNV-1a: the same on every machine and in every release. */
static uint64_t launcher_hash_of(const char *bytes, size_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

static void launcher_add_part(struct strbuf *id, const char *part)
{
    if (part && *part)
        strbuf_addf(id, "%s%s", id->length ? "-" : "", part);
}

/* "--control-port HOST:PORT" of a Hydra proxy: where mpiexec listens, the same on every machine. */
static bool launcher_add_control_port(struct strbuf *id, pid_t proxy)
{
    struct strbuf line = STRBUF_INIT;
    const char *port = NULL, *group = NULL;
    if (proxy > 0 && proc_read(proxy, "cmdline", 1 << 16, &line) == 0)
        for (const char *at = line.data, *end = at + line.length; at < end; at += strlen(at) + 1) {
            const char *next = at + strlen(at) + 1;
            if (next < end && strcmp(at, "--control-port") == 0)
                port = next;
            if (next < end && strcmp(at, "--pgid") == 0)
                group = next;
        }
    launcher_add_part(id, port);
    if (port && group && strcmp(group, "0"))
        launcher_add_part(id, group); /* of processes that MPI_Comm_spawn() started */
    strbuf_release(&line);
    return port != NULL;
}

static bool launcher_add_starter(struct strbuf *id, pid_t starter)
{
    char *host = NULL;
    uint64_t ticks;
    if (starter <= 1 || process_start_ticks(starter, &ticks) < 0 || process_host_name(&host) < 0)
        return false;
    strbuf_addf(id, "-%s-%d-%llu", host, (int)starter, (unsigned long long)ticks);
    free(host);
    return true;
}

static void launcher_add_variables(struct strbuf *id, const struct launcher_family *family,
                                   const struct strbuf *environment)
{
    for (size_t i = 0; i < sizeof family->id / sizeof *family->id && family->id[i]; i++) {
        const char *value = launcher_value_of(environment, family->id[i]);
        if (value && *value)
            strbuf_addf(id, "%s%s", id->length ? "." : "", value);
    }
    const char *salt = launcher_value_of(environment, family->salt);
    if (id->length && salt)
        strbuf_addf(id, "-%08x", (unsigned)(launcher_hash_of(salt, strlen(salt)) >> 32));
}

static void launcher_add_batch_job(struct strbuf *id, const struct strbuf *environment)
{
    for (size_t i = 0; i < sizeof batch_variables / sizeof *batch_variables; i++) {
        const char *value = launcher_value_of(environment, batch_variables[i]);
        if (value && *value) {
            launcher_add_part(id, value);
            return;
        }
    }
}

static bool launcher_is_safe(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           strchr("-._@+=", c);
}

/* A longer id keeps its beginning and a hash of the whole, so different ids stay different. */
static void launcher_keep_id(struct launcher *launcher, const struct strbuf *id)
{
    enum { HASH = 18 };
    uint64_t hash = launcher_hash_of(id->data, id->length);
    int kept = (int)(id->length < LAUNCHER_ID_BYTES ? id->length : LAUNCHER_ID_BYTES - HASH);
    snprintf(launcher->job_id, sizeof launcher->job_id, "%.*s", kept, id->data);
    for (char *at = launcher->job_id; *at; at++)
        *at = launcher_is_safe(*at) ? *at : '_';
    if ((size_t)kept < id->length)
        snprintf(launcher->job_id + kept, HASH, "-%016llx", (unsigned long long)hash);
}

static void launcher_name_job(struct launcher *launcher, const struct launcher_origin *origin,
                              const struct strbuf *environment)
{
    struct strbuf parts = STRBUF_INIT, id = STRBUF_INIT;
    strbuf_add_string(&id, origin->family->name);
    launcher_add_variables(&parts, origin->family, environment);
    if (parts.length) {
        launcher_add_part(&id, parts.data);
        launcher_keep_id(launcher, &id);
    } else {
        launcher->id_by_ancestor = true;
        launcher_add_batch_job(&id, environment);
        if (launcher_add_control_port(&id, origin->starter) ||
            launcher_add_starter(&id, origin->starter))
            launcher_keep_id(launcher, &id);
    }
    strbuf_release(&parts);
    strbuf_release(&id);
}

/* ---- Launchers themselves ------------------------------------------------------------------ */

static bool launcher_is_launcher(const char *executable)
{
    /* clang-format off */
    static const char *const names[] = {
        "mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "prun", "prte",
        "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun.openmpi", "mpirun.mpich", "hydra_pmi_proxy",
        "hydra_bstrap_proxy", "hydra_nameserver", "mpirun_rsh", "mpispawn", "srun", "slurmstepd",
        "aprun", "jsrun", "flux-shell"};
    /* clang-format on */
    const char *name = basename(executable);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

void launcher_of(struct launcher *launcher, pid_t pid)
{
    char *executable;
    if (process_executable(pid, &executable) < 0)
        executable = NULL;
    launcher_of_program(launcher, pid, executable ? executable : "");
    free(executable);
}

void launcher_of_program(struct launcher *launcher, pid_t pid, const char *executable)
{
    struct strbuf environment = STRBUF_INIT;
    *launcher = (struct launcher){.rank = -1, .ranks = -1, .local_rank = -1, .node = -1};
    launcher->is_launcher = launcher_is_launcher(executable);
    struct launcher_origin origin = {0};
    if (!launcher->is_launcher && launcher_read_environment(&environment, pid))
        origin = launcher_innermost(&environment, pid);
    const struct launcher_family *family = origin.family;
    if (family) {
        launcher->name = family->name;
        launcher->rank = launcher_number_of(&environment, family->rank);
        launcher->ranks = launcher_number_of(&environment, family->ranks[0]);
        if (launcher->ranks < 0)
            launcher->ranks = launcher_number_of(&environment, family->ranks[1]);
        if (launcher->ranks <= launcher->rank)
            launcher->ranks = -1; /* not this rank's */
        launcher->local_rank = launcher_number_of(&environment, family->local_rank);
        launcher->node = launcher_number_of(&environment, family->node);
        launcher_name_job(launcher, &origin, &environment);
    }
    strbuf_release(&environment);
}

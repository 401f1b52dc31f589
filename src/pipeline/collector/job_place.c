/* Chooses a process's file names in a job's directory (job_place.h). The rank comes from the
 * launcher's environment variables. Numbered names are tried until the exclusive creation of the
 * entry succeeds. */
#include "collector/job_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "collector/node_files.h"
#include "procfs/process.h"
#include "session/session_file.h"

/* ---- Who it is ---- */

/* Job ids that were found through an ancestor of a process, the last one for each rank. A process
 * whose parent has ended cannot reach that ancestor any more and takes the id from here. */
static struct launcher *job_place_known;
static size_t job_place_known_count, job_place_known_room;

static struct launcher *job_place_known_of(const struct launcher *launcher)
{
    for (size_t i = 0; i < job_place_known_count; i++)
        if (strcmp(job_place_known[i].name, launcher->name) == 0 &&
            job_place_known[i].rank == launcher->rank &&
            job_place_known[i].ranks == launcher->ranks)
            return &job_place_known[i];
    return NULL;
}

static void job_place_remember(const struct launcher *launcher)
{
    struct launcher *before = job_place_known_of(launcher);
    if (before)
        *before = *launcher;
    else if (array_make_room(&job_place_known, &job_place_known_room, job_place_known_count,
                             sizeof *job_place_known))
        job_place_known[job_place_known_count++] = *launcher;
}

/* Set for a node's collector, which one rank has started and all ranks of the node use. */
static bool job_place_disowned;

void job_place_disown(void)
{
    job_place_disowned = true;
}

/* The collector's own rank, which does not change. */
static const struct launcher *job_place_own(void)
{
    static struct launcher own;
    static pid_t asked; /* a forked process has another */
    if (asked != getpid())
        launcher_of(&own, getpid());
    asked = getpid();
    return &own;
}

void job_place_identify(struct launcher *launcher, pid_t pid, const char *executable)
{
    if (executable)
        launcher_of_program(launcher, pid, executable);
    else
        launcher_of(launcher, pid);
    if (!launcher->name && !launcher->is_launcher && !job_place_disowned)
        *launcher = *job_place_own();
    if (!launcher->name || !launcher->id_by_ancestor)
        return;
    if (*launcher->job_id)
        job_place_remember(launcher);
    else if (job_place_known_of(launcher))
        *launcher = *job_place_known_of(launcher);
}

/* ---- MPI libraries ---- */

/* libmpi.so.40, libmpich.so.12, libmpi_mpifh.so, libmpicxx.so, libmpifort.so … */
bool job_place_is_mpi(const char *module_path)
{
    const char *name = basename(module_path);
    return strncmp(name, "libmpi", 6) == 0 && strstr(name, ".so");
}

static int job_place_visit_mapping(const struct process_mapping *mapping, void *context)
{
    (void)context;
    return job_place_is_mpi(mapping->path);
}

bool job_place_maps_mpi(pid_t pid)
{
    return process_maps(pid, job_place_visit_mapping, NULL) == 1;
}

/* ---- The files ---- */

static int job_place_make_directories(const char *path)
{
    char *part = memory_copy_string(path);
    int error = 0;
    for (char *slash = strchr(part + 1, '/'); slash && !error; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            error = -errno;
        *slash = '/';
    }
    free(part);
    if (!error && mkdir(path, 0777) < 0 && errno != EEXIST)
        error = -errno;
    struct stat status;
    if (!error && (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)))
        error = -ENOTDIR;
    return error;
}

int job_place_prepare(const char *directory)
{
    int error = job_place_make_directories(directory);
    if (!error && access(directory, W_OK | X_OK) < 0)
        error = -errno;
    return error ? error_set(error, "cannot write into the directory %s: %s", directory,
                             strerror(-error))
                 : 0;
}

static void job_place_add_name(struct strbuf *out, const char *name)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < MOST && name[i]; i++)
        strbuf_add_char(out, name[i] == '/' || (unsigned char)name[i] < ' ' ? '_' : name[i]);
}

static char *job_place_stem(const struct entry *entry)
{
    struct strbuf name = STRBUF_INIT;
    if (entry->rank >= 0)
        strbuf_addf(&name, "rank-%05lld.", (long long)entry->rank);
    else
        strbuf_add_string(&name, "process.");
    job_place_add_name(&name, entry->program);
    strbuf_add_char(&name, '.');
    job_place_add_name(&name, entry->host);
    strbuf_addf(&name, ".%lld", (long long)entry->pid);
    return strbuf_detach(&name);
}

/* The `number`-th try. An earlier image of the same process, before an exec, has the same pid and
 * often the same name. One that went into the node's file keeps its name, and its trace has it. */
static int job_place_try_name(const char *directory, struct node_files *nodes, const char *name,
                              unsigned number, struct entry *entry, struct entry_writer **writer,
                              char **path)
{
    struct strbuf base = STRBUF_INIT, full = STRBUF_INIT;
    strbuf_add_string(&base, name);
    if (number > 1)
        strbuf_addf(&base, ".%u", number);
    strbuf_addf(&full, "%s/%s%s", directory, base.data, ENTRY_SUFFIX);
    strbuf_add_string(&base, ".tmk");
    free(entry->profile);
    entry->profile = strbuf_detach(&base);
    int error = entry_writer_open(writer, full.data, entry);
    strbuf_reset(&full);
    strbuf_addf(&full, "%s/%s", directory, entry->profile);
    if (!error && node_files_had(nodes, full.data)) {
        entry_writer_discard(*writer);
        *writer = NULL;
        error = -EEXIST;
    }
    if (!error)
        *path = strbuf_detach(&full);
    strbuf_release(&full);
    return error;
}

int job_place_take(const char *directory, struct node_files *nodes, struct entry *entry,
                   struct entry_writer **writer, char **path)
{
    enum { TRIES = 10000 };
    struct strbuf place = STRBUF_INIT;
    strbuf_addf(&place, "%s/%s", directory, entry->job);
    int error = job_place_prepare(place.data);
    char *name = job_place_stem(entry);
    error = error ? error : -EEXIST;
    for (unsigned number = 1; error == -EEXIST && number < TRIES; number++)
        error = job_place_try_name(place.data, nodes, name, number, entry, writer, path);
    free(name);
    strbuf_release(&place);
    return error;
}

char *job_place_node_path(const char *directory, const char *host, unsigned number)
{
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/node.", directory);
    job_place_add_name(&path, host);
    strbuf_addf(&path, ".%d", (int)getpid());
    if (number > 1)
        strbuf_addf(&path, ".%u", number);
    strbuf_add_string(&path, SESSION_FILE_SUFFIX);
    return strbuf_detach(&path);
}

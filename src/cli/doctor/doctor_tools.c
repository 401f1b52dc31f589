/* Looks at directories, at debuginfod and at the commands beside ours, and tries a recording of
 * a short program. Each function looks at one thing and adds one finding. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/defaults.h"
#include "base/old_file.h"
#include "base/swept.h"
#include "doctor/doctor.h"
#include "model/figure_human.h"

#define LITTLE_ROOM ((uint64_t)256 << 20)

extern char **environ;

/* ---- Directories --------------------------------------------------------------------------- */

static const char *doctor_tools_temporary_directory(void)
{
    const char *directory = getenv("TMPDIR");
    return directory && *directory == '/' ? directory : "/tmp";
}

static void doctor_tools_look_at_directory(struct doctor *doctor, const char *area,
                                           const char *path, enum doctor_state worst,
                                           const char *advice)
{
    struct statvfs space;
    int error = old_file_check_directory(path);
    if (error) {
        doctor_add(doctor, area, worst, advice, "cannot write to %s: %s", path, strerror(-error));
        return;
    }
    struct figure room = FIGURE_UNKNOWN;
    if (!statvfs(path, &space))
        room = figure_of((uint64_t)space.f_bavail * (uint64_t)space.f_frsize);
    if (figure_less(room, figure_of(LITTLE_ROOM)))
        doctor_add(doctor, area, DOCTOR_NOTE, "traces take 1 to 3 bytes an event, profiles less",
                   "only %s free in %s", figure_human_bytes(room).text, path);
    else
        doctor_add(doctor, area, DOCTOR_OK, NULL, "%s can be written", path);
}

/* ---- Commands ------------------------------------------------------------------------------ */

/* Is there such a command in the PATH? */
static bool doctor_tools_is_there(const char *name)
{
    const char *path = getenv("PATH");
    struct strbuf file = STRBUF_INIT;
    bool found = false;
    for (size_t length; path && *path && !found; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        strbuf_reset(&file);
        strbuf_add(&file, path, length);
        strbuf_addf(&file, "/%s", name);
        found = length && !access(file.data, X_OK);
    }
    strbuf_release(&file);
    return found;
}

/* Is there such a command beside this one? */
static bool doctor_tools_is_beside(const char *executable, const char *name)
{
    struct strbuf file = STRBUF_INIT;
    const char *slash = strrchr(executable, '/');
    strbuf_add(&file, executable, slash ? (size_t)(slash + 1 - executable) : 0);
    strbuf_add_string(&file, name);
    bool found = !access(file.data, X_OK);
    strbuf_release(&file);
    return found;
}

static void doctor_tools_look_at_mpi(struct doctor *doctor, const char *executable)
{
    bool launcher = doctor_tools_is_there("mpirun") || doctor_tools_is_there("mpiexec") ||
                    doctor_tools_is_there("srun");
    bool ours = doctor_tools_is_beside(executable, "tidemark-mpi") ||
                doctor_tools_is_beside(executable, "tidemark-mpi.mpich");
    if (launcher && !ours)
        doctor_add(doctor, "MPI", DOCTOR_NOTE,
                   "tidemark job does the same on one machine; build with MPI's headers for the "
                   "analysis of many ranks on many nodes",
                   "jobs can be recorded; there is no tidemark-mpi beside tidemark");
    else
        doctor_add(doctor, "MPI", DOCTOR_OK, NULL, "%s",
                   launcher ? "a launcher and tidemark-mpi are there"
                            : "no launcher is in the PATH; recording needs none");
}

static void doctor_tools_look_at_allocators(struct doctor *doctor)
{
    static const char *const libraries[] = {"libjemalloc.so.2", "libtcmalloc_minimal.so.4",
                                            "libmimalloc.so.2"};
    struct strbuf found = STRBUF_INIT;
    for (int i = 0; i < 3; i++) {
        /* Looked for as a file: an allocator must not be loaded into a process that has one. */
        static const char *const places[] = {"/usr/lib/x86_64-linux-gnu",
                                             "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
                                             "/usr/local/lib"};
        for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
            struct strbuf file = STRBUF_INIT;
            strbuf_addf(&file, "%s/%s", places[j], libraries[i]);
            if (!access(file.data, R_OK)) {
                strbuf_addf(&found, "%s%.*s", found.length ? ", " : "",
                            (int)strcspn(libraries[i] + 3, "_."), libraries[i] + 3);
                j = sizeof places / sizeof *places;
            }
            strbuf_release(&file);
        }
    }
    if (found.length)
        doctor_add(doctor, "allocators", DOCTOR_OK, NULL, "to compare glibc's with: %s",
                   found.data);
    else
        doctor_add(doctor, "allocators", DOCTOR_NOTE,
                   "libjemalloc2, libtcmalloc-minimal4 and libmimalloc2.0 can be compared with "
                   "tidemark replay --under",
                   "none but glibc's");
    strbuf_release(&found);
}

/* ---- Debug information --------------------------------------------------------------------- */

static void doctor_tools_look_at_debuginfod(struct doctor *doctor)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (urls && *urls && library)
        doctor_add(doctor, "debuginfod", DOCTOR_OK, NULL, "%s", urls);
    else if (urls && *urls)
        doctor_add(doctor, "debuginfod", DOCTOR_NOTE, "install libdebuginfod1",
                   "DEBUGINFOD_URLS is set, but there is no libdebuginfod.so.1");
    else
        doctor_add(doctor, "debuginfod", DOCTOR_NOTE,
                   "for functions and lines in the system's libraries set DEBUGINFOD_URLS to your "
                   "distribution's server (Debian: https://debuginfod.debian.net)",
                   "DEBUGINFOD_URLS is not set");
    if (library)
        dlclose(library);
}

static void doctor_tools_look_at_defaults(struct doctor *doctor)
{
    for (size_t i = 0; defaults_file(i); i++)
        doctor_add(doctor, "defaults", DOCTOR_OK, NULL, "%s is read", defaults_file(i));
}

void doctor_look_at_tools(struct doctor *doctor, const char *executable)
{
    doctor_tools_look_at_directory(doctor, "profiles", ".", DOCTOR_NOTE,
                                   "give record -o FILE with another directory");
    doctor_tools_look_at_directory(doctor, "temporary", doctor_tools_temporary_directory(),
                                   DOCTOR_NOTE, "set TMPDIR to a directory that you may write to");
    doctor_tools_look_at_defaults(doctor);
    doctor_tools_look_at_debuginfod(doctor);
    doctor_tools_look_at_mpi(doctor, executable);
    doctor_tools_look_at_allocators(doctor);
}

/* ---- A recording --------------------------------------------------------------------------- */

/* Runs a command. `said`: the first line of its output. Returns its exit status, or -errno. */
static int doctor_tools_run(char *const *arguments, struct strbuf *said)
{
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int error = posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char bytes[1024];
    ssize_t got;
    while (!error && (got = read(ends[0], bytes, sizeof bytes)) > 0)
        if (said->length < sizeof bytes)
            strbuf_add(said, bytes, (size_t)got);
    close(ends[0]);
    int status = 0;
    if (!error && waitpid(pid, &status, 0) < 0)
        error = errno;
    strbuf_truncate(said, strcspn(said->data, "\n"));
    return error ? -error : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void doctor_try_recording(struct doctor *doctor, const char *executable)
{
    struct strbuf profile = STRBUF_INIT, said = STRBUF_INIT;
    struct swept swept;
    struct stat file;
    int error = swept_make(&swept, doctor_tools_temporary_directory(), "tidemark-doctor");
    if (error) {
        doctor_add(doctor, "recording", DOCTOR_NOTE,
                   "set TMPDIR to a directory that you may "
                   "write to",
                   "not tried: %s: %s", swept.path, strerror(-error));
        goto done;
    }
    strbuf_addf(&profile, "%s/true.tmk", swept.path);
    char record[] = "record", quiet[] = "--quiet", output[] = "--output", end[] = "--",
         program[] = "true", *self = strdup(executable);
    char *const arguments[] = {self, record, quiet, output, profile.data, end, program, NULL};
    int status = self ? doctor_tools_run(arguments, &said) : -ENOMEM;
    free(self);
    if (!status && !stat(profile.data, &file) && file.st_size > 0)
        doctor_add(doctor, "recording", DOCTOR_OK, NULL, "'true' was recorded");
    else
        doctor_add(doctor, "recording", DOCTOR_PROBLEM,
                   "what stands above may say why; tidemark record true shows all of it",
                   "'true' could not be recorded: %s",
                   said.length  ? said.data
                   : status < 0 ? strerror(-status)
                                : "no profile came");
    swept_remove(&swept);
done:
    strbuf_release(&profile);
    strbuf_release(&said);
}

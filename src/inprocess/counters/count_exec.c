/* Hooks of exec and posix_spawn. If the program has replaced our list in LD_PRELOAD, the counters
 * are put in front of the new one, as `tidemark count` would do. Before an exec the state says that
 * the process becomes another program, so that the command can tell when that one was not counted.
 * Only under the command. Runs inside other programs, in children of vfork too: no malloc, no
 * stdio, errno kept. */
#include "counters/counters.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>
#include "counters/counted_process.h"
#include "interpose/exec_environment.h"
#include "interpose/exec_list.h"
#include "interpose/hooked.h"
#include "interpose/preloads.h"
#include "interpose/real.h"
#include "unwind/caller_memory.h"
#include "unwind/permitted_calls.h"

#define HOOK __attribute__((visibility("default")))

bool count_exec_is_ours(const char *path, size_t bytes)
{
    static const char name[] = "libtidemark-count.so";
    const char *slash = memrchr(path, '/', bytes);
    size_t before = slash ? (size_t)(slash + 1 - path) : 0;
    return bytes - before == sizeof name - 1 && memcmp(path + before, name, sizeof name - 1) == 0;
}

/* ---- The environment ---- */

struct executing {
    struct exec_environment environment;
    bool is_readable; /* false: it leads to memory that nobody may read */
    bool is_marked;
};

/* The entry to replace; NULL: none. The rule is the recorder's (recorder/leaving.c): a program that
 * preloads nothing wants that, one that makes a new environment wants nothing else in it, and a
 * sanitizer behind us would end the program. */
static char *const *count_exec_entry(char *const *environment)
{
    char *const *entry = preloads_entry(environment);
    return entry && !preloads_has(*entry, count_exec_is_ours) &&
                   !preloads_has(*entry, preloads_is_sanitizer) && !preloads_is_empty(*entry) &&
                   exec_environment_names(environment, COUNT_DIRECTORY_VARIABLE "=")
               ? entry
               : NULL;
}

static struct executing count_exec_begin(char *const *environment)
{
    struct executing executing = {.is_readable = caller_memory_has_texts(environment)};
    executing.environment = (struct exec_environment){
        .callers = environment,
        .is_ours = count_exec_is_ours,
        .variables = "TIDEMARK_COUNT_",
        .may_map = !permitted_calls_is_forbidden(CALL_MAP),
        .may_ask = !permitted_calls_is_forbidden(CALL_MAP | CALL_PID | CALL_JOIN),
    };
    if (executing.is_readable && preloads_are_kept())
        executing.environment.preload = count_exec_entry(environment);
    executing.environment.joins = executing.environment.preload;
    return executing;
}

/* Was the exec too long (E2BIG), and is something of ours in the environment? Then the exec is
 * tried again, first with the caller's environment, and then without us. */
static bool count_exec_was_too_long(struct executing *executing, int error)
{
    struct exec_environment *environment = &executing->environment;
    if (error != E2BIG || environment->forgets || !executing->is_readable)
        return false;
    if (!environment->joins)
        return exec_environment_forgets(environment);
    environment->joins = false;
    environment->preload = NULL;
    return true;
}

/* ---- exec: returns only if it failed ---- */

/* Not in the child of a vfork, which has its parent's memory, because the parent becomes no other
 * program. */
static struct executing count_exec_begin_here(char *const *environment)
{
    struct executing executing = count_exec_begin(environment);
    executing.is_marked = count_process_is_here();
    if (executing.is_marked)
        __atomic_store_n(&count_state.becomes, 1, __ATOMIC_RELEASE);
    return executing;
}

static int count_exec_failed(struct executing *executing, int status)
{
    exec_environment_unmap(&executing->environment);
    if (executing->is_marked)
        __atomic_store_n(&count_state.becomes, 0, __ATOMIC_RELEASE);
    return status;
}

#define EXECUTE(name, first, arguments, callers)                                                   \
    struct executing executing = count_exec_begin_here(callers);                                   \
    int status = REAL(name)(first, arguments, EXEC_ENVIRONMENT(&executing.environment));           \
    while (count_exec_was_too_long(&executing, errno))                                             \
        status = REAL(name)(first, arguments, EXEC_ENVIRONMENT(&executing.environment));           \
    return count_exec_failed(&executing, status)

HOOK int execve(const char *path, char *const *arguments, char *const *environment)
{
    EXECUTE(execve, path, arguments, environment);
}
HOOKED(execve)

HOOK int execv(const char *path, char *const *arguments)
{
    EXECUTE(execve, path, arguments, environ);
}
HOOKED(execv)

HOOK int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    EXECUTE(execvpe, file, arguments, environment);
}
HOOKED(execvpe)

HOOK int execvp(const char *file, char *const *arguments)
{
    EXECUTE(execvpe, file, arguments, environ);
}
HOOKED(execvp)

HOOK int fexecve(int file, char *const *arguments, char *const *environment)
{
    EXECUTE(fexecve, file, arguments, environment);
}
HOOKED(fexecve)

HOOK int execl(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    char **arguments = EXEC_LIST(first, list);
    va_end(list);
    return execv(path, arguments);
}
HOOKED(execl)

HOOK int execlp(const char *file, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    char **arguments = EXEC_LIST(first, list);
    va_end(list);
    return execvp(file, arguments);
}
HOOKED(execlp)

HOOK int execle(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    char **arguments = EXEC_LIST(first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
HOOKED(execle)

/* ---- In a process of its own ---- */

#define SPAWN(name, file)                                                                          \
    struct executing executing = count_exec_begin(environment);                                    \
    int error = REAL(name)(pid, file, actions, attributes, arguments,                              \
                           EXEC_ENVIRONMENT(&executing.environment));                              \
    while (count_exec_was_too_long(&executing, error))                                             \
        error = REAL(name)(pid, file, actions, attributes, arguments,                              \
                           EXEC_ENVIRONMENT(&executing.environment));                              \
    exec_environment_unmap(&executing.environment);                                                \
    return error

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const *arguments,
                     char *const *environment)
{
    SPAWN(posix_spawn, path);
}
HOOKED(posix_spawn)

HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const *arguments,
                      char *const *environment)
{
    SPAWN(posix_spawnp, file);
}
HOOKED(posix_spawnp)

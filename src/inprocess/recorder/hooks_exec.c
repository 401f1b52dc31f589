/* Hooks of exec and of functions that start programs. A program that will not be recorded is
 * counted before the call (leaving.h), because afterwards no recorder is there. Calls are passed on
 * unchanged but for the environment: a program that our library would harm gets one without us, and
 * one with another LD_PRELOAD gets us in front. */
#include "recorder/hooks.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "interpose/exec_list.h"
#include "recorder/leaving.h"

/* ---- exec: returns only if it failed ---- */

/* `call`: with the environment that `leaving` has. */
#define EXECUTE(begun, call)                                                                       \
    struct leaving leaving = begun;                                                                \
    leaving_executes(&leaving);                                                                    \
    int status = call;                                                                             \
    while (leaving_was_too_long(&leaving, errno))                                                  \
        status = call;                                                                             \
    leaving_failed(&leaving);                                                                      \
    return status

HOOK int execve(const char *path, char *const *arguments, char *const *environment)
{
    EXECUTE(leaving_begin(path, false, environment),
            REAL(execve)(path, arguments, EXEC_ENVIRONMENT(&leaving.environment)));
}
HOOKED(execve)

HOOK int execv(const char *path, char *const *arguments)
{
    EXECUTE(leaving_begin(path, false, environ),
            exec_environment_changes(&leaving.environment)
                ? REAL(execve)(path, arguments, EXEC_ENVIRONMENT(&leaving.environment))
                : REAL(execv)(path, arguments));
}
HOOKED(execv)

HOOK int execvp(const char *file, char *const *arguments)
{
    EXECUTE(leaving_begin(file, true, environ),
            exec_environment_changes(&leaving.environment)
                ? REAL(execvpe)(file, arguments, EXEC_ENVIRONMENT(&leaving.environment))
                : REAL(execvp)(file, arguments));
}
HOOKED(execvp)

HOOK int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    EXECUTE(leaving_begin(file, true, environment),
            REAL(execvpe)(file, arguments, EXEC_ENVIRONMENT(&leaving.environment)));
}
HOOKED(execvpe)

HOOK int fexecve(int file, char *const *arguments, char *const *environment)
{
    EXECUTE(leaving_begin_open(file, environment),
            REAL(fexecve)(file, arguments, EXEC_ENVIRONMENT(&leaving.environment)));
}
HOOKED(fexecve)

/* ---- exec with a list: the C library makes an array of it on the stack, too ---- */

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

#define SPAWN(name, file, is_searched)                                                             \
    struct leaving leaving = leaving_begin(file, is_searched, environment);                        \
    int error = REAL(name)(pid, file, actions, attributes, arguments,                              \
                           EXEC_ENVIRONMENT(&leaving.environment));                                \
    while (leaving_was_too_long(&leaving, error))                                                  \
        error = REAL(name)(pid, file, actions, attributes, arguments,                              \
                           EXEC_ENVIRONMENT(&leaving.environment));                                \
    exec_environment_unmap(&leaving.environment);                                                  \
    if (error)                                                                                     \
        leaving_failed(&leaving);                                                                  \
    return error

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const *arguments,
                     char *const *environment)
{
    SPAWN(posix_spawn, path, false);
}
HOOKED(posix_spawn)

HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const *arguments,
                      char *const *environment)
{
    SPAWN(posix_spawnp, file, true);
}
HOOKED(posix_spawnp)

/* Our library does no harm to a shell, so it is only counted. */
HOOK int system(const char *command)
{
    struct leaving leaving = {.kind = WIRE_FOLLOWED};
    if (command)
        leaving = leaving_begin_shell();
    int status = REAL(system)(command);
    if (status == -1)
        leaving_failed(&leaving);
    return status;
}
HOOKED(system)

HOOK FILE *popen(const char *command, const char *mode)
{
    struct leaving leaving = leaving_begin_shell();
    FILE *pipe = REAL(popen)(command, mode);
    if (!pipe)
        leaving_failed(&leaving);
    return pipe;
}
HOOKED(popen)

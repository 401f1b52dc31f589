/* Turns an error of ptrace into a sentence with a remedy (permission.h). It reads
 * kernel.yama.ptrace_scope to tell the possible reasons apart. */
#include "attach/permission.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"

static int permission_yama_scope(const char *file_name)
{
    int scope = -1;
    FILE *file = fopen(file_name, "re");
    if (file && fscanf(file, "%d", &scope) != 1)
        scope = -1;
    if (file)
        fclose(file);
    return scope;
}

bool permission_must_be_given(void)
{
    enum { UNKNOWN = 0, NO, YES };
    static _Atomic int known;
    int answer = atomic_load(&known);
    if (answer == UNKNOWN) {
        answer = geteuid() != 0 && permission_yama_scope(PERMISSION_YAMA) == 1 ? YES : NO;
        atomic_store(&known, answer);
    }
    return answer == YES;
}

int permission_refused(pid_t pid, int error, const char *yama)
{
    int scope = permission_yama_scope(yama);
    if (error == -ESRCH)
        return error_set(error, "process %d has ended", (int)pid);
    if (error == -EBUSY)
        return error_set(error,
                         "process %d is being traced by another process: it can have one "
                         "tracer",
                         (int)pid);
    if (error == -ETIMEDOUT)
        return error_set(error, "process %d cannot be stopped: it waits in the kernel (state D)",
                         (int)pid);
    if (error == -EPERM && scope >= 3)
        return error_set(
            error,
            "the kernel lets nobody trace process %d (kernel.yama.ptrace_scope is %d): "
            "restart the machine with another setting, %d is final; or start the "
            "program with tidemark record",
            (int)pid, scope, scope);
    if (error == -EPERM && scope > 0)
        return error_set(error,
                         "the kernel lets nobody but %s trace process %d (kernel.yama.ptrace_scope "
                         "is %d): be root, or sudo sysctl kernel.yama.ptrace_scope=0",
                         scope == 1 ? "its parents" : "root", (int)pid, scope);
    if (error == -EPERM)
        return error_set(error,
                         "the kernel does not let us trace process %d: be its user or root, with "
                         "CAP_SYS_PTRACE in a container (docker run --cap-add=SYS_PTRACE)",
                         (int)pid);
    return error_set(error, "cannot trace process %d: %s", (int)pid, strerror(-error));
}

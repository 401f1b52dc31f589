/* Finds the reasons against attaching to a process, and changes nothing. It reads /proc/PID/status
 * for state and seccomp, looks at the program's file, and compares the namespaces with the
 * caller's. */
#include "attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "procfs/elf_sniff.h"

/* ---- /proc/PID/status ---- */

struct status {
    char state;
    long tgid, tracer, filters, seccomp;
    unsigned uid;
    bool has_memory, shadow_stack;
};

static void attach_check_read_line(struct status *status, const char *line)
{
    sscanf(line, "State: %c", &status->state);
    sscanf(line, "Tgid: %ld", &status->tgid);
    sscanf(line, "TracerPid: %ld", &status->tracer);
    sscanf(line, "Seccomp: %ld", &status->seccomp);
    sscanf(line, "Seccomp_filters: %ld", &status->filters);
    sscanf(line, "Uid: %u", &status->uid);
    status->has_memory |= !strncmp(line, "VmSize:", 7);
    status->shadow_stack |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, "shstk");
}

static bool attach_check_read_status(struct status *status, pid_t pid)
{
    char path[64], line[256];
    *status = (struct status){.filters = -1};
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        attach_check_read_line(status, line);
    if (file)
        fclose(file);
    return file != NULL;
}

static int attach_check_state(pid_t pid, const struct status *status)
{
    int number = (int)pid;
    if (status->tgid != pid)
        return error_set(-ESRCH, "%d is a thread of process %ld: attach to that", number,
                         status->tgid);
    if (status->state == 'Z' || status->state == 'X')
        return error_set(-ESRCH, "process %d has ended already", number);
    if (!status->has_memory)
        return error_set(-EPERM, "%d is a thread of the kernel", number);
    if (status->tracer)
        return error_set(-EBUSY,
                         "process %d is being traced by process %ld (a debugger, strace, another "
                         "tidemark attach): a process can have one tracer",
                         number, status->tracer);
    if (status->state == 'T')
        return error_set(-EBUSY, "process %d is stopped: let it go on first (kill -CONT %d)",
                         number, number);
    if (geteuid() != 0 && status->uid != geteuid())
        return error_set(-EPERM, "process %d is another user's: be that user, or root", number);
    if (status->shadow_stack)
        return error_set(-EPERM,
                         "process %d has a shadow stack (CET), which allows no calls from outside",
                         number);
    return 0;
}

/* A filter that holds for us too, such as a container's, permits the recorder's system calls. */
static int attach_check_seccomp(pid_t pid, const struct status *status)
{
    struct status own;
    if (status->seccomp == 0 || !attach_check_read_status(&own, getpid()) ||
        (status->seccomp == own.seccomp && status->filters == own.filters))
        return 0;
    return error_set(-EPERM,
                     "process %d has a seccomp filter of its own, which may kill it for what the "
                     "recorder does: start it with tidemark record instead",
                     (int)pid);
}

/* ---- Its program ---- */

static int attach_check_program(pid_t pid)
{
    char path[64];
    struct elf_sniff elf;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), number = (int)pid;
    if (fd < 0)
        return error_set(-errno, "cannot look at the program of process %d: %s", number,
                         strerror(errno));
    elf_sniff(&elf, fd);
    close(fd);
    if (!elf.valid || elf.foreign)
        return error_set(-ENOEXEC,
                         "process %d runs a %s program: libtidemark.so cannot be loaded "
                         "into it",
                         number, elf.bits == 32 ? "32-bit" : "foreign");
    if (!elf.interpreter[0])
        return error_set(-ENOEXEC,
                         "process %d runs a statically linked program: no library can be "
                         "loaded into it",
                         number);
    if (strstr(elf.interpreter, "ld-musl"))
        return error_set(-ENOEXEC,
                         "process %d runs on musl, whose loader takes no library like "
                         "libtidemark.so (static thread-local storage) into a program that runs "
                         "already: record it from its beginning",
                         number);
    if (elf.sanitizer[0])
        return error_set(-ENOEXEC,
                         "process %d runs a sanitized program (%s), whose allocator "
                         "cannot be recorded",
                         number, elf.sanitizer);
    return 0;
}

/* ---- Where it lives ---- */

static bool attach_check_same_namespace(pid_t pid, const char *which)
{
    char path[64], theirs[128], ours[128];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, which);
    ssize_t count = readlink(path, theirs, sizeof theirs);
    snprintf(path, sizeof path, "/proc/self/ns/%s", which);
    return count < 0 ||
           (readlink(path, ours, sizeof ours) == count && !memcmp(ours, theirs, (size_t)count));
}

static int attach_check_place(pid_t pid, const char *library)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, library);
    if (access(path, R_OK) < 0 && errno == ENOENT)
        return error_set(-ENOENT,
                         "process %d has other files than we (a container, a chroot), and there %s "
                         "is missing: put it there, it needs nothing but glibc",
                         (int)pid, library);
    if (!attach_check_same_namespace(pid, "net"))
        return error_set(-EPERM,
                         "process %d is in a network namespace of its own, from which the "
                         "collector cannot be reached: run tidemark in it (nsenter -t %d -n)",
                         (int)pid, (int)pid);
    return 0;
}

int attach_check(pid_t pid, const char *library)
{
    struct status status;
#if !defined(__x86_64__)
    return error_set(-ENOTSUP, "attaching is written for x86-64 only: start the program with "
                               "tidemark record, or have it call tidemark_start()");
#endif
    if (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH) || !attach_check_read_status(&status, pid))
        return error_set(-ESRCH, "there is no process %d", (int)pid);
    if (pid == getpid())
        return error_set(-EINVAL, "process %d is this tidemark itself", (int)pid);
    int error = attach_check_state(pid, &status);
    if (!error)
        error = attach_check_seccomp(pid, &status);
    if (!error)
        error = attach_check_program(pid);
    return error ? error : attach_check_place(pid, library);
}

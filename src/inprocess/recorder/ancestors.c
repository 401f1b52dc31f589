/* Reads the environments that the process's ancestors were started with from /proc (ancestors.h). A
 * server may make a new environment for its children, but it was itself started with that of the
 * session. */
#include "recorder/ancestors.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interpose/proc_text.h"
#include "wire/wire.h"

/* The number in a line of /proc/PID/status; 0: not known. */
static long ancestors_status_of(long pid, const char *line)
{
    struct proc_text text;
    long value = 0;
    int last;
    if (!proc_text_open_of(&text, pid, "status"))
        return 0;
    do {
        if (proc_text_is_next(&text, line, &last)) {
            value = (long)proc_text_number(&text, 10, &last);
            break;
        }
    } while (proc_text_skip(&text, last, '\n'));
    proc_text_close(&text);
    return value;
}

static bool ancestors_copy_value(struct proc_text *text, char *value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int character = proc_text_next(text);
        value[i] = character > 0 ? (char)character : '\0';
        if (character <= 0)
            return i > 0;
    }
    return false;
}

static bool ancestors_environment_names(long pid, char *value, size_t bytes)
{
    struct proc_text text;
    int last;
    bool found = false;
    if (!proc_text_open_of(&text, pid, "environ"))
        return false; /* a process of another user; one of ours may be above it */
    do
        found = proc_text_is_next(&text, WIRE_SESSION_VARIABLE "=", &last) &&
                ancestors_copy_value(&text, value, bytes);
    while (!found && proc_text_skip(&text, last, '\0'));
    proc_text_close(&text);
    return found;
}

/* Does /proc show our own processes? In a pid namespace of ours it may be the mount of another
 * one. */
static bool ancestors_are_in_proc(void)
{
    long pid = syscall(SYS_getpid);
    return ancestors_status_of(pid, "Pid:\t") == pid &&
           ancestors_status_of(pid, "PPid:\t") == syscall(SYS_getppid);
}

bool ancestors_session(char *name, size_t bytes)
{
    enum { MOST = 64 };
    if (!ancestors_are_in_proc())
        return false;
    long pid = syscall(SYS_getppid);
    for (int i = 0; pid > 1 && i < MOST; i++) {
        if (ancestors_environment_names(pid, name, bytes))
            return true;
        pid = ancestors_status_of(pid, "PPid:\t");
    }
    return false;
}

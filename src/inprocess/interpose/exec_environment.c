/* Copies the array of entries, and makes one text, LD_PRELOAD's (exec_environment.h). A small copy
 * is on the stack. One of many entries is mapped, because the stack of a thread or of a signal
 * handler may be smaller. */
#include "interpose/exec_environment.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool exec_environment_is(const char *entry, const char *beginning)
{
    return strncmp(entry, beginning, strlen(beginning)) == 0;
}

bool exec_environment_names(char *const *environment, const char *beginning)
{
    for (; environment && *environment; environment++)
        if (exec_environment_is(*environment, beginning))
            return true;
    return false;
}

bool exec_environment_forgets(struct exec_environment *environment)
{
    char *const *entry = preloads_entry(environment->callers);
    bool has_us = entry && preloads_has(*entry, environment->is_ours);
    if (!has_us && !exec_environment_names(environment->callers, environment->variables))
        return false;
    environment->preload = has_us ? entry : NULL;
    environment->joins = false;
    environment->forgets = true;
    return true;
}

bool exec_environment_changes(const struct exec_environment *environment)
{
    return environment->preload || environment->forgets;
}

static size_t exec_environment_variables(const struct exec_environment *environment)
{
    size_t count = 0;
    while (environment->callers[count])
        count++;
    return count;
}

size_t exec_environment_bytes(const struct exec_environment *environment)
{
    size_t bytes = (exec_environment_variables(environment) + 1) * sizeof(char *);
    if (environment->preload)
        bytes += strlen(*environment->preload) + 1 + preloads_kept_bytes();
    return bytes;
}

/* The copy that was mapped last in this thread. A child of vfork shares the thread's variables with
 * its parent, and says here what it leaves by executing. */
static __thread struct {
    void *mapped;
    size_t bytes;
    long process;
} exec_environment_last;

/* Unmaps what a child of vfork has left. That child has executed or ended, as soon as this thread
 * goes on in another process. But a child's own signal handler may run here, too, and execute, or
 * vfork. Returns this process's id. */
static long exec_environment_clear(void)
{
    long self = syscall(SYS_getpid), user = exec_environment_last.process;
    if (exec_environment_last.mapped && user != self && user != syscall(SYS_getppid)) {
        syscall(SYS_munmap, exec_environment_last.mapped, exec_environment_last.bytes);
        exec_environment_last.mapped = NULL;
    }
    return self;
}

static void exec_environment_note(const struct exec_environment *environment, long self)
{
    if (environment->mapped && !exec_environment_last.mapped) {
        exec_environment_last.bytes = environment->mapped_bytes;
        exec_environment_last.process = self;
        exec_environment_last.mapped = environment->mapped;
    }
}

void *exec_environment_map(struct exec_environment *environment)
{
    enum { MOST_ON_STACK = 4096 };
    int saved_errno = errno;
    size_t bytes = exec_environment_bytes(environment);
    long mapped = -1, self = 0;
    exec_environment_unmap(environment);
    if (bytes > MOST_ON_STACK && environment->may_ask)
        self = exec_environment_clear();
    if (bytes > MOST_ON_STACK && environment->may_map)
        mapped = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0L);
    environment->mapped = mapped == -1 ? NULL : (void *)mapped;
    environment->mapped_bytes = bytes;
    if (self)
        exec_environment_note(environment, self);
    errno = saved_errno;
    return environment->mapped;
}

void exec_environment_unmap(struct exec_environment *environment)
{
    int saved_errno = errno;
    if (environment->mapped && exec_environment_last.mapped == environment->mapped)
        exec_environment_last.mapped = NULL;
    if (environment->mapped)
        syscall(SYS_munmap, environment->mapped, environment->mapped_bytes);
    environment->mapped = NULL;
    errno = saved_errno;
}

char *const *exec_environment_copy(const struct exec_environment *environment, void *to)
{
    size_t count = exec_environment_variables(environment), copied = 0;
    char **made = to, *preload = (char *)(made + count + 1);
    bool is_left = environment->joins;
    if (environment->joins)
        preloads_copy_behind_kept(preload, *environment->preload);
    else if (environment->preload)
        is_left = preloads_copy_others(preload, *environment->preload, environment->is_ours);
    for (char *const *from = environment->callers; *from; from++) {
        if (from == environment->preload && is_left)
            made[copied++] = preload;
        else if (from != environment->preload &&
                 !(environment->forgets && exec_environment_is(*from, environment->variables)))
            made[copied++] = *from;
    }
    made[copied] = NULL;
    return made;
}

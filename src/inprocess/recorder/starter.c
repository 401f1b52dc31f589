/* Starts a collector for a library that was preloaded by hand (starter.h). Runs before main: system
 * calls only, no malloc, no stdio. */
#include "recorder/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/random.h"
#include "recorder/shared.h"
#include "recorder/step_wait.h"
#include "unwind/signal_lock.h"
#include "wire/wire.h"
#include "unwind/own_write.h"

static int starter_own_path(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    uintptr_t here = (uintptr_t)&starter_own_path - info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            here - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz) {
            strncpy(context, info->dlpi_name, PATH_MAX - 1);
            return 1;
        }
    return 0;
}

bool starter_may_start(void)
{
    char library[PATH_MAX] = "";
    dl_iterate_phdr(starter_own_path, library);
    return !wire_is_of_session(library);
}

/* LIBDIR/../bin/tidemark, or one directory further up if the library is in lib/TRIPLET. */
static bool starter_collector_path(char path[PATH_MAX])
{
    static const char *const places[] = {"../bin/tidemark", "../../bin/tidemark"};
    char library[PATH_MAX] = "";
    dl_iterate_phdr(starter_own_path, library);
    char *slash = strrchr(library, '/');
    size_t directory = slash ? (size_t)(slash - library) + 1 : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (directory + strlen(places[i]) >= PATH_MAX)
            continue;
        memcpy(path, library, directory);
        strcpy(path + directory, places[i]);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* "tidemark-NAME:KEY" and NUL. */
enum { SESSION_BYTES = sizeof "tidemark-" + 32 + 1 + WIRE_KEY_BYTES };

static bool starter_make_name(char *name)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[16 + WIRE_KEY_BYTES / 2];
    if (!random_fill(random, sizeof random))
        return false;
    char *to = stpcpy(name, "tidemark-");
    for (size_t i = 0; i < sizeof random; i++) {
        if (i == 16)
            *to++ = ':';
        *to++ = digits[random[i] >> 4];
        *to++ = digits[random[i] & 15];
    }
    *to = '\0';
    return true;
}

/* Makes an environment with one more variable, in memory of our own. */
static bool starter_add_variable(const char *name, const char *value)
{
    size_t count = 0;
    while (environ && environ[count])
        count++;
    size_t text = strlen(name) + strlen(value) + 2;
    char **made = private_map_kept((count + 2) * sizeof *made + text);
    if (!made)
        return false;
    if (count)
        memcpy(made, environ, count * sizeof *made);
    char *entry = (char *)(made + count + 2);
    stpcpy(stpcpy(stpcpy(entry, name), "="), value);
    made[count] = entry;
    environ = made;
    return true;
}

/* Forks a child whose end sends no signal, and for which the program's wait() does not wait. */
static long starter_fork_unseen(void)
{
    return syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

/* Makes descriptor 4 a pidfd of the process for which the collector is started. If there is none,
 * descriptor 4 stays closed, and the collector waits for that process in another way. */
static void starter_keep_pidfd(pid_t starter)
{
    int pidfd = (int)syscall(SYS_pidfd_open, starter, 0);
    if (pidfd == 4)
        fcntl(4, F_SETFD, 0);
    else if (pidfd >= 0)
        dup2(pidfd, 4);
    syscall(SYS_close_range, 5u, ~0u, 0u);
}

/* Runs in the grandchild. The collector writes to `ready` when it listens. All other descriptors
 * are closed, because the reader of a pipe that stays open here would wait for its end for ever. */
static void starter_become_collector(const char *path, const char *name, int ready, pid_t starter)
{
    signal_lock_restore(0); /* no signals are blocked in the collector */
    if (ready != 3 && dup2(ready, 3) < 0)
        _exit(127);
    syscall(SYS_close_range, 4u, ~0u, 0u);
    fcntl(3, F_SETFD, 0);
    starter_keep_pidfd(starter);
    int null = open("/dev/null", O_RDWR);
    /* Descriptor 2 stays open, for errors in TIDEMARK_OPTIONS. */
    for (int fd = 0; fd < 2; fd++)
        dup2(null, fd);
    if (null > 2) /* 4, if there is no pidfd */
        close(null);
    char session[sizeof WIRE_SESSION_VARIABLE + SESSION_BYTES];
    size_t count = 0, variables = 0;
    while (environ && environ[variables])
        variables++;
    char **kept = private_map_kept((variables + 2) * sizeof *kept);
    if (!kept)
        return;
    /* not as an argument, because other users can read arguments */
    stpcpy(stpcpy(session, WIRE_SESSION_VARIABLE "="), name);
    kept[count++] = session;
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, "LD_PRELOAD=", 11) != 0)
            kept[count++] = *entry;
    kept[count] = NULL;
    char *arguments[] = {(char *)"tidemark",
                         (char *)"collect",
                         (char *)"--ready-fd",
                         (char *)"3",
                         (char *)"--starter-fd",
                         (char *)"4",
                         NULL};
    syscall(SYS_execve, path, arguments, kept);
}

/* A program with a timer's signals interrupts each step. */
static bool starter_wait_until_ready(int fd)
{
    enum { PATIENCE_MS = 60000, STEP_MS = 100 };
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    struct step_wait wait = step_wait_begin(STEP_MS);
    int status = 0;
    char byte;
    while (status == 0 && step_wait_ms(&wait) < PATIENCE_MS) {
        status = poll(&waiting, 1, STEP_MS);
        wait.steps++;
        if (status < 0 && errno == EINTR)
            status = 0;
    }
    return status == 1 && read(fd, &byte, 1) == 1;
}

/* Does TIDEMARK_OPTIONS, which the collector would read, ask for silence? */
static bool starter_is_quiet(void)
{
    static const char blanks[] = " \t\n";
    const char *at = getenv("TIDEMARK_OPTIONS");
    while (at && *at) {
        at += strspn(at, blanks);
        size_t bytes = strcspn(at, blanks);
        if ((bytes == 2 && !strncmp(at, "-q", bytes)) ||
            (bytes == 7 && !strncmp(at, "--quiet", bytes)))
            return true;
        at += bytes;
    }
    return false;
}

static void starter_say(const char *sentence)
{
    if (own_write(STDERR_FILENO, sentence, strlen(sentence)) < 0)
        return; /* there is no other way to tell the user */
}

bool starter_start(char *name, size_t bytes, bool tell_children)
{
    char path[PATH_MAX];
    int ends[2];
    if (bytes < SESSION_BYTES || !starter_collector_path(path))
        return false;
    if (!starter_make_name(name)) {
        if (!starter_is_quiet())
            starter_say("tidemark: nothing is recorded: neither getrandom() nor /dev/urandom gives "
                        "random bytes for the session's key\n");
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t starter = getpid();
    long child = starter_fork_unseen();
    if (child == 0) {
        syscall(SYS_setsid);
        if (starter_fork_unseen() == 0)
            starter_become_collector(path, name, ends[1], starter);
        syscall(SYS_exit_group, 0);
    }
    close(ends[1]);
    if (child > 0)
        while (syscall(SYS_wait4, child, NULL, __WALL, NULL) < 0 && errno == EINTR)
            ;
    bool ready = child > 0 && starter_wait_until_ready(ends[0]);
    close(ends[0]);
    return ready && (!tell_children || starter_add_variable(WIRE_SESSION_VARIABLE, name));
}

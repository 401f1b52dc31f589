/* See attach.h. */
#include "attach/attach.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/error.h"
#include "attach/memory.h"
#include "attach/permission.h"
#include "attach/place.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "wire/wire.h"

enum { PATIENCE_MS = 30000, LIBC_DLOPEN_MODE = 0x80000000 };

static char error_text[1024];

const char *attach_error(void)
{
    return error_text;
}

int attach_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    return status;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap_ms(unsigned ms)
{
    struct timespec time = {0, (long)ms * 1000000};
    nanosleep(&time, NULL);
}

/* ---- The process ---- */

struct host {
    pid_t pid;
    struct target target;
    const struct target_module *libc, *library; /* library NULL: not loaded yet */
    struct place place;
    uintptr_t gadget, locate_errno;
};

static void host_close(struct host *host)
{
    target_close(&host->target);
}

static int fail_host(struct host *host, int status, const char *sentence)
{
    host_close(host);
    return attach_fail(status, "process %d %s", (int)host->pid, sentence);
}

static bool executable_has_malloc(const struct host *host)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)host->pid);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    path[bytes < 0 ? 0 : bytes] = '\0';
    for (size_t i = 0; i < host->target.count; i++)
        if (!strcmp(host->target.modules[i].path, path))
            return target_find_in(&host->target, &host->target.modules[i], "malloc").address != 0;
    return false;
}

static int host_open(struct host *host, pid_t pid)
{
    *host = (struct host){.pid = pid};
    int status = target_open(&host->target, pid);
    if (status < 0)
        return attach_fail(status, "cannot read the memory map of process %d: %s", (int)pid,
                           strerror(-status));
    target_find(&host->target, "gnu_get_libc_version", &host->libc);
    if (!host->libc) /* the memory itself: is it ours to read? */
        return fail_host(host, -EPERM,
                                  "cannot be looked into, or has no glibc: be its user, or root");
    host->gadget = target_gadget(&host->target, host->libc);
    host->locate_errno = target_find_in(&host->target, host->libc, "__errno_location").address;
    host->library = target_module_called(&host->target, "libtidemark.so");
    if (!host->gadget)
        return fail_host(host, -ENOSYS, "has a C library that is not known");
    if (executable_has_malloc(host))
        return fail_host(host, -ENOTSUP,
                         "has an allocator in its executable, whose calls cannot be seen from outside "
                         "of it");
    place_open(&host->place, &host->target, host->libc);
    return 0;
}

/* ---- Threads ---- */

static int list_threads(pid_t pid, pid_t **tids, size_t *count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    *tids = NULL;
    *count = 0;
    if (!directory)
        return -ESRCH;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t *more = realloc(*tids, (*count + 1) * sizeof *more);
        if (!more)
            break;
        *tids = more;
        more[(*count)++] = (pid_t)atoi(entry->d_name);
    }
    closedir(directory);
    return *count ? 0 : -ESRCH;
}

/* The kernel says EPERM of a thread that is ending, and of one that has a tracer, too. */
static int seize(struct tracee *thread, pid_t pid, pid_t tid)
{
    char path[80], line[128], state = 'X';
    long tracer = 0;
    int status = tracee_seize(thread, pid, tid);
    if (status != -EPERM)
        return status;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "TracerPid: %ld", &tracer);
    }
    if (file)
        fclose(file);
    return tracer ? -EBUSY : state == 'X' || state == 'Z' ? -ESRCH : status;
}

/* One thread at a safe place, borrowed. The kernel lists the first one first. */
static int try_thread(const struct host *host, pid_t tid, struct tracee *thread, bool *safe)
{
    int status = seize(thread, host->pid, tid);
    *safe = false;
    if (status < 0)
        return status;
    status = tracee_stop(thread);
    if (status == 0)
        *safe = place_is_safe(&host->place, thread);
    if (!*safe)
        tracee_release(thread);
    return status;
}

static int try_threads(const struct host *host, struct tracee *thread, bool *safe)
{
    enum { MOST = 64 };
    pid_t *tids;
    size_t count;
    int status = list_threads(host->pid, &tids, &count);
    for (size_t i = 0; status == 0 && i < count && i < MOST && !*safe; i++) {
        int error = try_thread(host, tids[i], thread, safe);
        if (error < 0 && (error != -ESRCH || i + 1 == count))
            status = error;
    }
    free(tids);
    return status;
}

static int borrow(const struct host *host, struct tracee *thread)
{
    bool safe = false;
    for (uint64_t since = now_ms(); !safe && now_ms() - since < PATIENCE_MS; nap_ms(2)) {
        int status = try_threads(host, thread, &safe);
        if (status < 0)
            return permission_refused(host->pid, status, PERMISSION_YAMA);
    }
    if (!safe)
        return attach_fail(-EAGAIN,
                           "no thread of process %d came to a place where a library can be loaded: "
                           "try again",
                           (int)host->pid);
    int status = tracee_borrow(thread, host->gadget, host->locate_errno);
    if (status < 0) {
        tracee_release(thread);
        return attach_fail(status, "process %d has no memory for a stack: %s", (int)host->pid,
                           strerror(-status));
    }
    return 0;
}

/* ---- Calls ---- */

static int call(const struct host *host, struct tracee *thread, uintptr_t function, uintptr_t first,
                uintptr_t second, uintptr_t *result)
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {first, second};
    int status = tracee_call(thread, function, arguments, result);
    if (status == -ESRCH)
        return attach_fail(status, "process %d has ended", (int)host->pid);
    return status < 0 ? attach_fail(status, "a call in process %d went wrong, and was taken back",
                                    (int)host->pid)
                      : 0;
}

static int call_ours(const struct host *host, struct tracee *thread, const char *name,
                     uintptr_t argument, uintptr_t *result)
{
    struct target_symbol function = target_find_in(&host->target, host->library, name);
    if (!function.address)
        return attach_fail(-ENOSYS,
                           "process %d has another version of libtidemark.so loaded (%s)",
                           (int)host->pid, host->library->path);
    return call(host, thread, function.address, argument, 0, result);
}

static int put_string(const struct host *host, const struct tracee *thread, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (bytes > TRACEE_SCRATCH_BYTES)
        return attach_fail(-ENAMETOOLONG, "'%s' is too long a path", text);
    int status = memory_write(host->pid, tracee_scratch(thread), text, bytes);
    return status < 0 ? attach_fail(status, "cannot write to the memory of process %d: %s",
                                    (int)host->pid, strerror(-status))
                      : 0;
}

/* ---- Loading ---- */

static int fail_loading(const struct host *host, struct tracee *thread, const char *path)
{
    char why[512] = "its dlopen() says no more";
    struct target_symbol dlerror_there = target_find_in(&host->target, host->libc, "dlerror");
    uintptr_t text = 0;
    if (dlerror_there.address && call(host, thread, dlerror_there.address, 0, 0, &text) == 0 && text)
        memory_read_string(host->pid, text, why, sizeof why);
    return attach_fail(-ELIBACC, "process %d cannot load %s: %s", (int)host->pid, path, why);
}

static int load(struct host *host, struct tracee *thread, const char *path)
{
    const struct target_module *libdl = target_module_called(&host->target, "libdl.so.2");
    struct target_symbol function = target_find_in(&host->target, host->libc, "dlopen");
    if (!function.address && libdl)
        function = target_find_in(&host->target, libdl, "dlopen");
    uintptr_t mode = RTLD_NOW, handle;
    if (!function.address) { /* glibc before 2.34, without libdl */
        function = target_find_in(&host->target, host->libc, "__libc_dlopen_mode");
        mode |= LIBC_DLOPEN_MODE;
    }
    if (!function.address)
        return attach_fail(-ENOSYS, "process %d has no dlopen()", (int)host->pid);
    int status = put_string(host, thread, path);
    if (status == 0)
        status = call(host, thread, function.address, tracee_scratch(thread), mode, &handle);
    if (status == 0 && !handle)
        status = fail_loading(host, thread, path);
    if (status < 0)
        return status;
    target_close(&host->target);
    status = target_open(&host->target, host->pid);
    host->library = target_module_called(&host->target, "libtidemark.so");
    target_find(&host->target, "gnu_get_libc_version", &host->libc);
    return host->library && host->libc
               ? 0
               : attach_fail(-ELIBACC, "process %d has loaded %s, and yet it is not there",
                             (int)host->pid, path);
}

/* ---- Forgetting: everything stands still ---- */

struct standstill {
    struct tracee *threads;
    size_t count;
};

static bool holds(const struct standstill *all, pid_t tid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->threads[i].tid == tid)
            return true;
    return false;
}

/* 1: it stands; 0: it has ended (its process may list it for long). */
static int stop_another(struct standstill *all, pid_t pid, pid_t tid)
{
    struct tracee *threads = realloc(all->threads, (all->count + 1) * sizeof *threads);
    if (!threads)
        return -ENOMEM;
    all->threads = threads;
    int status = seize(&threads[all->count], pid, tid);
    if (status == 0) {
        all->count++;
        status = tracee_stop(&threads[all->count - 1]);
    }
    return status == 0 ? 1 : status == -ESRCH ? 0 : status;
}

/* Until no thread is there that does not stand: those that run may make more. */
static int stop_all(struct standstill *all, pid_t pid)
{
    for (bool more = true; more;) {
        pid_t *tids;
        size_t count;
        int status = list_threads(pid, &tids, &count);
        more = false;
        for (size_t i = 0; status == 0 && i < count; i++) {
            if (i < all->count && all->threads[i].tid == tids[i])
                continue;
            if (holds(all, tids[i]))
                continue;
            status = stop_another(all, pid, tids[i]);
            more |= status > 0;
            status = status > 0 ? 0 : status;
        }
        free(tids);
        if (status < 0)
            return status;
    }
    return 0;
}

static void release_all(struct standstill *all)
{
    for (size_t i = all->count; i-- > 0;)
        tracee_release(&all->threads[i]);
    free(all->threads);
    *all = (struct standstill){NULL, 0};
}

static struct tracee *one_that_stands(const struct host *host, const struct standstill *all)
{
    struct tracee *found = NULL;
    for (size_t i = 0; i < all->count; i++) {
        if (!all->threads[i].stopped)
            continue;
        if (!place_is_outside(&host->place, &all->threads[i]))
            return NULL;
        found = found ? found : &all->threads[i];
    }
    return found;
}

/* 0, or -EAGAIN: a thread is in our code. */
static int forget_once(const struct host *host)
{
    struct standstill all = {NULL, 0};
    uintptr_t result = (uintptr_t)-EAGAIN;
    int status = stop_all(&all, host->pid);
    if (status < 0) {
        release_all(&all);
        return permission_refused(host->pid, status, PERMISSION_YAMA);
    }
    struct tracee *thread = one_that_stands(host, &all);
    if (thread)
        status = tracee_borrow(thread, host->gadget, host->locate_errno);
    if (thread && status == 0)
        status = call_ours(host, thread, "tidemark_late_renew", 0, &result);
    release_all(&all);
    return status < 0 ? status : (int)result;
}

static int forget(const struct host *host)
{
    int status = -EAGAIN;
    for (uint64_t since = now_ms(); status == -EAGAIN && now_ms() - since < PATIENCE_MS;) {
        status = forget_once(host);
        if (status == -EAGAIN)
            nap_ms(5);
    }
    if (status == -EAGAIN)
        return attach_fail(status,
                           "a thread of process %d is still in the middle of an event of the last "
                           "recording: try again",
                           (int)host->pid);
    return status;
}

int attach_forget(pid_t pid)
{
    struct host host;
    int status = host_open(&host, pid);
    if (status < 0)
        return status;
    status = host.library ? forget(&host) : 0;
    host_close(&host);
    return status;
}

/* ---- Beginning ---- */

static int fail_begin(pid_t pid, int status)
{
    switch (status) {
    case -EALREADY:
    case -EBUSY:
        return attach_fail(status, "process %d is being recorded already", (int)pid);
    case -EEXIST:
        return attach_fail(status,
                           "process %d was started with the recorder, and is or was recorded by that",
                           (int)pid);
    case -ECONNREFUSED:
        return attach_fail(status,
                           "the recorder in process %d did not reach its collector (no descriptor or "
                           "address space left there, ulimit -n, -v?)",
                           (int)pid);
    default:
        return attach_fail(status, "the recorder in process %d cannot begin: %s", (int)pid,
                           strerror(-status));
    }
}

/* What the library in the process says; -ESTALE: there is an earlier recording to be forgotten. */
static int begin_once(struct host *host, const char *library, const char *session, int *said)
{
    struct tracee thread;
    uintptr_t result = 0;
    int status = borrow(host, &thread);
    if (status < 0)
        return status;
    if (!host->library)
        status = load(host, &thread, library);
    if (status == 0)
        status = put_string(host, &thread, session);
    if (status == 0)
        status = call_ours(host, &thread, "tidemark_late_begin", tracee_scratch(&thread), &result);
    tracee_release(&thread);
    *said = (int)result;
    return status;
}

int attach_begin(pid_t pid, const char *library, const char *session)
{
    struct host host;
    int said, status = host_open(&host, pid);
    if (status < 0)
        return status;
    status = begin_once(&host, library, session, &said);
    if (status == 0 && said == -ESTALE) {
        status = forget(&host);
        if (status == 0)
            status = begin_once(&host, library, session, &said);
    }
    host_close(&host);
    if (status < 0)
        return status;
    return said < 0 ? fail_begin(pid, said) : 0;
}

/* ---- Ending ---- */

static uintptr_t safe_word; /* of the recording that was ended last */

int attach_end(pid_t pid)
{
    struct host host;
    struct tracee thread;
    int status = host_open(&host, pid);
    safe_word = 0;
    if (status < 0)
        return status;
    if (!host.library)
        return fail_host(&host, -ENODATA, "is not being recorded");
    status = borrow(&host, &thread);
    if (status == 0) {
        status = call_ours(&host, &thread, "tidemark_late_end", 0, &safe_word);
        tracee_release(&thread);
    }
    host_close(&host);
    if (status == 0 && !safe_word)
        return attach_fail(-ENODATA,
                           "process %d is not being recorded by an attachment that could be ended",
                           (int)pid);
    return status;
}

int attach_wait_safe(pid_t pid)
{
    enum { SAFE_MS = 600000 };
    uint32_t state = 0;
    for (uint64_t since = now_ms(); now_ms() - since < SAFE_MS; nap_ms(10)) {
        if (memory_read(pid, safe_word, &state, sizeof state) < 0)
            return 0; /* it has ended, and its collector sees to the rest */
        if (state == WIRE_SESSION_SAFE)
            return 0;
    }
    return attach_fail(-ETIMEDOUT, "the collector of process %d has not completed the profile",
                       (int)pid);
}

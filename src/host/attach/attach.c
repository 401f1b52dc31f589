/* Loads libtidemark.so into a running process and calls functions there (attach.h). It tries each
 * thread until one stands at a safe place, borrows that thread by ptrace, and calls dlopen() and
 * the recorder's functions in it. */
#include "attach/attach.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/now.h"
#include "attach/target_memory.h"
#include "attach/permission.h"
#include "attach/safe_place.h"
#include "attach/target.h"
#include "attach/tracee.h"
#include "wire/wire.h"

enum { PATIENCE_MS = 30000, LIBC_DLOPEN_MODE = 0x80000000 };

static uint64_t attach_now_ms(void)
{
    return now_monotonic_ns() / 1000000;
}

static void attach_nap_ms(unsigned ms)
{
    struct timespec time = {0, (long)ms * 1000000};
    nanosleep(&time, NULL);
}

/* ---- The process ---- */

/* The auxiliary vector of the program that the process executes. Another program has other
 * addresses in it, so the vector tells whether the process has executed another one. */
struct image {
    char auxiliary[1024];
    size_t bytes;
};

static void attach_see_image(pid_t pid, struct image *image)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *file = fopen(path, "re");
    image->bytes = file ? fread(image->auxiliary, 1, sizeof image->auxiliary, file) : 0;
    if (file)
        fclose(file);
}

struct host {
    pid_t pid;
    struct target target;
    const struct target_module *libc, *library; /* library NULL: not loaded yet */
    struct place place;
    struct target_gadgets gadgets;
    uintptr_t locate_errno;
    struct image image;
};

static void attach_host_close(struct host *host)
{
    target_close(&host->target);
}

/* Call it while a thread is stopped: the process may have executed another program before. */
static bool attach_is_same_image(const struct host *host)
{
    struct image now;
    attach_see_image(host->pid, &now);
    return now.bytes == host->image.bytes &&
           !memcmp(now.auxiliary, host->image.auxiliary, now.bytes);
}

/* Returns -ESTALE instead of `status` if the process has executed another program meanwhile,
 * because the findings are of two programs then. */
static int attach_fail_host(struct host *host, int status, const char *sentence)
{
    if (!attach_is_same_image(host))
        status = -ESTALE;
    attach_host_close(host);
    return error_set(status, "process %d %s", (int)host->pid, sentence);
}

static bool attach_executable_has_malloc(const struct host *host)
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

/* Whether the program is still being started: modules can be read, but the loader has not mapped
 * the C library yet. Within execve() there are no modules. */
static bool attach_is_starting(const struct host *host)
{
    for (size_t i = 0; i < host->target.count; i++)
        if (host->target.modules[i].symbols)
            return true;
    return !host->target.count;
}

static int attach_host_read(struct host *host, pid_t pid)
{
    *host = (struct host){.pid = pid};
    attach_see_image(pid, &host->image);
    int status = target_open(&host->target, pid);
    if (status < 0)
        return error_set(status, "cannot read the memory map of process %d: %s", (int)pid,
                         strerror(-status));
    target_find(&host->target, "gnu_get_libc_version", &host->libc);
    if (!host->libc) { /* or its memory cannot be read */
        status = attach_is_starting(host) ? -ESTALE : -EPERM;
        return attach_fail_host(host, status,
                                "cannot be looked into, or has no glibc: be its user, or root");
    }
    bool known = target_find_gadgets(&host->target, host->libc, &host->gadgets);
    host->locate_errno = target_find_in(&host->target, host->libc, "__errno_location").address;
    host->library = target_module_called(&host->target, "libtidemark.so");
    if (!known)
        return attach_fail_host(host, -ENOSYS, "has a C library that is not known");
    if (attach_executable_has_malloc(host))
        return attach_fail_host(
            host, -ENOTSUP,
            "has an allocator in its executable, whose calls cannot be seen from outside "
            "of it");
    place_open(&host->place, &host->target, host->libc);
    return 0;
}

static int attach_host_open(struct host *host, pid_t pid)
{
    enum { STARTING_MS = 5000 };
    int status = -ESTALE;
    for (uint64_t since = attach_now_ms();
         status == -ESTALE && attach_now_ms() - since < STARTING_MS;) {
        status = attach_host_read(host, pid);
        if (status == -ESTALE)
            attach_nap_ms(2);
    }
    return status;
}

/* ---- Threads ---- */

static int attach_list_threads(pid_t pid, pid_t **tids, size_t *count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    size_t room = 0;
    *tids = NULL;
    *count = 0;
    if (!directory)
        return -ESRCH;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!array_make_bare_room(tids, &room, *count, sizeof **tids))
            break;
        (*tids)[(*count)++] = (pid_t)atoi(entry->d_name);
    }
    closedir(directory);
    return *count ? 0 : -ESRCH;
}

/* The kernel returns EPERM for a thread that is ending, and for one that has a tracer, too. */
static int attach_seize(struct tracee *thread, pid_t pid, pid_t tid)
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

/* -EAGAIN: not now; -ESTALE: the process has executed another program than the one that was
 * read. */
static int attach_borrow_stopped(const struct host *host, struct tracee *thread)
{
    if (!attach_is_same_image(host))
        return -ESTALE;
    if (!place_is_safe(&host->place, thread))
        return -EAGAIN;
    return tracee_borrow(thread, &host->gadgets, host->locate_errno);
}

static int attach_try_thread(const struct host *host, pid_t tid, struct tracee *thread)
{
    int status = attach_seize(thread, host->pid, tid);
    if (status < 0)
        return status;
    status = tracee_stop(thread);
    if (status == 0)
        status = attach_borrow_stopped(host, thread);
    if (status < 0)
        tracee_release(thread);
    return status;
}

/* Borrows one thread at a safe place; the kernel lists the first thread first. -EAGAIN: there is
 * none. */
static int attach_try_threads(const struct host *host, struct tracee *thread)
{
    enum { MOST = 64 };
    pid_t *tids;
    size_t count;
    int status = attach_list_threads(host->pid, &tids, &count), found = -EAGAIN;
    for (size_t i = 0; status == 0 && i < count && i < MOST && found == -EAGAIN; i++) {
        found = attach_try_thread(host, tids[i], thread);
        if (found == -ESRCH && i + 1 < count)
            found = -EAGAIN; /* it has ended, not the process */
    }
    free(tids);
    return status ? status : found;
}

static int attach_fail_borrow(pid_t pid, int status)
{
    switch (status) {
    case -EAGAIN:
        return error_set(status,
                         "no thread of process %d came to a place where a library can be loaded: "
                         "try again",
                         (int)pid);
    case -ESTALE:
        return error_set(status, "process %d executes one program after the other: try again",
                         (int)pid);
    case -ENOMEM:
    case -EFAULT:
        return error_set(status, "process %d has no memory for a stack: %s", (int)pid,
                         strerror(-status));
    default:
        return permission_refused(pid, status, PERMISSION_YAMA);
    }
}

static int attach_borrow(struct host *host, struct tracee *thread)
{
    int status = -EAGAIN;
    for (uint64_t since = attach_now_ms();
         (status == -EAGAIN || status == -ESTALE) && attach_now_ms() - since < PATIENCE_MS;) {
        status = attach_try_threads(host, thread);
        if (status == -EAGAIN)
            attach_nap_ms(2);
        if (status == -ESTALE) {
            attach_host_close(host);
            status = attach_host_open(host, host->pid);
            if (status < 0)
                return status;
            status = -ESTALE;
        }
    }
    return status < 0 ? attach_fail_borrow(host->pid, status) : 0;
}

/* ---- Calls ---- */

static int attach_call(const struct host *host, struct tracee *thread, uintptr_t function,
                       uintptr_t first, uintptr_t second, uintptr_t *result)
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {first, second};
    int status = tracee_call(thread, function, arguments, result);
    if (status == -ESRCH)
        return error_set(status, "process %d has ended", (int)host->pid);
    return status < 0 ? error_set(status, "a call in process %d went wrong, and was taken back",
                                  (int)host->pid)
                      : 0;
}

static int attach_call_ours(const struct host *host, struct tracee *thread, const char *name,
                            uintptr_t argument, uintptr_t *result)
{
    struct target_symbol function = target_find_in(&host->target, host->library, name);
    if (!function.address)
        return error_set(-ENOSYS, "process %d has another version of libtidemark.so loaded (%s)",
                         (int)host->pid, host->library->path);
    return attach_call(host, thread, function.address, argument, 0, result);
}

static int attach_put_string(const struct host *host, const struct tracee *thread, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (bytes > TRACEE_SCRATCH_BYTES)
        return error_set(-ENAMETOOLONG, "'%s' is too long a path", text);
    int status = memory_write(host->pid, tracee_scratch(thread), text, bytes);
    return status < 0 ? error_set(status, "cannot write to the memory of process %d: %s",
                                  (int)host->pid, strerror(-status))
                      : 0;
}

/* ---- Loading ---- */

static int attach_fail_loading(const struct host *host, struct tracee *thread, const char *path)
{
    char why[512] = "its dlopen() says no more";
    struct target_symbol dlerror_there = target_find_in(&host->target, host->libc, "dlerror");
    uintptr_t text = 0;
    if (dlerror_there.address &&
        attach_call(host, thread, dlerror_there.address, 0, 0, &text) == 0 && text)
        memory_read_string(host->pid, text, why, sizeof why);
    return error_set(-ELIBACC, "process %d cannot load %s: %s", (int)host->pid, path, why);
}

static int attach_load(struct host *host, struct tracee *thread, const char *path)
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
        return error_set(-ENOSYS, "process %d has no dlopen()", (int)host->pid);
    int status = attach_put_string(host, thread, path);
    if (status == 0)
        status = attach_call(host, thread, function.address, tracee_scratch(thread), mode, &handle);
    if (status == 0 && !handle)
        status = attach_fail_loading(host, thread, path);
    if (status < 0)
        return status;
    target_close(&host->target);
    status = target_open(&host->target, host->pid);
    host->library = target_module_called(&host->target, "libtidemark.so");
    target_find(&host->target, "gnu_get_libc_version", &host->libc);
    return host->library && host->libc
               ? 0
               : error_set(-ELIBACC, "process %d has loaded %s, and yet it is not there",
                           (int)host->pid, path);
}

/* ---- Forgetting: everything stands still ---- */

struct standstill {
    struct tracee *threads;
    size_t count, room;
};

static bool attach_holds(const struct standstill *all, pid_t tid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->threads[i].tid == tid)
            return true;
    return false;
}

/* 1: it is stopped; 0: it has ended (/proc may list it for long); or -errno. */
static int attach_stop_another(struct standstill *all, pid_t pid, pid_t tid)
{
    if (!array_make_bare_room(&all->threads, &all->room, all->count, sizeof *all->threads))
        return -ENOMEM;
    int status = attach_seize(&all->threads[all->count], pid, tid);
    if (status == 0)
        status = tracee_stop(&all->threads[all->count++]);
    return status == 0 ? 1 : status == -ESRCH ? 0 : status;
}

/* Stops threads until none runs, because running threads may make new ones. */
static int attach_stop_all(struct standstill *all, pid_t pid)
{
    for (bool more = true; more;) {
        pid_t *tids;
        size_t count;
        int status = attach_list_threads(pid, &tids, &count);
        more = false;
        for (size_t i = 0; status == 0 && i < count; i++) {
            if (i < all->count && all->threads[i].tid == tids[i])
                continue;
            if (attach_holds(all, tids[i]))
                continue;
            status = attach_stop_another(all, pid, tids[i]);
            more |= status > 0;
            status = status > 0 ? 0 : status;
        }
        free(tids);
        if (status < 0)
            return status;
    }
    return 0;
}

static void attach_release_all(struct standstill *all)
{
    for (size_t i = all->count; i-- > 0;)
        tracee_release(&all->threads[i]);
    free(all->threads);
    *all = (struct standstill){0};
}

static struct tracee *attach_one_that_stands(const struct host *host, const struct standstill *all)
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
static int attach_forget_once(const struct host *host)
{
    struct standstill all = {0};
    uintptr_t result = (uintptr_t)-EAGAIN;
    int status = attach_stop_all(&all, host->pid);
    if (status < 0) {
        attach_release_all(&all);
        return permission_refused(host->pid, status, PERMISSION_YAMA);
    }
    if (!attach_is_same_image(host)) { /* the new program has nothing to forget */
        attach_release_all(&all);
        return 0;
    }
    struct tracee *thread = attach_one_that_stands(host, &all);
    if (thread)
        status = tracee_borrow(thread, &host->gadgets, host->locate_errno);
    if (thread && status == 0)
        status = attach_call_ours(host, thread, "tidemark_late_renew", 0, &result);
    attach_release_all(&all);
    return status < 0 ? status : (int)result;
}

static int attach_forget_within_patience(const struct host *host)
{
    int status = -EAGAIN;
    for (uint64_t since = attach_now_ms();
         status == -EAGAIN && attach_now_ms() - since < PATIENCE_MS;) {
        status = attach_forget_once(host);
        if (status == -EAGAIN)
            attach_nap_ms(5);
    }
    if (status == -EAGAIN)
        return error_set(status,
                         "a thread of process %d is still in the middle of an event of the last "
                         "recording: try again",
                         (int)host->pid);
    return status;
}

int attach_forget(pid_t pid)
{
    struct host host;
    int status = attach_host_open(&host, pid);
    if (status < 0)
        return status;
    status = host.library ? attach_forget_within_patience(&host) : 0;
    attach_host_close(&host);
    return status;
}

/* ---- Beginning ---- */

static int attach_fail_begin(pid_t pid, int status)
{
    switch (status) {
    case -EALREADY:
    case -EBUSY:
        return error_set(status, "process %d is being recorded already", (int)pid);
    case -EEXIST:
        return error_set(status,
                         "process %d was started with the recorder, and is or was recorded by that",
                         (int)pid);
    case -ECONNREFUSED:
        return error_set(status,
                         "the recorder in process %d did not reach its collector (no descriptor or "
                         "address space left there, ulimit -n, -v?)",
                         (int)pid);
    default:
        return error_set(status, "the recorder in process %d cannot begin: %s", (int)pid,
                         strerror(-status));
    }
}

/* *said: the library's answer; -ESTALE: it has an earlier recording that must be forgotten
 * first. */
static int attach_begin_once(struct host *host, const char *library, const char *session, int *said)
{
    struct tracee thread;
    uintptr_t result = 0;
    int status = attach_borrow(host, &thread);
    if (status < 0)
        return status;
    if (!host->library)
        status = attach_load(host, &thread, library);
    if (status == 0)
        status = attach_put_string(host, &thread, session);
    if (status == 0)
        status = attach_call_ours(host, &thread, "tidemark_late_begin", tracee_scratch(&thread),
                                  &result);
    tracee_release(&thread);
    *said = (int)result;
    return status;
}

int attach_begin(pid_t pid, const char *library, const char *session)
{
    struct host host;
    int said, status = attach_host_open(&host, pid);
    if (status < 0)
        return status;
    status = attach_begin_once(&host, library, session, &said);
    if (status == 0 && said == -ESTALE) {
        status = attach_forget_within_patience(&host);
        if (status == 0)
            status = attach_begin_once(&host, library, session, &said);
    }
    attach_host_close(&host);
    if (status < 0)
        return status;
    return said < 0 ? attach_fail_begin(pid, said) : 0;
}

/* ---- Ending ---- */

static uintptr_t
    attach_safe_word; /* its address in the process; of the recording that was ended last */

int attach_end(pid_t pid)
{
    struct host host;
    struct tracee thread;
    int status = attach_host_open(&host, pid);
    attach_safe_word = 0;
    if (status < 0)
        return status;
    if (!host.library)
        return attach_fail_host(&host, -ENODATA, "is not being recorded");
    status = attach_borrow(&host, &thread);
    if (status == 0) {
        status = attach_call_ours(&host, &thread, "tidemark_late_end", 0, &attach_safe_word);
        tracee_release(&thread);
    }
    attach_host_close(&host);
    if (status == 0 && !attach_safe_word)
        return error_set(-ENODATA,
                         "process %d is not being recorded by an attachment that could be ended",
                         (int)pid);
    return status;
}

int attach_wait_safe(pid_t pid)
{
    enum { SAFE_MS = 600000 };
    uint32_t state = 0;
    for (uint64_t since = attach_now_ms(); attach_now_ms() - since < SAFE_MS; attach_nap_ms(10)) {
        if (memory_read(pid, attach_safe_word, &state, sizeof state) < 0)
            return 0; /* it has ended, and its collector completes the profile */
        if (state == WIRE_SESSION_SAFE)
            return 0;
    }
    return error_set(-ETIMEDOUT, "the collector of process %d has not completed the profile",
                     (int)pid);
}

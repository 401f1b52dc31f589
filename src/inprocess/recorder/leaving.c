/* Finds out what ld.so will do: is our library in the environment's LD_PRELOAD, and what happens to
 * it in that program (leaving.h, executed.h)? If another list has replaced ours, we are put in
 * front of it, as `record` would do. Programs are counted in the shared header. The child of a fork
 * that has recorded nothing yet has no header, and sends its count to the collector. */
#include "recorder/leaving.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ticks.h"
#include "interpose/preloads.h"
#include "recorder/executed.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "unwind/caller_memory.h"
#include "unwind/permitted_calls.h"

/* ---- The file ---- */

static const char *leaving_search_path(void)
{
    static const char variable[] = "PATH=";
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, variable, sizeof variable - 1) == 0)
            return *entry + sizeof variable - 1;
    return "/bin:/usr/bin";
}

/* Each may be empty, the first one too: it is the current directory. */
static const char *leaving_next_directory(const char *list)
{
    const char *end = strchr(list, ':');
    return end ? end + 1 : NULL;
}

static size_t leaving_longest_directory(const char *list)
{
    size_t longest = 0;
    for (; list; list = leaving_next_directory(list)) {
        size_t bytes = strcspn(list, ":");
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/* Searches as execvp() does. A program that is not found, or whose name cannot be read, fails
 * there. The path is as long as it must be, because a signal handler's stack may be small. */
static enum executed leaving_look_for(const char *name)
{
    if (!caller_memory_has_text(name) || !caller_memory_has_texts(environ))
        return EXECUTED_LOADS_US;
    if (strchr(name, '/'))
        return executed_look_at(name);
    const char *list = leaving_search_path();
    size_t name_bytes = strlen(name) + 1, room = leaving_longest_directory(list) + 1 + name_bytes;
    room = room < PATH_MAX ? room : PATH_MAX;
    char *path = __builtin_alloca(room);
    for (; list; list = leaving_next_directory(list)) {
        size_t bytes = strcspn(list, ":");
        if (bytes + 1 + name_bytes > room)
            continue;
        memcpy(path, list, bytes);
        path[bytes] = '/';
        memcpy(path + bytes + (bytes > 0), name, name_bytes);
        if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
            return executed_look_at(path);
    }
    return EXECUTED_LOADS_US;
}

/* ---- Counting ---- */

static void leaving_count(enum wire_unfollowed kind, int difference)
{
    struct wire_header *header = session_is_on() ? shared_header() : NULL;
    if (header)
        atomic_fetch_add_explicit(&header->unfollowed[kind], (uint32_t)difference,
                                  memory_order_relaxed);
    else
        session_say_unfollowed(kind, difference);
}

static enum wire_unfollowed leaving_kind_of(enum executed executed)
{
    static const enum wire_unfollowed kinds[] = {
        [EXECUTED_LOADS_US] = WIRE_FOLLOWED,
        [EXECUTED_PRIVILEGED] = WIRE_UNFOLLOWED_PRIVILEGED,
        [EXECUTED_STATIC] = WIRE_UNFOLLOWED_UNLOADABLE,
        [EXECUTED_HARMED] = WIRE_UNFOLLOWED_UNLOADABLE,
    };
    return kinds[executed];
}

static bool leaving_may_look(void)
{
    return !permitted_calls_is_forbidden(CALL_LIMITS);
}

static bool leaving_names_session(char *const *environment)
{
    return exec_environment_names(environment, WIRE_SESSION_VARIABLE "=");
}

/* If the environment still names the session, only LD_PRELOAD was changed. */
static enum wire_unfollowed leaving_kind_without_us(char *const *environment)
{
    return leaving_names_session(environment) ? WIRE_UNFOLLOWED_PRELOAD
                                              : WIRE_UNFOLLOWED_ENVIRONMENT;
}

/* May we be put in front of this list? Yes if the program preloads other libraries instead of ours.
 * A program that preloads nothing wants that, and one that makes a new environment wants nothing
 * else in it. */
static bool leaving_can_join(const struct leaving *leaving, const char *preload)
{
    return preloads_are_kept() && !preloads_has(preload, wire_is_recorder_name) &&
           !preloads_is_empty(preload) && leaving_names_session(leaving->environment.callers);
}

/* The loader complains of a library that it cannot open: the process has another root (chroot), or
 * has become a user who may not read it. */
static bool leaving_hides_us(const char *preload)
{
    char path[512];
    if (!leaving_may_look() || !preloads_path(path, sizeof path, preload, wire_is_recorder_name))
        return false;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file >= 0)
        syscall(SYS_close, file);
    return file < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
}

static void leaving_see(struct leaving *leaving, enum executed executed, char *const *preload)
{
    bool has_us = preload && preloads_has(*preload, wire_is_recorder_name);
    bool hides_us = has_us && executed == EXECUTED_LOADS_US && leaving_hides_us(*preload);
    if (preload && !has_us && preloads_has(*preload, preloads_is_sanitizer))
        executed = EXECUTED_HARMED;
    bool is_harmed = executed == EXECUTED_HARMED;
    struct exec_environment *environment = &leaving->environment;
    environment->joins = preload && !is_harmed && leaving_can_join(leaving, *preload);
    if (environment->joins || hides_us || (has_us && is_harmed))
        environment->preload = preload;
    if (hides_us)
        leaving->kind = WIRE_UNFOLLOWED_HIDDEN;
    else
        leaving->kind = has_us || environment->joins || is_harmed
                            ? leaving_kind_of(executed)
                            : leaving_kind_without_us(environment->callers);
}

struct leaving leaving_begin(const char *file, bool search, char *const *environment)
{
    int saved_errno = errno;
    struct leaving leaving = {.kind = WIRE_FOLLOWED};
    leaving.environment = (struct exec_environment){
        .callers = environment,
        .is_ours = wire_is_recorder_name,
        .variables = WIRE_SESSION_VARIABLE "=",
        .may_map = !permitted_calls_is_forbidden(CALL_MAP),
        .may_ask = !permitted_calls_is_forbidden(CALL_MAP | CALL_PID | CALL_JOIN),
    };
    enum executed executed = EXECUTED_LOADS_US; /* also if nothing is known of it */
    leaving.is_readable = caller_memory_has_texts(environment);
    if (!leaving.is_readable)
        return leaving; /* the kernel refuses it */
    if (file && leaving_may_look())
        executed = search ? leaving_look_for(file) : executed_look_at(file);
    leaving_see(&leaving, executed, preloads_entry(environment));
    if (!session_follows())
        leaving.kind = WIRE_FOLLOWED;
    else if (leaving.kind != WIRE_FOLLOWED)
        leaving_count(leaving.kind, 1);
    errno = saved_errno;
    return leaving;
}

struct leaving leaving_begin_open(int file, char *const *environment)
{
    char path[sizeof "/proc/self/fd/" + 10], digits[10];
    char *to = stpcpy(path, "/proc/self/fd/");
    int count = 0;
    for (unsigned left = (unsigned)file; left || !count; left /= 10)
        digits[count++] = (char)('0' + left % 10);
    while (count)
        *to++ = digits[--count];
    *to = '\0';
    return leaving_begin(path, false, environment);
}

/* From now on the program is counted as `kind`. */
static void leaving_counts_as(struct leaving *leaving, enum wire_unfollowed kind)
{
    int saved_errno = errno;
    if (leaving->kind != WIRE_FOLLOWED)
        leaving_count(leaving->kind, -1);
    leaving->kind = session_follows() ? kind : WIRE_FOLLOWED;
    if (leaving->kind != WIRE_FOLLOWED)
        leaving_count(leaving->kind, 1);
    errno = saved_errno;
}

/* With the caller's environment. */
static void leaving_goes_without(struct leaving *leaving)
{
    leaving->environment.joins = false;
    leaving->environment.preload = NULL;
    leaving_counts_as(leaving, leaving_kind_without_us(leaving->environment.callers));
}

struct leaving leaving_begin_shell(void)
{
    struct leaving leaving = leaving_begin("/bin/sh", false, environ);
    if (leaving.environment.joins)
        leaving_goes_without(&leaving);
    return leaving;
}

bool leaving_was_too_long(struct leaving *leaving, int error)
{
    struct exec_environment *environment = &leaving->environment;
    if (error != E2BIG || environment->forgets || !leaving->is_readable)
        return false;
    if (environment->joins)
        leaving_goes_without(leaving);
    else if (exec_environment_forgets(environment))
        leaving_counts_as(leaving, WIRE_UNFOLLOWED_ENVIRONMENT);
    else
        return false;
    return true;
}

void leaving_executes(struct leaving *leaving)
{
    int saved_errno = errno;
    leaving->executes = session_is_own_process();
    if (leaving->executes)
        atomic_store(&shared_header()->executed_ticks, ticks_now());
    errno = saved_errno;
}

void leaving_failed(struct leaving *leaving)
{
    int saved_errno = errno;
    exec_environment_unmap(&leaving->environment);
    if (leaving->executes && session_is_on())
        atomic_store(&shared_header()->executed_ticks, 0);
    if (leaving->kind != WIRE_FOLLOWED)
        leaving_count(leaving->kind, -1);
    errno = saved_errno;
}

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

/* Searches as execvp() does. A program that is not found fails there. */
static enum executed leaving_look_for(const char *name)
{
    char path[PATH_MAX];
    size_t name_bytes = strlen(name) + 1;
    if (strchr(name, '/'))
        return executed_look_at(name);
    for (const char *list = leaving_search_path(); list; list = strchr(list, ':')) {
        list += *list == ':';
        size_t bytes = strcspn(list, ":");
        if (bytes + 1 + name_bytes > sizeof path)
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
    static const char variable[] = WIRE_SESSION_VARIABLE "=";
    for (; environment && *environment; environment++)
        if (strncmp(*environment, variable, sizeof variable - 1) == 0)
            return true;
    return false;
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
           !preloads_is_empty(preload) && leaving_names_session(leaving->environment);
}

static void leaving_see(struct leaving *leaving, enum executed executed, char *const *preload)
{
    bool has_us = preload && preloads_has(*preload, wire_is_recorder_name);
    if (preload && !has_us && preloads_has(*preload, preloads_is_sanitizer))
        executed = EXECUTED_HARMED;
    bool is_harmed = executed == EXECUTED_HARMED;
    leaving->joins = preload && !is_harmed && leaving_can_join(leaving, *preload);
    if (leaving->joins || (has_us && is_harmed))
        leaving->preload = preload;
    leaving->kind = has_us || leaving->joins || is_harmed
                        ? leaving_kind_of(executed)
                        : leaving_kind_without_us(leaving->environment);
}

struct leaving leaving_begin(const char *file, bool search, char *const *environment)
{
    int saved_errno = errno;
    struct leaving leaving = {WIRE_FOLLOWED, environment, NULL, false, false};
    enum executed executed = EXECUTED_LOADS_US; /* also if nothing is known of it */
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

static void leaving_goes_without(struct leaving *leaving)
{
    int saved_errno = errno;
    leaving_failed(leaving); /* takes back its count */
    leaving->joins = false;
    leaving->preload = NULL;
    leaving->kind =
        session_follows() ? leaving_kind_without_us(leaving->environment) : WIRE_FOLLOWED;
    if (leaving->kind != WIRE_FOLLOWED)
        leaving_count(leaving->kind, 1);
    if (leaving->executes)
        leaving_executes(leaving);
    errno = saved_errno;
}

struct leaving leaving_begin_shell(void)
{
    struct leaving leaving = leaving_begin("/bin/sh", false, environ);
    if (leaving.joins)
        leaving_goes_without(&leaving);
    return leaving;
}

bool leaving_was_too_long(struct leaving *leaving, int error)
{
    if (!leaving->joins || error != E2BIG)
        return false;
    leaving_goes_without(leaving);
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

void leaving_failed(const struct leaving *leaving)
{
    int saved_errno = errno;
    if (leaving->executes && session_is_on())
        atomic_store(&shared_header()->executed_ticks, 0);
    if (leaving->kind != WIRE_FOLLOWED)
        leaving_count(leaving->kind, -1);
    errno = saved_errno;
}

/* ---- Another environment ---- */

static size_t leaving_variables(const struct leaving *leaving)
{
    size_t count = 0;
    while (leaving->environment[count])
        count++;
    return count;
}

size_t leaving_copy_bytes(const struct leaving *leaving)
{
    return (leaving_variables(leaving) + 1) * sizeof(char *) + strlen(*leaving->preload) + 1 +
           preloads_kept_bytes();
}

char *const *leaving_copy(const struct leaving *leaving, void *to)
{
    size_t count = leaving_variables(leaving), copied = 0;
    char **made = to, *preload = (char *)(made + count + 1);
    bool is_left =
        leaving->joins || preloads_copy_others(preload, *leaving->preload, wire_is_recorder_name);
    if (leaving->joins)
        preloads_copy_behind_kept(preload, *leaving->preload);
    for (char *const *from = leaving->environment; *from; from++) {
        if (from != leaving->preload)
            made[copied++] = *from;
        else if (is_left)
            made[copied++] = preload;
    }
    made[copied] = NULL;
    return made;
}

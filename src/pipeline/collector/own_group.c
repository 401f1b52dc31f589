/* Moves this process by cgroup.procs of a group around the limited one (own_group.h). The groups of
 * a path are its prefixes. Which of them limit is asked from the outermost to the innermost. */
#include "collector/own_group.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/memory.h"
#include "procfs/cgroup.h"
#include "procfs/process.h"

#define LOOK_NS      3000000u
#define LOOK_NEAR_NS 1000000u /* while less than SHORT_PART is left */
/* Recording ends when we have an eighth of the limit, and less than an eighth or less than twice
 * what we have is left: a full table is copied into one of twice the size. Where our memory does
 * not grow (memory_bound.h), a 24th takes the place of the eighth. */
enum { SHORT_PART = 8, SHORT_BOUNDED_PART = 24 };

static struct {
    pthread_mutex_t lock;
    _Atomic bool shared;       /* a group that limits memory is ours and the program's */
    struct cgroup_place place; /* its path is the group's */
    uint64_t next_ns;
    _Atomic bool is_short;
    pid_t companion; /* a process of ours that leaves with us; 0: none */
} own_group = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *own_group_limit_file(const char *controller, const struct cgroup_place *place)
{
    return strcmp(controller, "pids") == 0 ? "pids.max" : cgroup_limit_file(place);
}

/* Whether `group` is the group of `path` or contains it. */
static bool own_group_holds(const char *group, const char *path)
{
    size_t length = strlen(group);
    return strncmp(group, path, length) == 0 && (!path[length] || path[length] == '/');
}

static bool own_group_write_pid(int fd, pid_t pid)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%d\n", (int)pid);
    return write(fd, text, (size_t)length) == length;
}

void own_group_take_along(pid_t companion)
{
    own_group.companion = companion;
}

/* Into the group around `group`; false: there is none that we see, or we may not. */
static bool own_group_move_above(const struct cgroup_place *place, const char *group)
{
    char procs[2 * PATH_MAX + 16];
    const char *slash = strrchr(group, '/');
    if (!slash)
        return false;
    snprintf(procs, sizeof procs, "%s%.*s/cgroup.procs", place->mount, (int)(slash - group), group);
    int fd = open(procs, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool moved = own_group_write_pid(fd, getpid()) &&
                 (!own_group.companion || own_group_write_pid(fd, own_group.companion));
    close(fd);
    return moved;
}

/* Steps from `group`, a prefix of the place's path, to the next group inwards; false: it was the
 * last. */
static bool own_group_step_in(const struct cgroup_place *place, char group[PATH_MAX])
{
    size_t length = strlen(group);
    if (!place->path[length])
        return false;
    size_t more = 1 + strcspn(place->path + length + 1, "/");
    memcpy(group + length, place->path + length, more);
    group[length + more] = '\0';
    return true;
}

/* Too large for a stack of 64 KiB (ulimit -s). */
struct own_group_leaving {
    struct cgroup_place theirs, ours;
    char group[PATH_MAX], limiting[PATH_MAX];
    bool is_limited; /* by `limiting`, which cannot be left */
};

/* Leaves the outermost group with a limit, and with it all limits. If that is not permitted, leaves
 * the next one inwards. */
static void own_group_leave_for(const char *controller, pid_t program,
                                struct own_group_leaving *leaving)
{
    const struct cgroup_place *theirs = &leaving->theirs;
    leaving->is_limited = false;
    if (cgroup_locate_for(program, controller, &leaving->theirs) < 0 ||
        cgroup_locate_for(getpid(), controller, &leaving->ours) < 0 ||
        theirs->version != leaving->ours.version || strcmp(theirs->mount, leaving->ours.mount) != 0)
        return;
    const char *file = own_group_limit_file(controller, theirs);
    leaving->group[0] = '\0';
    do {
        if (!own_group_holds(leaving->group, leaving->ours.path) ||
            !cgroup_is_limited(cgroup_read_number(theirs, leaving->group, file)))
            continue;
        if (own_group_move_above(theirs, leaving->group))
            return;
        leaving->is_limited = true;
        memcpy(leaving->limiting, leaving->group, sizeof leaving->group);
    } while (own_group_step_in(theirs, leaving->group));
}

void own_group_leave(pid_t program)
{
    struct own_group_leaving *leaving = memory_zeroed(1, sizeof *leaving);
    own_group_leave_for("pids", program, leaving);
    own_group_leave_for("memory", program, leaving);
    pthread_mutex_lock(&own_group.lock);
    own_group.place = leaving->theirs;
    memcpy(own_group.place.path, leaving->limiting, sizeof leaving->limiting);
    own_group.shared = leaving->is_limited; /* after its place */
    pthread_mutex_unlock(&own_group.lock);
    free(leaving);
}

/* Of the group that is shared. */
static struct figure own_group_limit(void)
{
    const struct cgroup_place *place = &own_group.place;
    return cgroup_read_number(place, place->path, cgroup_limit_file(place));
}

static bool own_group_look(bool bounded, bool *near)
{
    struct process_meter meter = {getpid(), -1};
    struct process_memory ours;
    uint64_t limit, left;
    if (!figure_get(own_group_limit(), &limit) || process_meter_read(&meter, &ours) < 0 ||
        !figure_get(cgroup_left_bytes(&own_group.place, own_group.place.path), &left))
        return false;
    *near = left < limit / SHORT_PART;
    if (bounded)
        return ours.resident_bytes > limit / SHORT_BOUNDED_PART &&
               left < limit / SHORT_BOUNDED_PART;
    return ours.resident_bytes > limit / SHORT_PART &&
           (left < limit / SHORT_PART || left < 2 * ours.resident_bytes);
}

/* Threads that take events ask this, so none of them waits for the lock: while one thread reads the
 * group, the others get the last answer. */
bool own_group_is_short(uint64_t now_ns, bool bounded)
{
    if (!own_group.shared || pthread_mutex_trylock(&own_group.lock) != 0)
        return own_group.is_short;
    if (!own_group.is_short && now_ns >= own_group.next_ns) {
        bool near = false;
        own_group.is_short = own_group_look(bounded, &near);
        own_group.next_ns = now_ns + (near ? LOOK_NEAR_NS : LOOK_NS);
    }
    pthread_mutex_unlock(&own_group.lock);
    return own_group.is_short;
}

uint64_t own_group_limit_bytes(void)
{
    if (!own_group.shared)
        return 0;
    pthread_mutex_lock(&own_group.lock);
    uint64_t limit = figure_or(own_group_limit(), 0);
    pthread_mutex_unlock(&own_group.lock);
    return limit;
}

bool own_group_has_room(uint64_t bytes)
{
    uint64_t left;
    if (!own_group.shared)
        return true;
    pthread_mutex_lock(&own_group.lock);
    const struct cgroup_place *place = &own_group.place;
    bool has_room = !figure_get(cgroup_left_bytes(place, place->path), &left) || left / 2 > bytes;
    pthread_mutex_unlock(&own_group.lock);
    return has_room;
}

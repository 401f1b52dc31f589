/* Keeps the last reading of a control group, by the text of /proc/PID/cgroup, and of the machine
 * (cgroup_recent.h). Readers take copies under one lock. */
#include "procfs/cgroup_recent.h"

#include <pthread.h>
#include <string.h>
#include "base/now.h"
#include "procfs/proc_file.h"

#define PLACE_NS       (100ull * CGROUP_RECENT_NS)
#define MAX_TEXT_BYTES (1u << 16)
#define RECENT_ASKED   16

static struct {
    pthread_mutex_t lock;
    struct strbuf group;                     /* of the process that asked: "" before the first */
    uint64_t placed_ns, read_ns, machine_ns; /* 0: never */
    struct cgroup_memory memory;
    struct cgroup_machine machine;
    /* Who was in `group` when he was last asked: the last few. */
    struct cgroup_recent_asked {
        pid_t pid;
        uint64_t at_ns;
    } asked[RECENT_ASKED];
    unsigned next;
} recent = {.lock = PTHREAD_MUTEX_INITIALIZER, .group = STRBUF_INIT};

static bool cgroup_recent_is_old(uint64_t read_ns, uint64_t now_ns, uint64_t most_ns)
{
    return !read_ns || now_ns - read_ns > most_ns;
}

static int cgroup_recent_place(pid_t pid, const struct strbuf *group, uint64_t now_ns)
{
    if (strcmp(recent.group.data, group->data) == 0 &&
        !cgroup_recent_is_old(recent.placed_ns, now_ns, PLACE_NS))
        return 0;
    struct cgroup_place place;
    int error = cgroup_locate(pid, &place);
    if (error)
        return error;
    recent.memory.place = place;
    recent.placed_ns = now_ns;
    recent.read_ns = 0;
    memset(recent.asked, 0, sizeof recent.asked);
    strbuf_reset(&recent.group);
    strbuf_add(&recent.group, group->data, group->length);
    return 0;
}

static int cgroup_recent_read_locked(pid_t pid, const struct strbuf *group)
{
    uint64_t now_ns = now_monotonic_ns();
    int error = cgroup_recent_place(pid, group, now_ns);
    if (error || !cgroup_recent_is_old(recent.read_ns, now_ns, CGROUP_RECENT_NS))
        return error;
    struct cgroup_place place = recent.memory.place;
    error = cgroup_read_place(&place, &recent.memory);
    recent.read_ns = error ? 0 : now_ns;
    return error;
}

int cgroup_recent_read(pid_t pid, struct cgroup_memory *memory)
{
    struct strbuf group = STRBUF_INIT;
    int error = proc_read(pid, "cgroup", MAX_TEXT_BYTES, &group);
    if (!error) {
        pthread_mutex_lock(&recent.lock);
        error = cgroup_recent_read_locked(pid, &group);
        if (!error) {
            *memory = recent.memory;
            recent.asked[recent.next++ % RECENT_ASKED] =
                (struct cgroup_recent_asked){pid, now_monotonic_ns()};
        }
        pthread_mutex_unlock(&recent.lock);
    }
    strbuf_release(&group);
    return error;
}

static bool cgroup_recent_knows(pid_t pid, uint64_t now_ns)
{
    for (unsigned i = 0; i < RECENT_ASKED; i++)
        if (recent.asked[i].pid == pid && now_ns - recent.asked[i].at_ns < CGROUP_RECENT_NS)
            return !cgroup_recent_is_old(recent.read_ns, now_ns, CGROUP_RECENT_NS);
    return false;
}

int cgroup_recent_read_again(pid_t pid, struct cgroup_memory *memory)
{
    pthread_mutex_lock(&recent.lock);
    bool known = cgroup_recent_knows(pid, now_monotonic_ns());
    if (known)
        *memory = recent.memory;
    pthread_mutex_unlock(&recent.lock);
    return known ? 0 : cgroup_recent_read(pid, memory);
}

int cgroup_recent_machine_read(struct cgroup_machine *machine)
{
    uint64_t now_ns = now_monotonic_ns();
    int error = 0;
    pthread_mutex_lock(&recent.lock);
    if (cgroup_recent_is_old(recent.machine_ns, now_ns, CGROUP_RECENT_NS)) {
        error = cgroup_machine_read(&recent.machine);
        recent.machine_ns = error ? 0 : now_ns;
    }
    *machine = recent.machine;
    pthread_mutex_unlock(&recent.lock);
    return error;
}

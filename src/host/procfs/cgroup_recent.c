/* Keeps the last reading of a control group, by the text of /proc/PID/cgroup, and of the machine
 * (cgroup_recent.h). Readers take copies under one lock. */
#include "procfs/cgroup_recent.h"

#include <errno.h>
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
    /* The last few processes that were found in `group`, and when. */
    struct cgroup_recent_asked {
        pid_t pid;
        uint64_t at_ns;
    } asked[RECENT_ASKED];
    unsigned next;
    bool is_reading, is_reading_machine;
} recent = {.lock = PTHREAD_MUTEX_INITIALIZER, .group = STRBUF_INIT};

static bool cgroup_recent_is_old(uint64_t read_ns, uint64_t now_ns, uint64_t most_ns)
{
    return !read_ns || now_ns - read_ns > most_ns;
}

static bool cgroup_recent_has_place(const struct strbuf *group, uint64_t now_ns)
{
    return recent.group.length == group->length && strcmp(recent.group.data, group->data) == 0 &&
           !cgroup_recent_is_old(recent.placed_ns, now_ns, PLACE_NS);
}

/* `placed_ns`: 0 where the place was known. If another thread has kept another group's reading
 * meanwhile, that one stays. */
static void cgroup_recent_keep(const struct strbuf *group, const struct cgroup_memory *memory,
                               uint64_t placed_ns, uint64_t read_ns)
{
    if (!placed_ns && !cgroup_recent_has_place(group, read_ns))
        return;
    if (placed_ns) {
        memset(recent.asked, 0, sizeof recent.asked);
        strbuf_reset(&recent.group);
        strbuf_add(&recent.group, group->data, group->length);
        recent.placed_ns = placed_ns;
    }
    recent.memory = *memory;
    recent.read_ns = read_ns;
}

/* With the lock, which is let go while files are read: a thread that comes meanwhile takes the last
 * reading of its group, however old, or makes one of its own if there is none. */
static int cgroup_recent_read_locked(pid_t pid, const struct strbuf *group,
                                     struct cgroup_memory *memory)
{
    uint64_t now_ns = now_monotonic_ns();
    bool has_place = cgroup_recent_has_place(group, now_ns);
    *memory = recent.memory;
    if (has_place && recent.read_ns &&
        (recent.is_reading || !cgroup_recent_is_old(recent.read_ns, now_ns, CGROUP_RECENT_NS)))
        return 0;
    recent.is_reading = true;
    pthread_mutex_unlock(&recent.lock);
    struct cgroup_place place = memory->place;
    int error = has_place ? 0 : cgroup_locate(pid, &place);
    if (!error)
        error = cgroup_read_place(&place, memory);
    pthread_mutex_lock(&recent.lock);
    recent.is_reading = false;
    if (!error)
        cgroup_recent_keep(group, memory, has_place ? 0 : now_ns, now_ns);
    return error;
}

static bool cgroup_recent_lock(enum cgroup_recent_patience patience)
{
    return patience == CGROUP_RECENT_WAITS ? pthread_mutex_lock(&recent.lock) == 0
                                           : pthread_mutex_trylock(&recent.lock) == 0;
}

int cgroup_recent_read(pid_t pid, struct cgroup_memory *memory,
                       enum cgroup_recent_patience patience)
{
    struct strbuf group = STRBUF_INIT;
    int error = proc_read(pid, "cgroup", MAX_TEXT_BYTES, &group);
    if (!error && !cgroup_recent_lock(patience))
        error = -EAGAIN;
    if (!error) {
        error = cgroup_recent_read_locked(pid, &group, memory);
        /* Another thread may have asked for another group meanwhile. */
        if (!error && cgroup_recent_has_place(&group, now_monotonic_ns()))
            recent.asked[recent.next++ % RECENT_ASKED] =
                (struct cgroup_recent_asked){pid, now_monotonic_ns()};
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

int cgroup_recent_read_again(pid_t pid, struct cgroup_memory *memory,
                             enum cgroup_recent_patience patience)
{
    if (!cgroup_recent_lock(patience))
        return -EAGAIN;
    bool known = cgroup_recent_knows(pid, now_monotonic_ns());
    if (known)
        *memory = recent.memory;
    pthread_mutex_unlock(&recent.lock);
    return known ? 0 : cgroup_recent_read(pid, memory, patience);
}

int cgroup_recent_machine_read(struct cgroup_machine *machine, enum cgroup_recent_patience patience)
{
    uint64_t now_ns = now_monotonic_ns();
    int error = 0;
    if (!cgroup_recent_lock(patience))
        return -EAGAIN;
    *machine = recent.machine;
    bool is_known = recent.machine_ns && recent.is_reading_machine;
    if (!is_known && cgroup_recent_is_old(recent.machine_ns, now_ns, CGROUP_RECENT_NS)) {
        recent.is_reading_machine = true;
        pthread_mutex_unlock(&recent.lock);
        error = cgroup_machine_read(machine);
        pthread_mutex_lock(&recent.lock);
        recent.is_reading_machine = false;
        recent.machine = *machine;
        recent.machine_ns = error ? 0 : now_ns;
    }
    pthread_mutex_unlock(&recent.lock);
    return error;
}

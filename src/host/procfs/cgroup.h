/* What memory a process may have: its control group's use and limits, pressure, and the machine's
 * memory. Both versions of control groups, and the hybrid of both: whichever has the memory
 * controller. A figure that the kernel does not give, or that lies outside our view (another
 * namespace, no mount), is unknown; such a pressure is NAN. "No limit" is CGROUP_UNLIMITED, which
 * is a known figure.
 *
 * Functions return 0 or -errno: -ESRCH for a process that is gone, -ENOENT if it has no control
 * group with a memory controller that we can see. Thread-safe. */
#ifndef TIDEMARK_PROCFS_CGROUP_H
#define TIDEMARK_PROCFS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/figure.h"

/* "No limit" is a limit above every use: the largest number that a figure holds. So the smallest of
 * several limits is figure_min() of them, and an unknown limit gives way to "no limit". */
#define CGROUP_UNLIMITED FIGURE_OF(FIGURE_MOST)

/* False: it is not known, or there is none. */
static inline bool cgroup_is_limited(struct figure limit_bytes)
{
    return figure_less(limit_bytes, CGROUP_UNLIMITED);
}

/* ---- Where --------------------------------------------------------------------------------- */

struct cgroup_place {
    int version;          /* 1 or 2 */
    char mount[PATH_MAX]; /* where the hierarchy is mounted: "/sys/fs/cgroup" */
    char path[PATH_MAX];  /* of the group below it: "/user.slice/x"; "" is the mount's top */
};

int cgroup_locate(pid_t pid, struct cgroup_place *place);
/* By another controller than memory: "pids". */
int cgroup_locate_for(pid_t pid, const char *controller, struct cgroup_place *place);
/* The same from the texts of /proc/PID/cgroup and /proc/self/mountinfo. */
int cgroup_locate_in(const char *cgroup, const char *mountinfo, const char *controller,
                     struct cgroup_place *place);

/* ---- What ---------------------------------------------------------------------------------- */

/* Shares of the time (percent) in which tasks waited for memory; total since boot or creation. */
struct cgroup_pressure {
    double some_avg10, some_avg60, some_avg300; /* at least one task waited */
    double full_avg10, full_avg60, full_avg300; /* all did */
    struct figure some_total_us, full_total_us;
};

struct cgroup_memory {
    struct cgroup_place place;
    struct figure current_bytes,
        peak_bytes; /* all its processes, page cache and kernel memory too */
    struct figure swap_bytes, swap_max_bytes;
    struct figure max_bytes, high_bytes; /* its own: above max it is killed, above high slowed */

    /* The smallest max (high) from it up to the top that we can see, and the group that has it: the
     * kernel acts when that group's use, which others share in, gets there. */
    struct figure limit_bytes, limit_current_bytes;
    char limit_path[PATH_MAX]; /* as `place.path`; "" also if there is no limit */
    struct figure tightest_high_bytes;

    struct figure high_events;     /* times it was slowed down */
    struct figure max_events;      /* times it ran into max */
    struct figure oom_events;      /* times memory could not be found */
    struct figure oom_kill_events; /* processes killed */
    struct cgroup_pressure pressure;
};

int cgroup_read(pid_t pid, struct cgroup_memory *memory);
/* A file of a group of the same hierarchy that holds one number, or "max". */
struct figure cgroup_read_number(const struct cgroup_place *place, const char *path,
                                 const char *file);
/* How much more the group `path` may have until the kernel kills, if it gives up what it can read
 * again from files. Unknown where there is no limit. */
struct figure cgroup_left_bytes(const struct cgroup_place *place, const char *path);
/* The name of the file with a group's own limit of memory. */
const char *cgroup_limit_file(const struct cgroup_place *place);
int cgroup_read_place(const struct cgroup_place *place, struct cgroup_memory *memory);

/* ---- The machine --------------------------------------------------------------------------- */

struct cgroup_machine {
    struct figure total_bytes, available_bytes, free_bytes, cached_bytes;
    struct figure swap_total_bytes, swap_free_bytes;
    struct cgroup_pressure pressure;
};

int cgroup_machine_read(struct cgroup_machine *machine);

/* ---- Texts, for tests ---------------------------------------------------------------------- */

void cgroup_parse_pressure(const char *text, struct cgroup_pressure *pressure);
void cgroup_parse_meminfo(const char *text, struct cgroup_machine *machine);

#endif

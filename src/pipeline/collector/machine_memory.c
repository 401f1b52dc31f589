/* Reads /proc/meminfo and the control group's files from time to time, and keeps of each stretch of
 * the run the worst moment (machine_memory.h). Readings are shared by all processes of a collector
 * (procfs/cgroup_recent.h). */
#include "collector/machine_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "procfs/cgroup.h"
#include "procfs/cgroup_recent.h"

#define FIRST_NS   100000000u
#define STRETCH_NS 250000000u
#define SELDOM_NS  1000000000u /* between two readings at most */

static void machine_memory_join(struct profile_machine_moment *row,
                                const struct profile_machine_moment *moment)
{
    struct figure group = figure_max(row->group_bytes, moment->group_bytes);
    bool was_known = figure_known(row->available_bytes);
    if (was_known ? figure_less(moment->available_bytes, row->available_bytes)
                  : figure_known(moment->available_bytes))
        *row = *moment;
    row->group_bytes = group;
}

static uint64_t machine_memory_stretch_of(const struct machine_memory *machine,
                                          const struct profile_machine_moment *moment)
{
    return moment->time_ns / machine->stretch_ns;
}

static void machine_memory_halve(struct machine_memory *machine)
{
    size_t kept = 0;
    machine->stretch_ns *= 2;
    for (size_t i = 1; i < machine->count; i++) {
        struct profile_machine_moment *last = &machine->rows[kept], *row = &machine->rows[i];
        if (machine_memory_stretch_of(machine, last) == machine_memory_stretch_of(machine, row))
            machine_memory_join(last, row);
        else
            machine->rows[++kept] = *row;
    }
    machine->count = kept + 1;
}

void machine_memory_add(struct machine_memory *machine, const struct profile_machine_moment *moment)
{
    if (!machine->stretch_ns)
        machine->stretch_ns = STRETCH_NS;
    struct profile_machine_moment *last =
        machine->count ? &machine->rows[machine->count - 1] : NULL;
    if (last &&
        machine_memory_stretch_of(machine, last) == machine_memory_stretch_of(machine, moment)) {
        machine_memory_join(last, moment);
        return;
    }
    while (machine->count == MACHINE_MOMENTS)
        machine_memory_halve(machine);
    last = machine->count ? &machine->rows[machine->count - 1] : NULL;
    if (last &&
        machine_memory_stretch_of(machine, last) == machine_memory_stretch_of(machine, moment))
        machine_memory_join(last, moment);
    else
        machine->rows[machine->count++] = *moment;
}

static void machine_memory_read_group(struct profile_machine_moment *moment, pid_t pid)
{
    struct cgroup_memory *group = malloc(sizeof *group); /* paths make it 12 KiB */
    if (group && cgroup_recent_read_again(pid, group, CGROUP_RECENT_TRIES) == 0) {
        bool has_limit = cgroup_is_limited(group->limit_bytes);
        moment->group_bytes = has_limit ? group->limit_current_bytes : group->current_bytes;
        moment->group_limit_bytes = has_limit ? group->limit_bytes : FIGURE_UNKNOWN;
    }
    free(group);
}

void machine_memory_see(struct machine_memory *machine, pid_t pid, uint64_t age_ns)
{
    struct cgroup_machine now;
    if (age_ns < FIRST_NS || age_ns < machine->next_ns)
        return;
    int error = cgroup_recent_machine_read(&now, CGROUP_RECENT_TRIES);
    if (error == -EAGAIN)
        return;
    uint64_t pause_ns = machine->stretch_ns / 2;
    machine->next_ns = age_ns + (pause_ns < FIRST_NS    ? FIRST_NS
                                 : pause_ns < SELDOM_NS ? pause_ns
                                                        : SELDOM_NS);
    if (error)
        return;
    struct profile_machine_moment moment = {
        .time_ns = age_ns,
        .available_bytes = now.available_bytes,
        .free_bytes = now.free_bytes,
        .cached_bytes = now.cached_bytes,
        .swapped_bytes = figure_sub(now.swap_total_bytes, now.swap_free_bytes),
        .group_bytes = FIGURE_UNKNOWN,
        .group_limit_bytes = FIGURE_UNKNOWN};
    machine_memory_read_group(&moment, pid);
    machine_memory_add(machine, &moment);
}

struct profile_machine_moment *machine_memory_take(const struct machine_memory *machine,
                                                   size_t *count)
{
    struct profile_machine_moment *rows =
        machine->count ? malloc(machine->count * sizeof *rows) : NULL;
    if (rows)
        memcpy(rows, machine->rows, machine->count * sizeof *rows);
    *count = rows ? machine->count : 0;
    return rows;
}

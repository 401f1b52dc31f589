/* Compares the collector's resident memory with its bound (memory_bound.h). The decision is a
 * function of readings, so that it can be tested; the readings come from /proc and the group. */
#include "collector/memory_bound.h"

#include <unistd.h>
#include "collector/own_group.h"
#include "procfs/cgroup_recent.h"
#include "procfs/process.h"

enum { GROUP_PART = 8, LEFT_PART = 8, MACHINE_PART = 16 };

static uint64_t memory_bound_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Is the machine so short of memory that we are bounded? */
static bool memory_bound_is_short(const struct memory_bound_readings *readings, uint64_t growth)
{
    return readings->machine_bytes &&
           readings->available_bytes < growth + readings->machine_bytes / LEFT_PART;
}

bool memory_bound_is_met_by(const struct memory_bound_readings *readings, uint64_t growth_bytes,
                            struct memory_bound *met)
{
    *met = (struct memory_bound){BOUND_NONE, UINT64_MAX, readings->has_bytes};
    if (readings->option_bytes) {
        met->kind = BOUND_BY_OPTION;
        met->bytes = readings->option_bytes;
    } else if (readings->group_limit_bytes) {
        met->kind = BOUND_BY_GROUP;
        met->bytes = readings->group_limit_bytes / GROUP_PART;
    } else if (memory_bound_is_short(readings, growth_bytes)) {
        met->kind = BOUND_BY_MACHINE;
        met->bytes = readings->machine_bytes / MACHINE_PART;
    }
    met->bytes = memory_bound_larger(met->bytes, MEMORY_BOUND_LEAST);
    return met->kind != BOUND_NONE && readings->has_bytes + growth_bytes > met->bytes;
}

static _Atomic uint64_t memory_bound_option;

void memory_bound_set(uint64_t option_bytes)
{
    memory_bound_option = option_bytes;
}

/* UINT64_MAX: it is not known. */
static uint64_t memory_bound_has_bytes(void)
{
    struct process_meter meter = {getpid(), -1};
    struct process_memory ours;
    if (process_meter_read(&meter, &ours) < 0)
        return UINT64_MAX;
    return ours.resident_bytes - ours.shared_bytes;
}

bool memory_bound_is_met(uint64_t needs_bytes, uint64_t growth_bytes, struct memory_bound *met)
{
    struct memory_bound_readings readings = {.option_bytes = memory_bound_option,
                                             .has_bytes = memory_bound_has_bytes()};
    struct cgroup_machine machine;
    if (readings.has_bytes == UINT64_MAX)
        return false;
    readings.has_bytes = memory_bound_larger(readings.has_bytes, needs_bytes);
    if (readings.has_bytes + growth_bytes <= MEMORY_BOUND_LEAST)
        return false;
    readings.group_limit_bytes = own_group_limit_bytes();
    if (!readings.option_bytes && !readings.group_limit_bytes &&
        cgroup_recent_machine_read(&machine, CGROUP_RECENT_TRIES) == 0) {
        bool is_known = figure_get(machine.available_bytes, &readings.available_bytes);
        readings.machine_bytes = is_known ? figure_or(machine.total_bytes, 0) : 0;
    }
    return memory_bound_is_met_by(&readings, growth_bytes, met);
}

bool memory_bound_has_room(uint64_t bytes)
{
    struct memory_bound met;
    return own_group_has_room(bytes) && !memory_bound_is_met(0, bytes, &met);
}

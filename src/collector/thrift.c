/* See thrift.h. */
#include "collector/thrift.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/wire.h"

#define MILLION 1000000.0

int thrift_parse(const char *text, uint64_t *millionths)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0.001) || percent > 100)
        return -EINVAL;
    *millionths = (uint64_t)(percent * 10000 + 0.5);
    return 0;
}

void thrift_init(struct thrift *thrift, uint32_t millionths)
{
    *thrift = (struct thrift){.millionths = millionths};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What may be spent on events within a second like that between the two readings. */
static double allowed_ns(const struct thrift *thrift, uint64_t program_ns, uint64_t wall_ns)
{
    return 0.75 * (double)larger(program_ns, wall_ns) * thrift->millionths / MILLION;
}

static bool is_exceeded(const struct thrift *thrift)
{
    const struct thrift_reading *from = &thrift->readings[0],
                                *to = &thrift->readings[thrift->count - 1];
    uint64_t recorder_ns = to->recorder_ns - from->recorder_ns;
    uint64_t cost_ns = recorder_ns + to->replay_ns - from->replay_ns;
    uint64_t program_ns = to->program_ns - from->program_ns;
    program_ns = program_ns > recorder_ns ? program_ns - recorder_ns : 0;
    uint64_t wall_ns = larger(to->now_ns - from->now_ns, THRIFT_WINDOW_NS);
    return (double)cost_ns > allowed_ns(thrift, program_ns, wall_ns);
}

/* The oldest reading is the youngest one that is a window old, if there is one. */
static void keep(struct thrift *thrift, const struct thrift_reading *reading)
{
    size_t old = 0;
    if (thrift->count && reading->now_ns - thrift->readings[thrift->count - 1].now_ns < THRIFT_STEP_NS)
        return;
    while (old + 1 < thrift->count &&
           reading->now_ns - thrift->readings[old + 1].now_ns >= THRIFT_WINDOW_NS)
        old++;
    if (!old && thrift->count == THRIFT_READINGS)
        old = 1;
    thrift->count -= old;
    memmove(thrift->readings, thrift->readings + old, thrift->count * sizeof *reading);
    thrift->readings[thrift->count++] = *reading;
}

bool thrift_see(struct thrift *thrift, const struct thrift_reading *reading)
{
    if (!thrift->millionths)
        return false;
    keep(thrift, reading);
    if (thrift->level + 1 >= WIRE_LEVELS || thrift->count < 2 || !is_exceeded(thrift) ||
        (thrift->level && reading->now_ns - thrift->risen_ns < THRIFT_GAP_NS))
        return false;
    thrift->level++;
    thrift->risen_ns = reading->now_ns;
    thrift->readings[0] = thrift->readings[thrift->count - 1];
    thrift->count = 1;
    return true;
}

uint64_t thrift_pause_ns(const struct thrift *thrift, uint64_t spent_ns)
{
    if (!thrift->millionths)
        return 0;
    return (uint64_t)((double)spent_ns * 4 * MILLION / thrift->millionths);
}

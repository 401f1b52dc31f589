/* Decides when sampling must become coarser to stay in the budget (overhead_budget.h). It keeps
 * readings of a window of time, and compares the recording's cost between the oldest and the newest
 * with the allowed part of the program's time. */
#include "collector/overhead_budget.h"

#include <errno.h>
#include <string.h>
#include "base/human.h"
#include "wire/wire.h"

#define MILLION 1000000.0

int overhead_budget_parse(const char *text, uint64_t *millionths)
{
    const char *end;
    double percent;
    if (human_parse_decimal(text, &end, &percent) || (*end && strcmp(end, "%") != 0) ||
        percent < 0.001 || percent > 100)
        return -EINVAL;
    *millionths = (uint64_t)(percent * 10000 + 0.5);
    return 0;
}

void overhead_budget_init(struct overhead_budget *budget, uint32_t millionths)
{
    *budget = (struct overhead_budget){.millionths = millionths};
}

static uint64_t overhead_budget_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What may be spent on events within a second like that between the two readings. */
static double overhead_budget_allowed_ns(const struct overhead_budget *budget, uint64_t program_ns,
                                         uint64_t wall_ns)
{
    return 0.75 * (double)overhead_budget_larger(program_ns, wall_ns) * budget->millionths /
           MILLION;
}

static bool overhead_budget_is_exceeded(const struct overhead_budget *budget)
{
    const struct overhead_budget_reading *from = &budget->readings[0],
                                         *to = &budget->readings[budget->count - 1];
    uint64_t recorder_ns = to->recorder_ns - from->recorder_ns;
    uint64_t cost_ns = recorder_ns + to->replay_ns - from->replay_ns;
    uint64_t program_ns = to->program_ns - from->program_ns;
    program_ns = program_ns > recorder_ns ? program_ns - recorder_ns : 0;
    uint64_t wall_ns = overhead_budget_larger(to->now_ns - from->now_ns, OVERHEAD_BUDGET_WINDOW_NS);
    return (double)cost_ns > overhead_budget_allowed_ns(budget, program_ns, wall_ns);
}

/* The oldest reading is the youngest one that is a window old, if there is one. */
static void overhead_budget_keep(struct overhead_budget *budget,
                                 const struct overhead_budget_reading *reading)
{
    size_t old = 0;
    if (budget->count &&
        reading->now_ns - budget->readings[budget->count - 1].now_ns < OVERHEAD_BUDGET_STEP_NS)
        return;
    while (old + 1 < budget->count &&
           reading->now_ns - budget->readings[old + 1].now_ns >= OVERHEAD_BUDGET_WINDOW_NS)
        old++;
    if (!old && budget->count == OVERHEAD_BUDGET_READINGS)
        old = 1;
    budget->count -= old;
    memmove(budget->readings, budget->readings + old, budget->count * sizeof *reading);
    budget->readings[budget->count++] = *reading;
}

bool overhead_budget_see(struct overhead_budget *budget,
                         const struct overhead_budget_reading *reading)
{
    if (!budget->millionths)
        return false;
    overhead_budget_keep(budget, reading);
    if (budget->level + 1 >= WIRE_LEVELS || budget->count < 2 ||
        !overhead_budget_is_exceeded(budget) ||
        (budget->level && reading->now_ns - budget->risen_ns < OVERHEAD_BUDGET_GAP_NS))
        return false;
    budget->level++;
    budget->risen_ns = reading->now_ns;
    budget->readings[0] = budget->readings[budget->count - 1];
    budget->count = 1;
    return true;
}

uint64_t overhead_budget_pause_ns(const struct overhead_budget *budget, uint64_t spent_ns)
{
    if (!budget->millionths)
        return 0;
    return (uint64_t)((double)spent_ns * 4 * MILLION / budget->millionths);
}

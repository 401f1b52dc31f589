/* The limit on a recording's cost (--budget-cpu), and the decision to sample more coarsely.
 *
 * The cost has two parts: the time that the recorder spends in the program (it times one call in
 * sixteen), and the time of the collector's thread that replays the events. The budget is a share
 * of the program's processor time, or of one processor's time if the program uses less.
 *
 *     exceeded  <=>  cost over the last second > 3/4 * budget
 *     level 0: every allocation;  level n: one in 512 KiB * 4^(n-1)  (wire.h)
 *
 * When the budget is exceeded, the level rises by one. Level 1 comes as soon as the cost of a
 * second is spent. Further levels come half a second apart at the earliest, because events that
 * were recorded before are still being replayed. Levels never fall.
 *
 * The last quarter of the budget is for writing the profile. The more a write costs, the longer the
 * pause until the next.
 *
 * Decisions depend only on the readings that are passed in. For one thread. */
#ifndef TIDEMARK_COLLECTOR_OVERHEAD_BUDGET_H
#define TIDEMARK_COLLECTOR_OVERHEAD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All but the time since the recording began. */
struct overhead_budget_reading {
    uint64_t now_ns;
    uint64_t recorder_ns, replay_ns; /* spent in the program; in the collector */
    uint64_t program_ns;             /* processor time of the program, with the recorder's */
};

enum { OVERHEAD_BUDGET_READINGS = 16 };
#define OVERHEAD_BUDGET_WINDOW_NS 1000000000u
#define OVERHEAD_BUDGET_STEP_NS   100000000u /* between readings that are kept */
#define OVERHEAD_BUDGET_GAP_NS    500000000u

struct overhead_budget {
    uint32_t millionths; /* the budget; 0: none */
    unsigned level;
    struct overhead_budget_reading readings[OVERHEAD_BUDGET_READINGS]; /* the oldest first */
    size_t count;
    uint64_t risen_ns; /* when the level last did */
};

/* `millionths` of a processor. */
void overhead_budget_init(struct overhead_budget *budget, uint32_t millionths);

/* Takes a reading. True: the level has risen. */
bool overhead_budget_see(struct overhead_budget *budget,
                         const struct overhead_budget_reading *reading);

/* After writing took so much processor time: until it may be done again. */
uint64_t overhead_budget_pause_ns(const struct overhead_budget *budget, uint64_t spent_ns);

/* "1%", "0.5%" → millionths. 0 or -EINVAL. */
int overhead_budget_parse(const char *text, uint64_t *millionths);

#endif

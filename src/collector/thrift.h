/* How much a recording may cost (--budget-cpu), and what to do when it costs more.
 *
 * Counted is what follows from the events: recording in the program (the recorder times one call in
 * sixteen) and the collector's thread that replays them. The budget is a share of the processor time
 * that the program uses, or of one processor's where the program uses less than one. Three quarters of
 * it are for that, seen over the last second. When it is exceeded the level rises: from recording
 * everything to one allocation in 512 KiB, at once when what a second may cost is spent; then to four times
 * as much and so on (wire.h), half a second later at the earliest, since what was recorded before is
 * still being replayed. Levels never fall.
 *
 * The last quarter is for writing the profile: the more that costs, the seldomer it is done.
 *
 * Decides by the readings that it is given, and by nothing else. For one thread. */
#ifndef TIDEMARK_COLLECTOR_THRIFT_H
#define TIDEMARK_COLLECTOR_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All but the time since the recording began. */
struct thrift_reading {
    uint64_t now_ns;
    uint64_t recorder_ns, replay_ns; /* spent in the program; in the collector */
    uint64_t program_ns;             /* processor time of the program, with the recorder's */
};

enum { THRIFT_READINGS = 16 };
#define THRIFT_WINDOW_NS 1000000000u
#define THRIFT_STEP_NS   100000000u /* between readings that are kept */
#define THRIFT_GAP_NS    500000000u

struct thrift {
    uint32_t millionths; /* the budget; 0: none */
    unsigned level;
    struct thrift_reading readings[THRIFT_READINGS]; /* the oldest first */
    size_t count;
    uint64_t risen_ns; /* when the level last did */
};

/* `millionths` of a processor. */
void thrift_init(struct thrift *thrift, uint32_t millionths);

/* Takes a reading. True: the level has risen. */
bool thrift_see(struct thrift *thrift, const struct thrift_reading *reading);

/* After writing took so much processor time: until it may be done again. */
uint64_t thrift_pause_ns(const struct thrift *thrift, uint64_t spent_ns);

/* "1%", "0.5%" → millionths. 0 or -EINVAL. */
int thrift_parse(const char *text, uint64_t *millionths);

#endif

#include "collector/clock.h"

#include <pthread.h>
#include <time.h>
#include "base/ticks.h"

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct clock_reading clock_read(void)
{
    struct clock_reading best = {0, 0};
    uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = ticks_now(), ns = monotonic_ns(), after = ticks_now();
        if (after - before < best_gap) {
            best_gap = after - before;
            best = (struct clock_reading){before + best_gap / 2, ns};
        }
    }
    return best;
}

static double rate(struct clock_reading from, struct clock_reading to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks) : 1.0;
}

static double machine_rate;

static void measure(void)
{
    struct clock_reading from = clock_read();
    struct timespec pause = {0, 10 * 1000 * 1000};
    nanosleep(&pause, NULL);
    machine_rate = rate(from, clock_read());
}

double clock_tick_ns(struct clock_reading from, struct clock_reading to)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (to.ns - from.ns >= 10 * 1000 * 1000)
        return rate(from, to);
    pthread_once(&once, measure);
    return machine_rate;
}

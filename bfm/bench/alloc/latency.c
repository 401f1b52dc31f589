#include "latency.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include "ticks.h"

/* Buckets: 32 for each power of two of ticks, so within 3 %. */
enum { SUB_BITS = 5, BUCKETS = (64 - SUB_BITS) << SUB_BITS };

static const uint64_t long_ns = 10000;

static uint64_t histogram[LATENCY_CALLS][BUCKETS];
static uint64_t calls[LATENCY_CALLS], max_ticks[LATENCY_CALLS], max_call[LATENCY_CALLS];
static uint64_t corrected[LATENCY_CALLS];
static uint64_t ticks_overhead; /* of the two readings around nothing */
static uint64_t long_ticks;
static double ns_per_tick;

/* The last reading of the thread's CPU time. */
static __thread struct {
    uint64_t ticks, cpu_ns;
    long forced_switches, own_switches;
    uint64_t call_ended; /* ticks; 0: no call yet */
} seen;

static uint64_t latency_thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t latency_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ticks in which this thread had no processor since the last look, if it was made to wait and did
 * not wait of itself as well: the two cannot be told apart, and a wait of the allocator's must not
 * be lost. */
static uint64_t latency_stolen_ticks(void)
{
    struct rusage usage;
    uint64_t cpu_ns = latency_thread_cpu_ns(), now = ticks_now();
    getrusage(RUSAGE_THREAD, &usage);
    uint64_t ran = (uint64_t)((double)(cpu_ns - seen.cpu_ns) / ns_per_tick);
    uint64_t passed = now - seen.ticks;
    bool forced = seen.ticks && usage.ru_nivcsw != seen.forced_switches &&
                  usage.ru_nvcsw == seen.own_switches;
    seen.ticks = now;
    seen.cpu_ns = cpu_ns;
    seen.forced_switches = usage.ru_nivcsw;
    seen.own_switches = usage.ru_nvcsw;
    return forced && passed > ran ? passed - ran : 0;
}

void latency_prepare(void)
{
    uint64_t begin_ns = latency_monotonic_ns(), begin = ticks_now(), end_ns, best = UINT64_MAX;
    do {
        end_ns = latency_monotonic_ns();
    } while (end_ns - begin_ns < 20000000);
    ns_per_tick = (double)(end_ns - begin_ns) / (double)(ticks_now() - begin);
    long_ticks = (uint64_t)((double)long_ns / ns_per_tick);
    for (int i = 0; i < 1000; i++) {
        uint64_t first = ticks_now(), second = ticks_now();
        best = second - first < best ? second - first : best;
    }
    ticks_overhead = best;
    latency_stolen_ticks();
}

uint64_t latency_begin(void)
{
    uint64_t now = ticks_now();
    if (now - seen.call_ended > long_ticks) {
        latency_stolen_ticks();
        now = ticks_now();
    }
    return now;
}

static unsigned latency_bucket_of(uint64_t ticks)
{
    if (ticks < 1u << SUB_BITS)
        return (unsigned)ticks;
    unsigned power = 63 - (unsigned)__builtin_clzll(ticks);
    unsigned sub = (unsigned)(ticks >> (power - SUB_BITS)) & ((1u << SUB_BITS) - 1);
    return ((power - SUB_BITS + 1) << SUB_BITS) + sub;
}

/* The largest number of ticks that falls into a bucket. */
static uint64_t latency_bucket_end(unsigned bucket)
{
    unsigned power = bucket >> SUB_BITS;
    uint64_t sub = bucket & ((1u << SUB_BITS) - 1);
    return power == 0 ? sub : ((((uint64_t)1 << SUB_BITS) + sub + 1) << (power - 1)) - 1;
}

void latency_end(enum latency_call call, uint64_t begin)
{
    uint64_t end = ticks_now(), ticks = end - begin;
    ticks = ticks > ticks_overhead ? ticks - ticks_overhead : 0;
    if (ticks > long_ticks) {
        uint64_t stolen = latency_stolen_ticks();
        corrected[call] += stolen > 0;
        ticks = ticks > stolen ? ticks - stolen : 0;
    }
    if (ticks > max_ticks[call]) {
        max_ticks[call] = ticks;
        max_call[call] = calls[call];
    }
    calls[call]++;
    histogram[call][latency_bucket_of(ticks)]++;
    seen.call_ended = ticks_now();
}

static uint64_t latency_ns_of(uint64_t ticks)
{
    return (uint64_t)((double)ticks * ns_per_tick + 0.5);
}

/* The time that all but one in `one_in` calls stayed within. */
static uint64_t latency_quantile_ns(enum latency_call call, uint64_t one_in)
{
    uint64_t above = calls[call] / one_in, passed = 0;
    for (unsigned bucket = BUCKETS; bucket-- > 0;) {
        passed += histogram[call][bucket];
        if (passed > above) {
            uint64_t end = latency_bucket_end(bucket);
            return latency_ns_of(end < max_ticks[call] ? end : max_ticks[call]);
        }
    }
    return 0;
}

void latency_figures(enum latency_call call, struct latency_figures *figures)
{
    *figures = (struct latency_figures){
        .calls = calls[call],
        .max_ns = latency_ns_of(max_ticks[call]),
        .max_call = max_call[call],
        .p50_ns = latency_quantile_ns(call, 2),
        .p99_ns = latency_quantile_ns(call, 100),
        .p9999_ns = latency_quantile_ns(call, 10000),
        .corrected = corrected[call],
    };
}

/* Chooses which block of each stratum is marked (mark.h). For each size class an arena counts down
 * to the next marked block. The place within a stratum comes from a xorshift generator that every
 * arena seeds from its own number. */
#include "bfm/mark.h"
#include <stdatomic.h>
#include "bfm/classes.h"
#include "bfm/os.h"

_Thread_local struct mark_bytes bfm_mark_bytes __attribute__((tls_model("initial-exec")));

/* The same for every run of a program with one thread: profiles can be compared. */
static uint64_t mark_seed(void)
{
    static _Atomic uint64_t seeds;

    return (atomic_fetch_add(&seeds, 1) + 1) * 0x9e3779b97f4a7c15u;
}

/* log2(x / 2^63) of x >= 2^63, in units of 2^-24, rounded down. The carry of each square is the
 * next digit of the logarithm. Without floating point, whose exceptions the program may trap. */
static uint64_t mark_log2(uint64_t x)
{
    uint64_t digits = 0;

    for (unsigned i = 0; i < 24; i++) {
        unsigned __int128 square = (unsigned __int128)x * x;
        uint64_t carry = (uint64_t)(square >> 127);
        x = (uint64_t)(square >> (carry ? 64 : 63));
        digits = digits << 1 | carry;
    }
    return digits;
}

/* A table of log2(1 + i / LOG_STEPS), with straight lines between its entries; 2e-6 of a mean too
 * low. All threads write the same values. */
enum { LOG_BITS = 8, LOG_STEPS = 1 << LOG_BITS };
static uint32_t mark_logs[LOG_STEPS + 1];

static void mark_logs_fill(void)
{
    for (uint64_t i = 0; i < LOG_STEPS; i++)
        __atomic_store_n(&mark_logs[i], (uint32_t)mark_log2((LOG_STEPS + i) << (63 - LOG_BITS)),
                         __ATOMIC_RELAXED);
    __atomic_store_n(&mark_logs[LOG_STEPS], 1u << 24, __ATOMIC_RELAXED);
}

static uint64_t mark_log2_near(uint64_t x)
{
    uint64_t step = x >> (63 - LOG_BITS) & (LOG_STEPS - 1), rest = x << (1 + LOG_BITS) >> 32;
    uint64_t from = __atomic_load_n(&mark_logs[step], __ATOMIC_RELAXED),
             to = __atomic_load_n(&mark_logs[step + 1], __ATOMIC_RELAXED);

    return from + ((to - from) * rest >> 32);
}

/* floor(e), e exponential with this mean: less than u with the probability 1 - exp(-u / mean). */
static size_t mark_exponential(uint64_t *random, size_t mean)
{
    uint64_t uniform, bits;
    unsigned zeros;

    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    uniform = *random * 0x2545f4914f6cdd1du | 1;
    zeros = (unsigned)__builtin_clzll(uniform);
    bits = ((uint64_t)(zeros + 1) << 24) - mark_log2_near(uniform << zeros);
    return (size_t)((unsigned __int128)bits * 0xb17217f7d1cf79abull >> 64) * mean >> 24;
}

void mark_pace_note(struct mark_pace *pace, uint64_t cpu_ns)
{
    const int64_t most = (int64_t)MARK_CREDIT * MARK_NS;

    /* in the child of a fork the time begins again */
    if (cpu_ns > pace->cpu_ns)
        pace->credit_ns += (int64_t)(cpu_ns - pace->cpu_ns);
    pace->credit_ns -= (int64_t)MARK_WINDOW * MARK_NS;
    pace->cpu_ns = cpu_ns;
    if (pace->credit_ns < 0) {
        pace->level += pace->level + 1 < MARK_LEVELS;
        pace->credit_ns = most / 8;
    } else if (pace->credit_ns >= most) {
        pace->credit_ns = most;
        if (pace->level) {
            pace->level--;
            pace->credit_ns = most / 2;
        }
    }
}

static void mark_bytes_next(struct mark_bytes *bytes, enum mark_source source)
{
    bytes->mean[source] = mark_mean(bytes->pace.level, source);
    bytes->left[source] = mark_exponential(&bytes->random, bytes->mean[source]) + 1;
}

static void mark_bytes_begin(struct mark_bytes *bytes)
{
    mark_logs_fill();
    bytes->random = mark_seed();
    bytes->pace = (struct mark_pace){0, os_thread_cpu_ns(), (int64_t)MARK_CREDIT * MARK_NS};
    mark_bytes_next(bytes, MARK_TREE);
    mark_bytes_next(bytes, MARK_SHELF);
}

bool mark_bytes_end(size_t usable, enum mark_source source)
{
    struct mark_bytes *bytes = &bfm_mark_bytes;

    bytes->drawn_mean = bytes->random ? bytes->mean[source] : MARK_BYTES;
    if (usable >= MARK_SURE)
        return true;
    if (!bytes->random) {
        mark_bytes_begin(bytes);
        return mark_bytes_draw(usable, source);
    }
    if (++bytes->marks % MARK_WINDOW == 0)
        mark_pace_note(&bytes->pace, os_thread_cpu_ns());
    mark_bytes_next(bytes, source);
    return true;
}

static unsigned mark_draw(struct marks *marks, unsigned below)
{
    marks->random ^= marks->random << 13;
    marks->random ^= marks->random >> 7;
    marks->random ^= marks->random << 17;
    return (unsigned)((marks->random >> 32) * below >> 32);
}

static void mark_begin(struct marks *marks)
{
    marks->random = mark_seed();
    for (unsigned code = 1; code < CLASS_CODES; code++) {
        marks->before[code] = (uint16_t)mark_draw(marks, bfm_class_blocks[code]);
        marks->after[code] = (uint16_t)(bfm_class_blocks[code] - 1u - marks->before[code]);
    }
}

unsigned marks_place(struct arena *arena, unsigned code, unsigned count)
{
    struct marks *marks = &arena->marks;
    unsigned place, blocks = bfm_class_blocks[code];

    if (!marks->random)
        mark_begin(marks);
    place = marks->before[code];
    if (place >= count) {
        marks->before[code] = (uint16_t)(place - count);
        return count;
    }
    /* `count` is at most a quarter of a stratum, so there is at most one mark in it: one that would
     * be among these too comes right behind them, and its stratum ends where it would have. */
    unsigned next = mark_draw(marks, blocks), rest = count - 1 - place;
    unsigned before = marks->after[code] + next, late = before < rest ? rest - before : 0;
    marks->before[code] = (uint16_t)(before + late - rest);
    marks->after[code] = (uint16_t)(blocks - 1 - next - late);
    return place;
}

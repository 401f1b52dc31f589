/* Waits for a word that another process or thread changes, and knows how long it has waited. A
 * signal may interrupt each step early, and a busy machine makes steps longer, so steps are not
 * counted but timed, by the kernel's clock: PR_SET_TSC forbids only the processor's. Where a filter
 * forbids to ask for the time, a step counts with its length.
 *
 *     struct step_wait wait = step_wait_begin(20);
 *     while (something is missing && step_wait_ms(&wait) < patience_ms)
 *         step_wait_for(&wait, &word, value);
 *
 * Runs inside the profiled program: system calls only. errno is not kept. */
#ifndef TIDEMARK_RECORDER_STEP_WAIT_H
#define TIDEMARK_RECORDER_STEP_WAIT_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/now.h"
#include "unwind/permitted_calls.h"

struct step_wait {
    uint64_t begun_ns; /* 0: the time may not be asked for */
    uint64_t steps;
    unsigned step_ms; /* the longest step */
};

static inline struct step_wait step_wait_begin(unsigned step_ms)
{
    bool has_clock = !permitted_calls_is_forbidden(CALL_TIME);
    return (struct step_wait){.begun_ns = has_clock ? now_monotonic_ns() : 0, .step_ms = step_ms};
}

/* A filter may come while a thread waits. */
static inline uint64_t step_wait_ms(const struct step_wait *wait)
{
    if (!wait->begun_ns || permitted_calls_is_forbidden(CALL_TIME))
        return wait->steps * wait->step_ms;
    return (now_monotonic_ns() - wait->begun_ns) / 1000000;
}

/* One step: until `word` has changed from `value` and its waiters were woken, or a signal comes. */
static inline void step_wait_for(struct step_wait *wait, _Atomic uint32_t *word, uint32_t value)
{
    struct timespec step = {0, (long)wait->step_ms * 1000 * 1000};
    wait->steps++;
    syscall(SYS_futex, word, FUTEX_WAIT, value, &step, NULL, 0);
}

#endif

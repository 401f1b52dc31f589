/* Threads that process images run on. One that has nothing left to do waits for the next image: a
 * storm of short processes would else begin and end a thread for each, with its stack and what the
 * C library keeps for it. */
#ifndef TIDEMARK_COLLECTOR_WORKERS_H
#define TIDEMARK_COLLECTOR_WORKERS_H

#include <stdatomic.h>
#include <stdint.h>

struct worker_job {
    void (*run)(void *context);
    void *context;
    _Atomic uint32_t over; /* futex: 1 when the thread has left the job */
};

/* On a thread that waits, or a new one. 0, or why there is none (an errno): the job is not begun.
 * `job` stays where it is until worker_wait(). */
int worker_begin(struct worker_job *job);
/* Until it is over. */
void worker_wait(struct worker_job *job);

#endif

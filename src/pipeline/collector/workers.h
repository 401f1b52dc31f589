/* Threads that process images run on. A thread without a job waits for the next image. Otherwise
 * each of many short processes would begin and end a thread, with its stack and the C library's
 * data for it. */
#ifndef TIDEMARK_COLLECTOR_WORKERS_H
#define TIDEMARK_COLLECTOR_WORKERS_H

#include <stdatomic.h>
#include <stdint.h>

struct worker_job {
    void (*run)(void *context);
    void *context;
    _Atomic uint32_t over; /* futex: 1 when the thread is done with the job */
};

/* Runs the job on an idle thread or a new one. 0, or an errno: there is no thread, and the job is
 * not begun. `job` must not move until worker_wait(). */
int worker_begin(struct worker_job *job);
/* Waits until the job is over. */
void worker_wait(struct worker_job *job);

#endif

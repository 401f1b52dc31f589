/* Idle threads wait in a list (workers.h). The one that became idle last is in front, because its
 * stack is still in the caches. */
#include "collector/workers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Further idle threads end. */
enum { IDLE_MOST = 16 };

/* On its thread's stack. */
struct worker {
    struct worker_job *job; /* NULL: it waits */
    pthread_cond_t given;
    struct worker *next; /* that waits */
};

static struct {
    pthread_mutex_t lock;
    struct worker *idle;
    unsigned idle_count;
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void worker_do(struct worker_job *job)
{
    job->run(job->context);
    atomic_store(&job->over, 1);
    /* The waiter may have freed the job. FUTEX_WAKE takes the address without reading it. */
    syscall(SYS_futex, &job->over, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Waits for the next job. False: enough other threads wait. */
static bool worker_next(struct worker *worker)
{
    pthread_mutex_lock(&workers.lock);
    worker->job = NULL;
    bool waits = workers.idle_count < IDLE_MOST;
    if (waits) {
        worker->next = workers.idle;
        workers.idle = worker;
        workers.idle_count++;
    }
    while (waits && !worker->job)
        pthread_cond_wait(&worker->given, &workers.lock);
    pthread_mutex_unlock(&workers.lock);
    return waits;
}

static void *worker_thread(void *first)
{
    struct worker worker = {.job = first, .given = PTHREAD_COND_INITIALIZER};
    do
        worker_do(worker.job);
    while (worker_next(&worker));
    pthread_cond_destroy(&worker.given);
    return NULL;
}

static int worker_create(struct worker_job *job)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, worker_thread, job);
    if (!error)
        pthread_detach(thread);
    return error;
}

static bool worker_give_to_idle(struct worker_job *job)
{
    pthread_mutex_lock(&workers.lock);
    struct worker *worker = workers.idle;
    if (worker) {
        workers.idle = worker->next;
        workers.idle_count--;
        worker->job = job;
        pthread_cond_signal(&worker->given);
    }
    pthread_mutex_unlock(&workers.lock);
    return worker != NULL;
}

int worker_begin(struct worker_job *job)
{
    atomic_store(&job->over, 0);
    return worker_give_to_idle(job) ? 0 : worker_create(job);
}

void worker_wait(struct worker_job *job)
{
    while (!atomic_load(&job->over))
        syscall(SYS_futex, &job->over, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

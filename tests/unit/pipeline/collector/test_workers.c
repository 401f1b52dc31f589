/* Each job is done once, by a thread that may have done others before. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/workers.h"

struct task {
    struct worker_job job;
    _Atomic int done;
    pid_t thread;
    pthread_barrier_t *together;
};

static void do_task(void *context)
{
    struct task *task = context;
    task->thread = gettid();
    if (task->together)
        pthread_barrier_wait(task->together);
    atomic_fetch_add(&task->done, 1);
}

static void jobs_are_done_once_each_at_the_same_time(void **state)
{
    (void)state;
    enum { COUNT = 40 }; /* more than wait for others afterwards */
    static struct task tasks[COUNT];
    pthread_barrier_t together;
    for (int round = 0; round < 20; round++) {
        pthread_barrier_init(&together, NULL, COUNT);
        for (int i = 0; i < COUNT; i++) {
            tasks[i] =
                (struct task){.job = {.run = do_task, .context = &tasks[i]}, .together = &together};
            assert_int_equal(worker_begin(&tasks[i].job), 0);
        }
        for (int i = 0; i < COUNT; i++) {
            worker_wait(&tasks[i].job);
            assert_int_equal(atomic_load(&tasks[i].done), 1);
        }
        pthread_barrier_destroy(&together);
    }
}

static void a_thread_does_one_job_after_the_other(void **state)
{
    (void)state;
    pid_t first = 0;
    int same = 0;
    for (int i = 0; i < 100; i++) {
        struct task task = {.job = {.run = do_task, .context = &task}};
        assert_int_equal(worker_begin(&task.job), 0);
        worker_wait(&task.job);
        same += task.thread == first;
        first = task.thread;
        usleep(200);
    }
    assert_true(same > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_does_one_job_after_the_other),
        cmocka_unit_test(jobs_are_done_once_each_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Each job is done once, by a thread that may have done others before. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
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

/* ---- Stacks ---- */

enum { DEEP = 400 << 10, PAGE = 4096 };

/* How many pages below this frame are resident. */
static __attribute__((noinline)) size_t stack_pages(void)
{
    unsigned char pages[DEEP / PAGE];
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
    size_t count = 0;
    if (mincore((void *)(here - DEEP), DEEP, pages) != 0)
        return SIZE_MAX;
    for (size_t i = 0; i < sizeof pages; i++)
        count += pages[i] & 1;
    return count;
}

static __attribute__((noinline)) void go_deep(void)
{
    volatile char deep[DEEP];
    for (size_t i = 0; i < sizeof deep; i += PAGE)
        deep[i] = 1;
}

static void *rest(void *context)
{
    size_t *pages = context;
    go_deep();
    pages[0] = stack_pages();
    worker_rest_stack();
    pages[1] = stack_pages();
    go_deep();
    pages[2] = stack_pages();
    return NULL;
}

static void a_stack_that_was_deep_is_given_back(void **state)
{
    (void)state;
    size_t pages[3];
    pthread_t thread;
    if (sysconf(_SC_PAGESIZE) != PAGE)
        skip();
    assert_int_equal(pthread_create(&thread, NULL, rest, pages), 0);
    pthread_join(thread, NULL);
    assert_in_range(pages[0], DEEP / PAGE - 2, DEEP / PAGE);
    assert_in_range(pages[1], 0, 8);
    assert_in_range(pages[2], DEEP / PAGE - 2, DEEP / PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_does_one_job_after_the_other),
        cmocka_unit_test(jobs_are_done_once_each_at_the_same_time),
        cmocka_unit_test(a_stack_that_was_deep_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

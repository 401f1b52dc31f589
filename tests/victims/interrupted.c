/* Threads whose first calls are interrupted, at any instruction, by a signal handler that leaves by
 * siglongjmp: what they held must not keep others waiting. Linked with safe_malloc.c. */
#include "victim.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS = 6000, AT_ONCE = 4, SPREAD_NS = 60000 };

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t jumping;
static _Atomic int jumps;

static void on_signal(int number)
{
    (void)number;
    if (!jumping)
        return;
    jumping = 0;
    jumps++;
    siglongjmp(back, 1);
}

/* Calls of the kernel's own: glibc's timer_create allocates. */
static int timer_start(unsigned long after_ns)
{
    int timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    CHECK(!syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec when = {.it_value.tv_nsec = (long)after_ns};
    CHECK(!syscall(SYS_timer_settime, timer, 0, &when, NULL));
    return timer;
}

VICTIM void victim_begins(void)
{
    for (int i = 0; i < 20; i++)
        free(keep(malloc(48)));
    barrier();
}

VICTIM void victim_afterwards(void)
{
    free(keep(malloc(80)));
    barrier();
}

static void *body(void *argument)
{
    unsigned long number = (unsigned long)(intptr_t)argument;
    volatile int timer = -1;
    if (!sigsetjmp(back, 1)) {
        jumping = 1;
        timer = timer_start(1000 + number * 7919 % SPREAD_NS);
        victim_begins();
    }
    jumping = 0;
    syscall(SYS_timer_delete, timer);
    victim_afterwards();
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    CHECK(!sigaction(SIGUSR1, &action, NULL));
    for (int i = 0; i < THREADS; i += AT_ONCE) {
        pthread_t thread[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++)
            CHECK(!pthread_create(&thread[j], NULL, body, (void *)(intptr_t)(i + j)));
        for (int j = 0; j < AT_ONCE; j++)
            CHECK(!pthread_join(thread[j], NULL));
    }
    CHECK(jumps > 0);
    puts("interrupted: done");
    return 0;
}

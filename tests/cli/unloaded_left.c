/* Closes a library while hooks of twenty threads seem to be at work, as handlers have left them by
 * longjmp, and while others want the processors. Prints whether that took long. LIBRARY of an
 * interpreter, HOLDER. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile bool may_leave, has_left, is_over;

static void leave(int number)
{
    (void)number;
    if (may_leave)
        siglongjmp(out, 1);
}

static void *ask(void *unused)
{
    may_leave = true;
    while (sigsetjmp(out, 1) == 0)
        for (;;) {
            void *volatile block = malloc(100);
            free(block);
        }
    may_leave = false;
    has_left = true;
    while (!is_over)
        usleep(10000);
    return unused;
}

static void *want_the_processor(void *unused)
{
    while (!is_over)
        ;
    return unused;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *interpreter = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *holder = interpreter ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    signal(SIGUSR1, leave);
    for (int i = 0; i < 20 && holder; i++) {
        has_left = false;
        pthread_create(&thread, NULL, ask, NULL);
        for (; !has_left; usleep(1000))
            pthread_kill(thread, SIGUSR1);
    }
    for (long i = 2 * sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--)
        pthread_create(&thread, NULL, want_the_processor, NULL);
    double since = now();
    int status = holder ? dlclose(holder) : 2;
    puts(now() - since < 4 ? "soon" : "late");
    fflush(stdout);
    is_over = true;
    _exit(status);
}

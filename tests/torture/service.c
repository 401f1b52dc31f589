/* A service whose threads wait in all ways: service THREADS (0: one thread that does all in turn).
 * For each line of standard input it waits until each thread has been round once more, and answers
 * "here". What it notices of an attach it says, and ends with status 1. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, STEP_NS = 2000000 };

static atomic_ulong rounds[MOST_THREADS];

static void complain(const char *what)
{
    printf("service: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void sleep_a_bit(void)
{
    struct timespec time = {0, STEP_NS};
    if (nanosleep(&time, NULL) < 0)
        complain("nanosleep");
}

static void wait_for_events(void)
{
    static _Thread_local int set = -1;
    struct epoll_event event;
    if (set < 0)
        set = epoll_create1(0);
    if (epoll_wait(set, &event, 1, 2) != 0 && errno != EINTR) /* as after SIGSTOP and SIGCONT */
        complain("epoll_wait");
}

static void wait_for_a_condition(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += STEP_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    if ((errno = pthread_cond_timedwait(&never, &mutex, &until)) != ETIMEDOUT && errno != 0)
        complain("pthread_cond_timedwait");
    pthread_mutex_unlock(&mutex);
}

static void read_what_was_written(void)
{
    static _Thread_local int ends[2];
    char byte = 'x';
    struct pollfd waiting = {.fd = ends[0], .events = POLLIN};
    if (!ends[1] && pipe(ends) < 0)
        complain("pipe");
    waiting.fd = ends[0];
    if (poll(&waiting, 1, 2) != 0)
        complain("poll");
    if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1 || byte != 'x')
        complain("read");
}

static void compute(void)
{
    static _Thread_local double expected;
    double sum = 0;
    errno = 7;
    for (int i = 1; i < 100000; i++)
        sum += 1.0 / i;
    if (expected == 0)
        expected = sum;
    if (sum != expected || errno != 7)
        complain("compute");
    sleep_a_bit();
}

static void allocate(void)
{
    char *blocks[50];
    for (size_t i = 0; i < 50; i++)
        memset(blocks[i] = malloc(10 + i * 30), (int)i, 10 + i * 30);
    for (size_t i = 0; i < 50; i++) {
        if (blocks[i][9 + i * 30] != (char)i)
            complain("a block");
        free(blocks[i]);
    }
    sleep_a_bit();
}

static void (*const KINDS[])(void) = {sleep_a_bit,           wait_for_events, wait_for_a_condition,
                                      read_what_was_written, compute,         allocate};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static void check_signals(void)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int each = 1; each < 32; each++)
        if (sigismember(&now, each) > 0)
            complain("a signal is blocked");
}

static void *serve(void *which)
{
    size_t number = (size_t)(uintptr_t)which;
    for (;;) {
        KINDS[number % KIND_COUNT]();
        check_signals();
        atomic_fetch_add(&rounds[number], 1);
    }
    return NULL;
}

static void wait_for_all(size_t threads)
{
    for (size_t i = 0; i < threads; i++)
        for (unsigned long before = atomic_load(&rounds[i]), now = before; now - before < 2;
             now = atomic_load(&rounds[i]))
            sleep_a_bit();
}

/* With one thread only, which looks for input between the others' work. */
static bool hear(char *line, int bytes, size_t threads)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t turn = 0; threads == 0; turn++) {
        KINDS[turn % KIND_COUNT]();
        check_signals();
        if (poll(&input, 1, 0) > 0)
            break;
    }
    return fgets(line, bytes, stdin) != NULL;
}

int main(int argc, char **argv)
{
    size_t threads = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    char line[64];
    for (size_t i = 0; i < threads && i < MOST_THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)(uintptr_t)i);
    }
    while (hear(line, sizeof line, threads)) {
        wait_for_all(threads);
        puts("here");
        fflush(stdout);
    }
    return 0;
}

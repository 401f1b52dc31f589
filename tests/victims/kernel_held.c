/* kernel_held CASE: blocks that nothing in the program's memory points to any more. Of half of the
 * cases the kernel has the address and gives it back, so they are not lost; of the others it has let
 * go of it. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
enum { STACK_BYTES = 20000, BLOCK_BYTES = 3000 };

static int pipe_ends[2];

APART static void scrub(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 0;
}

/* What the C library's call leaves in registers and on the stack is written over. */
APART static void signal_stack_set(void)
{
    stack_t stack = {.ss_sp = calloc(1, STACK_BYTES), .ss_size = STACK_BYTES};
    sigaltstack(&stack, NULL);
}

APART static void signal_stack_unset(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}

/* The old one is stored in the place of the new one. */
APART static void signal_stack_swap(void)
{
    stack_t stack = {.ss_sp = calloc(1, STACK_BYTES), .ss_size = STACK_BYTES};
    stack_t *volatile old = &stack; /* volatile: the compiler warns where it sees both */
    sigaltstack(&stack, old);
}

static void signal_stack(void)
{
    signal_stack_set();
}

static void signal_stack_in_place(void)
{
    signal_stack_swap();
}

static void signal_stack_off(void)
{
    signal_stack_set();
    scrub();
    signal_stack_unset();
}

/* The thread waits when the program ends. */
static void *with_stack(void *what)
{
    char byte;
    signal_stack_set();
    scrub();
    if (what)
        return NULL;
    if (write(pipe_ends[1], "x", 1) == 1 && read(pipe_ends[0], &byte, 1) == 1)
        pause();
    pause();
    return NULL;
}

static void signal_stack_of_thread(void)
{
    pthread_t thread;
    char byte;
    int other[2];
    if (pipe(pipe_ends) || pipe(other))
        exit(2);
    int mine = pipe_ends[0];
    pipe_ends[0] = other[0];
    pthread_create(&thread, NULL, with_stack, NULL);
    if (read(mine, &byte, 1) != 1)
        exit(2);
}

static void signal_stack_of_ended(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, with_stack, pipe_ends);
    pthread_join(thread, NULL);
}

APART static int epoll_set(void)
{
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = calloc(1, BLOCK_BYTES)};
    if (pipe(pipe_ends) || epoll_ctl(poll, EPOLL_CTL_ADD, pipe_ends[0], &event))
        exit(2);
    return poll;
}

static void in_epoll(void)
{
    epoll_set();
}

static void in_closed_epoll(void)
{
    close(epoll_set());
}

APART static timer_t timer_set(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGRTMIN,
                             .sigev_value.sival_ptr = calloc(1, BLOCK_BYTES)};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        exit(2);
    return timer;
}

static void in_timer(void)
{
    timer_set();
}

static void in_deleted_timer(void)
{
    timer_delete(timer_set());
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"signal_stack", signal_stack},
    {"signal_stack_in_place", signal_stack_in_place},
    {"signal_stack_off", signal_stack_off},
    {"signal_stack_of_thread", signal_stack_of_thread},
    {"signal_stack_of_ended", signal_stack_of_ended},
    {"in_epoll", in_epoll},
    {"in_closed_epoll", in_closed_epoll},
    {"in_timer", in_timer},
    {"in_deleted_timer", in_deleted_timer},
};

int main(int count, char **words)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases && count > 1; i++)
        if (!strcmp(words[1], cases[i].name)) {
            cases[i].run();
            scrub();
            return 0;
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        puts(cases[i].name);
    return 2;
}

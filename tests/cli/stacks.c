/* Stacks of all sizes, painted and used to a depth that is drawn at random: what tidemark.h and
 * stack_count.h say of them. A timer's signals come all the while. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <tidemark/tidemark.h>
#include <time.h>
#include "stack_count.h"

enum { PAGE = 4096, OWN = 1024, HANDLER = 8192 /* of a signal, with the widest registers */ };

static volatile sig_atomic_t signals;
static void handle(int number)
{
    (void)number;
    signals++;
}

__attribute__((noinline)) static void use_stack(size_t bytes)
{
    volatile char block[bytes];
    for (size_t i = 0; i < bytes; i += 64)
        block[i] = 1;
    (void)block[0];
}

static int wrong;

static void check(const char *what, size_t stack, size_t used, uint64_t said)
{
    if (said >= used && said <= used + OWN + (signals ? HANDLER : 0))
        return;
    printf("%s on a stack of %zu: %lld of %zu bytes\n", what, stack, (long long)said, used);
    wrong++;
}

/* Room is left for what a thread has at its stack's beginning, for the painter, and for a
 * signal. */
static void measure(size_t stack)
{
    size_t least = stack > 64 << 10 ? 32 << 10 : 12 << 10,
           bytes = 600 + (size_t)rand() % (stack - least);
    struct tidemark_painted_stack paint;
    if (tidemark_stack_paint(&paint, stack))
        printf("a stack of %zu is not painted\n", stack);
    use_stack(bytes);
    check("tidemark_stack_depth", stack, bytes, tidemark_stack_depth(&paint));
    void *base = stack_count_clear();
    use_stack(bytes);
    check("stack_count_usage", stack, bytes, stack_count_usage(base));
    uint64_t touched = tidemark_stack_touched();
    if (touched % PAGE || touched < bytes)
        printf("touched: %llu of %zu\n", (unsigned long long)touched, bytes), wrong++;
}

static void *in_thread(void *stack)
{
    measure((size_t)stack);
    return NULL;
}

/* In memory of our own there is no guard page below the stack: nothing may be written there. */
static void run(size_t stack, int own)
{
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *memory =
        mmap(NULL, stack + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    if (own)
        pthread_attr_setstack(&attributes, memory + PAGE, stack);
    else
        pthread_attr_setstacksize(&attributes, stack);
    pthread_create(&thread, &attributes, in_thread, (void *)stack);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < PAGE; i++)
        if (memory[i])
            printf("written below a stack of %zu\n", stack), i = PAGE, wrong++;
    munmap(memory, stack + PAGE);
}

int main(void)
{
    unsigned seed = (unsigned)time(NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    struct rlimit limit;
    srand(seed);
    for (int timed = 0; timed < 2; timed++) {
        for (size_t pages = 4; pages <= 2048; pages += 1 + pages / 3)
            for (int own = 0; own < 2; own++)
                run((pages + (timed ? 8 : 0)) * PAGE, own);
        getrlimit(RLIMIT_STACK, &limit);
        measure(limit.rlim_cur < 8 << 20 ? limit.rlim_cur / 2 : 4 << 20);
        if (timed)
            break;
        signal(SIGPROF, handle);
        signal(SIGALRM, handle);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    if (wrong)
        printf("seed %u, %d signals\n", seed, (int)signals);
    return wrong != 0;
}

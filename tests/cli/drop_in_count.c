/* A program as malloc_count's users write them. */
#include "malloc_count.h"
#include "stack_count.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static __attribute__((noinline)) void use_stack(size_t bytes)
{
    volatile char block[bytes];
    for (size_t i = 0; i < bytes; i += 64)
        block[i] = (char)i;
    (void)block[0];
}

static void check_stack(const char *where, size_t bytes)
{
    void *base = stack_count_clear();
    use_stack(bytes);
    size_t used = stack_count_usage(base);
    printf("%s: %s\n", where,
           used == (size_t)-1                     ? "unknown"
           : used >= bytes && used < bytes + 4096 ? "right"
                                                  : "wrong");
}

static void *in_thread(void *argument)
{
    check_stack("thread", *(size_t *)argument);
    return NULL;
}

static void with_stack_of(size_t stack, size_t bytes)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_create(&thread, &attributes, in_thread, &bytes);
    pthread_join(thread, NULL);
}

static void coroutine(void)
{
    check_stack("own stack", 1000);
}

static size_t told, told_last;
static void callback(void *cookie, size_t current)
{
    free(malloc(3)); /* is not told */
    told++;
    told_last = current;
    if (cookie != &told)
        abort();
}

static size_t steps[2];
static void in_steps(void *cookie, size_t current)
{
    if (told < 2)
        ((size_t *)cookie)[told++] = current;
}

static void *loop(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        free(malloc(100 + (size_t)i % 64));
    return NULL;
}

static void *churn(void *argument)
{
    void *kept[100];
    for (int i = 0; i < 100; i++)
        kept[i] = malloc(1000);
    for (int i = 0; i < 20000; i++)
        free(malloc((size_t)i % 500));
    for (int i = 1; i < 100; i++)
        free(kept[i]);
    *(void **)argument = kept[0];
    return NULL;
}

/* The child counts on, and its threads are not taken for its parent's. */
static void in_child(void)
{
    enum { LOOPS = 1000000, THREADS = 3 };
    pthread_t thread[THREADS];
    size_t before = malloc_count_current(), calls = malloc_count_num_allocs();
    pid_t child = fork();
    if (child) {
        waitpid(child, NULL, 0);
        return;
    }
    size_t inherited = malloc_count_current() - before;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, loop, &(int){LOOPS});
    loop(&(int){LOOPS});
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    calls = malloc_count_num_allocs() - calls;
    printf("in a child: %zu more, calls %s\n", inherited,
           calls >= (THREADS + 1) * LOOPS && calls < (THREADS + 1) * LOOPS + 100 ? "right"
                                                                                 : "wrong");
    _exit(0);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0); /* no buffer to count */
    size_t before = malloc_count_current(), calls = malloc_count_num_allocs();
    void *a = malloc(2 << 20);
    printf("current %zu\n", malloc_count_current() - before);
    free(a);
    printf("current %zu, peak %d\n", malloc_count_current() - before,
           malloc_count_peak() >= before + (2 << 20));
    malloc_count_reset_peak();
    printf("peak is current: %d\n", malloc_count_peak() == malloc_count_current());
    void *b = malloc(3000);
    b = realloc(b, 2000);
    b = realloc(b, 4000);
    printf("current %zu, peak %zu\n", malloc_count_current() - before,
           malloc_count_peak() - before);
    b = realloc(b, 0);
    printf("current %zu, calls %zu\n", malloc_count_current() - before,
           malloc_count_num_allocs() - calls);
    malloc_count_set_callback(callback, &told);
    free(malloc(77));
    malloc_count_set_callback(NULL, NULL);
    free(malloc(5));
    printf("told %zu times, last %zu\n", told, told_last - before);
    told = 0;
    b = malloc(700);
    malloc_count_set_callback(in_steps, steps);
    b = realloc(b, 900);
    malloc_count_set_callback(NULL, NULL);
    printf("a realloc: %zu, then %zu\n", steps[0] - before, steps[1] - before);
    free(b);

    void *kept[8];
    pthread_t thread[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, churn, &kept[i]);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    size_t with = malloc_count_current();
    for (int i = 0; i < 8; i++)
        free(kept[i]);
    printf("threads kept %zu\n", with - malloc_count_current());
    malloc_count_print_status();

    in_child();
    check_stack("main", 100000);
    with_stack_of(64 << 10, 20000);
    with_stack_of(32 << 20, 10000000);
    static ucontext_t back, there;
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(64 << 10);
    there.uc_stack.ss_size = 64 << 10;
    there.uc_link = &back;
    makecontext(&there, coroutine, 0);
    swapcontext(&back, &there);
    free(there.uc_stack.ss_sp);
    return 0;
}

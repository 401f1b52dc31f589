/* malloc in a signal handler that comes at any instruction of malloc and free, at a high rate.
 * Modes: handler, altstack (the handler runs on an alternate stack), jump (the handler leaves by
 * siglongjmp, also out of the recorder). Linked with safe_malloc.c: glibc's malloc forbids this. */
#include "victim.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { SIGNALS = 3000 };

static volatile sig_atomic_t signals_seen;
static volatile unsigned long long main_done, handler_done, realloc_done;
static volatile int jumping;
static sigjmp_buf back;

VICTIM void victim_handler(void)
{
    void *block = keep(malloc(33));
    handler_done++;
    free(block);
    barrier();
}

VICTIM void victim_main(void)
{
    void *block = keep(malloc(21));
    main_done++;
    block = keep(realloc(block, 42));
    realloc_done++;
    free(block);
    barrier();
}

static void on_signal(int number)
{
    (void)number;
    signals_seen++;
    victim_handler();
    if (jumping && signals_seen < SIGNALS)
        siglongjmp(back, 1);
}

VICTIM void victim_afterwards(void)
{
    for (int i = 0; i < 100; i++)
        free(keep(malloc(25)));
    barrier();
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    jumping = !strcmp(argv[1], "jump");
    struct sigaction action = {.sa_handler = on_signal};
    static char stack[64 * 1024];
    if (!strcmp(argv[1], "altstack")) {
        CHECK(!sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
        action.sa_flags = SA_ONSTACK;
    }
    CHECK(!sigaction(SIGALRM, &action, NULL));
    /* The memory of safe_malloc.c is bounded, and the signals of a busy machine come late. */
    if (!sigsetjmp(back, 1))
        CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){{0, 100}, {0, 100}}, NULL));
    while (signals_seen < SIGNALS && main_done < 4000000)
        victim_main();
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    signal(SIGALRM, SIG_IGN);
    victim_afterwards();
    victim_fact("main_done", main_done);
    victim_fact("realloc_done", realloc_done);
    victim_fact("handler_done", handler_done);
    victim_fact("signals", (unsigned long long)signals_seen);
    puts("signals: done");
    return 0;
}

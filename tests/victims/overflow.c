/* Its stack overflows, wherever that happens, also inside the recorder; it survives by a handler on
 * another stack that leaves by siglongjmp, as some language runtimes do. */
#include "victim.h"
#include <setjmp.h>
#include <signal.h>

enum { ROUNDS = 5 };

static sigjmp_buf back;
static volatile unsigned long long allocated;

static void on_overflow(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

/* What it allocates is never freed: the way back is never walked. */
VICTIM int victim_deeper(int level)
{
    volatile char room[1000];
    room[0] = (char)level;
    keep(malloc(10));
    allocated++;
    int result = victim_deeper(level + 1) + room[0];
    barrier();
    return result;
}

VICTIM void victim_afterwards(void)
{
    for (int i = 0; i < 100; i++)
        free(keep(malloc(5)));
    barrier();
}

int main(void)
{
    static char stack[64 * 1024];
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK | SA_NODEFER};
    CHECK(!sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
    CHECK(!sigaction(SIGSEGV, &action, NULL));
    for (volatile int round = 0; round < ROUNDS; round++) {
        if (!sigsetjmp(back, 1))
            victim_deeper(0);
        puts("survived");
    }
    victim_afterwards();
    victim_fact("allocated", allocated);
    return 4;
}

/* warm: memory that is written once, once more after half a second, and all the time, for two seconds and a
 * half; the children that it has do the same. */
#include "victim.h"

#include <sys/prctl.h>
#include <sys/wait.h>

enum { BYTES = 4 << 20, ROUNDS = 50, AGAIN = 10, ROUND_US = 50000 };

VICTIM char *victim_fills(void)
{
    return memset(keep(malloc(BYTES)), 1, BYTES);
}

VICTIM char *victim_fills_again(void)
{
    return memset(keep(malloc(BYTES)), 2, BYTES);
}

VICTIM char *victim_writes_half(void)
{
    return memset(keep(malloc(BYTES)), 3, BYTES);
}

static void work(void)
{
    char *once = victim_fills(), *again = victim_fills_again(), *half = victim_writes_half();
    for (int i = 0; i < ROUNDS; i++) {
        memset(half, i, BYTES / 2);
        if (i == AGAIN)
            memset(again, i, BYTES);
        usleep(ROUND_US);
    }
    CHECK(once[BYTES - 1] == 1 && again[BYTES - 1] == AGAIN && half[0] == ROUNDS - 1);
}

int main(int argc, char **argv)
{
    (void)argv;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    pid_t child = argc > 1 ? fork() : -1;
    work();
    if (child > 0)
        CHECK(waitpid(child, NULL, 0) == child);
    return 0;
}

/* A program with a timer that ticks a thousand times a second, until it is told to end: each tick
 * interrupts a system call that waits. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static void tick(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    void *volatile kept = malloc(1000);
    (void)kept;
    if (argc != 2 || sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
        return 1;
    while (access(argv[1], F_OK))
        usleep(10000);
    return 0;
}

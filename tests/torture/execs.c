/* Executes itself, so many times, at moments that it draws: execs TIMES [SEED]. Between it waits a
 * little, so that somebody can look at the program that goes. Ends with status 0. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 0;
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    char left[16], next[16];
    if (times <= 0)
        return 0;
    struct timespec time = {0, rand_r(&seed) % 20000 * 1000};
    nanosleep(&time, NULL);
    snprintf(left, sizeof left, "%d", times - 1);
    snprintf(next, sizeof next, "%u", seed % 1000000);
    execl("/proc/self/exe", argv[0], left, next, (char *)NULL);
    return 1;
}

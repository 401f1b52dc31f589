/* Runs a program again and again, some at a time: what bench/storm.sh measures.
 *
 *   storm COUNT PARALLEL PROGRAM [ARGUMENTS…] */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int count = atoi(argv[1]), parallel = atoi(argv[2]), status;
    for (int i = 0, running = 0; i < count || running; running--) {
        pid_t pid;
        for (; i < count && running < parallel; i++, running++)
            if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0)
                return 1;
        if (wait(&status) < 0 || status != 0)
            return 1;
    }
    return 0;
}

/* Children that pause and resume, of a parent whose other threads do so all the time: pause_forks
 * CHILDREN. A child that has not ended after ten seconds hangs. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tidemark/tidemark.h"

__attribute__((noinline)) void *victim_paused(size_t bytes)
{
    return malloc(bytes);
}
__attribute__((noinline)) void *victim_resumed(size_t bytes)
{
    return malloc(bytes);
}

static atomic_bool over;

static void *pause_and_resume(void *unused)
{
    while (!atomic_load(&over)) {
        tidemark_pause();
        usleep(1);
        tidemark_resume();
        usleep(50);
    }
    return unused;
}

/* Kills what has not ended after ten seconds. True: it was so. A signal of its own would not end a
 * child that waits for the recorder's lock, where signals are blocked. */
static bool hangs(pid_t pid, int *status)
{
    for (int tries = 0; tries < 10000; tries++) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return false;
        usleep(1000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    return true;
}

/* The parent's other threads may have left up to two pauses open. */
static void child(void)
{
    tidemark_pause();
    for (int i = 0; i < 10; i++)
        free(victim_paused(100));
    for (int i = 0; i < 3; i++)
        tidemark_resume();
    for (int i = 0; i < 10; i++)
        free(victim_resumed(100));
    _exit(0);
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 0, hung = 0, failed = 0;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, pause_and_resume, NULL);
    for (int i = 0; i < children && !hung; i++) {
        pid_t pid = fork();
        int status = 0;
        if (pid == 0)
            child();
        hung += hangs(pid, &status);
        failed += status != 0;
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d hung, %d failed\n", hung, failed);
    return failed > 0;
}

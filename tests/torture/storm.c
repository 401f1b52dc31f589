/* Storms of processes. exec N P: N processes, P at a time, each of them a program of its own that ends
 * at once. fork N: N forks that live at the same time, and end together. barrier N S: N programs of their
 * own, none of which ends before all have begun, and S seconds have passed then. Each process allocates BLOCKS counted blocks and frees
 * all but one. The first process leaves its pid in the file `first`. */
#include "torture.h"
#include <fcntl.h>
#include <spawn.h>

enum { BLOCKS = 10 };

static void storm_child(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        void *block = torture_counted(100);
        if (i)
            torture_freed(block);
    }
}

static void storm_spawn(const char *self)
{
    extern char **environ;
    char *arguments[] = {(char *)self, (char *)"child", NULL};
    pid_t pid;
    CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
}

static void storm_reap(void)
{
    int status;
    while (waitpid(-1, &status, 0) < 0)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void storm_exec(const char *self, int count, int parallel)
{
    for (int i = 0; i < count; i++) {
        if (i >= parallel)
            storm_reap();
        storm_spawn(self);
    }
    for (int i = 0; i < (count < parallel ? count : parallel); i++)
        storm_reap();
}

static void storm_fork(int count)
{
    int gate[2];
    char byte;
    CHECK(pipe(gate) == 0);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid)
            continue;
        close(gate[1]);
        storm_child();
        CHECK(read(gate[0], &byte, 1) == 0); /* until the parent lets all go */
        exit(0);
    }
    close(gate[1]);
    for (int i = 0; i < count; i++)
        storm_reap();
}

/* Says that it is up, and waits until all are. */
static void storm_wait_for_others(const char *up, const char *gate)
{
    char byte;
    CHECK(write(atoi(up), "", 1) == 1);
    CHECK(read(atoi(gate), &byte, 1) == 0);
}

static void storm_barrier(const char *self, int count, int seconds)
{
    extern char **environ;
    int up[2], gate[2];
    char names[2][16], byte;
    CHECK(pipe(up) == 0 && pipe(gate) == 0);
    CHECK(fcntl(gate[1], F_SETFD, FD_CLOEXEC) == 0);
    snprintf(names[0], sizeof names[0], "%d", up[1]);
    snprintf(names[1], sizeof names[1], "%d", gate[0]);
    char *arguments[] = {(char *)self, (char *)"child", names[0], names[1], NULL};
    for (int i = 0; i < count; i++) {
        pid_t pid;
        CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
    }
    for (int i = 0; i < count; i++)
        CHECK(read(up[0], &byte, 1) == 1);
    sleep((unsigned)seconds);
    close(gate[1]);
    for (int i = 0; i < count; i++)
        storm_reap();
}

int main(int argc, char **argv)
{
    if (argc >= 2 && !strcmp(argv[1], "child")) {
        storm_child();
        if (argc == 4)
            storm_wait_for_others(argv[2], argv[3]);
        return 0;
    }
    CHECK(argc == 4);
    int count = atoi(argv[2]);
    int file = open("first", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(dprintf(file, "%d\n", (int)getpid()) > 0 && close(file) == 0);
    if (!strcmp(argv[1], "exec"))
        storm_exec(argv[0], count, atoi(argv[3]));
    else if (!strcmp(argv[1], "barrier"))
        storm_barrier(argv[0], count, atoi(argv[3]));
    else
        storm_fork(count);
    printf("%d processes\n", count);
    return 0;
}

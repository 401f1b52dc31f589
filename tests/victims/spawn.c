/* Starts itself in every way there is: fork + exec, vfork + exec, posix_spawn, system. */
#include "victim.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

VICTIM void victim_parent(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
    barrier();
}

VICTIM void victim_child(void)
{
    for (int i = 0; i < 20; i++)
        keep(malloc(200));
    barrier();
}

static void expect_exit(pid_t pid, int wanted)
{
    int status;
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        victim_child();
        return atoi(argv[1]);
    }
    victim_parent();

    pid_t pid = fork();
    if (!pid) {
        execl(argv[0], argv[0], "1", (char *)NULL);
        _exit(99);
    }
    expect_exit(pid, 1);

    pid = vfork();
    if (!pid) {
        execl(argv[0], argv[0], "2", (char *)NULL);
        _exit(99);
    }
    expect_exit(pid, 2);

    char *arguments[] = {argv[0], (char *)"3", NULL};
    CHECK(!posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ));
    expect_exit(pid, 3);
    arguments[1] = (char *)"4";
    CHECK(!posix_spawnp(&pid, argv[0], NULL, NULL, arguments, environ));
    expect_exit(pid, 4);

    char command[4096];
    snprintf(command, sizeof command, "exec '%s' 5", argv[0]);
    int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);

    /* A vfork whose exec fails, then exits: the parent's memory was lent and comes back whole. */
    pid = vfork();
    if (!pid) {
        execl("/nonexistent/program", "program", (char *)NULL);
        _exit(6);
    }
    expect_exit(pid, 6);
    victim_parent();
    return 0;
}

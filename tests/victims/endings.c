/* Ends in the way that argument 1 says. Everything before the end is in the profile. */
#include "victim.h"
#include <signal.h>
#include <sys/syscall.h>

static void *kept[1000];

VICTIM void victim_work(void)
{
    for (int i = 0; i < 1000; i++)
        kept[i] = keep(malloc((size_t)i + 1));
    for (int i = 0; i < 500; i++)
        free(kept[i]);
}

VICTIM void victim_at_quick_exit(void)
{
    keep(malloc(77));
    barrier();
}

static void *work(void *argument)
{
    victim_work();
    return argument;
}

static void end(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(7);
    if (!strcmp(how, "_exit"))
        _exit(8);
    if (!strcmp(how, "quick_exit"))
        quick_exit(9);
    if (!strcmp(how, "exit_group"))
        syscall(SYS_exit_group, 10);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        *(volatile int *)0 = 1;
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "int"))
        raise(SIGINT);
    if (!strcmp(how, "fpe"))
        raise(SIGFPE);
    if (!strcmp(how, "thread_exit")) /* main is gone, then the last thread */
        pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(!at_quick_exit(victim_at_quick_exit));
    pthread_t thread;
    victim_work();
    CHECK(!pthread_create(&thread, NULL, work, NULL) && !pthread_join(thread, NULL));
    puts("endings: before the end");
    fflush(stdout);
    end(argv[1]);
    return 0;
}

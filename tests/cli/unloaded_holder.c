/* Holds another library (unloaded.c), and closes it when it is closed itself. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void *held;

static void ask(void)
{
    void *volatile block = malloc(1000);
    free(block);
}

__attribute__((destructor)) static void let_go(void)
{
    if (!held)
        return;
    pid_t child = fork();
    ask();
    dlclose(held);
    ask();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

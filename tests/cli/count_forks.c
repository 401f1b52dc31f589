/* count_forks: children that fork() knows nothing of, in each of which a hundred blocks of 1,000
 * bytes are taken, and ten are given back; the parent takes one of 7 bytes after each. HOW: fork,
 * _Fork, clone (as a system call), vfork (the child takes nothing, as it may not). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void);

static void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static void work(void)
{
    void *block[100];
    for (int i = 0; i < 100; i++)
        block[i] = keep(malloc(1000));
    for (int i = 0; i < 10; i++)
        free(block[i]);
}

static pid_t child_by(const char *how)
{
    if (!strcmp(how, "fork"))
        return fork();
    if (!strcmp(how, "_Fork"))
        return _Fork();
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    keep(malloc(100000));
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "vfork")) {
            by_vfork();
        } else {
            pid_t child = child_by(argv[i]);
            if (child == 0) {
                work();
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
        keep(malloc(7));
    }
    return 0;
}

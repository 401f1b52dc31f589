/* fork while other threads allocate: parent and children have profiles of their own. */
#include "victim.h"
#include <sys/wait.h>

static void *inherited;

static _Atomic int stop;
static _Atomic unsigned long long thread_done;

VICTIM void victim_thread(void)
{
    unsigned long long done = 0;
    for (; !stop; done++)
        free(keep(malloc(16 + done % 500)));
    thread_done += done;
}

VICTIM void victim_parent(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(123));
    barrier();
}

VICTIM void victim_child(void)
{
    free(inherited);
    for (int i = 0; i < 100; i++) {
        void *block = keep(malloc(10));
        if (i % 2)
            free(block);
    }
}

VICTIM void victim_child_thread(void)
{
    for (int i = 0; i < 30; i++)
        keep(malloc(3));
    barrier();
}

static void *child_body(void *argument)
{
    victim_child_thread();
    return argument;
}

static void *body(void *argument)
{
    victim_thread();
    return argument;
}

int main(int argc, char **argv)
{
    int threads = victim_thread_count(argc, argv);
    pthread_t thread[64];
    inherited = keep(malloc(77));
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&thread[i], NULL, body, NULL));
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            victim_child();
            pthread_t other;
            CHECK(!pthread_create(&other, NULL, child_body, NULL) && !pthread_join(other, NULL));
            if (i % 2)
                _exit(i);
            exit(i);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i);
    }
    stop = 1;
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_join(thread[i], NULL));
    victim_fact("thread_done", thread_done);
    victim_parent();
    CHECK(waitpid(-1, NULL, 0) < 0); /* no child but our own */
    return 0;
}

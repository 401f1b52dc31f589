/* Executes itself: the same process, another image, a profile of its own. */
#include "victim.h"

VICTIM void victim_before_exec(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
    barrier();
}

VICTIM void victim_after_exec(void)
{
    for (int i = 0; i < 20; i++)
        keep(malloc(200));
    barrier();
}

static void *allocate(void *argument)
{
    for (;;)
        free(keep(malloc(30)));
    return argument;
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        victim_after_exec();
        return 5;
    }
    /* A failed exec changes nothing. */
    CHECK(execl("/nonexistent/program", "program", (char *)NULL) < 0);
    victim_before_exec();
    pthread_t thread;
    if (atoi(argv[1]) > 1)
        CHECK(!pthread_create(&thread, NULL, allocate, NULL));
    execl("/proc/self/exe", argv[0], argv[1], "again", (char *)NULL);
    return 99;
}

/* Closes every file descriptor at start, opens files where they were, and goes on.
 * Modes: 3 (all but stdin, stdout, stderr), 0 (all). */
#include "victim.h"
#include <sys/stat.h>

VICTIM void victim_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(11));
    barrier();
}

VICTIM void victim_after(void)
{
    for (int i = 0; i < 100000; i++)
        free(keep(malloc(12)));
    barrier();
}

static void *body(void *argument)
{
    victim_after();
    return argument;
}

/* Nobody else may write to, or close, what now has the old numbers. */
static void check_files(const int *fd)
{
    struct stat about;
    for (int i = 0; i < 8; i++) {
        CHECK(!fstat(fd[i], &about));
        CHECK(about.st_size == 0);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    int first = atoi(argv[1]), fd[8];
    victim_before();
    closefrom(first);
    for (int i = 0; i < 8; i++) {
        char name[] = "/tmp/closefds.XXXXXX";
        fd[i] = mkstemp(name);
        CHECK(fd[i] == first + i);
        unlink(name);
    }
    victim_in_threads(4, body);
    victim_after();
    check_files(fd);
    if (first > 0)
        puts("closefds: done");
    return 21;
}

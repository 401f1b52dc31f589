/* Goes into the background as daemons do, and holds 8 MiB there for half a second; with an argument
 * it waits for its fork instead, which is a worker then. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile cache;

static void serve(void)
{
    size_t bytes = 8 << 20;
    cache = malloc(bytes);
    memset(cache, 1, bytes);
    usleep(500000);
    free(cache);
}

int main(int argc, char **argv)
{
    (void)argv;
    cache = malloc(100);
    free(cache);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        serve();
    } else if (argc > 1) {
        waitpid(child, NULL, 0);
    }
    return 0;
}

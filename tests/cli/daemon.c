/* Goes into the background as daemons do, and holds 8 MiB there for half a second; with "waits" it waits for
 * its fork instead, which is a worker then; with the name of a file the daemon ends when the file is gone,
 * and with one more argument what has started it fails. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile cache;

static void serve(const char *file)
{
    size_t bytes = 8 << 20;
    cache = malloc(bytes);
    memset(cache, 1, bytes);
    do
        usleep(500000);
    while (file && access(file, F_OK) == 0);
    free(cache);
}

int main(int argc, char **argv)
{
    bool waits = argc > 1 && !strcmp(argv[1], "waits");
    cache = malloc(100);
    free(cache);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        serve(waits || argc < 2 ? NULL : argv[1]);
    } else if (waits) {
        waitpid(child, NULL, 0);
    }
    return argc > 2 ? 3 : 0;
}

/* named_tracer [PID]: names a tracer of its own (PR_SET_PTRACER), if there is one to name, and ends. */
#include <stdlib.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    if (argc > 1)
        prctl(PR_SET_PTRACER, strtoul(argv[1], NULL, 10), 0, 0, 0);
    free(malloc(100));
    return 0;
}

/* A statically linked program: nothing can be loaded into it. With an argument it stays. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argv;
    puts("static: ran");
    fflush(stdout);
    while (argc > 1)
        pause();
    return 0;
}

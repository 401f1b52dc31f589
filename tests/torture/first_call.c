/* A program whose first call is made by a library's constructor (first_library.c). Without arguments
 * it lists the functions that can be the first. */
#include <stdio.h>
#include "first_call.h"

int main(int argc, char **argv)
{
    (void)argv;
    for (unsigned i = 0; argc == 1 && first_name(i); i++)
        puts(first_name(i));
    if (argc == 2)
        puts("main");
    return 0;
}

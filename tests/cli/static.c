/* A statically linked program: nothing can be preloaded into it. */
#include <stdio.h>

int main(void)
{
    puts("static: ran");
    return 0;
}

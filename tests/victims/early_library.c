/* A library whose constructor runs before the victim's own, and whose destructor runs last. */
#include <stdlib.h>

__attribute__((noipa)) void *victim_library(void);
__attribute__((noipa)) void victim_library_constructor(void);
__attribute__((noipa)) void victim_library_destructor(void);

static void *volatile block[8];

__attribute__((noipa)) void *victim_library(void)
{
    return block[0];
}

__attribute__((noipa, constructor)) void victim_library_constructor(void)
{
    for (int i = 0; i < 4; i++)
        block[i] = malloc(40);
}

__attribute__((noipa, destructor)) void victim_library_destructor(void)
{
    block[4] = malloc(50);
    for (int i = 0; i < 3; i++)
        free(block[i]);
}

/* A module that deepbind.c loads with RTLD_DEEPBIND: frees what the program took, and takes
 * what the program frees. */
#include <stdlib.h>
#include <string.h>

char *bound_longer(char *text)
{
    size_t length = strlen(text);
    char *longer = malloc(2 * length + 1);

    if (longer)
        memcpy(memcpy(longer, text, length) + length, text, length + 1);
    free(text);
    return longer;
}

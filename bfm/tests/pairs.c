/* Takes and frees one block of so many bytes, so many times: what a pair costs where nothing is in
 * the way. instructions.sh counts. */
#include <stdlib.h>
#include "tidemark/bfm.h"

int main(int count, char **arguments)
{
    size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    long pairs = count > 2 ? strtol(arguments[2], NULL, 10) : 0;

    for (long i = 0; i < pairs; i++) {
        void *volatile block = bfm_malloc(bytes);
        bfm_free(block);
    }
    return 0;
}

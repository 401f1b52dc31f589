/* truth: healthy
 * what: a service that idles and works; each request frees what it took
 * run: service idle 0.5; ask 3000; idle 0.5; ask 3000; idle 0.5 */
#include "truth.h"

int main(void)
{
    char line[200];
    size_t sum = 0;
    while (fgets(line, sizeof line, stdin)) {
        char *copy = strdup(line), *body = malloc(5000);
        memset(body, copy[0], 5000);
        sum += strlen(copy) + (size_t)body[9];
        free(body);
        free(copy);
    }
    printf("%zu\n", sum);
    return 0;
}

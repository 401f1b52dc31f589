/* truth: sick
 * what: a service that idles, works and idles; each request forgets its headers
 * expect: leak-lost leak-growth
 * run: service idle 0.7; ask 5000; idle 1
 * small: yes */
#include "truth.h"

NOINLINE static char *header_parse(const char *line)
{
    char *header = malloc(300); /* guilty: header_parse */
    snprintf(header, 300, "X: %s", line);
    return header;
}

NOINLINE static size_t request_serve(const char *line)
{
    char *body = malloc(2000);
    memset(body, line[0], 2000);
    size_t size = strlen(header_parse(line)) + (size_t)body[7];
    free(body);
    return size;
}

int main(void)
{
    char line[200];
    size_t sum = 0;
    while (fgets(line, sizeof line, stdin))
        sum += request_serve(line);
    printf("%zu\n", sum);
    return 0;
}

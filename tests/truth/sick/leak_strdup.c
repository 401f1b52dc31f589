/* truth: sick
 * what: the name of each request is duplicated by strdup and overwritten by the next one
 * expect: leak-lost leak-growth */
#include "truth.h"

static char *current;

NOINLINE static void request_begin(const char *name)
{
    current = strdup(name); /* guilty: request_begin */
}

int main(void)
{
    char name[100];
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "/files/archive/2020/documents/of/some/length/request-%d", i);
        request_begin(name);
        pace(i, 40);
    }
    return current[0] == 'x';
}

/* truth: sick
 * what: the canonical name of each look-up is made twice; one of the two is lost
 * real: glibc 2.39 development, CVE-2023-5156: the mending of CVE-2023-4806 leaks in getaddrinfo
 * expect: leak-lost leak-growth */
#include "truth.h"

struct answer {
    char *canonical;
    int address;
};

NOINLINE static void process_canonname(struct answer *answer, const char *name)
{
    answer->canonical = strdup(name); /* guilty: process_canonname */
}

NOINLINE static void look_up(const char *name)
{
    struct answer answer = {0};
    process_canonname(&answer, name);
    process_canonname(&answer, name);
    use(answer.canonical);
    free(answer.canonical);
}

int main(void)
{
    char name[120];
    for (int i = 0; i < 15000; i++) {
        snprintf(name, sizeof name, "a.host.with.a.long.name.in.some.department.example.org.%d", i);
        look_up(name);
        pace(i, 30);
    }
    return 0;
}

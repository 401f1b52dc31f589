/* truth: sick
 * what: attached in the middle: a set of seen ids is a chained hash table that is never cleaned
 * expect: leak-growth leak-possible
 * run: attach 0.7 1.6 */
#include "truth.h"

struct seen {
    struct seen *next;
    unsigned id;
    char origin[100];
};

static struct seen *buckets[4096];

NOINLINE static int seen_before(unsigned id)
{
    for (struct seen *each = buckets[id % 4096]; each; each = each->next)
        if (each->id == id)
            return 1;
    struct seen *seen = malloc(sizeof *seen); /* guilty: seen_before */
    memset(seen->origin, 'o', sizeof seen->origin);
    seen->id = id;
    seen->next = buckets[id % 4096];
    buckets[id % 4096] = seen;
    return 0;
}

int main(void)
{
    int again = 0;
    for (int i = 0; i < 32000; i++) {
        char *message = malloc(700);
        message[i % 700] = 1;
        use(message);
        again += seen_before((unsigned)i / 2 * 2654435761u);
        free(message);
        pace(i, 10);
    }
    return again == 3;
}

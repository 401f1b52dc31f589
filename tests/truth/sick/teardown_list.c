/* truth: sick
 * what: a queue that nobody empties grows all through the run and is freed at its end
 * expect: grew-until-teardown leak-growth */
#include "truth.h"

struct job {
    struct job *next;
    char text[300];
};

static struct job *queue;

NOINLINE static void queue_add(int i)
{
    struct job *job = malloc(sizeof *job); /* guilty: queue_add */
    memset(job->text, i, sizeof job->text);
    job->next = queue;
    queue = job;
}

NOINLINE static void queue_destroy(void)
{
    while (queue) {
        struct job *next = queue->next;
        free(queue);
        queue = next;
    }
}

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        queue_add(i);
        pace(i, 25);
    }
    queue_destroy();
    return 0;
}

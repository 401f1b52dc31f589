/* 10,000 short-lived threads, some at a time; main frees what they leave. */
#include "victim.h"

enum { THREADS = 10000 };

VICTIM void *victim_brief(void)
{
    void *first = keep(malloc(100)), *second = keep(malloc(200));
    void *result = keep(malloc(300));
    free(second);
    free(first);
    return result;
}

static void *body(void *argument)
{
    (void)argument;
    return victim_brief();
}

int main(int argc, char **argv)
{
    int at_once = victim_thread_count(argc, argv);
    pthread_t thread[64];
    for (int done = 0; done < THREADS; done += at_once) {
        for (int i = 0; i < at_once; i++)
            CHECK(!pthread_create(&thread[i], NULL, body, NULL));
        for (int i = 0; i < at_once; i++) {
            void *left;
            CHECK(!pthread_join(thread[i], &left));
            free(left);
        }
    }
    puts("manythreads: done");
    return 0;
}

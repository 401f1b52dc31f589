/* truth: healthy
 * what: four threads with stacks of 64 MiB, of which each uses some KiB
 * libs: -pthread */
#include "truth.h"
#include <pthread.h>

static void *work(void *argument)
{
    char line[4096];
    for (int i = 0; i < 100; i++) {
        char *copy = malloc(1000);
        memset(line, i, sizeof line);
        use(line);
        use(copy);
        pause_ms(3);
        free(copy);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[4];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], &attributes, work, NULL))
            abort();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* truth: healthy
 * what: a player with twelve frames of 1 MB that it uses in turn, and one thread that shows them */
#include "truth.h"
#include <pthread.h>

static char *frames[12];

static void *show(void *argument)
{
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        sum += frames[i % 12][i];
        pause_ms(3);
    }
    use(&sum);
    return argument;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 12; i++)
        frames[i] = calloc(1, 1 << 20);
    pthread_create(&thread, NULL, show, NULL);
    for (int i = 0; i < 300; i++) {
        memset(frames[(i + 3) % 12], i, 1 << 20);
        pause_ms(2);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < 12; i++)
        free(frames[i]);
    return 0;
}

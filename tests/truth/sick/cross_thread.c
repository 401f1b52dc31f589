/* truth: sick
 * what: one thread makes 200,000 messages, another frees them
 * expect: cross-thread-frees */
#include "truth.h"
#include <pthread.h>

#define ROOM 1024

static void *ring[ROOM];
static unsigned put, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

NOINLINE static void *message_make(int i)
{
    char *message = malloc(96); /* guilty: message_make */
    message[i % 96] = 1;
    return message;
}

static void *consumer(void *argument)
{
    for (int i = 0; i < 200000; i++) {
        pthread_mutex_lock(&lock);
        while (put == taken)
            pthread_cond_wait(&moved, &lock);
        void *message = ring[taken++ % ROOM];
        pthread_cond_signal(&moved);
        pthread_mutex_unlock(&lock);
        free(message);
    }
    return argument;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, consumer, NULL);
    for (int i = 0; i < 200000; i++) {
        void *message = message_make(i);
        pthread_mutex_lock(&lock);
        while (put - taken == ROOM)
            pthread_cond_wait(&moved, &lock);
        ring[put++ % ROOM] = message;
        pthread_cond_signal(&moved);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
    return 0;
}

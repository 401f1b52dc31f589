/* A program as the STAMP benchmarks use malloc_profile. */
#include "malloc_profile.h"

#include <pthread.h>
#include <stdlib.h>

#define TM_MALLOC(size)                                                                            \
    malloc_enter_region(TX_REGION) ? (void *)malloc(size) : (void *)0;                             \
    malloc_exit_current_region()

static void *body(void *argument)
{
    (void)argument;
    for (int i = 0; i < 1000; i++) {
        void *block = TM_MALLOC(100);
        void *plain = malloc(16);
        free(block);
        free(plain);
    }
    return NULL;
}

int main(void)
{
    memprofile_start("regions.dat", 100000.0, 4096, NULL);
    void *sequential = malloc(2000);
    memprofile_insertnull();
    malloc_enter_region(PAR_REGION);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, body, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    malloc_enter_region(SEQ_REGION);
    memprofile_end();
    free(sequential);
    return 0;
}

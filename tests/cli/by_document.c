/* Calls of each kind in four threads, for an independent reader of the trace (by_document.py). The
 * threads take blocks from one another, so frees are of other threads' blocks too. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 3, CALLS = 4000, SLOTS = 64, MAPPED = 1 << 20 };
static void *slots[SLOTS];

static void *by_document_work(void *argument)
{
    unsigned random = (unsigned)(long)argument;
    for (int call = 0; call < CALLS; call++) {
        random = random * 1103515245 + 12345;
        void **slot = &slots[random >> 16 & (SLOTS - 1)];
        size_t size = (random >> 8 & 1023) + (random >> 20 & 1 ? 4096 : 0);
        void *old = random & 7 ? NULL : __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
        void *block = realloc(old, size + 1);
        free(__atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, by_document_work, (void *)(i + 1));
    by_document_work((void *)9L);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    char *mapping = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapping[0] = 1;
    madvise(mapping, MAPPED, MADV_DONTNEED);
    munmap(mapping, MAPPED);
    free(aligned_alloc(4096, 8192));
    free(calloc(10, 10));
    free(malloc((size_t)-1 >> 1)); /* fails */
    return 0;
}

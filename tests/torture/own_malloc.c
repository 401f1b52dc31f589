/* A program with a malloc of its own, of which Tidemark sees nothing (known limit): it runs as
 * ever. WRAPS: one that hands on to the next malloc there is, as wrappers do: its blocks are seen
 * once. MAPS: one that maps its memory while it holds its lock, as jemalloc's does in rustc:
 * whoever listens to mmap may not allocate. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef WRAPS
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

__attribute__((noinline)) static void *wrapper(size_t bytes)
{
    if (!next_malloc)
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    void *block = next_malloc(bytes);
    __asm__ volatile("" : "+r"(block));
    return block;
}

void *malloc(size_t bytes)
{
    void *block = wrapper(bytes);
    __asm__ volatile("" : "+r"(block));
    return block;
}

void free(void *block)
{
    if (!next_free)
        next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next_free(block);
}
#else
enum { HEAP_BYTES = 64 << 20 };
#ifdef MAPS
static char *heap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void need_heap(void)
{
    pthread_mutex_lock(&lock);
    if (!heap)
        heap = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_unlock(&lock);
}
#else
static char heap[HEAP_BYTES] __attribute__((aligned(16)));

static void need_heap(void)
{
}
#endif
static size_t used;

void *malloc(size_t bytes)
{
    need_heap();
    size_t at = __atomic_fetch_add(&used, (bytes + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (bytes > HEAP_BYTES || at + bytes + 32 > HEAP_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(heap + at, &bytes, sizeof bytes);
    return heap + at + 16;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* never used before: zero */
}

void *realloc(void *old, size_t bytes)
{
    void *block = malloc(bytes);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - 16, sizeof before);
    if (block && old)
        memcpy(block, old, before < bytes ? before : bytes);
    return block;
}
#endif

static void *body(void *argument)
{
    size_t sum = 0;
    for (size_t i = 1; i <= 1000; i++) {
        char *block = malloc(i);
        memset(block, (int)i, i);
        sum += (unsigned char)block[i - 1];
        free(block);
    }
    *(size_t *)argument = sum;
    return NULL;
}

int main(void)
{
    size_t sum[4], all = 0;
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, body, &sum[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++)
        all += sum[i];
    printf("%zu\n", all);
    return 13;
}

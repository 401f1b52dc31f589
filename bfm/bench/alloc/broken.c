/* An allocator with one of five mistakes, to see that bench_alloc finds it: BROKEN_BY=overlap,
 * short, dirty, lost or tardy. It takes memory from one mapping and never gives any back. Threads
 * are safe in it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void *memalign(size_t alignment, size_t bytes);
size_t malloc_usable_size(void *block);

enum { HEAD = 16, EVERY = 500 };
static const size_t arena_bytes = (size_t)8 << 30;

static char *_Atomic arena;
static _Atomic size_t used;
static _Atomic unsigned calls;

static char broken_mistake(void)
{
    const char *name = getenv("BROKEN_BY");
    return name ? name[0] : '-';
}

/* One mapping for all threads; who comes second unmaps his own. */
static char *broken_arena(void)
{
    char *known = atomic_load(&arena), *none = NULL;
    if (known)
        return known;
    char *made = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&arena, &none, made)) {
        munmap(made, arena_bytes);
        made = none;
    }
    return made;
}

static long long broken_thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* tardy: 3 ms of the processor, however many others want it */
static void broken_spend_time(void)
{
    long long until = broken_thread_cpu_ns() + 3000000;
    while (broken_thread_cpu_ns() < until)
        ;
}

void *memalign(size_t alignment, size_t bytes)
{
    char *from = broken_arena();
    int wrong = atomic_fetch_add(&calls, 1) % EVERY == EVERY - 1;
    alignment = alignment < 16 ? 16 : alignment;
    if (!from || bytes > arena_bytes / 4) {
        errno = ENOMEM;
        return NULL;
    }
    if (wrong && broken_mistake() == 't')
        broken_spend_time();
    size_t room = (bytes + 15) / 16 * 16 + HEAD + alignment;
    if (wrong && broken_mistake() == 'o') /* overlap: the next block begins inside this one */
        room -= bytes / 2 & ~(size_t)15;
    uintptr_t at = (uintptr_t)from + atomic_fetch_add(&used, room) + HEAD;
    at = (at + alignment - 1) / alignment * alignment;
    if (at + bytes > (uintptr_t)from + arena_bytes) {
        errno = ENOMEM;
        return NULL;
    }
    ((size_t *)at)[-1] =
        wrong && broken_mistake() == 's' ? bytes / 2 : bytes; /* short: says too little */
    return (void *)at;
}

void *malloc(size_t bytes)
{
    return memalign(16, bytes);
}

size_t malloc_usable_size(void *block)
{
    return block ? ((size_t *)block)[-1] : 0;
}

/* dirty: what was free is not cleared */
void *calloc(size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    char *block = malloc(count * bytes);
    if (block && broken_mistake() == 'd')
        memset(block, 0xDD, count * bytes);
    return block;
}

/* lost: a realloc forgets the last bytes */
void *realloc(void *block, size_t bytes)
{
    size_t old = malloc_usable_size(block), kept = old < bytes ? old : bytes;
    void *moved = malloc(bytes);
    if (moved && block)
        memcpy(moved, block, broken_mistake() == 'l' && kept > 64 ? kept - 16 : kept);
    return moved;
}

void *reallocarray(void *block, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, count * bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    int before = errno;
    if (alignment % sizeof(void *) || alignment & (alignment - 1))
        return EINVAL;
    void *made = memalign(alignment, bytes);
    errno = before;
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block)
{
    (void)block;
}

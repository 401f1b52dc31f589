/* An allocator of the program's own, in each way that --allocator-functions can name; cli/arena knows the
 * figures. Bytes of blocks are N times their number. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <pthread.h>

#define OWN __attribute__((noinline, noclone))

enum { CHUNK = 64 << 10 };

struct arena {
    char *chunk;
    size_t used;
    struct arena *child;
};

/* The chunk is taken when it is needed first: a malloc inside of the function. */
OWN void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (!arena->chunk)
        arena->chunk = malloc(CHUNK);
    void *block = arena->chunk + arena->used;
    arena->used += (bytes + 15) & ~(size_t)15;
    return memset(block, 1, bytes);
}

OWN void *arena_zalloc(struct arena *arena, size_t count, size_t size)
{
    return memset(arena_alloc(arena, count * size), 0, count * size); /* one event, not two */
}

OWN int arena_out(void **out, struct arena *arena, size_t bytes)
{
    if (bytes > CHUNK)
        return 12;
    *out = arena_alloc(arena, bytes);
    return 0;
}

OWN void *arena_resize(struct arena *arena, void *old, size_t bytes)
{
    void *block = arena_alloc(arena, bytes);

    return old ? memcpy(block, old, 16) : block;
}

OWN void arena_free(void *block)
{
    memset(block, 2, 1);
}

/* Calls itself: no jump back to its beginning. */
OWN __attribute__((optimize("no-optimize-sibling-calls"))) void arena_reset(struct arena *arena)
{
    arena->used = 0;
    if (arena->child)
        arena_reset(arena->child);
}

/* Something jumps into its beginning. */
OWN void arena_loop(struct arena *arena)
{
    arena->used = 0;
    if (arena->child)
        arena_loop(arena->child);
}

static void *arena_any(size_t bytes)
{
    return malloc(bytes);
}

static void *(*arena_choose(void))(size_t)
{
    return arena_any;
}

void *arena_chosen(size_t bytes) __attribute__((ifunc("arena_choose")));

OWN void arena_jump(struct arena *arena, size_t bytes, jmp_buf *to);
void arena_jump(struct arena *arena, size_t bytes, jmp_buf *to)
{
    arena->used += bytes;
    longjmp(*to, 1);
}

static OWN void *hidden_alloc(size_t bytes)
{
    static char room[1 << 16];
    static size_t used;

    used += bytes;
    return room + used - bytes;
}

OWN void *tail_alloc(struct arena *arena, size_t bytes)
{
    return arena_alloc(arena, bytes);
}

static struct arena first, second, third = {.child = &second};

__attribute__((constructor)) static void early(void)
{
    arena_alloc(&third, 100); /* before main, and perhaps before the recorder */
}

static void in_handler(int number)
{
    (void)number;
    arena_alloc(&first, 1000);
}

static void *in_thread(void *own)
{
    for (int i = 0; i < 100; i++)
        arena_alloc(own, 10);
    return NULL;
}

static void in_threads(void)
{
    static struct arena arenas[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, &arenas[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void mapped(void)
{
    struct arena map = {
        .chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

    for (int i = 0; i < 10; i++)
        arena_alloc(&map, 300);
    munmap(map.chunk, CHUNK);
}

int main(void)
{
    jmp_buf back;
    void *block;

    for (int i = 0; i < 100; i++)
        arena_alloc(&first, 100); /* 10000, all of it freed with the chunk */
    arena_zalloc(&first, 10, 20);
    if (arena_out(&block, &first, 300) != 0 || arena_out(&block, &first, 1 << 20) == 0)
        return 1;
    block = arena_resize(&first, NULL, 400);
    block = arena_resize(&first, block, 500);
    arena_free(block);
    if (!setjmp(back))
        arena_jump(&first, 0, &back);
    signal(SIGUSR1, in_handler);
    raise(SIGUSR1);
    tail_alloc(&first, 600);
    hidden_alloc(700);
    free(first.chunk); /* its blocks go with it */
    arena_alloc(&second, 50);
    arena_reset(&third); /* the block of `early`, and the child's */
    arena_alloc(&second, 60);
    mapped();
    in_threads();
    arena_loop(&third);
    free(arena_chosen(5));
    puts("done");
    return 0;
}

/* A program that asks for memory through functions of its own: a wrapper that cannot fail, and an arena that
 * hands out pieces of large blocks.
 *
 *     gcc -g -O1 examples/wrappers.c -o wrappers
 *     tidemark record -o wrappers.tmk ./wrappers
 *     tidemark record -o arena.tmk --allocator-functions 'arena_take(2)' ./wrappers
 *
 * Look for: "xmalloc ← name_read" loses blocks; and who fills the arena. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define CHUNK    (256 * 1024)

struct arena {
    char *at, *end;
};

NOINLINE static void *xmalloc(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        abort();
    return block;
}

/* The chunks are freed by nobody before the end of the program, as arenas do. */
NOINLINE static void *arena_take(struct arena *arena, size_t bytes)
{
    if (bytes > (size_t)(arena->end - arena->at)) {
        arena->at = xmalloc(CHUNK);
        arena->end = arena->at + CHUNK;
    }
    arena->at += bytes;
    return arena->at - bytes;
}

NOINLINE static size_t name_read(int i)
{
    char *name = xmalloc(64); /* guilty: name_read */
    snprintf(name, 64, "user %d", i);
    return strlen(name);
}

NOINLINE static size_t line_read(int i)
{
    char *line = xmalloc(200);
    snprintf(line, 200, "%d: a line", i);
    size_t length = strlen(line);
    free(line);
    return length;
}

NOINLINE static size_t edge_add(struct arena *arena, int i)
{
    int *edge = arena_take(arena, 48);
    edge[0] = i;
    return (size_t)edge[0] & 1;
}

NOINLINE static size_t point_add(struct arena *arena, int i)
{
    int *point = arena_take(arena, 16);
    point[0] = i;
    return (size_t)point[0] & 1;
}

int main(void)
{
    struct arena arena = {NULL, NULL};
    size_t sum = 0;
    for (int i = 0; i < 50000; i++)
        sum += name_read(i) + line_read(i) + edge_add(&arena, i) + point_add(&arena, i);
    printf("%zu\n", sum);
    return 0;
}

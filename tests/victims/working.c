/* working THREADS MS [wait]: ends after MS milliseconds, while threads are still at work: they fill
 * sets of strings, which only their stacks know, and let go of them again. They lose nothing. With
 * "wait" it loses 100 blocks, says its pid and waits, and so do the threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 6, STRINGS = 20, LOST = 100 };

struct set {
    char **strings;
    int count, room;
};

/* The new array is a block that nobody has seen yet, when the old one is freed. */
static void grow(struct set *set)
{
    char **strings = malloc((size_t)(set->room + 2) * sizeof *strings);
    if (set->count)
        memcpy(strings, set->strings, (size_t)set->count * sizeof *strings);
    free(set->strings);
    set->strings = strings;
    set->room++;
}

static void add(struct set *set, int depth, int number)
{
    char text[40];
    snprintf(text, sizeof text, "%d-%d-a-path", depth, number);
    if (set->count + 1 >= set->room)
        grow(set);
    set->strings[set->count++] = strdup(text);
}

static void let_go(struct set *set)
{
    for (int i = 0; i < set->count; i++)
        free(set->strings[i]);
    free(set->strings);
    free(set);
}

static void fill(int depth)
{
    struct set *set = calloc(1, sizeof *set);
    for (int i = 0; i < STRINGS; i++) {
        add(set, depth, i);
        if (depth && i == STRINGS / 2)
            fill(depth - 1);
    }
    let_go(set);
}

static void *work(void *context)
{
    do
        fill(DEPTH);
    while (!context);
    pause();
    return NULL;
}

/* The array's memory still has the pointers when it is freed. */
static void lose(void)
{
    char **array = calloc(LOST, sizeof *array);
    for (int i = 0; i < LOST; i++) {
        array[i] = malloc(1000);
        memset(array[i], 1, 1000);
    }
    free(array);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (argc > 3)
        lose();
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, argc > 3 ? argv[3] : NULL);
    }
    usleep((useconds_t)(argc > 2 ? atoi(argv[2]) : 3) * 1000);
    if (argc > 3) {
        printf("%d\n", (int)getpid());
        fflush(stdout);
        pause();
    }
    return 0;
}

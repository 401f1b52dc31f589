/* Reads memory ahead of the thread that looks at it (graph_ahead.h). A lock guards which piece is
 * read next; it is taken twice for each piece of 256 KiB. Where little is to be read nobody reads
 * ahead, and all pieces lie in one room, whose pages are the same each time. */
#include "collector/graph_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/array.h"

enum {
    ROOMS = 8,
    MOST_THREADS = 3, /* beside the caller's */
    PIECE_BYTES = GRAPH_AHEAD_WORDS * sizeof(uint64_t),
    LEAST_BYTES = 32 * PIECE_BYTES, /* for less no thread is made */
};

struct graph_ahead {
    const struct graph_pieces *pieces;
    const struct program_memory *memory;
    size_t room_count; /* 1: nobody reads ahead */
    char *rooms;       /* each of PIECE_BYTES; piece i lies in i % room_count */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    size_t next, done; /* pieces */
    bool is_read[ROOMS];
    size_t got[ROOMS];
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

static int graph_pieces_add(const struct page_table_run *run, void *context)
{
    struct graph_pieces *pieces = context;
    if ((run->state != PAGES_RESIDENT && run->state != PAGES_SWAPPED) || run->zero)
        return 0;
    for (uint64_t at = run->start, end; at < run->end; at = end) {
        end = run->end - at > PIECE_BYTES ? at + PIECE_BYTES : run->end;
        if (!array_make_room(&pieces->list, &pieces->room, pieces->count, sizeof *pieces->list))
            return -ENOMEM;
        pieces->list[pieces->count++] = (struct graph_piece){at, end};
    }
    return 0;
}

int graph_pieces_find(struct graph_pieces *pieces, struct pages *pages,
                      const struct page_table_range *ranges, size_t count)
{
    return page_table_visit(pages, ranges, count, graph_pieces_add, pieces);
}

void graph_pieces_release(struct graph_pieces *pieces)
{
    free(pieces->list);
    *pieces = (struct graph_pieces){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

static char *graph_ahead_room(const struct graph_ahead *ahead, size_t piece)
{
    return ahead->rooms + piece % ahead->room_count * PIECE_BYTES;
}

static bool graph_ahead_may_read(const struct graph_ahead *ahead)
{
    return ahead->next < ahead->pieces->count && ahead->next - ahead->done < ahead->room_count;
}

/* Under the lock, which is let go of meanwhile. */
static void graph_ahead_read_next(struct graph_ahead *ahead)
{
    size_t number = ahead->next++;
    pthread_mutex_unlock(&ahead->lock);
    const struct graph_piece *piece = &ahead->pieces->list[number];
    size_t got = program_memory_read(ahead->memory, piece->start, graph_ahead_room(ahead, number),
                                     piece->end - piece->start);
    pthread_mutex_lock(&ahead->lock);
    ahead->got[number % ahead->room_count] = got;
    ahead->is_read[number % ahead->room_count] = true;
    pthread_cond_broadcast(&ahead->changed);
}

static void *graph_ahead_thread(void *context)
{
    struct graph_ahead *ahead = context;
    pthread_mutex_lock(&ahead->lock);
    while (ahead->next < ahead->pieces->count)
        if (graph_ahead_may_read(ahead))
            graph_ahead_read_next(ahead);
        else
            pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Under the lock. */
static int graph_ahead_see(struct graph_ahead *ahead, graph_piece_visit *visit, void *context)
{
    size_t number = ahead->done, got;
    while (!ahead->is_read[number % ahead->room_count])
        if (graph_ahead_may_read(ahead))
            graph_ahead_read_next(ahead);
        else
            pthread_cond_wait(&ahead->changed, &ahead->lock);
    got = ahead->got[number % ahead->room_count];
    pthread_mutex_unlock(&ahead->lock);
    int error = visit(&ahead->pieces->list[number],
                      (uint64_t *)(void *)graph_ahead_room(ahead, number), got, context);
    pthread_mutex_lock(&ahead->lock);
    ahead->is_read[number % ahead->room_count] = false;
    ahead->done++;
    if (error)
        ahead->next = ahead->pieces->count; /* nobody begins another one */
    pthread_cond_broadcast(&ahead->changed);
    return error;
}

/* How many threads are to read ahead. */
static size_t graph_ahead_wanted(const struct graph_pieces *pieces)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t others = cores > 1 ? (size_t)cores - 1 : 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < pieces->count; i++)
        bytes += pieces->list[i].end - pieces->list[i].start;
    if (bytes < LEAST_BYTES)
        return 0;
    return others < MOST_THREADS ? others : MOST_THREADS;
}

static size_t graph_ahead_begin_threads(struct graph_ahead *ahead, pthread_t *threads,
                                        size_t wanted)
{
    size_t count = 0;
    while (count < wanted && pthread_create(&threads[count], NULL, graph_ahead_thread, ahead) == 0)
        count++;
    return count;
}

int graph_pieces_visit(const struct graph_pieces *pieces, const struct program_memory *memory,
                       graph_piece_visit *visit, void *context)
{
    pthread_t threads[MOST_THREADS];
    size_t wanted = graph_ahead_wanted(pieces);
    struct graph_ahead ahead = {.pieces = pieces,
                                .memory = memory,
                                .room_count = wanted ? ROOMS : 1,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};
    int error = 0;
    ahead.rooms = malloc(ahead.room_count * PIECE_BYTES);
    if (!ahead.rooms)
        return -ENOMEM;
    size_t count = graph_ahead_begin_threads(&ahead, threads, wanted);
    pthread_mutex_lock(&ahead.lock);
    while (ahead.done < pieces->count && !error)
        error = graph_ahead_see(&ahead, visit, context);
    pthread_mutex_unlock(&ahead.lock);
    while (count--)
        pthread_join(threads[count], NULL);
    free(ahead.rooms);
    return error;
}

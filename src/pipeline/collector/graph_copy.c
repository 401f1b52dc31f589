/* Copies a program's memory with several threads (graph_copy.h). Runs of pages are cut into pieces,
 * and each thread takes the next piece that nobody has taken. */
#include "collector/graph_copy.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/array.h"
#include "base/search.h"
#include "collector/memory_bound.h"

enum {
    THREADS = 4,
    PIECE_BYTES = 1 << 20,
    PAGE_BYTES = 4096,
    SPARE_BYTES = 1 << 20,
    SPARE_PART = 16
};
#define MOST_BYTES (512ull << 20)

static bool graph_copy_is_there(const struct page_table_run *run)
{
    return (run->state == PAGES_RESIDENT || run->state == PAGES_SWAPPED) && !run->zero;
}

/* ---- Room ------------------------------------------------------------------------------------ */

static int graph_copy_count(const struct page_table_run *run, void *context)
{
    uint64_t *bytes = context;
    *bytes += graph_copy_is_there(run) ? run->end - run->start : 0;
    return 0;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Huge pages are made twenty times as fast as small ones. */
static void graph_copy_touch(struct graph_copy *copy)
{
    if (!copy->size || (madvise(copy->bytes, copy->size, MADV_HUGEPAGE) == 0 &&
                        madvise(copy->bytes, copy->size, MADV_POPULATE_WRITE) == 0))
        return;
    for (size_t at = 0; at < copy->size; at += PAGE_BYTES)
        *(volatile char *)(copy->bytes + at) = 0;
}

void graph_copy_begin(struct graph_copy *copy, struct pages *pages,
                      const struct page_table_range *ranges, size_t count)
{
    uint64_t bytes = 0;
    if (page_table_visit(pages, ranges, count, graph_copy_count, &bytes))
        return;
    bytes += bytes / SPARE_PART + SPARE_BYTES;
    if (bytes > MOST_BYTES || !memory_bound_has_room(bytes))
        return;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy->bytes = room == MAP_FAILED ? NULL : room;
    copy->size = copy->bytes ? bytes : 0;
    graph_copy_touch(copy);
}

void graph_copy_release(struct graph_copy *copy)
{
    if (copy->bytes)
        munmap(copy->bytes, copy->size);
    free(copy->runs);
    *copy = GRAPH_COPY_INIT;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct copying {
    struct graph_copy *copy;
    size_t used;
    const struct program_memory *memory;
    _Atomic size_t next; /* piece; a run has at least one */
};

static int graph_copy_add(const struct page_table_run *run, void *context)
{
    struct copying *copying = context;
    struct graph_copy *copy = copying->copy;
    if (!graph_copy_is_there(run))
        return 0;
    for (uint64_t at = run->start, end; at < run->end; at = end) {
        end = run->end - at > PIECE_BYTES ? at + PIECE_BYTES : run->end;
        if (end - at > copy->size - copying->used ||
            !array_make_room(&copy->runs, &copy->capacity, copy->count, sizeof *copy->runs))
            return -ENOSPC;
        copy->runs[copy->count++] = (struct graph_copy_run){at, end, copying->used};
        copying->used += end - at;
    }
    return 0;
}

/* Pages that are gone, or that nobody may read, are left out. */
static void graph_copy_read_run(const struct copying *copying, const struct graph_copy_run *run)
{
    char *to = copying->copy->bytes + run->at;
    for (uint64_t at = run->start; at < run->end;) {
        size_t got =
            program_memory_read(copying->memory, at, to + (at - run->start), run->end - at);
        at += got ? got : PAGE_BYTES - at % PAGE_BYTES;
    }
}

static void *graph_copy_thread(void *context)
{
    struct copying *copying = context;
    for (size_t i; (i = atomic_fetch_add(&copying->next, 1)) < copying->copy->count;)
        graph_copy_read_run(copying, &copying->copy->runs[i]);
    return NULL;
}

/* The caller is one of the threads. */
static void graph_copy_read_all(struct copying *copying)
{
    pthread_t threads[THREADS - 1];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = 0, wanted = cores < THREADS ? (size_t)(cores > 1 ? cores - 1 : 0) : THREADS - 1;
    while (count < wanted && count + 1 < copying->copy->count &&
           pthread_create(&threads[count], NULL, graph_copy_thread, copying) == 0)
        count++;
    graph_copy_thread(copying);
    while (count--)
        pthread_join(threads[count], NULL);
}

bool graph_copy_take(struct graph_copy *copy, struct pages *pages,
                     const struct page_table_range *ranges, size_t count,
                     const struct program_memory *memory)
{
    struct copying copying = {.copy = copy, .memory = memory};
    if (!copy->size || page_table_visit(pages, ranges, count, graph_copy_add, &copying)) {
        graph_copy_release(copy);
        return false;
    }
    graph_copy_read_all(&copying);
    return true;
}

size_t graph_copy_read(const struct graph_copy *copy, uint64_t address, void *to, size_t bytes)
{
    size_t first = 0, got = 0;
    SEARCH_FIRST(first, copy->count, at, copy->runs[at].end <= address);
    for (; first < copy->count && got < bytes && copy->runs[first].start <= address + got;
         first++) {
        const struct graph_copy_run *run = &copy->runs[first];
        size_t from = address + got - run->start, part = run->end - run->start - from;
        part = part < bytes - got ? part : bytes - got;
        memcpy((char *)to + got, copy->bytes + run->at + from, part);
        got += part;
    }
    return got;
}

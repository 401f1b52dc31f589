/* The threads of the program, in the order in which they began to write; each with the reallocs
 * that it is in the middle of. Events come in streams (the rings of the recorder); a stream serves
 * one thread after the other. */
#ifndef TIDEMARK_REPLAY_THREADS_H
#define TIDEMARK_REPLAY_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/live.h"
#include "replay/metrics.h"

enum realloc_old {
    REALLOC_OLD_LIVE,    /* block: out of the address table, but counted as live */
    REALLOC_OLD_UNKNOWN, /* a block, but its allocation was not seen */
    REALLOC_OLD_NONE,    /* realloc(NULL, …) */
};

struct pending_realloc {
    struct live_block block; /* in any case its address */
    enum realloc_old old;
    bool newest; /* it was the newest block of the thread that it was born by */
    uint64_t births; /* of that thread, then */
};

/* newest_address != 0  <=>  the block that lives there was born by this thread and nothing has been
 * born by this thread since. */
struct thread {
    struct thread_metrics metrics;
    uint64_t births; /* blocks that this thread allocated or reallocated */
    uint64_t newest_address;
    struct pending_realloc *pending; /* the innermost last */
    size_t pending_count, pending_room;
    uint32_t alloc_rest, free_rest; /* of sampled blocks: 1024ths of a count beyond the metrics' */
    bool announced; /* its WIRE_THREAD_START was seen */
};

struct threads {
    struct thread *all;
    size_t count, room;
    uint32_t *streams; /* the thread that each stream serves now */
    size_t stream_count, stream_room;
    size_t pending_bytes;
};

/* A new stream, serving a new thread; returns the stream's number. */
uint32_t threads_add_stream(struct threads *threads, uint32_t tid, uint64_t ticks);

/* The stream says whom it serves from here on. Moves threads. */
void threads_announce(struct threads *threads, uint32_t stream, uint32_t tid, uint64_t ticks);

void threads_release(struct threads *threads);
size_t threads_memory_bytes(const struct threads *threads);

static inline struct thread *threads_of_stream(const struct threads *threads, uint32_t stream)
{
    return &threads->all[threads->streams[stream]];
}

/* Begins a realloc inside those that the thread is in already. */
struct pending_realloc *thread_push_realloc(struct threads *threads, struct thread *thread);

#endif

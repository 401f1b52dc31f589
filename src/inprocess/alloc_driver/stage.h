/* The memory of the driver: the parts that lanes share, and those of each seat. All of it is mapped
 * and resident before the stream begins, so that afterwards only the allocator takes memory. */
#ifndef TIDEMARK_ALLOC_DRIVER_STAGE_H
#define TIDEMARK_ALLOC_DRIVER_STAGE_H

#include <pthread.h>
#include <stdbool.h>
#include "alloc_driver/waits.h"
#include "alloc_stream/stream_reader.h"
#include "alloc_stream/stream_result.h"

enum { STAGE_OPS = 128, STAGE_STACK_BYTES = 256 << 10, STAGE_STACK_TOUCHED = 48 << 10 };

/* turn: twice the number of the next block in this slot, plus 1 when the block is there. In a cache
 * line of its own. */
struct shared_slot {
    _Alignas(64) _Atomic uint32_t turn;
    void *block;
};

struct seat {
    struct stream_cursor cursor;
    struct stream_op ops[STAGE_OPS];
    void **slots; /* private */
    struct stage *stage;
    uint32_t number;
    uint32_t epoch_1; /* 1 + the seat's epoch; 0: none */
    uint32_t lanes;   /* begun */
    uint32_t stretches;
    uint64_t calls, failed;
    uint64_t waited_ns; /* CPU time while waiting */
    pthread_t thread;
    bool has_thread;
    void *stack;
    struct waits_level begun;    /* lanes */
    struct waits_level released; /* lanes that may leave */
    uint32_t bins[STREAM_CALLS][DRIVER_BINS];
};

struct stage {
    struct stream_header header;
    struct driver_result *result;
    struct shared_slot *shared;
    struct seat *seats;
    _Atomic uint32_t *epochs;    /* for each epoch: lanes that have not ended it; NULL: each has one
                                  * lane */
    struct waits_level frontier; /* the first epoch that is not over */
    struct waits_level arrived;  /* lanes that have ended, without the first seat's */
    _Atomic uint32_t spawned;
    enum driver_touch touch;
    bool idle; /* the allocator is not called */
    uint64_t empty_ticks;
};

/* Maps zeroed memory, every page of it resident; ends the process if there is none. */
void *stage_map(struct driver_result *result, uint64_t bytes);

/* Opens the stream and maps all memory. Ends the process if the stream is damaged. */
void stage_set(struct stage *stage, int stream_fd, struct driver_result *result);

#endif

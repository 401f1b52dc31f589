/* Plays the recorder for the tests of the collector: maps the view's memory a second time, fills
 * chunks, rings and ring data as src/inprocess/recorder/shared.c and thread.h do, and writes
 * records by the protocol of wire.h ("Rings"): room, busy, time, words, head, last_ticks, busy
 * again. */
#ifndef TIDEMARK_TESTS_COLLECTOR_PLAYER_H
#define TIDEMARK_TESTS_COLLECTOR_PLAYER_H

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ticks.h"
#include "collector/shared_view.h"
#include "wire/wire.h"

enum { PLAYER_MAX_CHUNKS = 64 };

struct player {
    struct wire_header *header;
    int fd;
    pthread_mutex_t lock;
    char *chunk[PLAYER_MAX_CHUNKS];
    struct wire_ring *ring_chunk;
    char *data_chunk[PLAYER_MAX_CHUNKS];
    uint32_t ring_count;
};

/* A thread's end of its ring. */
struct pen {
    struct wire_ring *ring;
    char *data;
    uint64_t mask, cursor;
    uint64_t records; /* written, voids not counted */
};

static inline struct wire_header player_options(uint32_t ring_bytes, uint32_t chunks)
{
    return (struct wire_header){.ring_bytes = ring_bytes, .chunk_limit = chunks};
}

static inline void *player_map(int fd, uint32_t index)
{
    void *chunk = mmap(NULL, WIRE_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       (off_t)index * WIRE_CHUNK_BYTES);
    return chunk == MAP_FAILED ? NULL : chunk;
}

static inline char *player_chunk(struct player *player, enum wire_chunk_kind kind)
{
    uint32_t index = atomic_load(&player->header->chunk_count);
    if (index >= PLAYER_MAX_CHUNKS || !(player->chunk[index] = player_map(player->fd, index)))
        abort();
    atomic_store_explicit(&player->header->chunk_kind[index], kind, memory_order_relaxed);
    atomic_store_explicit(&player->header->chunk_count, index + 1, memory_order_release);
    return player->chunk[index];
}

static inline void player_open(struct player *player, const struct view *view)
{
    *player = (struct player){.fd = view->fd, .lock = PTHREAD_MUTEX_INITIALIZER};
    player->header = player_map(view->fd, 0);
    if (!player->header)
        abort();
    player->chunk[0] = (char *)player->header;
    atomic_store(&player->header->chunk_kind[0], WIRE_CHUNK_HEADER);
    atomic_store(&player->header->chunk_count, 1);
    atomic_store(&player->header->node_count, 1);
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

static inline void player_close(struct player *player)
{
    for (size_t i = 0; i < PLAYER_MAX_CHUNKS; i++)
        if (player->chunk[i])
            munmap(player->chunk[i], WIRE_CHUNK_BYTES);
}

/* A new ring; as the recorder does it, under a lock. */
static inline struct pen player_ring(struct player *player, uint32_t tid)
{
    pthread_mutex_lock(&player->lock);
    uint32_t ring_bytes = player->header->ring_bytes, index = player->ring_count++;
    unsigned per_chunk = wire_rings_per_data_chunk(ring_bytes);
    if (!player->ring_chunk)
        player->ring_chunk = (void *)player_chunk(player, WIRE_CHUNK_RINGS);
    if (!player->data_chunk[index / per_chunk])
        player->data_chunk[index / per_chunk] = player_chunk(player, WIRE_CHUNK_RING_DATA);
    struct pen pen = {
        .ring = &player->ring_chunk[index],
        .data = player->data_chunk[index / per_chunk] +
                (size_t)(index % per_chunk) * (ring_bytes + WIRE_RING_SPILL),
        .mask = ring_bytes - 1,
    };
    atomic_store_explicit(&player->header->ring_count, index + 1, memory_order_release);
    atomic_store_explicit(&pen.ring->tid, tid, memory_order_relaxed);
    atomic_store_explicit(&pen.ring->state, WIRE_RING_ACTIVE, memory_order_release);
    pthread_mutex_unlock(&player->lock);
    return pen;
}

/* Waits for room (to the last byte: the recorder keeps a reserve), then reserves. */
static inline struct wire_record *pen_begin(struct pen *pen, unsigned bytes)
{
    while (pen->cursor + bytes >
           atomic_load_explicit(&pen->ring->tail, memory_order_acquire) + pen->mask + 1)
        sched_yield();
    atomic_store_explicit(&pen->ring->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    struct wire_record *record = (void *)(pen->data + (pen->cursor & pen->mask));
    pen->cursor += bytes;
    record->ticks = ticks_now();
    atomic_signal_fence(memory_order_seq_cst);
    return record;
}

static inline void pen_publish(struct pen *pen, uint64_t ticks)
{
    atomic_store_explicit(&pen->ring->head, pen->cursor, memory_order_release);
    atomic_store_explicit(&pen->ring->last_ticks, ticks, memory_order_release);
    atomic_store_explicit(&pen->ring->busy, 0, memory_order_release);
}

static inline void pen_write(struct pen *pen, unsigned kind, uint64_t address, uint64_t size_bytes)
{
    struct wire_record *record = pen_begin(pen, kind & WIRE_LONG ? 32 : 16);
    uint64_t ticks = record->ticks;
    if (kind & WIRE_LONG) {
        record->size_bytes = size_bytes;
        record->detail = wire_detail(0, 0, 0);
    }
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint64_t *)&record->kind_address = (uint64_t)kind << 56 | address;
    pen->records++;
    pen_publish(pen, ticks);
}

/* A long record that a handler jumps out of, all words but the first written: busy stays set. */
static inline void pen_abandon(struct pen *pen)
{
    struct wire_record *record = pen_begin(pen, 32);
    record->size_bytes = 77;
    record->detail = UINT64_MAX;
}

#endif

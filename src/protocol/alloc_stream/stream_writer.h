/* Writes an allocation stream (stream_format.h). Memory: one chunk for each seat, small for seats
 * of few operations. After an error nothing more is written, and stream_writer_finish() returns the
 * first one. For one thread. */
#ifndef TIDEMARK_ALLOC_STREAM_STREAM_WRITER_H
#define TIDEMARK_ALLOC_STREAM_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "alloc_stream/stream_format.h"

struct stream_writer;

/* The descriptor stays the caller's. NULL: out of memory. */
struct stream_writer *stream_writer_new(int fd);
void stream_writer_free(struct stream_writer *writer);

struct stream_slot {
    uint32_t number;
    bool shared;
    uint32_t turn; /* of shared ones */
};

/* kind: STREAM_MALLOC, STREAM_CALLOC or STREAM_ALIGNED. */
void stream_put_birth(struct stream_writer *writer, uint32_t seat, enum stream_kind kind,
                      unsigned align_log2, uint64_t size_bytes, const struct stream_slot *slot);
void stream_put_realloc(struct stream_writer *writer, uint32_t seat, uint64_t size_bytes,
                        uint64_t new_bytes, const struct stream_slot *old,
                        const struct stream_slot *slot);
void stream_put_free(struct stream_writer *writer, uint32_t seat, const struct stream_slot *slot);

/* STREAM_SPAWN, STREAM_RELEASE, STREAM_EPOCH, STREAM_SAMPLE with their number, STREAM_END with
 * 0. */
void stream_put_control(struct stream_writer *writer, uint32_t seat, enum stream_kind kind,
                        uint32_t number);

void stream_count_private(struct stream_writer *writer, uint32_t seat, uint32_t slots);

/* Completes the file. The header's counts of calls, shared slots and epochs are the caller's;
 * `epochs` may be NULL. 0 or -errno. */
int stream_writer_finish(struct stream_writer *writer, struct stream_header *header,
                         const uint32_t *epochs);

uint64_t stream_writer_bytes(const struct stream_writer *writer);

#endif

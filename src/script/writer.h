/* Writes a script (format.h). Memory: one chunk for each seat, small for seats of few operations.
 * Errors stick: the first is what script_writer_finish() returns. One thread. */
#ifndef TIDEMARK_SCRIPT_WRITER_H
#define TIDEMARK_SCRIPT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "script/format.h"

struct script_writer;

/* The descriptor stays the caller's. NULL: out of memory. */
struct script_writer *script_writer_new(int fd);
void script_writer_free(struct script_writer *writer);

struct script_slot {
    uint32_t number;
    bool shared;
    uint32_t turn; /* of shared ones */
};

/* kind: SCRIPT_MALLOC, SCRIPT_CALLOC or SCRIPT_ALIGNED. */
void script_put_birth(struct script_writer *writer, uint32_t seat, enum script_kind kind,
                      unsigned align_log2, uint64_t size_bytes, const struct script_slot *slot);
void script_put_realloc(struct script_writer *writer, uint32_t seat, uint64_t size_bytes,
                        uint64_t new_bytes, const struct script_slot *old,
                        const struct script_slot *slot);
void script_put_free(struct script_writer *writer, uint32_t seat, const struct script_slot *slot);

/* SCRIPT_SPAWN, SCRIPT_RELEASE, SCRIPT_EPOCH, SCRIPT_SAMPLE with their number, SCRIPT_END with 0. */
void script_put_control(struct script_writer *writer, uint32_t seat, enum script_kind kind,
                        uint32_t number);

void script_count_private(struct script_writer *writer, uint32_t seat, uint32_t slots);

/* Completes the file. The header's counts of calls, shared slots and epochs are the caller's; `epochs` may be NULL. 0 or -errno. */
int script_writer_finish(struct script_writer *writer, struct script_header *header,
                         const uint32_t *epochs);

uint64_t script_writer_bytes(const struct script_writer *writer);

#endif

/* Records as a recorder would write them, for the tests of the replay. */
#ifndef TIDEMARK_TESTS_REPLAY_RECORDS_H
#define TIDEMARK_TESTS_REPLAY_RECORDS_H

#include <stddef.h>
#include <string.h>
#include "wire/wire.h"

static inline struct wire_record record_short(unsigned kind, uint64_t ticks, uint64_t address)
{
    return (struct wire_record){(uint64_t)kind << 56 | address, ticks, 0, 0};
}

static inline struct wire_record record_long(unsigned kind, uint64_t ticks, uint64_t address,
                                             uint64_t size_bytes, uint64_t detail)
{
    return (struct wire_record){(uint64_t)kind << 56 | address, ticks, size_bytes, detail};
}

/* Copies the record to `at` as it lies in a ring; returns its bytes. */
static inline size_t record_write(void *at, const struct wire_record *record)
{
    size_t bytes = wire_record_bytes(record->kind_address);

    memcpy(at, record, bytes);
    return bytes;
}

#endif

/* Numbers as bytes: a *varint* has seven bits of a number in each byte, the lowest first; all bytes
 * but its last have the top bit set. Traces, columns of profiles, the messages of a job's
 * processes, and Protocol Buffers are made of them. Inlined into hot paths.
 *
 * Differences are encoded by zigzag first: 0, -1, 1, -2 … become 0, 1, 2, 3 …, so that small ones
 * are short. */
#ifndef TIDEMARK_BASE_VARINT_H
#define TIDEMARK_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 varint_u128;

enum {
    VARINT_BYTES = 10,      /* of 64 bits, at most */
    VARINT_WIDE_BYTES = 19, /* of 128 bits */
};

static inline uint64_t varint_zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t varint_unzigzag(uint64_t number)
{
    return number >> 1 ^ -(number & 1);
}

/* Writes up to VARINT_BYTES at `at`; returns the place behind them. */
static inline unsigned char *varint_put(unsigned char *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (unsigned char)(number | 0x80);
    *at++ = (unsigned char)number;
    return at;
}

/* The same of a number of 128 bits: up to VARINT_WIDE_BYTES. */
static inline unsigned char *varint_put_wide(unsigned char *at, varint_u128 number)
{
    for (; number > UINT64_MAX; number >>= 7)
        *at++ = (unsigned char)(number | 0x80);
    return varint_put(at, (uint64_t)number);
}

/* varint_get() of a number of 128 bits. */
static inline const unsigned char *varint_get_wide(const unsigned char *at,
                                                   const unsigned char *end, varint_u128 *number)
{
    varint_u128 all = 0;

    for (unsigned shift = 0; shift < 128 && at < end; shift += 7) {
        unsigned byte = *at++;
        all |= (varint_u128)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number = all;
            return shift < 126 || byte <= 3 ? at : NULL;
        }
    }
    return NULL;
}

/* Reads the varint that begins at `at`; returns the place behind it. NULL: it does not end before
 * `end`, or has more than 64 bits; *number is undefined then. Leading zeros are allowed. */
static inline const unsigned char *varint_get(const unsigned char *at, const unsigned char *end,
                                              uint64_t *number)
{
    uint64_t all = 0;

    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        unsigned byte = *at++;
        all |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number = all;
            return shift < 63 || byte <= 1 ? at : NULL;
        }
    }
    return NULL;
}

#endif

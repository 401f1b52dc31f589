/* The weight of an event. If every allocation is recorded, a block counts for itself. If
 * allocations are sampled (wire.h, "Sampling"), a block of s bytes that is recorded with the
 * probability p
 *     stands for 1 / p blocks (Horvitz and Thompson, 1952),
 *     adds s^2 (1 - p) / p^2 to the variance of any sum of bytes.
 *
 * A weight is a function of size and level alone, in whole numbers. So the end of a life subtracts
 * exactly what its beginning added, and the sums are 0 when everything is freed. */
#ifndef TIDEMARK_ACCOUNTING_WEIGHT_H
#define TIDEMARK_ACCOUNTING_WEIGHT_H

#include <stdint.h>

#define WEIGHT_SHIFT 10 /* counts of sampled blocks are kept in 1024ths */

struct weight {
    uint64_t count; /* 1; sampled: in 1024ths, never less than one */
    uint64_t bytes, slack_bytes;
    uint64_t variance; /* of bytes: in 1024ths of the square of the interval; 1024 at most */
};

/* Of a sampled block. */
struct weight weight_of_sample(uint64_t sample_bytes, uint64_t size_bytes, uint64_t slack_bytes);

/* Of a block of a recording of pages (wire.h, "Pages"). A small block stands for as many as a page
 * record holds of its class, a middle one for 1 / p at its level, a large one for itself. The
 * interval of the variance is WIRE_PAGE_BYTES. */
struct weight weight_of_page_block(unsigned level, uint64_t size_bytes, uint64_t slack_bytes);
/* Of a sampled block where the interval changed while recording (wire.h). `level`: at which the
 * block was drawn; at level 0 every block is. Variances are in squares of WIRE_LEVEL_UNIT at every
 * level, so they add up. */
struct weight weight_of_level(unsigned level, uint64_t size_bytes, uint64_t slack_bytes);

static inline uint64_t weight_whole(uint64_t count)
{
    return (count + (1u << (WEIGHT_SHIFT - 1))) >> WEIGHT_SHIFT;
}

#endif

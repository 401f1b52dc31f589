/* How many blocks and bytes a recorded block stands for (weight.h). The weight is 1/p, where p is
 * the probability that a block of this size is recorded. Counts are fixed-point numbers in
 * 1024ths. */
#include "accounting/weight.h"

#include <math.h>
#include "wire/wire.h"

/* Of a block that is recorded with the probability p. */
static struct weight weight_of_chance(double p, double interval, uint64_t size_bytes,
                                      uint64_t slack_bytes)
{
    double size = (double)size_bytes, part = size / interval;

    return (struct weight){
        .count = (uint64_t)(ldexp(1 / p, WEIGHT_SHIFT) + 0.5),
        .bytes = (uint64_t)(size / p + 0.5),
        .slack_bytes = (uint64_t)((double)slack_bytes / p + 0.5),
        .variance = (uint64_t)(1024 * (1 - p) / (p * p) * part * part + 0.5),
    };
}

struct weight weight_of_sample(uint64_t sample_bytes, uint64_t size_bytes, uint64_t slack_bytes)
{
    double interval = (double)sample_bytes;

    return weight_of_chance(-expm1(-((double)size_bytes + 1) / interval), interval, size_bytes,
                            slack_bytes);
}

/* A block above WIRE_PAGE_BLOCK. Variances are in squares of WIRE_PAGE_BYTES at every level. */
static struct weight weight_of_middle(unsigned level, uint64_t size_bytes, uint64_t slack_bytes)
{
    double interval = WIRE_PAGE_BYTES << level;
    double chance = -expm1(-(double)(size_bytes + slack_bytes) / interval);
    struct weight weight = weight_of_chance(chance, interval, size_bytes, slack_bytes);

    weight.variance <<= 2 * level;
    return weight;
}

struct weight weight_of_page_block(unsigned level, uint64_t size_bytes, uint64_t slack_bytes)
{
    uint64_t usable = size_bytes + slack_bytes, stands_for;
    double part = (double)size_bytes / WIRE_PAGE_BYTES;

    if (usable >= WIRE_PAGE_SURE || !usable)
        return (struct weight){1u << WEIGHT_SHIFT, size_bytes, slack_bytes, 0};
    if (level >= WIRE_PAGE_LEVELS) /* the program has overwritten its records */
        level = WIRE_PAGE_LEVELS - 1;
    if (usable > WIRE_PAGE_BLOCK)
        return weight_of_middle(level, size_bytes, slack_bytes);
    stands_for = WIRE_PAGE_BYTES / usable;
    return (struct weight){
        .count = stands_for << WEIGHT_SHIFT,
        .bytes = size_bytes * stands_for,
        .slack_bytes = slack_bytes * stands_for,
        .variance = (uint64_t)(1024 * (double)(stands_for * (stands_for - 1)) * part * part + 0.5),
    };
}

struct weight weight_of_level(unsigned level, uint64_t size_bytes, uint64_t slack_bytes)
{
    if (level == 0)
        return (struct weight){1u << WEIGHT_SHIFT, size_bytes, slack_bytes, 0};
    if (level >= WIRE_LEVELS) /* the program has overwritten its records */
        level = WIRE_LEVELS - 1;
    struct weight weight = weight_of_sample(wire_level_bytes(level), size_bytes, slack_bytes);
    weight.variance <<= 4 * (level - 1); /* four times the interval each */
    return weight;
}

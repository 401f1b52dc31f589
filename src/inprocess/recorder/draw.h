/* Draws how many bytes a thread may allocate until one of its allocations is sampled, from the
 * exponential distribution: so the probability does not depend on where the last sample was. Only
 * whole numbers are used, because the program may trap on floating-point exceptions, or read their
 * flags afterwards. */
#ifndef TIDEMARK_RECORDER_DRAW_H
#define TIDEMARK_RECORDER_DRAW_H

#include <stdint.h>

/* SplitMix64; any state will do (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", 2014). */
static inline uint64_t draw_random(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    return mixed ^ mixed >> 31;
}

/* log2(x / 2^63) of x >= 2^63, in units of 2^-40, rounded down. Squaring a number gives the next
 * binary digit of its logarithm as the carry. 0.1 us, once for each sample. */
static inline uint64_t draw_log2(uint64_t x)
{
    uint64_t digits = 0;
    for (unsigned i = 0; i < 40; i++) {
        unsigned __int128 square = (unsigned __int128)x * x;
        uint64_t carry = (uint64_t)(square >> 127);
        x = (uint64_t)(square >> (carry ? 64 : 63));
        digits = digits << 1 | carry;
    }
    return digits;
}

/* floor(e), e exponential with mean `mean_bytes` (at most 2^40). An allocation of s bytes is
 * sampled if that is at most s: with the probability 1 - exp(-(s + 1) / mean_bytes). */
static inline uint64_t draw_bytes(uint64_t *state, uint64_t mean_bytes)
{
    uint64_t uniform = draw_random(state) | 1; /* divided by 2^64 it is in (0, 1) */
    unsigned zeros = (unsigned)__builtin_clzll(uniform);
    uint64_t bits = ((uint64_t)(zeros + 1) << 40) - draw_log2(uniform << zeros); /* -log2, 2^-40 */
    uint64_t natural = (uint64_t)((unsigned __int128)bits * 0xb17217f7d1cf79abull >> 64); /* ln 2 */
    return (uint64_t)((unsigned __int128)natural * mean_bytes >> 40);
}

#endif

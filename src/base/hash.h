/* Integer mixing for hash tables. Header only: the recorder uses it too. */
#ifndef TIDEMARK_BASE_HASH_H
#define TIDEMARK_BASE_HASH_H

#include <stdint.h>

/* Spreads the bits of an address or number over all 64 bits (Fibonacci hashing with one fold). */
static inline uint64_t hash_u64(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15ull;
    return value ^ (value >> 32);
}

#endif

/* Hashing for hash tables. Header only: the recorder uses it too. */
#ifndef TIDEMARK_BASE_HASH_H
#define TIDEMARK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_GOLDEN 0x9E3779B97F4A7C15ull /* 2^64 by the golden ratio */

/* Spreads the bits of an address or number over all 64 bits (Fibonacci hashing with one fold). */
static inline uint64_t hash_u64(uint64_t value)
{
    value *= HASH_GOLDEN;
    return value ^ (value >> 32);
}

/* In the manner of FNV-1a, eight bytes a step. For short keys that nobody chose to collide. */
static inline uint64_t hash_bytes(const void *key, size_t bytes)
{
    const unsigned char *at = key;
    uint64_t hash = 0xcbf29ce484222325ull ^ bytes;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--)
        hash = (hash ^ *at++) * 0x100000001b3ull;
    return hash ^ hash >> 32;
}

#endif

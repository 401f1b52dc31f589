/* A pool of strings: each distinct string is kept once and does not move until the pool is
 * released, so equal names have equal pointers. A million call paths name a few thousand
 * functions. */
#ifndef TIDEMARK_SYMBOLS_STRING_POOL_H
#define TIDEMARK_SYMBOLS_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

/*  blocks: newest ──▶ older ──▶ …      slots: open addressing, a power of two, at most half full
 *          [abc\0de\0…]                 [ – | abc | – | de | … ]                                */
struct pool {
    struct pool_block *blocks;
    const char **slots;
    size_t slot_count, string_count;
};

void pool_release(struct pool *pool);

/* The pool's copy of the first `length` bytes of `text`. */
const char *pool_intern_n(struct pool *pool, const char *text, size_t length);
const char *pool_intern(struct pool *pool, const char *text);

#endif

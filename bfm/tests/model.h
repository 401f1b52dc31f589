/* Checks a stream of calls against a simple model: which blocks live, what they hold, that none
 * overlap, that each is aligned, and that bfm_check() holds. */
#ifndef TIDEMARK_TEST_BFM_MODEL_H
#define TIDEMARK_TEST_BFM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tidemark/bfm.h"

enum { MODEL_BLOCKS = 4096 };

struct model_block {
    unsigned char *at;
    size_t bytes;
    uint32_t pattern;
};

struct model {
    bfm_heap *heap; /* NULL: bfm_malloc() */
    struct model_block blocks[MODEL_BLOCKS];
    size_t live_bytes;
};

/* Each verifies what it touches and calls abort() with a sentence when something is wrong. A slot
 * that is filled is freed first. */
void model_malloc(struct model *model, unsigned slot, size_t bytes);
void model_calloc(struct model *model, unsigned slot, size_t bytes);
void model_memalign(struct model *model, unsigned slot, size_t align, size_t bytes);
void model_realloc(struct model *model, unsigned slot, size_t bytes);
void model_free(struct model *model, unsigned slot);
void model_free_all(struct model *model);

/* All blocks hold what they should, none overlap, and the allocator's structures are sound. */
void model_verify(const struct model *model);

/* Small, medium and large, round and odd, with a number drawn: what programs ask for. */
size_t model_size(uint64_t random);

#endif

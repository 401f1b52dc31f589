#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds, const char *sentence)
{
    if (holds)
        return;
    fprintf(stderr, "model: %s\n", sentence);
    abort();
}

static unsigned char byte_of(uint32_t pattern, size_t offset)
{
    return (unsigned char)(pattern >> (offset & 3) * 8 ^ offset >> 4);
}

/* Of large blocks the ends and every 509th byte. */
static size_t step_after(const struct model_block *block, size_t offset)
{
    return offset < 256 || offset + 256 >= block->bytes ? offset + 1
           : offset + 509 < block->bytes - 256          ? offset + 509
                                                        : block->bytes - 256;
}

static void fill(struct model_block *block)
{
    for (size_t i = 0; i < block->bytes; i = step_after(block, i))
        block->at[i] = byte_of(block->pattern, i);
}

static void verify_block(const struct model_block *block)
{
    for (size_t i = 0; i < block->bytes; i = step_after(block, i))
        must(block->at[i] == byte_of(block->pattern, i), "a block's bytes have changed");
}

static void put(struct model *model, unsigned slot, void *at, size_t bytes, size_t align)
{
    static uint32_t patterns = 12345;
    struct model_block *block = &model->blocks[slot];

    must(at != NULL, "no memory");
    must((uintptr_t)at % 16 == 0 && (uintptr_t)at % align == 0, "a block is not aligned");
    must(bfm_malloc_usable_size(at) >= bytes, "a block is too small");
    *block = (struct model_block){at, bytes, patterns = patterns * 1664525u + 1013904223u};
    model->live_bytes += bytes;
    fill(block);
}

void model_malloc(struct model *model, unsigned slot, size_t bytes)
{
    model_free(model, slot);
    put(model, slot, model->heap ? bfm_heap_malloc(model->heap, bytes) : bfm_malloc(bytes), bytes,
        16);
}

void model_calloc(struct model *model, unsigned slot, size_t bytes)
{
    unsigned char *at;

    model_free(model, slot);
    at = model->heap ? bfm_heap_calloc(model->heap, 1, bytes) : bfm_calloc(bytes, 1);
    for (size_t i = 0; at && i < bytes; i++)
        must(at[i] == 0, "calloc gives a block that is not zero");
    put(model, slot, at, bytes, 16);
}

void model_memalign(struct model *model, unsigned slot, size_t align, size_t bytes)
{
    model_free(model, slot);
    put(model, slot,
        model->heap ? bfm_heap_memalign(model->heap, align, bytes) : bfm_memalign(align, bytes),
        bytes, align);
}

void model_realloc(struct model *model, unsigned slot, size_t bytes)
{
    struct model_block *block = &model->blocks[slot];
    struct model_block kept = *block;
    unsigned char *at;

    if (!block->at) {
        model_malloc(model, slot, bytes);
        return;
    }
    if (!bytes)
        bytes = 1;
    verify_block(block);
    at = bfm_realloc(block->at, bytes);
    must(at != NULL, "no memory");
    for (size_t i = 0; i < kept.bytes && i < bytes; i = step_after(&kept, i))
        must(at[i] == byte_of(kept.pattern, i), "realloc has lost bytes");
    model->live_bytes -= block->bytes;
    block->at = NULL;
    put(model, slot, at, bytes, 16);
}

void model_free(struct model *model, unsigned slot)
{
    struct model_block *block = &model->blocks[slot];

    if (!block->at)
        return;
    verify_block(block);
    model->live_bytes -= block->bytes;
    bfm_free(block->at);
    block->at = NULL;
}

void model_free_all(struct model *model)
{
    for (unsigned slot = 0; slot < MODEL_BLOCKS; slot++)
        model_free(model, slot);
}

static int by_address(const void *left, const void *right)
{
    const struct model_block *a = left, *b = right;

    return a->at < b->at ? -1 : a->at > b->at;
}

void model_verify(const struct model *model)
{
    static _Thread_local struct model_block sorted[MODEL_BLOCKS];
    const char *wrong = bfm_check(model->heap);
    unsigned count = 0;

    must(!wrong, wrong);
    for (unsigned slot = 0; slot < MODEL_BLOCKS; slot++)
        if (model->blocks[slot].at) {
            verify_block(&model->blocks[slot]);
            sorted[count++] = model->blocks[slot];
        }
    qsort(sorted, count, sizeof *sorted, by_address);
    for (unsigned i = 1; i < count; i++)
        must(sorted[i - 1].at + sorted[i - 1].bytes <= sorted[i].at, "two blocks overlap");
}

size_t model_size(uint64_t random)
{
    unsigned kind = random % 64;

    random >>= 6;
    if (kind < 32)
        return random % 530;
    if (kind < 56)
        return random % 20000;
    if (kind < 60)
        return random % 8 * 4096 + random % 3 * 8;
    if (kind < 63)
        return random % 300000;
    return random % 64 ? random % 3000000 : 32000000 + random % 4000000;
}

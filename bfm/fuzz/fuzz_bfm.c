/* Any bytes as a stream of calls to the allocator, two or three bytes a call. What a block holds
 * must stay as it was written, blocks must not overlap (their bytes would change), calloc must be
 * zeros, and at the end bfm_check() must hold. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tidemark/bfm.h"
#include "fuzz.h"

enum { SLOTS = 64, MARK = 32 };

struct slot {
    unsigned char *block;
    size_t bytes;
    unsigned char mark;
};

/* Sizes around what matters: classes, the edge between the components, pages, large blocks. */
static size_t size_of(unsigned kind, unsigned fine)
{
    static const uint32_t bases[] = {0,    16,    100,   500,   520,    1000,    8100,    8192,
                                     8200, 16300, 24600, 65000, 200000, 1000000, 2097000, 33554000};

    return bases[kind % 16] + fine;
}

static size_t marked(const struct slot *slot)
{
    return slot->bytes < MARK ? slot->bytes : MARK;
}

static void write_marks(struct slot *slot)
{
    memset(slot->block, slot->mark, marked(slot));
    memset(slot->block + slot->bytes - marked(slot), slot->mark, marked(slot));
}

static void check_marks(const struct slot *slot, size_t bytes, int end)
{
    for (size_t i = 0; i < marked(slot) && i < bytes; i++)
        must(slot->block[i] == slot->mark);
    for (size_t i = 0; end && i < marked(slot); i++)
        must(slot->block[slot->bytes - 1 - i] == slot->mark);
}

static void release(struct slot *slot)
{
    if (!slot->block)
        return;
    check_marks(slot, slot->bytes, 1);
    bfm_free(slot->block);
    slot->block = NULL;
}

static void fill(struct slot *slot, void *block, size_t bytes, unsigned char mark)
{
    must(block != NULL && (uintptr_t)block % 16 == 0);
    must(bfm_malloc_usable_size(block) >= bytes);
    *slot = (struct slot){block, bytes, mark};
    write_marks(slot);
}

static void resize(struct slot *slot, size_t bytes, unsigned char mark)
{
    size_t old = slot->bytes;

    if (!slot->block)
        return;
    check_marks(slot, old, 1);
    bytes = bytes ? bytes : 1;
    slot->block = bfm_realloc(slot->block, bytes);
    must(slot->block != NULL);
    check_marks(slot, bytes, 0);
    fill(slot, slot->block, bytes, mark);
}

static void clear(struct slot *slot, size_t bytes, unsigned char mark)
{
    unsigned char *block;

    release(slot);
    block = bfm_calloc(1, bytes);
    must(block != NULL);
    for (size_t i = 0; i < bytes; i += i < 9000 || bytes - i < 9000 ? 1 : 1021)
        must(block[i] == 0);
    fill(slot, block, bytes, mark);
}

static void one_call(struct slot *slots, const uint8_t *call)
{
    struct slot *slot = &slots[call[0] % SLOTS];
    size_t bytes = size_of(call[1] & 15, call[2]);

    switch (call[1] >> 4) {
    case 0:
    case 1:
    case 2:
    case 3:
        release(slot);
        fill(slot, bfm_malloc(bytes), bytes, call[2]);
        break;
    case 4:
        clear(slot, bytes, call[2]);
        break;
    case 5:
    case 6:
        resize(slot, bytes, call[2]);
        break;
    case 7:
        release(slot);
        fill(slot, bfm_memalign((size_t)1 << call[2] % 16, bytes), bytes, call[2]);
        break;
    case 8:
        if (call[2] < 8)
            bfm_malloc_trim((size_t)call[2] << 16);
        break;
    case 9:
        if (call[2] < 16)
            must(!bfm_check(NULL));
        break;
    default:
        release(slot);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slot slots[SLOTS] = {{NULL, 0, 0}};

    for (; size >= 3; data += 3, size -= 3)
        one_call(slots, data);
    must(!bfm_check(NULL));
    for (unsigned i = 0; i < SLOTS; i++)
        release(&slots[i]);
    must(!bfm_check(NULL));
    return 0;
}

#include "block.h"

#include "memory.h"

enum block_mode block_mode;
uint64_t block_write_bytes = UINT64_MAX;
uint64_t block_seed = 20040505;
struct block_totals block_totals;
uint64_t block_peak_take;

void block_refused(size_t bytes)
{
    memory_die("malloc(%zu) returned NULL; the machine has too little memory for this pattern",
               bytes);
}

static void *block_checked(void *block, size_t bytes)
{
    if (!block && bytes)
        block_refused(bytes);
    return block;
}

static uint64_t block_touched(uint64_t bytes)
{
    return bytes <= block_write_bytes || bytes < 4096 ? bytes : 4096;
}

static void block_note_take(struct slot *slot, size_t bytes)
{
    struct block_totals *totals = &block_totals;
    slot->bytes = bytes;
    slot->tag = totals->takes++;
    totals->live_bytes += bytes;
    totals->touched_bytes += block_touched(bytes);
    if (totals->live_bytes > totals->peak_bytes) {
        totals->peak_bytes = totals->live_bytes;
        totals->peak_take = totals->takes;
    }
    if (totals->touched_bytes > totals->touched_peak)
        totals->touched_peak = totals->touched_bytes;
}

static void block_note_give(const struct slot *slot)
{
    block_totals.gives++;
    block_totals.live_bytes -= slot->bytes;
    block_totals.touched_bytes -= block_touched(slot->bytes);
}

/* What a block holds: words that depend on its address, size and tag and on their place, then
 * bytes. */
static uint64_t block_content_key(const struct slot *slot)
{
    return ((uint64_t)(uintptr_t)slot->block + ((uint64_t)slot->tag << 40) + slot->bytes) *
           0x9E3779B97F4A7C15u;
}

static void block_content_write(const struct slot *slot)
{
    uint64_t key = block_content_key(slot);
    unsigned char *at = slot->block, *end = at + slot->bytes;
    for (; end - at >= 8; at += 8, key += 0x9E3779B97F4A7C15u)
        memcpy(at, &key, 8);
    for (; at < end; at++, key >>= 8)
        *at = (unsigned char)key;
}

static void block_content_verify(const struct slot *slot)
{
    uint64_t key = block_content_key(slot), word;
    const unsigned char *begin = slot->block, *at = begin, *end = begin + slot->bytes;
    for (; end - at >= 8; at += 8, key += 0x9E3779B97F4A7C15u) {
        memcpy(&word, at, 8);
        if (word != key)
            break;
    }
    if (end - at < 8) {
        for (; at < end && *at == (unsigned char)key; at++)
            key >>= 8;
    }
    if (at != end)
        memory_die("a block of %llu bytes at %p no longer holds what was written into it, from "
                   "byte %td on (call %llu)",
                   (unsigned long long)slot->bytes, slot->block, at - begin,
                   (unsigned long long)(block_totals.takes + block_totals.gives));
}

static void block_take_checked(struct slot *slot, size_t bytes)
{
    slot->block = block_checked(malloc(bytes), bytes);
    block_note_take(slot, bytes);
    if ((uintptr_t)slot->block % 16) {
        if (bytes >= 16)
            block_totals.misaligned++;
        else
            block_totals.misaligned_tiny++;
    }
    block_content_write(slot);
}

void block_take_slow(struct slot *slot, size_t bytes)
{
    uint64_t begin;
    switch (block_mode) {
    case BLOCK_TIME:
        slot->block = block_checked(malloc(bytes), bytes);
        block_write(slot->block, bytes);
        break;
    case BLOCK_PLAIN:
        slot->block = block_checked(malloc(bytes), bytes);
        block_write(slot->block, bytes);
        free(slot->block);
        break;
    case BLOCK_DRY:
        block_note_take(slot, bytes);
        break;
    case BLOCK_CHECK:
        block_take_checked(slot, bytes);
        break;
    case BLOCK_LATENCY:
        begin = latency_begin();
        slot->block = malloc(bytes);
        latency_end(LATENCY_MALLOC, begin);
        block_checked(slot->block, bytes);
        block_write(slot->block, bytes);
        break;
    case BLOCK_COUNT:
        mark_begin();
        slot->block = malloc(bytes);
        mark_end();
        block_checked(slot->block, bytes);
        memset(slot->block, 0xDF, bytes < 16 ? bytes : 16);
        break;
    case BLOCK_ACCOUNT:
        slot->block = block_checked(malloc(bytes), bytes);
        block_write(slot->block, bytes);
        if (++block_totals.takes == block_peak_take)
            block_at_peak();
        break;
    }
}

void block_give_slow(struct slot *slot)
{
    uint64_t begin;
    switch (block_mode) {
    case BLOCK_TIME:
    case BLOCK_ACCOUNT:
        free(slot->block);
        break;
    case BLOCK_PLAIN:
        break;
    case BLOCK_DRY:
        block_note_give(slot);
        break;
    case BLOCK_CHECK:
        block_content_verify(slot);
        block_note_give(slot);
        free(slot->block);
        break;
    case BLOCK_LATENCY:
        begin = latency_begin();
        free(slot->block);
        latency_end(LATENCY_FREE, begin);
        break;
    case BLOCK_COUNT:
        mark_begin();
        free(slot->block);
        mark_end_free();
        break;
    }
}

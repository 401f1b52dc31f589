/* Streams of calls that are bad for one kind of allocator or another: what some allocator does in
 * one call here grows with the number of blocks. Each says whom it is after. Threads take turns
 * (one waits while the other works), so that every call can be timed and counted. */
#include "pattern.h"

#include <pthread.h>
#include <string.h>

#include "memory.h"

static void stream_give_range(struct slot *slots, uint64_t from, uint64_t to, uint64_t step)
{
    for (uint64_t i = from; i < to; i += step)
        block_give(&slots[i]);
}

/* A permutation of [0, count) without order, the same in every run: of the next power of two by
 * steps that can each be undone, again until the result is within. */
static uint64_t stream_scattered(uint64_t i, uint64_t count)
{
    unsigned bits = count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 1;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    do {
        i = (i + 0x6D2B79F5u) * 0x9E3779B97F4A7C15u & mask;
        i ^= i >> (bits / 2 + 1);
        i = i * 0xD6E8FEB86659FD93u & mask;
        i ^= i >> (bits / 2 + 1);
    } while (i >= count);
    return i;
}

/* Lists of equal small blocks that wait for a coalescing, which one large request then does
 * (glibc's fast bins). Every second block stays, so that nothing coalesces before. */
static void stream_run_waiting(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    struct slot *large = &slots[blocks];
    uint64_t bytes = pattern->a * sizeof(void *);
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], bytes);
    for (unsigned round = 0; round < 4; round++) {
        stream_give_range(slots, 0, blocks, 2);
        block_take(large, pattern->b * sizeof(void *));
        block_give(large);
        for (uint64_t i = 0; i < blocks; i += 2)
            block_take(&slots[stream_scattered(i / 2, blocks / 2) * 2], bytes);
    }
    stream_give_range(slots, 0, blocks, 1);
}

/* Free blocks of very many sizes, none next to another, all freed before the next request: it has
 * to sort or search them (glibc's unsorted list and its large bins; first fit; lists by size).
 * Every fourth round asks for what just does not fit. */
static void stream_run_unsorted(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t sizes = pattern->b - pattern->a;
    struct slot *extra = &slots[blocks];
    for (uint64_t i = 0; i < blocks; i += 2) {
        uint64_t words = pattern->a + stream_scattered(i / 2, blocks / 2) % sizes;
        block_take(&slots[i], words * sizeof(void *));
        block_take(&slots[i + 1], 2 * sizeof(void *));
    }
    stream_give_range(slots, 0, blocks, 2);
    for (unsigned round = 0; round < 64; round++) {
        block_take(&extra[round], (pattern->b + 2 + round) * sizeof(void *));
    }
    for (unsigned round = 0; round < 64; round++)
        block_give(&extra[round]);
    for (uint64_t i = blocks; i > 0; i -= 2) /* again, from the largest down to what is left */
        block_take(&slots[i - 2], (pattern->a + (i - 2) % sizes) * sizeof(void *));
    stream_give_range(slots, 0, blocks, 1);
}

/* A huge list of free blocks of one size, in no order of addresses, and requests a little larger:
 * who searches lists meets all of them each time; then requests that fit. */
static void stream_run_equals(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t bytes = pattern->a * sizeof(void *), half = blocks / 2;
    for (uint64_t i = 0; i < blocks; i += 2) {
        block_take(&slots[i], bytes);
        block_take(&slots[i + 1], 2 * sizeof(void *));
    }
    for (uint64_t k = 0; k < half; k++)
        block_give(&slots[2 * stream_scattered(k, half)]);
    for (uint64_t k = 0; k < half / 4; k++)
        block_take(&slots[2 * k], bytes + 2 * sizeof(void *));
    for (uint64_t k = half / 4; k < half; k++)
        block_take(&slots[2 * k], bytes);
    stream_give_range(slots, 0, blocks, 1);
}

/* A comb: every second block of many is free and requests are twice as large; then the teeth go too
 * and everything coalesces. */
static void stream_run_comb(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t bytes = pattern->a * sizeof(void *), more = blocks / 8;
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], bytes);
    stream_give_range(slots, 0, blocks, 2);
    for (uint64_t i = 0; i < more; i++)
        block_take(&slots[2 * i], 2 * bytes);
    stream_give_range(slots, 1, blocks, 2);
    for (uint64_t i = more; i < blocks / 2; i++)
        block_take(&slots[2 * i], 2 * bytes - 16);
    stream_give_range(slots, 0, blocks, 2);
}

/* Sizes creep: each round every block is replaced by one 16 bytes larger, so that each hole is a
 * little too small for what comes next (free lists by exact size; first fit). */
static void stream_run_creep(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], pattern->a * sizeof(void *));
    for (uint64_t words = pattern->a + 2; words <= pattern->b; words += 2) {
        for (uint64_t i = 0; i < blocks; i += 3)
            block_give(&slots[i]);
        for (uint64_t i = 0; i < blocks; i += 3)
            block_take(&slots[i], words * sizeof(void *));
    }
    stream_give_range(slots, 0, blocks, 1);
}

/* Two sizes by turns, held for long: each allocation finds what the other size has just left
 * (caches of the last free block, next fit). */
static void stream_run_turns(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], (i & 1 ? pattern->a : pattern->b) * sizeof(void *));
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t k = 0; k < blocks; k++) {
            uint64_t i = stream_scattered(k, blocks);
            block_give(&slots[i]);
            block_take(&slots[i], ((i + round) & 1 ? pattern->b : pattern->a) * sizeof(void *));
        }
    }
    stream_give_range(slots, 0, blocks, 1);
}

/* Every size there is, few blocks of each, in no order: tables by size are filled and emptied, and
 * each class is begun for one block. */
static void stream_run_sizes(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t bytes = pattern->b * sizeof(void *);
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < blocks; i++)
            block_take(&slots[i], 1 + stream_scattered(i, blocks) * 257 % bytes);
        for (uint64_t i = 0; i < blocks; i++)
            block_give(&slots[round ? i : blocks - 1 - i]);
    }
}

/* One free block in each full slab, the last one, and all of them wanted again: who keeps bitmaps
 * scans each to its end, who keeps slabs in a list by fullness moves each of them twice. */
static void stream_run_last_bits(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    uint64_t bytes = pattern->a * sizeof(void *), each = 4096 / bytes;
    for (uint64_t i = 0; i < blocks; i++)
        block_take(&slots[i], bytes);
    for (unsigned round = 0; round < 16; round++) {
        uint64_t first = each - 1 - round % 2;
        for (uint64_t i = first; i < blocks; i += each)
            block_give(&slots[i]);
        for (uint64_t i = first; i < blocks; i += each)
            block_take(&slots[i], bytes);
    }
    stream_give_range(slots, 0, blocks, 1);
}

/* --- threads that take turns ------------------------------------------------------------------ */

struct turn {
    void (*work)(struct turn *turn);
    const struct pattern *pattern;
    struct slot *slots;
    uint64_t from, to;
};

static void *stream_turn_begin(void *argument)
{
    struct turn *turn = argument;
    turn->work(turn);
    return NULL;
}

static void stream_take_turn(struct turn *turn)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stream_turn_begin, turn) != 0)
        memory_die("no thread could be started");
    pthread_join(thread, NULL);
}

static void stream_give_turn(struct turn *turn)
{
    for (uint64_t i = turn->from; i < turn->to; i++)
        block_give(&turn->slots[i]);
}

static void stream_take_mixed_turn(struct turn *turn)
{
    uint64_t sizes = turn->pattern->b - turn->pattern->a + 1;
    for (uint64_t i = turn->from; i < turn->to; i++)
        block_take(&turn->slots[i], (turn->pattern->a + i * 7 % sizes) * sizeof(void *));
}

/* Another thread frees all that this one made; this one's next call finds the whole list (who
 * drains remote frees at one go). */
static void stream_run_remote(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    struct turn turn = {stream_give_turn, pattern, slots, 0, blocks};
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < blocks; i++)
            block_take(&slots[i], pattern->a * sizeof(void *));
        stream_take_turn(&turn);
    }
    block_take(&slots[0], pattern->a * sizeof(void *));
    block_give(&slots[0]);
}

/* Threads end and leave their blocks; others free half of them, allocate, and free the rest (heaps
 * that are abandoned, adopted, and searched). */
static void stream_run_orphans(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    enum { THREADS = 64 };
    uint64_t share = blocks / THREADS;
    struct turn turn = {stream_take_mixed_turn, pattern, slots, 0, 0};
    for (unsigned i = 0; i < THREADS; i++) {
        turn.from = i * share;
        turn.to = turn.from + share;
        stream_take_turn(&turn);
    }
    blocks = share * THREADS;
    stream_give_range(slots, 0, blocks, 2);
    for (unsigned i = 0; i < THREADS; i++) {
        for (uint64_t k = i * share; k < (i + 1) * share; k++) {
            if (k % 2 == 0)
                block_take(&slots[k],
                           (pattern->a + k * 5 % (pattern->b - pattern->a)) * sizeof(void *));
        }
    }
    turn = (struct turn){stream_give_turn, pattern, slots, 0, blocks};
    stream_take_turn(&turn);
}

/* A large heap becomes empty by the free of its last block, three times: all coalesces and goes
 * back in one call (glibc's trim, decommits of whole regions). */
static void stream_run_sawtooth(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < blocks; i++)
            block_take(&slots[i], pattern->a * sizeof(void *));
        for (uint64_t i = 0; i + 1 < blocks; i++)
            block_give(&slots[i]);
        block_give(&slots[blocks - 1]);
    }
}

/* Large blocks around and beyond the sizes from which allocators ask the system for each: 64 KiB to
 * 16 MiB, a few alive at a time, every page written. */
static void stream_run_large(const struct pattern *pattern, struct slot *slots, uint64_t blocks)
{
    enum { ALIVE = 8 };
    uint64_t steps = pattern->b * sizeof(void *) / (64 << 10);
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t bytes = (64 << 10) * (1 + stream_scattered(i, blocks) * 31 % steps) + i % 7 * 4112;
        if (i >= ALIVE)
            block_give(&slots[i % ALIVE]);
        block_take(&slots[i % ALIVE], bytes);
    }
    for (uint64_t i = 0; i < ALIVE && i < blocks; i++)
        block_give(&slots[i]);
}

/* --- how many --------------------------------------------------------------------------------- */

static uint64_t stream_blocks_of_mean(const struct pattern *pattern, uint64_t bytes)
{
    uint64_t b = pattern->b > pattern->a ? pattern->b : pattern->a;
    uint64_t blocks = 2 * bytes / ((pattern->a + b) * sizeof(void *));
    return blocks < 512 ? 512 : blocks & ~(uint64_t)511;
}

static uint64_t stream_blocks_of_a(const struct pattern *pattern, uint64_t bytes)
{
    uint64_t blocks = bytes / (pattern->a * sizeof(void *));
    return blocks < 512 ? 512 : blocks & ~(uint64_t)511;
}

/* The bytes go through, a few blocks at a time; never more than two thousand in all. */
static uint64_t stream_blocks_of_large(const struct pattern *pattern, uint64_t bytes)
{
    uint64_t mean = (pattern->a + pattern->b) / 2 * sizeof(void *), blocks = 4 * bytes / mean;
    return blocks < 32 ? 32 : blocks > 2048 ? 2048 : blocks;
}

#define STREAM(name, a, b, run, blocks_for, head_only)                                             \
    {                                                                                              \
        name, 0, a, b, NULL, run, blocks_for, false, true, head_only                               \
    }

const struct pattern streams[] = {
    STREAM("waiting", 6, 16384, stream_run_waiting, stream_blocks_of_a, false),
    STREAM("unsorted", 134, 8192, stream_run_unsorted, stream_blocks_of_mean, true),
    STREAM("equals", 140, 0, stream_run_equals, stream_blocks_of_a, true),
    STREAM("comb", 12, 24, stream_run_comb, stream_blocks_of_mean, false),
    STREAM("creep", 8, 96, stream_run_creep, stream_blocks_of_mean, false),
    STREAM("turns", 65, 180, stream_run_turns, stream_blocks_of_mean, false),
    STREAM("sizes", 1, 4096, stream_run_sizes, stream_blocks_of_mean, true),
    STREAM("last-bits", 4, 0, stream_run_last_bits, stream_blocks_of_a, false),
    STREAM("remote", 6, 0, stream_run_remote, stream_blocks_of_a, false),
    STREAM("orphans", 2, 200, stream_run_orphans, stream_blocks_of_mean, false),
    STREAM("sawtooth", 24, 0, stream_run_sawtooth, stream_blocks_of_a, false),
    STREAM("large", 8192, 2097152, stream_run_large, stream_blocks_of_large, false),
};
const unsigned stream_count = sizeof streams / sizeof *streams;

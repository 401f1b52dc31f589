/* The chain of functions that bench/inprocess/unwind.c drives: each asks what to do next, and
 * captures, calls on, or returns. */
#ifndef TIDEMARK_BENCH_UNWIND_CHAIN_H
#define TIDEMARK_BENCH_UNWIND_CHAIN_H

#include <stdint.h>

enum chain_pattern { CHAIN_SAME, CHAIN_WALK, CHAIN_LEAF };
enum { CHAIN_RETURN = -1, CHAIN_CAPTURE = 255, CHAIN_FUNCTIONS = 64, CHAIN_SPREAD = 3 };

struct chain {
    void (*capture)(void);
    long left;
    int pattern, depth, popping;
    unsigned next_random;
    uint8_t random[4096];
};

typedef long chain_function(struct chain *chain, int depth, long a, long b);
extern chain_function *const chain_functions[CHAIN_FUNCTIONS];

static inline int chain_walk(const struct chain *chain, int depth, int random)
{
    int on = random % CHAIN_FUNCTIONS;
    if (depth < chain->depth - CHAIN_SPREAD) {
        return on;
    }
    if (random < 128) {
        return CHAIN_CAPTURE;
    }
    if (depth >= chain->depth + CHAIN_SPREAD) {
        return CHAIN_RETURN;
    }
    return depth == chain->depth - CHAIN_SPREAD || random < 192 ? on : CHAIN_RETURN;
}

static inline int chain_next(struct chain *chain, int depth)
{
    int random = chain->random[chain->next_random++ % sizeof chain->random];
    if (chain->left <= 0) {
        return CHAIN_RETURN;
    }
    if (chain->pattern == CHAIN_WALK) {
        return chain_walk(chain, depth, random);
    }
    if (chain->popping && depth >= chain->depth) {
        chain->popping = 0;
        return CHAIN_RETURN;
    }
    if (depth < chain->depth) {
        return random % CHAIN_FUNCTIONS;
    }
    chain->popping = chain->pattern == CHAIN_LEAF;
    return CHAIN_CAPTURE;
}

static inline void chain_capture(struct chain *chain)
{
    chain->left--;
    chain->capture();
}

#endif

/* The common parts of the counters' hooks: counting_hooks.c has those of malloc's family,
 * counting_operators.c those of C++'s operators. */
#ifndef TIDEMARK_COUNTERS_COUNTING_HOOKS_H
#define TIDEMARK_COUNTERS_COUNTING_HOOKS_H

#include "counters/counters.h"
#include "interpose/hooked.h"
#include "interpose/real.h"

#define HOOK __attribute__((visibility("default")))

#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc))                                                                \
            count_find_real();                                                                     \
    } while (0)

#endif

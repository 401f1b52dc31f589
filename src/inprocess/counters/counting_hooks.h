/* What hooks of the counters are made of: counting_hooks.c, of malloc's family, and
 * counting_operators.c, of C++'s operators. */
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

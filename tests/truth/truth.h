/* What the cases share: pauses, so that a run has a course in time, and calls and blocks that the
 * optimizer leaves where they are. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static inline void pause_ms(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* A millisecond after each so many. */
static inline void pace(int i, int every)
{
    if (i % every == 0)
        pause_ms(1);
}

static inline void use(void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

#endif

/* Blocks that the C and C++ run-times keep for themselves until the program ends: libstdc++'s pool
 * for exceptions that are thrown without memory, the buffers of stdio's files, what the C library
 * has read of locales, time zones and name services, and what goes with the few stacks that it
 * keeps of ended threads. Nobody frees them (memcheck has the C library free its own), and a
 * program that has nothing else left has no leak. They are recognised by the functions that
 * allocate them. */
#ifndef TIDEMARK_AGGREGATE_RUNTIME_POOLS_H
#define TIDEMARK_AGGREGATE_RUNTIME_POOLS_H

#include <stdbool.h>
#include <stdint.h>
#include "profile/profile.h"

/* What the names in a profile say about its code locations and modules. Each name is compared
 * once. */
struct runtime_pool_names {
    const struct profile *profile;
    uint8_t *of_code, *of_module; /* sets of bits, by their numbers; NULL: no name says anything */
};
/* Ends the process where there is no memory. */
void runtime_pool_names_init(struct runtime_pool_names *names, const struct profile *profile);
void runtime_pool_names_release(struct runtime_pool_names *names);

/* Whether what is allocated by this path is such a pool. */
bool runtime_pools_has(const struct runtime_pool_names *names, uint32_t path);

struct runtime_pools {
    struct figure bytes, count; /* of what is alive at the end */
};
struct runtime_pools runtime_pools_left(const struct profile *profile);
/* Whether nothing else is left. */
bool runtime_pools_are_all(const struct profile *profile, const struct runtime_pools *left);

#endif

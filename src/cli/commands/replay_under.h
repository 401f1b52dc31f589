/* tidemark replay --under: what if the program had had another allocator (whatif/whatif.h). A part
 * of the command replay. */
#ifndef TIDEMARK_COMMANDS_REPLAY_UNDER_H
#define TIDEMARK_COMMANDS_REPLAY_UNDER_H

#include <stdbool.h>
#include <stdint.h>
#include "whatif/whatif.h"

#define REPLAY_UNDER_USUAL_ROUNDS UINT64_MAX /* the option was not given */

struct replay_under {
    struct whatif_candidates candidates; /* none: it was not asked for */
    uint64_t rounds;                     /* REPLAY_UNDER_USUAL_ROUNDS: not asked for */
    uint64_t patience_ns;
    int order, touch;
};

/* For an option entry of OPTION_CALL: adds a list of candidates; `under` is a struct
 * replay_under. */
int replay_under_add(struct replay_under *under, const char *list);

/* clang-format off */
#define REPLAY_UNDER_ENTRIES(TO, call_under)                                                       \
    {"under", 'u', OPTION_CALL, "ALLOCATOR,…",                                                     \
     "run the stream of allocations under each of these, glibc, jemalloc, tcmalloc, mimalloc, "    \
     "bfm or the path of a library, and compare them",                                             \
     0, false, call_under},                                                                        \
    {"rounds", 0, OPTION_NUMBER, "N", "with --under: runs of each, by turns (default: 3)",         \
     TO(under.rounds), true, NULL},                                                               \
    {"order", 0, OPTION_CHOICE, WHATIF_ORDER_CHOICE,                                               \
     "with --under: how far threads may get apart (default: near)", TO(under.order), true, NULL}, \
    {"touch", 0, OPTION_CHOICE, WHATIF_TOUCH_CHOICE,                                               \
     "with --under: what of a block is written (default: all, each page once)", TO(under.touch),   \
     true, NULL},                                                                                 \
    {"patience", 0, OPTION_DURATION, "TIME",                                                       \
     "with --under: an allocator from which no call comes back for so long hangs (default: 30s)",  \
     TO(under.patience_ns), true, NULL}
/* clang-format on */

/* Runs and prints. The exit status. */
int replay_under_run(struct replay_under *under, const char *path, bool json, int colour,
                     bool pager, uint64_t width);

#endif

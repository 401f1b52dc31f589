/* The options --of and --region, which commands that show a metric share: which memory it is of,
 * and which part of the program asked for it. */
#ifndef TIDEMARK_COMMANDS_LEVEL_OPTIONS_H
#define TIDEMARK_COMMANDS_LEVEL_OPTIONS_H

#include "base/options.h"
#include "model/level.h"

/* In the order of enum memory_level; TO(): as in the command's own entries, whose arguments have an
 * int named `of`. */
#define LEVEL_CHOICE "heap|mapped|all|resident"
#define LEVEL_ENTRY(TO)                                                                            \
    {                                                                                              \
        "of", 0, OPTION_CHOICE, LEVEL_CHOICE, "which memory (default: heap)", TO(of), false, NULL  \
    }

/* The same of commands that read traces; `take` calls level_take_of_trace(). */
#define TRACE_LEVEL_CHOICE "heap|mapped|all"
#define TRACE_LEVEL_ENTRY(take)                                                                    \
    {                                                                                              \
        "of", 0, OPTION_CALL, TRACE_LEVEL_CHOICE, "which memory (default: heap)", 0, false, take   \
    }

/* Puts the level behind --of into `of`. 0, or -EINVAL after a sentence. */
int level_take_of_trace(const char *command, int *of, const char *value);

/* Of arguments with a string named `region`; `rare`: --help=all only. */
#define REGION_ENTRY(TO, rare)                                                                     \
    {                                                                                              \
        "region", 'r', OPTION_STRING, "NAME",                                                      \
            "only what was allocated in this region of the program (tidemark-api(3))", TO(region), \
            rare, NULL                                                                             \
    }

/* The sentence for a command line with both. */
extern const char level_and_region[];

struct profile;
/* Reduces the profile to that level, or to a region (NULL: none), not both. 0, or the exit status
 * after a sentence. */
int level_take(const char *command, struct profile *profile, int of, const char *region);

#endif

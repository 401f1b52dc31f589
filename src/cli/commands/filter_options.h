/* The option --filter, the same in all commands that show call paths. */
#ifndef TIDEMARK_COMMANDS_FILTER_OPTIONS_H
#define TIDEMARK_COMMANDS_FILTER_OPTIONS_H

#include <stdbool.h>

/* For option entries; `filter` is a string of the arguments. What it takes: aggregate/match.h. */
#define FILTER_ENTRY(TO)                                                                           \
    {                                                                                              \
        "filter", 'f', OPTION_STRING, "REGEX",                                                     \
            "only paths with a function, file, module that matches", TO(filter), false, NULL       \
    }

struct options_command;
struct profile;

/* True, or false and the sentence has been said. NULL is right. */
bool filter_is_right(const struct options_command *command, const char *filter);
/* The paths of a profile that pass, by node, to be freed. 0, or the status, and the sentence has
 * been said; NULL and 0 where `filter` is NULL. */
int filter_paths(const char *name, const struct profile *profile, const char *filter,
                 bool **passes);

#endif

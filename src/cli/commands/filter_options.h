/* The option --filter, the same in all commands that show call paths or blocks
 * (aggregate/match.h). */
#ifndef TIDEMARK_COMMANDS_FILTER_OPTIONS_H
#define TIDEMARK_COMMANDS_FILTER_OPTIONS_H

#include <stdbool.h>

/* For option entries; `filter` is a string of the arguments. */
#define FILTER_HELP "only paths with a function, file, module that matches"
#define FILTER_ENTRY(TO)                                                                           \
    {                                                                                              \
        "filter", 'f', OPTION_STRING, "REGEX", FILTER_HELP, TO(filter), false, NULL                \
    }

struct options_command;
struct profile;

/* Of commands that show call paths. `region`: the argument of --region, which a "region:" of the
 * filter is as good as; NULL: the command knows no regions. True, or false and the sentence has
 * been said. A filter that is NULL is right. */
bool filter_is_right(const struct options_command *command, const char *filter,
                     const char **region);
/* Can it be asked of this profile? True, or false and the sentence has been said. */
bool filter_suits(const char *name, const struct profile *profile, const char *filter);
/* The paths of a profile that pass, by node, to be freed. 0, or the status, and the sentence has
 * been said; NULL and 0 where `filter` is NULL. */
int filter_paths(const char *name, const struct profile *profile, const char *filter,
                 bool **passes);

struct match_conditions;
/* Of commands that show single blocks or events of a trace, under --filter or --function. True, or
 * false and the sentence has been said. */
bool filter_of_trace(const struct options_command *command, const char *filter,
                     struct match_conditions *conditions);

#endif

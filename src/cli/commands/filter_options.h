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

/* For commands that show call paths. `region`: the argument of --region; a "region:" in the filter
 * sets it; NULL: the command knows no regions. False: it has been said what is wrong. NULL is a
 * right filter. */
bool filter_is_right(const struct options_command *command, const char *filter,
                     const char **region);
/* Can the filter be applied to this profile? False: it has been said why not. */
bool filter_suits(const char *name, const struct profile *profile, const char *filter);
/* Which paths of a profile pass, by node; the caller frees them. NULL where `filter` is NULL. 0, or
 * the exit status after a sentence. */
int filter_paths(const char *name, const struct profile *profile, const char *filter,
                 bool **passes);

struct match_conditions;
/* For commands that show single blocks or events of a trace, under --filter or --function. False:
 * it has been said what is wrong. */
bool filter_of_trace(const struct options_command *command, const char *filter,
                     struct match_conditions *conditions);

#endif

/* The option --filter, as all commands of call paths have it: its complaint, and the paths that
 * pass. */
#include "commands/filter_options.h"

#include "aggregate/match.h"
#include "base/options.h"
#include "commands/output.h"

bool filter_is_right(const struct options_command *command, const char *filter)
{
    char why[160];
    if (!filter || !match_check(filter, why, sizeof why))
        return true;
    options_usage_error(command, "--filter is no regular expression: %s", why);
    return false;
}

int filter_paths(const char *name, const struct profile *profile, const char *filter, bool **passes)
{
    *passes = NULL;
    if (!filter || !match_paths(profile, filter, passes))
        return 0;
    return output_complain(name, "out of memory");
}

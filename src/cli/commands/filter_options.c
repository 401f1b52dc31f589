/* The option --filter, as all commands of call paths and blocks have it: complaints about it,
 * conditions that a profile or a trace cannot answer, and the paths that pass. */
#include "commands/filter_options.h"

#include <string.h>
#include "aggregate/match.h"
#include "base/options.h"
#include "commands/output.h"

static bool filter_is_spelt_right(const struct options_command *command, const char *filter,
                                  struct match_conditions *conditions)
{
    char why[160];
    if (match_check(filter, why, sizeof why)) {
        options_usage_error(command, "--filter: %s", why);
        return false;
    }
    match_conditions(conditions, filter);
    return true;
}

static bool filter_take_region(const struct options_command *command, const char *name,
                               const char **region)
{
    static char taken[MATCH_REGION_MOST];
    if (*region && strcmp(*region, name) != 0) {
        options_usage_error(command, "--filter and --region name two regions");
        return false;
    }
    memcpy(taken, name, sizeof taken);
    *region = taken;
    return true;
}

bool filter_is_right(const struct options_command *command, const char *filter, const char **region)
{
    struct match_conditions conditions;
    if (!filter_is_spelt_right(command, filter, &conditions))
        return false;
    if (conditions.has_thread || conditions.age.is_said) {
        options_usage_error(command,
                            "--filter %s: is known of single blocks, not of call paths: ask a "
                            "trace (tidemark blocks, events)",
                            conditions.has_thread ? "thread" : "age");
        return false;
    }
    if (*conditions.region && !region) {
        options_usage_error(command, "--filter region: is for commands with --region, such as "
                                     "report, export, annotate and diff");
        return false;
    }
    return !*conditions.region || filter_take_region(command, conditions.region, region);
}

bool filter_of_trace(const struct options_command *command, const char *filter,
                     struct match_conditions *conditions)
{
    if (!filter_is_spelt_right(command, filter, conditions))
        return false;
    if (!*conditions->region)
        return true;
    options_usage_error(command, "--filter region: a trace does not say in which region a block "
                                 "was asked for: ask its profile (tidemark report --region)");
    return false;
}

bool filter_suits(const char *name, const struct profile *profile, const char *filter)
{
    const char *missing = match_missing(profile, filter);
    if (missing)
        output_complainf(name, "--filter: %s", missing);
    return !missing;
}

int filter_paths(const char *name, const struct profile *profile, const char *filter, bool **passes)
{
    *passes = NULL;
    if (!filter)
        return 0;
    if (!filter_suits(name, profile, filter))
        return OPTIONS_EXIT_FAILURE;
    return match_paths(profile, filter, passes) ? output_complain(name, "out of memory") : 0;
}

/* Turns the word behind --of into a level, and makes a profile one of that level, or of a region,
 * before anything is shown of it (level_options.h). */
#include "commands/level_options.h"

#include <errno.h>
#include "base/error.h"
#include "commands/output.h"
#include "profile/profile.h"

const char level_and_region[] =
    "--of and --region cannot be together: what is mapped and resident is not known by region";

int level_take_of_trace(const char *command, int *of, const char *value)
{
    enum memory_level level;
    if (!memory_level_find(value, &level)) {
        output_complainf(command, "'%s' is not right for --of: expected %s", value,
                         TRACE_LEVEL_CHOICE);
        return -EINVAL;
    }
    if (level == MEMORY_RESIDENT) {
        output_complain(command, "a trace has no pages: what was resident is in the profile "
                                 "(tidemark report --of=resident)");
        return -EINVAL;
    }
    *of = (int)level;
    return 0;
}

int level_take(const char *command, struct profile *profile, int of, const char *region)
{
    if (region && profile_cut_region(profile, region))
        return output_complain(command, error_text());
    return profile_take_level(profile, (enum memory_level)of)
               ? output_complain(command, error_text())
               : 0;
}

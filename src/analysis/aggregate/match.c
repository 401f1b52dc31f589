/* Selects call paths by a POSIX regular expression (match.h). Each code location is matched once.
 * One pass over the nodes, parents first, passes the result down the paths. */
#include "aggregate/match.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include "aggregate/frames.h"

int match_check(const char *pattern, char *why, size_t why_bytes)
{
    regex_t regex;
    if (!pattern)
        return 0;
    int result = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (result) {
        regerror(result, &regex, why, why_bytes);
        return -EINVAL;
    }
    regfree(&regex);
    return 0;
}

static bool matches(const regex_t *regex, const char *string)
{
    return string && !regexec(regex, string, 0, NULL, 0);
}

static bool match_code(const regex_t *regex, const struct profile *profile, uint32_t index)
{
    const struct profile_code *code = &profile->codes[index];
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        if (matches(regex, profile->functions[line->function].name) || matches(regex, line->file))
            return true;
    }
    return matches(regex, frame_module(profile, frame_at(index, code->first_line)));
}

/* Parents come first, so one pass does. */
int match_paths(const struct profile *profile, const char *pattern, bool **out)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        return -EINVAL;
    bool *code = calloc(profile->code_count, 1), *node = calloc(profile->node_count, 1);
    for (size_t i = 0; code && i < profile->code_count; i++)
        code[i] = match_code(&regex, profile, (uint32_t)i);
    for (size_t i = 1; code && node && i < profile->node_count; i++)
        node[i] = node[profile->nodes[i].parent] || code[profile->nodes[i].location];
    regfree(&regex);
    bool complete = code && node;
    free(code);
    *out = node;
    return complete ? 0 : -ENOMEM;
}

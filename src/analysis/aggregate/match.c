/* Selects call paths by a POSIX regular expression (match.h). Each code location is matched once.
 * One pass over the nodes, parents first, passes the result down the paths. */
#include "aggregate/match.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/frames.h"

enum { MATCH_FUNCTION = 1, MATCH_FILE = 2, MATCH_MODULE = 4 };

struct match {
    regex_t regex;
    unsigned where; /* MATCH_… */
    bool is_not;    /* paths without such a frame */
};

/* "function:" at the beginning says where to look; "function::" is a name of C++. */
static const char *match_read_where(const char *pattern, unsigned *where)
{
    static const struct {
        const char *word;
        unsigned where;
    } words[] = {{"function:", MATCH_FUNCTION}, {"file:", MATCH_FILE}, {"module:", MATCH_MODULE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(pattern, words[i].word, length) || pattern[length] == ':')
            continue;
        *where = words[i].where;
        return pattern + length;
    }
    *where = MATCH_FUNCTION | MATCH_FILE | MATCH_MODULE;
    return pattern;
}

/* 0, or regcomp()'s error. */
static int match_compile(struct match *match, const char *pattern)
{
    match->is_not = *pattern == '!';
    pattern = match_read_where(pattern + match->is_not, &match->where);
    return regcomp(&match->regex, pattern, REG_EXTENDED | REG_NOSUB);
}

int match_check(const char *pattern, char *why, size_t why_bytes)
{
    struct match match;
    if (!pattern)
        return 0;
    int result = match_compile(&match, pattern);
    if (result) {
        regerror(result, &match.regex, why, why_bytes);
        return -EINVAL;
    }
    regfree(&match.regex);
    return 0;
}

static bool match_string(const struct match *match, unsigned where, const char *string)
{
    return (match->where & where) && string && !regexec(&match->regex, string, 0, NULL, 0);
}

static bool match_code(const struct match *match, const struct profile *profile, uint32_t index)
{
    const struct profile_code *code = &profile->codes[index];
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        if (match_string(match, MATCH_FUNCTION, profile->functions[line->function].name) ||
            match_string(match, MATCH_FILE, line->file))
            return true;
    }
    return match_string(match, MATCH_MODULE,
                        frame_module(profile, frame_at(index, code->first_line)));
}

/* Parents come first, so one pass does. */
static void match_nodes(const struct profile *profile, const bool *code, bool is_not, bool *node)
{
    for (size_t i = 1; i < profile->node_count; i++)
        node[i] = node[profile->nodes[i].parent] || code[profile->nodes[i].location];
    for (size_t i = 0; is_not && i < profile->node_count; i++)
        node[i] = !node[i];
}

int match_paths(const struct profile *profile, const char *pattern, bool **out)
{
    struct match match;
    if (match_compile(&match, pattern))
        return -EINVAL;
    bool *code = calloc(profile->code_count + 1, 1), *node = calloc(profile->node_count + 1, 1);
    for (size_t i = 0; code && i < profile->code_count; i++)
        code[i] = match_code(&match, profile, (uint32_t)i);
    if (code && node)
        match_nodes(profile, code, match.is_not, node);
    regfree(&match.regex);
    bool complete = code && node;
    free(code);
    *out = node;
    return complete ? 0 : -ENOMEM;
}

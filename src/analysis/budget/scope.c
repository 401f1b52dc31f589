/* Which call paths a limit is about. A kind of scope is an entry of the table: what it is called in
 * the budget, and whether a frame belongs to it. */
#include <stdlib.h>
#include <string.h>
#include "budget/budget.h"
#include "aggregate/frames.h"
#include "format/names.h"

typedef bool has_frame(const struct profile *profile, const char *pattern, struct frame frame);

/* By the whole name, without parameters and return type, or the linkage name. */
static bool budget_scope_has_function(const struct profile *profile, const char *pattern,
                                      struct frame frame)
{
    uint32_t index = profile->lines[frame.line].function;
    const struct profile_function *function = &profile->functions[index];
    if (!index)
        return false;
    if (suppressions_glob_matches(pattern, function->name) ||
        (function->linkage && suppressions_glob_matches(pattern, function->linkage)))
        return true;
    size_t length;
    const char *core = name_core(function->name, &length);
    char *copy = strndup(core, length);
    bool matches = copy && suppressions_glob_matches(pattern, copy);
    free(copy);
    return matches;
}

/* The whole path, or any end of it that begins behind a slash. */
static bool budget_scope_has_path(const char *pattern, const char *path)
{
    for (; path; path = strchr(path, '/')) {
        path += *path == '/' && *pattern != '/';
        if (suppressions_glob_matches(pattern, path))
            return true;
        path += *path == '/';
    }
    return false;
}

static bool budget_scope_has_file(const struct profile *profile, const char *pattern,
                                  struct frame frame)
{
    uint32_t line;
    return budget_scope_has_path(pattern, frame_file(profile, frame, &line));
}

static bool budget_scope_has_library(const struct profile *profile, const char *pattern,
                                     struct frame frame)
{
    return budget_scope_has_path(pattern, frame_module(profile, frame));
}

static const struct {
    const char *name;
    has_frame *has;
} scopes[BUDGET_SCOPES] = {
    [BUDGET_PROGRAM] = {"program", NULL},
    [BUDGET_FUNCTION] = {"function", budget_scope_has_function},
    [BUDGET_FILE] = {"file", budget_scope_has_file},
    [BUDGET_LIBRARY] = {"library", budget_scope_has_library},
    [BUDGET_REGION] = {"region", NULL}, /* of blocks, not of paths: a view of the profile has
                                         * them */
};

const char *budget_scope_name(enum budget_scope scope)
{
    return scopes[scope].name;
}

/* By index of lines: does it match? Each line is asked once, whatever number of paths it is on. */
static bool *budget_scope_matching_lines(const struct profile *profile,
                                         const struct budget_limit *limit)
{
    bool *matches = calloc(profile->line_count + 1, sizeof *matches);
    for (uint32_t i = 1; matches && i < profile->code_count; i++)
        for (uint32_t j = 0; j < profile->codes[i].line_count; j++) {
            struct frame frame = frame_at(i, profile->codes[i].first_line + j);
            matches[frame.line] = scopes[limit->scope].has(profile, limit->pattern, frame);
        }
    return matches;
}

/* Parents come first: a path has what its parent has. */
static void budget_scope_mark_inclusive(const struct profile *profile, const bool *matches,
                                        bool *paths)
{
    for (uint32_t i = 1; i < profile->node_count; i++) {
        const struct profile_code *code = &profile->codes[profile->nodes[i].location];
        paths[i] = paths[profile->nodes[i].parent];
        for (uint32_t j = 0; j < code->line_count; j++)
            paths[i] |= matches[code->first_line + j];
    }
}

static void budget_scope_mark_one(const struct profile *profile, const bool *matches,
                                  const bool *hidden, uint32_t path, bool *paths)
{
    struct frame_walk walk;
    if (path)
        paths[path] = matches[frame_walk_begin(&walk, profile, hidden, path).line];
}

/* Of blocks, of mappings, and of who owns resident memory. */
static void budget_scope_mark_exclusive(const struct profile *profile, const bool *matches,
                                        const bool *hidden, bool *paths)
{
    for (size_t i = 0; i < profile->site_count; i++)
        budget_scope_mark_one(profile, matches, hidden, profile_site_path(profile, i), paths);
    for (size_t i = 0; i < profile->mapped_site_count; i++)
        budget_scope_mark_one(profile, matches, hidden, profile->mapped_sites[i].path, paths);
    for (size_t i = 0; i < profile->owner_count; i++)
        budget_scope_mark_one(profile, matches, hidden, profile->owners[i].path, paths);
}

bool *budget_scope_paths(const struct profile *profile, const struct budget_limit *limit,
                         const bool *hidden, bool *all)
{
    *all = !scopes[limit->scope].has;
    if (*all)
        return NULL;
    bool *matches = budget_scope_matching_lines(profile, limit);
    bool *paths = matches ? calloc(profile->node_count + 1, sizeof *paths) : NULL;
    if (paths && limit->exclusive)
        budget_scope_mark_exclusive(profile, matches, hidden, paths);
    else if (paths)
        budget_scope_mark_inclusive(profile, matches, paths);
    free(matches);
    return paths;
}

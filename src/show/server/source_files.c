/* Numbers a profile's source files (source_files.h). Paths are collected, cleaned of detours and
 * sorted; equal clean paths are one file. A path is found by binary search. */
#include "server/source_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/source_lines.h"
#include "base/search.h"

static int source_files_compare_pointers(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t) * (char *const *)left, b = (uintptr_t) * (char *const *)right;
    return (a > b) - (a < b);
}

static int source_files_compare_paths(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int source_files_compare_spellings(const void *left, const void *right)
{
    const struct source_spelling *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->path, b->path);
}

static size_t source_files_without_doubles(const char **paths, size_t count,
                                           int (*compare)(const void *, const void *))
{
    size_t kept = 0;
    qsort(paths, count, sizeof *paths, compare);
    for (size_t i = 0; i < count; i++)
        if (!kept || compare(&paths[kept - 1], &paths[i]))
            paths[kept++] = paths[i];
    return kept;
}

static void source_files_add_path(const char **paths, size_t *count, const char *path)
{
    if (path && *path && (!*count || paths[*count - 1] != path))
        paths[(*count)++] = path;
}

/* Collects every path once. The reader keeps one pointer per path, so most doubles are equal
 * pointers. */
static size_t source_files_collect(const char **paths, const struct profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->line_count; i++)
        source_files_add_path(paths, &count, profile->lines[i].file);
    for (size_t i = 0; i < profile->function_count; i++)
        source_files_add_path(paths, &count, profile->functions[i].file);
    for (size_t i = 0; i < profile->source_count; i++)
        source_files_add_path(paths, &count, profile->sources[i].path);
    for (size_t i = 0; i < profile->variable_count; i++)
        source_files_add_path(paths, &count, profile->variables[i].file);
    count = source_files_without_doubles(paths, count, source_files_compare_pointers);
    return source_files_without_doubles(paths, count, source_files_compare_paths);
}

static int source_files_fill(struct source_files *files, const char *const *paths, size_t count)
{
    files->spellings = calloc(count + 1, sizeof *files->spellings);
    files->first = calloc(count + 1, sizeof *files->first);
    files->by_path = calloc(count + 1, sizeof *files->by_path);
    if (!files->spellings || !files->first || !files->by_path)
        return -ENOMEM;
    for (; files->spelling_count < count; files->spelling_count++) {
        const char *path = paths[files->spelling_count];
        char *name = source_lines_path_without_detours(path);
        if (!name)
            return -ENOMEM;
        files->spellings[files->spelling_count] = (struct source_spelling){path, name, 0};
    }
    qsort(files->spellings, count, sizeof *files->spellings, source_files_compare_spellings);
    return 0;
}

static int source_files_compare_by_path(const void *left, const void *right, void *context)
{
    const struct source_spelling *spellings = context;
    return strcmp(spellings[*(const uint32_t *)left].path,
                  spellings[*(const uint32_t *)right].path);
}

static void source_files_number(struct source_files *files)
{
    for (size_t i = 0; i < files->spelling_count; i++) {
        struct source_spelling *spelling = &files->spellings[i];
        if (!i || strcmp(spelling->name, spelling[-1].name))
            files->first[files->count++] = (uint32_t)i;
        spelling->file = (uint32_t)(files->count - 1);
        files->by_path[i] = (uint32_t)i;
    }
    files->first[files->count] = (uint32_t)files->spelling_count;
    qsort_r(files->by_path, files->spelling_count, sizeof *files->by_path,
            source_files_compare_by_path, files->spellings);
}

int source_files_init(struct source_files *files, const struct profile *profile)
{
    *files = (struct source_files){0};
    size_t room = profile->line_count + profile->function_count + profile->source_count +
                  profile->variable_count;
    const char **paths = calloc(room + 1, sizeof *paths);
    int error =
        paths ? source_files_fill(files, paths, source_files_collect(paths, profile)) : -ENOMEM;
    free(paths);
    if (error)
        source_files_release(files);
    else
        source_files_number(files);
    return error;
}

void source_files_release(struct source_files *files)
{
    for (size_t i = 0; i < files->spelling_count; i++)
        free(files->spellings[i].name);
    free(files->spellings);
    free(files->first);
    free(files->by_path);
    *files = (struct source_files){0};
}

/* The spelling at `index` in the order of paths. */
static const struct source_spelling *source_files_spelling(const struct source_files *files,
                                                           size_t index)
{
    return &files->spellings[files->by_path[index]];
}

uint32_t source_files_find(const struct source_files *files, const char *path)
{
    size_t count = path ? files->spelling_count : 0, first = 0;
    SEARCH_FIRST(first, count, at, strcmp(source_files_spelling(files, at)->path, path) < 0);
    if (first == count || strcmp(source_files_spelling(files, first)->path, path) != 0)
        return UINT32_MAX;
    return source_files_spelling(files, first)->file;
}

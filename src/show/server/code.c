/* Writes the resource "code": modules, files, functions and lines that call paths are made of.
 * Columns of names have numbers of strings (columns_strings.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "server/columns_strings.h"
#include "server/web_summary.h"

/* ---- Strings ------------------------------------------------------------------------------- */

static const char *server_code_function_name(const void *rows, size_t row)
{
    const struct resources *resources = rows;
    return resources->profile->functions[row].name;
}
static const char *server_code_function_linkage(const void *rows, size_t row)
{
    const struct resources *resources = rows;
    const struct profile_function *function = &resources->profile->functions[row];
    bool same = function->linkage && !strcmp(function->linkage, function->name);
    return same ? NULL : function->linkage;
}
static const char *server_code_file_path(const void *rows, size_t row)
{
    const struct resources *resources = rows;
    return resources->files.spellings[resources->files.first[row]].path;
}
static const char *server_code_file_name(const void *rows, size_t row)
{
    const struct resources *resources = rows;
    return resources->files.spellings[resources->files.first[row]].name;
}
static const char *server_code_module_path(const void *rows, size_t row)
{
    const struct resources *resources = rows;
    return resources->profile->modules[row].path;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* Finds the number of a file. Neighbouring rows mostly have the same pointer, so the last answer is
 * kept. */
struct file_finder {
    const struct resources *resources;
    const char *last;
    struct figure found;
};

static struct figure server_code_find_file(struct file_finder *finder, const char *path)
{
    if (!path)
        return FIGURE_UNKNOWN;
    if (path != finder->last) {
        uint32_t file = source_files_find(&finder->resources->files, path);
        finder->found = file == UINT32_MAX ? FIGURE_UNKNOWN : figure_of(file);
        finder->last = path;
    }
    return finder->found;
}

static struct figure server_code_function_file(const void *rows, size_t row)
{
    struct file_finder *finder = (struct file_finder *)rows;
    return server_code_find_file(finder, finder->resources->profile->functions[row].file);
}
static struct figure server_code_line_file(const void *rows, size_t row)
{
    struct file_finder *finder = (struct file_finder *)rows;
    return server_code_find_file(finder, finder->resources->profile->lines[row].file);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static struct figure server_code_mark(const void *rows, size_t row)
{
    return figure_of((uint64_t)((const struct profile_code *)rows)[row].mark);
}

static void server_code_add(struct columns_document *document, const struct profile *profile)
{
    const struct profile_code *codes = profile->codes;
    size_t count = profile->code_count;
    COLUMNS_ADD(document, "code_module", u32, codes, count, struct profile_code, module);
    COLUMNS_ADD(document, "code_address", words, codes, count, struct profile_code, address);
    columns_add(document, "code_mark", codes, count, server_code_mark);
    COLUMNS_ADD(document, "code_first_line", u32, codes, count, struct profile_code, first_line);
    COLUMNS_ADD(document, "code_line_count", u32, codes, count, struct profile_code, line_count);
}

static void server_code_add_lines(struct columns_document *document,
                                  const struct resources *resources)
{
    const struct profile_line *lines = resources->profile->lines;
    size_t count = resources->profile->line_count;
    struct file_finder finder = {.resources = resources, .found = FIGURE_UNKNOWN};
    COLUMNS_ADD(document, "line_function", u32, lines, count, struct profile_line, function);
    columns_add(document, "line_file", &finder, count, server_code_line_file);
    COLUMNS_ADD(document, "line_number", u32, lines, count, struct profile_line, line);
    columns_add_bytes(document, "line_hidden", resources->hidden, count);
    columns_add_bytes(document, "line_wrapper", resources->hidden + count + 1, count);
}

int resources_make_code(const struct resources *resources, struct strbuf *out)
{
    const struct profile *profile = resources->profile;
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct columns_strings pool = COLUMNS_STRINGS_INIT;
    struct file_finder finder = {.resources = resources, .found = FIGURE_UNKNOWN};
    server_code_add(&document, profile);
    server_code_add_lines(&document, resources);
    size_t functions = profile->function_count, files = resources->files.count;
    columns_strings_add_column(&document, &pool, "function_name", resources, functions,
                               server_code_function_name);
    columns_strings_add_column(&document, &pool, "function_linkage", resources, functions,
                               server_code_function_linkage);
    columns_add(&document, "function_file", &finder, functions, server_code_function_file);
    columns_strings_add_column(&document, &pool, "file_name", resources, files,
                               server_code_file_name);
    columns_strings_add_column(&document, &pool, "file_path", resources, files,
                               server_code_file_path);
    columns_strings_add_column(&document, &pool, "module_path", resources, profile->module_count,
                               server_code_module_path);
    return columns_strings_finish(&document, &pool, out);
}

/* Writes the resource "code": modules, files, functions and lines that call paths are made of.
 * Strings lie one after another in a pool of valid UTF-8, and a column has where each begins. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/array.h"
#include "server/columns_document.h"
#include "server/web_summary.h"

/* ---- Strings ------------------------------------------------------------------------------- */

struct pool {
    struct strbuf bytes;
    uint64_t *starts;
    size_t count, room;
    bool no_memory;
};

/* What is no UTF-8 becomes U+FFFD, byte by byte. */
static void server_code_add_valid(struct strbuf *out, const char *string)
{
    size_t left = strlen(string);
    while (left) {
        uint32_t code_point;
        size_t length = text_decode(string, left, &code_point);
        if (length)
            strbuf_add(out, string, length);
        else
            strbuf_add_string(out, "\xef\xbf\xbd");
        string += length ? length : 1;
        left -= length ? length : 1;
    }
}

/* The string's number; unknown: there is none. */
static struct figure server_code_pool_add(struct pool *pool, const char *string)
{
    if (!string || pool->no_memory)
        return FIGURE_UNKNOWN;
    /* And one for where the last one ends. */
    pool->no_memory =
        !array_make_room(&pool->starts, &pool->room, pool->count + 1, sizeof *pool->starts);
    if (pool->no_memory)
        return FIGURE_UNKNOWN;
    pool->starts[pool->count] = pool->bytes.length;
    server_code_add_valid(&pool->bytes, string);
    pool->starts[pool->count + 1] = pool->bytes.length;
    return figure_of(pool->count++);
}

static struct figure server_code_number_at(const void *rows, size_t row)
{
    return ((const struct figure *)rows)[row];
}
static struct figure server_code_start_at(const void *rows, size_t row)
{
    return figure_of(((const uint64_t *)rows)[row]);
}

/* A column of strings' numbers. */
typedef const char *string_of(const struct resources *resources, size_t row);

static void server_code_add_strings(struct columns_document *document, struct pool *pool,
                                    const char *name, const struct resources *resources,
                                    size_t count, string_of *string)
{
    struct figure *numbers = calloc(count + 1, sizeof *numbers);
    pool->no_memory |= !numbers;
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = server_code_pool_add(pool, string(resources, i));
    if (numbers)
        columns_add(document, name, numbers, count, server_code_number_at);
    free(numbers);
}

static const char *server_code_function_name(const struct resources *resources, size_t row)
{
    return resources->profile->functions[row].name;
}
static const char *server_code_function_linkage(const struct resources *resources, size_t row)
{
    const struct profile_function *function = &resources->profile->functions[row];
    bool same = function->linkage && !strcmp(function->linkage, function->name);
    return same ? NULL : function->linkage;
}
static const char *server_code_file_path(const struct resources *resources, size_t row)
{
    return resources->files.spellings[resources->files.first[row]].path;
}
static const char *server_code_file_name(const struct resources *resources, size_t row)
{
    return resources->files.spellings[resources->files.first[row]].name;
}
static const char *server_code_module_path(const struct resources *resources, size_t row)
{
    return resources->profile->modules[row].path;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* Neighbours mostly are of one file, and of one pointer. */
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

#define ROWS(document, name, add, rows, count, type, field)                                        \
    columns_add_##add(document, name, rows, count, sizeof(type), offsetof(type, field))

static struct figure server_code_mark(const void *rows, size_t row)
{
    return figure_of((uint64_t)((const struct profile_code *)rows)[row].mark);
}

static void server_code_add(struct columns_document *document, const struct profile *profile)
{
    const struct profile_code *codes = profile->codes;
    size_t count = profile->code_count;
    ROWS(document, "code_module", u32, codes, count, struct profile_code, module);
    ROWS(document, "code_address", words, codes, count, struct profile_code, address);
    columns_add(document, "code_mark", codes, count, server_code_mark);
    ROWS(document, "code_first_line", u32, codes, count, struct profile_code, first_line);
    ROWS(document, "code_line_count", u32, codes, count, struct profile_code, line_count);
}

static void server_code_add_lines(struct columns_document *document,
                                  const struct resources *resources)
{
    const struct profile_line *lines = resources->profile->lines;
    size_t count = resources->profile->line_count;
    struct file_finder finder = {.resources = resources, .found = FIGURE_UNKNOWN};
    ROWS(document, "line_function", u32, lines, count, struct profile_line, function);
    columns_add(document, "line_file", &finder, count, server_code_line_file);
    ROWS(document, "line_number", u32, lines, count, struct profile_line, line);
    columns_add_bytes(document, "line_hidden", resources->hidden, count);
    columns_add_bytes(document, "line_wrapper", resources->hidden + count + 1, count);
}

int resources_make_code(const struct resources *resources, struct strbuf *out)
{
    const struct profile *profile = resources->profile;
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct pool pool = {.bytes = STRBUF_INIT};
    struct file_finder finder = {.resources = resources, .found = FIGURE_UNKNOWN};
    server_code_add(&document, profile);
    server_code_add_lines(&document, resources);
    size_t functions = profile->function_count, files = resources->files.count;
    server_code_add_strings(&document, &pool, "function_name", resources, functions,
                            server_code_function_name);
    server_code_add_strings(&document, &pool, "function_linkage", resources, functions,
                            server_code_function_linkage);
    columns_add(&document, "function_file", &finder, functions, server_code_function_file);
    server_code_add_strings(&document, &pool, "file_name", resources, files, server_code_file_name);
    server_code_add_strings(&document, &pool, "file_path", resources, files, server_code_file_path);
    server_code_add_strings(&document, &pool, "module_path", resources, profile->module_count,
                            server_code_module_path);
    uint64_t nothing = 0;
    columns_add(&document, "string_start", pool.starts ? pool.starts : &nothing, pool.count + 1,
                server_code_start_at);
    columns_add_bytes(&document, "string_bytes", pool.bytes.data, pool.bytes.length);
    if (pool.no_memory)
        strbuf_release(&document.data);
    else
        columns_finish(&document, "", out);
    free(pool.starts);
    strbuf_release(&pool.bytes);
    return pool.no_memory ? -ENOMEM : 0;
}

/* Reads the words of --allocator-functions (pool_functions.h), and keeps which of the functions
 * recorded processes have. The functions go to the recorder in the header of the shared memory,
 * where the recorder marks those that it has found. */
#include "collector/pool_functions.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/regular.h"

enum { ARGUMENTS = 5, FILE_MOST = 1 << 20, DEPTH_MOST = 4 };

/* ---- A function ---- */

static int pool_functions_refuse(const char *word, size_t length, const char *why)
{
    return error_set(-EINVAL, "--allocator-functions: '%.*s' %s", (int)length, word, why);
}

/* A number from 1 to 5 at *at, as a place from 0; -1: there is none. */
static int pool_functions_number(const char **at)
{
    int number = **at - '1';
    if (number < 0 || number >= ARGUMENTS || ((*at)[1] >= '0' && (*at)[1] <= '9'))
        return -1;
    ++*at;
    return number;
}

static bool pool_functions_size(const char *at, const char *end,
                                struct wire_pool_function *function)
{
    int first = pool_functions_number(&at), second = -1;
    if (first >= 0 && at < end && *at == '*') {
        at++;
        if ((second = pool_functions_number(&at)) < 0)
            return false;
    }
    if (first < 0 || at != end)
        return false;
    function->count = (int8_t)(second >= 0 ? first : -1);
    function->size = (int8_t)(second >= 0 ? second : first);
    return true;
}

static bool pool_functions_keyed(const char *at, const char *end, const char *key, int8_t *place)
{
    size_t length = strlen(key);
    if ((size_t)(end - at) < length + 2 || memcmp(at, key, length) != 0 || at[length] != '=')
        return false;
    at += length + 1;
    *place = (int8_t)pool_functions_number(&at);
    return *place >= 0 && at == end;
}

/* One part between commas. */
static bool pool_functions_part(const char *at, const char *end,
                                struct wire_pool_function *function)
{
    if (pool_functions_keyed(at, end, "end", &function->pool)) {
        function->does = WIRE_POOL_ENDS;
        return true;
    }
    return pool_functions_size(at, end, function) ||
           pool_functions_keyed(at, end, "block", &function->block) ||
           pool_functions_keyed(at, end, "pool", &function->pool) ||
           pool_functions_keyed(at, end, "out", &function->out);
}

static bool pool_functions_parts(const char *at, const char *end,
                                 struct wire_pool_function *function)
{
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (!pool_functions_part(at, stop, function))
            return false;
        at = comma ? comma + 1 : end;
    }
    return true;
}

static bool pool_functions_settle(struct wire_pool_function *function)
{
    if (function->does == WIRE_POOL_ENDS)
        return function->size < 0 && function->block < 0 && function->out < 0;
    function->does = function->size < 0    ? WIRE_POOL_FREES
                     : function->block < 0 ? WIRE_POOL_ALLOCATES
                                           : WIRE_POOL_RESIZES;
    return function->size >= 0 || (function->block >= 0 && function->out < 0);
}

static int pool_functions_add(struct pool_functions *functions, const char *word, size_t length,
                              const char *list)
{
    const char *open = memchr(word, '(', length);
    size_t name = open ? (size_t)(open - word) : length;
    struct wire_pool_function function = {
        .block = -1, .count = -1, .size = -1, .pool = -1, .out = -1};
    if (!name || name >= sizeof function.name)
        return pool_functions_refuse(word, length, "has no name that a symbol could have");
    if (functions->count == WIRE_POOL_FUNCTIONS)
        return pool_functions_refuse(word, length, "is one too many: there is room for 96");
    memcpy(function.name, word, name);
    if (!open)
        function.block = 0;
    else if (word[length - 1] != ')' ||
             !pool_functions_parts(open + 1, word + length - 1, &function))
        return pool_functions_refuse(word, length,
                                     "is not understood: NAME(SIZE,block=N,pool=N,out=N), where "
                                     "numbers are those of the first five arguments");
    if (!pool_functions_settle(&function))
        return pool_functions_refuse(word, length,
                                     "says neither which argument is a size nor which is a block");
    snprintf(functions->lists[functions->count], sizeof functions->lists[0], "%s", list);
    functions->functions[functions->count++] = function;
    return 0;
}

/* ---- Words ---- */

static int pool_functions_words(struct pool_functions *functions, const char *text, size_t bytes,
                                const char *list, unsigned depth);

static int pool_functions_file(struct pool_functions *functions, const char *path, const char *list,
                               unsigned depth)
{
    struct regular_file file = {0};
    int error = depth == DEPTH_MOST ? -ELOOP : regular_file_read(&file, path, FILE_MOST);
    if (error)
        return error_set(error, "--allocator-functions: cannot read %s: %s", path,
                         strerror(-error));
    error = pool_functions_words(functions, file.bytes, file.count, list, depth + 1);
    free(file.bytes);
    return error;
}

static bool pool_functions_is_list(const struct pool_functions *functions, const char *word,
                                   size_t length, char path[PATH_MAX])
{
    if (!functions->directory || memchr(word, '(', length) || memchr(word, '/', length))
        return false;
    int written = snprintf(path, PATH_MAX, "%s/%.*s", functions->directory, (int)length, word);
    return written < PATH_MAX && access(path, R_OK) == 0;
}

static int pool_functions_word(struct pool_functions *functions, const char *word, size_t length,
                               const char *list, unsigned depth)
{
    char path[PATH_MAX], name[32];
    if (*word == '@') {
        snprintf(path, sizeof path, "%.*s", (int)length - 1, word + 1);
        return pool_functions_file(functions, path, list, depth);
    }
    if (!*list && pool_functions_is_list(functions, word, length, path)) {
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        return pool_functions_file(functions, path, name, depth);
    }
    return pool_functions_add(functions, word, length, list);
}

static bool pool_functions_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int pool_functions_words(struct pool_functions *functions, const char *text, size_t bytes,
                                const char *list, unsigned depth)
{
    const char *end = text + bytes;
    int error = 0;
    while (text < end && !error) {
        const char *word = text;
        if (*text == '#') {
            text = memchr(text, '\n', (size_t)(end - text));
            text = text ? text : end;
        } else if (pool_functions_is_blank(*text)) {
            text++;
        } else {
            while (text < end && !pool_functions_is_blank(*text))
                text++;
            error = pool_functions_word(functions, word, (size_t)(text - word), list, depth);
        }
    }
    return error;
}

int pool_functions_parse(struct pool_functions *functions, const char *text)
{
    return pool_functions_words(functions, text, strlen(text), "", 0);
}

/* ---- Processes ---- */

void pool_functions_put(const struct pool_functions *functions, struct wire_header *header)
{
    header->pool_function_count = functions->count;
    memcpy(header->pool_functions, functions->functions, sizeof header->pool_functions);
}

void pool_functions_learn(struct pool_functions *functions, const struct wire_header *header)
{
    for (uint32_t i = 0; header && i < functions->count; i++)
        if (atomic_load(&header->pool_functions[i].is_there))
            atomic_store(&functions->is_there[i], 1);
}

static bool pool_functions_has_any(const struct pool_functions *functions, const char *list)
{
    for (uint32_t i = 0; i < functions->count; i++)
        if (functions->is_there[i] && strcmp(functions->lists[i], list) == 0)
            return true;
    return false;
}

void pool_functions_add_missing(const struct pool_functions *functions, struct strbuf *names)
{
    for (uint32_t i = 0; i < functions->count; i++) {
        const char *list = functions->lists[i];
        bool is_said = *list && i && strcmp(functions->lists[i - 1], list) == 0;
        if (*list ? is_said || pool_functions_has_any(functions, list) : functions->is_there[i])
            continue;
        strbuf_addf(names, "%s%s", names->length ? ", " : "",
                    *list ? list : functions->functions[i].name);
    }
}

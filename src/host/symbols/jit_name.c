/* Names of JIT code (jit_name.h). The process wrote them, so a name is cut where it is long, and
 * control characters, which a terminal could obey, are replaced. */
#include "symbols/jit_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *jit_name_clean(struct pool *pool, const char *name, size_t length)
{
    char clean[JIT_NAME_BYTES];
    if (length > sizeof clean)
        length = sizeof clean;
    for (size_t i = 0; i < length; i++)
        clean[i] = iscntrl((unsigned char)name[i]) ? '?' : name[i];
    return pool_intern_n(pool, clean, length);
}

/* The digits in front of `end`, after a colon: ":14". Returns where the colon is; NULL: there are
 * none. */
static const char *jit_name_number(const char *begin, const char *end, uint32_t *number)
{
    const char *at = end;
    while (at > begin && isdigit((unsigned char)at[-1]))
        at--;
    if (at == end || end - at > 9 || at == begin || at[-1] != ':')
        return NULL;
    *number = (uint32_t)strtoul(at, NULL, 10);
    return at - 1;
}

/* What follows the kind of V8's name for JavaScript code and the sign for how it was compiled: a
 * name that may be empty, a file, a line and a column. NULL: it is another name. */
static const char *jit_name_after_kind(const char *name)
{
    static const char *const kinds[] = {
        "JS:", "LazyCompile:", "Function:", "Eval:", "Script:", NULL};
    for (size_t i = 0; kinds[i]; i++)
        if (!strncmp(name, kinds[i], strlen(kinds[i]))) {
            name += strlen(kinds[i]);
            return name + strspn(name, "~^*+");
        }
    return NULL;
}

bool jit_name_is_v8(const char *name)
{
    return jit_name_after_kind(name) != NULL;
}

struct jit_code jit_name_split(struct pool *pool, const char *name, size_t length)
{
    const char *function = jit_name_after_kind(name), *end = name + length;
    uint32_t line = 0, column = 0;
    const char *file = function ? memchr(function, ' ', (size_t)(end - function)) : NULL;
    const char *file_end = file ? jit_name_number(file + 1, end, &column) : NULL;
    file_end = file_end ? jit_name_number(file + 1, file_end, &line) : NULL;
    if (!file_end || file_end == file + 1)
        return (struct jit_code){jit_name_clean(pool, name, length), NULL, 0};
    size_t bytes = (size_t)(file - function);
    const char *none = line == 1 && column == 1 ? "(script)" : "(anonymous)";
    return (struct jit_code){bytes ? jit_name_clean(pool, function, bytes) : none,
                             jit_name_clean(pool, file + 1, (size_t)(file_end - file - 1)), line};
}

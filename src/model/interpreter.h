/* Which modules are interpreters whose frames we read. */
#ifndef TIDEMARK_MODEL_INTERPRETER_H
#define TIDEMARK_MODEL_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* "/usr/bin/python3.11", and "libpython3.12.so.1.0" in programs that embed Python. */
static inline bool interpreter_is_python(const char *module_path)
{
    const char *slash = strrchr(module_path, '/');
    const char *name = slash ? slash + 1 : module_path;
    return !strncmp(name, "python3", 7) || !strncmp(name, "libpython3", 10);
}

/* The language of "/usr/bin/perl", "ruby3.1", "lua5.4"; NULL: no interpreter whose frames we read.
 * "luatex" is none. */
static inline const char *interpreter_language(const char *program_path)
{
    static const char *const names[][2] = {
        {"python", "Python"}, {"perl", "Perl"}, {"php", "PHP"}, {"ruby", "Ruby"}, {"lua", "Lua"}};
    const char *slash = strrchr(program_path, '/');
    const char *name = slash ? slash + 1 : program_path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t bytes = strlen(names[i][0]);
        if (!strncmp(name, names[i][0], bytes) &&
            (!name[bytes] || strchr("0123456789.", name[bytes])))
            return names[i][1];
    }
    return NULL;
}

#endif

/* Which modules are interpreters whose frames we read. */
#ifndef TIDEMARK_MODEL_INTERPRETER_H
#define TIDEMARK_MODEL_INTERPRETER_H

#include <stdbool.h>
#include <string.h>

/* "/usr/bin/python3.11", and "libpython3.12.so.1.0" in programs that embed Python. */
static inline bool interpreter_is_python(const char *module_path)
{
    const char *slash = strrchr(module_path, '/');
    const char *name = slash ? slash + 1 : module_path;
    return !strncmp(name, "python3", 7) || !strncmp(name, "libpython3", 10);
}

#endif

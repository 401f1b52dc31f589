/* The global and thread-local variables of the modules of a process, read on a thread of its own
 * while the rest of the profile is written. */
#ifndef TIDEMARK_PROFILE_BUILD_GLOBALS_H
#define TIDEMARK_PROFILE_BUILD_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile/profile.h"

struct globals;

/* A module as the profile numbers it. Strings and bytes must stay until globals_end(). */
struct globals_module {
    int64_t id;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
};

/* The result. `variables`: the largest ones, by module, then size. Valid as long as `globals`. */
struct globals_found {
    struct profile_variable *variables;
    size_t variable_count;
    struct profile_section_total *sections;
    size_t section_count;
    size_t unplaced_modules; /* modules whose variables may lack lines: the system's, and those
                                that there was no time for */
};

/* Where a variable lies, as in the file. Thread-local ones lie nowhere. */
struct globals_place {
    uint64_t address, bytes;
    const char *name;
};

/* A section of the file, for bytes that are no variable's; `name` as "(unnamed .bss)". */
struct globals_stretch {
    uint64_t address, bytes;
    const char *name;
};

/* Begins to read. `pid`: the process whose files they are. `modules` is copied. NULL: out of
 * memory. */
struct globals *globals_begin(pid_t pid, const struct globals_module *modules, size_t count);
/* Waits for the end of reading. If names were given up (symbols_give_up()), the result is empty. */
const struct globals_found *globals_end(struct globals *globals);
/* How well the module can be named: enum symbols_quality. After globals_end(). */
int globals_quality(const struct globals *globals, int64_t module_id);
/* All its variables, by address, disjoint. NULL: the module was not read. After globals_end(), and
 * valid while `globals` is. */
const struct globals_place *globals_places(const struct globals *globals, int64_t module_id,
                                           size_t *count);
/* Its sections, but for thread-local ones, by address. Likewise. */
const struct globals_stretch *globals_stretches(const struct globals *globals, int64_t module_id,
                                                size_t *count);
void globals_free(struct globals *globals); /* after globals_end(); NULL is allowed */

#endif

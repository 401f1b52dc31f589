/* Which variables the resident bytes of a module's data belong to: the pieces that a look has found
 * are laid over the variables, by address.
 *
 *     piece      ┊▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒┊            ┊▒▒▒▒▒▒▒▒▒▒▒▒▒▒┊
 *     variables   ├── a ──┤├ b ┤      ├──────────── c ───────────┤
 *     rows         a        b   (unnamed)  c                   c  (unnamed)
 *
 * Each byte of a piece is one variable's, or it has no name: padding, tables of the compiler and
 * the loader, variables of files without symbols. Such a byte has the name of its section, as
 * "(unnamed .bss)", if that is known. */
#ifndef TIDEMARK_PROFILE_BUILD_VARIABLE_OWNERS_H
#define TIDEMARK_PROFILE_BUILD_VARIABLE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile_build/globals.h"
#include "profile_build/proc_sample.h"
#include "profile/profile.h"

/* A module in the address space; `places` and `stretches` as globals_places() and
 * globals_stretches() say. */
struct variable_module {
    uint64_t start, end, bias;
    const struct globals_place *places;
    size_t place_count;
    const struct globals_stretch *stretches;
    size_t stretch_count;
};

/* The most rows of a module that are sums: nameless bytes by section, and small variables. */
enum { VARIABLE_COMMON_ROWS = 16 };

struct variable_owners {
    struct profile_owner *rows; /* of one sample; strings are the places' and pieces' */
    size_t count, capacity;
    const struct globals_place *last; /* the variable of the newest row that has one … */
    size_t last_row;                  /* … and that row */
    const char *module;               /* of the newest piece */
    struct {
        const char *name; /* by its address */
        size_t row;
    } common[VARIABLE_COMMON_ROWS]; /* of that module */
    size_t common_count;
    uint64_t least_bytes; /* variables that have fewer get no rows of their own */
};
#define VARIABLE_OWNERS_INIT ((struct variable_owners){0})

/* `find`: the module that holds an address; false: none is known. Out of memory ends the tool. */
typedef bool variable_find_module(void *context, uint64_t address, struct variable_module *module);
void variable_owners_divide(struct variable_owners *owners, const struct proc_touched *pieces,
                            size_t count, variable_find_module *find, void *context);
/* Keeps the `limit` largest rows, of those that have `least` bytes resident or swapped; the others
 * become one row a module, "(smaller variables)". */
void variable_owners_cut(struct variable_owners *owners, size_t limit, uint64_t least);
void variable_owners_release(struct variable_owners *owners);

#endif

/* Which variables the resident bytes of a module's data belong to: the pieces that a look has found
 * are laid over the variables, by address.
 *
 *     piece      ┊▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒┊            ┊▒▒▒▒▒▒▒▒▒▒▒▒▒▒┊
 *     variables   ├── a ──┤├ b ┤      ├──────────── c ───────────┤
 *     rows         a        b   (unnamed)  c                   c  (unnamed)
 *
 * Each byte of a piece is one variable's, or it is (unnamed): padding, tables of the compiler and
 * the loader, variables of files without symbols. */
#ifndef TIDEMARK_PROFILE_BUILD_VARIABLE_OWNERS_H
#define TIDEMARK_PROFILE_BUILD_VARIABLE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile_build/globals.h"
#include "profile_build/proc_sample.h"
#include "profile/profile.h"

/* A module in the address space; `places` as globals_places() says. */
struct variable_module {
    uint64_t start, end, bias;
    const struct globals_place *places;
    size_t place_count;
};

struct variable_owners {
    struct profile_owner *rows; /* of one sample; strings are the places' and pieces' */
    size_t count, capacity;
    const struct globals_place *last; /* the variable of the newest row that has one … */
    size_t last_row;                  /* … and that row */
    const char *module;               /* of the newest piece */
    size_t nameless,
        smaller; /* + 1: that module's rows of bytes without a name, and of variables …  */
    uint64_t least_bytes; /* … that have fewer bytes than that: they get no rows of their own */
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

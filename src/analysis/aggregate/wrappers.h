/* Wrappers: functions that only pass memory on, as my_malloc(), hypre_CAlloc(), Allocate<T>() and
 * jv_mem_alloc() do. Who calls a wrapper wants the memory, and is the owner:
 *
 *   path   main → parse_header → my_malloc → malloc
 *                 └ the owner    └ the wrapper
 *
 * A function is recognised as a wrapper where all four are true:
 *   it is thin       the memory that is asked for below it is asked for by itself
 *   it is named so   "alloc", "malloc", "new", "dup", "grow" is a word of its name; or very many
 *                    functions call it, of which none is most of them
 *   it is called     a path never begins with it
 *   it maps nothing  who maps memory for many is an allocator, whose pages its callers share
 * A function that asks through a wrapper may be a wrapper too. Code without a name that functions
 * with names call is passed over as well, because its address would tell a reader nothing. */
#ifndef TIDEMARK_AGGREGATE_WRAPPERS_H
#define TIDEMARK_AGGREGATE_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>
#include "profile/profile.h"

/* What a name says of its function. */
enum wrapper_name {
    WRAPPER_NAME_PLAIN = 0,
    WRAPPER_NAME_MAKES,     /* "list_new", "buffer_grow": something of its own, or for others */
    WRAPPER_NAME_ALLOCATES, /* "string_alloc": memory for one kind of thing */
    WRAPPER_NAME_GENERIC,   /* "hypre_CAlloc", "Mesh::malloc": for anything, by its last words */
    WRAPPER_NAME_PURE,      /* "my_malloc", "os::malloc", "pool_alloc": by all of its words */
};
enum wrapper_name wrapper_name_of(const char *function);

/* What the user says: functions that this extended regular expression finds are wrappers, or are
 * none whatever they look like, in all profiles that are looked at from here on. Both may be called
 * again; "none" is stronger. For the start of a process: not thread-safe. 0; -EINVAL and why in
 * `why`; -ENOMEM. */
int wrappers_add(const char *pattern, bool is_wrapper, char *why, size_t why_bytes);

/* `hidden`, of 2 * (profile->line_count + 1), by index of profile->lines: on entry the frames of
 * libraries, on return those of wrappers too. The second half says which are wrappers'. False: no
 * memory. Thread-safe. */
bool wrappers_hide(const struct profile *profile, bool *hidden);

#endif

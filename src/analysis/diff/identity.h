/* Which functions of several profiles are the same: by name. A number for each. Inside the room.
 *
 * Of clones ("f [clone .constprop.0]", "f.part.0") the suffix does not count: whether a compiler
 * makes them changes from build to build. Where one profile has several functions of a name, in
 * files of different names, the file's name counts too, in all profiles. Code without a name is
 * known by its module, whose version does not count; a line of a script whose functions are not
 * known is itself. The program's own file is one module whatever its name. */
#ifndef TIDEMARK_DIFF_IDENTITY_H
#define TIDEMARK_DIFF_IDENTITY_H

#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"

struct identities {
    size_t count; /* [0] is no function */
    struct identity {
        const char *name; /* to be shown: the function's */
        const char *file; /* the last profile's that has it; NULL: not known */
        /* The wrapper that it asks through on all paths that count, by name; "": not the same on
         * all, or none; NULL: not said. */
        const char *through;
    } * of;
    uint32_t **by_key; /* by profile, by function key (aggregate/functions.h) */
    /* private */
    size_t profile_count, capacity, slot_count;
    struct identity_slot *slots;
    char **strings;
    size_t string_count, string_capacity;
};

/* 0 or -ENOMEM. To be released in any case. */
int identities_init(struct identities *identities, const struct profile *const *profiles,
                    size_t count);
void identities_release(struct identities *identities);

/* Adds a function's name without the suffixes of clones. */
void identity_add_name(struct strbuf *out, const char *name);
/* Adds "libstdc++.so" of "/usr/lib/libstdc++.so.6.0.33". */
void identity_add_module(struct strbuf *out, const char *path);

#endif

/* Lists of leaks that are known, as LeakSanitizer and valgrind take them.
 *
 *   leak:PATTERN        LSan: PATTERN occurs in any frame's function, file or module. `*` matches
 *                       anything; `^` and `$` bind the pattern to the beginning and the end.
 *   { name              valgrind: frames from the innermost outwards, with `*` and `?` in names.
 *     Memcheck:Leak     "..." is any number of frames. Frames further out than the last line
 *     fun:malloc        match. Blocks of another kind than Leak are ignored.
 *     ...
 *     obj:*libfoo.so* }
 *
 * Our call paths begin at the caller of malloc. So the lines at the beginning of a valgrind block
 * that name allocation functions may match no frame. Functions are compared by name and by linkage
 * name. */
#ifndef TIDEMARK_BUDGET_SUPPRESSIONS_H
#define TIDEMARK_BUDGET_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"

struct suppressions {
    struct suppression {
        char *name; /* as in the file */
        bool is_lsan;
        size_t step_count, step_room;
        struct suppression_step {
            enum { STEP_FUNCTION, STEP_OBJECT, STEP_SOURCE, STEP_ANY } kind;
            char *pattern;
            uint32_t line; /* STEP_SOURCE: 0 is any */
        } * steps;
        struct figure used_bytes, used_blocks; /* what it has suppressed */
    } * list;
    size_t count, room;
};

enum { SUPPRESSIONS_MAX = 4096, SUPPRESSION_STEPS_MAX = 62 };

/* Adds those of a text. 0, -ENOMEM, or -EINVAL and "line 3: …" in `why`. */
int suppressions_add(struct suppressions *suppressions, const char *text, size_t bytes,
                     struct strbuf *why);
void suppressions_release(struct suppressions *suppressions);

/* By node: false where the path's leaks are suppressed; adds their live bytes and blocks to the
 * suppressions' `used_…`. NULL: out of memory. To be freed. */
bool *suppressions_leave(struct suppressions *suppressions, const struct profile *profile);

/* *: anything, ?: one byte. */
bool suppressions_glob_matches(const char *pattern, const char *text);

#endif

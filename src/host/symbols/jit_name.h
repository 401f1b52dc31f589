/* What a perf map or a jitdump calls JIT code, taken apart. V8's names have a place in them
 * ("JS:~keep /srv/sessions.js:9:14"): where the function begins. */
#ifndef TIDEMARK_SYMBOLS_JIT_NAME_H
#define TIDEMARK_SYMBOLS_JIT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/string_pool.h"

enum { JIT_NAME_BYTES = 1024 }; /* a longer name is cut */

struct jit_code {
    const char *function, *file; /* file: NULL where the name has none */
    uint32_t line;
};

/* The pool's copy, without what a terminal could obey. */
const char *jit_name_clean(struct pool *pool, const char *name, size_t length);

/* Whether V8 writes the name of JavaScript code in this way. `name` is NUL-ended. */
bool jit_name_is_v8(const char *name);

/* As function, file and line; a text of another form is only a name. `name` is NUL-ended behind
 * `length` bytes. */
struct jit_code jit_name_split(struct pool *pool, const char *name, size_t length);

#endif

/* What --allocator-functions says: functions of allocators that programs bring themselves.
 *
 *   LIST   words between blanks; in files '#' begins a comment, up to the end of the line
 *     NAME(SIZE)            allocates. SIZE: the number of the argument, or N*M
 *     NAME(SIZE, block=N)   resizes the block that argument N is
 *     NAME(block=N), NAME   frees it; NAME alone: argument 1
 *     NAME(end=N)           ends all blocks of pool N
 *       pool=N              the argument that says which pool
 *       out=N               the block is put where argument N points, and 0 returned
 *     @FILE                 a file of such words
 *     WORD                  a shipped list, if there is one of this name (data/allocators) */
#ifndef TIDEMARK_COLLECTOR_POOL_FUNCTIONS_H
#define TIDEMARK_COLLECTOR_POOL_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "wire/wire.h"

struct pool_functions {
    const char *directory; /* of shipped lists, NULL: there are none */
    uint32_t count;
    struct wire_pool_function functions[WIRE_POOL_FUNCTIONS];
    char lists[WIRE_POOL_FUNCTIONS][32];           /* where each is from; "": from the user */
    _Atomic uint8_t is_there[WIRE_POOL_FUNCTIONS]; /* found in a module of a recorded process */
};

/* Adds those of a text. 0, or -errno with a sentence. */
int pool_functions_parse(struct pool_functions *functions, const char *text);
void pool_functions_put(const struct pool_functions *functions, struct wire_header *header);
/* What a process's recorder has found of them. */
void pool_functions_learn(struct pool_functions *functions, const struct wire_header *header);
/* Adds the functions that no process had, between commas. Of a shipped list without any present
 * function, the list's name is added. */
void pool_functions_add_missing(const struct pool_functions *functions, struct strbuf *names);

#endif

/* Functions that compilers make of the body of an OpenMP construct. Their names are the name of the
 * function around it, the parent, with the compiler's suffix. clang before 17 does not name the
 * parent. */
#ifndef TIDEMARK_SYMBOLS_OUTLINED_H
#define TIDEMARK_SYMBOLS_OUTLINED_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

struct outlined {
    const char *parent;   /* a linkage name, in `name` */
    size_t parent_length; /* 0: not named */
    const char *what;     /* "region", "task", "target" */
    const char *number;   /* digits, in `name` */
    size_t number_length; /* 0: there is none */
};

/* Whether `name`, as in the object file, is that of an outlined function. */
bool outlined_find(const char *name, struct outlined *outlined);

/* "solve [OpenMP region 0]"; without a parent "[OpenMP region 0]". `parent`: readable. */
void outlined_add(struct strbuf *out, const char *parent, const struct outlined *outlined);

#endif

/* Binary search in an ordered array. */
#ifndef TIDEMARK_BASE_SEARCH_H
#define TIDEMARK_BASE_SEARCH_H

#include <stddef.h>

/* A statement. `first` is a size_t variable, and at the beginning the lowest index. It becomes the
 * lowest index in [first, end) for which `is_before` is false, or `end` if there is none.
 * `is_before` is an expression of the index `at`, which is true of the indices below some index and
 * false of the others.
 *
 *     size_t first = 0;
 *     SEARCH_FIRST(first, count, at, rows[at].key < key);
 *     return first < count && rows[first].key == key ? &rows[first] : NULL;
 */
#define SEARCH_FIRST(first, end, at, is_before)                                                    \
    for (size_t at, at##_end = (end); (first) < at##_end;)                                         \
        if (at = (first) + (at##_end - (first)) / 2, (is_before))                                  \
            (first) = at + 1;                                                                      \
        else                                                                                       \
            at##_end = at

#endif

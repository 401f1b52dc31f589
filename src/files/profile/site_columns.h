/* Builds the columns of struct profile_columns (profile.h) while sites are read. Inside the room.
 */
#ifndef TIDEMARK_PROFILE_SITE_COLUMNS_H
#define TIDEMARK_PROFILE_SITE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

/* Adds `rows` numbers behind the `count` that are there. False: no memory. */
bool site_columns_add(struct profile_column *column, size_t count, const uint64_t *numbers,
                      size_t rows);
/* The same with one number `rows` times. */
bool site_columns_add_same(struct profile_column *column, size_t count, uint64_t number,
                           size_t rows);
/* Adds a path. False: no memory. */
bool site_columns_add_path(struct profile_columns *columns, size_t count, uint32_t path);

/* Puts the site that order[i] names at place i, for all i. False: no memory, and all is as it was
 * or in both orders: not to be used. */
bool site_columns_permute(struct profile_columns *columns, const uint32_t *order, size_t count);

/* Replaces all numbers of a column. False: no memory. */
bool site_columns_replace(struct profile_column *column, const struct figure *figures,
                          size_t count);

void site_columns_free(struct profile_columns *columns);

#endif

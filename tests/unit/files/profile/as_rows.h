/* Makes rows of the columns in which a reader has call paths with metrics (profile_site_at()), for
 * tests that look at many of them, or change them. */
#ifndef TESTS_AS_ROWS_H
#define TESTS_AS_ROWS_H

#include <stdlib.h>
#include <string.h>
#include "profile/profile.h"

static inline void as_rows(struct profile *read)
{
    struct profile_site *rows = calloc(read->site_count + 1, sizeof *rows), room;
    memset(&room, 0, sizeof room);
    for (size_t i = 0; i < read->site_count; i++)
        memcpy(&rows[i], profile_site_at(read, i, &room), sizeof room);
    profile_set_sites(read, rows, read->site_count);
}

#endif

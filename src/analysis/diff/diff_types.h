/* What was alive in two recordings, by type (live_types.h): of which types there is more, of which
 * less. Of each recording the look counts that found most. */
#ifndef TIDEMARK_DIFF_DIFF_TYPES_H
#define TIDEMARK_DIFF_DIFF_TYPES_H

#include <stdio.h>
#include "diff/diff.h"

/* Why this recording cannot be compared by type; NULL: it can. */
const char *diff_types_missing(const struct profile *profile);

/* 0, -ENOMEM, or -errno of the stream. */
int diff_types_text(FILE *out, const struct profile *before, const struct profile *after,
                    const struct diff_show *show);
int diff_types_json(FILE *out, const struct profile *before, const struct profile *after,
                    const struct diff_show *show);

#endif

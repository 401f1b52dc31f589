/* gzip, of what is in memory: what the server sends, pages that hold it, and formats that are
 * packed.
 *
 * packing.h has the streams that pack what is written to a file whose name says so. */
#ifndef TIDEMARK_GZIP_GZIP_H
#define TIDEMARK_GZIP_GZIP_H

#include <stddef.h>
#include "base/strbuf.h"

/* Appends `bytes` packed at `level` (1 to 9). 0 or -ENOMEM. The same bytes give the same result. */
int gzip_pack(struct strbuf *out, const void *bytes, size_t count, int level);
/* Appends what was packed. `limit`: the most bytes that it may come to. 0, -ENOMEM, -EBADMSG. */
int gzip_unpack(struct strbuf *out, const void *packed, size_t count, size_t limit);

#endif

/* Packs and unpacks gzip in memory, for the server's answers, for pages that contain packed data,
 * and for packed formats.
 *
 * packing.h has streams that pack into a file. */
#ifndef TIDEMARK_GZIP_GZIP_H
#define TIDEMARK_GZIP_GZIP_H

#include <stddef.h>
#include "base/strbuf.h"

/* Appends `bytes` packed at `level` (1 to 9). 0 or -ENOMEM. The same bytes give the same result. */
int gzip_pack(struct strbuf *out, const void *bytes, size_t count, int level);
/* Appends the unpacked bytes of `packed`. 0, -ENOMEM, or -EBADMSG: the data is damaged, or unpacks
 * to more than `limit` bytes. After an error nothing is appended. */
int gzip_unpack(struct strbuf *out, const void *packed, size_t count, size_t limit);

#endif

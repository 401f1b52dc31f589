/* A stream that packs what is written to it, for files whose readers unpack by the ending of the
 * name (heaptrack_print and others): ".gz" and ".zst". */
#ifndef TIDEMARK_GZIP_PACKING_H
#define TIDEMARK_GZIP_PACKING_H

#include <stdio.h>

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* By the ending of a name. */
enum packing packing_of(const char *name);

/* A stream that packs into `to`, which stays open and is the caller's. fclose() of the returned
 * stream ends the packed data; it fails, with errno, if that cannot be written. NULL: out of
 * memory. For one thread. */
FILE *packing_open(FILE *to, enum packing packing);

#endif

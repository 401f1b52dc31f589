/* A stream that packs what is written to it, for files whose readers unpack by the ending of the
 * name (heaptrack_print and others): ".gz" and ".zst". */
#ifndef TIDEMARK_GZIP_PACKING_H
#define TIDEMARK_GZIP_PACKING_H

#include <stdio.h>

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* By the ending of a name. */
enum packing packing_of(const char *name);

/* Writes to `to`, which stays open and is the caller's. fclose() of what is returned ends the
 * packed stream; it fails, with errno, when that cannot be written. NULL: out of memory. One
 * thread. */
FILE *packing_open(FILE *to, enum packing packing);

#endif

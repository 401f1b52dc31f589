/* Numbers and strings as bytes, for what analysing processes send to each other. The reader trusts
 * no length: after the first thing that makes no sense it fails for good and gives zeros. A number
 * is a varint (base/varint.h) without zeros in front. */
#ifndef TIDEMARK_JOB_JOB_BYTES_H
#define TIDEMARK_JOB_JOB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "base/varint.h"

typedef varint_u128 job_u128;

void bytes_put(struct strbuf *out, uint64_t number);
void bytes_put_wide(struct strbuf *out, job_u128 number);
/* NULL and "" are told apart. */
void bytes_put_string(struct strbuf *out, const char *string);
void bytes_put_blob(struct strbuf *out, const void *bytes, size_t count);

struct bytes_reader {
    const unsigned char *at, *end;
    bool failed;
};
uint64_t bytes_get(struct bytes_reader *reader);
/* Fails if it is above `limit`. */
uint64_t bytes_get_below(struct bytes_reader *reader, uint64_t limit);
job_u128 bytes_get_wide(struct bytes_reader *reader);
/* A count of things that take at least `least` bytes each: fails if so many cannot follow. */
size_t bytes_get_count(struct bytes_reader *reader, size_t least);
/* malloc'd; NULL: it was NULL, or the reader failed. */
char *bytes_get_string(struct bytes_reader *reader);
/* Inside the reader's bytes. */
const void *bytes_get_blob(struct bytes_reader *reader, size_t *count);

#endif

/* The second pass: a trace becomes an allocation stream (alloc_stream/stream_format.h). Inside the
 * room. */
#ifndef TIDEMARK_WHATIF_STREAM_AUTHOR_H
#define TIDEMARK_WHATIF_STREAM_AUTHOR_H

#include "alloc_stream/stream_format.h"
#include "trace/trace.h"
#include "whatif/survey.h"
#include "whatif/whatif.h"

/* Writes the stream into `fd`. 0, -ENOMEM, -EFBIG, or an error of writing or of flow_walk(). */
int stream_author_write(const struct trace *trace, const struct survey *survey,
                        enum whatif_order order, int fd, struct stream_header *header,
                        uint64_t *stream_bytes);

#endif

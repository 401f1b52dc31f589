/* The second pass: a trace becomes a script (script/format.h). Inside the room. */
#ifndef TIDEMARK_WHATIF_AUTHOR_H
#define TIDEMARK_WHATIF_AUTHOR_H

#include "script/format.h"
#include "trace/trace.h"
#include "whatif/survey.h"
#include "whatif/whatif.h"

/* Writes the script into `fd`. 0, -ENOMEM, -EFBIG, what writing says, or what flow_walk() says. */
int author_write(const struct trace *trace, const struct survey *survey, enum whatif_order order,
                 int fd, struct script_header *header, uint64_t *script_bytes);

#endif

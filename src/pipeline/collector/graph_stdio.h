/* The buffers of glibc's FILEs (struct _IO_FILE_plus, 2.1 and later) hold characters: what a file
 * contains, and behind that what the memory held before. Words in them are no pointers of the
 * program, although some look so.
 *
 *   0            56         64           160                  216
 *   _flags ┊ … ┊ buf_base ┊ buf_end ┊ … ┊ _wide_data ┊ … ┊ vtable ┊ … ┊ wide pointers, codecvt
 *   0xfbad…       │          │             └──────────────────────────────▲
 *                 └──────────┴──▶ a block of their own
 *
 * A FILE is a block, or a variable of the C library. Of a block from fopen() the words behind the
 * pointers of wide characters are never set, unless the stream is one of wide characters. They
 * keep what the memory held before, too.
 *
 * So these words are weak references (graph.h): what they point to is reached, as memcheck says,
 * but it is not held by them. A buffer that is a part of a larger block stays as it is. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_STDIO_H
#define TIDEMARK_COLLECTOR_GRAPH_STDIO_H

#include <stdint.h>
#include "graph/graph.h"
#include "procfs/smaps.h"

/* Call these after all words were added, and while graph->memory can be read. */

/* FILEs that are blocks. `first_words`: by block. */
void graph_stdio_see_blocks(struct graph *graph, const struct smaps *smaps,
                            const uint64_t *first_words);
/* FILEs among the C library's variables, which lie in [start, end). */
void graph_stdio_see_variables(struct graph *graph, const struct smaps *smaps, uint64_t start,
                               uint64_t end);

#endif

/* Lines and frames of text formats. Inside the room. Nothing is read beyond `end`. */
#ifndef TIDEMARK_IMPORT_IMPORT_TEXT_H
#define TIDEMARK_IMPORT_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "import/gather.h"

struct import_text {
    const char *at, *end;
};

/* The next line without its end; false: there is none. */
bool text_line(struct import_text *text, struct import_text *line);
void text_skip_spaces(struct import_text *text);
/* A number in base 10 or 16, without a sign; false: there is none, or it is too large. */
bool text_number(struct import_text *text, unsigned base, uint64_t *value);
/* Passes `word` if it stands there. */
bool text_skip(struct import_text *text, const char *word);

/* "0x4867787: fopen (iofopen.c:65)", "0x1: ???", "0x2: f (in /lib/libc.so.6)", as massif and DHAT
 * write frames. An address without a name belongs to no module that is known. */
uint32_t text_frame(struct gather *gather, struct import_text frame);

#endif

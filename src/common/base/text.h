/* Text for terminals. Names in a profile come from object files and command lines of strangers:
 * what could drive a terminal (control characters, bidirectional overrides) or is not UTF-8 is
 * shown as \xNN or \u{NNNN}, never sent. */
#ifndef TIDEMARK_BASE_TEXT_H
#define TIDEMARK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

/* Adds `count` bytes as safe, valid UTF-8. A newline or tab counts as a control character. */
void text_add_safe(struct strbuf *out, const char *bytes, size_t count);
void text_add_safe_string(struct strbuf *out, const char *string);

/* Decodes one code point of at most `count` bytes; returns its length, 0 if it is not valid. */
size_t text_decode(const char *bytes, size_t count, uint32_t *code_point);

/* Would it do more to a terminal, or to the order of what stands there, than to be seen? */
bool text_drives_terminal(uint32_t code_point);

/* Columns that valid UTF-8 takes on a terminal: wide East Asian characters 2, combining marks 0. */
size_t text_width(const char *string);
size_t text_char_width(uint32_t code_point);

/* Adds `string` (safe UTF-8) cut to at most `columns`, the cut in the middle shown as "…". */
void text_add_cut(struct strbuf *out, const char *string, size_t columns);

/* Adds `string` (safe UTF-8) wrapped at `columns`; lines after the first begin with `indent`
 * spaces. The first line is taken to begin at column `indent` already. No final newline. */
void text_add_wrapped(struct strbuf *out, const char *string, size_t indent, size_t columns);

/* Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`. */
size_t text_edit_distance(const char *a, const char *b);

#endif

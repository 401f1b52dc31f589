/* Text for terminals. Names in a profile come from object files and command lines of strangers:
 * characters that could control a terminal (control characters, bidirectional overrides) and bytes
 * that are not UTF-8 are shown as \xNN or \u{NNNN}. */
#ifndef TIDEMARK_BASE_TEXT_H
#define TIDEMARK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

/* Adds `count` bytes as safe, valid UTF-8. A newline or tab counts as a control character. */
void text_add_safe(struct strbuf *out, const char *bytes, size_t count);
void text_add_safe_string(struct strbuf *out, const char *string);

/* Decodes the code point at `bytes`, of at most `count` bytes. Returns its length in bytes; 0: it
 * is not valid. */
size_t text_decode(const char *bytes, size_t count, uint32_t *code_point);

/* Does the character control a terminal or the order of text, instead of being only shown? */
bool text_drives_terminal(uint32_t code_point);
/* Of the `count` bytes the first ones that are printable ASCII, which most names are made of. */
size_t text_plain_bytes(const char *bytes, size_t count);

/* Columns that valid UTF-8 takes on a terminal: wide East Asian characters 2, combining marks 0. */
size_t text_width(const char *string);
size_t text_char_width(uint32_t code_point);

/* Adds `string` (safe UTF-8). If it is wider than `columns`, its middle is replaced by "…". */
void text_add_cut(struct strbuf *out, const char *string, size_t columns);

/* Adds `string` (safe UTF-8) wrapped at `columns`; lines after the first begin with `indent`
 * spaces. The first line is taken to begin at column `indent` already. No final newline. */
void text_add_wrapped(struct strbuf *out, const char *string, size_t indent, size_t columns);

/* The least number of edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
 * Beyond 63 bytes: the length of the longer one. */
size_t text_edit_distance(const char *a, const char *b);

#endif

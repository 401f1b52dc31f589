/* Text as a field of CSV (RFC 4180). */
#ifndef TIDEMARK_FORMAT_CSV_H
#define TIDEMARK_FORMAT_CSV_H

#include "base/strbuf.h"

/* Adds `text` as one field, in quotes where it needs them. Texts come from strangers. One that a
 * spreadsheet would run as a formula gets an apostrophe in front, which marks it as text.
 * Characters that could control a terminal become \xNN or \u{NNNN}; a newline stays. */
void csv_add_text(struct strbuf *out, const char *text);

#endif

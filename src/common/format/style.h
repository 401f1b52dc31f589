/* Colour, and the few signs that are not ASCII. */
#ifndef TIDEMARK_FORMAT_STYLE_H
#define TIDEMARK_FORMAT_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

enum tone { TONE_TITLE, TONE_FIGURE, TONE_DIM, TONE_WARNING, TONE_GOOD, TONE_AREA, TONE_COUNT };

struct style {
    bool colour, utf8;
    size_t columns;
};

/* Adds `text` in a tone. */
void style_add(struct strbuf *out, const struct style *style, enum tone tone, const char *text);
/* The rest of a line in a tone, and further lines behind `indent` columns where it is too long. */
void style_add_wrapped(struct strbuf *out, const struct style *style, enum tone tone,
                       const char *text, size_t indent);
/* Text that is added between begin and end has the tone. */
void style_begin(struct strbuf *out, const struct style *style, enum tone tone);
void style_end(struct strbuf *out, const struct style *style);

/* Adds a sparkline: one character for each value, as high as the value in eighths of `top`. A value
 * above 0 is at least one eighth high. */
void style_add_spark(struct strbuf *out, const struct style *style, const uint64_t *values,
                     size_t count, uint64_t top);

/* `text` where the terminal takes UTF-8, else `ascii`. */
const char *style_sign(const struct style *style, const char *text, const char *ascii);

#endif

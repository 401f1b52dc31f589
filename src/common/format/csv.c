/* Writes fields of CSV (csv.h). Characters that could control a terminal are escaped, newlines
 * stay, and quotes are doubled. */
#include "format/csv.h"

#include <string.h>
#include "base/text.h"

static void csv_add_safe_lines(struct strbuf *out, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        text_add_safe(out, text, (size_t)(end - text));
        strbuf_add_char(out, '\n');
    }
    text_add_safe_string(out, text);
}

void csv_add_text(struct strbuf *out, const char *text)
{
    struct strbuf safe = STRBUF_INIT;
    if (*text && strchr("=+-@\t\r\n", *text))
        strbuf_add_char(&safe, '\'');
    csv_add_safe_lines(&safe, text);
    bool quoted = strpbrk(safe.data, ",\"\n") != NULL;
    strbuf_add_string(out, quoted ? "\"" : "");
    const char *rest = safe.data;
    for (const char *quote; (quote = strchr(rest, '"')); rest = quote + 1) {
        strbuf_add(out, rest, (size_t)(quote + 1 - rest));
        strbuf_add_char(out, '"');
    }
    strbuf_add_string(out, rest);
    strbuf_add_string(out, quoted ? "\"" : "");
    strbuf_release(&safe);
}

/* Colours and signs for terminals (style.h). Each tone is one ANSI escape sequence. A sparkline
 * shows each value in eighths of `top`. */
#include "format/style.h"

#include "base/text.h"

static const char *const codes[TONE_COUNT] = {
    [TONE_TITLE] = "\033[1m",    [TONE_FIGURE] = "\033[1;36m", [TONE_DIM] = "\033[2m",
    [TONE_WARNING] = "\033[33m", [TONE_GOOD] = "\033[32m",     [TONE_AREA] = "\033[36m",
};

void style_begin(struct strbuf *out, const struct style *style, enum tone tone)
{
    if (style->colour)
        strbuf_add_string(out, codes[tone]);
}

void style_end(struct strbuf *out, const struct style *style)
{
    if (style->colour)
        strbuf_add_string(out, "\033[0m");
}

void style_add(struct strbuf *out, const struct style *style, enum tone tone, const char *text)
{
    style_begin(out, style, tone);
    strbuf_add_string(out, text);
    style_end(out, style);
}

void style_add_wrapped(struct strbuf *out, const struct style *style, enum tone tone,
                       const char *text, size_t indent)
{
    style_begin(out, style, tone);
    text_add_wrapped(out, text, indent, style->columns);
    style_end(out, style);
    strbuf_add_char(out, '\n');
}

const char *style_sign(const struct style *style, const char *text, const char *ascii)
{
    return style->utf8 ? text : ascii;
}

void style_add_spark(struct strbuf *out, const struct style *style, const uint64_t *values,
                     size_t count, uint64_t top)
{
    static const char *const signs[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = " .:-=+*#@";
    style_begin(out, style, TONE_AREA);
    for (size_t i = 0; i < count; i++) {
        double level = top ? (double)values[i] / (double)top * 8 : 0;
        size_t eighths = values[i] ? level < 1 ? 1 : level > 8 ? 8 : (size_t)level : 0;
        if (style->utf8)
            strbuf_add_string(out, signs[eighths]);
        else
            strbuf_add_char(out, ascii[eighths]);
    }
    style_end(out, style);
}

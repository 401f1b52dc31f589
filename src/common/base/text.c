/* Text for terminals (text.h). UTF-8 is decoded one character at a time. Ranges of code points say
 * which characters must be escaped and which are zero or two columns wide. */
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

size_t text_decode(const char *bytes, size_t count, uint32_t *code_point)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    if (!count)
        return 0;
    if (byte[0] < 0x80) {
        *code_point = byte[0];
        return 1;
    }
    size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || count < length)
        return 0;
    uint32_t value = byte[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (byte[i] & 0x3f);
    }
    bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    if (overlong || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *code_point = value;
    return length;
}

/* C0, C1, line separators and what reorders text ("Trojan Source", CVE-2021-42574). */
bool text_drives_terminal(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
           (code_point >= 0x200e && code_point <= 0x200f) ||
           (code_point >= 0x2028 && code_point <= 0x202e) ||
           (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0x061c ||
           code_point == 0xfeff;
}

size_t text_plain_bytes(const char *bytes, size_t count)
{
    size_t plain = 0;
    while (plain < count && bytes[plain] >= ' ' && bytes[plain] < 0x7f)
        plain++;
    return plain;
}

void text_add_safe(struct strbuf *out, const char *bytes, size_t count)
{
    while (count) {
        uint32_t code_point;
        size_t plain = text_plain_bytes(bytes, count);
        size_t length = plain ? plain : text_decode(bytes, count, &code_point);
        if (plain) {
            strbuf_add(out, bytes, plain);
        } else if (!length || (length == 1 && text_drives_terminal(code_point))) {
            strbuf_addf(out, "\\x%02x", (unsigned char)*bytes);
            length = 1;
        } else if (text_drives_terminal(code_point)) {
            strbuf_addf(out, "\\u{%04x}", (unsigned)code_point);
        } else {
            strbuf_add(out, bytes, length);
        }
        bytes += length;
        count -= length;
    }
}

void text_add_safe_string(struct strbuf *out, const char *string)
{
    text_add_safe(out, string, strlen(string));
}

struct text_range {
    uint32_t first, last;
};

static bool text_in_ranges(uint32_t code_point, const struct text_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return true;
    return false;
}

size_t text_char_width(uint32_t code_point)
{
    static const struct text_range zero[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},   {0x200b, 0x200d},
        {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
    };
    static const struct text_range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
        {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    if (code_point < 0x300)
        return 1;
    if (text_in_ranges(code_point, zero, sizeof zero / sizeof *zero))
        return 0;
    return text_in_ranges(code_point, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

/* The length in bytes of the character at `string`, and its width. A byte that is not UTF-8 counts
 * as a character. */
static size_t text_step(const char *string, size_t *width)
{
    uint32_t code_point = 0;
    size_t length = text_decode(string, strnlen(string, 4), &code_point);
    *width = length ? text_char_width(code_point) : 1;
    return length ? length : 1;
}

size_t text_width(const char *string)
{
    size_t total = 0, width;
    while (*string) {
        string += text_step(string, &width);
        total += width;
    }
    return total;
}

void text_add_cut(struct strbuf *out, const char *string, size_t columns)
{
    size_t total = text_width(string), width;
    if (total <= columns) {
        strbuf_add_string(out, string);
        return;
    }
    if (!columns)
        return;
    size_t tail = (columns - 1) / 2, head = columns - 1 - tail;
    for (size_t used = 0; *string;) {
        size_t length = text_step(string, &width);
        if (used + width > head)
            break;
        strbuf_add(out, string, length);
        string += length;
        used += width;
        total -= width;
    }
    strbuf_add_string(out, "…");
    while (total > tail) {
        string += text_step(string, &width);
        total -= width;
    }
    strbuf_add_string(out, string);
}

void text_add_wrapped(struct strbuf *out, const char *string, size_t indent, size_t columns)
{
    size_t column = indent;
    bool first = true;
    while (*string) {
        size_t length = strcspn(string, " ");
        size_t width = 0, width_of;
        for (size_t at = 0; at < length; width += width_of)
            at += text_step(string + at, &width_of);
        if (!first && column + 1 + width > columns) {
            strbuf_add_char(out, '\n');
            strbuf_add_repeated(out, " ", indent);
            column = indent;
        } else if (!first) {
            strbuf_add_char(out, ' ');
            column++;
        }
        strbuf_add(out, string, length);
        column += width;
        first = false;
        string += length;
        string += strspn(string, " ");
    }
}

enum { DISTANCE_MAX = 63 };

static size_t text_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance, three rows at a time. */
size_t text_edit_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > DISTANCE_MAX || columns > DISTANCE_MAX)
        return rows > columns ? rows : columns;
    size_t row[3][DISTANCE_MAX + 1];
    size_t *before = row[0], *last = row[1], *now = row[2];
    for (size_t j = 0; j <= columns; j++)
        last[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        now[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = text_least(best, text_least(last[j] + 1, now[j - 1] + 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = text_least(best, before[j - 2] + 1);
            now[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[columns];
}

/* Cuts text into lines, words and numbers, and parses a frame as massif and DHAT write it
 * (import_text.h). A pair of pointers bounds every step. */
#include "import/import_text.h"

#include <string.h>

bool text_line(struct import_text *text, struct import_text *line)
{
    if (text->at >= text->end)
        return false;
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *line = (struct import_text){text->at, newline ? newline : text->end};
    text->at = newline ? newline + 1 : text->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

void text_skip_spaces(struct import_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

static int import_text_digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

bool text_number(struct import_text *text, unsigned base, uint64_t *value)
{
    const char *begin;
    text_skip_spaces(text);
    begin = text->at;
    *value = 0;
    for (int digit; text->at < text->end && (digit = import_text_digit_of(*text->at)) < (int)base;
         text->at++)
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit, value))
            return false;
    return text->at > begin;
}

bool text_skip(struct import_text *text, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length))
        return false;
    text->at += length;
    return true;
}

/* The last " (" of a line that ends with ")"; NULL: there is none. */
static const char *import_text_last_bracket(const struct import_text *text)
{
    if (text->at == text->end || text->end[-1] != ')')
        return NULL;
    for (const char *at = text->end - 2; at > text->at; at--)
        if (at[0] == '(' && at[-1] == ' ')
            return at;
    return NULL;
}

/* "iofopen.c:65" or "in /lib/libc.so.6", without brackets. */
static int64_t import_text_take_place(struct gather *gather, struct import_text place,
                                      struct gather_named *frame)
{
    if (text_skip(&place, "in "))
        return gather_module(gather, place.at, (size_t)(place.end - place.at), 0, 0, 0);
    const char *colon = memrchr(place.at, ':', (size_t)(place.end - place.at));
    struct import_text number = {colon ? colon + 1 : place.end, place.end};
    uint64_t line = 0;
    frame->file = place.at;
    frame->file_length = (size_t)((colon ? colon : place.end) - place.at);
    if (text_number(&number, 10, &line) && line <= UINT32_MAX)
        frame->line = (uint32_t)line;
    return -1;
}

uint32_t text_frame(struct gather *gather, struct import_text frame)
{
    struct gather_named named = {0};
    uint64_t address = 0;
    int64_t module = -1;
    if (text_skip(&frame, "0x") && text_number(&frame, 16, &address))
        text_skip(&frame, ":");
    text_skip_spaces(&frame);
    const char *bracket = import_text_last_bracket(&frame);
    if (bracket) {
        module = import_text_take_place(gather, (struct import_text){bracket + 1, frame.end - 1},
                                        &named);
        frame.end = bracket - 1;
    }
    if (!(frame.end - frame.at == 3 && !memcmp(frame.at, "???", 3))) {
        named.function = frame.at;
        named.function_length = (size_t)(frame.end - frame.at);
    }
    return gather_location(gather, module, address, &named, 1);
}

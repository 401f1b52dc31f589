/* Splits a text into words as a shell does (words.h). Words are written over the text that is read:
 * without its quotes a word is never longer, and the byte behind it has room for its end. */
#include "base/words.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct words_text {
    const char *from; /* what is read next */
    char *to;         /* where the next byte of a word goes: at `from`, or in front of it */
};

static bool words_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* In double quotes a backslash keeps those two alone, and is itself in front of others. */
static bool words_is_kept(const char *backslash, char quote)
{
    return !quote || backslash[1] == '"' || backslash[1] == '\\';
}

/* Up to the blank or the end behind it, which is not read. False: a quote is open. */
static bool words_take(struct words_text *text)
{
    char quote = '\0';
    for (; *text->from && (quote || !words_is_blank(*text->from)); text->from++) {
        char byte = *text->from;
        if (byte == '\\' && quote != '\'' && words_is_kept(text->from, quote)) {
            if (!text->from[1])
                return false;
            *text->to++ = *++text->from;
        } else if (quote ? byte == quote : byte == '"' || byte == '\'')
            quote = quote ? '\0' : byte;
        else
            *text->to++ = byte;
    }
    return !quote;
}

int words_split(char *text, char **words)
{
    struct words_text at = {text, text};
    int count = 0;
    for (;;) {
        while (words_is_blank(*at.from))
            at.from++;
        if (!*at.from)
            return count;
        words[count++] = at.to;
        if (!words_take(&at))
            return -EINVAL;
        bool is_last = !*at.from;
        at.from += !is_last;
        *at.to++ = '\0';
        if (is_last)
            return count;
    }
}

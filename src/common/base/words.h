/* Splits a text into words as a shell does, without anything else that a shell does: blanks part
 * words, quotes and backslashes keep them.
 *
 *   -q -o 'my runs/%n.tmk'      a quoted part is one with what is in front of it and behind it
 *   -o "my runs"/%n.tmk         in double quotes a backslash keeps a quote and a backslash
 *   -o my\ runs/%n.tmk */
#ifndef TIDEMARK_BASE_WORDS_H
#define TIDEMARK_BASE_WORDS_H

#include <stddef.h>

/* Splits `text` in place: each of `words`, which has room for strlen(text) / 2 + 1 of them, is a
 * string within `text`. Returns how many there are; -EINVAL: a quote is not closed, or a backslash
 * ends the text. */
int words_split(char *text, char **words);

#endif

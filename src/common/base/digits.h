/* Numbers as digits, for writers of millions of them: printf() takes some 200 instructions each.
 *
 *     char text[DIGITS_MOST], *end = text + sizeof text, *at = digits_decimal(end, 17);
 *
 * `at` then points to "17" right in front of `end`. What stands before a number may be put in front
 * of it in the same way, and all be written at once. */
#ifndef TIDEMARK_BASE_DIGITS_H
#define TIDEMARK_BASE_DIGITS_H

#include <stdint.h>

enum { DIGITS_MOST = 20 }; /* as many as 2^64 - 1 has */

/* Writes the digits right in front of `end`, and returns where they begin. */
static inline char *digits_decimal(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while (number /= 10);
    return end;
}

/* The same in lower-case hexadecimal. */
static inline char *digits_hex(char *end, uint64_t number)
{
    do
        *--end = "0123456789abcdef"[number & 15];
    while (number >>= 4);
    return end;
}

#endif

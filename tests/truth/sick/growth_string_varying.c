/* truth: sick
 * what: the same with lines of many lengths: no one step is the common one
 * expect: realloc-constant-growth */
#include "truth.h"

static char *text;
static size_t length;

NOINLINE static void text_append(const char *piece, size_t more)
{
    text = realloc(text, length + more + 1); /* guilty: text_append */
    memcpy(text + length, piece, more);
    length += more;
    text[length] = 0;
}

int main(void)
{
    char piece[100];
    memset(piece, 'p', sizeof piece);
    for (int i = 0; i < 40000; i++)
        text_append(piece, (size_t)(i * 7919 % 83) + 5);
    printf("%zu\n", length);
    free(text);
    return 0;
}

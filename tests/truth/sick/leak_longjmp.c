/* truth: sick
 * what: a parser leaves by longjmp on bad input, over the free of its token
 * expect: leak-lost leak-growth */
#include "truth.h"
#include <setjmp.h>

static jmp_buf bad_input;

NOINLINE static void token_check(const char *token, int i)
{
    if (i % 4 == 1)
        longjmp(bad_input, 1);
    use((void *)token);
}

NOINLINE static void statement_parse(int i)
{
    char *token = malloc(700); /* guilty: statement_parse */
    memset(token, i, 700);
    token_check(token, i);
    free(token);
}

int main(void)
{
    volatile int bad = 0;
    for (volatile int i = 0; i < 12000; i++) {
        if (setjmp(bad_input))
            bad++;
        else
            statement_parse(i);
        pace(i, 20);
    }
    printf("%d\n", bad);
    return 0;
}

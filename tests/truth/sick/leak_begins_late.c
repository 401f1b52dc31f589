/* truth: sick
 * what: nothing leaks for two thirds of the run, then each call does
 * expect: leak-lost leak-growth */
#include "truth.h"

NOINLINE static void frame_decode(int i)
{
    char *frame = malloc(1000); /* guilty: frame_decode */
    frame[i % 1000] = 1;
    use(frame);
    if (i < 8000)
        free(frame);
}

int main(void)
{
    for (int i = 0; i < 12000; i++) {
        frame_decode(i);
        pace(i, 15);
    }
    return 0;
}

/* truth: sick
 * what: a frame of 6 MB is asked for and freed for each picture, through a wrapper
 * expect: large-recycling short-lived-blocks
 * wrapper: frame_alloc */
#include "truth.h"

NOINLINE static void *frame_alloc(size_t size)
{
    void *frame = malloc(size);
    if (!frame)
        abort();
    return frame;
}

NOINLINE static int header_show(int i)
{
    char *line = frame_alloc(300000);
    memset(line, i, 300000);
    use(line);
    free(line);
    return i;
}

NOINLINE static int picture_decode(int i)
{
    char *frame = frame_alloc(6 << 20); /* guilty: picture_decode */
    memset(frame, i, 6 << 20);
    use(frame);
    int value = frame[12345];
    free(frame);
    return value;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 300; i++)
        sum += picture_decode(i) + (i % 10 ? 0 : header_show(i));
    return sum == 42;
}

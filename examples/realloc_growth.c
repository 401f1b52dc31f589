/* An array that grows by one element at a time: the AVBP and MAQAO cases of the MALT paper, section
 * 5.3. Each call of realloc may copy all that is there, so n elements cost n² / 2 of copying.
 *
 *   cc -g -O1 examples/realloc_growth.c -o realloc_growth
 *   tidemark record -o run.tmk ./realloc_growth
 *   tidemark insight run.tmk
 *
 * What to look for: "realloc-constant-growth" at the line of append() marked below: 20,000
 * reallocations by 16 bytes each. With another array beside it, as here, many of them move. Let the
 * capacity double instead and there are 15. */
#include <stdio.h>
#include <stdlib.h>

struct points {
    double (*at)[2];
    size_t count;
};

__attribute__((noinline)) static void append(struct points *points, double x, double y)
{
    points->at = realloc(points->at, (points->count + 1) * sizeof *points->at); /* guilty */
    if (!points->at)
        exit(1);
    points->at[points->count][0] = x;
    points->at[points->count][1] = y;
    points->count++;
}

int main(void)
{
    struct points left = {0}, right = {0};
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        append(&left, i, -i);
        append(&right, -i, 2 * i);
    }
    for (size_t i = 0; i < left.count; i++)
        sum += left.at[i][0] + right.at[i][1];
    printf("%.0f\n", sum);
    free(left.at);
    free(right.at);
    return 0;
}

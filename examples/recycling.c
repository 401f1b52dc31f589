/* Large arrays that are made and thrown away in each step (recycling, MALT paper, section 4.2).
 * The kernel takes such blocks back when they are freed and must find and clear every page when the
 * next one is touched: time that no profiler of the program's own code shows.
 *
 *   cc -g -O1 examples/recycling.c -o recycling
 *   tidemark record -o run.tmk ./recycling
 *   tidemark insight run.tmk
 *
 * What to look for: "large-recycling" at the line of step() marked below: 200 blocks of 1 MiB, one
 * at a time: 200 MiB of pages cleared for an array that could have been allocated once. */
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 200, CELLS = 131072 };

__attribute__((noinline)) static double step(double seed)
{
    double *field = malloc(CELLS * sizeof *field); /* guilty */
    double sum = 0;
    if (!field)
        exit(1);
    for (int i = 0; i < CELLS; i++)
        field[i] = seed + i;
    for (int i = 0; i < CELLS; i += 64)
        sum += field[i];
    free(field);
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int i = 0; i < STEPS; i++)
        sum += step(i);
    printf("%.0f\n", sum);
    return 0;
}

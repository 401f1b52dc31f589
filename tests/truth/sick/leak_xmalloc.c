/* truth: sick
 * what: a leak through a wrapper of the program's own name (hypre_CAlloc)
 * expect: leak-lost leak-growth
 * wrapper: hypre_CAlloc
 * small: yes */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *hypre_CAlloc(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (!block) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return block;
}

__attribute__((noinline)) static double smooth(int row)
{
    double *weights = hypre_CAlloc(16, sizeof(double));
    weights[row % 16] = row;
    double sum = weights[3] + weights[5];
    free(weights);
    return sum;
}

__attribute__((noinline)) static double interpolate(int row)
{
    double *stencil = hypre_CAlloc(40, sizeof(double)); /* guilty: interpolate */
    stencil[row % 40] = row;
    return stencil[7] + stencil[9];
}

__attribute__((noinline)) static double coarsen(int row)
{
    int *marks = hypre_CAlloc(100, sizeof(int));
    marks[row % 100] = row;
    double sum = marks[4];
    free(marks);
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int row = 0; row < 12000; row++) {
        sum += smooth(row) + interpolate(row) + coarsen(row);
        if (row % 100 == 0)
            usleep(3000);
    }
    printf("%g\n", sum);
    return 0;
}

/* truth: sick
 * what: a transform asks for its plan of 1.5 MB at each call
 * expect: large-recycling short-lived-blocks */
#include "truth.h"

#define N 200000

NOINLINE static double transform(double *signal)
{
    double *twiddle = malloc(N * sizeof *twiddle); /* guilty: transform */
    for (int i = 0; i < N; i++)
        twiddle[i] = signal[i] * 0.5;
    use(twiddle);
    double sum = twiddle[7];
    free(twiddle);
    return sum;
}

int main(void)
{
    double *signal = calloc(N, sizeof *signal), sum = 0;
    for (int i = 0; i < N; i++)
        signal[i] = i;
    for (int i = 0; i < 800; i++)
        sum += transform(signal);
    printf("%g\n", sum);
    free(signal);
    return 0;
}

/* truth: healthy
 * what: one program asks for twenty large matrices at its beginning and works with all of them */
#include "truth.h"

#define N 300

int main(void)
{
    static double *matrices[20];
    double sum = 0;
    for (int m = 0; m < 20; m++) {
        matrices[m] = malloc(N * N * sizeof(double));
        for (int i = 0; i < N * N; i++)
            matrices[m][i] = i % 17;
    }
    for (int round = 0; round < 60; round++)
        for (int m = 0; m < 20; m++)
            for (int i = 0; i < N * N; i++)
                sum += matrices[m][i] * round;
    printf("%g\n", sum);
    for (int m = 0; m < 20; m++)
        free(matrices[m]);
    return 0;
}

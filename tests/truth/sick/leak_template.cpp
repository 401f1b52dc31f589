// truth: sick
// what: a leak of arrays through the template Allocate<double>
// expect: leak-lost leak-growth
// wrapper: Allocate<double>, Allocate
#include "truth.h"

template <typename T> NOINLINE T *Allocate(size_t n)
{
    T *array = new T[n];
    memset(array, 0, n * sizeof(T));
    return array;
}

NOINLINE static double norm(int i)
{
    double *copy = Allocate<double>(200);
    copy[i % 200] = i;
    double sum = copy[0] + copy[199];
    delete[] copy;
    return sum;
}

NOINLINE static double residual(int i)
{
    double *r = Allocate<double>(120); // guilty: residual
    r[i % 120] = i;
    use(r);
    return r[0] - r[119];
}

int main()
{
    double sum = 0;
    for (int i = 0; i < 9000; i++) {
        sum += norm(i) + residual(i);
        pace(i, 30);
    }
    printf("%g\n", sum);
}

// truth: sick
// what: each particle of 80 bytes has a cache line's alignment asked for it four times over
// expect: size-waste fragmentation
#include "truth.h"
#include <vector>

static std::vector<double *> particles;

NOINLINE static void particle_add(int i)
{
    double *particle = static_cast<double *>(aligned_alloc(256, 80)); // guilty: particle_add
    particle[0] = i;
    particles.push_back(particle);
}

int main()
{
    for (int i = 0; i < 60000; i++) {
        particle_add(i);
        pace(i, 200);
    }
    pause_ms(200);
    double sum = 0;
    for (double *particle : particles)
        sum += particle[0];
    printf("%g\n", sum);
    for (double *particle : particles)
        free(particle);
}

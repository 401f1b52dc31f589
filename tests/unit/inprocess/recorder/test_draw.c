/* Where samples fall: the draw has the exponential distribution, and an allocation of s bytes is
 * sampled with the probability 1 - exp(-(s + 1) / B), whatever came before. Bounds are so wide that
 * a right draw misses them once in 10^9 runs. SEED=n repeats a run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "recorder/draw.h"
#include "recorder/thread.h"

enum { DRAWS = 1000000, BINS = 64, SIGMAS = 6 };

static uint64_t seed;

/* As in thread.c. */
uint64_t thread_sample_bytes;
bool thread_paused;
void thread_draw(struct thread *thread)
{
    thread->until_sample = draw_bytes(&thread->random, thread_sample_bytes);
}

static const uint64_t means[] = {1, 2, 10, 4096, 512 << 10, 1 << 30};
enum { MEANS = sizeof means / sizeof *means };

static void the_mean_is_as_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEANS; i++) {
        double q = exp(-1.0 / (double)means[i]); /* the draw, in whole bytes, is geometric */
        double mean = q / (1 - q), sigma = sqrt(q) / (1 - q), sum = 0;
        uint64_t random = seed + i;
        for (int n = 0; n < DRAWS; n++)
            sum += (double)draw_bytes(&random, means[i]);
        double error = (sum / DRAWS - mean) / (sigma / sqrt(DRAWS));
        if (fabs(error) > SIGMAS)
            fail_msg("mean %g instead of %g: %g sigma", sum / DRAWS, mean, error);
    }
}

/* Bins of equal probability by the inverse of the distribution; their edges fall on whole bytes, so
 * each has the probability that it really has. */
static void the_distribution_is_exponential(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEANS; i++) {
        double mean = (double)means[i], chi_square = 0;
        uint64_t edges[BINS + 1] = {0}, random = seed * 3 + i;
        unsigned counts[BINS] = {0}, freedom = 0;
        for (int bin = 1; bin < BINS; bin++)
            edges[bin] = (uint64_t)ceil(-mean * log(1 - bin / (double)BINS));
        edges[BINS] = UINT64_MAX;
        for (int n = 0; n < DRAWS; n++) {
            uint64_t draw = draw_bytes(&random, means[i]);
            int bin = 0;
            while (draw >= edges[bin + 1])
                bin++;
            counts[bin]++;
        }
        for (int bin = 0; bin < BINS; bin++) {
            double p = exp(-(double)edges[bin] / mean) -
                       (bin + 1 < BINS ? exp(-(double)edges[bin + 1] / mean) : 0);
            if (p <= 0) { /* no whole byte in it */
                assert_int_equal(counts[bin], 0);
                continue;
            }
            freedom++;
            chi_square += pow(counts[bin] - p * DRAWS, 2) / (p * DRAWS);
        }
        freedom--;
        /* Wilson and Hilferty: the cube root of chi-square over its freedom is nearly normal. */
        double spread = 2 / (9.0 * freedom);
        double sigmas = (cbrt(chi_square / freedom) - (1 - spread)) / sqrt(spread);
        if (sigmas > SIGMAS)
            fail_msg("mean %g: chi-square %g with %u degrees: %g sigma", mean, chi_square, freedom,
                     sigmas);
    }
}

static void one_draw_says_nothing_of_the_next(void **state)
{
    (void)state;
    uint64_t random = seed * 5, mean = 1 << 20;
    double before = (double)draw_bytes(&random, mean), sum = 0;
    for (int n = 0; n < DRAWS; n++) {
        double draw = (double)draw_bytes(&random, mean);
        sum += (draw / (double)mean - 1) * (before / (double)mean - 1);
        before = draw;
    }
    assert_true(fabs(sum / sqrt(DRAWS)) < SIGMAS);
}

/* Allocations of several sizes mixed: each size is sampled as often as its own probability says,
 * also the very first of a thread and the one after a sample. */
static void each_size_has_its_probability(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8, 100, 4000, 5000, 60000, SIZE_MAX};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct thread thread = {.random = seed * 7};
    uint64_t random = seed * 11, sampled[SIZES] = {0}, asked[SIZES] = {0}, first = 0, again = 0;
    bool last = false;
    uint64_t after_sample = 0;
    thread_sample_bytes = 4096;
    thread_draw(&thread);
    for (int n = 0; n < 4 * DRAWS; n++) {
        size_t i = draw_random(&random) % 64 ? draw_random(&random) % (SIZES - 1) : SIZES - 1;
        bool hit = thread_samples(&thread, sizes[i]);
        asked[i]++;
        sampled[i] += hit;
        if (last && i == 3) {
            after_sample++;
            again += hit;
        }
        last = hit;
    }
    for (int n = 0; n < DRAWS; n++) {
        struct thread fresh = {.random = draw_random(&random)};
        thread_draw(&fresh);
        first += thread_samples(&fresh, sizes[3]);
    }
    for (size_t i = 0; i < SIZES; i++) {
        double p = -expm1(-((double)sizes[i] + 1) / 4096), n = (double)asked[i];
        double error = fabs((double)sampled[i] - n * p) / (sqrt(n * p * (1 - p)) + 1e-9);
        if (sizes[i] == SIZE_MAX ? sampled[i] != asked[i] : error > SIGMAS)
            fail_msg("%zu bytes: %llu of %llu sampled: %g sigma", sizes[i],
                     (unsigned long long)sampled[i], (unsigned long long)asked[i], error);
    }
    double p = -expm1(-101.0 / 4096);
    assert_true(fabs((double)first - DRAWS * p) < SIGMAS * sqrt(DRAWS * p * (1 - p)));
    double n = (double)after_sample;
    assert_true(fabs((double)again - n * p) < SIGMAS * sqrt(n * p * (1 - p)));
}

static void logarithms_are_exact_to_the_last_digit(void **state)
{
    (void)state;
    uint64_t random = seed * 13;
    assert_int_equal(draw_log2(1ull << 63), 0);
    for (int n = 0; n < 10000; n++) {
        uint64_t x = draw_random(&random) | 1ull << 63;
        long double wanted = ldexpl(log2l((long double)x) - 63, 40);
        assert_true(fabsl((long double)draw_log2(x) - wanted) < 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_as_asked),
        cmocka_unit_test(the_distribution_is_exponential),
        cmocka_unit_test(one_draw_says_nothing_of_the_next),
        cmocka_unit_test(each_size_has_its_probability),
        cmocka_unit_test(logarithms_are_exact_to_the_last_digit),
    };
    const char *given = getenv("SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    print_message("SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Mean, deviation, percentiles and slope over ranks (job_statistics.h). Sums and squares are
 * 128-bit integers, so the order of ranks does not change a result. Percentiles are nearest-rank of
 * a sorted copy. */
#include "job/job_statistics.h"

#include <math.h>
#include <stdlib.h>
#include "base/memory.h"

const unsigned statistics_percent[STATISTICS_PERCENTILES] = {0, 5, 25, 50, 75, 95, 100};

struct figure statistics_peak(const struct job_rank *rank)
{
    return rank->peak_bytes;
}

static int job_statistics_compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void job_statistics_take(struct statistics *statistics, size_t index, uint64_t number)
{
    if (!statistics->count || number < statistics->min) {
        statistics->min = number;
        statistics->min_index = index;
    }
    if (!statistics->count || number > statistics->max) {
        statistics->max = number;
        statistics->max_index = index;
    }
    statistics->sum += number;
    statistics->count++;
}

/* The squares are of distances to the whole part of the mean: exact, and nothing cancels. */
static double job_statistics_deviation_of(const uint64_t *numbers, size_t count, job_u128 sum)
{
    uint64_t middle = (uint64_t)(sum / count);
    job_u128 squares = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = numbers[i] > middle ? numbers[i] - middle : middle - numbers[i];
        squares += (job_u128)distance * distance;
    }
    double rest = (double)(uint64_t)(sum % count) / (double)count;
    double variance = (double)squares / (double)count - rest * rest;
    return variance > 0 ? sqrt(variance) : 0;
}

static void job_statistics_order(struct statistics *statistics, uint64_t *numbers)
{
    size_t count = statistics->count;
    statistics->mean = (double)statistics->sum / (double)count;
    statistics->deviation = job_statistics_deviation_of(numbers, count, statistics->sum);
    qsort(numbers, count, sizeof *numbers, job_statistics_compare_numbers);
    for (int i = 0; i < STATISTICS_PERCENTILES; i++) {
        size_t nearest = (statistics_percent[i] * count + 99) / 100;
        statistics->percentile[i] = numbers[nearest ? nearest - 1 : 0];
    }
}

struct statistics statistics_of(const struct job_summary *summary,
                                struct figure (*number)(const struct job_rank *rank))
{
    struct statistics statistics = {0};
    uint64_t *numbers = memory_resize(NULL, summary->rank_count, sizeof *numbers);
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct job_rank *rank = &summary->ranks[i];
        uint64_t value;
        if (!job_rank_counts(rank) || !figure_get(number(rank), &value))
            continue;
        numbers[statistics.count] = value;
        job_statistics_take(&statistics, i, value);
    }
    if (statistics.count)
        job_statistics_order(&statistics, numbers);
    free(numbers);
    return statistics;
}

double statistics_imbalance(const struct statistics *statistics)
{
    return statistics->mean > 0 ? (double)statistics->max / statistics->mean : NAN;
}

double statistics_sum_mean(const struct job_sum *sum, size_t ranks)
{
    return ranks ? (double)sum->sum / (double)ranks : NAN;
}

/* ranks × squares - sum²: in whole numbers where they fit, which is for all that is measured. */
double statistics_sum_deviation(const struct job_sum *sum, size_t ranks)
{
    job_u128 left, right;
    if (!ranks)
        return NAN;
    if (!__builtin_mul_overflow(sum->squares, (job_u128)ranks, &left) &&
        !__builtin_mul_overflow(sum->sum, sum->sum, &right))
        return left > right ? sqrt((double)(left - right)) / (double)ranks : 0;
    long double mean = (long double)sum->sum / ranks;
    long double variance = (long double)sum->squares / ranks - mean * mean;
    return variance > 0 ? (double)sqrtl(variance) : 0;
}

double statistics_slope(const double *x, const double *y, size_t count)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    size_t points = 0;
    for (size_t i = 0; i < count; i++) {
        if (x[i] <= 0 || y[i] <= 0)
            continue;
        mean_x += log2(x[i]);
        mean_y += log2(y[i]);
        points++;
    }
    if (points < 2)
        return NAN;
    mean_x /= (double)points;
    mean_y /= (double)points;
    for (size_t i = 0; i < count; i++) {
        if (x[i] <= 0 || y[i] <= 0)
            continue;
        double away = log2(x[i]) - mean_x;
        xx += away * away;
        xy += away * (log2(y[i]) - mean_y);
    }
    return xx > 1e-9 ? xy / xx : NAN;
}

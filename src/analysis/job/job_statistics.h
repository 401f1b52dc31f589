/* What follows from a summary of all ranks, sorted: figures for people. Fractions begin here. */
#ifndef TIDEMARK_JOB_JOB_STATISTICS_H
#define TIDEMARK_JOB_JOB_STATISTICS_H

#include <stddef.h>
#include <stdint.h>
#include "job/job_summary.h"

enum { STATISTICS_PERCENTILES = 7 };
extern const unsigned statistics_percent[STATISTICS_PERCENTILES]; /* 0 5 25 50 75 95 100 */

/* Of one number over the ranks that have it. The deviation is that of the whole (divided by the
 * count, not the count - 1): all ranks are here, they are no sample. */
struct statistics {
    size_t count;
    uint64_t min, max;
    size_t min_index, max_index; /* of the ranks that have them, the first ones */
    job_u128 sum;
    double mean, deviation;
    uint64_t percentile[STATISTICS_PERCENTILES]; /* nearest rank: each is a rank's own number */
};

/* Over the ranks that count, and whose number is known. */
struct statistics statistics_of(const struct job_summary *summary,
                                struct figure (*number)(const struct job_rank *rank));
struct figure statistics_peak(const struct job_rank *rank); /* high-water marks */

/* How unevenly: most over mean, 1 if all are equal. NAN of nothing. */
double statistics_imbalance(const struct statistics *statistics);

/* Of a sum, with the ranks that have nothing in it as zeros. */
double statistics_sum_mean(const struct job_sum *sum, size_t ranks);
double statistics_sum_deviation(const struct job_sum *sum, size_t ranks);

/* The slope of the least-squares line through (log x, log y): y grows as x^slope. Points with a
 * coordinate of 0 or less are left out; NAN with fewer than two different x. */
double statistics_slope(const double *x, const double *y, size_t count);

#endif

/* Fits the laws by weighted least squares with their normal equations, which have at most three
 * unknowns. A law's range is that of a further point: its own deviation and that of the parameters,
 * times Student's t. Several near laws are mixed by their weights, or together widen the range. */
#include "job/job_law.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"

/* The least relative error of a law: one that met all points exactly would win whatever its number
 * of parameters. */
#define JOB_LAW_LEAST_ERROR 1e-6
/* Three points tell a constant only if they hardly differ. */
#define JOB_LAW_SAME 0.02
/* From so many points on, and where these lie no farther off than chance takes them, laws have
 * weights. Fewer points hardly tell the laws apart. Points that lie farther off do so because
 * arrays grow in steps. */
#define JOB_LAW_ENOUGH    6
#define JOB_LAW_BY_CHANCE 0.02

enum job_law_term {
    TERM_ONE,
    TERM_RANKS,
    TERM_SQUARE,
    TERM_SHARE,
    TERM_SURFACE,
    TERM_PANEL,
    TERM_LOGARITHM
};

static const struct job_law_shape {
    const char *name;
    size_t parameters;
    enum job_law_term terms[JOB_LAW_PARAMETERS];
} job_law_shapes[JOB_LAW_KINDS] = {
    [JOB_LAW_CONSTANT] = {"a", 1, {TERM_ONE}},
    [JOB_LAW_PART] = {"c/P", 1, {TERM_SHARE}},
    [JOB_LAW_EACH] = {"b*P", 1, {TERM_RANKS}},
    [JOB_LAW_SHARE] = {"a + c/P", 2, {TERM_ONE, TERM_SHARE}},
    [JOB_LAW_SURFACE] = {"a + c/P^(2/3)", 2, {TERM_ONE, TERM_SURFACE}},
    [JOB_LAW_PANEL] = {"a + c/P^(1/2)", 2, {TERM_ONE, TERM_PANEL}},
    [JOB_LAW_LOGARITHM] = {"a + b*log2(P)", 2, {TERM_ONE, TERM_LOGARITHM}},
    [JOB_LAW_LINEAR] = {"a + b*P", 2, {TERM_ONE, TERM_RANKS}},
    [JOB_LAW_SQUARE] = {"a + b*P^2", 2, {TERM_ONE, TERM_SQUARE}},
    [JOB_LAW_BOTH] = {"a + b*P + c/P", 3, {TERM_ONE, TERM_RANKS, TERM_SHARE}},
};

const char *job_law_name(enum job_law_kind kind)
{
    return job_law_shapes[kind].name;
}

static double job_law_term(enum job_law_term term, double ranks)
{
    switch (term) {
    case TERM_RANKS:
        return ranks;
    case TERM_SQUARE:
        return ranks * ranks;
    case TERM_SHARE:
        return 1 / ranks;
    case TERM_SURFACE:
        return pow(ranks, -2.0 / 3);
    case TERM_PANEL:
        return 1 / sqrt(ranks);
    case TERM_LOGARITHM:
        return log2(ranks);
    default:
        return 1;
    }
}

/* ---- Fits ------------------------------------------------------------------------------------ */

struct job_law_points {
    const double *ranks, *bytes;
    size_t count;
    size_t sizes; /* different numbers of ranks */
};

/* A row of the equations, whose right side is 1: bytes in parts of themselves. */
static void job_law_row(const struct job_law_points *points, size_t i, enum job_law_kind kind,
                        double row[JOB_LAW_PARAMETERS])
{
    const struct job_law_shape *shape = &job_law_shapes[kind];
    for (size_t k = 0; k < shape->parameters; k++)
        row[k] = job_law_term(shape->terms[k], points->ranks[i]) / points->bytes[i];
}

/* Gauss and Jordan with pivots. False: the points do not tell the parameters apart. */
static bool job_law_invert(double matrix[JOB_LAW_PARAMETERS][JOB_LAW_PARAMETERS],
                           double inverse[JOB_LAW_PARAMETERS][JOB_LAW_PARAMETERS], size_t size)
{
    double scale[JOB_LAW_PARAMETERS];
    for (size_t i = 0; i < size; i++) {
        scale[i] = matrix[i][i];
        for (size_t k = 0; k < size; k++)
            inverse[i][k] = i == k;
    }
    for (size_t i = 0; i < size; i++) {
        if (!(matrix[i][i] > scale[i] * 1e-12)) /* what is left of a sum of squares */
            return false;
        double pivot = matrix[i][i];
        for (size_t k = 0; k < size; k++) {
            matrix[i][k] /= pivot;
            inverse[i][k] /= pivot;
        }
        for (size_t r = 0; r < size; r++) {
            double factor = r == i ? 0 : matrix[r][i];
            for (size_t k = 0; k < size; k++) {
                matrix[r][k] -= factor * matrix[i][k];
                inverse[r][k] -= factor * inverse[i][k];
            }
        }
    }
    return true;
}

static bool job_law_solve(const struct job_law_points *points, struct job_law *law)
{
    double matrix[JOB_LAW_PARAMETERS][JOB_LAW_PARAMETERS] = {{0}};
    double right[JOB_LAW_PARAMETERS] = {0}, row[JOB_LAW_PARAMETERS];
    for (size_t i = 0; i < points->count; i++) {
        job_law_row(points, i, law->kind, row);
        for (size_t k = 0; k < law->parameters; k++) {
            right[k] += row[k];
            for (size_t j = 0; j < law->parameters; j++)
                matrix[k][j] += row[k] * row[j];
        }
    }
    if (!job_law_invert(matrix, law->inverse, law->parameters))
        return false;
    for (size_t k = 0; k < law->parameters; k++)
        for (size_t j = 0; j < law->parameters; j++)
            law->value[k] += law->inverse[k][j] * right[j];
    return true;
}

static double job_law_squares(const struct job_law_points *points, const struct job_law *law)
{
    double sum = 0, row[JOB_LAW_PARAMETERS];
    for (size_t i = 0; i < points->count; i++) {
        double rest = 1;
        job_law_row(points, i, law->kind, row);
        for (size_t k = 0; k < law->parameters; k++)
            rest -= row[k] * law->value[k];
        sum += rest * rest;
    }
    double least = JOB_LAW_LEAST_ERROR * JOB_LAW_LEAST_ERROR * (double)points->count;
    return fmax(sum, least);
}

/* With more ranks there is still memory. */
static bool job_law_is_possible(const struct job_law *law)
{
    const double *value = law->value;
    switch (law->kind) {
    case JOB_LAW_LOGARITHM:
    case JOB_LAW_LINEAR:
    case JOB_LAW_SQUARE:
        return value[1] >= 0;
    case JOB_LAW_BOTH:
        return value[0] >= 0 && value[1] >= 0;
    default:
        return value[0] >= 0;
    }
}

static bool job_law_fit(const struct job_law_points *points, struct job_law *law)
{
    double n = (double)points->count, k = (double)law->parameters;
    if (points->sizes < law->parameters + 2 || !job_law_solve(points, law) ||
        !job_law_is_possible(law))
        return false;
    double squares = job_law_squares(points, law);
    law->deviation = sqrt(squares / (n - k));
    law->aicc = n * log(squares / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
    return true;
}

static int job_law_compare(const void *left, const void *right)
{
    const struct job_law *a = left, *b = right;
    if (a->aicc != b->aicc)
        return a->aicc < b->aicc ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

static enum job_law_lack job_laws_judge(const struct job_laws *laws,
                                        const struct job_law_points *points)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < points->count; i++) {
        least = fmin(least, points->bytes[i]);
        most = fmax(most, points->bytes[i]);
    }
    if (points->sizes == 3 && most > least * (1 + JOB_LAW_SAME))
        return JOB_LAW_FEW;
    return laws->fits[0].deviation > JOB_LAW_MOST_DEVIATION ? JOB_LAW_LOOSE : JOB_LAW_FOUND;
}

struct job_laws job_laws_fit(const double *ranks, const double *bytes, size_t count)
{
    struct job_laws laws = {.points = count, .lack = JOB_LAW_FEW};
    struct job_law_points points = {ranks, bytes, count, 0};
    for (size_t i = 0; i < count; i++) {
        points.sizes += !i || ranks[i] > ranks[i - 1];
        laws.most_ranks = fmax(laws.most_ranks, ranks[i]);
        if (!(bytes[i] > 0)) {
            laws.lack = JOB_LAW_ZERO;
            return laws;
        }
    }
    for (int kind = 0; kind < JOB_LAW_KINDS; kind++) {
        struct job_law law = {.kind = (enum job_law_kind)kind,
                              .parameters = job_law_shapes[kind].parameters};
        if (job_law_fit(&points, &law))
            laws.fits[laws.count++] = law;
    }
    if (!laws.count)
        return laws;
    qsort(laws.fits, laws.count, sizeof *laws.fits, job_law_compare);
    laws.lack = job_laws_judge(&laws, &points);
    size_t close = 0; /* laws that miss their points by too much are left out */
    for (size_t i = 0; i < laws.count && !laws.lack; i++)
        if (laws.fits[i].deviation <= JOB_LAW_MOST_DEVIATION)
            laws.fits[close++] = laws.fits[i];
    laws.count = close;
    return laws;
}

/* ---- Forecasts ------------------------------------------------------------------------------- */

/* Student's t, 97.5 %, by degrees of freedom. Beyond the table by its first term: within 0.1 %. */
static double job_law_t(size_t freedom)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262, 2.228,  2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
                                   2.101, 2.093,  2.086, 2.080, 2.074, 2.069, 2.064, 2.060};
    return freedom < sizeof table / sizeof *table ? table[freedom]
                                                  : 1.95996 + 2.3723 / (double)freedom;
}

/* What one law says of a number of ranks: a value, the deviation of a further point from it, and
 * the degrees of freedom of that. */
struct job_law_says {
    double value, deviation, weight;
    size_t freedom;
};

static struct job_law_says job_law_at(const struct job_law *law, size_t points, double ranks)
{
    const struct job_law_shape *shape = &job_law_shapes[law->kind];
    double row[JOB_LAW_PARAMETERS], value = 0, spread = 0;
    for (size_t k = 0; k < law->parameters; k++) {
        row[k] = job_law_term(shape->terms[k], ranks);
        value += row[k] * law->value[k];
    }
    for (size_t k = 0; k < law->parameters; k++)
        for (size_t j = 0; j < law->parameters; j++)
            spread += row[k] * law->inverse[k][j] * row[j];
    return (struct job_law_says){value, law->deviation * sqrt(spread + value * value), 1,
                                 points - law->parameters};
}

/* Student's distribution function of a small whole number of degrees of freedom, by its finite sum
 * (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double job_law_below(double t, size_t freedom)
{
    bool is_odd = freedom % 2;
    double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
    double term = is_odd ? cosine : 1, sum = freedom > 1 ? term : 0;
    for (size_t n = is_odd ? 3 : 2; n < freedom; n += 2) {
        term *= cosine * cosine * (double)(n - 1) / (double)n;
        sum += term;
    }
    double both = is_odd ? 2 / M_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
    return 0.5 + both / 2;
}

static double job_laws_below(const struct job_law_says *says, size_t count, double bytes)
{
    double sum = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        sum += says[i].weight *
               job_law_below((bytes - says[i].value) / says[i].deviation, says[i].freedom);
        all += says[i].weight;
    }
    return sum / all;
}

/* By bisection between a value below the quantile and one above it. */
static double job_laws_quantile(const struct job_law_says *says, size_t count, double part)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        double half = job_law_t(says[i].freedom) * says[i].deviation;
        low = fmin(low, says[i].value - half);
        high = fmax(high, says[i].value + half);
    }
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (job_laws_below(says, count, middle) < part)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Each law's own range; together they widen. */
static struct job_forecast job_laws_hull(const struct job_law_says *says, size_t count)
{
    struct job_forecast all = {says[0].value, INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        double half = job_law_t(says[i].freedom) * says[i].deviation;
        all.low = fmin(all.low, fmax(says[i].value - half, 0));
        all.high = fmax(all.high, says[i].value + half);
    }
    return all;
}

struct job_forecast job_laws_at(const struct job_laws *laws, double ranks)
{
    struct job_law_says says[JOB_LAW_KINDS] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < laws->count && laws->fits[i].aicc < laws->fits[0].aicc + JOB_LAW_NEAR;
         i++) {
        says[count] = job_law_at(&laws->fits[i], laws->points, ranks);
        says[count++].weight = exp((laws->fits[0].aicc - laws->fits[i].aicc) / 4);
    }
    if (laws->points < JOB_LAW_ENOUGH || laws->fits[0].deviation > JOB_LAW_BY_CHANCE)
        return job_laws_hull(says, count);
    return (struct job_forecast){says[0].value, fmax(job_laws_quantile(says, count, 0.025), 0),
                                 job_laws_quantile(says, count, 0.975)};
}

enum job_law_bound { BOUND_VALUE, BOUND_HIGH, BOUND_LOW };

static bool job_laws_is_above(const struct job_laws *laws, enum job_law_bound bound, double ranks,
                              double limit)
{
    struct job_forecast at = job_laws_at(laws, ranks);
    return (bound == BOUND_VALUE ? at.value : bound == BOUND_HIGH ? at.high : at.low) > limit;
}

/* By steps of an eighth, and then by bisection, to a whole number of ranks. */
static double job_laws_first(const struct job_laws *laws, enum job_law_bound bound, double limit)
{
    double below = laws->most_ranks, above = below;
    while (!job_laws_is_above(laws, bound, above, limit)) {
        if (above >= laws->most_ranks * JOB_LAW_REACH)
            return 0;
        below = above;
        above = ceil(above * 1.125);
    }
    while (above - below > 1) {
        double middle = floor((above + below) / 2);
        if (job_laws_is_above(laws, bound, middle, limit))
            above = middle;
        else
            below = middle;
    }
    return above;
}

struct job_crossing job_laws_crossing(const struct job_laws *laws, double limit)
{
    return (struct job_crossing){job_laws_first(laws, BOUND_VALUE, limit),
                                 job_laws_first(laws, BOUND_HIGH, limit),
                                 job_laws_first(laws, BOUND_LOW, limit)};
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *job_law_factor(enum job_law_term term)
{
    static const char *const factors[] = {[TERM_ONE] = "",
                                          [TERM_RANKS] = " * P",
                                          [TERM_SQUARE] = " * P^2",
                                          [TERM_SHARE] = " / P",
                                          [TERM_SURFACE] = " / P^(2/3)",
                                          [TERM_PANEL] = " / P^(1/2)",
                                          [TERM_LOGARITHM] = " * log2 P"};
    return factors[term];
}

static void job_law_add_bytes(struct strbuf *out, double bytes)
{
    strbuf_add_string(out, human_bytes((uint64_t)llround(fabs(bytes))).text);
}

void job_law_add_text(struct strbuf *out, const struct job_law *law)
{
    const struct job_law_shape *shape = &job_law_shapes[law->kind];
    /* "32 KiB * P - 32 KiB": what is taken away does not stand first. */
    size_t first = law->value[0] < 0;
    for (size_t n = 0; n < law->parameters; n++) {
        size_t k = (n + first) % law->parameters;
        bool negative = law->value[k] < 0;
        strbuf_add_string(out, n ? (negative ? " - " : " + ") : negative ? "-" : "");
        job_law_add_bytes(out, law->value[k]);
        strbuf_add_string(out, job_law_factor(shape->terms[k]));
    }
}

/* A number that may be unknown: of bytes, calls or nanoseconds.
 *
 * A recording does not know everything: a sample has no exact counts, an imported file no
 * lifetimes, a recording of pages no calls. A figure is therefore a type of its own. Adding,
 * comparing or printing one as if it were a number does not compile. The functions below treat the
 * unknown like this:
 *
 *     sum, difference, mean     unknown if one of the operands is
 *     min, max                  the operand that is known
 *     at most                   unknown if one of the operands is
 *     less, more                false if one of the operands is unknown
 *     compare (for sorting)     the unknown stands below every number
 *
 *     struct figure all = figure_add(site->alloc_count, site->realloc_count);
 *     if (figure_known(all)) …
 *     uint64_t width = figure_or(all, 0);      an unknown counts as nothing here, and that is said
 *
 * Invariant: `raw` is the number, or UINT64_MAX for unknown. Only this file, the storage of
 * profiles and the wire of jobs read it. Functions have no state and may be called from any
 * thread. */
#ifndef TIDEMARK_MODEL_FIGURE_H
#define TIDEMARK_MODEL_FIGURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct figure {
    uint64_t raw;
};

#define FIGURE_UNKNOWN ((struct figure){UINT64_MAX})
/* For constants in static initialisers, where no function can be called. */
#define FIGURE_OF(number) ((struct figure){(number)})

/* The largest number that a figure holds; sums stop there. */
#define FIGURE_MOST (UINT64_MAX - 1)

static inline struct figure figure_of(uint64_t number)
{
    return (struct figure){number < FIGURE_MOST ? number : FIGURE_MOST};
}

static inline bool figure_known(struct figure figure)
{
    return figure.raw != UINT64_MAX;
}

/* A known number above 0. */
static inline bool figure_positive(struct figure figure)
{
    return figure.raw != 0 && figure_known(figure);
}

/* A known 0. */
static inline bool figure_zero(struct figure figure)
{
    return figure.raw == 0;
}

/* *number: left as it is where the figure is unknown. */
static inline bool figure_get(struct figure figure, uint64_t *number)
{
    if (!figure_known(figure))
        return false;
    *number = figure.raw;
    return true;
}

static inline uint64_t figure_or(struct figure figure, uint64_t otherwise)
{
    return figure_known(figure) ? figure.raw : otherwise;
}

/* For ratios: an unknown figure is NAN, and so is what is computed with it. */
static inline double figure_double(struct figure figure)
{
    return figure_known(figure) ? (double)figure.raw : (double)NAN;
}

/* From a computed value: NAN, negative and infinite values are unknown; rounded to the nearest. */
static inline struct figure figure_of_double(double value)
{
    if (!(value >= 0) || value >= 0x1p64)
        return FIGURE_UNKNOWN;
    return figure_of((uint64_t)(value + 0.5));
}

static inline struct figure figure_add(struct figure a, struct figure b)
{
    /* Sums over call paths are the inner loop of every view. One test suffices if neither number is
     * large. */
    if (__builtin_expect(!((a.raw | b.raw) >> 63), 1))
        return (struct figure){a.raw + b.raw};
    if (!figure_known(a) || !figure_known(b))
        return FIGURE_UNKNOWN;
    return (struct figure){a.raw < FIGURE_MOST - b.raw ? a.raw + b.raw : FIGURE_MOST};
}

/* a - b; unknown also if b is more than a, because the two cannot belong together then. */
static inline struct figure figure_sub(struct figure a, struct figure b)
{
    if (!figure_known(a) || !figure_known(b) || b.raw > a.raw)
        return FIGURE_UNKNOWN;
    return (struct figure){a.raw - b.raw};
}

/* a / b, rounded down: a mean. Unknown also if b is 0. */
static inline struct figure figure_divide(struct figure a, struct figure b)
{
    if (!figure_known(a) || !figure_known(b) || !b.raw)
        return FIGURE_UNKNOWN;
    return (struct figure){a.raw / b.raw};
}

static inline struct figure figure_min(struct figure a, struct figure b)
{
    return a.raw < b.raw ? a : b; /* the unknown has the highest `raw` */
}

/* `figure`, but no more than `most`, for two numbers that were read at different moments. */
static inline struct figure figure_at_most(struct figure figure, struct figure most)
{
    if (!figure_known(figure) || !figure_known(most))
        return FIGURE_UNKNOWN;
    return figure_min(figure, most);
}

static inline struct figure figure_max(struct figure a, struct figure b)
{
    if (!figure_known(a))
        return b;
    return figure_known(b) && b.raw > a.raw ? b : a;
}

static inline bool figure_less(struct figure a, struct figure b)
{
    return a.raw < b.raw && figure_known(b);
}

static inline bool figure_equal(struct figure a, struct figure b)
{
    return a.raw == b.raw;
}

/* For qsort(): negative, 0 or positive; the unknown is below every number. */
static inline int figure_compare(struct figure a, struct figure b)
{
    uint64_t left = a.raw + 1, right = b.raw + 1; /* the unknown becomes 0 */
    return (left > right) - (left < right);
}

#endif

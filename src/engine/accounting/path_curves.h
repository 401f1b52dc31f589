/* The live bytes of single call paths over time: a step function with a bounded error.
 *
 *   all     one curve for each site whose live bytes ever exceeded CURVE_THRESHOLD_BYTES; where
 *           curves begin exact, for each site that ever had any
 *   arena   │ 8 points │ 32 points │ … │   pieces of 8, 16, … CURVE_POINTS points, and on to
 *                                          CURVE_EXACT_POINTS where curves begin exact, while
 *                                          the arena is below CURVES_EXACT_BYTES. A curve that
 *                                          needs a larger piece gives its old one to the free
 *                                          list of that size.
 *
 * Invariants of a curve with a piece. p is the bytes of the last point, or 0 if there is none;
 * e(p) = max(threshold_bytes, p / CURVE_PART, sqrt(p * noise_bytes)), or 0 while threshold_bytes
 * is 0.
 *   band = [p - e(p), p + e(p)],   and live is in the band: |live - p| <= e(p)
 *   except for 0 where p > 0 and the threshold is above CURVE_THRESHOLD_BYTES: that a path holds
 *   nothing any more is always a point
 *   count <= 8 << size <= CURVE_POINTS, or CURVE_EXACT_POINTS
 *   points[highest].bytes >= points[i].bytes for all i
 *
 * A curve adds a point only when the site's live bytes leave the band. When there is no room for
 * the point, the threshold doubles until at least a quarter of the points is redundant. A point q
 * is redundant if [q - e, q + e] lies in the band that the kept point before q has by the new
 * threshold, where e = max(old threshold, q / CURVE_PART). The highest point is always kept.
 *
 * A level that swings leaves no point redundant until the threshold is half a swing. Beyond
 * max(CURVE_PLAIN_BYTES, highest / CURVE_PLAIN_PART) the threshold stays as it is, and points are
 * kept by stretches of 2^stretch_log ticks (0: there are none). Then
 *   t >> stretch_log is the same of three points at most: the stretch's highest, lowest and last
 *   the last point is the level of now (within the band)
 * and when there is no room stretches double.
 *
 * Where levels are estimates, noise_bytes is above 0. A level of p bytes that blocks of b bytes
 * each stand for has a deviation of about sqrt(p * b). A smaller change says nothing, so it makes
 * no point, and a curve has fewer points. Readers are told a threshold with which
 * e(p) <= max(threshold, p / CURVE_PART).
 *
 * Such curves have a common bound, too. While they are brief they have CURVES_BRIEF_BYTES, and
 * CURVE_BRIEF_POINTS each, later CURVES_NOISY_BYTES. When there is no room, the floor doubles: no
 * threshold is below the floor, and a path that never held more has no curve. Then all pieces are
 * laid out anew.
 *
 * Curves that begin exact have threshold 0 until their points are used up. Then they go on as all
 * others. */
#ifndef TIDEMARK_ACCOUNTING_PATH_CURVES_H
#define TIDEMARK_ACCOUNTING_PATH_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/detail.h"
#include "blocks/arena.h"
#include "accounting/sites.h"

#define CURVES_MAX_BYTES   ((size_t)64 << 20) /* of the arena; curves are thinned earlier then */
#define CURVES_EXACT_BYTES ((size_t)4 << 20) /* of the arena, until a curve has CURVE_POINTS only */
#define CURVES_BRIEF_BYTES ((size_t)128 << 10) /* of estimates: 8,192 points */
#define CURVES_NOISY_BYTES ((size_t)1 << 20)
#define CURVE_PLAIN_BYTES  ((uint64_t)64 << 10) /* a threshold that is low enough for any curve */
#define CURVE_PLAIN_PART   16
#define CURVE_PIECES       6  /* 8 16 … CURVE_POINTS */
#define CURVE_BRIEF_PIECES 4  /* 8 16 32 64 */
#define CURVE_EXACT_PIECES 10 /* … CURVE_EXACT_POINTS */

struct curve_band {
    uint64_t low, high;
};

struct site_curve {
    uint64_t threshold_bytes;
    struct curve_band band;
    uint32_t site;
    uint32_t piece; /* place in the arena + 1, in units of 8 points; 0: has none */
    uint16_t count;
    uint16_t highest; /* index of the highest point, the earliest of equal ones */
    uint8_t size;     /* of the piece: 8 << size points */
    uint8_t stretch_log;
    bool changed; /* since the last visit */
};

struct curves {
    struct site_curve *all;
    uint32_t count;
    uint32_t used;                     /* pieces of 8 points */
    uint32_t free[CURVE_EXACT_PIECES]; /* a free piece + 1; its first word has the next one */
    bool begin_exact;
    uint64_t noise_bytes; /* 0: levels are exact */
    uint64_t floor_bytes;
    bool is_brief;
    struct arena all_memory, arena;
};

void curves_release(struct curves *curves);
size_t curves_memory_bytes(const struct curves *curves);

/* Adds a point to the site's curve if its live bytes have left the band; makes the curve if the
 * site has none. Returns the band after that. */
struct curve_band curves_look(struct curves *curves, struct sites *sites, uint32_t site,
                              uint64_t ticks);

/* Sites that never had more have no curve. */
static inline uint64_t curves_least_bytes(const struct curves *curves)
{
    return curves->begin_exact ? 0 : CURVE_THRESHOLD_BYTES;
}

/* The site's live bytes have changed. Returns the band that they are in from now on. */
static inline struct curve_band curves_see(struct curves *curves, struct sites *sites,
                                           uint32_t site, uint64_t ticks)
{
    uint64_t least_bytes = curves_least_bytes(curves);
    if (!site_curve(sites, site) && site_live_bytes(sites, site) <= least_bytes)
        return (struct curve_band){0, least_bytes};
    return curves_look(curves, sites, site, ticks);
}

/* Each curve that has changed since the last call. */
void curves_visit(struct curves *curves, const struct sites *sites, enum memory_level level,
                  void (*visit)(void *context, const struct curve *curve), void *context);

#endif

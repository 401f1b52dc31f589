/* The evolution of single call paths: live bytes as a step function, lossy with a bound.
 *
 *   all          one curve for every site that was ever above CURVE_THRESHOLD_BYTES, with the band
 *                of its live bytes in which they say nothing new; others' is [0, that]
 *   arena        │ 8 points │ 32 points │ … │     pieces of 8 to CURVE_POINTS points; one that has
 *                                               become too small is used again for another curve
 *
 * Invariant, at any moment: |live - p| <= max(threshold, p / CURVE_PART), p being the last point
 * not later than that; before the first point p is 0. A new point is made when its level leaves that
 * band. When there is no room for one more, the threshold doubles until a quarter of the points can
 * go: a point q can if all that it may stand for, q -+ max(old threshold, q / CURVE_PART), lies in
 * the band that the point before it has by the new threshold. The highest point stays. */
#ifndef TIDEMARK_REPLAY_CURVES_H
#define TIDEMARK_REPLAY_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/detail.h"
#include "replay/region.h"
#include "replay/sites.h"

#define CURVES_MAX_BYTES ((size_t)64 << 20) /* of the arena; curves are thinned earlier then */
#define CURVE_PIECES     6                  /* 8 16 … CURVE_POINTS */

struct curve_band {
    uint64_t low, high;
};

struct site_curve {
    uint64_t threshold_bytes;
    struct curve_band band;
    uint32_t site;
    uint32_t piece;   /* in the arena, in units of 8 points; + 1, 0: has none */
    uint16_t count;
    uint16_t highest; /* the point, the earliest of the highest ones */
    uint8_t size;     /* of the piece: 8 << size points */
    bool changed;     /* since it was visited */
};

struct curves {
    struct site_curve *all;
    uint32_t count;
    uint32_t used;               /* pieces of 8 points */
    uint32_t free[CURVE_PIECES]; /* + 1; the next one stands in the piece's first word */
    struct region all_memory, arena;
};

void curves_release(struct curves *curves);
size_t curves_memory_bytes(const struct curves *curves);

/* The band of a site that has a curve, or is to have one: after a look whether it was left. */
struct curve_band curves_look(struct curves *curves, struct sites *sites, uint32_t site,
                              uint64_t ticks);

/* A site's live bytes may have left their band: the one that they are in from now on. */
static inline struct curve_band curves_see(struct curves *curves, struct sites *sites,
                                           uint32_t site, uint64_t ticks)
{
    if (!site_curve(sites, site) && site_live_bytes(sites, site) <= CURVE_THRESHOLD_BYTES)
        return (struct curve_band){0, CURVE_THRESHOLD_BYTES};
    return curves_look(curves, sites, site, ticks);
}

/* Each curve that has changed since the last call. */
void curves_visit(struct curves *curves, const struct sites *sites,
                  void (*visit)(void *context, const struct curve *curve), void *context);

#endif

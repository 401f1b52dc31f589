/* The separated peaks of the live bytes, with the share of each call path in them.
 *
 *            crest
 *   level   ╱╲    ╱╲       Two maxima are two peaks if the level between them falls by at least
 *          ╱  ╲  ╱  ╲╱     1/PEAK_FALL of the lower maximum.
 *     ────╱    ╲╱
 *              valley
 *
 *   rising    crest_bytes = the highest level since the rise began. The rise ends when the level
 *             falls to turn_bytes = crest - crest/PEAK_FALL.
 *   falling   valley_bytes = the lowest level since the crest. The fall ends when the level rises
 *             to turn_bytes, the lowest level from which the valley is a fall of 1/PEAK_FALL.
 *
 * Invariants
 *   low <= level <= low + span              while the level is in this band, no field changes
 *   valley_bytes <= level                   at any time; rising: level <= crest_bytes
 *   count <= PEAKS_MAX                      kept[] are the highest closed peaks, in order of time
 *   kept[i].valley <= kept[i].bytes, kept[i + 1].bytes            for i + 1 < count
 *   shares + rest_bytes = bytes             of a peak with the source PEAK_SETTLED
 *
 * Shares at the crest are kept lazily, as at the global peak (sites.h): the crest raises the stamp,
 * and each site copies its live bytes before its next change. The copies are overwritten when the
 * next rise begins; the copies of the global peak when a higher peak exceeds it. Just before that,
 * a *harvest* reads the shares of a kept peak from the sites. It reads the sites that were ever
 * larger than CURVE_THRESHOLD_BYTES, and the others only if the largest shares remain undecided.
 * The number of sites read in all harvests is bounded by the number of events, and never by time,
 * because the same events must give the same peaks. A peak that is harvested beyond the bound keeps
 * its height and has no shares.
 *
 * Of two equally high peaks the earlier one counts as higher. */
#ifndef TIDEMARK_ACCOUNTING_SEPARATE_PEAKS_H
#define TIDEMARK_ACCOUNTING_SEPARATE_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "accounting/path_curves.h"
#include "model/detail.h"
#include "accounting/sites.h"

#define PEAKS_FREE_LOOKS    (1u << 20) /* sites that all harvests may read, and … */
#define PEAKS_EVENTS_A_LOOK 8          /* … one more for every so many events */

/* Where the shares of a peak are kept. */
enum peak_source { PEAK_AT_CREST, PEAK_AT_GLOBAL, PEAK_SETTLED };

struct kept_peak {
    struct peak peak;
    enum peak_source source;
};

struct peaks {
    uint64_t low, span; /* while the level is in [low, low + span] nothing changes */
    bool rising;
    uint64_t crest_bytes, crest_ticks;
    uint64_t valley_bytes; /* the lowest since the crest */
    uint64_t turn_bytes;   /* rising: a fall begins at or below it; falling: a rise at or above */
    uint64_t global_bytes; /* of the closed peak with PEAK_AT_GLOBAL; UINT64_MAX: none */
    bool crest_kept;       /* the last closed peak's source is PEAK_AT_CREST */
    size_t count;
    struct kept_peak kept[PEAKS_MAX]; /* in the order of time */
    uint64_t looks;
};

/* What a harvest reads. */
struct peaks_view {
    struct sites *sites;
    const struct curves *curves;
};

void peaks_init(struct peaks *peaks);

/* The level left the band. */
void peaks_turn(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                uint64_t now_ticks, uint64_t events);

/* After every step, and before sites_peak() for it. */
static inline void peaks_see(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                             uint64_t now_ticks, uint64_t events)
{
    if (level_bytes - peaks->low > peaks->span)
        peaks_turn(peaks, view, level_bytes, now_ticks, events);
}

/* The highest so far, in the order of time; a rise that is under way counts. */
size_t peaks_list(const struct peaks *peaks, struct peaks_view view, struct peak *out);

#endif

/* The separated peaks of the live bytes, with the share of each call path in them.
 *
 *            crest              Two maxima are two peaks if the level between them falls by 1/PEAK_FALL
 *   level   ╱╲    ╱╲            of the lower one or more. So the level is either in a rise, whose
 *          ╱  ╲  ╱  ╲╱          crest is the highest so far, until it has fallen far enough below
 *     ────╱    ╲╱ valley        that; or it falls, with the valley the lowest so far, until it has
 *                               risen far enough above that.
 *
 * Shares at the crest are kept lazily, as those at the global peak are (sites.h): the crest has a
 * number, a site copies its live bytes before it next changes. They are good until the next rise
 * begins; those of the global peak until a higher one exceeds it. Only then, and only if the peak
 * is among the highest, are they harvested, by looking at the sites that were ever larger than
 * CURVE_THRESHOLD_BYTES, and at all others only if these leave open who the largest are. The sum
 * of sites looked at is bounded by the number of events (never by time: the same events must give
 * the same peaks). A peak whose turn comes beyond the bound keeps its height without shares.
 *
 * Of peaks that are equally high the earlier one is higher. */
#ifndef TIDEMARK_REPLAY_PEAKS_H
#define TIDEMARK_REPLAY_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/curves.h"
#include "replay/detail.h"
#include "replay/sites.h"

#define PEAKS_FREE_LOOKS     (1u << 20) /* sites that may be looked at, and … */
#define PEAKS_EVENTS_A_LOOK  8          /* … one more every so many events */

/* Where the shares of a peak still are. */
enum peak_source { PEAK_AT_CREST, PEAK_AT_GLOBAL, PEAK_SETTLED };

struct kept_peak {
    struct peak peak;
    enum peak_source source;
};

struct peaks {
    uint64_t low, span; /* while the level is in [low, low + span] it says nothing new */
    bool rising;
    uint64_t crest_bytes, crest_ticks;
    uint64_t valley_bytes;  /* the lowest since the crest */
    uint64_t turn_bytes;    /* rising: a fall begins at or below it; falling: a rise at or above */
    uint64_t global_bytes;  /* of the closed peak with PEAK_AT_GLOBAL; UINT64_MAX: none */
    bool crest_kept;        /* a closed peak's source is PEAK_AT_CREST: the last one's */
    size_t count;
    struct kept_peak kept[PEAKS_MAX]; /* in the order of time */
    uint64_t looks;
};

/* What a harvest looks at. */
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

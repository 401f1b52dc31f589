/* The program's highest separate peaks (separate_peaks.h). The live bytes rise or fall. A fall
 * begins at crest - crest/PEAK_FALL. A rise begins where the valley is lower than the level by
 * 1/PEAK_FALL of the level. The highest PEAKS_MAX crests are kept. The shares of a crest are read
 * from the sites just before they are overwritten. */
#include "accounting/separate_peaks.h"

#include <string.h>

/* ---- Harvests ------------------------------------------------------------------------------ */

static uint64_t peaks_share_of(const struct sites *sites, uint32_t site, enum peak_source source)
{
    return source == PEAK_AT_GLOBAL ? site_at_peak(sites, site) : site_at_crest(sites, site);
}

static bool peaks_is_larger(const struct peak_share *a, const struct peak_share *b)
{
    return a->bytes > b->bytes || (a->bytes == b->bytes && a->node < b->node);
}

/* Keeps the largest, in descending order. */
static void peaks_rank_share(struct peak *peak, struct peak_share share)
{
    size_t at;

    if (!share.bytes)
        return;
    if (peak->share_count == PEAK_SHARES_MAX) {
        if (!peaks_is_larger(&share, &peak->shares[PEAK_SHARES_MAX - 1]))
            return;
        peak->share_count--;
    }
    for (at = peak->share_count++; at && peaks_is_larger(&share, &peak->shares[at - 1]); at--)
        peak->shares[at] = peak->shares[at - 1];
    peak->shares[at] = share;
}

static void peaks_rank_site(struct peak *peak, const struct sites *sites, uint32_t site,
                            enum peak_source source)
{
    peaks_rank_share(
        peak, (struct peak_share){sites->cold[site].node, peaks_share_of(sites, site, source)});
}

static void peaks_rank_large_sites(struct peak *peak, struct peaks_view view,
                                   enum peak_source source)
{
    peak->share_count = 0;
    for (uint32_t i = 0; i < view.curves->count; i++)
        peaks_rank_site(peak, view.sites, view.curves->all[i].site, source);
}

static void peaks_rank_all_sites(struct peak *peak, struct peaks_view view, enum peak_source source)
{
    peak->share_count = 0;
    for (uint32_t site = 0; site < view.sites->count; site++)
        peaks_rank_site(peak, view.sites, site, source);
}

/* True: no site that was never large can be among the largest shares. */
static bool peaks_is_settled(const struct peak *peak)
{
    return peak->share_count == PEAK_SHARES_MAX &&
           peak->shares[PEAK_SHARES_MAX - 1].bytes > CURVE_THRESHOLD_BYTES;
}

static void peaks_add_rest(struct peak *peak)
{
    peak->rest_bytes = peak->bytes;
    for (size_t i = 0; i < peak->share_count; i++)
        peak->rest_bytes -= peak->shares[i].bytes;
}

static bool peaks_may_look(struct peaks *peaks, uint64_t sites, uint64_t events)
{
    if (peaks->looks + sites > PEAKS_FREE_LOOKS + events / PEAKS_EVENTS_A_LOOK)
        return false;
    peaks->looks += sites;
    return true;
}

/* The shares of a kept peak are about to be lost. */
static void peaks_harvest(struct peaks *peaks, struct peaks_view view, struct kept_peak *kept,
                          uint64_t events)
{
    bool done = false;

    if (peaks_may_look(peaks, view.curves->count, events)) {
        peaks_rank_large_sites(&kept->peak, view, kept->source);
        done = peaks_is_settled(&kept->peak);
    }
    if (!done && peaks_may_look(peaks, view.sites->count, events)) {
        peaks_rank_all_sites(&kept->peak, view, kept->source);
        done = true;
    }
    if (!done)
        kept->peak.share_count = 0;
    peaks_add_rest(&kept->peak);
    kept->source = PEAK_SETTLED;
}

static void peaks_harvest_all(struct peaks *peaks, struct peaks_view view, enum peak_source source,
                              uint64_t events)
{
    for (size_t i = 0; i < peaks->count; i++)
        if (peaks->kept[i].source == source)
            peaks_harvest(peaks, view, &peaks->kept[i], events);
}

/* ---- The highest --------------------------------------------------------------------------- */

/* Of equal ones the latest. */
static size_t peaks_lowest(const struct peaks *peaks)
{
    size_t lowest = 0;

    for (size_t i = 1; i < peaks->count; i++)
        if (peaks->kept[i].peak.bytes <= peaks->kept[lowest].peak.bytes)
            lowest = i;
    return lowest;
}

/* The valleys before and behind the peak become one. */
static void peaks_remove(struct peaks *peaks, size_t index)
{
    if (index)
        peaks->kept[index - 1].peak.valley_bytes = figure_min(
            peaks->kept[index - 1].peak.valley_bytes, peaks->kept[index].peak.valley_bytes);
    peaks->count--;
    memmove(&peaks->kept[index], &peaks->kept[index + 1],
            (peaks->count - index) * sizeof *peaks->kept);
}

/* The crest becomes one of the highest peaks, if it is one. */
static bool peaks_keep_crest(struct peaks *peaks, enum peak_source source)
{
    struct kept_peak *kept;

    if (peaks->count == PEAKS_MAX) {
        size_t last = peaks_lowest(peaks);
        if (peaks->crest_bytes <= peaks->kept[last].peak.bytes)
            return false;
        peaks_remove(peaks, last);
    }
    kept = &peaks->kept[peaks->count++];
    kept->source = source;
    kept->peak.ticks = peaks->crest_ticks;
    kept->peak.bytes = kept->peak.rest_bytes = peaks->crest_bytes;
    kept->peak.valley_bytes = FIGURE_UNKNOWN;
    kept->peak.share_count = 0;
    return true;
}

/* The valley so far belongs to the last peak that is kept. */
static void peaks_give_valley(struct peaks *peaks)
{
    struct peak *last = peaks->count ? &peaks->kept[peaks->count - 1].peak : NULL;

    if (last)
        last->valley_bytes = figure_min(last->valley_bytes, figure_of(peaks->valley_bytes));
}

/* No closed peak is as high as the crest: it is the program's peak so far. */
static enum peak_source peaks_source_of_crest(const struct peaks *peaks)
{
    return peaks->global_bytes == UINT64_MAX ? PEAK_AT_GLOBAL : PEAK_AT_CREST;
}

/* ---- Rise and fall ------------------------------------------------------------------------- */

/* The highest level that is a fall of 1/PEAK_FALL from this one: rounded down. */
static uint64_t peaks_fallen(uint64_t level_bytes)
{
    return level_bytes - level_bytes / PEAK_FALL - (level_bytes % PEAK_FALL != 0);
}

/* The lowest level from which `level_bytes` is a fall of 1/PEAK_FALL. */
static uint64_t peaks_risen(uint64_t level_bytes)
{
    uint64_t part = level_bytes / (PEAK_FALL - 1) + (level_bytes % (PEAK_FALL - 1) != 0);

    return level_bytes + (part ? part : 1);
}

static void peaks_set_band(struct peaks *peaks)
{
    peaks->low = peaks->valley_bytes;
    peaks->span = (peaks->rising ? peaks->crest_bytes : peaks->turn_bytes - 1) - peaks->low;
}

static void peaks_raise_crest(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                              uint64_t now_ticks, uint64_t events)
{
    if (level_bytes > peaks->global_bytes) {
        peaks_harvest_all(peaks, view, PEAK_AT_GLOBAL, events);
        peaks->global_bytes = UINT64_MAX;
    }
    sites_crest(view.sites);
    peaks->crest_bytes = peaks->valley_bytes = level_bytes;
    peaks->crest_ticks = now_ticks;
    peaks->turn_bytes = peaks_fallen(level_bytes);
}

static void peaks_begin_rise(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                             uint64_t now_ticks, uint64_t events)
{
    if (peaks->crest_kept)
        peaks_harvest_all(peaks, view, PEAK_AT_CREST, events);
    peaks->crest_kept = false;
    peaks_give_valley(peaks);
    peaks->rising = true;
    peaks_raise_crest(peaks, view, level_bytes, now_ticks, events);
}

static void peaks_deepen_valley(struct peaks *peaks, uint64_t level_bytes)
{
    peaks->valley_bytes = level_bytes;
    if (!peaks->rising)
        peaks->turn_bytes = peaks_risen(level_bytes);
}

static void peaks_begin_fall(struct peaks *peaks, uint64_t level_bytes)
{
    enum peak_source source = peaks_source_of_crest(peaks);

    peaks->rising = false;
    if (source == PEAK_AT_GLOBAL)
        peaks->global_bytes = peaks->crest_bytes;
    peaks->crest_kept = peaks_keep_crest(peaks, source) && source == PEAK_AT_CREST;
    peaks_deepen_valley(peaks, level_bytes);
}

void peaks_turn(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                uint64_t now_ticks, uint64_t events)
{
    if (peaks->rising && level_bytes > peaks->crest_bytes)
        peaks_raise_crest(peaks, view, level_bytes, now_ticks, events);
    else if (peaks->rising && level_bytes <= peaks->turn_bytes)
        peaks_begin_fall(peaks, level_bytes);
    else if (!peaks->rising && level_bytes >= peaks->turn_bytes)
        peaks_begin_rise(peaks, view, level_bytes, now_ticks, events);
    else
        peaks_deepen_valley(peaks, level_bytes);
    peaks_set_band(peaks);
}

void peaks_init(struct peaks *peaks)
{
    *peaks = (struct peaks){.global_bytes = UINT64_MAX};
    peaks_deepen_valley(peaks, 0);
    peaks_set_band(peaks);
}

size_t peaks_list(const struct peaks *peaks, struct peaks_view view, struct peak *out)
{
    struct peaks now = *peaks;

    if (!now.rising || peaks_keep_crest(&now, peaks_source_of_crest(&now)))
        peaks_give_valley(&now);
    for (size_t i = 0; i < now.count; i++) {
        struct kept_peak *kept = &now.kept[i];
        if (kept->source != PEAK_SETTLED) {
            peaks_rank_all_sites(&kept->peak, view, kept->source);
            peaks_add_rest(&kept->peak);
        }
        out[i] = kept->peak;
    }
    return now.count;
}

/* See peaks.h. */
#include "replay/peaks.h"

#include <string.h>

/* ---- Harvests ------------------------------------------------------------------------------ */

static uint64_t share_of(const struct sites *sites, uint32_t site, enum peak_source source)
{
    return source == PEAK_AT_GLOBAL ? site_at_peak(sites, site) : site_at_crest(sites, site);
}

static bool is_larger(const struct peak_share *a, const struct peak_share *b)
{
    return a->bytes > b->bytes || (a->bytes == b->bytes && a->node < b->node);
}

/* Keeps the largest, in descending order. */
static void rank_share(struct peak *peak, struct peak_share share)
{
    size_t at;

    if (!share.bytes)
        return;
    if (peak->share_count == PEAK_SHARES_MAX) {
        if (!is_larger(&share, &peak->shares[PEAK_SHARES_MAX - 1]))
            return;
        peak->share_count--;
    }
    for (at = peak->share_count++; at && is_larger(&share, &peak->shares[at - 1]); at--)
        peak->shares[at] = peak->shares[at - 1];
    peak->shares[at] = share;
}

static void rank_site(struct peak *peak, const struct sites *sites, uint32_t site,
                      enum peak_source source)
{
    rank_share(peak, (struct peak_share){sites->cold[site].node, share_of(sites, site, source)});
}

static void rank_large_sites(struct peak *peak, struct peaks_view view, enum peak_source source)
{
    peak->share_count = 0;
    for (uint32_t i = 0; i < view.curves->count; i++)
        rank_site(peak, view.sites, view.curves->all[i].site, source);
}

static void rank_all_sites(struct peak *peak, struct peaks_view view, enum peak_source source)
{
    peak->share_count = 0;
    for (uint32_t site = 0; site < view.sites->count; site++)
        rank_site(peak, view.sites, site, source);
}

/* Only sites that were never large are missing: could one of them belong there? */
static bool is_settled(const struct peak *peak)
{
    return peak->share_count == PEAK_SHARES_MAX &&
           peak->shares[PEAK_SHARES_MAX - 1].bytes > CURVE_THRESHOLD_BYTES;
}

static void add_rest(struct peak *peak)
{
    peak->rest_bytes = peak->bytes;
    for (size_t i = 0; i < peak->share_count; i++)
        peak->rest_bytes -= peak->shares[i].bytes;
}

static bool may_look(struct peaks *peaks, uint64_t sites, uint64_t events)
{
    if (peaks->looks + sites > PEAKS_FREE_LOOKS + events / PEAKS_EVENTS_A_LOOK)
        return false;
    peaks->looks += sites;
    return true;
}

/* The shares of a kept peak are about to be lost. */
static void harvest(struct peaks *peaks, struct peaks_view view, struct kept_peak *kept,
                    uint64_t events)
{
    bool done = false;

    if (may_look(peaks, view.curves->count, events)) {
        rank_large_sites(&kept->peak, view, kept->source);
        done = is_settled(&kept->peak);
    }
    if (!done && may_look(peaks, view.sites->count, events)) {
        rank_all_sites(&kept->peak, view, kept->source);
        done = true;
    }
    if (!done)
        kept->peak.share_count = 0;
    add_rest(&kept->peak);
    kept->source = PEAK_SETTLED;
}

static void harvest_all(struct peaks *peaks, struct peaks_view view, enum peak_source source,
                        uint64_t events)
{
    for (size_t i = 0; i < peaks->count; i++)
        if (peaks->kept[i].source == source)
            harvest(peaks, view, &peaks->kept[i], events);
}

/* ---- The highest --------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Of equal ones the latest. */
static size_t lowest(const struct peaks *peaks)
{
    size_t lowest = 0;

    for (size_t i = 1; i < peaks->count; i++)
        if (peaks->kept[i].peak.bytes <= peaks->kept[lowest].peak.bytes)
            lowest = i;
    return lowest;
}

/* The valley behind it becomes one with that before it. */
static void remove_peak(struct peaks *peaks, size_t index)
{
    if (index)
        peaks->kept[index - 1].peak.valley_bytes =
            least(peaks->kept[index - 1].peak.valley_bytes, peaks->kept[index].peak.valley_bytes);
    peaks->count--;
    memmove(&peaks->kept[index], &peaks->kept[index + 1],
            (peaks->count - index) * sizeof(*peaks->kept));
}

/* The crest becomes one of the highest peaks, if it is one. */
static bool keep_crest(struct peaks *peaks, enum peak_source source)
{
    struct kept_peak *kept;

    if (peaks->count == PEAKS_MAX) {
        size_t last = lowest(peaks);
        if (peaks->crest_bytes <= peaks->kept[last].peak.bytes)
            return false;
        remove_peak(peaks, last);
    }
    kept = &peaks->kept[peaks->count++];
    kept->source = source;
    kept->peak.ticks = peaks->crest_ticks;
    kept->peak.bytes = kept->peak.rest_bytes = peaks->crest_bytes;
    kept->peak.valley_bytes = UINT64_MAX;
    kept->peak.share_count = 0;
    return true;
}

/* The valley so far belongs to the last peak that is kept. */
static void give_valley(struct peaks *peaks)
{
    struct peak *last = peaks->count ? &peaks->kept[peaks->count - 1].peak : NULL;

    if (last)
        last->valley_bytes = least(last->valley_bytes, peaks->valley_bytes);
}

/* No closed peak is as high as the crest: it is the program's peak so far. */
static enum peak_source source_of_crest(const struct peaks *peaks)
{
    return peaks->global_bytes == UINT64_MAX ? PEAK_AT_GLOBAL : PEAK_AT_CREST;
}

/* ---- Rise and fall ------------------------------------------------------------------------- */

/* level - level / PEAK_FALL, rounded down: as low as that is a fall of 1/PEAK_FALL. */
static uint64_t fallen(uint64_t level_bytes)
{
    return level_bytes - level_bytes / PEAK_FALL - (level_bytes % PEAK_FALL != 0);
}

/* The lowest level that a fall to `level_bytes` is 1/PEAK_FALL of. */
static uint64_t risen(uint64_t level_bytes)
{
    uint64_t part = level_bytes / (PEAK_FALL - 1) + (level_bytes % (PEAK_FALL - 1) != 0);

    return level_bytes + (part ? part : 1);
}

static void set_band(struct peaks *peaks)
{
    peaks->low = peaks->valley_bytes;
    peaks->span = (peaks->rising ? peaks->crest_bytes : peaks->turn_bytes - 1) - peaks->low;
}

static void raise_crest(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                        uint64_t now_ticks, uint64_t events)
{
    if (level_bytes > peaks->global_bytes) {
        harvest_all(peaks, view, PEAK_AT_GLOBAL, events);
        peaks->global_bytes = UINT64_MAX;
    }
    sites_crest(view.sites);
    peaks->crest_bytes = peaks->valley_bytes = level_bytes;
    peaks->crest_ticks = now_ticks;
    peaks->turn_bytes = fallen(level_bytes);
}

static void begin_rise(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                       uint64_t now_ticks, uint64_t events)
{
    if (peaks->crest_kept)
        harvest_all(peaks, view, PEAK_AT_CREST, events);
    peaks->crest_kept = false;
    give_valley(peaks);
    peaks->rising = true;
    raise_crest(peaks, view, level_bytes, now_ticks, events);
}

static void deepen_valley(struct peaks *peaks, uint64_t level_bytes)
{
    peaks->valley_bytes = level_bytes;
    if (!peaks->rising)
        peaks->turn_bytes = risen(level_bytes);
}

static void begin_fall(struct peaks *peaks, uint64_t level_bytes)
{
    enum peak_source source = source_of_crest(peaks);

    peaks->rising = false;
    if (source == PEAK_AT_GLOBAL)
        peaks->global_bytes = peaks->crest_bytes;
    peaks->crest_kept = keep_crest(peaks, source) && source == PEAK_AT_CREST;
    deepen_valley(peaks, level_bytes);
}

void peaks_turn(struct peaks *peaks, struct peaks_view view, uint64_t level_bytes,
                uint64_t now_ticks, uint64_t events)
{
    if (peaks->rising && level_bytes > peaks->crest_bytes)
        raise_crest(peaks, view, level_bytes, now_ticks, events);
    else if (peaks->rising && level_bytes <= peaks->turn_bytes)
        begin_fall(peaks, level_bytes);
    else if (!peaks->rising && level_bytes >= peaks->turn_bytes)
        begin_rise(peaks, view, level_bytes, now_ticks, events);
    else
        deepen_valley(peaks, level_bytes);
    set_band(peaks);
}

void peaks_init(struct peaks *peaks)
{
    *peaks = (struct peaks){.global_bytes = UINT64_MAX};
    deepen_valley(peaks, 0);
    set_band(peaks);
}

size_t peaks_list(const struct peaks *peaks, struct peaks_view view, struct peak *out)
{
    struct peaks now = *peaks;

    if (!now.rising || keep_crest(&now, source_of_crest(&now)))
        give_valley(&now);
    for (size_t i = 0; i < now.count; i++) {
        struct kept_peak *kept = &now.kept[i];
        if (kept->source != PEAK_SETTLED) {
            rank_all_sites(&kept->peak, view, kept->source);
            add_rest(&kept->peak);
        }
        out[i] = kept->peak;
    }
    return now.count;
}

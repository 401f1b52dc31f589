/* What made the peak, and other peaks that are made of something else: lowering the highest gains
 * no more than down to the next. A tool that takes snapshots misses those between two of them (MALT
 * paper, section 4.3). */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/facts.h"

#define PEAK_BYTES (64 << 10) /* smaller ones do not matter */
#define PEAK_SHARE 0.5
/* A spike: the peak is this many times what the program holds in half of its run. Of a level that
 * rises evenly to the end it is twice that. */
#define PEAK_SPIKE    3
#define SPIKE_BUCKETS 8

#define SECONDARY_SHARE 0.5 /* of the global peak */
#define SECONDARY_SAME  0.5 /* of its bytes are of the same call sites: not another peak */

/* ---- One site ------------------------------------------------------------------------------ */

static int rule_peaks_by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The median of the highest levels of the timeline's intervals; 0: not known. */
static uint64_t rule_peaks_usual_level(const struct profile *profile)
{
    uint64_t *levels = calloc(profile->bucket_count + 1, sizeof *levels), usual = 0;
    size_t count = 0;
    for (size_t i = 0; levels && i < profile->bucket_count; i++)
        if (figure_get(profile->buckets[i].requested.max, &levels[count]))
            count++;
    if (count >= SPIKE_BUCKETS) {
        qsort(levels, count, sizeof *levels, rule_peaks_by_value);
        usual = levels[count / 2];
    }
    free(levels);
    return usual;
}

/* Did the program give half of its peak back while it worked? */
static bool rule_peaks_level_fell(const struct inquiry *inquiry, uint64_t peak)
{
    const struct profile *profile = inquiry->profile;
    uint64_t peak_ns = rule_number(inquiry->total->peak_ticks), level;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        uint64_t ns = i * profile->bucket_ns;
        if (ns > peak_ns && inquiry_counts_at(inquiry, ns) &&
            figure_get(profile->buckets[i].requested.min, &level) && level <= peak / 2)
            return true;
    }
    return false;
}

/* How much can have been resident until then. Unknown where memory was swapped out. */
static struct figure rule_peaks_most_resident(const struct inquiry *inquiry, uint64_t ns)
{
    const struct profile *profile = inquiry->profile;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (figure_positive(profile->samples[i].swapped_bytes))
            return FIGURE_UNKNOWN;
    return facts_high_water(profile, ns);
}

/* What the kernel never saw resident was asked for, and not used: no lower peak wins any of it. Its
 * count lags behind by some pages a processor. */
static bool rule_peaks_is_no_memory(const struct inquiry *inquiry, uint64_t bytes, uint64_t ns,
                                    uint64_t *most)
{
    return figure_get(rule_peaks_most_resident(inquiry, ns), most) &&
           bytes > *most + *most / 8 + (1 << 20);
}

/* Resident bytes of files and of the tool: the least that a look found. */
static struct figure rule_peaks_other_resident(const struct profile *profile)
{
    struct figure least = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].has_ledger)
            least = figure_min(
                least, figure_add(profile->samples[i].file_bytes, profile->samples[i].tool_bytes));
    return least;
}

/* Can all of the peak have been resident? Blocks that were never wholly used are no spike of
 * memory. Files and the tool's own have a part of what was resident. */
static bool rule_peaks_can_be_memory(const struct inquiry *inquiry, uint64_t bytes)
{
    uint64_t ns = rule_number(inquiry->total->peak_ticks), most,
             others = rule_number(rule_peaks_other_resident(inquiry->profile));
    return !figure_get(rule_peaks_most_resident(inquiry, ns), &most) || bytes + others <= most;
}

/* Blocks that were asked for, and used in small part or not at all. */
static void rule_peaks_report_unused(struct inquiry *inquiry, const struct site *site,
                                     uint64_t most)
{
    uint64_t peak = rule_number(inquiry->total->peak_bytes),
             held = rule_number(site->metrics.at_peak_bytes);
    struct insight *insight = insight_begin(inquiry, held, peak, INSIGHT_BYTES);
    insight_at_most(insight, INSIGHT_INFO);
    insight_title(insight, "%s asks for %s, of which %s at most was memory",
                  inquiry_site_name(inquiry, site).text, human_bytes(held).text,
                  human_bytes(most).text);
    insight_add_bytes(insight, "at_peak_bytes", held);
    insight_add_count(insight, "at_peak_count", rule_number(site->metrics.at_peak_count));
    insight_add_bytes(insight, "peak_bytes", peak);
    insight_add_ns(insight, "peak_time", rule_number(inquiry->total->peak_ticks));
    insight_add_bytes(insight, "high_water_bytes", most);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(at_peak_bytes), INSIGHT_BYTES);
    insight->advice = "This peak was asked for and not used: it costs address space, and a lower "
                      "one wins no memory. tidemark report --of=resident has what was used.";
}

static void rule_peaks_report(struct inquiry *inquiry, const struct site *site)
{
    uint64_t peak = rule_number(inquiry->total->peak_bytes),
             usual = rule_peaks_usual_level(inquiry->profile);
    uint64_t held = rule_number(site->metrics.at_peak_bytes);
    bool spike = usual && peak / PEAK_SPIKE >= usual && rule_peaks_can_be_memory(inquiry, peak) &&
                 rule_peaks_level_fell(inquiry, peak);
    struct insight *insight = insight_begin(inquiry, held, peak, INSIGHT_BYTES);
    /* Something must hold the peak: that is a place to look at, and trouble only if it stands out
     * of what the program needs otherwise. */
    insight_at_most(insight, spike ? INSIGHT_NOTICE : INSIGHT_INFO);
    insight_leads_infos(insight);
    insight_title(insight, "%s holds %s of the peak, %s in %s",
                  inquiry_site_name(inquiry, site).text,
                  human_percent((double)held, (double)peak).text, human_bytes(held).text,
                  inquiry_human_blocks(rule_number(site->metrics.at_peak_count)).text);
    insight_add_bytes(insight, "at_peak_bytes", held);
    insight_add_count(insight, "at_peak_count", rule_number(site->metrics.at_peak_count));
    insight_add_bytes(insight, "peak_bytes", peak);
    insight_add_ns(insight, "peak_time", rule_number(inquiry->total->peak_ticks));
    insight_add_share(insight, "peak_share", insight->cost);
    if (usual)
        insight_add_bytes(insight, "usual_bytes", usual);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(at_peak_bytes), INSIGHT_BYTES);
    insight->advice =
        spike ? "The peak stands far above what the program needs most of the time: free sooner "
                "here, or work in smaller pieces, and the whole program needs less."
              : "To lower the peak, begin here: nothing else can lower it by as much.";
}

void rule_peak_one_site(struct inquiry *inquiry)
{
    if (rule_number(inquiry->total->peak_bytes) < PEAK_BYTES || rule_heap_is_small(inquiry))
        return;
    size_t before = inquiry->out->count;
    /* One at most, but in a damaged file, where sites may hold more than there is. */
    for (size_t i = 0; i < inquiry->site_count && inquiry->out->count == before; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t held = rule_number(site->metrics.at_peak_bytes), most;
        if ((double)held <= PEAK_SHARE * (double)rule_number_or_most(inquiry->total->peak_bytes))
            continue;
        if (!rule_peaks_is_no_memory(inquiry, held, rule_number(inquiry->total->peak_ticks), &most))
            rule_peaks_report(inquiry, site);
        else if (!rule_site_is_untouched(inquiry, site)) /* else rule_untouched() reports the
                                                            same blocks */
            rule_peaks_report_unused(inquiry, site, most);
    }
}

/* ---- Another peak -------------------------------------------------------------------------- */

static uint32_t rule_peaks_site_of_share(const struct inquiry *inquiry,
                                         const struct peak_share *share)
{
    return share->node < inquiry->profile->node_count ? inquiry->site_of_node[share->node]
                                                      : UINT32_MAX;
}

/* What site `site` holds at a peak, if the shares say so. */
static uint64_t rule_peaks_held_at(const struct inquiry *inquiry, const struct peak *peak,
                                   uint32_t site)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < peak->share_count; i++)
        if (rule_peaks_site_of_share(inquiry, &peak->shares[i]) == site)
            bytes += peak->shares[i].bytes;
    return bytes;
}

/* The site of share `i`, unless a share before it is of the same. */
static bool rule_peaks_next_site(const struct inquiry *inquiry, const struct peak *peak, size_t i,
                                 uint32_t *site)
{
    *site = rule_peaks_site_of_share(inquiry, &peak->shares[i]);
    for (size_t j = 0; j < i; j++)
        if (rule_peaks_site_of_share(inquiry, &peak->shares[j]) == *site)
            return false;
    return true;
}

/* Bytes of `peak` that the same sites hold in `other` too. What the shares do not list counts as
 * the same: only what is known to differ is called another peak. */
static uint64_t rule_peaks_common_bytes(const struct inquiry *inquiry, const struct peak *peak,
                                        const struct peak *other)
{
    uint64_t common = peak->rest_bytes;
    uint32_t site;
    for (size_t i = 0; i < peak->share_count; i++) {
        if (!rule_peaks_next_site(inquiry, peak, i, &site))
            continue;
        uint64_t here = rule_peaks_held_at(inquiry, peak, site),
                 there = rule_peaks_held_at(inquiry, other, site);
        common += here < there ? here : there;
    }
    return common;
}

static const struct peak *rule_peaks_highest(const struct profile *profile)
{
    const struct peak *highest = NULL;
    for (size_t i = 0; i < profile->peak_count; i++)
        if (!highest || profile->peaks[i].bytes > highest->bytes)
            highest = &profile->peaks[i];
    return highest;
}

static void rule_peaks_report_secondary(struct inquiry *inquiry, const struct peak *peak,
                                        const struct peak *highest, uint64_t common)
{
    uint32_t best = UINT32_MAX, site;
    uint64_t most = 0;
    for (size_t i = 0; i < peak->share_count; i++) {
        uint64_t bytes = rule_peaks_next_site(inquiry, peak, i, &site)
                             ? rule_peaks_held_at(inquiry, peak, site)
                             : 0;
        if (bytes > most) {
            most = bytes;
            best = site;
        }
    }
    struct insight *insight = insight_begin(inquiry, peak->bytes, highest->bytes, INSIGHT_BYTES);
    /* Where blocks are the smaller part of the program, their peaks are not the program's. */
    insight_at_most(insight, rule_heap_is_minor(inquiry) ? INSIGHT_INFO : INSIGHT_NOTICE);
    struct human bytes = human_bytes(peak->bytes), after = human_duration(peak->ticks);
    if (best == UINT32_MAX)
        insight_title(insight, "Another peak, of %s after %s, is made of other call sites",
                      bytes.text, after.text);
    else /* the name first: titles are cut at their ends */
        insight_title(
            insight, "%s has most of another peak, of %s after %s, made of other call sites",
            inquiry_site_name(inquiry, &inquiry->sites[best]).text, bytes.text, after.text);
    insight_add_bytes(insight, "secondary_peak_bytes", peak->bytes);
    insight_add_ns(insight, "secondary_peak_time", peak->ticks);
    insight_add_bytes(insight, "peak_bytes", highest->bytes);
    insight_add_ns(insight, "peak_time", highest->ticks);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_share(insight, "common_share", inquiry_share_of(common, peak->bytes));
    for (size_t i = 0; i < peak->share_count; i++)
        insight_add_path(inquiry, insight, peak->shares[i].node, peak->shares[i].bytes,
                         INSIGHT_BYTES);
    insight->advice = "Lowering the highest peak gains nothing below this one: look at both.";
}

void rule_secondary_peak(struct inquiry *inquiry)
{
    const struct peak *highest = rule_peaks_highest(inquiry->profile), *found = NULL;
    if (!highest && rule_number(inquiry->total->peak_bytes)) {
        inquiry_silent(inquiry, "not recorded: peaks other than the highest");
        return;
    }
    uint64_t found_common = 0, most;
    if (!highest || rule_heap_is_small(inquiry) ||
        rule_peaks_is_no_memory(inquiry, highest->bytes, highest->ticks, &most))
        return;
    for (size_t i = 0; i < inquiry->profile->peak_count; i++) {
        const struct peak *peak = &inquiry->profile->peaks[i];
        if (peak == highest || peak->bytes < PEAK_BYTES || !peak->share_count ||
            (double)peak->bytes < SECONDARY_SHARE * (double)highest->bytes ||
            (found && found->bytes >= peak->bytes))
            continue;
        uint64_t common = rule_peaks_common_bytes(inquiry, peak, highest);
        if ((double)common >= SECONDARY_SAME * (double)peak->bytes)
            continue;
        found = peak;
        found_common = common;
    }
    if (found)
        rule_peaks_report_secondary(inquiry, found, highest, found_common);
}

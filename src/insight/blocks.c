/* What blocks cost beyond what was asked for: many small ones, and rounding up. */
#include "insight/rule.h"

#include "present/facts.h"

/* Small: where an allocator's own bytes weigh. */
#define SMALL_BYTES  64
#define SMALL_BLOCKS 10000 /* at once: fewer are no matter */
#define SMALL_SHARE  0.05  /* of the peak: what is lost to them */
/* glibc keeps a size beside each block; other allocators that are known keep none. */
#define GLIBC_HEADER 8

#define WASTE_SHARE   0.20 /* of the bytes asked for */
#define WASTE_BYTES   (64 << 10)
#define ALIGNED_SHARE 0.5 /* of the blocks, for alignment to be the reason */

static uint64_t header_bytes(const struct profile *profile)
{
    return facts_allocator_is_libc(profile) ? GLIBC_HEADER : 0;
}

/* Of a site's blocks that were alive at the peak: what is known is the mean over all of them. */
static uint64_t slack_at_peak(const struct call_metrics *metrics)
{
    return whole_number((double)metrics->at_peak_count *
                        share_of(metrics->slack_bytes, blocks_of(metrics)));
}

bool site_is_small(const struct site *site)
{
    return blocks_of(&site->metrics) && mean_size(&site->metrics) <= SMALL_BYTES;
}

/* ---- Many small blocks --------------------------------------------------------------------- */

static void report_small(struct inquiry *inquiry, const struct candidate *candidate,
                         uint64_t header)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    struct insight *insight =
        insight_begin(inquiry, candidate->cost, inquiry->total->peak_bytes, INSIGHT_BYTES);
    insight_title(insight, "%s holds %s blocks of %s on average, and %s more to manage them",
                  site_name(inquiry, site).text, human_count(metrics->at_peak_count).text,
                  human_bytes(mean_size(metrics)).text, human_bytes(candidate->cost).text);
    insight_add_count(insight, "at_peak_count", metrics->at_peak_count);
    insight_add_bytes(insight, "at_peak_bytes", metrics->at_peak_bytes);
    insight_add_count(insight, "alloc_count", metrics->alloc_count);
    insight_add_bytes(insight, "mean_size", mean_size(metrics));
    insight_add_bytes(insight, "mean_slack",
                      whole_number(share_of(metrics->slack_bytes, blocks_of(metrics)) + 0.5));
    insight_add_bytes(insight, "header", header);
    insight_add_bytes(insight, "overhead", candidate->cost);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_AT(at_peak_count), INSIGHT_COUNT);
    insight->advice = "Keep these by value in an array or vector, or take them from a pool that "
                      "allocates many at a time.";
}

void ask_small_blocks(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    uint64_t header = header_bytes(inquiry->profile);
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t cost = slack_at_peak(&site->metrics) + site->metrics.at_peak_count * header;
        if (site_is_small(site) && site->metrics.at_peak_count >= SMALL_BLOCKS &&
            share_of(cost, inquiry->total->peak_bytes) >= SMALL_SHARE)
            candidates_add(&candidates, site, cost);
    }
    for (size_t i = 0; i < candidates.count; i++)
        report_small(inquiry, &candidates.top[i], header);
}

/* ---- Rounded up ---------------------------------------------------------------------------- */

static void report_waste(struct inquiry *inquiry, const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    bool aligned = (double)metrics->aligned_count >= ALIGNED_SHARE * (double)blocks_of(metrics);
    struct insight *insight =
        insight_begin(inquiry, candidate->cost, inquiry->total->peak_bytes, INSIGHT_BYTES);
    insight_title(insight, "%s loses %s at the peak because %s", site_name(inquiry, site).text,
                  human_bytes(candidate->cost).text,
                  aligned ? "its blocks are aligned" : "the allocator rounds its sizes up");
    insight_add_bytes(insight, "slack_at_peak", candidate->cost);
    insight_add_bytes(insight, "slack_bytes", metrics->slack_bytes);
    insight_add_share(insight, "slack_share", share_of(metrics->slack_bytes, bytes_of(metrics)));
    insight_add_bytes(insight, "mean_size", mean_size(metrics));
    insight_add_count(insight, "at_peak_count", metrics->at_peak_count);
    insight_add_count(insight, "aligned_count", metrics->aligned_count);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_AT(slack_bytes), INSIGHT_BYTES);
    insight->advice = aligned ? "Ask for the alignment that is needed and no more, or for one "
                                "aligned block that holds many."
                              : "Ask for sizes that the allocator serves exactly, or let the "
                                "container use what malloc_usable_size() says is there.";
}

void ask_size_waste(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t cost = slack_at_peak(&site->metrics);
        if (!site_is_small(site) && cost >= WASTE_BYTES &&
            share_of(site->metrics.slack_bytes, bytes_of(&site->metrics)) >= WASTE_SHARE)
            candidates_add(&candidates, site, cost);
    }
    for (size_t i = 0; i < candidates.count; i++)
        report_waste(inquiry, &candidates.top[i]);
}

/* Rules on what blocks cost beyond what was asked for. One looks for many small blocks, whose
 * headers weigh; the other for bytes that are lost because sizes are rounded up. */
#include "insights/rule.h"

#include "aggregate/facts.h"

/* Small: where an allocator's own bytes weigh. */
#define SMALL_BYTES  64
#define SMALL_BLOCKS 10000 /* at once: fewer are no matter */
#define SMALL_SHARE  0.05  /* of the peak: what is lost to them */
/* glibc keeps a size beside each block; other allocators that are known keep none. */
#define GLIBC_HEADER 8

#define WASTE_SHARE   0.20 /* of the bytes asked for */
#define WASTE_BYTES   (64 << 10)
#define ALIGNED_SHARE 0.5 /* of the blocks, for alignment to be the reason */
/* From this size on a block has pages of its own. Those behind what was asked for are never
 * touched, so they are no memory: a block loses less than a page. */
#define PAGES_BYTES (128 << 10)
#define PAGE_BYTES  4096

static uint64_t rule_blocks_header_bytes(const struct profile *profile)
{
    return facts_allocator_is_libc(profile) ? GLIBC_HEADER : 0;
}

/* Of a site's blocks that were alive at the peak: what is known is the mean over all of them. */
static uint64_t rule_blocks_slack_at_peak(const struct call_metrics *metrics)
{
    double each = inquiry_share_of(rule_number(metrics->slack_bytes), rule_blocks_of(metrics));
    if (rule_mean_size(metrics) >= PAGES_BYTES && each > PAGE_BYTES)
        each = PAGE_BYTES;
    return inquiry_whole_number((double)rule_number(metrics->at_peak_count) * each);
}

bool rule_site_is_small(const struct site *site)
{
    return rule_blocks_of(&site->metrics) && rule_mean_size(&site->metrics) <= SMALL_BYTES;
}

/* ---- Many small blocks --------------------------------------------------------------------- */

static void rule_blocks_report_small(struct inquiry *inquiry, const struct candidate *candidate,
                                     uint64_t header)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    struct insight *insight = rule_begin_of_heap(inquiry, candidate->cost);
    insight_title(insight, "%s holds %s blocks of %s on average, and %s more to manage them",
                  inquiry_site_name(inquiry, site).text,
                  human_count(rule_number(metrics->at_peak_count)).text,
                  human_bytes(rule_mean_size(metrics)).text, human_bytes(candidate->cost).text);
    insight_add_count(insight, "at_peak_count", rule_number(metrics->at_peak_count));
    insight_add_bytes(insight, "at_peak_bytes", rule_number(metrics->at_peak_bytes));
    insight_add_count(insight, "alloc_count", rule_number(metrics->alloc_count));
    insight_add_bytes(insight, "mean_size", rule_mean_size(metrics));
    insight_add_bytes(
        insight, "mean_slack",
        inquiry_whole_number(
            inquiry_share_of(rule_number(metrics->slack_bytes), rule_blocks_of(metrics)) + 0.5));
    insight_add_bytes(insight, "header", header);
    insight_add_bytes(insight, "overhead", candidate->cost);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(at_peak_count), INSIGHT_COUNT);
    insight->advice = "Keep these by value in an array or vector, or take them from a pool that "
                      "allocates many at a time.";
}

void rule_small_blocks(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    uint64_t header = rule_blocks_header_bytes(inquiry->profile);
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t cost = rule_blocks_slack_at_peak(&site->metrics) +
                        rule_number(site->metrics.at_peak_count) * header;
        if (rule_site_is_small(site) && rule_number(site->metrics.at_peak_count) >= SMALL_BLOCKS &&
            inquiry_share_of(cost, rule_number(inquiry->total->peak_bytes)) >= SMALL_SHARE)
            inquiry_candidates_add(&candidates, site, cost);
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_blocks_report_small(inquiry, &candidates.top[i], header);
}

/* ---- Rounded up ---------------------------------------------------------------------------- */

static void rule_blocks_report_waste(struct inquiry *inquiry, const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    bool aligned = (double)rule_number(metrics->aligned_count) >=
                   ALIGNED_SHARE * (double)rule_blocks_of(metrics);
    struct insight *insight = rule_begin_of_heap(inquiry, candidate->cost);
    insight_title(insight, "%s loses %s at the peak because %s",
                  inquiry_site_name(inquiry, site).text, human_bytes(candidate->cost).text,
                  aligned ? "its blocks are aligned" : "the allocator rounds its sizes up");
    insight_add_bytes(insight, "slack_at_peak", candidate->cost);
    insight_add_bytes(insight, "slack_bytes", rule_number(metrics->slack_bytes));
    insight_add_share(insight, "slack_share",
                      inquiry_share_of(rule_number(metrics->slack_bytes), rule_bytes_of(metrics)));
    insight_add_bytes(insight, "mean_size", rule_mean_size(metrics));
    insight_add_count(insight, "at_peak_count", rule_number(metrics->at_peak_count));
    insight_add_count(insight, "aligned_count", rule_number(metrics->aligned_count));
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(slack_bytes), INSIGHT_BYTES);
    insight->advice = aligned ? "Ask for the alignment that is needed and no more, or for one "
                                "aligned block that holds many."
                              : "Ask for sizes that the allocator serves exactly, or let the "
                                "container use what malloc_usable_size() says is there.";
}

void rule_size_waste(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t cost = rule_blocks_slack_at_peak(&site->metrics);
        if (!rule_site_is_small(site) && cost >= WASTE_BYTES &&
            inquiry_share_of(rule_number(site->metrics.slack_bytes),
                             rule_bytes_of(&site->metrics)) >= WASTE_SHARE)
            inquiry_candidates_add(&candidates, site, cost);
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_blocks_report_waste(inquiry, &candidates.top[i]);
}

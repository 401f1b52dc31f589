/* Lost blocks: nothing points to them any more, by the graph that the collector has made at the end
 * (engine/graph). Islands count for the function that asked for their heads. What was still
 * reachable is no leak by itself. */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/facts.h"

/* Fewer are said by `tidemark leaks` only. */
#define LOST_BYTES  (1 << 10)
#define LOST_BLOCKS 16
#define LOST_FEW    3

static void rule_lost_add_island(struct lost *lost, const struct profile_island *island)
{
    lost->bytes += island->bytes + island->indirect_bytes;
    lost->count += island->count + island->indirect_count;
    lost->island_count += island->count;
}

struct lost *rule_lost_by_site(const struct inquiry *inquiry)
{
    size_t count;
    const struct profile_island *islands = facts_islands(inquiry->profile, &count);
    struct lost *lost = calloc(inquiry->site_count + 1, sizeof *lost);
    for (size_t i = 0; i < count && lost; i++) {
        uint32_t site = inquiry->site_of_node[islands[i].path];
        if (site != UINT32_MAX)
            rule_lost_add_island(&lost[site], &islands[i]);
    }
    return lost;
}

struct lost rule_lost_of(const struct inquiry *inquiry, const struct site *site)
{
    return inquiry->lost[site - inquiry->sites];
}

static bool rule_lost_is_snapshot(const struct profile *profile, uint32_t id)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].id == id)
            return profile->samples[i].why == PROFILE_SAMPLE_MARK;
    return false;
}

/* Was half of it lost at a snapshot, while the program was at work? What is lost stays lost. */
static bool rule_lost_at_work(const struct inquiry *inquiry, const struct site *site,
                              uint64_t lost_bytes)
{
    const struct profile *profile = inquiry->profile;
    uint32_t number = (uint32_t)(site - inquiry->sites);
    uint64_t bytes = 0, most = 0;
    for (size_t i = 0; i < profile->island_count; i++) {
        const struct profile_island *island = &profile->islands[i];
        if (i && island->sample != island[-1].sample)
            bytes = 0;
        if (inquiry->site_of_node[island->path] == number &&
            rule_lost_is_snapshot(profile, island->sample))
            bytes += island->bytes + island->indirect_bytes;
        most = bytes > most ? bytes : most;
    }
    return most && most >= lost_bytes / 2;
}

static void rule_lost_add_paths(struct inquiry *inquiry, struct insight *insight,
                                const struct site *site)
{
    size_t count;
    const struct profile_island *islands = facts_islands(inquiry->profile, &count);
    uint32_t number = (uint32_t)(site - inquiry->sites);
    struct inquiry_top_paths top = {.count = 0};
    for (size_t i = 0; i < count; i++)
        if (inquiry->site_of_node[islands[i].path] == number)
            inquiry_top_paths_add(&top, islands[i].path,
                                  islands[i].bytes + islands[i].indirect_bytes);
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static void rule_lost_report(struct inquiry *inquiry, const struct site *site,
                             const struct candidates *all)
{
    struct lost lost = rule_lost_of(inquiry, site);
    struct insight *insight =
        insight_begin(inquiry, lost.bytes, rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    /* A lost block is never kept on purpose, and the loss goes on as long as the program runs. */
    if (insight->severity < INSIGHT_SEVERE && lost.count >= LOST_BLOCKS && lost.bytes >= LOST_BYTES)
        insight->severity++;
    /* A few that are lost at the end only are often what main() held. */
    bool at_end = lost.island_count < LOST_BLOCKS && !rule_lost_at_work(inquiry, site, lost.bytes);
    if (at_end)
        insight_at_most(insight, lost.count <= LOST_FEW ? INSIGHT_INFO : INSIGHT_NOTICE);
    if (at_end && lost.count <= LOST_FEW)
        insight->rank = RANK_HINT;
    insight_title(insight, "%s loses %s in %s: nothing points to %s any more",
                  inquiry_site_name(inquiry, site).text, human_bytes(lost.bytes).text,
                  inquiry_human_blocks(lost.count).text, lost.count == 1 ? "it" : "them");
    insight_add_bytes(insight, "lost_bytes", lost.bytes);
    insight_add_count(insight, "lost_count", lost.count);
    insight_add_count(insight, "islands", lost.island_count);
    insight_add_share(insight, "peak_share", insight->cost);
    if (all->found > CANDIDATES)
        insight_add_count(insight, "further_sites", all->found - CANDIDATES);
    rule_lost_add_paths(inquiry, insight, site);
    insight->advice = "Free these blocks before the last pointer to them goes: it does where this "
                      "function's result, or what holds it, is overwritten or goes out of scope.";
}

void rule_leak_lost(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    if (!facts_graph_sample(inquiry->profile)) {
        inquiry_silent(inquiry,
                       "not known: which blocks nothing points to (tidemark leaks says why)");
        return;
    }
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (inquiry->lost[i].bytes >= LOST_BYTES || inquiry->lost[i].count >= LOST_BLOCKS)
            inquiry_candidates_add(&candidates, &inquiry->sites[i], inquiry->lost[i].bytes);
    for (size_t i = 0; i < candidates.count; i++)
        rule_lost_report(inquiry, candidates.top[i].site, &candidates);
}

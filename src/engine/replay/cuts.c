/* Births, ends and peaks of a label's cuts (regions.h). Each function does to every cut of the
 * label what life.h does to the site. */
#include "replay/life.h"

void cuts_crest(struct replay *replay, uint32_t label)
{
    for
        EACH_CUT(replay, label)
    if (!site_is_quiet(&replay->regions.cuts, cut.site)) /* cuts have no curves */
        site_crest(&replay->regions.cuts, cut.site, 0, UINT64_MAX, replay->last_ticks);
}

void cuts_end_life(struct replay *replay, uint32_t label, struct weight weight, uint64_t lifetime,
                   uint64_t lifetime_sum)
{
    struct sites *cuts = &replay->regions.cuts;

    for
        EACH_CUT(replay, label)
        {
            site_ended(cuts, cut.site, weight, lifetime, lifetime_sum);
            cut.region->live_bytes -= weight.bytes;
            if (cuts->samples)
                cuts->samples[cut.site].live_variance -= weight.variance;
        }
}

static void cuts_reallocate(struct site_rare *rare, struct weight weight, struct birth birth)
{
    rare->realloc_count += weight.count;
    rare->realloc_bytes += weight.bytes;
    rare->realloc_moved += birth.moved ? weight.count : 0;
}

void cuts_begin_life(struct replay *replay, uint32_t label, struct weight weight,
                     struct birth birth)
{
    struct sites *cuts = &replay->regions.cuts;

    for
        EACH_CUT(replay, label)
        {
            if (birth.reallocated)
                cuts_reallocate(site_rare(cuts, cut.site), weight, birth);
            life_count_rarely(cuts, cut.site, weight, birth.size_bytes, birth.aligned);
            site_born(cuts, cut.site, birth.size_bytes, weight);
            region_grew(cut.region, weight.bytes, replay->last_ticks);
            if (cuts->samples) {
                cuts->samples[cut.site].count++;
                cuts->samples[cut.site].alloc_variance += birth.reallocated ? 0 : weight.variance;
                cuts->samples[cut.site].live_variance += weight.variance;
            }
        }
}

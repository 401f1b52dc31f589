/* What happens to the cuts of a label (regions.h). */
#include "replay/life.h"

void cuts_crest(struct replay *replay, uint32_t label)
{
    for EACH_CUT(replay, label)
        site_crest(&replay->regions.cuts, cut.site, replay->last_ticks);
}

void cuts_end_life(struct replay *replay, uint32_t label, struct weight weight, uint64_t lifetime,
                   uint64_t lifetime_sum)
{
    struct sites *cuts = &replay->regions.cuts;

    for EACH_CUT(replay, label) {
        site_ended(cuts, cut.site, weight, lifetime, lifetime_sum);
        cut.region->live_bytes -= weight.bytes;
        if (cuts->samples)
            cuts->samples[cut.site].live_variance -= weight.variance;
    }
}

void cuts_begin_life(struct replay *replay, uint32_t label, struct weight weight,
                     struct birth birth)
{
    struct sites *cuts = &replay->regions.cuts;

    for EACH_CUT(replay, label) {
        struct site_cold *cold = &cuts->cold[cut.site];
        cold->realloc_count += birth.reallocated ? weight.count : 0;
        cold->realloc_bytes += birth.reallocated ? weight.bytes : 0;
        cold->realloc_moved += birth.moved ? weight.count : 0;
        cold->aligned_count += birth.aligned ? weight.count : 0;
        cold->zero_count += birth.size_bytes == 0 ? weight.count : 0;
        site_born(cuts, cut.site, birth.size_bytes, weight);
        region_grew(cut.region, weight.bytes, replay->last_ticks);
        if (cuts->samples) {
            cuts->samples[cut.site].count++;
            cuts->samples[cut.site].alloc_variance += birth.reallocated ? 0 : weight.variance;
            cuts->samples[cut.site].live_variance += weight.variance;
        }
    }
}

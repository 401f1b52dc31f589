/* What the profile itself lacks, so that all else is to be read with care. */
#include "insight/rule.h"

#include "present/facts.h"

#define UNWALKABLE_SHARE 0.01 /* of the call paths that allocate */
/* "sample_bytes": only a sample of the allocations was recorded, the rest is estimated. */
#define META_SAMPLE "sample_bytes"

/* A part of the events, or of the paths: whichever is worse. */
static double lost_share(const struct inquiry *inquiry, uint64_t lost, uint64_t unattributed)
{
    uint64_t events = inquiry->profile->program.events;
    double missing = share_of(lost, events + lost), nameless = share_of(unattributed, events);
    return missing > nameless ? missing : nameless;
}

static void title_loss(struct insight *insight, const struct profile *profile, uint64_t lost,
                       double share)
{
    if (profile->damage)
        insight_title(insight, "The profile is damaged: %s", profile->damage);
    else if (lost)
        insight_title(insight, "%s events were not recorded (%s): counts are lower bounds",
                      human_exact(lost).text, human_percent(share, 1).text);
    else
        insight_title(insight, "Parts of the recording are not to be relied on");
}

void ask_loss(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    const struct program_metrics *program = &profile->program;
    uint64_t rings = facts_number(profile, PROFILE_META_DAMAGED);
    uint64_t unattributed = facts_number(profile, PROFILE_META_UNATTRIBUTED);
    uint64_t unwalkable = facts_number(profile, PROFILE_META_UNWALKABLE);
    uint64_t sample = facts_number(profile, META_SAMPLE);
    bool badly_walked = share_of(unwalkable, profile->site_count) >= UNWALKABLE_SHARE;
    if (!profile->damage && !program->lost_events && !program->malformed_events && !rings &&
        !unattributed && !program->replaced_blocks && !sample && !badly_walked)
        return;
    double share = lost_share(inquiry, program->lost_events, unattributed);
    struct insight *insight = insight_begin(inquiry, program->lost_events + unattributed,
                                            program->events + program->lost_events, INSIGHT_COUNT);
    insight->cost = share;
    if (profile->damage || rings || program->malformed_events)
        insight_at_least(insight, INSIGHT_WARNING);
    else if (program->lost_events)
        insight_at_least(insight, INSIGHT_NOTICE);
    title_loss(insight, profile, program->lost_events, share);
    insight_add_count(insight, "lost_events", program->lost_events);
    insight_add_count(insight, "unattributed", unattributed);
    insight_add_count(insight, "unwalkable", unwalkable);
    insight_add_count(insight, "replaced_blocks", program->replaced_blocks);
    insight_add_count(insight, "malformed_events", program->malformed_events);
    insight_add_count(insight, "damaged_rings", rings);
    insight_add_count(insight, "events", program->events);
    if (sample)
        insight_add_bytes(insight, META_SAMPLE, sample);
    insight->advice = "Read all other findings with care. Lost events: record with --on-full=wait "
                      "or a larger --ring; call paths cut short: install unwind or debug "
                      "information, or record with --stacks=fp.";
}

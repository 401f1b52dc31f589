/* The rule on what the profile itself lacks. It looks at events that were lost, call paths that
 * could not be walked and allocators that were not seen. Its insight says that all else is to be
 * read with care. */
#include "insights/rule.h"

#include "aggregate/facts.h"
#include "aggregate/unwalked.h"

#define UNWALKABLE_SHARE 0.01 /* of the call paths that allocate, or of the allocations */
/* "sample_bytes": only a sample of the allocations was recorded, the rest is estimated. */
#define META_SAMPLE "sample_bytes"

struct losses {
    uint64_t lost, malformed, rings, unattributed, replaced, unwalkable, sample_bytes, unseen;
};

static void rule_loss_title_unseen(struct insight *insight, const struct profile *profile)
{
    struct strbuf title = STRBUF_INIT;
    facts_add_unseen(&title, profile);
    insight_title(insight, "Counts are lower bounds, %s", title.data);
    strbuf_release(&title);
}

/* The title names the worst loss. */
static void rule_loss_title(struct insight *insight, const struct profile *profile,
                            const struct losses *losses)
{
    if (profile->damage)
        insight_title(insight, "The profile is damaged: %s", profile->damage);
    else if (losses->unseen)
        rule_loss_title_unseen(insight, profile);
    else if (losses->lost)
        insight_title(insight, "%s events were not recorded (%s): counts are lower bounds",
                      human_exact(losses->lost).text, human_percent(insight->cost, 1).text);
    else if (losses->rings || losses->malformed)
        insight_title(insight, "The program overwrote what was recorded: %s records make no sense",
                      human_exact(losses->malformed).text);
    else if (losses->unattributed)
        insight_title(insight, "%s events have no call path",
                      human_exact(losses->unattributed).text);
    else if (losses->replaced)
        insight_title(insight, "Frees were missed: %s allocation%s came where a block was alive",
                      human_exact(losses->replaced).text, losses->replaced == 1 ? "" : "s");
    else if (profile->pages)
        insight_title(insight,
                      "Only large blocks and one smaller one for each %s or more were recorded: "
                      "figures are estimates",
                      human_bytes(losses->sample_bytes).text);
    else if (losses->sample_bytes && profile_get(profile, PROFILE_META_SAMPLE_WHY))
        insight_title(insight,
                      "Recording went on by samples, one allocation in %s, %s: figures are "
                      "estimates",
                      human_bytes(losses->sample_bytes).text,
                      profile_get(profile, PROFILE_META_SAMPLE_WHY));
    else if (losses->sample_bytes)
        insight_title(insight,
                      "Only a sample was recorded, one allocation in %s: counts are "
                      "estimates",
                      human_bytes(losses->sample_bytes).text);
    else
        insight_title(insight, "%s call path%s could not be walked to %s",
                      human_exact(losses->unwalkable).text, losses->unwalkable == 1 ? "" : "s",
                      losses->unwalkable == 1 ? "its end" : "their ends");
}

static uint64_t rule_loss_count_unseen(const struct profile *profile)
{
    struct facts_unseen unseen;
    uint64_t count = 0;
    for (const char *at = NULL; facts_next_unseen(profile, &at, &unseen); count++)
        facts_release_unseen(&unseen);
    return count + (facts_mapped_unseen(profile) > 0);
}

static struct losses rule_loss_of(const struct profile *profile)
{
    const struct program_metrics *program = &profile->program;
    bool changed = profile_get(profile, PROFILE_META_SAMPLE_CHANGES);
    return (struct losses){
        .lost = program->lost_events,
        .unseen = rule_loss_count_unseen(profile),
        .malformed = program->malformed_events,
        .rings = facts_number(profile, PROFILE_META_DAMAGED),
        .unattributed = facts_number(profile, PROFILE_META_UNATTRIBUTED),
        .replaced = program->replaced_blocks,
        .unwalkable = facts_number(profile, PROFILE_META_UNWALKABLE),
        .sample_bytes = changed ? facts_sample_bytes(profile) : facts_number(profile, META_SAMPLE),
    };
}

static bool rule_loss_badly_walked(const struct profile *profile, uint64_t *unwalkable)
{
    struct unwalked unwalked;
    unwalked_find(&unwalked, profile);
    *unwalkable -= *unwalkable < unwalked.beginnings ? *unwalkable : unwalked.beginnings;
    double part = figure_double(unwalked.all.alloc_count);
    double all = profile->has_program ? figure_double(profile->program.total.alloc_count) : NAN;
    unwalked_release(&unwalked);
    return inquiry_share_of(*unwalkable, profile->site_count) >= UNWALKABLE_SHARE ||
           (all > 0 && part / all >= UNWALKABLE_SHARE);
}

/* Are replaced blocks the only loss? */
static bool rule_loss_replaced_only(const struct losses *losses, const struct profile *profile)
{
    return losses->replaced && !profile->damage && !losses->lost && !losses->malformed &&
           !losses->rings && !losses->unattributed && !losses->sample_bytes &&
           !losses->unwalkable && !losses->unseen;
}

void rule_loss(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct losses losses = rule_loss_of(profile);
    uint64_t events = profile->program.events;
    bool badly_walked = rule_loss_badly_walked(profile, &losses.unwalkable);
    if (!profile->damage && !losses.unseen && !losses.lost && !losses.malformed && !losses.rings &&
        !losses.unattributed && !losses.replaced && !losses.sample_bytes && !badly_walked)
        return;
    uint64_t missing = losses.lost + losses.unattributed;
    struct insight *insight = insight_begin(inquiry, missing, events + losses.lost, INSIGHT_COUNT);
    if (profile->damage || losses.rings || losses.malformed || losses.unseen)
        insight_at_least(insight, INSIGHT_WARNING);
    else if (losses.lost)
        insight_at_least(insight, INSIGHT_NOTICE);
    rule_loss_title(insight, profile, &losses);
    insight_add_count(insight, "lost_events", losses.lost);
    insight_add_count(insight, "unattributed", losses.unattributed);
    insight_add_count(insight, "unwalkable", losses.unwalkable);
    insight_add_count(insight, "replaced_blocks", losses.replaced);
    insight_add_count(insight, "malformed_events", losses.malformed);
    insight_add_count(insight, "damaged_rings", losses.rings);
    if (losses.unseen)
        insight_add_count(insight, "unseen_allocators", losses.unseen);
    insight_add_count(insight, "events", events);
    if (losses.sample_bytes)
        insight_add_bytes(insight, META_SAMPLE, losses.sample_bytes);
    if (rule_loss_replaced_only(&losses, profile)) {
        insight->advice =
            "The blocks before count as freed only then, too late. Who freed them went past the "
            "recorder: a module that is loaded by dlmopen, or with RTLD_DEEPBIND along a RUNPATH, "
            "or that asks dlsym for the C library's own free.";
        return;
    }
    if (losses.unseen) {
        insight->advice = "Read all other findings with care: what this allocator holds is in no "
                          "figure but the resident memory. Have the program use the C library's "
                          "malloc for the recording, or link the allocator as a library.";
        return;
    }
    insight->advice = "Read all other findings with care. Lost events: record with --on-full=wait "
                      "or a larger --ring; call paths cut short: the report's head says "
                      "where and why; code made at run time can often be told to keep frame "
                      "pointers.";
}

/* Pages that hold nothing of their own: zeros that were written, and copies of other pages. Only
 * where a look has read the pages, which is asked for. */
#include "insights/rule.h"

#include "aggregate/facts.h"

#define EMPTY_BYTES (4 << 20)
#define EMPTY_SHARE 0.1 /* of what was read */

struct empty {
    uint64_t resident, zero, copy, compressible; /* of blocks and mappings by call path */
    uint64_t read;                               /* of all owners */
    struct inquiry_top_paths top;
};

static uint64_t rule_content_empty_bytes(const struct empty *empty)
{
    return empty->zero + empty->copy;
}

static void rule_content_add(struct empty *empty, const struct profile_owner *owner)
{
    if (!figure_known(owner->copy_bytes))
        return;
    empty->read += rule_number(owner->resident_bytes);
    if (!owner->path || owner->kind > PROFILE_OWNER_MAPPING) /* free memory has no owner */
        return;
    empty->resident += rule_number(owner->resident_bytes);
    empty->zero += rule_number(owner->zero_bytes);
    empty->copy += rule_number(owner->copy_bytes);
    empty->compressible += rule_number(owner->compressible_bytes);
    inquiry_top_paths_add(&empty->top, owner->path,
                          rule_number(figure_add(owner->zero_bytes, owner->copy_bytes)));
}

static void rule_content_report(struct inquiry *inquiry, const struct empty *empty)
{
    uint32_t site = inquiry->site_of_node[empty->top.nodes[0]];
    struct insight *insight =
        insight_begin(inquiry, rule_content_empty_bytes(empty), empty->read, INSIGHT_BYTES);
    insight_title(insight, "%s of the pages hold nothing of their own%s%s",
                  human_bytes(rule_content_empty_bytes(empty)).text,
                  site == UINT32_MAX ? "" : ", most of them of ",
                  site == UINT32_MAX ? "" : inquiry_site_name(inquiry, &inquiry->sites[site]).text);
    insight_add_bytes(insight, "zero_bytes", empty->zero);
    insight_add_bytes(insight, "copy_bytes", empty->copy);
    insight_add_bytes(insight, "compressible_bytes", empty->compressible);
    insight_add_bytes(insight, "resident_bytes", empty->resident);
    insight_add_share(insight, "read_share", insight->cost);
    insight_add_top(inquiry, insight, &empty->top, INSIGHT_BYTES);
    insight->advice =
        empty->zero >= empty->copy
            ? "Pages of zeros need no memory until something else is written: take them from "
              "calloc, which writes none into fresh memory, and make such arrays as large as "
              "what is in them."
            : "Share one copy, or make it when it is first changed. Where copies come of many "
              "owners, madvise(MADV_MERGEABLE) has the kernel join them (KSM).";
}

void rule_content(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    const struct profile_sample *sample = facts_content_sample(profile);
    struct empty empty = {0};
    if (!sample) {
        inquiry_silent(inquiry, "not recorded: what pages hold (record --page-content)");
        return;
    }
    for (size_t i = 0; i < profile->owner_count; i++)
        if (profile->owners[i].sample == sample->id)
            rule_content_add(&empty, &profile->owners[i]);
    uint64_t bytes = rule_content_empty_bytes(&empty);
    if (bytes >= EMPTY_BYTES && inquiry_share_of(bytes, empty.read) >= EMPTY_SHARE)
        rule_content_report(inquiry, &empty);
}

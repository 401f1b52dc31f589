/* Metrics of call paths that no file keeps, made of what the looks at the process found: the rows
 * of metrics.def that say LOOKS. They are of one look, that with most resident. */
#include <stdlib.h>
#include "profile/profile.h"
#include "base/search.h"
#include "profile/profile_reading.h"

struct looks_sites {
    struct profile_site *sites;
    size_t count;
    int kind; /* of their memory: enum profile_owner_kind */
};

/* Every path with memory of that kind has a row, unless rows were left out: these are one, of no
 * path. Without a look nothing is known. */
static bool profile_looks_has_all(const struct profile_owner *owners, size_t count, int kind)
{
    for (size_t i = 0; i < count; i++)
        if (owners[i].kind == kind && !owners[i].path)
            return false;
    return count > 0;
}

static struct profile_site *profile_looks_site_of(const struct looks_sites *of, uint32_t path)
{
    size_t first = 0;
    SEARCH_FIRST(first, of->count, at, of->sites[at].path < path);
    return first < of->count && of->sites[first].path == path ? &of->sites[first] : NULL;
}

static void profile_looks_fill(const struct looks_sites *of, const struct profile_owner *owners,
                               size_t count, struct call_metrics *total)
{
    bool has_all = profile_looks_has_all(owners, count, of->kind);
    total->resident_bytes = count ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; i < of->count; i++)
        of->sites[i].metrics.resident_bytes = has_all ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        if (owners[i].kind != of->kind)
            continue;
        struct profile_site *site = profile_looks_site_of(of, owners[i].path);
        struct figure bytes = owners[i].resident_bytes;
        total->resident_bytes = figure_add(total->resident_bytes, bytes);
        if (site && owners[i].path)
            site->metrics.resident_bytes =
                figure_add(figure_known(site->metrics.resident_bytes) ? site->metrics.resident_bytes
                                                                      : figure_of(0),
                           bytes);
    }
}

void profile_reading_looks(struct profile *profile)
{
    size_t first, count;
    if (profile->sample_bytes || !profile_owners_sample(profile, &first, &count))
        first = count = 0;
    const struct profile_owner *owners = count ? profile->owners + first : NULL;
    const struct looks_sites heap = {profile->sites, profile->site_count, PROFILE_OWNER_BLOCKS};
    const struct looks_sites mapped = {profile->mapped_sites, profile->mapped_site_count,
                                       PROFILE_OWNER_MAPPING};
    profile_looks_fill(&heap, owners, count, &profile->program.total);
    profile_looks_fill(&mapped, owners, count, &profile->program.mapped);
    for (size_t i = 0; i < profile->region_site_count; i++)
        profile->region_sites[i].metrics.resident_bytes = FIGURE_UNKNOWN;
}

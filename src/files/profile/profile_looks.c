/* Metrics of call paths that no file keeps, made of what the looks at the process found: the rows
 * of metrics.def that say LOOKS. They are of one look, that with most resident. */
#include <stdlib.h>
#include "profile/profile.h"
#include "base/search.h"
#include "profile/profile_reading.h"
#include "profile/site_columns.h"

/* The call paths of the heap, or of mappings. */
struct looks_sites {
    const struct profile *profile;
    int kind;                /* of their memory: enum profile_owner_kind */
    struct figure *resident; /* by index of those sites */
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

static size_t profile_looks_count(const struct looks_sites *of)
{
    return of->kind == PROFILE_OWNER_BLOCKS ? of->profile->site_count
                                            : of->profile->mapped_site_count;
}

static uint32_t profile_looks_path(const struct looks_sites *of, size_t site)
{
    return of->kind == PROFILE_OWNER_BLOCKS ? profile_site_path(of->profile, site)
                                            : of->profile->mapped_sites[site].path;
}

/* What is resident of the path's site; NULL: it has none. */
static struct figure *profile_looks_site_of(const struct looks_sites *of, uint32_t path)
{
    size_t first = 0, count = profile_looks_count(of);
    SEARCH_FIRST(first, count, at, profile_looks_path(of, at) < path);
    return first < count && profile_looks_path(of, first) == path ? &of->resident[first] : NULL;
}

static void profile_looks_fill(const struct looks_sites *of, const struct profile_owner *owners,
                               size_t count, struct call_metrics *total)
{
    bool has_all = profile_looks_has_all(owners, count, of->kind);
    total->resident_bytes = count ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile_looks_count(of); i++)
        of->resident[i] = has_all ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        if (owners[i].kind != of->kind)
            continue;
        struct figure *site = profile_looks_site_of(of, owners[i].path);
        struct figure bytes = owners[i].resident_bytes;
        total->resident_bytes = figure_add(total->resident_bytes, bytes);
        if (site && owners[i].path)
            *site = figure_add(figure_known(*site) ? *site : figure_of(0), bytes);
    }
}

/* Columns where the reader made columns, rows of mappings. */
static bool profile_looks_keep(struct profile *profile, const struct looks_sites *of)
{
    const struct metric_row *row = METRIC_ROW(resident_bytes);
    if (of->kind == PROFILE_OWNER_BLOCKS)
        return !profile->site_columns ||
               site_columns_replace(&profile->site_columns->metrics[row - metric_rows],
                                    of->resident, profile->site_count);
    for (size_t i = 0; i < profile->mapped_site_count; i++)
        profile->mapped_sites[i].metrics.resident_bytes = of->resident[i];
    return true;
}

static bool profile_looks_take(struct profile *profile, int kind,
                               const struct profile_owner *owners, size_t count,
                               struct call_metrics *total)
{
    struct looks_sites of = {profile, kind, NULL};
    of.resident = malloc((profile_looks_count(&of) + 1) * sizeof *of.resident);
    if (!of.resident)
        return false;
    profile_looks_fill(&of, owners, count, total);
    bool is_kept = profile_looks_keep(profile, &of);
    free(of.resident);
    return is_kept;
}

bool profile_reading_looks(struct profile *profile)
{
    size_t first, count;
    if (profile->sample_bytes || !profile_owners_sample(profile, &first, &count))
        first = count = 0;
    const struct profile_owner *owners = count ? profile->owners + first : NULL;
    for (size_t i = 0; i < profile->region_site_count; i++)
        profile->region_sites[i].metrics.resident_bytes = FIGURE_UNKNOWN;
    return profile_looks_take(profile, PROFILE_OWNER_BLOCKS, owners, count,
                              &profile->program.total) &&
           profile_looks_take(profile, PROFILE_OWNER_MAPPING, owners, count,
                              &profile->program.mapped);
}

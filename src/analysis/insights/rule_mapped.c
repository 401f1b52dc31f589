/* Mappings that a function makes all through the run and does not unmap: a leak that no allocator
 * sees. By the curves of what is mapped, with the same test of growth as for blocks. Garbage
 * collectors map their heaps so too, which is why a finding is a notice at most. */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/facts.h"

#define MAPPED_BYTES    (1 << 20)
#define MAPPED_MAPPINGS 16

/* A function whose mappings grow: the sum of its call paths that grow. */
struct mapper {
    uint64_t key; /* of the frame */
    struct frame frame;
    uint64_t bytes, count, made, until_ns;
    double rise; /* of the largest path */
    uint64_t largest_bytes;
};

static const struct curve *rule_mapped_curve_of(const struct profile *profile, uint32_t node)
{
    for (size_t i = 0; i < profile->mapped_curve_count; i++)
        if (profile->mapped_curves[i].node == node)
            return &profile->mapped_curves[i];
    return NULL;
}

static bool rule_mapped_grows(const struct inquiry *inquiry, const struct profile_site *path,
                              double *rise)
{
    return rule_number(path->metrics.live_count) >= MAPPED_MAPPINGS &&
           rule_path_grows_to_the_end(inquiry, &path->metrics,
                                      rule_mapped_curve_of(inquiry->profile, path->path), rise);
}

static struct frame rule_mapped_frame(const struct inquiry *inquiry, uint32_t node)
{
    struct frame_walk walk;
    return frame_walk_begin(&walk, inquiry->profile, inquiry->hidden, node);
}

static void rule_mapped_add(const struct inquiry *inquiry, struct mapper *mappers, size_t *count,
                            const struct profile_site *path)
{
    double rise;
    if (!rule_mapped_grows(inquiry, path, &rise))
        return;
    struct frame frame = rule_mapped_frame(inquiry, path->path);
    uint64_t key = frame_key(inquiry->profile, frame),
             bytes = rule_number(path->metrics.live_bytes);
    size_t at = 0;
    while (at < *count && mappers[at].key != key)
        at++;
    if (at == *count)
        mappers[(*count)++] = (struct mapper){.key = key, .frame = frame};
    uint64_t until_ns = rule_curve_high_ns(rule_mapped_curve_of(inquiry->profile, path->path));
    if (until_ns > mappers[at].until_ns)
        mappers[at].until_ns = until_ns;
    mappers[at].bytes += bytes;
    mappers[at].count += rule_number(path->metrics.live_count);
    mappers[at].made += rule_blocks_of(&path->metrics);
    if (bytes > mappers[at].largest_bytes) {
        mappers[at].largest_bytes = bytes;
        mappers[at].rise = rise;
    }
}

static int rule_mapped_by_bytes(const void *a, const void *b)
{
    const struct mapper *left = a, *right = b;
    return left->bytes < right->bytes ? 1 : left->bytes > right->bytes ? -1 : 0;
}

static void rule_mapped_add_paths(const struct inquiry *inquiry, struct insight *insight,
                                  const struct mapper *mapper)
{
    struct inquiry_top_paths top = {0};
    for (size_t i = 0; i < inquiry->profile->mapped_site_count; i++) {
        const struct profile_site *path = &inquiry->profile->mapped_sites[i];
        struct frame frame = rule_mapped_frame(inquiry, path->path);
        if (frame_key(inquiry->profile, frame) == mapper->key)
            inquiry_top_paths_add(&top, path->path, rule_number(path->metrics.live_bytes));
    }
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static void rule_mapped_report(struct inquiry *inquiry, const struct mapper *mapper)
{
    const struct site site = {.frame = mapper->frame};
    struct insight *insight =
        insight_begin(inquiry, mapper->bytes,
                      rule_number(inquiry->profile->program.mapped.peak_bytes), INSIGHT_BYTES);
    struct strbuf when = STRBUF_INIT;
    rule_add_growth(&when, inquiry, mapper->until_ns);
    if (rule_growth_is_a_part(inquiry, mapper->until_ns))
        insight_at_most(insight, INSIGHT_NOTICE);
    insight_title(
        insight, "%s maps more %s: %s in %s mappings %s", inquiry_site_name(inquiry, &site).text,
        when.data, human_bytes(mapper->bytes).text, human_exact(mapper->count).text,
        facts_is_whole_run(inquiry->profile) ? "are never unmapped" : "are not unmapped so far");
    strbuf_release(&when);
    insight_add_bytes(insight, "live_bytes", mapper->bytes);
    insight_add_count(insight, "live_count", mapper->count);
    insight_add_count(insight, "map_count", mapper->made);
    insight_add_share(insight, "mapped_share", insight->cost);
    insight_add_ratio(insight, "rise", mapper->rise);
    rule_mapped_add_paths(inquiry, insight, mapper);
    insight->advice =
        "Find who should unmap these. A heap of the program's own, which maps more as "
        "it needs more, looks the same.";
}

void rule_mapping_growth(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    size_t count = 0;
    if (!profile->mapped_site_count)
        return;
    struct mapper *mappers = calloc(profile->mapped_site_count, sizeof *mappers);
    for (size_t i = 0; mappers && i < profile->mapped_site_count; i++)
        rule_mapped_add(inquiry, mappers, &count, &profile->mapped_sites[i]);
    if (mappers)
        qsort(mappers, count, sizeof *mappers, rule_mapped_by_bytes);
    for (size_t i = 0; mappers && i < count && i < CANDIDATES; i++)
        if (mappers[i].bytes >= MAPPED_BYTES)
            rule_mapped_report(inquiry, &mappers[i]);
    free(mappers);
}

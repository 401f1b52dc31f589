/* Whose the resident memory is, where most of it is mapped by one function of the program: a
 * collected heap, a cache, a file read whole. What blocks hold says little of such a program. By
 * the owners of the look that found most; a place to look at, never trouble by itself. */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/facts.h"

#define OWNER_BYTES (4 << 20)
#define OWNER_SHARE 0.5 /* of what is resident, without Tidemark's own */

struct owner_sum {
    struct frame frame;
    uint64_t key, bytes, count;
};

static bool rule_owner_is_mapped(const struct profile_owner *owner, uint32_t sample)
{
    return owner->sample == sample && owner->kind == PROFILE_OWNER_MAPPING && owner->path;
}

static struct frame rule_owner_frame(const struct inquiry *inquiry, uint32_t path)
{
    struct frame_walk walk;
    return frame_walk_begin(&walk, inquiry->profile, inquiry->hidden, path);
}

static struct owner_sum *rule_owner_sum_of(struct owner_sum *sums, size_t *count, uint64_t key)
{
    size_t at = 0;
    while (at < *count && sums[at].key != key)
        at++;
    if (at == *count)
        sums[(*count)++] = (struct owner_sum){.key = key};
    return &sums[at];
}

/* The function with most, by all paths through which it mapped. Few functions map. */
static struct owner_sum rule_owner_largest(const struct inquiry *inquiry, uint32_t sample)
{
    const struct profile *profile = inquiry->profile;
    struct owner_sum *sums = calloc(profile->owner_count, sizeof *sums), largest = {0};
    size_t count = 0;
    for (size_t i = 0; sums && i < profile->owner_count; i++) {
        const struct profile_owner *owner = &profile->owners[i];
        if (!rule_owner_is_mapped(owner, sample))
            continue;
        struct frame frame = rule_owner_frame(inquiry, owner->path);
        struct owner_sum *sum = rule_owner_sum_of(sums, &count, frame_key(profile, frame));
        sum->frame = frame;
        sum->bytes += rule_number(owner->resident_bytes);
        sum->count += rule_number(owner->count);
        if (sum->bytes > largest.bytes)
            largest = *sum;
    }
    free(sums);
    return largest;
}

static void rule_owner_add_paths(const struct inquiry *inquiry, struct insight *insight,
                                 const struct owner_sum *owner, uint32_t sample)
{
    const struct profile *profile = inquiry->profile;
    struct inquiry_top_paths top = {0};
    for (size_t i = 0; i < profile->owner_count; i++)
        if (rule_owner_is_mapped(&profile->owners[i], sample) &&
            frame_key(profile, rule_owner_frame(inquiry, profile->owners[i].path)) == owner->key)
            inquiry_top_paths_add(&top, profile->owners[i].path,
                                  rule_number(profile->owners[i].resident_bytes));
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static struct insight *rule_owner_begin(struct inquiry *inquiry, const struct owner_sum *owner,
                                        uint64_t resident)
{
    struct insight *insight = insight_begin(inquiry, owner->bytes, resident, INSIGHT_BYTES);
    insight_leads_infos(insight);
    insight_add_bytes(insight, "owner_bytes", owner->bytes);
    insight_add_count(insight, "mapping_count", owner->count);
    insight_add_bytes(insight, "resident_bytes", resident);
    insight_add_share(insight, "resident_share", insight->cost);
    return insight;
}

static void rule_owner_report(struct inquiry *inquiry, const struct owner_sum *owner,
                              uint32_t sample, uint64_t resident)
{
    const struct site site = {.frame = owner->frame};
    struct insight *insight = rule_owner_begin(inquiry, owner, resident);
    insight_title(insight, "%s has mapped %s of the resident memory, %s",
                  inquiry_site_name(inquiry, &site).text,
                  human_percent((double)owner->bytes, (double)resident).text,
                  human_bytes(owner->bytes).text);
    rule_owner_add_paths(inquiry, insight, owner, sample);
    insight->advice = "This program's memory is here, not in blocks of malloc: tidemark report "
                      "--of=mapped has the tables and curves of it.";
}

/* ---- A managed heap ------------------------------------------------------------------------ */

static struct owner_sum rule_owner_java_heap(const struct profile *profile, uint32_t sample)
{
    struct owner_sum heap = {0};
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *owner = &profile->owners[i];
        if (owner->sample != sample || !facts_is_of_java_heap(owner))
            continue;
        heap.bytes += rule_number(owner->resident_bytes);
        heap.count += rule_number(owner->count);
    }
    return heap;
}

static void rule_owner_report_java_heap(struct inquiry *inquiry, const struct owner_sum *heap,
                                        uint64_t resident)
{
    struct insight *insight = rule_owner_begin(inquiry, heap, resident);
    insight_title(insight, "the Java heap is %s of the resident memory, %s",
                  human_percent((double)heap->bytes, (double)resident).text,
                  human_bytes(heap->bytes).text);
    insight->advice = "This program's memory is here, not in blocks of malloc. -Xmx bounds it, and "
                      "jcmd PID GC.class_histogram says which classes fill it.";
}

static bool rule_owner_is_most(uint64_t bytes, uint64_t resident)
{
    return bytes >= OWNER_BYTES && (double)bytes > OWNER_SHARE * (double)resident;
}

void rule_resident_owner(struct inquiry *inquiry)
{
    const struct profile_sample *sample = facts_owners_sample(inquiry->profile);
    if (!sample) {
        inquiry_silent(inquiry, "not recorded: who has the resident memory");
        return;
    }
    uint64_t resident;
    if (!figure_get(facts_owned_by_program(inquiry->profile), &resident))
        return;
    struct owner_sum owner = rule_owner_largest(inquiry, sample->id);
    struct owner_sum heap = rule_owner_java_heap(inquiry->profile, sample->id);
    if (rule_owner_is_most(owner.bytes, resident))
        rule_owner_report(inquiry, &owner, sample->id, resident);
    else if (rule_owner_is_most(heap.bytes, resident))
        rule_owner_report_java_heap(inquiry, &heap, resident);
}

static bool rule_owner_heap_is_below(const struct inquiry *inquiry, uint64_t part)
{
    uint64_t peak;
    return figure_get(inquiry->total->peak_bytes, &peak) &&
           peak < rule_number(facts_owned_by_program(inquiry->profile)) / part;
}

bool rule_heap_is_small(const struct inquiry *inquiry)
{
    return rule_owner_heap_is_below(inquiry, 10);
}

struct insight *rule_begin_of_heap(struct inquiry *inquiry, uint64_t bytes)
{
    struct insight *insight =
        insight_begin(inquiry, bytes, rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    if (rule_heap_is_small(inquiry))
        insight_at_most(insight, INSIGHT_INFO);
    return insight;
}

bool rule_heap_is_minor(const struct inquiry *inquiry)
{
    return rule_owner_heap_is_below(inquiry, 2);
}

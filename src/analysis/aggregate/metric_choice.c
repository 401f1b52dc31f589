/* The metrics that lists can be sorted by, as a table in the order of METRIC_CHOICE: titles and the
 * sentences for what is not there. All else a choice has from its row of metrics.def. */
#include "aggregate/metric_choice.h"

#include <ctype.h>
#include <string.h>
#include "aggregate/facts.h"

const struct metric metrics[METRIC_CHOICES] = {
    {"peak", "Alive at the peak", "nothing was alive at the peak", METRIC_ROW(at_peak_bytes), true,
     false, NULL},
    {"leaked", "Never freed", "everything was freed", METRIC_ROW(live_bytes), true, false, NULL},
    {"count", "Most allocations", "nothing was allocated", METRIC_ROW(alloc_count), true, false,
     NULL},
    {"bytes", "Most bytes allocated in all", "nothing was allocated", METRIC_ROW(alloc_bytes), true,
     false, NULL},
    {"temporary", "Temporary allocations", "no block was freed before its thread's next allocation",
     METRIC_ROW(temporary_count), true, false, NULL},
    {"slack", "Bytes lost to rounding up", "no block was larger than asked for",
     METRIC_ROW(slack_bytes), false, false, NULL},
    {"realloc", "Most reallocations", "nothing was reallocated", METRIC_ROW(realloc_count), false,
     false, NULL},
    {"mmap", "Bytes mapped", "nothing was mapped", METRIC_ROW(map_bytes), false, true, NULL},
    {"freed", "Freed most", "no bytes were freed", METRIC_ROW(freed_bytes), true, false,
     "this profile does not say where memory was freed; record with `tidemark record "
     "--free-stacks` to see it"},
    {"failed", "Failed requests", "no request failed", METRIC_ROW(failed_count), false, false,
     NULL},
    {"zero", "Requests of zero bytes", "nothing of zero bytes was asked for",
     METRIC_ROW(zero_count), false, false, NULL},
    {"aligned", "Requests with an alignment", "no alignment was asked for",
     METRIC_ROW(aligned_count), false, false, NULL},
    {"time", "Time to allocate", "allocating took no time", METRIC_ROW(alloc_time), false, false,
     "this profile does not say how long calls of the allocator took; record with `tidemark "
     "record --timed` to see it"},
    {"resident", "Resident when most was", "no block was resident", METRIC_ROW(resident_bytes),
     false, true,
     "this profile does not say what of blocks was resident: no look at the program's pages is in "
     "it, or its blocks are samples"},
    {"largest", "Largest blocks", "nothing was allocated", METRIC_ROW(size_max), false, false,
     NULL},
    {"smallest", "Smallest blocks", "nothing was allocated", METRIC_ROW(size_min), false, false,
     NULL},
    {"longest", "Longest lives of freed blocks", "nothing was freed", METRIC_ROW(lifetime_max),
     false, false, NULL},
    {"shortest", "Shortest lives of freed blocks", "nothing was freed", METRIC_ROW(lifetime_min),
     false, false, NULL},
    {"own-peak", "Highest level of one call path", "nothing was allocated", METRIC_ROW(peak_bytes),
     false, false, NULL},
};

struct metric_choice_words {
    const char *name, *title, *none;
};

/* Those that have other words where the profile is one of mappings. */
static const struct metric_choice_words metric_choice_of_mappings[] = {
    {"peak", "Mapped at the peak", "nothing was mapped at the peak"},
    {"leaked", "Never unmapped", "everything was unmapped"},
    {"count", "Most mappings", "nothing was mapped"},
    {"bytes", "Most bytes mapped in all", "nothing was mapped"},
    {"temporary", "Temporary mappings", "no mapping ended before its thread's next one"},
    {"realloc", "Most changes of a mapping's size", "no mapping got another size"},
    {"freed", "Unmapped most", "nothing was unmapped"},
    {NULL, NULL, NULL},
};

/* A region has a peak of its own, at which nobody knows which blocks were alive. */
static const struct metric_choice_words metric_choice_of_regions[] = {
    {"peak", "Alive at the program's peak",
     "nothing of the region was alive at the program's peak"},
    {NULL, NULL, NULL},
};

/* NULL: it has the same words. */
static const struct metric_choice_words *metric_choice_find_words(const struct metric *metric,
                                                                  const struct profile *profile)
{
    const struct metric_choice_words *at =
        profile_get(profile, PROFILE_META_REGION) ? metric_choice_of_regions
        : facts_is_of(profile, MEMORY_MAPPED)     ? metric_choice_of_mappings
                                                  : NULL;
    while (at && at->name && strcmp(at->name, metric->name))
        at++;
    return at && at->name ? at : NULL;
}

const char *metric_none(const struct metric *metric, const struct profile *profile)
{
    const struct metric_choice_words *words = metric_choice_find_words(metric, profile);
    return words ? words->none : metric->none;
}

/* Where nothing was allocated, or freed, no block was the largest: unknown, though all was
 * recorded. */
static bool metric_has_no_block(const struct metric *metric, const struct call_metrics *total)
{
    return !metric_adds_up(metric) &&
           figure_zero(metric->row->unit == METRIC_NS ? total->free_count
                                                      : call_metrics_blocks(total));
}

size_t metric_choice_of(const struct profile *profile, int metric)
{
    if (metric != METRIC_CHOICE_ALL)
        return (size_t)metric;
    for (size_t i = 0; i < METRIC_SUMS; i++)
        if (metric_is_known(&metrics[i], &profile->program.total))
            return i;
    return 0;
}

const char *metric_missing(const struct profile *profile, int metric)
{
    if (metric == METRIC_CHOICE_ALL || !profile->has_program ||
        metric_is_known(&metrics[metric], &profile->program.total) ||
        metric_has_no_block(&metrics[metric], &profile->program.total))
        return NULL;
    return metrics[metric].missing
               ? metrics[metric].missing
               : "this profile does not know that: the tool that it was imported from did not "
                 "record it";
}

void metric_add_title(struct strbuf *out, const struct metric *metric,
                      const struct profile *profile, bool in_sentence)
{
    bool left = metric->row == METRIC_ROW(live_bytes);
    const struct metric_choice_words *words = metric_choice_find_words(metric, profile);
    const char *title = left    ? facts_of_what_is_left(profile)
                        : words ? words->title
                                : metric->title;
    int first = (unsigned char)*title;
    strbuf_add_char(out, (char)(in_sentence ? tolower(first) : toupper(first)));
    strbuf_add_string(out, title + 1);
}

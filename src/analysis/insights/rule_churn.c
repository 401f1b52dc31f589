/* Blocks that come and go: short-lived ones made in a loop, temporaries that a compiler makes, and
 * large ones whose pages the kernel must clear again and again.
 *
 * A site is *churned* if most of its blocks were freed before their thread allocated anything else,
 * or if it made very many and never held more than two at once. */
#include "insights/rule.h"

#include <string.h>
#include "format/names.h"

#define SHORT_NOTICE   100000 /* fewer cost no millisecond to speak of */
#define CHURN_BLOCKS   1000   /* that came and went */
#define CHURN_SHARE    0.5    /* of a site's blocks */
#define CHURN_OF_CALLS 0.01   /* of all allocations */

#define LARGE_BYTES  (128 << 10) /* M_MMAP_THRESHOLD of glibc: from here on fresh pages */
#define LARGE_BLOCKS 16
#define LARGE_RATIO  8 /* recycling ratio: bytes ever ÷ own peak */
#define PAGE         4096
/* To take a page fault and clear 4 KiB: 0.25 µs on a desktop to 1.6 µs on a virtual machine. */
#define PAGE_NS 500

/* ---- Short-lived --------------------------------------------------------------------------- */

/* Blocks that came and went at once; 0 if that is not what this site does. */
static uint64_t rule_churn_churned_blocks(const struct site *site)
{
    const struct call_metrics *metrics = &site->metrics;
    uint64_t blocks = rule_blocks_of(metrics);
    if (rule_number(metrics->free_count) < CHURN_BLOCKS ||
        (double)rule_number_or_most(metrics->realloc_count) > 0.5 * (double)blocks)
        return 0;
    if ((double)rule_number(metrics->temporary_count) >= CHURN_SHARE * (double)blocks)
        return rule_number(metrics->temporary_count);
    return site->count == 1 &&
                   rule_number_or_most(metrics->peak_bytes) <= 2 * rule_mean_size(metrics)
               ? rule_number(metrics->free_count)
               : 0;
}

bool rule_site_is_churned(const struct site *site)
{
    return rule_churn_churned_blocks(site) > 0;
}

static void rule_churn_add_churn_facts(const struct inquiry *inquiry, struct insight *insight,
                                       const struct site *site, uint64_t churned)
{
    const struct call_metrics *metrics = &site->metrics;
    insight_add_count(insight, "churned_count", churned);
    insight_add_count(insight, "temporary_count", rule_number(metrics->temporary_count));
    insight_add_count(insight, "alloc_count", rule_number(metrics->alloc_count));
    insight_add_share(insight, "calls_share", insight->cost);
    insight_add_bytes(insight, "mean_size", rule_mean_size(metrics));
    if (rule_number(metrics->free_count))
        insight_add_ns(insight, "mean_lifetime",
                       rule_number(metrics->lifetime_sum) / rule_number(metrics->free_count));
    insight_add_paths(inquiry, insight, site, METRIC_ROW(alloc_count), INSIGHT_COUNT);
}

static bool rule_churn_worth_it(const struct inquiry *inquiry, uint64_t churned)
{
    return churned && inquiry_share_of(churned, inquiry->calls) >= CHURN_OF_CALLS;
}

void rule_short_lived(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t churned = rule_churn_churned_blocks(site);
        if (rule_churn_worth_it(inquiry, churned) && !rule_site_is_compiler_made(inquiry, site) &&
            !rule_site_grows_by_copy(inquiry, site))
            inquiry_candidates_add(&candidates, site, churned);
    }
    for (size_t i = 0; i < candidates.count; i++) {
        const struct site *site = candidates.top[i].site;
        uint64_t churned = candidates.top[i].cost;
        struct insight *insight = insight_begin(inquiry, churned, inquiry->calls, INSIGHT_COUNT);
        if (churned < SHORT_NOTICE)
            insight_at_most(insight, INSIGHT_INFO);
        insight_title(insight, "%s allocates %s blocks of %s on average that are freed at once",
                      inquiry_site_name(inquiry, site).text, human_count(churned).text,
                      human_bytes(rule_mean_size(&site->metrics)).text);
        rule_churn_add_churn_facts(inquiry, insight, site, churned);
        insight->advice = "Allocate once before the loop and use the block again, or put it on the "
                          "stack if it is small.";
    }
}

/* ---- Made by the compiler ------------------------------------------------------------------ */

static bool rule_churn_ends_with(const char *string, const char *end)
{
    size_t length = strlen(string), end_length = strlen(end);
    return length >= end_length && !strcasecmp(string + length - end_length, end);
}

static bool rule_churn_is_fortran(const struct profile *profile, struct frame frame)
{
    static const char *const endings[] = {".f90", ".f95", ".f03", ".f08", ".f", ".for", ".f18"};
    const struct profile_function *function =
        &profile->functions[profile->lines[frame.line].function];
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    for (size_t i = 0; file && i < sizeof endings / sizeof *endings; i++)
        if (rule_churn_ends_with(file, endings[i]))
            return true;
    return function->linkage && strstr(function->linkage, "_MOD_");
}

/* Does the library that packs array arguments, or builds array results, stand innermost? */
static bool rule_churn_is_packed(const struct inquiry *inquiry, const struct site *site)
{
    const struct profile *profile = inquiry->profile;
    uint32_t node = profile_site_path(profile, inquiry->order[site->first]);
    const struct profile_code *code = &profile->codes[profile->nodes[node].location];
    const char *function =
        frame_function(profile, frame_at(profile->nodes[node].location, code->first_line));
    return function && !strncmp(function, "_gfortran_", 10);
}

/* The source line, if it was stored with the profile. */
static bool rule_churn_line_of(const struct profile *profile, struct frame frame,
                               struct strbuf *out)
{
    uint32_t line;
    const char *file = frame_file(profile, frame, &line);
    for (size_t i = 0; file && line && i < profile->source_count; i++) {
        const struct profile_source *source = &profile->sources[i];
        if (strcmp(source->path, file))
            continue;
        const char *at = source->text, *end = source->text + source->bytes;
        while (at < end && --line) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            at = newline ? newline + 1 : end;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        strbuf_add(out, at, (size_t)((newline ? newline : end) - at));
        return at < end;
    }
    return false;
}

/* An allocate statement is the programmer's own. Where the source is not at hand it cannot be
 * told, and the title says so. */
static bool rule_churn_is_explicit(const struct profile *profile, struct frame frame, bool *known)
{
    struct strbuf line = STRBUF_INIT;
    *known = rule_churn_line_of(profile, frame, &line);
    bool found = *known && strcasestr(line.data, "allocate");
    strbuf_release(&line);
    return found;
}

bool rule_site_is_compiler_made(const struct inquiry *inquiry, const struct site *site)
{
    bool known;
    return rule_site_is_churned(site) && rule_churn_is_fortran(inquiry->profile, site->frame) &&
           !rule_site_grows_by_copy(inquiry, site) &&
           !rule_churn_is_explicit(inquiry->profile, site->frame, &known);
}

static void rule_churn_report_compiler_made(struct inquiry *inquiry,
                                            const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    struct insight *insight =
        insight_begin(inquiry, candidate->cost, inquiry->calls, INSIGHT_COUNT);
    bool known;
    rule_churn_is_explicit(inquiry->profile, site->frame, &known);
    bool certain = known || rule_churn_is_packed(inquiry, site);
    struct site_name name = inquiry_site_name(inquiry, site);
    struct human count = human_count(candidate->cost),
                 size = human_bytes(rule_mean_size(&site->metrics));
    if (certain)
        insight_title(insight, "The compiler makes %s temporary arrays of %s on average in %s",
                      count.text, size.text, name.text);
    else
        insight_title(insight, "%s makes %s temporary arrays of %s on average", name.text,
                      count.text, size.text);
    insight_add_text(insight, "certainty",
                     certain ? "no allocate statement stands there"
                             : "if no allocate statement stands there, the compiler made them");
    rule_churn_add_churn_facts(inquiry, insight, site, candidate->cost);
    insight->advice =
        "gfortran -Warray-temporaries names such lines. Loops instead of array sections, "
        "contiguous arguments, and arrays that cannot alias (no pointer, no target) need no "
        "temporary; -fstack-arrays puts small ones on the stack.";
}

void rule_compiler_temporaries(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        uint64_t churned = rule_churn_churned_blocks(site);
        if (rule_churn_worth_it(inquiry, churned) && rule_site_is_compiler_made(inquiry, site))
            inquiry_candidates_add(&candidates, site, churned);
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_churn_report_compiler_made(inquiry, &candidates.top[i]);
}

/* ---- Large and recycled -------------------------------------------------------------------- */

static bool rule_churn_is_recycled(const struct inquiry *inquiry, const struct site *site)
{
    const struct call_metrics *metrics = &site->metrics;
    return rule_mean_size(metrics) >= LARGE_BYTES &&
           rule_number(metrics->alloc_count) >= LARGE_BLOCKS && rule_number(metrics->peak_bytes) &&
           rule_number(metrics->alloc_bytes) / rule_number(metrics->peak_bytes) >= LARGE_RATIO &&
           rule_number(metrics->alloc_bytes) >= rule_number_or_most(metrics->realloc_bytes) &&
           !rule_site_grows_by_copy(inquiry, site);
}

uint64_t rule_at_a_time(const struct inquiry *inquiry, uint64_t own_peaks)
{
    uint64_t program = rule_number(inquiry->total->peak_bytes);
    return program && program < own_peaks ? program : own_peaks;
}

static void rule_churn_report_recycling(struct inquiry *inquiry, const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    uint64_t pages = candidate->cost / PAGE,
             at_a_time = rule_at_a_time(inquiry, rule_number(metrics->peak_bytes));
    double ratio = inquiry_share_of(rule_number(metrics->alloc_bytes), at_a_time);
    struct insight *insight =
        inquiry->run_ns ? insight_begin(inquiry, pages * PAGE_NS, inquiry->run_ns, INSIGHT_NS)
                        : insight_begin(inquiry, candidate->cost, inquiry->bytes, INSIGHT_BYTES);
    insight_title(insight, "%s recycles large blocks: %s asked for in all, %s at a time",
                  inquiry_site_name(inquiry, site).text,
                  human_bytes(rule_number(metrics->alloc_bytes)).text, human_bytes(at_a_time).text);
    insight_add_ratio(insight, "recycling_ratio", ratio);
    insight_add_bytes(insight, "alloc_bytes", rule_number(metrics->alloc_bytes));
    insight_add_bytes(insight, "peak_bytes", at_a_time);
    insight_add_count(insight, "alloc_count", rule_number(metrics->alloc_count));
    insight_add_bytes(insight, "mean_size", rule_mean_size(metrics));
    insight_add_count(insight, "pages_cleared_at_most", pages);
    insight_add_ns(insight, "time_estimate", pages * PAGE_NS);
    insight_add_share(insight, "run_share", inquiry_share_of(pages * PAGE_NS, inquiry->run_ns));
    insight_add_paths(inquiry, insight, site, METRIC_ROW(alloc_bytes), INSIGHT_BYTES);
    insight->advice = "Keep the block and use it again: the kernel must clear each page that comes "
                      "back. Where that cannot be, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD "
                      "(mallopt) keep pages in the process.";
}

void rule_large_recycling(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct site *site = &inquiry->sites[i];
        if (rule_churn_is_recycled(inquiry, site)) /* the first use of the pages is not recycling */
            inquiry_candidates_add(&candidates, site,
                                   rule_number(site->metrics.alloc_bytes) -
                                       rule_number(site->metrics.peak_bytes));
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_churn_report_recycling(inquiry, &candidates.top[i]);
}

/* Confidence intervals of sampled profiles (estimate.h). The standard error is the square root of
 * the stored variance, in units of the sampling interval. The 95 % interval is 1.96 times that. */
#include "aggregate/estimate.h"

#include <math.h>
#include <stdio.h>
#include "aggregate/facts.h"
#include "model/figure_human.h"

/* How often the interval of a recording of pages may be doubled (wire.h, WIRE_PAGE_LEVELS). */
enum { PAGES_DOUBLINGS = 3 };

static double estimate_sigma_bytes(const struct profile *profile, struct figure variance)
{
    return (double)profile->sample_bytes * sqrt(figure_double(variance) / 1024);
}

struct figure estimate_error(const struct profile *profile, struct figure variance)
{
    return figure_of_double(1.96 * estimate_sigma_bytes(profile, variance));
}

/* n sampled small blocks stand for n sampling intervals of bytes, with a standard error of sqrt(n)
 * intervals. A large block is always sampled, and counts as many small ones. */
static double estimate_samples_worth(const struct profile *profile, struct figure bytes,
                                     struct figure variance)
{
    double sigmas = figure_double(bytes) / estimate_sigma_bytes(profile, variance);
    return sigmas * sigmas;
}

struct human estimate_bar(const struct profile *profile, struct figure bytes,
                          struct figure variance, bool utf8)
{
    struct human bar = {""};
    if (!figure_known(bytes) || !figure_known(variance))
        return bar;
    double samples = figure_positive(variance) && figure_positive(bytes)
                         ? estimate_samples_worth(profile, bytes, variance)
                         : INFINITY;
    if (samples < 1.5)
        snprintf(bar.text, sizeof bar.text, "1 sample");
    else if (samples < 3.5)
        snprintf(bar.text, sizeof bar.text, "%.0f samples", samples);
    else
        snprintf(bar.text, sizeof bar.text, "%s%.28s", utf8 ? "±" : "+-",
                 figure_human_bytes(estimate_error(profile, variance)).text);
    return bar;
}

void estimate_add_bytes(struct strbuf *out, const struct profile *profile, struct figure bytes,
                        struct figure variance, bool utf8)
{
    strbuf_add_string(out, figure_human_bytes(bytes).text);
    if (!estimate_is(profile) || !figure_positive(bytes) || !figure_known(variance))
        return;
    struct human bar = estimate_bar(profile, bytes, variance, utf8);
    bool few = *bar.text >= '0' && *bar.text <= '9';
    strbuf_addf(out, few ? " (%s)" : " %s", bar.text);
}

struct human estimate_count(const struct profile *profile, struct figure count)
{
    struct human about;
    if (!estimate_is(profile) || !figure_known(count))
        return figure_human_exact(count);
    snprintf(about.text, sizeof about.text, "%s%.30s", figure_positive(count) ? "~" : "",
             figure_human_count(count).text);
    return about;
}

/* e^-3 = 5 %. Of pages a thread's interval may have been doubled, and children of a process begin
 * with it. No figure says whether it was. */
uint64_t estimate_unseen(const struct profile *profile)
{
    return 3 * facts_sample_bytes(profile) << (profile->pages ? PAGES_DOUBLINGS : 0);
}

bool estimate_is_empty(const struct profile *profile)
{
    return estimate_is(profile) && figure_zero(profile->program.total.sample_count);
}

void estimate_add_unknown(struct strbuf *out, const struct profile *profile)
{
    strbuf_addf(out, "not known: nothing came into the sample; less than %s in all (95 %%)",
                human_bytes(estimate_unseen(profile)).text);
}

void estimate_add_sentence(struct strbuf *out, const struct profile *profile)
{
    uint64_t samples = figure_or(profile->program.total.sample_count, 0);
    if (profile->pages) {
        strbuf_addf(
            out,
            "blocks from 64.0 KiB on and one smaller block for each %s of them or more; %s in all",
            human_bytes(profile->sample_bytes).text, human_exact(samples).text);
        return;
    }
    facts_add_sampling(out, profile);
    strbuf_addf(out, "; %s sample%s", human_exact(samples).text, samples == 1 ? "" : "s");
}

/* Finds the worst moment of the machine's memory (machine_moments.h). The machine's size is that of
 * the looks, since it does not change. */
#include "aggregate/machine_moments.h"

#include "base/human.h"
#include "model/figure_human.h"

struct figure machine_moments_size(const struct profile *profile)
{
    for (size_t i = profile->sample_count; i-- > 0;)
        if (figure_known(profile->samples[i].machine_bytes))
            return profile->samples[i].machine_bytes;
    return FIGURE_UNKNOWN;
}

/* Of the machine's memory no more than there is; a damaged profile says otherwise. */
static bool machine_moments_can_be(struct figure bytes, struct figure size)
{
    return figure_known(bytes) && !(figure_known(size) && figure_less(size, bytes));
}

const struct profile_machine_moment *machine_moments_least(const struct profile *profile)
{
    const struct profile_machine_moment *least = NULL;
    struct figure size = machine_moments_size(profile);
    for (size_t i = 0; i < profile->machine_moment_count; i++) {
        const struct profile_machine_moment *moment = &profile->machine_moments[i];
        if (machine_moments_can_be(moment->available_bytes, size) &&
            (!least || figure_less(moment->available_bytes, least->available_bytes)))
            least = moment;
    }
    return least;
}

/* The most by which swapped memory rose from a moment to a later one. */
static struct figure machine_moments_swapped_out(const struct profile *profile)
{
    struct figure least = FIGURE_UNKNOWN, grown = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->machine_moment_count; i++) {
        struct figure swapped = profile->machine_moments[i].swapped_bytes;
        if (figure_less(swapped, least) || !figure_known(least))
            least = swapped;
        grown = figure_max(grown, figure_sub(swapped, least));
    }
    return grown;
}

bool machine_moments_are_short(const struct profile *profile)
{
    const struct profile_machine_moment *least = machine_moments_least(profile);
    struct figure size = machine_moments_size(profile);
    if (!least || !figure_known(size))
        return false;
    uint64_t bytes = figure_or(size, 0);
    return figure_or(least->available_bytes, 0) <= bytes / 10 ||
           figure_or(machine_moments_swapped_out(profile), 0) >= bytes / 100;
}

void machine_moments_add(struct strbuf *out, const struct profile *profile)
{
    const struct profile_machine_moment *least = machine_moments_least(profile);
    struct figure size = machine_moments_size(profile);
    if (!least)
        return;
    strbuf_addf(out, "%s ", figure_human_bytes(least->available_bytes).text);
    if (figure_known(size))
        strbuf_addf(out, "of %s ", figure_human_bytes(size).text);
    strbuf_addf(out, "available at least, after %s", human_duration(least->time_ns).text);
    bool has_cached = machine_moments_can_be(least->cached_bytes, size);
    if (has_cached)
        strbuf_addf(out, "; %s cached then", figure_human_bytes(least->cached_bytes).text);
    if (figure_known(least->swapped_bytes))
        strbuf_addf(out, "%s %s swapped", has_cached ? "," : ";",
                    figure_human_bytes(least->swapped_bytes).text);
}

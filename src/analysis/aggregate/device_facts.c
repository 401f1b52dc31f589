/* Words for the spaces of memory of devices (device_facts.h). A context of a driver that ended has
 * freed what was in it, and nobody told which blocks those are: then what is left is a bound. */
#include "aggregate/device_facts.h"

#include "base/human.h"
#include "model/device_space.h"

static const char *device_facts_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void device_facts_add_left(struct strbuf *out, const struct profile *profile,
                                  const struct device_total *total)
{
    const char *when = profile->being_written ? "now" : "at the end";
    if (!total->live_count)
        strbuf_addf(out, "; nothing %s", when);
    else
        strbuf_addf(out, "; %s%s in %s block%s %s%s", total->ended_count ? "at most " : "",
                    human_bytes(total->live_bytes).text, human_exact(total->live_count).text,
                    device_facts_plural(total->live_count), when,
                    total->ended_count ? ", since what was in a context that ended is free" : "");
}

void device_facts_add(struct strbuf *out, const struct profile *profile,
                      const struct device_total *total)
{
    if (total->peak_bytes)
        strbuf_addf(out, "%s at most, after %s", human_bytes(total->peak_bytes).text,
                    human_duration(total->peak_ticks).text);
    else
        strbuf_add_string(out, "none was seen");
    device_facts_add_left(out, profile, total);
    if (total->refused_count)
        strbuf_addf(out, "; %s request%s refused, the largest of %s",
                    human_exact(total->refused_count).text,
                    device_facts_plural(total->refused_count),
                    human_bytes(total->refused_bytes).text);
    if (total->unknown_count)
        strbuf_addf(out, "; %s free%s of what was not seen to be allocated",
                    human_exact(total->unknown_count).text,
                    device_facts_plural(total->unknown_count));
}

void device_facts_add_named(struct strbuf *out, const struct profile *profile,
                            const struct device_total *total)
{
    strbuf_addf(out, "%s: ", device_space_name(total->space));
    device_facts_add(out, profile, total);
}

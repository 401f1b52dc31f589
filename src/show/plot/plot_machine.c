/* Draws the machine's memory while a program ran: what was available at the worst reading of each
 * stretch, what was cached and swapped then, and the most that the control group had. A value
 * larger than the machine's memory (from a damaged profile) is a gap. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "aggregate/machine_moments.h"
#include "plot/plot.h"

static const struct {
    const char *name;
    size_t offset;
    bool dashed;
    bool is_part; /* of the machine's memory: swap and a group's limit may be larger */
    bool always;  /* drawn even where it is 0 throughout */
} machine_lines[] = {
#define LINE(field) offsetof(struct profile_machine_moment, field)
    {"available", LINE(available_bytes), false, true, true},
    {"cached", LINE(cached_bytes), true, true, false},
    {"swapped", LINE(swapped_bytes), false, false, false},
    {"control group", LINE(group_bytes), false, false, false},
    {"its limit", LINE(group_limit_bytes), true, false, false},
#undef LINE
};

static struct figure plot_machine_value(const struct profile_machine_moment *moment, size_t line)
{
    struct figure value;
    memcpy(&value, (const char *)moment + machine_lines[line].offset, sizeof value);
    return value;
}

static bool plot_machine_can_be(const struct profile *profile, size_t line, struct figure value)
{
    struct figure size = machine_moments_size(profile);
    bool is_part = machine_lines[line].is_part && figure_known(size);
    return figure_known(value) && !(is_part && figure_less(size, value));
}

static bool plot_machine_has(const struct profile *profile, size_t line)
{
    for (size_t i = 0; i < profile->machine_moment_count; i++) {
        struct figure value = plot_machine_value(&profile->machine_moments[i], line);
        if (plot_machine_can_be(profile, line, value) &&
            (machine_lines[line].always || figure_positive(value)))
            return true;
    }
    return false;
}

static void plot_machine_add_line(struct chart *chart, const struct profile *profile, size_t line)
{
    struct chart_series *series =
        chart_add(chart, machine_lines[line].name, CHART_LINE, (unsigned)line);
    series->dashed = machine_lines[line].dashed;
    for (size_t i = 0; i < profile->machine_moment_count; i++) {
        const struct profile_machine_moment *moment = &profile->machine_moments[i];
        struct figure value = plot_machine_value(moment, line);
        chart_add_point(series, (double)moment->time_ns,
                        plot_machine_can_be(profile, line, value) ? figure_double(value) : NAN);
    }
}

int plot_machine(struct chart *chart, const struct plot_run *run, struct strbuf *why)
{
    const struct profile *profile = run->profile;
    struct strbuf text = STRBUF_INIT;
    if (!profile->machine_moment_count) {
        strbuf_addf(why,
                    "%s does not say what the machine had over time: the run took less than a "
                    "tenth of a second, or an older tidemark recorded it",
                    run->path);
        return -ENODATA;
    }
    chart->x = (struct chart_axis){.title = "time since the start", .unit = CHART_TIME};
    chart->y = (struct chart_axis){.title = "memory", .unit = CHART_BYTES};
    for (size_t line = 0; line < sizeof machine_lines / sizeof *machine_lines; line++)
        if (plot_machine_has(profile, line))
            plot_machine_add_line(chart, profile, line);
    plot_run_name(&text, run, 1, 0);
    chart_set_title(chart, "%s: memory of the machine over time", text.data);
    strbuf_reset(&text);
    machine_moments_add(&text, profile);
    if (text.length)
        chart_set_note(chart, "%s", text.data);
    strbuf_release(&text);
    return 0;
}

/* The table of export formats, and what all of them need before and after. A new format is an
 * entry here and a file beside. The profile is checked first: a format that needs what it lacks
 * is refused with the reason. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "aggregate/facts.h"
#include "base/error.h"
#include "aggregate/match.h"
#include "aggregate/metric_choice.h"

#define METRIC    EXPORT_USES_METRIC
#define INCLUSIVE EXPORT_USES_INCLUSIVE
#define ROWS      EXPORT_USES_ROWS
#define CALLS     EXPORT_USES_CALLS
#define PEAK      EXPORT_USES_PEAK

const struct export_format export_formats[] = {
    {"pprof", ".pb.gz", "go tool pprof, pprof, Grafana, Polar Signals", METRIC, true, export_pprof},
    {"folded", ".folded", "flamegraph.pl, inferno, speedscope", METRIC, false, export_folded},
    {"speedscope", ".speedscope.json", "speedscope", METRIC, false, export_speedscope},
    {"callgrind", ".callgrind", "callgrind_annotate, KCachegrind", 0, false, export_callgrind},
    {"massif", ".massif", "ms_print, massif-visualizer", PEAK, false, export_massif},
    {"heaptrack", ".heaptrack", "heaptrack_print, heaptrack_gui", CALLS, false, export_heaptrack},
    {"dhat", ".dhat.json", "dh_view.html of valgrind, Firefox Profiler", CALLS, false, export_dhat},
    {"perfetto", ".perfetto-trace", "ui.perfetto.dev, trace_processor", 0, true, export_perfetto},
    {"chrome", ".chrome.json", "chrome://tracing, Firefox Profiler, Perfetto", 0, false,
     export_chrome},
    {"openmetrics", ".om.txt", "Prometheus and what reads OpenMetrics", METRIC | INCLUSIVE, false,
     export_openmetrics},
    {"csv", ".csv", "spreadsheets, data tools", INCLUSIVE | ROWS, false, export_csv},
    {"jsonl", ".jsonl", "jq, data tools", INCLUSIVE | ROWS, false, export_jsonl},
    {"dot", ".dot", "Graphviz", METRIC, false, export_dot},
    {"svg", ".svg", "browsers (Graphviz's dot draws it)", METRIC, false, export_svg},
    {"sqlite", ".db", "sqlite3, DuckDB, pandas", 0, true, NULL},
    {NULL, NULL, NULL, 0, false, NULL},
};

const struct export_format *export_format_find(const char *name)
{
    for (const struct export_format *format = export_formats; format->name; format++)
        if (!strcmp(format->name, name))
            return format;
    return NULL;
}

const struct metric_row *export_metric_find(const char *name)
{
    const struct metric_row *row = metric_row_find(name);
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        if (!strcmp(metrics[i].name, name))
            row = metrics[i].row;
    bool adds_up = row && metric_row_adds_up(row) && row->unit != METRIC_VARIANCE;
    return adds_up ? row : NULL;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Memory over time is not known by region. */
static int exporters_check_region(struct exporting *exporting, const struct export_format *format)
{
    if (format->uses & ROWS && exporting->options->rows == EXPORT_TIMELINE)
        return export_fail(exporting, -ENODATA,
                           "of a region there is no timeline: choose other --rows");
    return 0;
}

/* To be released in any case. */
static int exporters_take_region(struct exporting *exporting, struct profile *view)
{
    uint32_t region;
    if (!exporting->options->region)
        return 0;
    if (profile_find_region(exporting->profile, exporting->options->region, &region))
        return export_fail(exporting, -ENOENT, "%s", error_text());
    int error = profile_view_region(view, exporting->profile, region);
    exporting->profile = view;
    return error;
}

static bool exporters_know_calls(const struct call_metrics *total)
{
    return figure_known(total->alloc_count) && figure_known(total->alloc_bytes) &&
           figure_known(total->live_count) && figure_known(total->live_bytes);
}

/* Whose file the profile was made of. */
static const char *exporters_origin(const struct profile *profile)
{
    const char *tool = facts_imported_from(profile);
    return tool ? tool : "such";
}

static int exporters_check(struct exporting *exporting, const struct export_format *format)
{
    const struct profile *profile = exporting->profile;
    const struct metric_row *metric = exporting->options->metric;
    if (!profile->has_program)
        return export_fail(exporting, -ENODATA,
                           "the profile has no figures yet: its recording has only just begun");
    if (format->uses & METRIC && !metric_is_recorded(metric, &profile->program.total))
        return export_fail(exporting, -ENODATA,
                           "%s was not recorded in this profile: choose "
                           "another --metric",
                           metric->column);
    if (format->uses & CALLS && profile->pages)
        return export_fail(exporting, -ENODATA,
                           "%s files say what was allocated in all, which --events=pages does not "
                           "record: choose another format, pprof or speedscope for example",
                           format->name);
    if (format->uses & CALLS && export_is_of(exporting, MEMORY_RESIDENT))
        return export_fail(exporting, -ENODATA,
                           "%s files say what was allocated and freed, and pages are neither: for "
                           "what is resident choose another format, pprof or folded for example",
                           format->name);
    if (format->uses & CALLS && !exporters_know_calls(&profile->program.total))
        return export_fail(exporting, -ENODATA,
                           "%s files say how many blocks were allocated in all and how many are "
                           "left, which %s files do not say: choose another format, folded or csv "
                           "for example",
                           format->name, exporters_origin(profile));
    if (format->uses & PEAK && !figure_known(profile->program.total.at_peak_bytes))
        return export_fail(exporting, -ENODATA,
                           "%s files say who held the memory at its peak, which %s files do not "
                           "say: choose another format, folded or csv for example",
                           format->name, exporters_origin(profile));
    return exporting->options->region ? exporters_check_region(exporting, format) : 0;
}

static int exporters_prepare(struct exporting *exporting)
{
    const struct profile *profile = exporting->profile;
    exporting->hidden = exporting->options->hide_std
                            ? frames_of_libraries(profile)
                            : calloc(profile->line_count + 1, sizeof(bool));
    if (!exporting->hidden)
        return -ENOMEM;
    return exporting->options->filter
               ? match_paths(profile, exporting->options->filter, &exporting->wanted)
               : 0;
}

static int exporters_finish(struct exporting *exporting)
{
    if (!fflush(exporting->out) && !ferror(exporting->out))
        return 0;
    int error = errno ? errno : EIO;
    return export_fail(exporting, -error, "cannot write: %s", strerror(error));
}

/* Where nobody chose a metric: the first one that the profile knows. */
static struct export_options exporters_settle(const struct profile *profile,
                                              const struct export_options *options)
{
    struct export_options settled = *options;
    if (options->metric_is_default)
        settled.metric = metrics[metric_choice_of(profile, METRIC_CHOICE_ALL)].row;
    return settled;
}

int export_write(FILE *out, const struct profile *profile, const struct export_format *format,
                 const struct export_options *options, struct strbuf *why)
{
    struct export_options settled = exporters_settle(profile, options);
    struct exporting exporting = {.out = out,
                                  .profile = profile,
                                  .peak_ns = profile->program.total.peak_ticks,
                                  .options = &settled,
                                  .why = why};
    struct profile view = {0};
    int error = exporters_check(&exporting, format);
    if (!error)
        error = exporters_take_region(&exporting, &view);
    if (!error)
        error = exporters_prepare(&exporting);
    if (!error)
        error = format->write(&exporting);
    if (!error)
        error = exporters_finish(&exporting);
    if (error && !why->length)
        strbuf_add_string(why, strerror(-error));
    free(exporting.hidden);
    free(exporting.wanted);
    free(view.sites);
    return error;
}

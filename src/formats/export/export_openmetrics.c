/* OpenMetrics text, for Prometheus (a textfile collector, a push gateway): the program's sums, and
 * the metric that was asked for by function, the largest ones. All are gauges: the run is over, so
 * that nothing counts any further. Units are bytes and seconds, as the format wants them. */
#include <stdlib.h>
#include <string.h>
#include "export/exporting.h"
#include "aggregate/facts.h"
#include "aggregate/functions.h"
#include "base/memory.h"

enum { FUNCTIONS = 50 };

struct openmetrics {
    struct exporting *exporting;
    struct strbuf labels; /* of the program: program="…",pid="…" */
};

static void export_openmetrics_add_label(struct strbuf *out, const char *name, const char *value)
{
    struct strbuf plain = STRBUF_INIT;
    export_add_plain(&plain, value, NULL, 0);
    strbuf_addf(out, "%s%s=\"", out->length ? "," : "", name);
    for (const char *at = plain.data; *at; at++) {
        if (*at == '"' || *at == '\\')
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *at);
    }
    strbuf_add_char(out, '"');
    strbuf_release(&plain);
}

static void export_openmetrics_label_fact(struct openmetrics *openmetrics, const char *name,
                                          const char *key)
{
    const char *value = profile_get(openmetrics->exporting->profile, key);
    if (value)
        export_openmetrics_add_label(&openmetrics->labels, name, value);
}

/* alloc_count → tidemark_alloc_blocks, lifetime_sum_ns → tidemark_lifetime_sum_seconds: "_count" is
 * for histograms. */
static void export_openmetrics_family_name(struct strbuf *out, const char *prefix, const char *name)
{
    size_t length = strlen(name);
    strbuf_addf(out, "tidemark_%s", prefix);
    if (length > 6 && !strcmp(name + length - 6, "_count")) {
        strbuf_add(out, name, length - 6);
        strbuf_add_string(out, "_blocks");
    } else if (length > 3 && !strcmp(name + length - 3, "_ns")) {
        strbuf_add(out, name, length - 3);
        strbuf_add_string(out, "_seconds");
    } else {
        strbuf_add_string(out, name);
    }
}

static const char *export_openmetrics_unit_of(const char *family)
{
    const char *last = strrchr(family, '_');
    return last && !strcmp(last, "_bytes")     ? "bytes"
           : last && !strcmp(last, "_seconds") ? "seconds"
                                               : NULL;
}

static void export_openmetrics_begin_family(struct openmetrics *openmetrics, const char *family,
                                            const char *help)
{
    FILE *out = openmetrics->exporting->out;
    const char *unit = export_openmetrics_unit_of(family);
    fprintf(out, "# TYPE %s gauge\n", family);
    if (unit)
        fprintf(out, "# UNIT %s %s\n", family, unit);
    fprintf(out, "# HELP %s %s\n", family, help);
}

static void export_openmetrics_write_value(struct openmetrics *openmetrics, const char *family,
                                           const char *labels, struct figure value)
{
    uint64_t number;
    if (!figure_get(value, &number))
        return;
    const char *unit = export_openmetrics_unit_of(family);
    fprintf(openmetrics->exporting->out, "%s{%s%s%s} ", family, openmetrics->labels.data,
            *labels ? "," : "", labels);
    if (unit && !strcmp(unit, "seconds"))
        fprintf(openmetrics->exporting->out, "%.9f\n", (double)number / 1e9);
    else
        fprintf(openmetrics->exporting->out, "%llu\n", (unsigned long long)number);
}

/* What is not known has no family. */
static void export_openmetrics_write_one(struct openmetrics *openmetrics, const char *name,
                                         const char *help, struct figure value)
{
    struct strbuf family = STRBUF_INIT;
    if (!figure_known(value))
        return;
    export_openmetrics_family_name(&family, "", name);
    export_openmetrics_begin_family(openmetrics, family.data, help);
    export_openmetrics_write_value(openmetrics, family.data, "", value);
    strbuf_release(&family);
}

static void export_openmetrics_write_program(struct openmetrics *openmetrics)
{
    const struct exporting *exporting = openmetrics->exporting;
    const struct profile *profile = exporting->profile;
    struct export_columns columns;
    export_columns_init(&columns, profile, true);
    for (size_t i = 0; i < columns.count; i++)
        export_openmetrics_write_one(openmetrics, columns.entries[i]->column,
                                     columns.entries[i]->help,
                                     export_total(exporting, columns.entries[i]));
    if (exporting->wanted)
        return;
    export_openmetrics_write_one(openmetrics, "peak_bytes",
                                 "high-water mark of the requested bytes",
                                 profile->program.total.peak_bytes);
    export_openmetrics_write_one(openmetrics, "resident_peak_bytes", "highest resident bytes seen",
                                 facts_resident_peak(profile));
    if (profile_get(profile, PROFILE_META_DURATION))
        export_openmetrics_write_one(openmetrics, "duration_ns",
                                     "how long the program was recorded",
                                     figure_of(export_number(profile, PROFILE_META_DURATION)));
}

/* ---- By function --------------------------------------------------------------------------- */

struct export_openmetrics_value {
    struct figure value;
    const struct function_row *row;
};

static int export_openmetrics_by_falling_value(const void *a, const void *b)
{
    const struct export_openmetrics_value *left = a, *right = b;
    int order = figure_compare(right->value, left->value);
    if (order)
        return order;
    return left->row < right->row ? -1 : left->row > right->row;
}

static void export_openmetrics_write_function(struct openmetrics *openmetrics, const char *family,
                                              const struct export_openmetrics_value *value)
{
    struct exporting *exporting = openmetrics->exporting;
    struct frame frame = frame_at(value->row->code, value->row->line);
    struct strbuf labels = STRBUF_INIT, name = STRBUF_INIT, path = STRBUF_INIT;
    uint32_t line;
    const char *module = frame_module(exporting->profile, frame);
    export_add_key_name(&name, exporting->profile, value->row->key, frame, NULL, 0);
    export_add_file(&path, exporting, frame_file(exporting->profile, frame, &line));
    export_openmetrics_add_label(&labels, "function", name.data);
    export_openmetrics_add_label(&labels, "file", path.data);
    export_openmetrics_add_label(&labels, "module", module ? module : "");
    export_openmetrics_write_value(openmetrics, family, labels.data, value->value);
    strbuf_release(&labels);
    strbuf_release(&name);
    strbuf_release(&path);
}

static void export_openmetrics_write_largest(struct openmetrics *openmetrics,
                                             const struct functions *functions)
{
    const struct export_options *options = openmetrics->exporting->options;
    struct export_openmetrics_value *values = calloc(functions->count + 1, sizeof *values);
    struct strbuf family = STRBUF_INIT;
    if (!values)
        memory_exhausted();
    for (size_t i = 0; i < functions->count; i++) {
        const struct merged_metrics *of =
            options->inclusive ? &functions->rows[i].inclusive : &functions->rows[i].exclusive;
        values[i].value = of->paths ? metric_value(options->metric, &of->metrics) : figure_of(0);
        values[i].row = &functions->rows[i];
    }
    qsort(values, functions->count, sizeof *values, export_openmetrics_by_falling_value);
    export_openmetrics_family_name(
        &family, options->inclusive ? "function_inclusive_" : "function_", options->metric->column);
    export_openmetrics_begin_family(openmetrics, family.data, options->metric->help);
    for (size_t i = 0; i < functions->count && i < FUNCTIONS && figure_positive(values[i].value);
         i++)
        export_openmetrics_write_function(openmetrics, family.data, &values[i]);
    strbuf_release(&family);
    free(values);
}

int export_openmetrics(struct exporting *exporting)
{
    struct openmetrics openmetrics = {.exporting = exporting, .labels = STRBUF_INIT};
    struct functions functions;
    int error =
        functions_init(&functions, exporting->profile, exporting->hidden, exporting->wanted);
    if (error)
        return error;
    export_openmetrics_add_label(&openmetrics.labels, "program", export_title(exporting->profile));
    export_openmetrics_label_fact(&openmetrics, "pid", PROFILE_META_PID);
    export_openmetrics_label_fact(&openmetrics, "rank", PROFILE_META_RANK);
    export_openmetrics_label_fact(&openmetrics, "job", PROFILE_META_JOB);
    if (exporting->options->region)
        export_openmetrics_add_label(&openmetrics.labels, "region", exporting->options->region);
    export_openmetrics_write_program(&openmetrics);
    export_openmetrics_write_largest(&openmetrics, &functions);
    fputs("# EOF\n", exporting->out);
    functions_release(&functions);
    strbuf_release(&openmetrics.labels);
    return 0;
}

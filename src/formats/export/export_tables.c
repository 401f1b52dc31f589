/* Tables: functions, call paths or the timeline as CSV (RFC 4180, a line of names first) or JSON
 * Lines (an object a row). What is not known is an empty field, or null. Columns are named as in
 * doc/METRICS.md. */
#include <stdlib.h>
#include <string.h>
#include "base/digits.h"
#include "base/json.h"
#include "format/csv.h"
#include "export/exporting.h"
#include "model/figure_json.h"
#include "aggregate/functions.h"

/* One row is being written; in a CSV's first line the names of its columns are instead. */
struct export_tables_sheet {
    struct exporting *exporting;
    bool is_csv, is_head;
    size_t column;
    struct json json;
    struct export_columns metrics;
};

/* A field of CSV that is not a number. */
static void export_tables_write_quoted(FILE *out, const char *text)
{
    struct strbuf plain = STRBUF_INIT, field = STRBUF_INIT;
    export_add_plain(&plain, text, NULL, 0);
    csv_add_text(&field, plain.data);
    fputs(field.data, out);
    strbuf_release(&plain);
    strbuf_release(&field);
}

static void export_tables_begin_row(struct export_tables_sheet *sheet)
{
    sheet->column = 0;
    if (sheet->is_csv)
        return;
    sheet->json = json_begin(sheet->exporting->out, false);
    json_object(&sheet->json, NULL);
}

static void export_tables_end_row(struct export_tables_sheet *sheet)
{
    if (!sheet->is_csv)
        json_end(&sheet->json);
    putc_unlocked('\n', sheet->exporting->out);
}

/* The comma before a field; false: its name has been written in its place. */
static bool export_tables_begin_field(struct export_tables_sheet *sheet, const char *name)
{
    if (sheet->column++)
        putc_unlocked(',', sheet->exporting->out);
    if (sheet->is_head)
        export_tables_write_quoted(sheet->exporting->out, name);
    return !sheet->is_head;
}

static void export_tables_text(struct export_tables_sheet *sheet, const char *name,
                               const char *value)
{
    if (!sheet->is_csv)
        json_string(&sheet->json, name, value);
    else if (export_tables_begin_field(sheet, name) && value)
        export_tables_write_quoted(sheet->exporting->out, value);
}

static void export_tables_figure(struct export_tables_sheet *sheet, const char *name,
                                 struct figure value)
{
    char digits[DIGITS_MOST], *end = digits + sizeof digits;
    uint64_t number;
    if (!sheet->is_csv)
        json_figure(&sheet->json, name, value);
    else if (export_tables_begin_field(sheet, name) && figure_get(value, &number))
        for (char *at = digits_decimal(end, number); at < end; at++)
            putc_unlocked(*at, sheet->exporting->out);
}

static void export_tables_number(struct export_tables_sheet *sheet, const char *name,
                                 uint64_t value)
{
    export_tables_figure(sheet, name, figure_of(value));
}

static void export_tables_metrics_of(struct export_tables_sheet *sheet,
                                     const struct call_metrics *metrics)
{
    for (size_t i = 0; i < sheet->metrics.count; i++)
        export_tables_figure(sheet, sheet->metrics.entries[i]->column,
                             metric_value(sheet->metrics.entries[i], metrics));
}

static void export_tables_place_of(struct export_tables_sheet *sheet, struct frame frame,
                                   bool with_line)
{
    uint32_t line;
    struct strbuf path = STRBUF_INIT;
    const char *file = frame_file(sheet->exporting->profile, frame, &line);
    export_add_file(&path, sheet->exporting, file);
    export_tables_text(sheet, "file", file ? path.data : NULL);
    if (with_line)
        export_tables_figure(sheet, "line", line ? figure_of(line) : FIGURE_UNKNOWN);
    export_tables_text(sheet, "module", frame_module(sheet->exporting->profile, frame));
    strbuf_release(&path);
}

/* ---- Functions ----------------------------------------------------------------------------- */

static void export_tables_write_function(struct export_tables_sheet *sheet,
                                         const struct function_row *row)
{
    const struct export_options *options = sheet->exporting->options;
    const struct profile *profile = sheet->exporting->profile;
    struct merged_metrics merged = options->inclusive ? row->inclusive : row->exclusive;
    struct frame frame = frame_at(row->code, row->line);
    struct strbuf name = STRBUF_INIT;
    merged_settle(&merged, &profile->program.total);
    export_add_key_name(&name, profile, row->key, frame, NULL, 0);
    export_tables_begin_row(sheet);
    export_tables_text(sheet, "function", name.data);
    export_tables_place_of(sheet, frame, false);
    export_tables_number(sheet, "paths", merged.paths);
    export_tables_metrics_of(sheet, &merged.metrics);
    export_tables_end_row(sheet);
    strbuf_release(&name);
}

static int export_tables_write_functions(struct export_tables_sheet *sheet)
{
    struct functions functions;
    const struct exporting *exporting = sheet->exporting;
    int error =
        functions_init(&functions, exporting->profile, exporting->hidden, exporting->wanted);
    if (error)
        return error;
    for (size_t i = 0; i < functions.count; i++)
        if (exporting->options->inclusive || functions.rows[i].exclusive.paths)
            export_tables_write_function(sheet, &functions.rows[i]);
    functions_release(&functions);
    return 0;
}

/* ---- Paths --------------------------------------------------------------------------------- */

/* "main;run;load": outermost first. */
static void export_tables_stack_text(struct export_tables_sheet *sheet,
                                     const struct export_stack *stack, struct strbuf *out)
{
    for (size_t i = stack->count; i-- > 0;) {
        if (out->length)
            strbuf_add_char(out, ';');
        export_add_line_name(out, sheet->exporting->profile, stack->frames[i], ";", ':');
    }
}

static void export_tables_write_path(struct export_tables_sheet *sheet, uint32_t node,
                                     const struct call_metrics *metrics, struct export_stack *stack)
{
    struct strbuf name = STRBUF_INIT, all = STRBUF_INIT;
    export_stack_take(stack, sheet->exporting, node);
    frame_add_name(&name, sheet->exporting->profile, stack->frames[0]);
    export_tables_stack_text(sheet, stack, &all);
    export_tables_begin_row(sheet);
    export_tables_number(sheet, "path", node);
    export_tables_text(sheet, "function", name.data);
    export_tables_place_of(sheet, stack->frames[0], true);
    export_tables_text(sheet, "stack", all.data);
    export_tables_metrics_of(sheet, metrics);
    export_tables_end_row(sheet);
    strbuf_release(&name);
    strbuf_release(&all);
}

static void export_tables_write_paths(struct export_tables_sheet *sheet)
{
    const struct profile *profile = sheet->exporting->profile;
    struct export_stack stack = EXPORT_STACK_INIT;
    struct profile_site room;
    for (size_t i = 0; i < profile->site_count; i++)
        if (export_wants(sheet->exporting, i))
            export_tables_write_path(sheet, profile_site_path(profile, i),
                                     &profile_site_at(profile, i, &room)->metrics, &stack);
    export_stack_release(&stack);
}

/* ---- Timeline ------------------------------------------------------------------------------ */

static void export_tables_level(struct export_tables_sheet *sheet, const char *lowest,
                                const char *highest, const struct timeline_level *of)
{
    export_tables_figure(sheet, lowest, of->min);
    export_tables_figure(sheet, highest, of->max);
}

static void export_tables_write_interval(struct export_tables_sheet *sheet, uint64_t start_ns,
                                         const struct timeline_bucket *bucket)
{
    const struct timeline_level none = {FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    export_tables_begin_row(sheet);
    export_tables_number(sheet, "start_ns", start_ns);
    export_tables_level(sheet, "requested_min", "requested_max",
                        export_is_of(sheet->exporting, MEMORY_HEAP) ? &bucket->requested : &none);
    export_tables_level(sheet, "mapped_min", "mapped_max", &bucket->mapped);
    export_tables_level(sheet, "requested_and_mapped_min", "requested_and_mapped_max",
                        &bucket->all);
    export_tables_level(sheet, "blocks_min", "blocks_max", &bucket->blocks);
    export_tables_level(sheet, "physical_min", "physical_max", &bucket->physical);
    export_tables_level(sheet, "virtual_min", "virtual_max", &bucket->virt);
    export_tables_level(sheet, "tool_min", "tool_max", &bucket->tool);
    export_tables_figure(sheet, "alloc_count", bucket->alloc_count);
    export_tables_figure(sheet, "alloc_bytes", bucket->alloc_bytes);
    export_tables_figure(sheet, "free_count", bucket->free_count);
    export_tables_figure(sheet, "free_bytes", bucket->free_bytes);
    export_tables_end_row(sheet);
}

static void export_tables_write_timeline(struct export_tables_sheet *sheet)
{
    const struct profile *profile = sheet->exporting->profile;
    for (size_t i = 0; i < profile->bucket_count; i++)
        export_tables_write_interval(sheet, i * profile->bucket_ns, &profile->buckets[i]);
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* The names of the columns are those of a row that stands for none. */
static void export_tables_write_head(struct export_tables_sheet *sheet, enum export_rows rows)
{
    static const struct timeline_bucket no_bucket;
    static const struct function_row no_row;
    struct export_stack stack = EXPORT_STACK_INIT;
    sheet->is_head = true;
    if (rows == EXPORT_TIMELINE)
        export_tables_write_interval(sheet, 0, &no_bucket);
    else if (rows == EXPORT_PATHS)
        export_tables_write_path(sheet, 0, &sheet->exporting->profile->program.total, &stack);
    else
        export_tables_write_function(sheet, &no_row);
    sheet->is_head = false;
    export_stack_release(&stack);
}

static int export_tables_write(struct exporting *exporting, bool is_csv)
{
    struct export_tables_sheet sheet = {.exporting = exporting, .is_csv = is_csv};
    enum export_rows rows = exporting->options->rows;
    int error = 0;
    export_columns_init(&sheet.metrics, exporting->profile, false);
    if (is_csv)
        export_tables_write_head(&sheet, rows);
    if (rows == EXPORT_TIMELINE)
        export_tables_write_timeline(&sheet);
    else if (rows == EXPORT_PATHS)
        export_tables_write_paths(&sheet);
    else
        error = export_tables_write_functions(&sheet);
    return error;
}

int export_csv(struct exporting *exporting)
{
    return export_tables_write(exporting, true);
}

int export_jsonl(struct exporting *exporting)
{
    return export_tables_write(exporting, false);
}

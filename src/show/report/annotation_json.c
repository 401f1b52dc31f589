/* Writes annotated source as JSON (doc ANNOTATE-JSON.md describes every member). It writes
 * either the overview of files, or one file with its lines and what is called from each. */
#include "report/annotation.h"

#include <stdlib.h>
#include <string.h>
#include "model/figure_json.h"
#include "base/text.h"

struct annotation_writer {
    struct json json;
    const struct annotation *annotation;
};

static void annotation_json_write_sums(struct annotation_writer *writer, const char *key,
                                       const struct figure *sums)
{
    json_object(&writer->json, key);
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        json_figure(&writer->json, metrics[i].name, sums[i]);
    json_end(&writer->json);
}

static void annotation_json_write_both(struct annotation_writer *writer,
                                       const struct line_sums *sums)
{
    annotation_json_write_sums(writer, "exclusive", sums->exclusive);
    annotation_json_write_sums(writer, "inclusive", sums->inclusive);
}

static void annotation_json_write_number(struct annotation_writer *writer, uint32_t number)
{
    if (number)
        json_unsigned(&writer->json, "line", number);
    else
        json_null(&writer->json, "line");
}

/* The text as it is, but for bytes that are no UTF-8. */
static void annotation_json_write_text(struct annotation_writer *writer,
                                       const struct source_text *text, uint32_t number)
{
    const char *bytes;
    size_t length;
    char *copy = source_text_line(text, number, &bytes, &length) ? strndup(bytes, length) : NULL;
    json_string(&writer->json, "text", copy);
    free(copy);
}

static void annotation_json_write_callee(struct annotation_writer *writer,
                                         const struct source_line *line)
{
    if (!figure_positive(line->callee_value)) {
        json_null(&writer->json, "callee");
        return;
    }
    struct strbuf name = STRBUF_INIT;
    frame_add_name(&name, writer->annotation->profile, line->callee);
    json_object(&writer->json, "callee");
    json_string(&writer->json, "function", name.data);
    json_figure(&writer->json, "value", line->callee_value);
    json_end(&writer->json);
    strbuf_release(&name);
}

static void annotation_json_write_line(struct annotation_writer *writer,
                                       const struct source_line *line,
                                       const struct source_text *text, bool with_file)
{
    const struct profile *profile = writer->annotation->profile;
    uint32_t function = profile->lines[line->of].function;
    json_object(&writer->json, NULL);
    if (with_file)
        json_string(&writer->json, "file", writer->annotation->lines.files[line->file].name);
    annotation_json_write_number(writer, line->number);
    json_string(&writer->json, "function", function ? profile->functions[function].name : NULL);
    annotation_json_write_text(writer, text, line->number);
    annotation_json_write_both(writer, &line->sums);
    annotation_json_write_callee(writer, line);
    json_end(&writer->json);
}

static void annotation_json_write_plain_line(struct annotation_writer *writer, uint32_t number)
{
    json_object(&writer->json, NULL);
    annotation_json_write_number(writer, number);
    annotation_json_write_text(writer, &writer->annotation->text, number);
    json_end(&writer->json);
}

/* Lines with metrics. With --full, and around FILE:LINE, also lines without. */
static void annotation_json_write_lines(struct annotation_writer *writer)
{
    const struct annotation *annotation = writer->annotation;
    const struct source_line *line = annotation->lines.lines + annotation->file->first;
    const struct source_line *end = line + annotation->file->count;
    bool full = annotation->options->full, plain = full || annotation->exact;
    uint32_t first = full ? 0 : annotation->first, last = full ? UINT32_MAX : annotation->last;
    size_t count = annotation->text.line_count;
    uint32_t number = first ? first : 1;
    json_array(&writer->json, "lines");
    for (; line < end; line++) {
        if (line->number < first || line->number > last)
            continue;
        for (; plain && number < line->number && number <= count; number++)
            annotation_json_write_plain_line(writer, number);
        annotation_json_write_line(writer, line, &annotation->text, false);
        number = line->number + 1;
    }
    for (; plain && number <= count && number <= last; number++)
        annotation_json_write_plain_line(writer, number);
    json_end(&writer->json);
}

static void annotation_json_write_file(struct annotation_writer *writer)
{
    static const char *const origins[] = {NULL, "embedded", "disk"};
    const struct annotation *annotation = writer->annotation;
    const struct source_text *text = &annotation->text;
    json_string(&writer->json, "file", annotation->file->name);
    json_string(&writer->json, "function", annotation->function);
    json_string(&writer->json, "text_from", origins[text->origin]);
    json_bool(&writer->json, "text_changed", text->changed);
    json_string(&writer->json, "note", text->note.length ? text->note.data : NULL);
    annotation_json_write_both(writer, &annotation->file->sums);
    annotation_json_write_lines(writer);
}

static void annotation_json_write_overview(struct annotation_writer *writer)
{
    const struct annotation *annotation = writer->annotation;
    size_t max = annotation->options->top;
    const struct source_file **files = calloc(max + 1, sizeof *files);
    const struct source_line **lines = calloc(max + 1, sizeof *lines);
    size_t count = files ? annotate_top_files(annotation, files, max) : 0;
    json_array(&writer->json, "files");
    for (size_t i = 0; i < count; i++) {
        json_object(&writer->json, NULL);
        json_string(&writer->json, "file", files[i]->name);
        annotation_json_write_both(writer, &files[i]->sums);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    count = lines ? annotate_top_lines(annotation, lines, max) : 0;
    json_array(&writer->json, "lines");
    for (size_t i = 0; i < count; i++) {
        struct source_text text;
        source_text_open(&text, annotation->profile, annotation->lines.files[lines[i]->file].path,
                         annotation->options->paths);
        annotation_json_write_line(writer, lines[i], &text, true);
        source_text_close(&text);
    }
    json_end(&writer->json);
    free(files);
    free(lines);
}

int annotation_json(FILE *out, const struct annotation *annotation)
{
    struct annotation_writer writer = {json_begin(out, true), annotation};
    json_object(&writer.json, NULL);
    json_string(&writer.json, "metric", metrics[annotation->options->metric].name);
    json_string(&writer.json, "filter", annotation->options->filter);
    if (annotation->profile->sample_bytes)
        json_unsigned(&writer.json, "sample_bytes", annotation->profile->sample_bytes);
    else
        json_null(&writer.json, "sample_bytes");
    annotation_json_write_sums(&writer, "totals", annotation->lines.totals);
    annotation_json_write_sums(&writer, "placed", annotation->lines.placed);
    if (annotation->file)
        annotation_json_write_file(&writer);
    else
        annotation_json_write_overview(&writer);
    json_end(&writer.json);
    return json_finish(&writer.json);
}

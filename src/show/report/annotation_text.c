/* Annotated source for people.
 *
 *   exclusive inclusive   share     count  line
 *                                            75 │ void Mesh::add_cell(const Cell &cell)
 *                                            76 │ {
 *    30.0 MiB  30.0 MiB  66.0 %    1.20 k    77 │     cells_.push_back(cell);
 *                                          … 120 lines …
 *
 * A line that a call path passes through has an inclusive figure, the one that it ends at in the
 * program's own code an exclusive one; lines without any have none. */
#include "report/annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/text_table.h"
#include "aggregate/estimate.h"
#include "aggregate/facts.h"
#include "format/names.h"
#include "report/report.h"
#include "format/style.h"

enum {
    FIGURE_COLUMNS = 10, /* "1023 KiB", right-aligned, with the space before it */
    SHARE_COLUMNS = 8,
    OWN_COLUMNS = 3,
    FOLD_LEAST = 4,          /* fewer lines than this are shown rather than folded */
    ROOM_FOR_TEXT = 55,      /* room that is left for text before columns are added unasked */
    EXTRA_COLUMNS_MAX = 3,   /* that are added unasked */
    CALLEE_LEAST_PERCENT = 5 /* of the metric: lines with less do not name their callee */
};

struct annotation_text {
    struct style style;
    struct strbuf out;
    const struct annotation *annotation;
    size_t metric;
    size_t extra[METRIC_CHOICES], extra_count;
    size_t number_columns, gutter; /* gutter: the width of all to the left of the text */
    /* exclusive, inclusive, share, the extra ones, and the number of the line */
    struct text_column columns[OWN_COLUMNS + METRIC_CHOICES + 1];
    struct text_row row; /* the next cell */
};

/* ---- Columns ------------------------------------------------------------------------------- */

static void annotation_text_choose_extra(struct annotation_text *text)
{
    static const char *const usual[] = {"count", "bytes", "temporary", "leaked", "peak"};
    const struct call_metrics *total = &text->annotation->profile->program.total;
    const struct annotate_options *options = text->annotation->options;
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        if (options->with[i] && i != text->metric)
            text->extra[text->extra_count++] = i;
    size_t asked = text->extra_count;
    for (size_t i = 0; !asked && i < sizeof usual / sizeof *usual; i++)
        for (size_t j = 0; j < METRIC_CHOICES; j++) {
            size_t left = 2 * FIGURE_COLUMNS + SHARE_COLUMNS + text->number_columns + 3 +
                          (text->extra_count + 1) * FIGURE_COLUMNS;
            if (!strcmp(metrics[j].name, usual[i]) && j != text->metric &&
                metric_is_known(&metrics[j], total) && text->extra_count < EXTRA_COLUMNS_MAX &&
                left + ROOM_FOR_TEXT <= text->style.columns)
                text->extra[text->extra_count++] = j;
        }
}

/* "~" before what was estimated from a sample. */
static struct human annotation_text_figure(const struct annotation_text *text, size_t metric,
                                           struct figure value)
{
    struct human plain = metric_human(&metrics[metric], value), estimated;
    if (!estimate_is(text->annotation->profile) || metrics[metric].exact || !figure_positive(value))
        return plain;
    snprintf(estimated.text, sizeof estimated.text, "~%.*s", (int)sizeof estimated.text - 2,
             plain.text);
    return estimated;
}

/* Is there a value to show? An unknown value is shown as such where the metric adds up. An unknown
 * extreme means that there is no block. */
static bool annotation_text_has(size_t metric, struct figure value)
{
    return metric_adds_up(&metrics[metric]) ? !figure_zero(value)
                                            : metric_is_any(&metrics[metric], value);
}

static void annotation_text_add_figure(struct annotation_text *text, size_t metric,
                                       struct figure value, bool strong)
{
    if (figure_zero(value) || !annotation_text_has(metric, value)) {
        text_row_add(&text->row, "");
        return;
    }
    style_begin(&text->out, &text->style, strong ? TONE_FIGURE : TONE_AREA);
    text_row_add(&text->row, annotation_text_figure(text, metric, value).text);
    style_end(&text->out, &text->style);
}

static void annotation_text_add_figures(struct annotation_text *text, const struct line_sums *sums)
{
    size_t metric = text->metric;
    bool own = metric_is_any(&metrics[metric], sums->exclusive[metric]);
    struct figure inclusive = sums->inclusive[metric];
    text->row = text_row_begin(&text->out, text->columns);
    annotation_text_add_figure(text, metric, sums->exclusive[metric], true);
    annotation_text_add_figure(text, metric, inclusive, own);
    double total = figure_double(text->annotation->lines.totals[metric]);
    text_row_add(&text->row, figure_zero(inclusive) || !metric_adds_up(&metrics[metric])
                                 ? ""
                                 : human_percent(figure_double(inclusive), total).text);
    for (size_t i = 0; i < text->extra_count; i++)
        annotation_text_add_figure(text, text->extra[i], sums->inclusive[text->extra[i]], false);
}

static struct text_column *annotation_text_number_column(struct annotation_text *text)
{
    return &text->columns[OWN_COLUMNS + text->extra_count];
}

static void annotation_text_lay_out(struct annotation_text *text)
{
    static const struct text_column own[OWN_COLUMNS] = {
        {"exclusive", FIGURE_COLUMNS, TEXT_RIGHT, 0},
        {"inclusive", FIGURE_COLUMNS, TEXT_RIGHT, 0},
        {"share", SHARE_COLUMNS, TEXT_RIGHT, 0}};
    memcpy(text->columns, own, sizeof own);
    for (size_t i = 0; i < text->extra_count; i++)
        text->columns[OWN_COLUMNS + i] =
            (struct text_column){metrics[text->extra[i]].name, FIGURE_COLUMNS, TEXT_RIGHT, 0};
    *annotation_text_number_column(text) =
        (struct text_column){"line", text->number_columns + 1, TEXT_RIGHT, 0};
}

static void annotation_text_add_heading(struct annotation_text *text, const char *last)
{
    struct strbuf line = STRBUF_INIT;
    annotation_text_number_column(text)->heading = last;
    text_row_add_headings(&line, text->columns, OWN_COLUMNS + text->extra_count + 1);
    strbuf_add_char(&line, '\n');
    style_add(&text->out, &text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static bool annotation_text_has_figures(const struct annotation_text *text,
                                        const struct source_line *line)
{
    if (!line)
        return false;
    bool any = metric_is_any(&metrics[text->metric], line->sums.inclusive[text->metric]);
    for (size_t i = 0; i < text->extra_count; i++)
        any |= metric_is_any(&metrics[text->extra[i]], line->sums.inclusive[text->extra[i]]);
    return any;
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void annotation_text_add_number(struct annotation_text *text, uint32_t number)
{
    struct strbuf gutter = STRBUF_INIT;
    char digits[16] = "?";
    if (number)
        snprintf(digits, sizeof digits, "%u", number);
    text_cell_add(&gutter, digits, *annotation_text_number_column(text));
    strbuf_add_string(&gutter, style_sign(&text->style, " │ ", " | "));
    style_add(&text->out, &text->style,
              number && number == text->annotation->wanted ? TONE_TITLE : TONE_DIM, gutter.data);
    strbuf_release(&gutter);
}

static size_t annotation_text_columns(const struct annotation_text *text)
{
    return text->style.columns > text->gutter + 16 ? text->style.columns - text->gutter : 16;
}

/* Where the text is missing, the function's name stands in its place. */
static void annotation_text_add_function_of(struct annotation_text *text,
                                            const struct source_line *line)
{
    const struct profile *profile = text->annotation->profile;
    uint32_t function = profile->lines[line->of].function;
    struct strbuf name = STRBUF_INIT;
    name_add_short(&name, function ? profile->functions[function].name : "?",
                   annotation_text_columns(text) - 5);
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_addf(&text->out, "(in %s)", name.data);
    style_end(&text->out, &text->style);
    strbuf_release(&name);
}

/* The last part of a name, which a call of it has in its text: "std::vector<int>::push_back". */
static void annotation_text_add_last_word(struct strbuf *out, const char *name)
{
    size_t length, begin = 0;
    const char *core = name_core(name, &length);
    int angles = 0;
    for (size_t i = 0; i < length; i++) {
        angles += core[i] == '<';
        angles -= core[i] == '>' && angles;
        if (!angles && core[i] == ':')
            begin = i + 1;
    }
    size_t end = begin;
    while (end < length && core[end] != '<')
        end++;
    strbuf_add(out, core + begin, end - begin);
}

static bool annotation_text_tells(const struct source_text *source, uint32_t number,
                                  const char *name)
{
    const char *bytes;
    size_t length;
    struct strbuf word = STRBUF_INIT;
    annotation_text_add_last_word(&word, name);
    /* "operator new" is "new" in the text, "operator+=" is "+=". */
    const char *wanted = word.data;
    if (!strncmp(wanted, "operator", 8))
        wanted += 8 + (wanted[8] == ' ');
    size_t of = strlen(wanted);
    if (of > 1 && wanted[of - 1] == '_') /* a Fortran procedure outside modules */
        of--;
    bool tells = false;
    if (source_text_line(source, number, &bytes, &length))
        for (size_t i = 0; of && i + of <= length && !tells; i++)
            tells = !strncasecmp(bytes + i, wanted, of);
    strbuf_release(&word);
    return tells;
}

/* "98.0 % std::vector<…>::push_back", if the line's own text does not contain that name. */
static void annotation_text_add_callee_of(struct strbuf *out, const struct annotation_text *text,
                                          const struct source_text *source,
                                          const struct source_line *line, size_t columns)
{
    const struct annotation *annotation = text->annotation;
    double value = figure_double(line->sums.inclusive[text->metric]);
    double total = figure_double(annotation->lines.totals[text->metric]);
    double callee = figure_double(line->callee_value);
    if (!annotation->options->callees || !(callee > 0) ||
        value * 100 < total * CALLEE_LEAST_PERCENT)
        return;
    struct strbuf name = STRBUF_INIT;
    frame_add_name(&name, annotation->profile, line->callee);
    bool most = callee >= 0.9 * value;
    if (!most || !annotation_text_tells(source, line->number, name.data)) {
        size_t before = out->length;
        if (!most)
            strbuf_addf(out, "%s ", human_percent(callee, value).text);
        size_t used = out->length - before;
        name_add_short(out, name.data, columns > used + 12 ? columns - used : 12);
    }
    strbuf_release(&name);
}

/* The callee stands below the text, with the same indentation. */
static void annotation_text_add_callee(struct annotation_text *text, const struct source_line *line)
{
    const char *bytes;
    size_t length, blanks = 0, columns = annotation_text_columns(text);
    struct strbuf callee = STRBUF_INIT, indent = STRBUF_INIT;
    if (source_text_line(&text->annotation->text, line->number, &bytes, &length))
        source_text_add_line(&indent, bytes, length, columns / 2, "");
    while (indent.data[blanks] == ' ')
        blanks++;
    annotation_text_add_callee_of(&callee, text, &text->annotation->text, line,
                                  columns - blanks - 2);
    if (callee.length) {
        strbuf_add_repeated(&text->out, " ", text->gutter - 2);
        style_begin(&text->out, &text->style, TONE_DIM);
        strbuf_addf(&text->out, "%s ", style_sign(&text->style, "│", "|"));
        strbuf_add_repeated(&text->out, " ", blanks);
        strbuf_addf(&text->out, "%s %s", style_sign(&text->style, "→", ">"), callee.data);
        style_end(&text->out, &text->style);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&callee);
    strbuf_release(&indent);
}

static void annotation_text_add_line(struct annotation_text *text, uint32_t number,
                                     const struct source_line *line)
{
    const struct annotation *annotation = text->annotation;
    const char *bytes;
    size_t length;
    bool figures = annotation_text_has_figures(text, line);
    if (figures)
        annotation_text_add_figures(text, &line->sums);
    else
        strbuf_add_repeated(&text->out, " ", text->gutter - text->number_columns - 4);
    annotation_text_add_number(text, number);
    if (source_text_line(&annotation->text, number, &bytes, &length)) {
        bool strong =
            figures && metric_is_any(&metrics[text->metric], line->sums.exclusive[text->metric]);
        struct strbuf shown = STRBUF_INIT;
        source_text_add_line(&shown, bytes, length, annotation_text_columns(text),
                             style_sign(&text->style, "…", "~"));
        if (strong)
            style_add(&text->out, &text->style, TONE_TITLE, shown.data);
        else
            strbuf_add_string(&text->out, shown.data);
        strbuf_release(&shown);
    } else if (line) {
        annotation_text_add_function_of(text, line);
    }
    while (text->out.length && text->out.data[text->out.length - 1] == ' ')
        strbuf_truncate(&text->out, text->out.length - 1);
    strbuf_add_char(&text->out, '\n');
    if (figures)
        annotation_text_add_callee(text, line);
}

static void annotation_text_add_fold(struct annotation_text *text, size_t lines)
{
    struct strbuf fold = STRBUF_INIT;
    const char *dots = style_sign(&text->style, "…", "...");
    strbuf_add_repeated(&fold, " ", text->gutter - text->number_columns - 3);
    strbuf_addf(&fold, "%s %zu line%s %s\n", dots, lines, lines == 1 ? "" : "s", dots);
    style_add(&text->out, &text->style, TONE_DIM, fold.data);
    strbuf_release(&fold);
}

/* ---- A file -------------------------------------------------------------------------------- */

/* Walks the lines of the file that have figures, upwards. */
struct annotation_cursor {
    const struct source_line *at, *end;
};

static struct annotation_cursor annotation_text_cursor_begin(const struct annotation *annotation)
{
    const struct source_line *first = annotation->lines.lines + annotation->file->first;
    return (struct annotation_cursor){first, first + annotation->file->count};
}

/* The next line from `number` on that has figures. */
static const struct source_line *annotation_text_cursor_next(struct annotation_cursor *cursor,
                                                             const struct annotation_text *text,
                                                             uint32_t number)
{
    while (cursor->at < cursor->end &&
           (cursor->at->number < number || !annotation_text_has_figures(text, cursor->at)))
        cursor->at++;
    return cursor->at < cursor->end ? cursor->at : NULL;
}

/* The lines that are shown: within the context of one with figures, or the function's head. */
static uint32_t annotation_text_next_shown(const struct annotation_text *text,
                                           struct annotation_cursor *cursor, uint32_t number,
                                           uint32_t last_with_figures)
{
    const struct annotation *annotation = text->annotation;
    const struct annotate_options *options = annotation->options;
    size_t context = options->context == SIZE_MAX ? 3 : options->context;
    bool head = annotation->function && number == annotation->first;
    if (options->full || annotation->exact || head ||
        (last_with_figures && number - last_with_figures <= context))
        return number;
    const struct source_line *next = annotation_text_cursor_next(cursor, text, number);
    if (!next)
        return UINT32_MAX;
    uint32_t from = next->number > context ? next->number - (uint32_t)context : 1;
    return from > number ? from : number;
}

static void annotation_text_add_text_lines(struct annotation_text *text)
{
    const struct annotation *annotation = text->annotation;
    struct annotation_cursor cursor = annotation_text_cursor_begin(annotation);
    size_t count = annotation->text.line_count;
    bool whole = annotation->options->full;
    uint32_t first = whole || !annotation->first ? 1 : annotation->first;
    uint32_t end = whole || annotation->last >= count ? (uint32_t)count : annotation->last;
    uint32_t last_with_figures = 0;
    for (uint32_t number = first; number <= end; number++) {
        uint32_t shown = annotation_text_next_shown(text, &cursor, number, last_with_figures);
        uint32_t until = shown > end ? end + 1 : shown;
        if (until - number >= FOLD_LEAST) {
            annotation_text_add_fold(text, until - number);
            number = until;
        }
        for (; number < until; number++)
            annotation_text_add_line(text, number, NULL);
        if (number > end)
            break;
        const struct source_line *line =
            source_lines_find(&annotation->lines, annotation->file, number);
        if (annotation_text_has_figures(text, line))
            last_with_figures = number;
        annotation_text_add_line(text, number, line);
    }
}

/* Lines with figures beyond the end of the text; all lines with figures where there is no text. */
static void annotation_text_add_textless_lines(struct annotation_text *text)
{
    const struct annotation *annotation = text->annotation;
    struct annotation_cursor cursor = annotation_text_cursor_begin(annotation);
    bool all = annotation->options->full;
    for (; cursor.at < cursor.end; cursor.at++) {
        uint32_t number = cursor.at->number;
        bool known = number && number <= annotation->text.line_count;
        bool wanted = all || (number >= annotation->first && number <= annotation->last);
        if (!known && wanted && annotation_text_has_figures(text, cursor.at))
            annotation_text_add_line(text, number, cursor.at);
    }
}

static uint32_t annotation_text_last_number(const struct annotation *annotation)
{
    const struct source_file *file = annotation->file;
    uint32_t last = annotation->lines.lines[file->first + file->count - 1].number;
    size_t count = annotation->text.line_count;
    uint32_t end =
        annotation->options->full || annotation->last > count ? (uint32_t)count : annotation->last;
    return end > last ? end : last;
}

static void annotation_text_set_gutter(struct annotation_text *text)
{
    text->number_columns = 4;
    for (uint32_t rest = text->annotation->file ? annotation_text_last_number(text->annotation) : 0;
         rest >= 10000; rest /= 10)
        text->number_columns++;
    annotation_text_choose_extra(text);
    annotation_text_lay_out(text);
    text->gutter =
        (2 + text->extra_count) * FIGURE_COLUMNS + SHARE_COLUMNS + text->number_columns + 4;
}

static void annotation_text_add_wrapped_note(struct annotation_text *text, const char *note,
                                             enum tone tone)
{
    style_begin(&text->out, &text->style, tone);
    strbuf_add_string(&text->out, "  ");
    text_add_wrapped(&text->out, note, 2, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
}

static void annotation_text_add_safe(struct annotation_text *text, enum tone tone,
                                     const char *string)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, string);
    style_add(&text->out, &text->style, tone, safe.data);
    strbuf_release(&safe);
}

static void annotation_text_add_estimate(struct annotation_text *text)
{
    const struct profile *profile = text->annotation->profile;
    if (!estimate_is(profile))
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_add_string(&line, "estimates from a sample: ");
    estimate_add_sentence(&line, profile);
    strbuf_add_string(&line, "; the smaller a figure, the less sure it is");
    annotation_text_add_wrapped_note(text, line.data, TONE_WARNING);
    strbuf_release(&line);
}

static void annotation_text_add_file_head(struct annotation_text *text)
{
    const struct annotation *annotation = text->annotation;
    const struct source_file *file = annotation->file;
    struct figure inclusive = file->sums.inclusive[text->metric];
    struct strbuf line = STRBUF_INIT;
    if (annotation->function) {
        annotation_text_add_safe(text, TONE_TITLE, annotation->function);
        strbuf_add_string(&text->out, " in ");
    }
    annotation_text_add_safe(text, TONE_TITLE, annotate_name(annotation, file));
    strbuf_add_char(&text->out, '\n');
    metric_add_title(&line, &metrics[text->metric], annotation->profile, false);
    strbuf_addf(&line, ": %s", annotation_text_figure(text, text->metric, inclusive).text);
    strbuf_addf(
        &line, " of %s through this file",
        annotation_text_figure(text, text->metric, annotation->lines.totals[text->metric]).text);
    strbuf_addf(
        &line, ", %s by its own lines",
        annotation_text_figure(text, text->metric, file->sums.exclusive[text->metric]).text);
    if (annotation->options->filter)
        strbuf_addf(&line, "; only call paths that pass the filter %s",
                    annotation->options->filter);
    annotation_text_add_wrapped_note(text, line.data, TONE_DIM);
    annotation_text_add_estimate(text);
    bool wrong = annotation->text.changed || annotation->text.origin == SOURCE_ORIGIN_NONE;
    if (annotation->text.note.length)
        annotation_text_add_wrapped_note(text, annotation->text.note.data,
                                         wrong ? TONE_WARNING : TONE_DIM);
    strbuf_release(&line);
}

static void annotation_text_add_file(struct annotation_text *text)
{
    const struct annotation *annotation = text->annotation;
    annotation_text_set_gutter(text);
    annotation_text_add_file_head(text);
    strbuf_add_char(&text->out, '\n');
    annotation_text_add_heading(text, "line");
    size_t before = text->out.length;
    if (annotation->text.line_count)
        annotation_text_add_text_lines(text);
    size_t after = text->out.length;
    annotation_text_add_textless_lines(text);
    if (annotation->text.line_count && text->out.length > after)
        annotation_text_add_wrapped_note(
            text,
            "the last lines are beyond the end of this text: it is not the one "
            "that was compiled",
            TONE_WARNING);
    if (text->out.length == before)
        annotation_text_add_wrapped_note(text, "no line of this has such figures", TONE_DIM);
}

/* ---- All files ----------------------------------------------------------------------------- */

static void annotation_text_add_files(struct annotation_text *text)
{
    size_t max = text->annotation->options->top;
    const struct source_file **top = calloc(max + 1, sizeof *top);
    size_t count = top ? annotate_top_files(text->annotation, top, max) : 0;
    size_t used = text->gutter - text->number_columns - 4 + 2;
    style_add(&text->out, &text->style, TONE_TITLE, "Files\n");
    annotation_text_add_heading(text, "file");
    for (size_t i = 0; i < count; i++) {
        struct strbuf place = STRBUF_INIT;
        annotation_text_add_figures(text, &top[i]->sums);
        strbuf_add_string(&text->out, "  ");
        name_add_place(&place, annotate_name(text->annotation, top[i]), 0,
                       text->style.columns > used + 16 ? text->style.columns - used : 16);
        strbuf_add_string(&text->out, place.data);
        strbuf_add_char(&text->out, '\n');
        strbuf_release(&place);
    }
    size_t others = 0, metric = text->metric;
    for (size_t i = 0; i < text->annotation->lines.file_count; i++)
        others += metric_is_any(&metrics[metric],
                                text->annotation->lines.files[i].sums.inclusive[metric]);
    if (others > count) {
        strbuf_add_repeated(&text->out, " ", used);
        strbuf_addf(&text->out, "%zu more file%s\n", others - count,
                    others - count == 1 ? "" : "s");
    }
    free(top);
}

/* The text of one line without its indentation. */
static void annotation_text_add_snippet(struct annotation_text *text,
                                        const struct source_line *line,
                                        const struct source_text *source, size_t used)
{
    const char *bytes;
    size_t length;
    if (!source_text_line(source, line->number, &bytes, &length))
        return;
    while (length && (*bytes == ' ' || *bytes == '\t'))
        bytes++, length--;
    strbuf_add_repeated(&text->out, " ", used);
    source_text_add_line(&text->out, bytes, length,
                         text->style.columns > used + 16 ? text->style.columns - used : 16,
                         style_sign(&text->style, "…", "~"));
    strbuf_add_char(&text->out, '\n');
}

static void annotation_text_add_hot_line(struct annotation_text *text,
                                         const struct source_line *line)
{
    const struct annotation *annotation = text->annotation;
    const struct source_file *file = &annotation->lines.files[line->file];
    const struct profile *profile = annotation->profile;
    uint32_t function = profile->lines[line->of].function;
    size_t used = text->gutter - text->number_columns - 4 + 2;
    size_t room = text->style.columns > used + 16 ? text->style.columns - used : 16;
    struct strbuf place = STRBUF_INIT, name = STRBUF_INIT;
    struct source_text source;
    annotation_text_add_figures(text, &line->sums);
    strbuf_add_string(&text->out, "  ");
    name_add_place(&place, annotate_name(annotation, file), line->number, room);
    style_add(&text->out, &text->style, TONE_TITLE, place.data);
    if (text_width(place.data) + 18 <= room) {
        name_add_short(&name, function ? profile->functions[function].name : "?",
                       room - text_width(place.data) - 2);
        strbuf_add_string(&text->out, "  ");
        style_add(&text->out, &text->style, TONE_DIM, name.data);
    }
    strbuf_add_char(&text->out, '\n');
    source_text_open(&source, profile, file->path, annotation->options->paths);
    annotation_text_add_snippet(text, line, &source, used + 2);
    struct strbuf callee = STRBUF_INIT;
    annotation_text_add_callee_of(&callee, text, &source, line, room - 4);
    if (callee.length) {
        strbuf_add_repeated(&text->out, " ", used + 2);
        style_begin(&text->out, &text->style, TONE_DIM);
        strbuf_addf(&text->out, "%s %s", style_sign(&text->style, "→", ">"), callee.data);
        style_end(&text->out, &text->style);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&callee);
    source_text_close(&source);
    strbuf_release(&place);
    strbuf_release(&name);
}

static void annotation_text_add_lines(struct annotation_text *text)
{
    size_t max = text->annotation->options->top;
    const struct source_line **top = calloc(max + 1, sizeof *top);
    size_t count = top ? annotate_top_lines(text->annotation, top, max) : 0;
    if (count) {
        style_add(&text->out, &text->style, TONE_TITLE, "\nLines that ask for most\n");
        annotation_text_add_heading(text, "line");
    }
    for (size_t i = 0; i < count; i++)
        annotation_text_add_hot_line(text, top[i]);
    free(top);
}

static void annotation_text_add_overview(struct annotation_text *text)
{
    const struct annotation *annotation = text->annotation;
    size_t metric = text->metric;
    struct figure total = annotation->lines.totals[metric];
    struct figure placed = annotation->lines.placed[metric];
    struct figure rest =
        metric_adds_up(&metrics[metric]) ? figure_sub(total, placed) : FIGURE_UNKNOWN;
    annotation_text_set_gutter(text);
    struct strbuf line = STRBUF_INIT;
    facts_add_text(&line, annotation->profile, PROFILE_META_PROGRAM);
    style_add(&text->out, &text->style, TONE_TITLE, line.data);
    strbuf_reset(&line);
    strbuf_add_string(&line, "  ");
    metric_add_title(&line, &metrics[metric], annotation->profile, false);
    strbuf_addf(&line, ": %s\n",
                !annotation_text_has(metric, total)
                    ? metric_none(&metrics[metric], annotation->profile)
                    : annotation_text_figure(text, metric, total).text);
    if (annotation->options->filter)
        strbuf_addf(&line, "only call paths that pass the filter %s\n",
                    annotation->options->filter);
    strbuf_add_string(&text->out, line.data);
    strbuf_reset(&line);
    annotation_text_add_estimate(text);
    if (annotation_text_has(metric, total) && !annotation_text_has(metric, placed)) {
        annotation_text_add_wrapped_note(
            text,
            "nothing of it was asked for by code with line information: compile the "
            "program with -g",
            TONE_WARNING);
    } else if (figure_positive(rest)) {
        strbuf_addf(&line,
                    "%s of it was asked for by code without line information, and is not "
                    "below as exclusive%s",
                    human_percent(figure_double(rest), figure_double(total)).text,
                    figure_less(figure_divide(total, figure_of(2)), rest)
                        ? ": compile with -g to see it"
                        : "");
        annotation_text_add_wrapped_note(text, line.data, TONE_DIM);
    }
    strbuf_release(&line);
    bool any = false;
    for (size_t i = 0; i < annotation->lines.file_count && !any; i++)
        any = metric_is_any(&metrics[metric], annotation->lines.files[i].sums.inclusive[metric]);
    if (!any)
        return;
    strbuf_add_char(&text->out, '\n');
    annotation_text_add_files(text);
    annotation_text_add_lines(text);
}

int annotation_text(FILE *out, const struct annotation *annotation)
{
    const struct annotate_options *options = annotation->options;
    struct annotation_text text = {.style = {options->colour, options->utf8, options->columns},
                                   .out = STRBUF_INIT,
                                   .annotation = annotation,
                                   .metric = (size_t)options->metric};
    if (annotation->file)
        annotation_text_add_file(&text);
    else
        annotation_text_add_overview(&text);
    errno = 0;
    bool written = fwrite(text.out.data, 1, text.out.length, out) == text.out.length;
    int error = written ? 0 : errno ? -errno : -EIO;
    strbuf_release(&text.out);
    return error;
}

/* Finds the source that is to be shown: the function, file or line that was asked for, or the files
 * with most (annotation.h). */
#include "report/annotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "base/text.h"
#include "format/names.h"
#include "report/report.h"

enum {
    CONTEXT_USUAL = 3,
    CONTEXT_OF_LINE = 10,
    CANDIDATES_SHOWN = 4,
    HEADER_LOOK_LINES =
        60, /* lines above a function's first line with figures in which its head is searched */
};

/* ---- Functions ----------------------------------------------------------------------------- */

/* The name without template arguments: "ns::f<int>" → "ns::f". malloc'd. */
static char *annotation_bare_name(const char *name)
{
    size_t length, at = 0;
    const char *core = name_core(name, &length);
    char *bare = malloc(length + 1);
    bool keep_all = memmem(core, length, "operator", 8) != NULL;
    int angles = 0;
    for (size_t i = 0; bare && i < length; i++) {
        angles += !keep_all && core[i] == '<';
        if (!angles)
            bare[at++] = core[i];
        angles -= !keep_all && core[i] == '>' && angles > 0;
    }
    if (bare)
        bare[at] = 0;
    return bare;
}

static const char *annotation_last_component(const char *bare)
{
    const char *last = bare;
    for (const char *at = bare; *at; at++)
        if (at[0] == ':' && at[1] == ':' && at[2] != '{')
            last = at + 2;
    return last;
}

/* Functions of one name in one file are merged: overloads, instances of a template, clones. */
struct annotation_candidate {
    char *bare;
    uint32_t file;        /* index of lines.files */
    uint32_t function;    /* one of them */
    uint32_t first, last; /* lines with figures */
    int rank;             /* how well it fits, 1 is best; 0: not at all */
    struct figure value;  /* the highest metric_rank() of one of its lines */
};
struct annotation_candidates {
    struct annotation_candidate *items;
    size_t count;
};

/* One candidate for each function that has a line with figures, in the file where it has most. */
static int annotation_candidates_init(struct annotation_candidates *candidates,
                                      const struct annotation *annotation)
{
    const struct profile *profile = annotation->profile;
    size_t metric = (size_t)annotation->options->metric;
    struct annotation_candidate *items = calloc(profile->function_count + 1, sizeof *items);
    *candidates = (struct annotation_candidates){items, items ? profile->function_count : 0};
    for (size_t i = 0; items && i < profile->line_count; i++) {
        uint32_t index = annotation->lines.line_of[i], function = profile->lines[i].function;
        if (index == LINES_NONE || !function)
            continue;
        const struct source_line *line = &annotation->lines.lines[index];
        struct annotation_candidate *item = &items[function];
        struct figure rank = metric_rank(&metrics[metric], line->sums.inclusive[metric]);
        bool first = !item->bare, more = figure_compare(item->value, rank) < 0;
        if (first && !(item->bare = annotation_bare_name(profile->functions[function].name)))
            return -ENOMEM;
        if (first || (more && item->file != line->file))
            *item = (struct annotation_candidate){item->bare, line->file, function,    UINT32_MAX,
                                                  0,          0,          figure_of(0)};
        if (more)
            item->value = rank;
    }
    for (size_t i = 0; items && i < profile->line_count; i++) {
        uint32_t index = annotation->lines.line_of[i];
        struct annotation_candidate *item = &items[profile->lines[i].function];
        if (index == LINES_NONE || !item->bare || annotation->lines.lines[index].file != item->file)
            continue;
        uint32_t number = annotation->lines.lines[index].number;
        if (!number)
            continue;
        item->first = number < item->first ? number : item->first;
        item->last = number > item->last ? number : item->last;
    }
    return items ? 0 : -ENOMEM;
}

static void annotation_candidates_release(struct annotation_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        free(candidates->items[i].bare);
    free(candidates->items);
}

static int annotation_rank(const struct profile_function *function, const char *bare,
                           const char *wanted)
{
    size_t length;
    const char *core = name_core(function->name, &length);
    if (!strcmp(function->name, wanted) ||
        (function->linkage && !strcmp(function->linkage, wanted)))
        return 1;
    if ((strlen(wanted) == length && !strncmp(core, wanted, length)) || !strcmp(bare, wanted))
        return 2;
    size_t longer = strlen(bare), shorter = strlen(wanted);
    if (longer > shorter + 2 && !strcmp(bare + longer - shorter, wanted) &&
        !strncmp(bare + longer - shorter - 2, "::", 2))
        return 3;
    return strstr(bare, wanted) || strstr(function->name, wanted) ? 4 : 0;
}

static int annotation_compare_candidates(const void *left, const void *right)
{
    const struct annotation_candidate *a = left, *b = right;
    int unlike = !a->rank - !b->rank;
    if (unlike || (!a->rank && !b->rank))
        return unlike;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int names = strcmp(a->bare, b->bare);
    if (names)
        return names;
    return a->file != b->file ? (a->file < b->file ? -1 : 1)
                              : (a->first > b->first) - (a->first < b->first);
}

/* Merges the best ranked candidates by name and file, and moves them to the front. Returns how
 * many. */
static size_t annotation_keep_best(struct annotation_candidates *candidates)
{
    struct annotation_candidate *items = candidates->items;
    size_t kept = 0;
    qsort(items, candidates->count, sizeof *items, annotation_compare_candidates);
    for (size_t i = 0; i < candidates->count && items[i].rank == items[0].rank && items[i].rank;
         i++) {
        struct annotation_candidate *last = kept ? &items[kept - 1] : NULL;
        if (last && last->file == items[i].file && !strcmp(last->bare, items[i].bare)) {
            last->first = items[i].first < last->first ? items[i].first : last->first;
            last->last = items[i].last > last->last ? items[i].last : last->last;
            continue;
        }
        struct annotation_candidate swapped = items[kept];
        items[kept++] = items[i];
        if (i != kept - 1)
            items[i] = swapped;
    }
    return kept;
}

static int annotation_compare_values(const void *left, const void *right)
{
    const struct annotation_candidate *a = left, *b = right;
    return figure_compare(b->value, a->value);
}

static void annotation_say_ambiguous(struct strbuf *why, const struct annotation *annotation,
                                     struct annotation_candidate *items, size_t count)
{
    qsort(items, count, sizeof *items, annotation_compare_values);
    size_t shown = count <= CANDIDATES_SHOWN + 1 ? count : CANDIDATES_SHOWN;
    strbuf_addf(why, "'%s' may be ", annotation->options->where);
    for (size_t i = 0; i < shown; i++) {
        const struct source_file *file = &annotation->lines.files[items[i].file];
        const char *before = !i ? "" : i + 1 == count ? " or " : ", ";
        strbuf_addf(why, "%s%s (%s:%u)", before, items[i].bare, annotate_name(annotation, file),
                    items[i].last ? items[i].first : 0);
    }
    if (shown < count)
        strbuf_addf(why, " or %zu more", count - shown);
    strbuf_add_string(why, ": give more of the name, or FILE:LINE");
}

static void annotation_say_unknown(struct strbuf *why, const struct annotation *annotation,
                                   const struct annotation_candidates *candidates)
{
    const char **names =
        calloc(candidates->count + annotation->lines.file_count + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; names && i < candidates->count; i++)
        if (candidates->items[i].bare)
            names[count++] = annotation_last_component(candidates->items[i].bare);
    for (size_t i = 0; names && i < annotation->lines.file_count; i++)
        names[count++] = name_base(annotation->lines.files[i].name);
    const char *nearest = count ? options_nearest(annotation->options->where, names, count) : NULL;
    strbuf_addf(why, "no source line with figures is of a function or file '%s'",
                annotation->options->where);
    if (nearest)
        strbuf_addf(why, ", did you mean '%s'?", nearest);
    else if (annotation->options->hide_std)
        strbuf_add_string(why, " (library frames are left out without --no-hide-std)");
    free(names);
}

/* Is `word` a whole word of the text? */
static bool annotation_has_word(const char *bytes, size_t length, const char *word)
{
    size_t of = strlen(word);
    for (size_t i = 0; of && i + of <= length; i++) {
        if (strncasecmp(bytes + i, word, of))
            continue;
        bool begins = !i || !(isalnum((unsigned char)bytes[i - 1]) || bytes[i - 1] == '_');
        bool ends =
            i + of == length || !(isalnum((unsigned char)bytes[i + of]) || bytes[i + of] == '_');
        if (begins && ends)
            return true;
    }
    return false;
}

/* The line where the function is likely to begin: the nearest one at or above `first` that has the
 * function's name and no semicolon. 0: not found. */
static uint32_t annotation_find_head(const struct annotation *annotation, const char *bare,
                                     uint32_t first)
{
    const char *name = annotation_last_component(bare), *bytes;
    size_t length;
    for (uint32_t line = first; line && first - line < HEADER_LOOK_LINES; line--)
        if (source_text_line(&annotation->text, line, &bytes, &length) &&
            annotation_has_word(bytes, length, name) && !memchr(bytes, ';', length))
            return line;
    return 0;
}

/* The line of those from `line` to `last` that is likely to end the function: "}" or "end", not
 * indented further than the head. If there is none, `last`. */
static uint32_t annotation_find_end(const struct annotation *annotation, uint32_t head,
                                    uint32_t line, uint32_t last)
{
    const char *bytes;
    size_t length, indent = 0, at;
    if (!source_text_line(&annotation->text, head, &bytes, &length))
        return last;
    while (indent < length && isspace((unsigned char)bytes[indent]))
        indent++;
    for (; line && line <= last && source_text_line(&annotation->text, line, &bytes, &length);
         line++) {
        for (at = 0; at < length && isspace((unsigned char)bytes[at]);)
            at++;
        bool ends = at < length &&
                    (bytes[at] == '}' || (length - at >= 3 && !strncasecmp(bytes + at, "end", 3)));
        if (ends && at <= indent)
            return line;
    }
    return last;
}

static void annotation_show_function(struct annotation *annotation,
                                     const struct annotation_candidate *found)
{
    size_t context = annotation->options->context;
    uint32_t first = found->last ? found->first : 0;
    bool usual = context == SIZE_MAX;
    if (usual)
        context = CONTEXT_USUAL;
    annotation->function = strdup(found->bare);
    annotation->file = &annotation->lines.files[found->file];
    source_text_open(&annotation->text, annotation->profile, annotation->file->path,
                     annotation->options->paths);
    annotation->first = first > context ? first - (uint32_t)context : !!first;
    uint32_t head = annotation_find_head(annotation, found->bare, first);
    if (head && (usual || head < annotation->first))
        annotation->first = head;
    annotation->last = found->last + (uint32_t)context;
    if (head && usual)
        annotation->last = annotation_find_end(annotation, head, found->last, annotation->last);
}

static int annotation_find_function(struct annotation *annotation, struct strbuf *why)
{
    const char *wanted = annotation->options->where;
    struct annotation_candidates candidates;
    int error = annotation_candidates_init(&candidates, annotation);
    for (size_t i = 0; !error && i < candidates.count; i++) {
        struct annotation_candidate *item = &candidates.items[i];
        if (item->bare)
            item->rank = annotation_rank(&annotation->profile->functions[item->function],
                                         item->bare, wanted);
    }
    size_t found = error ? 0 : annotation_keep_best(&candidates);
    if (error)
        strbuf_add_string(why, "out of memory");
    else if (found == 1)
        annotation_show_function(annotation, &candidates.items[0]);
    else if (found)
        annotation_say_ambiguous(why, annotation, candidates.items, found);
    else
        annotation_say_unknown(why, annotation, &candidates);
    annotation_candidates_release(&candidates);
    return error ? error : found == 1 ? 0 : found ? -EINVAL : -ENOENT;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* "mesh.c" and "src/mesh.c" name "/home/ann/src/mesh.c"; "esh.c" does not. */
static bool annotation_names_file(const char *file, const char *wanted, size_t length)
{
    size_t of = strlen(file);
    if (of < length || strncmp(file + of - length, wanted, length))
        return false;
    return of == length || *wanted == '/' || file[of - length - 1] == '/';
}

static void annotation_say_files(struct strbuf *why, const struct annotation *annotation,
                                 const char *wanted, size_t length)
{
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < annotation->lines.file_count; i++)
        count += annotation_names_file(annotation->lines.files[i].name, wanted, length);
    strbuf_addf(why, "'%.*s' may be ", (int)length, wanted);
    for (size_t i = 0; i < annotation->lines.file_count && shown < CANDIDATES_SHOWN; i++)
        if (annotation_names_file(annotation->lines.files[i].name, wanted, length)) {
            const char *before = !shown ? "" : shown + 1 == count ? " or " : ", ";
            strbuf_addf(why, "%s%s", before, annotation->lines.files[i].name);
            shown++;
        }
    if (shown < count)
        strbuf_addf(why, " or %zu more", count - shown);
    strbuf_add_string(why, ": give more of the path");
}

/* 0, -ENOENT without a sentence, -EINVAL with one. */
static int annotation_find_file(struct annotation *annotation, const char *wanted, size_t length,
                                struct strbuf *why)
{
    char *asked = strndup(wanted, length),
         *clean = asked ? source_lines_path_without_detours(asked) : NULL;
    size_t found = 0;
    for (size_t i = 0; clean && *clean && i < annotation->lines.file_count; i++) {
        const struct source_file *file = &annotation->lines.files[i];
        bool whole = !strcmp(file->name, clean) || !strcmp(file->path, asked) ||
                     !strcmp(annotate_name(annotation, file), clean);
        if (!whole && !annotation_names_file(file->name, clean, strlen(clean)))
            continue;
        annotation->file = file;
        found = whole ? 1 : found + 1;
        if (whole)
            break;
    }
    if (found > 1)
        annotation_say_files(why, annotation, clean, strlen(clean));
    free(asked);
    free(clean);
    return found == 1 ? 0 : found ? -EINVAL : -ENOENT;
}

static void annotation_show_file(struct annotation *annotation)
{
    source_text_open(&annotation->text, annotation->profile, annotation->file->path,
                     annotation->options->paths);
    annotation->first = 0;
    annotation->last = UINT32_MAX;
}

static void annotation_show_around(struct annotation *annotation, uint32_t line)
{
    size_t context = annotation->options->context;
    if (context == SIZE_MAX)
        context = CONTEXT_OF_LINE;
    annotation_show_file(annotation);
    annotation->wanted = line;
    annotation->first = line > context ? line - (uint32_t)context : 1;
    annotation->last = context > UINT32_MAX - line ? UINT32_MAX : line + (uint32_t)context;
    annotation->exact = true;
}

/* Splits off ":123" at the end; false: there is none. */
static bool annotation_split_line(const char *where, size_t *length, uint32_t *line)
{
    const char *colon = strrchr(where, ':');
    if (!colon || colon == where || colon[-1] == ':' || !colon[1] || strlen(colon) > 9)
        return false;
    for (const char *at = colon + 1; *at; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    *length = (size_t)(colon - where);
    *line = (uint32_t)strtoul(colon + 1, NULL, 10);
    return *line > 0;
}

static int annotation_find_place(struct annotation *annotation, struct strbuf *why)
{
    const char *where = annotation->options->where;
    size_t length = strlen(where);
    uint32_t line;
    if (annotation_split_line(where, &length, &line)) {
        int error = annotation_find_file(annotation, where, length, why);
        if (!error)
            annotation_show_around(annotation, line);
        else if (error == -ENOENT)
            strbuf_addf(why, "no source line with figures is in a file '%.*s'", (int)length, where);
        return error;
    }
    int error = annotation_find_file(annotation, where, length, why);
    if (!error)
        annotation_show_file(annotation);
    return error == -ENOENT ? annotation_find_function(annotation, why) : error;
}

/* ---- The whole ----------------------------------------------------------------------------- */

const char *annotate_name(const struct annotation *annotation, const struct source_file *file)
{
    const char *directory = profile_get(annotation->profile, PROFILE_META_DIRECTORY);
    size_t length = directory ? strlen(directory) : 0;
    bool below = length && !strncmp(file->name, directory, length) && file->name[length] == '/';
    return below ? file->name + length + 1 : file->name;
}

static bool annotation_has_more(const struct line_sums *a, const struct line_sums *b, size_t metric)
{
    const struct metric *by = &metrics[metric];
    int order = figure_compare(metric_rank(by, a->exclusive[metric]),
                               metric_rank(by, b->exclusive[metric]));
    if (!order)
        order = figure_compare(metric_rank(by, a->inclusive[metric]),
                               metric_rank(by, b->inclusive[metric]));
    return order > 0;
}

size_t annotate_top_files(const struct annotation *annotation, const struct source_file **top,
                          size_t max)
{
    size_t metric = (size_t)annotation->options->metric, filled = 0;
    for (size_t i = 0; i < annotation->lines.file_count; i++) {
        const struct source_file *file = &annotation->lines.files[i];
        size_t at = filled;
        if (!metric_is_any(&metrics[metric], file->sums.inclusive[metric]))
            continue;
        for (; at && annotation_has_more(&file->sums, &top[at - 1]->sums, metric); at--)
            if (at < max)
                top[at] = top[at - 1];
        if (at < max)
            top[at] = file;
        filled += filled < max;
    }
    return filled;
}

size_t annotate_top_lines(const struct annotation *annotation, const struct source_line **top,
                          size_t max)
{
    size_t metric = (size_t)annotation->options->metric, filled = 0;
    for (size_t i = 0; i < annotation->lines.line_count; i++) {
        const struct source_line *line = &annotation->lines.lines[i];
        size_t at = filled;
        if (!metric_is_any(&metrics[metric], line->sums.exclusive[metric]))
            continue;
        for (; at && annotation_has_more(&line->sums, &top[at - 1]->sums, metric); at--)
            if (at < max)
                top[at] = top[at - 1];
        if (at < max)
            top[at] = line;
        filled += filled < max;
    }
    return filled;
}

/* Why the metric or a column cannot be shown: it was not recorded. NULL: all can be. */
static const char *annotation_missing_metric(const struct profile *profile,
                                             const struct annotate_options *options)
{
    const char *missing = metric_missing(profile, options->metric);
    for (int i = 0; i < METRIC_CHOICES && !missing; i++)
        if (options->with[i])
            missing = metric_missing(profile, i);
    return missing;
}

int annotate_open(struct annotation *annotation, const struct profile *profile,
                  const struct annotate_options *options, struct strbuf *why)
{
    *annotation = (struct annotation){
        .profile = profile, .options = options, .text = {.note = STRBUF_INIT, .bytes = ""}};
    const char *missing = annotation_missing_metric(profile, options);
    if (missing || !profile->has_program) {
        strbuf_add_string(why, missing ? missing : "this profile has no figures yet");
        return -ENODATA;
    }
    bool *hidden = options->hide_std ? frames_of_libraries(profile) : NULL;
    int error = options->hide_std && !hidden
                    ? -ENOMEM
                    : source_lines_init(&annotation->lines, profile, hidden, options->passes,
                                        (size_t)options->metric);
    free(hidden);
    if (error)
        strbuf_add_string(why, "out of memory");
    else if (options->where && !annotation->lines.file_count) {
        strbuf_add_string(why, "no code of this program has line information: compile it with -g");
        error = -ENOENT;
    } else if (options->where)
        error = annotation_find_place(annotation, why);
    if (error)
        annotate_close(annotation);
    return error;
}

void annotate_close(struct annotation *annotation)
{
    source_lines_release(&annotation->lines);
    source_text_close(&annotation->text);
    free(annotation->function);
    annotation->function = NULL;
}

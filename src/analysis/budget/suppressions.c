/* Reads and matches suppressions (suppressions.h). Each suppression is a list of steps with glob
 * patterns. A bit set holds all steps that the frames so far can have reached, so that "..." needs
 * no backtracking. */
#include "budget/suppressions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

/* ---- Patterns ------------------------------------------------------------------------------ */

/* Backs up to the last star only: no pattern takes more than its length times the text's. */
bool suppressions_glob_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct lines {
    const char *at, *end;
    unsigned number;
    char *line; /* trimmed; of strndup() */
};

static bool suppressions_next_line(struct lines *lines)
{
    free(lines->line);
    lines->line = NULL;
    if (lines->at >= lines->end)
        return false;
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    const char *from = lines->at, *to = newline ? newline : lines->end;
    lines->at = newline ? newline + 1 : lines->end;
    lines->number++;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    lines->line = strndup(from, (size_t)(to - from));
    return lines->line != NULL;
}

/* The next one that is neither empty nor a comment. */
static bool suppressions_next_said(struct lines *lines)
{
    while (suppressions_next_line(lines))
        if (*lines->line && *lines->line != '#')
            return true;
    return false;
}

static int suppressions_wrong(struct strbuf *why, const struct lines *lines, const char *what)
{
    strbuf_addf(why, "line %u: %s", lines->number, what);
    return -EINVAL;
}

static struct suppression *suppressions_new_suppression(struct suppressions *suppressions,
                                                        const char *name)
{
    if (!array_make_room(&suppressions->list, &suppressions->room, suppressions->count,
                         sizeof *suppressions->list))
        return NULL;
    struct suppression *made = &suppressions->list[suppressions->count];
    *made = (struct suppression){.name = strdup(name)};
    if (!made->name)
        return NULL;
    suppressions->count++;
    return made;
}

static int suppressions_add_step(struct suppression *to, int kind, const char *pattern)
{
    if (!array_make_room(&to->steps, &to->step_room, to->step_count, sizeof *to->steps))
        return -ENOMEM;
    struct suppression_step *step = &to->steps[to->step_count++];
    *step = (struct suppression_step){.kind = kind, .pattern = strdup(pattern)};
    return step->pattern ? 0 : -ENOMEM;
}

/* A pattern without ^ begins with a star, one without $ ends with one. */
static int suppressions_add_lsan(struct suppressions *suppressions, const char *line)
{
    struct strbuf pattern = STRBUF_INIT;
    const char *said = line + strlen("leak:");
    size_t length = strlen(said);
    bool begins = *said == '^', ends = length && said[length - 1] == '$';
    struct suppression *made = suppressions_new_suppression(suppressions, line);
    if (!begins)
        strbuf_add_char(&pattern, '*');
    strbuf_add(&pattern, said + begins, length - begins - (ends && length > begins));
    if (!ends)
        strbuf_add_char(&pattern, '*');
    if (made)
        made->is_lsan = true;
    int error = made ? suppressions_add_step(made, STEP_FUNCTION, pattern.data) : -ENOMEM;
    strbuf_release(&pattern);
    return error;
}

static int suppressions_add_source(struct suppression *to, char *said)
{
    char *colon = strrchr(said, ':');
    unsigned long line = 0;
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        line = strtoul(colon + 1, NULL, 10);
        *colon = 0;
    }
    int error = suppressions_add_step(to, STEP_SOURCE, said);
    if (!error)
        to->steps[to->step_count - 1].line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
    return error;
}

/* One line of a block of the kind Leak. */
static int suppressions_add_frame(struct suppression *to, struct lines *lines, struct strbuf *why)
{
    char *line = lines->line;
    if (to->step_count == SUPPRESSION_STEPS_MAX)
        return suppressions_wrong(why, lines, "a suppression of more than 62 frames");
    if (!strcmp(line, "..."))
        return suppressions_add_step(to, STEP_ANY, "");
    if (!strncmp(line, "fun:", 4))
        return suppressions_add_step(to, STEP_FUNCTION, line + 4);
    if (!strncmp(line, "obj:", 4))
        return suppressions_add_step(to, STEP_OBJECT, line + 4);
    if (!strncmp(line, "src:", 4))
        return suppressions_add_source(to, line + 4);
    if (!strncmp(line, "match-leak-kinds:", 17))
        return 0;
    return suppressions_wrong(why, lines,
                              "in a valgrind suppression fun:, obj:, src: or ... was expected");
}

static void suppressions_drop_last(struct suppressions *suppressions)
{
    struct suppression *last = &suppressions->list[--suppressions->count];
    for (size_t i = 0; i < last->step_count; i++)
        free(last->steps[i].pattern);
    free(last->steps);
    free(last->name);
}

/* Behind "{": name, kind, frames, "}". */
static int suppressions_add_valgrind(struct suppressions *suppressions, struct lines *lines,
                                     struct strbuf *why)
{
    if (!suppressions_next_said(lines))
        return suppressions_wrong(why, lines, "the block is not closed");
    struct suppression *made = suppressions_new_suppression(suppressions, lines->line);
    if (!made)
        return -ENOMEM;
    if (!suppressions_next_said(lines))
        return suppressions_wrong(why, lines, "the block is not closed");
    const char *colon = strrchr(lines->line, ':');
    bool leak = colon && !strcmp(colon, ":Leak");
    if (!colon)
        return suppressions_wrong(why, lines, "a kind such as Memcheck:Leak was expected");
    int error = 0;
    bool closed = false;
    while (!error && suppressions_next_said(lines) && !(closed = !strcmp(lines->line, "}")))
        error = leak ? suppressions_add_frame(made, lines, why) : 0;
    if (!error && !closed)
        return suppressions_wrong(why, lines, "the block is not closed");
    if (!error && leak && !made->step_count)
        return suppressions_wrong(why, lines, "a suppression without frames");
    if (!error && !leak)
        suppressions_drop_last(suppressions);
    return error;
}

int suppressions_add(struct suppressions *suppressions, const char *text, size_t bytes,
                     struct strbuf *why)
{
    struct lines lines = {text, text + bytes, 0, NULL};
    int error = 0;
    while (!error && suppressions_next_said(&lines)) {
        if (suppressions->count == SUPPRESSIONS_MAX)
            error = suppressions_wrong(why, &lines, "more than 4096 suppressions");
        else if (!strncmp(lines.line, "leak:", 5) && lines.line[5])
            error = suppressions_add_lsan(suppressions, lines.line);
        else if (!strcmp(lines.line, "{"))
            error = suppressions_add_valgrind(suppressions, &lines, why);
        else
            error = suppressions_wrong(why, &lines,
                                       "neither 'leak:PATTERN' nor a valgrind block in { }");
    }
    free(lines.line);
    return error;
}

void suppressions_release(struct suppressions *suppressions)
{
    while (suppressions->count)
        suppressions_drop_last(suppressions);
    free(suppressions->list);
    *suppressions = (struct suppressions){0};
}

/* ---- Matching ------------------------------------------------------------------------------ */

struct suppressions_place {
    const char *function, *linkage, *file, *module;
    uint32_t line;
};

static bool suppressions_fits(const char *pattern, const char *text)
{
    return text && suppressions_glob_matches(pattern, text);
}

static bool suppressions_fits_lsan(const struct suppression *suppression,
                                   const struct suppressions_place *place)
{
    const char *pattern = suppression->steps[0].pattern;
    return suppressions_fits(pattern, place->function) ||
           suppressions_fits(pattern, place->linkage) || suppressions_fits(pattern, place->file) ||
           suppressions_fits(pattern, place->module);
}

/* valgrind says src: by the last component, or by the path that it knows. */
static bool suppressions_fits_source(const struct suppression_step *step,
                                     const struct suppressions_place *place)
{
    if (!place->file || (step->line && step->line != place->line))
        return false;
    const char *slash = strrchr(place->file, '/');
    return suppressions_fits(step->pattern, place->file) ||
           (slash && suppressions_fits(step->pattern, slash + 1));
}

static bool suppressions_fits_step(const struct suppression_step *step,
                                   const struct suppressions_place *place)
{
    switch (step->kind) {
    case STEP_FUNCTION:
        return suppressions_fits(step->pattern, place->function) ||
               suppressions_fits(step->pattern, place->linkage);
    case STEP_OBJECT:
        return suppressions_fits(step->pattern, place->module);
    case STEP_SOURCE:
        return suppressions_fits_source(step, place);
    default:
        return true;
    }
}

static bool suppressions_is_allocator(const struct suppression_step *step)
{
    static const char *const names[] = {
#define ALLOCATION(name, ...)                #name,
#define ALLOCATION_OUT(name, ...)            #name,
#define REALLOCATION(name, ...)              #name,
#define NEW(name, libraries, demangled, ...) #name, demangled,
#include "interpose/functions.def"
    };
    if (step->kind != STEP_FUNCTION)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (suppressions_glob_matches(step->pattern, names[i]))
            return true;
    return !strncmp(step->pattern, "operator new", 12);
}

/* Sets of steps that are done; bit n: the first n fit the frames so far. */
static uint64_t suppressions_skip_any(const struct suppression *of, uint64_t reached)
{
    for (size_t i = 0; i < of->step_count; i++)
        if (reached >> i & 1 && of->steps[i].kind == STEP_ANY)
            reached |= 2ull << i;
    return reached;
}

static bool suppressions_is_done(const struct suppression *of, uint64_t reached)
{
    return reached >> of->step_count & 1;
}

static uint64_t suppressions_begin_steps(const struct suppression *of)
{
    uint64_t reached = 1;
    for (size_t i = 0; i < of->step_count && suppressions_is_allocator(&of->steps[i]); i++)
        reached |= 2ull << i;
    return suppressions_skip_any(of, reached);
}

static uint64_t suppressions_advance(const struct suppression *of, uint64_t reached,
                                     const struct suppressions_place *place)
{
    uint64_t next = 0;
    for (size_t i = 0; i < of->step_count; i++) {
        if (!(reached >> i & 1))
            continue;
        if (of->steps[i].kind == STEP_ANY)
            next |= 1ull << i;
        else if (suppressions_fits_step(&of->steps[i], place))
            next |= 2ull << i;
    }
    return suppressions_skip_any(of, next);
}

static struct suppressions_place suppressions_place_of(const struct profile *profile, uint32_t code,
                                                       uint32_t line)
{
    const struct profile_line *of = &profile->lines[line];
    const struct profile_function *function = &profile->functions[of->function];
    uint32_t module = profile->codes[code].module;
    return (struct suppressions_place){
        of->function ? function->name : NULL, of->function ? function->linkage : NULL, of->file,
        module == UINT32_MAX ? NULL : profile->modules[module].path, of->line};
}

static bool suppressions_fits_path(const struct suppression *of, const struct profile *profile,
                                   uint32_t node)
{
    uint64_t reached = of->is_lsan ? 0 : suppressions_begin_steps(of);
    for (; node; node = profile->nodes[node].parent) {
        uint32_t code = profile->nodes[node].location;
        const struct profile_code *at = &profile->codes[code];
        for (uint32_t i = 0; i < at->line_count; i++) {
            struct suppressions_place place =
                suppressions_place_of(profile, code, at->first_line + i);
            if (of->is_lsan && suppressions_fits_lsan(of, &place))
                return true;
            if (suppressions_is_done(of, reached))
                return true;
            reached = suppressions_advance(of, reached, &place);
        }
        if (!of->is_lsan && !reached)
            return false;
    }
    return suppressions_is_done(of, reached);
}

static void suppressions_suppress(struct suppressions *suppressions, const struct profile *profile,
                                  const struct profile_site *site, bool *leave)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        struct suppression *suppression = &suppressions->list[i];
        if (!suppressions_fits_path(suppression, profile, site->path))
            continue;
        suppression->used_bytes = figure_add(suppression->used_bytes, site->metrics.live_bytes);
        suppression->used_blocks = figure_add(suppression->used_blocks, site->metrics.live_count);
        leave[site->path] = false;
        return;
    }
}

bool *suppressions_leave(struct suppressions *suppressions, const struct profile *profile)
{
    bool *leave = malloc(profile->node_count + 1);
    if (!leave)
        return NULL;
    memset(leave, true, profile->node_count + 1);
    struct profile_site room;
    for (size_t i = 0; i < profile->site_count; i++)
        if (!figure_zero(profile_site_figure(profile, i, METRIC_ROW(live_count))) &&
            !figure_zero(profile_site_figure(profile, i, METRIC_ROW(live_bytes))))
            suppressions_suppress(suppressions, profile, profile_site_at(profile, i, &room), leave);
    return leave;
}

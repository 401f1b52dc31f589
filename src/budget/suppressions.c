/* See suppressions.h. */
#include "budget/suppressions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Patterns ------------------------------------------------------------------------------ */

/* Backs up to the last star only: no pattern takes more than its length times the text's. */
bool glob_matches(const char *pattern, const char *text)
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

static bool next_line(struct lines *lines)
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
static bool next_said(struct lines *lines)
{
    while (next_line(lines))
        if (*lines->line && *lines->line != '#')
            return true;
    return false;
}

static int wrong(struct strbuf *why, const struct lines *lines, const char *what)
{
    strbuf_addf(why, "line %u: %s", lines->number, what);
    return -EINVAL;
}

static struct suppression *new_suppression(struct suppressions *suppressions, const char *name)
{
    struct suppression *list =
        realloc(suppressions->list, (suppressions->count + 1) * sizeof *list);
    if (!list)
        return NULL;
    suppressions->list = list;
    struct suppression *made = &list[suppressions->count];
    *made = (struct suppression){.name = strdup(name)};
    if (!made->name)
        return NULL;
    suppressions->count++;
    return made;
}

static int add_step(struct suppression *to, int kind, const char *pattern)
{
    struct suppression_step *steps = realloc(to->steps, (to->step_count + 1) * sizeof *steps);
    if (!steps)
        return -ENOMEM;
    to->steps = steps;
    steps[to->step_count] = (struct suppression_step){.kind = kind, .pattern = strdup(pattern)};
    return steps[to->step_count++].pattern ? 0 : -ENOMEM;
}

/* A pattern without ^ begins with a star, one without $ ends with one. */
static int add_lsan(struct suppressions *suppressions, const char *line)
{
    struct strbuf pattern = STRBUF_INIT;
    const char *said = line + strlen("leak:");
    size_t length = strlen(said);
    bool begins = *said == '^', ends = length && said[length - 1] == '$';
    struct suppression *made = new_suppression(suppressions, line);
    if (!begins)
        strbuf_add_char(&pattern, '*');
    strbuf_add(&pattern, said + begins, length - begins - (ends && length > begins));
    if (!ends)
        strbuf_add_char(&pattern, '*');
    if (made)
        made->is_lsan = true;
    int error = made ? add_step(made, STEP_FUNCTION, pattern.data) : -ENOMEM;
    strbuf_release(&pattern);
    return error;
}

static int add_source(struct suppression *to, char *said)
{
    char *colon = strrchr(said, ':');
    unsigned long line = 0;
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        line = strtoul(colon + 1, NULL, 10);
        *colon = 0;
    }
    int error = add_step(to, STEP_SOURCE, said);
    if (!error)
        to->steps[to->step_count - 1].line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
    return error;
}

/* One line of a block; of a block of another kind it is passed over. */
static int add_frame(struct suppression *to, struct lines *lines, struct strbuf *why)
{
    char *line = lines->line;
    if (to->step_count == SUPPRESSION_STEPS_MAX)
        return wrong(why, lines, "a suppression of more than 62 frames");
    if (!strcmp(line, "..."))
        return add_step(to, STEP_ANY, "");
    if (!strncmp(line, "fun:", 4))
        return add_step(to, STEP_FUNCTION, line + 4);
    if (!strncmp(line, "obj:", 4))
        return add_step(to, STEP_OBJECT, line + 4);
    if (!strncmp(line, "src:", 4))
        return add_source(to, line + 4);
    if (!strncmp(line, "match-leak-kinds:", 17))
        return 0;
    return wrong(why, lines, "in a valgrind suppression fun:, obj:, src: or ... was expected");
}

static void drop_last(struct suppressions *suppressions)
{
    struct suppression *last = &suppressions->list[--suppressions->count];
    for (size_t i = 0; i < last->step_count; i++)
        free(last->steps[i].pattern);
    free(last->steps);
    free(last->name);
}

/* Behind "{": name, kind, frames, "}". */
static int add_valgrind(struct suppressions *suppressions, struct lines *lines, struct strbuf *why)
{
    if (!next_said(lines))
        return wrong(why, lines, "the block is not closed");
    struct suppression *made = new_suppression(suppressions, lines->line);
    if (!made)
        return -ENOMEM;
    if (!next_said(lines))
        return wrong(why, lines, "the block is not closed");
    const char *colon = strrchr(lines->line, ':');
    bool leak = colon && !strcmp(colon, ":Leak");
    if (!colon)
        return wrong(why, lines, "a kind such as Memcheck:Leak was expected");
    int error = 0;
    bool closed = false;
    while (!error && next_said(lines) && !(closed = !strcmp(lines->line, "}")))
        error = leak ? add_frame(made, lines, why) : 0;
    if (!error && !closed)
        return wrong(why, lines, "the block is not closed");
    if (!error && leak && !made->step_count)
        return wrong(why, lines, "a suppression without frames");
    if (!error && !leak)
        drop_last(suppressions);
    return error;
}

int suppressions_add(struct suppressions *suppressions, const char *text, size_t bytes,
                     struct strbuf *why)
{
    struct lines lines = {text, text + bytes, 0, NULL};
    int error = 0;
    while (!error && next_said(&lines)) {
        if (suppressions->count == SUPPRESSIONS_MAX)
            error = wrong(why, &lines, "more than 4096 suppressions");
        else if (!strncmp(lines.line, "leak:", 5) && lines.line[5])
            error = add_lsan(suppressions, lines.line);
        else if (!strcmp(lines.line, "{"))
            error = add_valgrind(suppressions, &lines, why);
        else
            error = wrong(why, &lines, "neither 'leak:PATTERN' nor a valgrind block in { }");
    }
    free(lines.line);
    return error;
}

void suppressions_release(struct suppressions *suppressions)
{
    while (suppressions->count)
        drop_last(suppressions);
    free(suppressions->list);
    *suppressions = (struct suppressions){0};
}

/* ---- Matching ------------------------------------------------------------------------------ */

struct place {
    const char *function, *linkage, *file, *module;
    uint32_t line;
};

static bool fits(const char *pattern, const char *text)
{
    return text && glob_matches(pattern, text);
}

static bool fits_lsan(const struct suppression *suppression, const struct place *place)
{
    const char *pattern = suppression->steps[0].pattern;
    return fits(pattern, place->function) || fits(pattern, place->linkage) ||
           fits(pattern, place->file) || fits(pattern, place->module);
}

/* valgrind says src: by the last component, or by the path that it knows. */
static bool fits_source(const struct suppression_step *step, const struct place *place)
{
    if (!place->file || (step->line && step->line != place->line))
        return false;
    const char *slash = strrchr(place->file, '/');
    return fits(step->pattern, place->file) || (slash && fits(step->pattern, slash + 1));
}

static bool fits_step(const struct suppression_step *step, const struct place *place)
{
    switch (step->kind) {
    case STEP_FUNCTION:
        return fits(step->pattern, place->function) || fits(step->pattern, place->linkage);
    case STEP_OBJECT:
        return fits(step->pattern, place->module);
    case STEP_SOURCE:
        return fits_source(step, place);
    default:
        return true;
    }
}

static bool is_allocator(const struct suppression_step *step)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "reallocarray", "memalign",
                                        "aligned_alloc", "posix_memalign", "valloc", "_Znwm",
                                        "_Znam", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
                                        "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", NULL};
    if (step->kind != STEP_FUNCTION)
        return false;
    for (int i = 0; names[i]; i++)
        if (glob_matches(step->pattern, names[i]))
            return true;
    return !strncmp(step->pattern, "operator new", 12);
}

/* Sets of steps that are done; bit n: the first n fit the frames so far. */
static uint64_t skip_any(const struct suppression *of, uint64_t reached)
{
    for (size_t i = 0; i < of->step_count; i++)
        if (reached >> i & 1 && of->steps[i].kind == STEP_ANY)
            reached |= 2ull << i;
    return reached;
}

static bool is_done(const struct suppression *of, uint64_t reached)
{
    return reached >> of->step_count & 1;
}

static uint64_t begin_steps(const struct suppression *of)
{
    uint64_t reached = 1;
    for (size_t i = 0; i < of->step_count && is_allocator(&of->steps[i]); i++)
        reached |= 2ull << i;
    return skip_any(of, reached);
}

static uint64_t advance(const struct suppression *of, uint64_t reached, const struct place *place)
{
    uint64_t next = 0;
    for (size_t i = 0; i < of->step_count; i++) {
        if (!(reached >> i & 1))
            continue;
        if (of->steps[i].kind == STEP_ANY)
            next |= 1ull << i;
        else if (fits_step(&of->steps[i], place))
            next |= 2ull << i;
    }
    return skip_any(of, next);
}

static struct place place_of(const struct profile *profile, uint32_t code, uint32_t line)
{
    const struct profile_line *of = &profile->lines[line];
    const struct profile_function *function = &profile->functions[of->function];
    uint32_t module = profile->codes[code].module;
    return (struct place){of->function ? function->name : NULL,
                          of->function ? function->linkage : NULL, of->file,
                          module == UINT32_MAX ? NULL : profile->modules[module].path, of->line};
}

static bool fits_path(const struct suppression *of, const struct profile *profile, uint32_t node)
{
    uint64_t reached = of->is_lsan ? 0 : begin_steps(of);
    for (; node; node = profile->nodes[node].parent) {
        uint32_t code = profile->nodes[node].location;
        const struct profile_code *at = &profile->codes[code];
        for (uint32_t i = 0; i < at->line_count; i++) {
            struct place place = place_of(profile, code, at->first_line + i);
            if (of->is_lsan && fits_lsan(of, &place))
                return true;
            if (is_done(of, reached))
                return true;
            reached = advance(of, reached, &place);
        }
        if (!of->is_lsan && !reached)
            return false;
    }
    return is_done(of, reached);
}

static void suppress(struct suppressions *suppressions, const struct profile *profile,
                     const struct profile_site *site, bool *leave)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        struct suppression *suppression = &suppressions->list[i];
        if (!fits_path(suppression, profile, site->path))
            continue;
        suppression->used_bytes += site->metrics.live_bytes;
        suppression->used_blocks += site->metrics.live_count;
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
    for (size_t i = 0; i < profile->site_count; i++)
        if (profile->sites[i].metrics.live_count)
            suppress(suppressions, profile, &profile->sites[i], leave);
    return leave;
}

/* Reads a filter's terms one after the other (match.h). Terms about paths match each code location
 * once, and one pass over the nodes, parents first, passes the result down the paths. Terms about
 * blocks are gathered as ranges. */
#include "aggregate/match.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/frames.h"
#include "base/human.h"

enum match_what {
    MATCH_FUNCTION = 1,
    MATCH_FILE = 2,
    MATCH_MODULE = 4,
    MATCH_SIZE = 8,
    MATCH_AGE = 16,
    MATCH_THREAD = 32,
    MATCH_REGION = 64,
};
enum { MATCH_FRAMES = MATCH_FUNCTION | MATCH_FILE | MATCH_MODULE };

struct match_term {
    unsigned what; /* MATCH_…; several only of frames */
    bool is_not;
    char *text; /* behind the word */
};

/* ---- Terms --------------------------------------------------------------------------------- */

/* "function:" at the beginning says where to look; "function::" is a name of C++. */
static const char *match_read_what(const char *text, unsigned *what)
{
    static const struct {
        const char *word;
        unsigned what;
    } words[] = {{"function:", MATCH_FUNCTION}, {"file:", MATCH_FILE}, {"module:", MATCH_MODULE},
                 {"size:", MATCH_SIZE},         {"age:", MATCH_AGE},   {"thread:", MATCH_THREAD},
                 {"region:", MATCH_REGION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(text, words[i].word, length) || text[length] == ':')
            continue;
        *what = words[i].what;
        return text + length;
    }
    *what = MATCH_FRAMES;
    return text;
}

/* The term at *at, and steps over it. False: there is none; or no memory, `text` is NULL then. */
static bool match_next(const char **at, struct match_term *term)
{
    static const char between[] = " & ";
    if (!*at)
        return false;
    const char *end = strstr(*at, between), *text = *at;
    term->is_not = *text == '!';
    text = match_read_what(text + term->is_not, &term->what);
    term->text = end ? strndup(text, end > text ? (size_t)(end - text) : 0) : strdup(text);
    *at = end ? end + strlen(between) : NULL;
    return term->text != NULL;
}

/* ">=64K": the range, and what of it "!" leaves. 0 or -EINVAL. */
static int match_read_range(const struct match_term *term, struct match_range *range)
{
    const char *text = term->text;
    bool is_less = *text == '<', has_equal = *text && text[1] == '=';
    uint64_t number;
    if (*text != '<' && *text != '>')
        return -EINVAL;
    text += 1 + has_equal;
    if (term->what == MATCH_SIZE ? human_parse_bytes(text, &number)
                                 : human_parse_duration(text, &number))
        return -EINVAL;
    if (term->is_not) {
        is_less = !is_less;
        has_equal = !has_equal;
    }
    *range = (struct match_range){true, 0, UINT64_MAX};
    if (is_less && !has_equal && !number)
        *range = (struct match_range){true, 1, 0};
    else if (is_less)
        range->most = number - !has_equal;
    else
        range->least = number + (!has_equal && number < UINT64_MAX);
    return 0;
}

static int match_say_wrong(char *why, size_t why_bytes, const char *sentence)
{
    snprintf(why, why_bytes, "%s", sentence);
    return -EINVAL;
}

/* ---- Terms about blocks --------------------------------------------------------------------- */

static void match_narrow(struct match_range *range, const struct match_range *more)
{
    if (!range->is_said) {
        *range = *more;
        return;
    }
    range->least = range->least > more->least ? range->least : more->least;
    range->most = range->most < more->most ? range->most : more->most;
}

static int match_add_thread(struct match_conditions *conditions, const struct match_term *term,
                            char *why, size_t why_bytes)
{
    if (conditions->has_thread)
        return match_say_wrong(why, why_bytes, "thread: is there twice");
    if (human_parse_number(term->text, &conditions->tid))
        return match_say_wrong(why, why_bytes, "thread: is followed by a thread's number");
    conditions->has_thread = true;
    conditions->is_not_thread = term->is_not;
    return 0;
}

static int match_add_region(struct match_conditions *conditions, const struct match_term *term,
                            char *why, size_t why_bytes)
{
    if (term->is_not)
        return match_say_wrong(why, why_bytes, "what lies outside a region is not known");
    if (*conditions->region)
        return match_say_wrong(why, why_bytes, "region: is there twice");
    if (!*term->text || strlen(term->text) >= MATCH_REGION_MOST)
        return match_say_wrong(why, why_bytes, "region: is followed by a region's name");
    snprintf(conditions->region, sizeof conditions->region, "%s", term->text);
    return 0;
}

static int match_add_condition(struct match_conditions *conditions, const struct match_term *term,
                               char *why, size_t why_bytes)
{
    struct match_range range;
    if (term->what == MATCH_THREAD)
        return match_add_thread(conditions, term, why, why_bytes);
    if (term->what == MATCH_REGION)
        return match_add_region(conditions, term, why, why_bytes);
    bool is_size = term->what == MATCH_SIZE;
    if (match_read_range(term, &range))
        return match_say_wrong(why, why_bytes,
                               is_size ? "size: is followed by <, <=, > or >= and a size, as in "
                                         "size:>=64K"
                                       : "age: is followed by <, <=, > or >= and a time, as in "
                                         "age:>10s");
    match_narrow(is_size ? &conditions->size : &conditions->age, &range);
    return 0;
}

static int match_check_term(struct match_conditions *conditions, const struct match_term *term,
                            char *why, size_t why_bytes)
{
    regex_t regex;
    if (!(term->what & MATCH_FRAMES))
        return match_add_condition(conditions, term, why, why_bytes);
    int result = regcomp(&regex, term->text, REG_EXTENDED | REG_NOSUB);
    if (result) {
        size_t begun = (size_t)snprintf(why, why_bytes, "no regular expression: ");
        if (begun < why_bytes)
            regerror(result, &regex, why + begun, why_bytes - begun);
        return -EINVAL;
    }
    regfree(&regex);
    return 0;
}

static int match_read(struct match_conditions *conditions, const char *pattern, char *why,
                      size_t why_bytes)
{
    struct match_term term = {0};
    int error = 0;
    *conditions = (struct match_conditions){0};
    while (!error && match_next(&pattern, &term)) {
        error = match_check_term(conditions, &term, why, why_bytes);
        free(term.text);
    }
    return error;
}

int match_check(const char *pattern, char *why, size_t why_bytes)
{
    struct match_conditions conditions;
    return match_read(&conditions, pattern, why, why_bytes);
}

void match_conditions(struct match_conditions *conditions, const char *pattern)
{
    char why[160];
    match_read(conditions, pattern, why, sizeof why);
}

bool match_in_range(const struct match_range *range, uint64_t value)
{
    return !range->is_said || (value >= range->least && value <= range->most);
}

bool match_thread(const struct match_conditions *conditions, uint64_t tid)
{
    return !conditions->has_thread || (tid == conditions->tid) != conditions->is_not_thread;
}

/* ---- Terms about paths ---------------------------------------------------------------------- */

static bool match_string(const regex_t *regex, bool is_looked_at, const char *string)
{
    return is_looked_at && string && !regexec(regex, string, 0, NULL, 0);
}

static bool match_code(const regex_t *regex, unsigned what, const struct profile *profile,
                       uint32_t index)
{
    const struct profile_code *code = &profile->codes[index];
    for (uint32_t i = 0; i < code->line_count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        if (match_string(regex, what & MATCH_FUNCTION, profile->functions[line->function].name) ||
            match_string(regex, what & MATCH_FILE, line->file))
            return true;
    }
    return match_string(regex, what & MATCH_MODULE,
                        frame_module(profile, frame_at(index, code->first_line)));
}

/* Parents come first, so one pass does. `has`: by node, room for the answers. */
static void match_nodes(const struct profile *profile, const bool *code, bool is_not, bool *has,
                        bool *passes)
{
    memset(has, 0, profile->node_count);
    for (size_t i = 1; i < profile->node_count; i++)
        has[i] = has[profile->nodes[i].parent] || code[profile->nodes[i].location];
    for (size_t i = 0; i < profile->node_count; i++)
        passes[i] = passes[i] && has[i] != is_not;
}

static int match_narrow_paths(const struct profile *profile, const struct match_term *term,
                              bool *code, bool *has, bool *passes)
{
    regex_t regex;
    if (regcomp(&regex, term->text, REG_EXTENDED | REG_NOSUB))
        return -EINVAL;
    for (size_t i = 0; i < profile->code_count; i++)
        code[i] = match_code(&regex, term->what, profile, (uint32_t)i);
    regfree(&regex);
    match_nodes(profile, code, term->is_not, has, passes);
    return 0;
}

int match_frames(const struct profile *profile, const char *pattern, bool **out)
{
    bool *code = calloc(profile->code_count + 1, 1), *has = calloc(profile->node_count + 1, 1),
         *passes = malloc(profile->node_count + 1);
    int error = code && has && passes ? 0 : -ENOMEM;
    struct match_term term = {0};
    if (!error)
        memset(passes, true, profile->node_count + 1);
    while (!error && match_next(&pattern, &term)) {
        if (term.what & MATCH_FRAMES)
            error = match_narrow_paths(profile, &term, code, has, passes);
        free(term.text);
    }
    free(code);
    free(has);
    if (error)
        free(passes);
    *out = error ? NULL : passes;
    return error;
}

/* May one of its blocks be of such a size? Only the smallest and the largest are known. */
static bool match_size_of(const struct match_range *range, const struct call_metrics *metrics)
{
    uint64_t smallest, largest;
    return figure_get(metrics->size_min, &smallest) && figure_get(metrics->size_max, &largest) &&
           largest >= range->least && smallest <= range->most;
}

int match_paths(const struct profile *profile, const char *pattern, bool **out)
{
    struct match_conditions conditions;
    int error = match_frames(profile, pattern, out);
    match_conditions(&conditions, pattern);
    if (error || !conditions.size.is_said)
        return error;
    bool *is_so = calloc(profile->node_count + 1, 1);
    for (size_t i = 0; is_so && i < profile->site_count; i++) {
        struct profile_site room;
        const struct profile_site *site = profile_site_at(profile, i, &room);
        is_so[site->path] = match_size_of(&conditions.size, &site->metrics);
    }
    for (size_t i = 0; is_so && i < profile->node_count; i++)
        (*out)[i] = (*out)[i] && is_so[i];
    if (!is_so) {
        free(*out);
        *out = NULL;
        return -ENOMEM;
    }
    free(is_so);
    return 0;
}

const char *match_missing(const struct profile *profile, const char *pattern)
{
    struct match_conditions conditions;
    match_conditions(&conditions, pattern);
    if (!conditions.size.is_said)
        return NULL;
    for (size_t i = 0; i < profile->site_count; i++)
        if (figure_known(profile_site_figure(profile, i, METRIC_ROW(size_max))))
            return NULL;
    return profile->site_count ? "how large blocks were is not known here: size: is for blocks"
                               : NULL;
}

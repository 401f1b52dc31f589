/* Shortens types in demangled names (types.h) in one pass from the left. When a bracket closes, the
 * types within are short already. So an argument is a default if its text equals that of the
 * default, which is written in the short form as well. */
#include "format/types.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
    DEEPEST = 64,  /* nested brackets; text within deeper ones is not changed */
    ARGUMENTS = 6, /* no template in `rules` has more */
    DEFAULTS = 3,
};

/* Templates with defaults. `kept` arguments stay; $0 and $1 are the first two. */
static const struct types_rule {
    const char *name; /* behind std:: */
    unsigned kept;
    const char *defaults[DEFAULTS];
} rules[] = {
    {"vector", 1, {"std::allocator<$0>"}},
    {"deque", 1, {"std::allocator<$0>"}},
    {"list", 1, {"std::allocator<$0>"}},
    {"forward_list", 1, {"std::allocator<$0>"}},
    {"set", 1, {"std::less<$0>", "std::allocator<$0>"}},
    {"multiset", 1, {"std::less<$0>", "std::allocator<$0>"}},
    {"map", 2, {"std::less<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
    {"multimap", 2, {"std::less<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
    {"unordered_set", 1, {"std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}},
    {"unordered_multiset", 1, {"std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}},
    {"unordered_map",
     2,
     {"std::hash<$0>", "std::equal_to<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
    {"unordered_multimap",
     2,
     {"std::hash<$0>", "std::equal_to<$0>", "std::allocator<std::pair<$0 const, $1>>"}},
    {"unique_ptr", 1, {"std::default_delete<$0>"}},
    {"stack", 1, {"std::deque<$0>"}},
    {"queue", 1, {"std::deque<$0>"}},
    {"priority_queue", 1, {"std::vector<$0>", "std::less<$0>"}},
    {"basic_string", 1, {"std::char_traits<$0>", "std::allocator<$0>"}},
    {"basic_stringstream", 1, {"std::char_traits<$0>", "std::allocator<$0>"}},
    {"basic_istringstream", 1, {"std::char_traits<$0>", "std::allocator<$0>"}},
    {"basic_ostringstream", 1, {"std::char_traits<$0>", "std::allocator<$0>"}},
    {"basic_stringbuf", 1, {"std::char_traits<$0>", "std::allocator<$0>"}},
    {"basic_string_view", 1, {"std::char_traits<$0>"}},
    {"basic_ios", 1, {"std::char_traits<$0>"}},
    {"basic_istream", 1, {"std::char_traits<$0>"}},
    {"basic_ostream", 1, {"std::char_traits<$0>"}},
    {"basic_iostream", 1, {"std::char_traits<$0>"}},
    {"basic_streambuf", 1, {"std::char_traits<$0>"}},
    {"basic_filebuf", 1, {"std::char_traits<$0>"}},
    {"basic_fstream", 1, {"std::char_traits<$0>"}},
    {"basic_ifstream", 1, {"std::char_traits<$0>"}},
    {"basic_ofstream", 1, {"std::char_traits<$0>"}},
    {"basic_regex", 1, {"std::regex_traits<$0>"}},
};

/* The prefix in an alias's name: std::basic_ios<wchar_t> is std::wios. `any_name`: not only strings
 * have such an alias. */
static const struct {
    const char *type, *prefix;
    bool any_name;
} characters[] = {{"char", "", true},
                  {"wchar_t", "w", true},
                  {"char8_t", "u8", false},
                  {"char16_t", "u16", false},
                  {"char32_t", "u32", false}};

/* A part of a text that somebody else owns. */
struct types_span {
    const char *data;
    size_t length;
};

/* An open bracket. Places are offsets in what has been written. */
struct open {
    char bracket;
    size_t name; /* of the template, if it is one */
    size_t argument[ARGUMENTS];
    size_t count; /* of arguments, may be more than have a place */
};

struct types_writing {
    struct strbuf *out;
    size_t begin; /* where our text begins in `out` */
    const char *at, *end;
    struct open open[DEEPEST];
    size_t depth;
};

static bool types_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static bool types_span_is(struct types_span span, const char *text)
{
    return span.length == strlen(text) && !memcmp(span.data, text, span.length);
}

static bool types_comes(const struct types_writing *w, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(w->end - w->at) >= length && !memcmp(w->at, text, length);
}

static bool types_has_written(const struct types_writing *w, const char *text)
{
    size_t length = strlen(text);
    return w->out->length - w->begin >= length &&
           !memcmp(w->out->data + w->out->length - length, text, length);
}

/* The offset at which the qualified name at the end of `out` begins. */
static size_t types_name_before(const struct types_writing *w)
{
    size_t at = w->out->length;
    while (at > w->begin && (w->out->data[at - 1] == ':' || types_is_word(w->out->data[at - 1])))
        at--;
    return at;
}

/* ---- Operators ---- */

size_t types_operator_length(const char *begin, const char *at, const char *end)
{
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||",  "++",  "--",  "->",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",   "=",   "!",   "+",   "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",  ","};
    const size_t word = strlen("operator");
    size_t length = (size_t)(end - at);
    if (length < word || memcmp(at, "operator", word) != 0 ||
        (at > begin && types_is_word(at[-1])) || (length > word && types_is_word(at[word])))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (length - word >= strlen(symbols[i]) &&
            !memcmp(at + word, symbols[i], strlen(symbols[i])))
            return word + strlen(symbols[i]);
    return word;
}

/* ---- A template that closes ---- */

static struct types_span types_argument(const struct types_writing *w, const struct open *open,
                                        size_t number)
{
    size_t from = open->argument[number];
    size_t to =
        number + 1 < open->count ? open->argument[number + 1] - strlen(", ") : w->out->length;
    while (to > from && w->out->data[to - 1] == ' ')
        to--;
    return (struct types_span){w->out->data + from, to - from};
}

static bool types_is_default(struct types_span span, const char *pattern,
                             const struct types_span *arguments)
{
    for (; *pattern; pattern++) {
        struct types_span part = {pattern, 1};
        if (*pattern == '$')
            part = arguments[*++pattern - '0'];
        if (span.length < part.length || memcmp(span.data, part.data, part.length) != 0)
            return false;
        span = (struct types_span){span.data + part.length, span.length - part.length};
    }
    return span.length == 0;
}

static const struct types_rule *types_rule_of(struct types_span name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (name.length > 5 && !memcmp(name.data, "std::", 5) &&
            types_span_is((struct types_span){name.data + 5, name.length - 5}, rules[i].name))
            return &rules[i];
    return NULL;
}

/* Adds "std::string" for std::basic_string<char>; nothing if the type has no alias. */
static void types_add_alias(struct strbuf *out, const struct types_rule *rule,
                            struct types_span character)
{
    if (strncmp(rule->name, "basic_", 6) != 0)
        return;
    const char *name = rule->name + 6;
    bool is_string = !strcmp(name, "string") || !strcmp(name, "string_view");
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        if (types_span_is(character, characters[i].type) && (characters[i].any_name || is_string))
            strbuf_addf(out, "std::%s%s", characters[i].prefix, name);
}

/* Closes a template of `rules`: leaves out its default arguments, and uses its alias if it has
 * one. */
static bool types_shorten(struct types_writing *w, const struct open *open)
{
    struct types_span name = {w->out->data + open->name, open->argument[0] - 1 - open->name};
    const struct types_rule *rule = open->count <= ARGUMENTS ? types_rule_of(name) : NULL;
    if (!rule || open->count < rule->kept)
        return false;
    struct types_span arguments[ARGUMENTS] = {{0}};
    for (size_t i = 0; i < open->count; i++)
        arguments[i] = types_argument(w, open, i);
    size_t left = open->count;
    while (left > rule->kept && left - rule->kept <= DEFAULTS &&
           rule->defaults[left - 1 - rule->kept] &&
           types_is_default(arguments[left - 1], rule->defaults[left - 1 - rule->kept], arguments))
        left--;
    struct strbuf alias = STRBUF_INIT;
    if (left == 1)
        types_add_alias(&alias, rule, arguments[0]);
    size_t end = (size_t)(arguments[left - 1].data - w->out->data) + arguments[left - 1].length;
    strbuf_truncate(w->out, *alias.data ? open->name : end);
    strbuf_add_string(w->out, alias.data);
    if (!*alias.data)
        strbuf_add_char(w->out, '>');
    strbuf_release(&alias);
    return true;
}

static void types_close_template(struct types_writing *w)
{
    if (types_shorten(w, &w->open[--w->depth]))
        return;
    while (types_has_written(w, " "))
        strbuf_truncate(w->out, w->out->length - 1);
    strbuf_add_char(w->out, '>');
}

/* ---- From the left to the right ---- */

/* The length of a part of a name that its users do not write: a version of the library, or a tag of
 * its ABI. 0: there is none here. */
static size_t types_unwritten_length(const struct types_writing *w)
{
    static const char *const versions[] = {"__cxx11::", "__1::", "_V2::"};
    if (types_comes(w, "[abi:cxx11]"))
        return strlen("[abi:cxx11]");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (types_comes(w, versions[i]) && types_has_written(w, "::") &&
            !strncmp(w->out->data + types_name_before(w), "std::", 5))
            return strlen(versions[i]);
    return 0;
}

static void types_open_bracket(struct types_writing *w)
{
    struct open *open = &w->open[w->depth++];
    open->name = types_name_before(w);
    open->bracket = *w->at++;
    strbuf_add_char(w->out, open->bracket);
    open->argument[0] = w->out->length;
    open->count = 1;
}

static void types_add_comma(struct types_writing *w)
{
    struct open *open = &w->open[w->depth - 1];
    for (w->at++; w->at < w->end && *w->at == ' ';)
        w->at++;
    strbuf_add_string(w->out, ", ");
    if (open->count++ < ARGUMENTS)
        open->argument[open->count - 1] = w->out->length;
}

/* A ')' closes the '(' before it, and each '<' between them, which was no bracket. */
static void types_close_bracket(struct types_writing *w, char bracket)
{
    size_t depth = w->depth;
    while (depth && w->open[depth - 1].bracket != bracket)
        depth--;
    if (depth)
        w->depth = depth - 1;
}

static void types_add_next(struct types_writing *w)
{
    bool in_template = w->depth && w->open[w->depth - 1].bracket == '<';
    if (memchr("<([{", *w->at, 4))
        return types_open_bracket(w);
    if (*w->at == ',' && in_template)
        return types_add_comma(w);
    char c = *w->at++;
    if (c == '>' && in_template && !types_has_written(w, "-"))
        return types_close_template(w);
    if (c == ')' || c == ']' || c == '}')
        types_close_bracket(w, c == ')' ? '(' : c == ']' ? '[' : '{');
    strbuf_add_char(w->out, c);
}

void types_add_plain(struct strbuf *out, const char *name, size_t length)
{
    struct types_writing w = {.out = out, .begin = out->length, .at = name, .end = name + length};
    while (w.at < w.end && !(w.depth == DEEPEST && memchr("<([{", *w.at, 4))) {
        size_t symbols = types_operator_length(name, w.at, w.end);
        size_t unwritten = symbols ? 0 : types_unwritten_length(&w);
        strbuf_add(out, w.at, symbols);
        w.at += symbols + unwritten;
        if (!symbols && !unwritten)
            types_add_next(&w);
    }
    strbuf_add(out, w.at, (size_t)(w.end - w.at));
}

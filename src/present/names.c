/* See names.h. */
#include "present/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool starts_with(const char *string, const char *prefix)
{
    return !strncmp(string, prefix, strlen(prefix));
}

/* Past the symbols of "operator<<", "operator()", … at `name`; `name` where no operator begins. The demangler
 * puts a space between "<" and the template's arguments, but none in "operator+<int>". */
static const char *skip_operator(const char *begin, const char *name)
{
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||",  "++",  "--",  "->",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",   "=",   "!",   "+",   "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",  ","};
    if (!starts_with(name, "operator") || is_word(name[8]) || (name > begin && is_word(name[-1])))
        return name;
    const char *at = name + 8;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (starts_with(at, symbols[i]))
            return at + strlen(symbols[i]);
    return at;
}

/* Past the bracket that closes the one at `at`; NULL if it is open. */
static const char *skip_brackets(const char *at)
{
    int depth = 0;
    for (const char *c = at; *c; c++) {
        if (strchr("([{", *c))
            depth++;
        else if (strchr(")]}", *c) && --depth == 0)
            return c + 1;
    }
    return NULL;
}

const char *name_core(const char *name, size_t *length)
{
    const char *start = name, *at = name;
    int angles = 0;
    bool after_operator = false;
    while (*at) {
        const char *past = skip_operator(name, at);
        if (past != at) {
            after_operator = true; /* spaces of "operator new", "operator<< <int>" belong to it */
            at = past;
            continue;
        }
        if (*at == '<')
            angles++;
        else if (*at == '>' && angles)
            angles--;
        else if (*at == ' ' && at[1] == '[' && !angles) /* " [clone .cold]" */
            break;
        else if (*at == ' ' && !angles && !after_operator)
            start = at + 1;
        else if (strchr("([{", *at) && !angles) {
            past = skip_brackets(at);
            if (!past && *at != '(') { /* no bracket of a name's */
                at++;
                continue;
            }
            const char *next = past ? past + (starts_with(past, " const::") ? 6 : 0) : NULL;
            bool parameters = *at == '(' && !starts_with(at, "(anonymous namespace)") &&
                              !(next && starts_with(next, "::"));
            if (!past || parameters)
                break;
            at = past;
            continue;
        }
        at++;
    }
    while (at > start && at[-1] == ' ')
        at--;
    if (at == start) { /* not a name of the kind that we know */
        *length = strlen(name);
        return name;
    }
    *length = (size_t)(at - start);
    return start;
}

/* ---- Shortening ---------------------------------------------------------------------------- */

/* What the demanglers and the libraries' inline namespaces add: afterwards all spell alike. */
static const struct replacement {
    const char *from, *to;
} spellings[] = {
    {"std::__cxx11::", "std::"},
    {"std::__1::", "std::"},
    {"(anonymous namespace)", "(anonymous)"},
    {"[abi:cxx11]", ""},
    {" >", ">"},
    {NULL, NULL},
};

/* What the standard calls by long names and everybody by short ones: its own typedefs, whole. */
#define OF_CHAR      "<char, std::char_traits<char>>"
#define ALLOCATED(c) "<" c ", std::char_traits<" c ">, std::allocator<" c ">>"
static const struct replacement typedefs[] = {
    {"std::basic_string" ALLOCATED("char"), "std::string"},
    {"std::basic_string" ALLOCATED("wchar_t"), "std::wstring"},
    {"std::basic_string" ALLOCATED("char16_t"), "std::u16string"},
    {"std::basic_string" ALLOCATED("char32_t"), "std::u32string"},
    {"std::basic_string_view" OF_CHAR, "std::string_view"},
    {"std::basic_stringstream" ALLOCATED("char"), "std::stringstream"},
    {"std::basic_ostringstream" ALLOCATED("char"), "std::ostringstream"},
    {"std::basic_istringstream" ALLOCATED("char"), "std::istringstream"},
    {"std::basic_stringbuf" ALLOCATED("char"), "std::stringbuf"},
    {"std::basic_ostream" OF_CHAR, "std::ostream"},
    {"std::basic_istream" OF_CHAR, "std::istream"},
    {"std::basic_iostream" OF_CHAR, "std::iostream"},
    {"std::basic_ios" OF_CHAR, "std::ios"},
    {"std::basic_streambuf" OF_CHAR, "std::streambuf"},
    {"std::basic_filebuf" OF_CHAR, "std::filebuf"},
    {"std::basic_ifstream" OF_CHAR, "std::ifstream"},
    {"std::basic_ofstream" OF_CHAR, "std::ofstream"},
    {"std::basic_fstream" OF_CHAR, "std::fstream"},
    {NULL, NULL},
};

static void add_replaced(struct strbuf *out, const struct replacement *table, const char *string,
                         size_t length)
{
    for (const char *at = string, *end = string + length; at < end;) {
        /* "mystd::" */
        bool within = at > string && (is_word(at[-1]) || at[-1] == ':') && is_word(*at);
        const struct replacement *one = table;
        while (one->from &&
               (within || (size_t)(end - at) < strlen(one->from) || !starts_with(at, one->from)))
            one++;
        if (one->from) {
            strbuf_add_string(out, one->to);
            at += strlen(one->from);
        } else {
            strbuf_add_char(out, *at++);
        }
    }
}

/* ---- Arguments that are what they are if nobody says otherwise ------------------------------ */

/* Which arguments of the library's templates have defaults, and what these are: %1 and %2 are its first and
 * second argument. What is not exactly this is the program's choice and stays. */
static const struct default_arguments {
    const char *name;        /* behind "std::" */
    size_t before;           /* arguments that have none */
    const char *defaults[4]; /* in order */
} default_arguments[] = {
    {"vector", 1, {"std::allocator<%1>"}},
    {"deque", 1, {"std::allocator<%1>"}},
    {"list", 1, {"std::allocator<%1>"}},
    {"forward_list", 1, {"std::allocator<%1>"}},
    {"set", 1, {"std::less<%1>", "std::allocator<%1>"}},
    {"multiset", 1, {"std::less<%1>", "std::allocator<%1>"}},
    {"map", 2, {"std::less<%1>", "std::allocator<std::pair<%1 const, %2>>"}},
    {"multimap", 2, {"std::less<%1>", "std::allocator<std::pair<%1 const, %2>>"}},
    {"unordered_set", 1, {"std::hash<%1>", "std::equal_to<%1>", "std::allocator<%1>"}},
    {"unordered_multiset", 1, {"std::hash<%1>", "std::equal_to<%1>", "std::allocator<%1>"}},
    {"unordered_map",
     2,
     {"std::hash<%1>", "std::equal_to<%1>", "std::allocator<std::pair<%1 const, %2>>"}},
    {"unordered_multimap",
     2,
     {"std::hash<%1>", "std::equal_to<%1>", "std::allocator<std::pair<%1 const, %2>>"}},
    {"unique_ptr", 1, {"std::default_delete<%1>"}},
    {"queue", 1, {"std::deque<%1>"}},
    {"stack", 1, {"std::deque<%1>"}},
    {"priority_queue", 1, {"std::vector<%1>", "std::less<%1>"}},
};

enum { ARGUMENTS_MAX = 6, TEMPLATES_DEEP_MAX = 64 };

struct argument {
    const char *text;
    size_t length;
};

/* Of the list behind "<" that is closed at `end`. More than fit: none of those that we know. */
static size_t split_arguments(const char *list, const char *end, struct argument *arguments)
{
    size_t count = 0;
    int depth = 0;
    const char *begin = list;
    for (const char *at = list; at <= end; at++) {
        if (at < end && strchr("<([{", *at))
            depth++;
        else if (at < end && strchr(">)]}", *at))
            depth--;
        else if (at == end || (*at == ',' && !depth)) {
            if (count == ARGUMENTS_MAX)
                return 0;
            arguments[count++] = (struct argument){begin, (size_t)(at - begin)};
            begin = at + (at < end && at[1] == ' ') + 1;
        }
    }
    return depth ? 0 : count;
}

static bool is_default(const struct argument *argument, const char *pattern,
                       const struct argument *arguments)
{
    struct strbuf expected = STRBUF_INIT;
    for (; *pattern; pattern++) {
        if (*pattern != '%') {
            strbuf_add_char(&expected, *pattern);
            continue;
        }
        const struct argument *of = &arguments[*++pattern - '1'];
        strbuf_add(&expected, of->text, of->length);
    }
    bool is = expected.length == argument->length &&
              !memcmp(expected.data, argument->text, argument->length);
    strbuf_release(&expected);
    return is;
}

static const struct default_arguments *template_before(const char *begin, const char *angle)
{
    for (size_t i = 0; i < sizeof default_arguments / sizeof *default_arguments; i++) {
        size_t length = strlen(default_arguments[i].name);
        const char *name = angle - length, *std = name - 5;
        if (std >= begin && !memcmp(name, default_arguments[i].name, length) &&
            !memcmp(std, "std::", 5) && (std == begin || !(is_word(std[-1]) || std[-1] == ':')))
            return &default_arguments[i];
    }
    return NULL;
}

/* Takes them from the end of `out`, where a template's list has just been closed but for its ">". */
static void drop_defaults(struct strbuf *out, size_t angle)
{
    struct argument arguments[ARGUMENTS_MAX];
    const struct default_arguments *of = template_before(out->data, out->data + angle);
    const char *list = out->data + angle + 1;
    size_t count = of ? split_arguments(list, out->data + out->length, arguments) : 0;
    size_t kept = count;
    while (kept > (of ? of->before : 0) && kept - of->before <= 4 &&
           of->defaults[kept - of->before - 1] &&
           is_default(&arguments[kept - 1], of->defaults[kept - of->before - 1], arguments))
        kept--;
    if (kept < count)
        strbuf_truncate(
            out, (size_t)(arguments[kept - 1].text + arguments[kept - 1].length - out->data));
}

/* From the inside out, since defaults have defaults. */
static void add_without_defaults(struct strbuf *out, const char *name)
{
    size_t angles[TEMPLATES_DEEP_MAX], depth = 0;
    for (const char *at = name; *at;) {
        const char *past = skip_operator(name, at);
        if (past != at) {
            strbuf_add(out, at, (size_t)(past - at));
            at = past;
            continue;
        }
        if (*at == '<') {
            if (depth < TEMPLATES_DEEP_MAX)
                angles[depth] = out->length;
            depth++;
        } else if (*at == '>' && depth && (at == name || at[-1] != '-')) {
            if (--depth < TEMPLATES_DEEP_MAX)
                drop_defaults(out, angles[depth]);
        }
        strbuf_add_char(out, *at++);
    }
}

/* As people would write it. */
static void add_usual(struct strbuf *out, const char *core, size_t length)
{
    struct strbuf spelled = STRBUF_INIT, plain = STRBUF_INIT;
    add_replaced(&spelled, spellings, core, length);
    add_replaced(&plain, typedefs, spelled.data, spelled.length);
    add_without_defaults(out, plain.data);
    strbuf_release(&spelled);
    strbuf_release(&plain);
}

/* `name` with template arguments nested deeper than `keep` shown as "…". */
static void add_elided(struct strbuf *out, const char *name, int keep)
{
    int angles = 0;
    for (const char *at = name; *at;) {
        const char *past = skip_operator(name, at);
        if (past != at) {
            if (angles <= keep)
                strbuf_add(out, at, (size_t)(past - at));
            at = past;
            continue;
        }
        if (*at == '<' && ++angles == keep + 1)
            strbuf_add_string(out, "<…>");
        else if (angles <= keep)
            strbuf_add_char(out, *at);
        if (*at == '>' && angles)
            angles--;
        at++;
    }
}

/* Cut in its middle; where that falls beside what was elided, one "…" stands for both. */
static void add_cut(struct strbuf *out, const char *name, size_t columns)
{
    struct strbuf cut = STRBUF_INIT;
    text_add_cut(&cut, name, columns);
    const char *twice = strstr(cut.data, "……");
    size_t before = twice ? (size_t)(twice - cut.data) : cut.length;
    strbuf_add(out, cut.data, before);
    strbuf_add_string(out, cut.data + before + (twice ? strlen("…") : 0));
    strbuf_release(&cut);
}

void name_add_short(struct strbuf *out, const char *name, size_t columns)
{
    struct strbuf usual = STRBUF_INIT, safe = STRBUF_INIT, elided = STRBUF_INIT;
    size_t length;
    const char *core = name_core(name, &length);
    add_usual(&usual, core, length);
    text_add_safe(&safe, usual.data, usual.length);
    strbuf_add(&elided, safe.data, safe.length);
    for (int keep = 1; keep >= 0 && text_width(elided.data) > columns; keep--) {
        strbuf_reset(&elided);
        add_elided(&elided, safe.data, keep);
    }
    add_cut(out, elided.data, columns);
    strbuf_release(&usual);
    strbuf_release(&safe);
    strbuf_release(&elided);
}

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void name_add_place(struct strbuf *out, const char *file, unsigned line, size_t columns)
{
    struct strbuf full = STRBUF_INIT;
    text_add_safe_string(&full, file);
    if (line)
        strbuf_addf(&full, ":%u", line);
    const char *at = full.data;
    bool cut = false;
    while (text_width(at) + (cut ? 2 : 0) > columns) {
        const char *slash = strchr(at + (*at == '/'), '/');
        if (!slash)
            break;
        at = slash + 1;
        cut = true;
    }
    if (cut && text_width(at) + 2 <= columns)
        strbuf_add_string(out, "…/");
    text_add_cut(out, at, columns);
    strbuf_release(&full);
}

/* ---- Libraries ----------------------------------------------------------------------------- */

static bool any_prefix(const char *string, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (starts_with(string, *prefixes))
            return true;
    return false;
}

bool name_is_library(const char *function, const char *linkage, const char *file,
                     const char *module)
{
    static const char *const names[] = {
        "std::",   "__gnu_cxx::", "__cxxabiv1::",      "operator new", "operator delete", "alloc::",
        "core::",  "hashbrown::", "__rust_",           "__rdl_",       "__rg_",           "_start",
        "__libc_", "__cxa_",      "allocator_traits<", "_gfortran_",   "_gfortrani_",     NULL};
    static const char *const symbols[] = {
        "_ZNSt",         "_ZNKSt",          "_ZSt", "_ZNSa", "_ZNSs",
        "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx",  "_Znw", "_Zna",  "_Zdl",
        "_Zda",          "_ZN10__cxxabiv1", NULL};
    static const char *const modules[] = {"libc.so",     "libc-",
                                          "ld-linux",    "libstdc++.so",
                                          "libgcc_s",    "libpthread",
                                          "libc++.so",   "libtidemark.so",
                                          "libbfm.so",   "libtidemark-bfm.so",
                                          "ld-2",        "ld-musl",
                                          "libgfortran", NULL};
    /* What everybody calls a malloc that ends the program on failure, and its free, and what widely
     * used programs and libraries call theirs: the caller is the site. */
    static const char *const wrappers[] = {
        "xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "xzalloc",
        "xmallocarray", "g_malloc", "g_malloc0", "g_realloc", "g_strdup", "xfree", "g_free",
        /* redis and its forks */
        "zmalloc", "zcalloc", "zcalloc_num", "zrealloc", "zmalloc_usable", "zcalloc_usable",
        "zrealloc_usable", "zstrdup", "ztrymalloc", "ztrycalloc", "ztryrealloc",
        "ztrymalloc_usable", "ztrycalloc_usable", "ztryrealloc_usable", "zfree", "zfree_usable",
        /* OpenSSL, SQLite, Perl, CPython */
        "CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_realloc", "CRYPTO_strdup", "CRYPTO_strndup",
        "CRYPTO_free", "sqlite3Malloc", "sqlite3MallocZero", "sqlite3_malloc", "sqlite3_malloc64",
        "sqlite3_realloc", "sqlite3_realloc64", "sqlite3_free", "Perl_safesysmalloc",
        "Perl_safesyscalloc", "Perl_safesysrealloc", "Perl_safesysfree", "PyMem_Malloc",
        "PyMem_Calloc", "PyMem_Realloc", "PyMem_Free", "PyMem_RawMalloc", "PyMem_RawCalloc",
        "PyMem_RawRealloc", "PyMem_RawFree", "PyObject_Malloc", "PyObject_Calloc",
        "PyObject_Realloc", "PyObject_Free", "_PyMem_RawMalloc", "_PyMem_RawCalloc",
        "_PyMem_RawRealloc", "_PyMem_RawFree", "_PyObject_Malloc", "_PyObject_Calloc",
        "_PyObject_Realloc", "_PyObject_Free",
        /* PHP, FFmpeg, ImageMagick, GLib */
        "__zend_malloc", "__zend_calloc", "__zend_realloc", "_safe_malloc", "_safe_realloc",
        "zend_strndup", "av_malloc", "av_mallocz", "av_malloc_array", "av_mallocz_array",
        "av_calloc", "av_realloc", "av_realloc_f", "av_realloc_array", "av_fast_malloc",
        "av_fast_mallocz", "av_fast_realloc", "av_reallocp", "av_strdup", "av_strndup", "av_memdup",
        "av_free", "av_freep", "AcquireMagickMemory", "AcquireAlignedMemory",
        "AcquireQuantumMemory", "AcquireCriticalMemory", "ResizeMagickMemory",
        "ResizeQuantumMemory", "RelinquishMagickMemory", "RelinquishAlignedMemory", "g_malloc_n",
        "g_malloc0_n", "g_realloc_n", "g_try_malloc", "g_try_malloc0", "g_try_malloc_n",
        "g_try_malloc0_n", "g_try_realloc", "g_try_realloc_n", "g_strndup", "g_memdup", "g_memdup2",
        "g_slice_alloc", "g_slice_alloc0", "g_slice_free1", NULL};
    if (module && any_prefix(name_base(module), modules))
        return true;
    for (size_t i = 0; function && wrappers[i]; i++)
        if (!strcmp(function, wrappers[i]))
            return true;
    if (linkage && any_prefix(linkage, symbols))
        return true;
    if (file && ((strstr(file, "/include/c++/") != NULL) || starts_with(file, "/rustc/")))
        return true;
    if (!function)
        return false;
    size_t length;
    const char *core = name_core(function, &length);
    while (*core == '<' || *core == '&') /* Rust: "<alloc::vec::Vec<T> as …>::push" */
        core++;
    return any_prefix(core, names);
}

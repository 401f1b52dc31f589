/* Shortens names of functions, files and modules, and recognizes library functions (names.h). One
 * scan over brackets and operators finds the part between return type and parameters. Library
 * functions are found by prefixes of names, linkage names and modules. */
#include "format/names.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "format/types.h"

enum { NAME_BESIDE_REGION = 8 }; /* the least columns that a name has beside a region */

static const char names_fortran_main[] = "main program"; /* without debug information */

static bool name_starts_with(const char *string, const char *prefix)
{
    return !strncmp(string, prefix, strlen(prefix));
}

/* Past the symbols of "operator<<", "operator()", … at `name`; `name` where no operator begins. */
static const char *name_skip_operator(const char *begin, const char *name)
{
    return name + types_operator_length(begin, name, name + strnlen(name, TYPES_OPERATOR_MAX));
}

/* Past the bracket that closes the one at `at`; NULL if it is open. */
static const char *name_skip_brackets(const char *at)
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

/* Go's "github.com/user/project/pkg.(*T).Method", "….Function": from the package's last word on.
 * The import path has a host first. NULL: it is not a name of that kind. */
static const char *name_go_core(const char *name)
{
    const char *receiver = strstr(name, ".(*");
    size_t path = receiver ? (size_t)(receiver - name) : strcspn(name, " ()<>:\\[");
    if (!receiver && name[path] && name[path] != '[') /* "…Map[…]": arguments of a generic one */
        return NULL;
    const char *slash = memrchr(name, '/', path), *first = strchr(name, '/');
    const char *dot = memchr(name, '.', path);
    if (!slash || !dot || dot > first || dot == name || *name == '/' || !strchr(slash, '.'))
        return receiver ? name : NULL;
    return slash + 1;
}

const char *name_core(const char *name, size_t *length)
{
    const char *go = name_go_core(name);
    if (go) {
        *length = strlen(go);
        return go;
    }
    const char *start = name, *at = name;
    int angles = 0;
    bool after_operator = false, is_open = false; /* a bracket that nothing closes */
    /* a name that we made: "[max depth]", "[file] libc.so.6"; a file, which may have blanks */
    if (*name == '[' || *name == '/') {
        *length = strlen(name);
        return name;
    }
    if (name_starts_with(name, names_fortran_main) &&
        strchr(" ", name[strlen(names_fortran_main)])) {
        *length = strlen(names_fortran_main);
        return name;
    }
    while (*at) {
        const char *past = name_skip_operator(name, at);
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
            /* Behind an open bracket each other one would be sought to the end. */
            past = is_open && *at != '(' ? NULL : name_skip_brackets(at);
            is_open |= !past;
            if (!past && *at != '(') { /* no bracket of a name's */
                at++;
                continue;
            }
            const char *next = past ? past + (name_starts_with(past, " const::") ? 6 : 0) : NULL;
            bool parameters = *at == '(' && !name_starts_with(at, "(anonymous namespace)") &&
                              !(next && name_starts_with(next, "::"));
            if (!past || parameters)
                break;
            at = past;
            continue;
        }
        at++;
    }
    while (at > start && at[-1] == ' ')
        at--;
    if (at == start) { /* no core was found */
        *length = strlen(name);
        return name;
    }
    *length = (size_t)(at - start);
    return start;
}

/* ---- Shortening ---------------------------------------------------------------------------- */

/* Adds `core` with types as people write them, and "(anonymous)" for "(anonymous namespace)". */
static void name_add_replaced(struct strbuf *out, const char *core, size_t length)
{
    static const char anonymous[] = "(anonymous namespace)";
    struct strbuf plain = STRBUF_INIT;
    types_add_plain(&plain, core, length);
    const char *at = plain.data;
    for (const char *found; (found = strstr(at, anonymous)); at = found + strlen(anonymous)) {
        strbuf_add(out, at, (size_t)(found - at));
        strbuf_add_string(out, "(anonymous)");
    }
    strbuf_add_string(out, at);
    strbuf_release(&plain);
}

/* Bytes of a name in angle brackets that Python gives, "<module>", "<locals>": no template
 * arguments follow nothing or a dot, and Rust's "<T>::f" goes on with colons. 0: it is none. */
static size_t name_bracketed_bytes(const char *begin, const char *at)
{
    if (*at != '<' || (at != begin && at[-1] != '.'))
        return 0;
    size_t letters = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
    const char *end = at + 1 + letters;
    return letters && *end == '>' && strchr(".", end[1]) ? letters + 2 : 0;
}

/* `name` with template arguments nested deeper than `keep` shown as "…". */
static void name_add_elided(struct strbuf *out, const char *name, int keep)
{
    int angles = 0;
    for (const char *at = name; *at;) {
        const char *past = name_skip_operator(name, at);
        if (past != at) {
            if (angles <= keep)
                strbuf_add(out, at, (size_t)(past - at));
            at = past;
            continue;
        }
        size_t bracketed = angles ? 0 : name_bracketed_bytes(name, at);
        strbuf_add(out, at, bracketed);
        at += bracketed;
        if (bracketed)
            continue;
        if (*at == '<' && ++angles == keep + 1)
            strbuf_add_string(out, "<…>");
        else if (angles <= keep)
            strbuf_add_char(out, *at);
        if (*at == '>' && angles)
            angles--;
        at++;
    }
}

/* Adds the name cut in its middle. If the cut is beside elided arguments, one "…" stands for
 * both. */
static void name_add_cut(struct strbuf *out, const char *name, size_t columns)
{
    struct strbuf cut = STRBUF_INIT;
    text_add_cut(&cut, name, columns);
    const char *twice = strstr(cut.data, "……");
    size_t before = twice ? (size_t)(twice - cut.data) : cut.length;
    strbuf_add(out, cut.data, before);
    strbuf_add_string(out, cut.data + before + (twice ? strlen("…") : 0));
    strbuf_release(&cut);
}

/* Adds `length` bytes of a name in at most `columns`. */
static void name_add_in(struct strbuf *out, const char *core, size_t length, size_t columns)
{
    struct strbuf plain = STRBUF_INIT, safe = STRBUF_INIT, elided = STRBUF_INIT;
    name_add_replaced(&plain, core, length);
    text_add_safe(&safe, plain.data, plain.length);
    strbuf_add(&elided, safe.data, safe.length);
    for (int keep = 1; keep >= 0 && text_width(elided.data) > columns; keep--) {
        strbuf_reset(&elided);
        name_add_elided(&elided, safe.data, keep);
    }
    name_add_cut(out, elided.data, columns);
    strbuf_release(&plain);
    strbuf_release(&safe);
    strbuf_release(&elided);
}

const char *name_region(const char *name)
{
    const char *region = strstr(name, " [OpenMP ");
    return region && strchr(region, ']') ? region + 1 : NULL;
}

static size_t name_region_bytes(const char *region)
{
    return region ? (size_t)(strchr(region, ']') + 1 - region) : 0;
}

size_t name_short_bytes(const char *name)
{
    size_t length;
    const char *region = name_region(name);
    name_core(name, &length);
    return length + (region ? 1 + name_region_bytes(region) : 0);
}

/* If there is too little room for both, the region is left out. */
void name_add_short(struct strbuf *out, const char *name, size_t columns)
{
    size_t length, region_bytes = name_region_bytes(name_region(name));
    const char *core = name_core(name, &length);
    if (!region_bytes || region_bytes + 1 + NAME_BESIDE_REGION > columns) {
        name_add_in(out, core, length, columns);
        return;
    }
    name_add_in(out, core, length, columns - region_bytes - 1);
    strbuf_add_char(out, ' ');
    text_add_safe(out, name_region(name), region_bytes);
}

void name_add_type(struct strbuf *out, const char *name, size_t columns)
{
    name_add_in(out, name, strlen(name), columns);
}

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static size_t name_width_of_part(const char *text, size_t length)
{
    struct strbuf part = STRBUF_INIT;
    strbuf_add(&part, text, length);
    size_t width = text_width(part.data);
    strbuf_release(&part);
    return width;
}

void name_add_place(struct strbuf *out, const char *file, unsigned line, size_t columns)
{
    struct strbuf full = STRBUF_INIT;
    text_add_safe_string(&full, file);
    if (line)
        strbuf_addf(&full, ":%u", line);
    const char *at = full.data;
    size_t width = text_width(at);
    bool cut = false;
    while (width + (cut ? 2 : 0) > columns) {
        const char *slash = strchr(at + (*at == '/'), '/');
        if (!slash)
            break;
        width -= name_width_of_part(at, (size_t)(slash + 1 - at));
        at = slash + 1;
        cut = true;
    }
    if (cut && width + 2 <= columns)
        strbuf_add_string(out, "…/");
    text_add_cut(out, at, columns);
    strbuf_release(&full);
}

/* ---- Libraries ----------------------------------------------------------------------------- */

static bool name_any_prefix(const char *string, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (*string == **prefixes && name_starts_with(string, *prefixes))
            return true;
    return false;
}

/* Python's import system and the modules that are installed with the interpreter; not packages. */
static bool name_is_python_library(const char *file)
{
    const char *python = strstr(file, "/lib/python3");
    return name_starts_with(file, "<frozen ") ||
           (python && !strstr(python, "/site-packages/") && !strstr(python, "/dist-packages/"));
}

/* The modules that are installed with Perl, in Debian's folders and in those of others. */
static bool name_is_perl_library(const char *file)
{
    const char *site = strstr(file, "/site_perl/");

    return !site && (strstr(file, "/perl-base/") || strstr(file, "/perl/5.") ||
                     strstr(file, "/lib/perl5/5.") || strstr(file, "/lib/5."));
}

/* Modules of Perl's that are native: List/Util.so. */
static bool name_is_perl_extension(const char *module)
{
    const char *own = strstr(module, "/perl");

    return own && strstr(own, "/auto/");
}

/* PHP's built-in functions, which its stack traces call "[internal function]", and packages of the
 * system. */
static bool name_is_php_library(const char *file)
{
    return name_starts_with(file, "[internal function]") || strstr(file, "/usr/share/php/");
}

/* Ruby's own code: native methods, its library, and the loader of files; not gems. */
static bool name_is_ruby_library(const char *file)
{
    const char *own = strstr(file, "/lib/ruby/");

    return name_starts_with(file, "[C function]") || name_starts_with(file, "<internal:") ||
           (own && own[10] >= '2' && own[10] <= '9') || strstr(file, "/rubygems/core_ext/") ||
           strstr(file, "/vendor_ruby/rubygems");
}

/* Extension modules of Ruby: ruby/3.1.0/json/ext/parser.so. */
static bool name_is_ruby_extension(const char *module)
{
    const char *own = strstr(module, "/ruby/");

    return strstr(module, ".so") &&
           ((own && own[6] >= '2' && own[6] <= '9') || strstr(module, "/ruby/vendor_ruby/") ||
            strstr(module, "/ruby/site_ruby/") || strstr(module, "/gems/"));
}

/* Native functions of Lua's. */
static bool name_is_lua_library(const char *file)
{
    return strcmp(file, "[C]") == 0;
}

/* Extension modules of Lua: lua/5.4/lpeg.so. */
static bool name_is_lua_extension(const char *module)
{
    return strstr(module, ".so") && strstr(module, "/lua/5.");
}

/* Go's run-time, and what cgo puts between Go and C. */
static bool name_is_go_library(const char *function, const char *file)
{
    return name_starts_with(function, "_cgo_") || name_starts_with(function, "x_cgo_") ||
           strstr(function, "._Cfunc_") || strstr(function, "._cgo_") ||
           (name_starts_with(function, "runtime.") && file && strstr(file, "runtime/"));
}

/* Extension modules of Python: the call site is the line that calls them. */
static bool name_is_python_extension(const char *module)
{
    return strstr(module, ".cpython-3") || strstr(module, ".abi3.so");
}

bool name_is_library_module(const char *module)
{
    static const char *const modules[] = {
        "libc.so", "libc-", "ld-linux", "libstdc++.so", "libgcc_s", "libpthread", "libc++.so",
        "libtidemark.so", "libbfm.so", "libtidemark-bfm.so", "ld-2", "ld-musl", "libgfortran",
        "libglib-2.0.so", "libgobject-2.0.so",
        /* Kokkos, and our tool in it */
        "libkokkos", "libtrilinos_kokkos", "libtidemark-kokkos.so", NULL};
    if (!module)
        return false;
    const char *base = name_base(module);
    return name_any_prefix(base, modules) || name_is_python_extension(base) ||
           name_is_perl_extension(module) || name_is_ruby_extension(module) ||
           name_is_lua_extension(module);
}

bool name_is_library_function(const char *function, const char *linkage, const char *file)
{
    static const char *const names[] = {
        "std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "operator delete",
        "alloc::", "core::", "hashbrown::", "__rust_", "__rdl_", "__rg_", "_start", "__libc_",
        "__cxa_", "allocator_traits<", "_gfortran_", "_gfortrani_",
        /* what Views are made in */
        "Kokkos::", NULL};
    static const char *const symbols[] = {
        "_ZNSt",         "_ZNKSt",          "_ZSt", "_ZNSa", "_ZNSs",
        "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx",  "_Znw", "_Zna",  "_Zdl",
        "_Zda",          "_ZN10__cxxabiv1", NULL};
    /* Usual names of wrappers around malloc and free, and names of the wrappers of widely used
     * programs and libraries. The call site is the caller of the wrapper. */
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
    for (size_t i = 0; function && wrappers[i]; i++)
        if (*function == *wrappers[i] && !strcmp(function, wrappers[i]))
            return true;
    if (linkage && name_any_prefix(linkage, symbols))
        return true;
    if (file &&
        ((strstr(file, "/include/c++/") != NULL) || name_starts_with(file, "/rustc/") ||
         name_is_python_library(file) || name_is_perl_library(file) || name_is_php_library(file) ||
         name_is_ruby_library(file) || name_is_lua_library(file)))
        return true;
    if (!function)
        return false;
    if (name_is_go_library(function, file))
        return true;
    if (!strcmp(function, "<eval>")) /* code in a string of Perl: the call site is the caller of
                                      * eval */
        return true;
    size_t length;
    const char *core = name_core(function, &length);
    while (*core == '<' || *core == '&') /* Rust: "<alloc::vec::Vec<T> as …>::push" */
        core++;
    return name_any_prefix(core, names);
}

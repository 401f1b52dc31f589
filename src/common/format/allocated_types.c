/* Finds the type that a function allocates, by its name (allocated_types.h). A name is cut at the
 * "::" and "<" outside of brackets. Tables list the classes and functions that are known. */
#include "format/allocated_types.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include "format/names.h"
#include "format/types.h"

struct allocated_piece {
    const char *at;
    size_t length;
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

static bool allocated_piece_is(struct allocated_piece piece, const char *text)
{
    return piece.length == strlen(text) && !memcmp(piece.at, text, piece.length);
}

static bool allocated_piece_begins(struct allocated_piece piece, const char *text)
{
    return piece.length >= strlen(text) && !memcmp(piece.at, text, strlen(text));
}

static bool allocated_piece_ends(struct allocated_piece piece, const char *text)
{
    size_t length = strlen(text);
    return piece.length >= length && !memcmp(piece.at + piece.length - length, text, length);
}

static bool allocated_piece_is_any(struct allocated_piece piece, const char *const *texts)
{
    for (; *texts; texts++)
        if (allocated_piece_is(piece, *texts))
            return true;
    return false;
}

static struct allocated_piece allocated_piece_trim(struct allocated_piece piece)
{
    while (piece.length && piece.at[piece.length - 1] == ' ')
        piece.length--;
    while (piece.length && *piece.at == ' ') {
        piece.at++;
        piece.length--;
    }
    return piece;
}

/* The index, from `at` on, where `stop` stands outside of all brackets, or a bracket closes that
 * was open before. The length of the piece if there is none. */
static size_t allocated_piece_until(struct allocated_piece piece, size_t at, const char *stop)
{
    int depth = 0;
    for (; at < piece.length; at++) {
        const char *end = piece.at + piece.length, *c = piece.at + at;
        size_t skipped = types_operator_length(piece.at, c, end);
        if (skipped) {
            at += skipped - 1;
            continue;
        }
        if (!depth && allocated_piece_begins((struct allocated_piece){c, piece.length - at}, stop))
            return at;
        if (strchr("<([{", *c))
            depth++;
        else if (strchr(">)]}", *c) && !(*c == '>' && at && c[-1] == '-') && --depth < 0)
            return at;
    }
    return at;
}

/* "std::vector<int>::reserve" → "std::vector<int>" and "reserve". */
static struct allocated_piece allocated_piece_split(struct allocated_piece *name)
{
    struct allocated_piece scope = {name->at, 0};
    for (size_t at = 0, next; (next = allocated_piece_until(*name, at, "::")) < name->length;) {
        if (allocated_piece_begins((struct allocated_piece){name->at + next, name->length - next},
                                   "::"))
            scope.length = next;
        at = next + 1;
    }
    if (scope.length) {
        name->at += scope.length + 2;
        name->length -= scope.length + 2;
    }
    return scope;
}

/* Cuts "vector<int, A>" to "vector" and returns the template argument with that number; empty: it
 * has none. */
static struct allocated_piece allocated_piece_argument(struct allocated_piece *name,
                                                       unsigned number)
{
    size_t open = allocated_piece_until(*name, 0, "<");
    struct allocated_piece argument = {name->at + open, 0};
    if (open >= name->length)
        return argument;
    struct allocated_piece inside = {name->at + open + 1, name->length - open - 1};
    size_t begin = 0, end = allocated_piece_until(inside, 0, ",");
    while (number-- && end < inside.length && inside.at[end] == ',') {
        begin = end + 1;
        end = allocated_piece_until(inside, begin, ",");
    }
    name->length = open;
    return allocated_piece_trim((struct allocated_piece){inside.at + begin, end - begin});
}

/* std::__1::, std::__cxx11::, std::__ndk1:: are std::. */
static struct allocated_piece allocated_piece_drop_std(struct allocated_piece name)
{
    static const char *const inner[] = {
        "std::__cxx11::", "std::__1::", "std::__detail::", "std::", "__gnu_cxx::", NULL};
    for (const char *const *at = inner; *at; at++)
        if (allocated_piece_begins(name, *at))
            return (struct allocated_piece){name.at + strlen(*at), name.length - strlen(*at)};
    return (struct allocated_piece){name.at, 0};
}

/* "allocate[abi:v160006]" → "allocate". */
static struct allocated_piece allocated_piece_drop_tag(struct allocated_piece name)
{
    const char *tag = memchr(name.at, '[', name.length);
    return tag ? (struct allocated_piece){name.at, (size_t)(tag - name.at)} : name;
}

/* ---- C++ ------------------------------------------------------------------------------------- */

static bool allocated_type_take(struct strbuf *type, struct allocated_piece found)
{
    if (!found.length)
        return false;
    strbuf_reset(type);
    strbuf_add(type, found.at, found.length);
    return true;
}

/* "std::allocator<T>", "std::allocator<T> const&" → T */
static struct allocated_piece allocated_type_of_allocator(struct allocated_piece allocator)
{
    static const char *const allocators[] = {"allocator", "__new_allocator", "new_allocator", NULL};
    struct allocated_piece plain = allocated_piece_drop_std(allocator);
    struct allocated_piece argument = allocated_piece_argument(&plain, 0);
    return allocated_piece_is_any(plain, allocators) ? argument
                                                     : (struct allocated_piece){allocator.at, 0};
}

/* Types without a constructor that could allocate. Not bool: vector<bool> allocates words. */
static bool allocated_type_is_plain(struct allocated_piece type)
{
    static const char *const plain[] = {"char",
                                        "signed char",
                                        "unsigned char",
                                        "short",
                                        "unsigned short",
                                        "int",
                                        "unsigned int",
                                        "long",
                                        "unsigned long",
                                        "long long",
                                        "unsigned long long",
                                        "float",
                                        "double",
                                        "long double",
                                        "wchar_t",
                                        "char8_t",
                                        "char16_t",
                                        "char32_t",
                                        "__int128",
                                        NULL};
    return allocated_piece_is_any(type, plain) ||
           (allocated_piece_ends(type, "*") && !allocated_piece_ends(type, "::*"));
}

/* Functions of std::vector<T>, T plain, that allocate elements and nothing else. */
static bool allocated_type_is_grower(struct allocated_piece function)
{
    static const char *const growers[] = {"_M_realloc_insert",
                                          "_M_realloc_append",
                                          "_M_default_append",
                                          "_M_fill_insert",
                                          "_M_fill_assign",
                                          "_M_fill_initialize",
                                          "_M_allocate",
                                          "_M_create_storage",
                                          "reserve",
                                          "resize",
                                          "push_back",
                                          "emplace_back",
                                          NULL};
    return allocated_piece_is_any(function, growers);
}

/* Member functions of class templates that allocate in no other way. */
static bool allocated_type_of_member(struct strbuf *type, struct allocated_piece class,
                                     struct allocated_piece function, bool has_lines)
{
    static const char *const allocators[] = {"allocator", "__new_allocator", "new_allocator", NULL};
    static const char *const traits[] = {"allocator_traits", "__alloc_traits", NULL};
    struct allocated_piece name = class, whole = class;
    struct allocated_piece first = allocated_piece_argument(&name, 0);
    (void)allocated_piece_argument(&function, 0);
    function = allocated_piece_drop_tag(function);
    if (allocated_piece_is_any(name, allocators) && allocated_piece_is(function, "allocate"))
        return allocated_type_take(type, first);
    if (allocated_piece_is_any(name, traits) && allocated_piece_is(function, "allocate"))
        return allocated_type_take(type, allocated_type_of_allocator(first));
    if (allocated_piece_is(name, "_Vector_base") &&
        (allocated_piece_is(function, "_M_allocate") ||
         allocated_piece_is(function, "_M_create_storage")))
        return allocated_type_take(
            type, allocated_type_of_allocator(allocated_piece_argument(&whole, 1)));
    if (allocated_piece_is(name, "basic_string"))
        return !has_lines && allocated_type_is_plain(first) && allocated_type_take(type, first);
    return allocated_piece_is(name, "vector") && !has_lines && allocated_type_is_plain(first) &&
           allocated_type_is_grower(function) && allocated_type_take(type, first);
}

/* make_unique<T>() and make_unique<T[]>(n). Allocations of T's constructor have the constructor on
 * their call path. */
static bool allocated_type_of_maker(struct strbuf *type, struct allocated_piece function,
                                    bool has_lines)
{
    static const char *const makers[] = {"make_unique", "make_unique_for_overwrite", NULL};
    struct allocated_piece made = allocated_piece_argument(&function, 0);
    if (!has_lines || !allocated_piece_is_any(allocated_piece_drop_tag(function), makers))
        return false;
    const char *bounds = allocated_piece_ends(made, "]") ? memchr(made.at, '[', made.length) : NULL;
    if (bounds)
        made = allocated_piece_trim((struct allocated_piece){made.at, (size_t)(bounds - made.at)});
    return allocated_type_take(type, made);
}

static enum allocated_type allocated_type_of_cxx(struct strbuf *type, struct allocated_piece name,
                                                 bool has_lines)
{
    static const char *const handing_on[] = {"__libcpp_allocate", "__libcpp_operator_new",
                                             "__allocate", NULL};
    struct allocated_piece plain = allocated_piece_drop_std(name), function = plain;
    if (allocated_piece_begins(name, "operator new"))
        return ALLOCATED_BY_NEXT;
    if (!plain.length)
        return ALLOCATED_UNKNOWN;
    struct allocated_piece class = allocated_piece_split(&function), bare = function;
    (void)allocated_piece_argument(&bare, 0);
    if (!class.length && allocated_piece_is_any(allocated_piece_drop_tag(bare), handing_on))
        return ALLOCATED_BY_NEXT;
    bool found = class.length ? allocated_type_of_member(type, class, function, has_lines)
                              : allocated_type_of_maker(type, function, has_lines);
    return found ? ALLOCATED_FOUND : ALLOCATED_UNKNOWN;
}

/* ---- Rust ------------------------------------------------------------------------------------ */

/* Names of Rust's older mangling have the letter of a parameter where the argument should stand. */
static bool allocated_type_is_parameter(struct allocated_piece type)
{
    return type.length == 1 && isupper((unsigned char)*type.at);
}

static bool allocated_type_hands_on(struct allocated_piece name)
{
    static const char *const begins[] = {"alloc::alloc::",
                                         "<alloc::alloc::Global",
                                         "__rust_alloc",
                                         "__rdl_alloc",
                                         "__rg_alloc",
                                         "alloc::raw_vec::RawVecInner",
                                         "<alloc::raw_vec::RawVecInner",
                                         "alloc::raw_vec::finish_grow",
                                         "alloc::boxed::box_new_uninit",
                                         NULL};
    for (const char *const *at = begins; *at; at++)
        if (allocated_piece_begins(name, *at))
            return true;
    return false;
}

/* Finds T in "<alloc::boxed::Box<T>>::new" and "<alloc::raw_vec::RawVec<T>>::grow_one". */
static enum allocated_type allocated_type_of_rust(struct strbuf *type, struct allocated_piece name,
                                                  bool has_lines)
{
    static const char *const holders[] = {"alloc::boxed::Box", "alloc::raw_vec::RawVec", NULL};
    if (allocated_type_hands_on(name))
        return ALLOCATED_BY_NEXT;
    if (!has_lines || !allocated_piece_begins(name, "<alloc::"))
        return ALLOCATED_UNKNOWN;
    struct allocated_piece inside = {name.at + 1, name.length - 1};
    inside.length = allocated_piece_until(inside, 0, " as ");
    struct allocated_piece argument = allocated_piece_argument(&inside, 0);
    if (!allocated_piece_is_any(inside, holders) || allocated_type_is_parameter(argument) ||
        !allocated_type_take(type, argument))
        return ALLOCATED_UNKNOWN;
    return ALLOCATED_FOUND;
}

/* ---- C --------------------------------------------------------------------------------------- */

/* Functions of the C library that copy a text. No variable's type tells it, because there is none
 * there. */
static enum allocated_type allocated_type_of_c(struct strbuf *type, struct allocated_piece name)
{
    static const char *const copies[] = {"strdup", "__strdup", "strndup", "__strndup", NULL};
    bool found = allocated_piece_is_any(name, copies) &&
                 allocated_type_take(type, (struct allocated_piece){"char", 4});
    return found ? ALLOCATED_FOUND : ALLOCATED_UNKNOWN;
}

/* ---- All ------------------------------------------------------------------------------------- */

enum allocated_type allocated_type(struct strbuf *type, const char *function, bool has_lines)
{
    struct allocated_piece name;
    name.at = name_core(function, &name.length);
    enum allocated_type found = allocated_type_of_rust(type, name, has_lines);
    if (found == ALLOCATED_UNKNOWN)
        found = allocated_type_of_cxx(type, name, has_lines);
    return found == ALLOCATED_UNKNOWN ? allocated_type_of_c(type, name) : found;
}

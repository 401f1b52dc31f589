/* Reads and copies lists of libraries, which blanks and colons separate as for ld.so (preloads.h).
 * Entries of the user stay as they are. Our entries at the program's beginning are kept in a
 * buffer. If the program replaces the list, they are put in front of the new one. */
#include "interpose/preloads.h"

#include <string.h>

#define PRELOAD            "LD_PRELOAD="
#define PRELOAD_SEPARATORS ": "
enum { PREFIX_BYTES = sizeof PRELOAD - 1 };

char *const *preloads_entry(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, PRELOAD, PREFIX_BYTES) == 0)
            return environment;
    return NULL;
}

/* The first library of that kind, which has *bytes; NULL: there is none. */
static const char *preloads_find(const char *entry, preloads_is *is, size_t *bytes)
{
    const char *list = entry + PREFIX_BYTES;
    while (*list) {
        *bytes = strcspn(list, PRELOAD_SEPARATORS);
        if (is(list, *bytes))
            return list;
        list += *bytes;
        list += strspn(list, PRELOAD_SEPARATORS);
    }
    return NULL;
}

bool preloads_has(const char *entry, preloads_is *is)
{
    size_t bytes;
    return preloads_find(entry, is, &bytes) != NULL;
}

bool preloads_path(char *path, size_t room, const char *entry, preloads_is *is)
{
    size_t bytes;
    const char *found = preloads_find(entry, is, &bytes);
    if (!found || *found != '/' || bytes >= room || memchr(found, '$', bytes))
        return false;
    memcpy(path, found, bytes);
    path[bytes] = '\0';
    return true;
}

bool preloads_is_empty(const char *entry)
{
    const char *list = entry + PREFIX_BYTES;
    return list[strspn(list, PRELOAD_SEPARATORS)] == '\0';
}

/* GCC's run-times are libraries; Clang's are if it is told so. */
bool preloads_is_sanitizer(const char *path, size_t bytes)
{
    static const char *const marks[] = {
        "libasan.so",       "libtsan.so",       "liblsan.so",         "libhwasan.so",
        "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan", "libclang_rt.msan"};
    const char *slash = memrchr(path, '/', bytes);
    const char *name = slash ? slash + 1 : path;
    size_t name_bytes = bytes - (size_t)(name - path);
    for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++)
        if (name_bytes >= strlen(marks[i]) && memcmp(name, marks[i], strlen(marks[i])) == 0)
            return true;
    return false;
}

/* Copies the list without the libraries that `is` is true of. Each goes with the separator behind
 * it, the last one with the separator before it. Returns the length. */
static size_t preloads_copy_list(char *to, const char *from, preloads_is *is)
{
    size_t length = 0;
    bool last_was_one = false;
    while (*from) {
        size_t bytes = strcspn(from, PRELOAD_SEPARATORS);
        last_was_one = is(from, bytes);
        bytes += from[bytes] != '\0';
        if (!last_was_one) {
            memcpy(to + length, from, bytes);
            length += bytes;
        }
        from += bytes;
    }
    if (last_was_one && length)
        length--;
    to[length] = '\0';
    return length;
}

bool preloads_copy_others(char *to, const char *entry, preloads_is *is)
{
    return preloads_copy_list(stpcpy(to, PRELOAD), entry + PREFIX_BYTES, is) != 0;
}

/* ---- Putting ours in front ---- */

/* If our entries are longer, they are not put back. */
static char preloads_text[1024];
static size_t preloads_text_bytes;

void preloads_keep(char *const *environment, preloads_is *is)
{
    char *const *entry = preloads_entry(environment);
    const char *list = entry ? *entry + PREFIX_BYTES : "";
    preloads_text_bytes = 0;
    for (size_t bytes; *list; list += strspn(list, PRELOAD_SEPARATORS)) {
        bytes = strcspn(list, PRELOAD_SEPARATORS);
        if (is(list, bytes)) {
            if (bytes + 1 > sizeof preloads_text - preloads_text_bytes) {
                preloads_text_bytes = 0;
                return;
            }
            memcpy(preloads_text + preloads_text_bytes, list, bytes);
            preloads_text_bytes += bytes;
            preloads_text[preloads_text_bytes++] = ':';
        }
        list += bytes;
    }
}

bool preloads_are_kept(void)
{
    return preloads_text_bytes;
}

size_t preloads_kept_bytes(void)
{
    return preloads_text_bytes;
}

void preloads_copy_behind_kept(char *to, const char *entry)
{
    to = stpcpy(to, PRELOAD);
    memcpy(to, preloads_text, preloads_text_bytes);
    strcpy(to + preloads_text_bytes, entry + PREFIX_BYTES);
}

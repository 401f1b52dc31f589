/* Finds the libraries of the allocators to compare. A word is a path, or a name that is looked for
 * in the usual folders. What is found must be a shared library of this machine, at a path that the
 * loader can preload. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/regular.h"
#include "base/text.h"
#include "base/memory.h"
#include "procfs/elf_sniff.h"
#include "whatif/whatif.h"

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "."
#endif

static const char *const places[] = {
    "/usr/local/lib", "/usr/local/lib64", "/usr/lib/" TRIPLET, "/lib/" TRIPLET,
    "/usr/lib64",     "/usr/lib",         "/opt/homebrew/lib",
};

/* Allocators whose library is not called lib + name. */
static const struct {
    const char *name, *library;
} known_as[] = {
    {"tcmalloc", "tcmalloc_minimal"}, /* without the heap profiler, which is the usual one to
                                       * load */
    {"tcmalloc", "tcmalloc"},
    {"bfm", "tidemark-bfm"},
    {"hoard", "hoard"},
};

static const char *const own_names[] = {"glibc", "libc", "system"};

static int whatif_candidates_refuse(struct strbuf *sentence, int error, const char *name,
                                    const char *why)
{
    strbuf_add_string(sentence, "allocator '");
    text_add_safe_string(sentence, name);
    strbuf_addf(sentence, "': %s", why);
    return error;
}

/* ---- Finding ------------------------------------------------------------------------------- */

static bool whatif_candidates_find_in(const char *place, const char *library, char path[PATH_MAX])
{
    struct strbuf pattern = STRBUF_INIT;
    glob_t found;
    bool is_there = false;

    strbuf_addf(&pattern, "%s/lib%s.so*", place, library);
    if (glob(pattern.data, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !is_there; i++)
            is_there = realpath(found.gl_pathv[i], path) != NULL;
        globfree(&found);
    }
    strbuf_release(&pattern);
    return is_there;
}

/* Beside ourselves first: what is installed with Tidemark. */
static bool whatif_candidates_find_anywhere(const char *library, char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 16);
    char *slash;

    if (length > 0) {
        self[length] = '\0';
        slash = strrchr(self, '/');
        strcpy(slash ? slash : self, "/../lib");
        if (whatif_candidates_find_in(self, library, path))
            return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (whatif_candidates_find_in(places[i], library, path))
            return true;
    return false;
}

static bool whatif_candidates_find_named(const char *name, char path[PATH_MAX])
{
    for (size_t i = 0; i < sizeof known_as / sizeof *known_as; i++)
        if (!strcmp(known_as[i].name, name) &&
            whatif_candidates_find_anywhere(known_as[i].library, path))
            return true;
    return whatif_candidates_find_anywhere(name, path);
}

static bool whatif_candidates_is_plain_name(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+")];
}

static bool whatif_candidates_is_own(const char *name)
{
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (!strcmp(name, own_names[i]))
            return true;
    return false;
}

static int whatif_candidates_check_library(const char *name, const char *path,
                                           struct strbuf *sentence)
{
    struct elf_sniff elf;
    struct stat status;
    int fd;

    if (strpbrk(path, ": \t\n"))
        return whatif_candidates_refuse(
            sentence, -EINVAL, name,
            "the loader cannot preload a path with blanks or colons; link to it from "
            "elsewhere");
    fd = regular_file_open(path, &status);
    if (fd < 0)
        return whatif_candidates_refuse(sentence, fd, name,
                                        fd == -EINVAL ? "no regular file" : strerror(-fd));
    elf_sniff(&elf, fd);
    close(fd);
    if (!elf.is_elf || !elf.valid || elf.foreign || !elf.position_independent)
        return whatif_candidates_refuse(sentence, -EINVAL, name,
                                        "not a shared library of this machine");
    return 0;
}

static int whatif_candidates_find_library(const char *name, char path[PATH_MAX],
                                          struct strbuf *sentence)
{
    path[0] = '\0';
    if (whatif_candidates_is_own(name))
        return 0;
    if (strchr(name, '/') || strstr(name, ".so")) {
        if (!realpath(name, path))
            return whatif_candidates_refuse(sentence, -errno, name, strerror(errno));
        return whatif_candidates_check_library(name, path, sentence);
    }
    if (!whatif_candidates_is_plain_name(name))
        return whatif_candidates_refuse(sentence, -EINVAL, name,
                                        "neither a name nor the path of a library");
    if (!whatif_candidates_find_named(name, path))
        return whatif_candidates_refuse(
            sentence, -ENOENT, name,
            "no such library in the usual places; install it or give its path");
    return whatif_candidates_check_library(name, path, sentence);
}

/* ---- Parsing ------------------------------------------------------------------------------- */

/* The next word up to one of `ends`, backslashes resolved; *at moves behind it. */
static void whatif_candidates_next_word(const char **at, const char *ends, struct strbuf *word)
{
    strbuf_reset(word);
    for (; **at && !strchr(ends, **at); ++*at) {
        if (**at == '\\' && (*at)[1])
            ++*at;
        strbuf_add_char(word, **at);
    }
}

static char *whatif_candidates_copy(const char *text)
{
    struct strbuf made = STRBUF_INIT;

    strbuf_add_string(&made, text);
    strbuf_add(&made, "", 0);
    return *text ? strbuf_detach(&made) : calloc(1, 1);
}

static void whatif_candidates_add_setting(struct whatif_candidate *candidate, const char *setting)
{
    size_t count = 0;

    while (candidate->settings && candidate->settings[count])
        count++;
    candidate->settings =
        memory_resize(candidate->settings, count + 2, sizeof *candidate->settings);
    candidate->settings[count] = whatif_candidates_copy(setting);
    candidate->settings[count + 1] = NULL;
}

static void whatif_candidates_release_candidate(struct whatif_candidate *candidate)
{
    for (size_t i = 0; candidate->settings && candidate->settings[i]; i++)
        free(candidate->settings[i]);
    free(candidate->settings);
    free(candidate->name);
    free(candidate->library);
}

/* "A=1 B=2 name", up to a comma. */
static int whatif_candidates_parse_one(const char **at, struct whatif_candidate *candidate,
                                       struct strbuf *sentence)
{
    struct strbuf word = STRBUF_INIT, name = STRBUF_INIT;
    char path[PATH_MAX];
    int error = 0;

    memset(candidate, 0, sizeof *candidate);
    for (;;) {
        *at += strspn(*at, " ");
        whatif_candidates_next_word(at, " ,", &word);
        *at += strspn(*at, " ");
        strbuf_addf(&name, "%s%s", name.length ? " " : "", word.data);
        if (!**at || **at == ',' || !strchr(word.data, '='))
            break;
        if (*word.data == '=')
            break;
        whatif_candidates_add_setting(candidate, word.data);
    }
    if (**at && **at != ',')
        error = whatif_candidates_refuse(
            sentence, -EINVAL, word.data,
            "a comma must stand between allocators; only VARIABLE=VALUE before a name");
    else if (strchr(word.data, '='))
        error = whatif_candidates_refuse(sentence, -EINVAL, word.data,
                                         "a setting without an allocator behind it");
    else if (!*word.data)
        error = whatif_candidates_refuse(sentence, -EINVAL, "", "an empty name");
    else
        error = whatif_candidates_find_library(word.data, path, sentence);
    candidate->name = whatif_candidates_copy(name.data);
    candidate->library = whatif_candidates_copy(error ? "" : path);
    strbuf_release(&word);
    strbuf_release(&name);
    return error;
}

int whatif_candidates_add(struct whatif_candidates *candidates, const char *list,
                          struct strbuf *sentence)
{
    for (;; list++) {
        struct whatif_candidate candidate;
        int error = whatif_candidates_parse_one(&list, &candidate, sentence);
        if (error) {
            whatif_candidates_release_candidate(&candidate);
            return error;
        }
        candidates->all =
            memory_resize(candidates->all, candidates->count + 1, sizeof *candidates->all);
        candidates->all[candidates->count++] = candidate;
        if (!*list)
            return 0;
    }
}

void whatif_candidates_release(struct whatif_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        whatif_candidates_release_candidate(&candidates->all[i]);
    free(candidates->all);
    *candidates = (struct whatif_candidates){0};
}

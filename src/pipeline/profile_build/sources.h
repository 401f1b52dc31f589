/* The source files that a profile's code locations name, read once at the end of the recording so
 * that the profile can show them wherever it is read.
 *
 *     sources_add(sources, file, module_path);     for each frame that is written
 *     sources_read(sources, put, context);         once, at the end
 *
 * The debug information of the recorded program chooses the files. So only regular files are read,
 * without waiting, and within a limit for each file and for all. One thread at a time. */
#ifndef TIDEMARK_PROFILE_BUILD_SOURCES_H
#define TIDEMARK_PROFILE_BUILD_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#define SOURCES_FILE_LIMIT  ((size_t)4 << 20)
#define SOURCES_TOTAL_LIMIT ((size_t)64 << 20)

struct sources;

struct sources *sources_new(void); /* NULL: out of memory */
void sources_free(struct sources *sources);

/* Notes that code of `module` (the path of an object file) comes from `file`. Both are copied. A
 * file is kept once, with the oldest of its modules. Relative paths cannot be found later and are
 * left out. 0 or -ENOMEM. */
int sources_add(struct sources *sources, const char *file, const char *module);

size_t sources_count(const struct sources *sources);

/* Why a file was not kept. */
struct sources_result {
    size_t kept;
    size_t missing;   /* not there, not readable, no regular file, or binary */
    size_t too_large; /* for one file, or for what was left of all */
    char *changed;    /* paths, one a line, of those that are newer than the module that was made
                         of them: the text may not be what was compiled. malloc'd, NULL: none */
};

/* Reads the files, those of the system (/usr) last, and passes each to `put`; `text` is valid only
 * during the call. Ends with what `put` returns if that is not 0. Limits in bytes. 0 or -errno; the
 * caller frees result->changed in any case. */
int sources_read(const struct sources *sources, size_t file_limit, size_t total_limit,
                 int (*put)(void *context, const char *path, const char *text, size_t bytes),
                 void *context, struct sources_result *result);

#endif

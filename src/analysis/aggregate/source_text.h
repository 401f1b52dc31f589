/* The text of a source file that a profile names: the copy in the profile, else the file on disk,
 * at the recorded path or where --source-path says that it is now.
 *
 * A profile may come from a stranger: only regular files are read, opening one never blocks, and
 * what looks binary or is larger than SOURCE_TEXT_LIMIT is refused. */
#ifndef TIDEMARK_AGGREGATE_SOURCE_TEXT_H
#define TIDEMARK_AGGREGATE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"
#include "profile/profile.h"

#define SOURCE_TEXT_LIMIT ((size_t)64 << 20)

/* OLD=NEW pairs: a path that is OLD or below it is looked for at NEW, or below. The last that fits
 * and has the file counts. */
enum { SOURCE_PATHS_MAX = 64 };
struct source_paths {
    struct {
        const char *from, *to; /* of argv */
        size_t from_length;
    } pairs[SOURCE_PATHS_MAX];
    size_t count;
    /* Set where others see the text: a path without a pair is then read only if the profile was
     * recorded on this machine since it was started. */
    bool only_here;
    const char *host, *boot; /* of this machine, where `only_here` */
};
/* 0, or -EINVAL: not OLD=NEW (OLD not empty), -ENOSPC: too many. `pair` must live on. */
int source_paths_add(struct source_paths *paths, const char *pair);
/* Adds the path as the last pair that fits has it, whether or not there is a file; unchanged where
 * none fits. `paths` may be NULL. */
void source_paths_apply(const struct source_paths *paths, const char *path, struct strbuf *out);

enum source_origin { SOURCE_ORIGIN_NONE = 0, SOURCE_ORIGIN_EMBEDDED, SOURCE_ORIGIN_DISK };

struct source_text {
    enum source_origin origin;
    bool changed;       /* this may not be what was compiled */
    struct strbuf note; /* a sentence: where the text comes from, what is wrong with it, or why
                           there is none. Terminal-safe */
    const char *bytes;
    size_t *starts; /* line_count + 1 offsets into bytes */
    size_t line_count;
    char *own; /* bytes, where they are not the profile's */
};

/* Always succeeds: without a text line_count is 0 and the note says why. Out of memory counts as
 * unreadable. */
void source_text_open(struct source_text *text, const struct profile *profile, const char *path,
                      const struct source_paths *paths);
void source_text_close(struct source_text *text);

/* Line `number` ≥ 1 without its end; false: there is none. */
bool source_text_line(const struct source_text *text, size_t number, const char **bytes,
                      size_t *length);

/* Adds the line as it fits into `columns`: tabs expanded (8), control characters harmless, cut at
 * its end with `cut_sign` (one column). */
void source_text_add_line(struct strbuf *out, const char *bytes, size_t length, size_t columns,
                          const char *cut_sign);

#endif

/* Other tools' recordings as profiles: heaptrack, massif, DHAT, pprof, jemalloc's heap dumps
 * and snapshots of Python's tracemalloc. One file per format; which one a file is of is seen from
 * its beginning.
 *
 * What a format does not say is unknown in the profile (model/figure.h) and not 0. The files are
 * strangers': every number is checked, nothing is larger than what was read or IMPORT_LIMIT.
 *
 * gather.c is the profile under construction: names, locations and paths once each, and a site's
 * metrics unknown until the format says that it has them. One file per format fills it.
 * import_text.c and base/json_reader.c never read behind the end of what was read. */
#ifndef TIDEMARK_IMPORT_IMPORT_H
#define TIDEMARK_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

/* The most bytes of a file, unpacked. */
#define IMPORT_LIMIT ((size_t)8 << 30)

struct gather;
struct import_format {
    const char *name; /* "heaptrack" */
    /* Could these be the first bytes of one? */
    bool (*is_it)(const char *bytes, size_t count);
    /* 0, or -errno with a sentence in `why`. */
    int (*read)(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
};
extern const struct import_format import_formats[];               /* the last one's name is NULL */
const struct import_format *import_format_find(const char *name); /* NULL: there is none */

/* Reads the file at `path` (packed by gzip or zstd, or not) and writes a new profile to `output`,
 * which must not be there. `format`: NULL, or what it is. `*as`: what it was. 0, or -errno with a
 * sentence. */
int import_file(const char *path, const struct import_format *format, const char *output,
                const struct import_format **as, struct strbuf *why);

/* The same of bytes in memory, without writing: for tests. The caller frees `*gather`. */
int import_bytes(struct gather **gather, const char *bytes, size_t count,
                 const struct import_format *format, struct strbuf *why);

#endif

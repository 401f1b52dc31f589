/* Profiles as one HTML file that needs no server and no network (doc/API.md, "Single file"). */
#ifndef TIDEMARK_SERVER_SINGLE_FILE_H
#define TIDEMARK_SERVER_SINGLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "aggregate/source_text.h"
#include "redact/redact.h"
#include "server/served_list.h"

struct html_options {
    const struct served_source *shown;
    size_t shown_count;
    const struct source_paths *paths; /* may be NULL */
    bool sources;                     /* with the text of the program's sources */
    struct strbuf *from_disk;         /* gets a line for each source that was read from disk */
    enum redact_level redact;         /* what of a profile is hidden; sources go with places */
    const char *salt;                 /* of hashes; may be NULL */
    const char *search;               /* stands in the search field at first; may be NULL */
    size_t *hidden;                   /* grows by the secrets found; may be NULL */
};

/* 0 or -errno. `why` gets a sentence if a profile cannot be read. */
int html_write(FILE *out, const struct html_options *options, struct strbuf *why);
/* Writes a page without a profile, which reads profiles that are dropped on it (web/viewer). As
 * html_write(); -ENOTSUP: no viewer was built into this command. */
int html_write_viewer(FILE *out, struct strbuf *why);

#endif

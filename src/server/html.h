/* Profiles as one HTML file that needs no server and no network (doc/API.md, "Single file"). */
#ifndef TIDEMARK_SERVER_HTML_H
#define TIDEMARK_SERVER_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "report/source_text.h"
#include "server/shown.h"

struct html_options {
    const struct shown *shown;
    size_t shown_count;
    const struct source_paths *paths; /* may be NULL */
    bool sources;                     /* with the text of the program's sources */
};

/* 0; -errno of reading, or of the stream, with a sentence in `why`. */
int html_write(FILE *out, const struct html_options *options, struct strbuf *why);

#endif

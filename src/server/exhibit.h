/* A profile that is shown: read, its resources made when they are first asked for and kept packed;
 * read again when the file has changed.
 *
 *   exhibit ── now ─▶ version 7 { profile, resources, bodies … }   references: exhibit + requests
 *                     version 6 lives on until its last request has been answered
 *
 * A finished profile's resources are all packed in the background, and then what they were made of
 * is given back: a call path costs some 400 bytes unpacked and some ten packed. Thread-safe. */
#ifndef TIDEMARK_SERVER_EXHIBIT_H
#define TIDEMARK_SERVER_EXHIBIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "server/resources.h"
#include "server/shown.h"

struct exhibit;

/* 0, or -errno with the sentence in profile_error(). Both arguments must live on. */
int exhibit_open(struct exhibit **out, const struct shown *shown, const struct source_paths *paths);
/* Reads what is to be read on demand, if it has not been read yet. To be called before anything of
 * its contents is asked for. 0, or as exhibit_open(). */
int exhibit_need(struct exhibit *exhibit);
void exhibit_close(struct exhibit *exhibit); /* no request may be under way */

/* Reads the file again if it was read, has changed, and the last reading is long enough ago: a second, and
 * more if reading takes long. A file that cannot be read leaves what there is. */
void exhibit_refresh(struct exhibit *exhibit);

struct exhibit_state {
    uint64_t generation; /* 0: not read yet */
    const char *state;   /* "recording", "complete", "cut short", "not read" */
    char error[256];   /* why the file cannot be read any more; "": it can */
};
void exhibit_state(struct exhibit *exhibit, struct exhibit_state *out);
const struct shown *exhibit_shown(const struct exhibit *exhibit);

/* Of one that was read. */
size_t exhibit_region_count(struct exhibit *exhibit);

/* A resource, packed. Holds on to its version. */
struct exhibit_body {
    const char *packed; /* gzip */
    size_t packed_bytes, bytes;
    enum resource_type type;
    uint64_t generation;
    uint64_t tag; /* differs where the bytes may */
    struct exhibit_version *version;
    char *own; /* what is not kept by the version */
};
/* 0, or as resources_make(). To be released after 0. */
int exhibit_get(struct exhibit *exhibit, const char *name, struct exhibit_body *body,
                struct strbuf *why);
void exhibit_release(struct exhibit_body *body);
/* What the tag of a resource would be, without making it. False: that is not known before. */
bool exhibit_tag(struct exhibit *exhibit, const char *name, uint64_t *tag, uint64_t *generation);

#endif

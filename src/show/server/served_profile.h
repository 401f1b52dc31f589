/* A profile as the server shows it. Each resource is made when it is first asked for, and then kept
 * packed. When the file has changed, it is read again, into a new version.
 *
 *   served profile ── now ─▶ version 7 { profile, resources, bodies … }
 *                            version 6: freed when its last request has been answered
 *
 *   references of a version = requests that use it + 1 if it is `now` + 1 while it is packed
 *
 * All resources of a finished profile are packed in the background. After that the unpacked profile
 * is freed: a call path costs some 400 bytes unpacked and some ten packed. Thread-safe. */
#ifndef TIDEMARK_SERVER_SERVED_PROFILE_H
#define TIDEMARK_SERVER_SERVED_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "server/resources.h"
#include "server/served_list.h"

struct served_profile;

/* 0, or -errno with the sentence in error_text(). Both arguments must live on. */
int served_profile_open(struct served_profile **out, const struct served_source *shown,
                        const struct source_paths *paths);
/* Reads a profile that is read on demand, if it has not been read yet. To be called before its
 * contents are asked for. 0, or as served_profile_open(). */
int served_profile_need(struct served_profile *served);
void served_profile_close(struct served_profile *served); /* no request may be under way */

/* Reads the file again if it has changed and the last reading is long enough ago: a second, and
 * more if reading takes long. If the file cannot be read, the version before stays. */
void served_profile_refresh(struct served_profile *served);

struct served_profile_state {
    uint64_t generation; /* 0: not read yet */
    const char *state;   /* "recording", "complete", "cut short", "reading", "not read" */
    char error[256];     /* why the file cannot be read any more; "": it can */
    bool is_of_job;      /* of "reading": so many of so many profiles of its ranks are read … */
    bool lists;          /* … or entries, of which all are read first */
    size_t done, of;
};
/* A job is "reading" while only what its directory's entries say is shown, and "not read" with an
 * error if nothing more will come. */
void served_profile_state(struct served_profile *served, struct served_profile_state *out);
const struct served_source *served_profile_shown(const struct served_profile *served);

/* For a profile that was read. */
/* False: of a job whose ranks' profiles say that resource, and are not read yet. */
bool served_profile_has_read(struct served_profile *served, const char *name);
bool served_profile_has_level(struct served_profile *served, enum memory_level level);
size_t served_profile_region_count(struct served_profile *served);

/* A packed resource, with a reference to its version. */
struct served_profile_body {
    const char *packed; /* gzip */
    size_t packed_bytes, bytes;
    enum resource_type type;
    uint64_t generation;
    uint64_t tag; /* differs where the bytes may */
    struct served_profile_version *version;
    char *own; /* the bytes, if the version does not keep them */
};
/* 0, or as resources_make(). To be released after 0. */
int served_profile_get(struct served_profile *served, const char *name,
                       struct served_profile_body *body, struct strbuf *why);
void served_profile_release(struct served_profile_body *body);
/* The tag that a resource would have, without making it. False: it is not known before. */
bool served_profile_tag(struct served_profile *served, const char *name, uint64_t *tag,
                        uint64_t *generation);

#endif

/* The resources of a profile: named documents that together hold all that the web view shows, for
 * the server and for the single file alike (doc/API.md describes each).
 *
 * A *view* is what is worked out once for all resources of a profile. It is read-only after
 * resources_open() and may be used by any number of threads at once. */
#ifndef TIDEMARK_SERVER_RESOURCES_H
#define TIDEMARK_SERVER_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "aggregate/source_text.h"
#include "server/source_files.h"
#include "trace/trace.h"

struct resources {
    const struct profile *profile;
    const struct source_paths *paths; /* may be NULL */
    bool *hidden;                     /* by index of profile->lines: a library's frame */
    struct source_files files;
    /* NULL, or the trace that the profile was made of. To be set by whoever has opened it; must
     * outlive this. */
    const struct trace *trace;
    bool has_regions; /* each of its regions can be asked for, too; to be set as `trace` is */
    unsigned levels;  /* a bit for each enum memory_level that can be asked for; likewise */
    bool is_first;    /* of a job whose ranks' profiles are not all read; likewise */
    bool has_levels;  /* then: of its ranks, from their digests; likewise */
    const struct offline_born *born; /* NULL, or of a window; likewise */
    size_t born_count;
    size_t node_count; /* of the profile, even when its paths have been given back */
};

enum resource_type { RESOURCE_JSON, RESOURCE_COLUMNS };

/* A bit for each level but the heap that the profile has. */
unsigned resources_levels_of(const struct profile *profile);
/* Profile and paths must outlive the resources. 0 or -ENOMEM. */
int resources_open(struct resources *resources, const struct profile *profile,
                   const struct source_paths *paths);
void resources_close(struct resources *resources);

/* Adds the resource `name` ("columns/live_bytes", "source/3"). 0; -ENOENT: there is no resource of
 * that name, or file of that number; -ENODATA: this profile does not have that, with a sentence in
 * `why`; -ENOMEM. */
int resources_make(const struct resources *resources, const char *name, struct strbuf *out,
                   enum resource_type *type, struct strbuf *why);

/* Where the text of that file comes from, if as far as is known it is what was compiled: the
 * profile or, if `from_disk`, the disk. */
enum source_origin resources_text_origin(const struct resources *resources, uint32_t file,
                                         bool from_disk);

/* False: only the profiles of a job's ranks say it, and they are not read yet. */
bool resources_are_read(const struct resources *resources, const char *name);

/* Is the resource the same for each region of a profile as for the whole? */
bool resources_is_shared(const char *name);

/* Calls `visit` with the names that the profile has, in the documented order, without source texts
 * and what is asked of a trace. */
void resources_list(const struct resources *resources,
                    void (*visit)(void *context, const char *name), void *context);

#endif

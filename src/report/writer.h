/* What the files of the JSON report share. Inside the room. */
#ifndef TIDEMARK_REPORT_WRITER_H
#define TIDEMARK_REPORT_WRITER_H

#include "base/json.h"
#include "profile/profile.h"
#include "report/call_sites.h"
#include "report/report.h"

struct writer {
    struct json json;
    const struct profile *profile;
    const struct report_options *options;
    struct call_sites sites;
};

/* A table of members that are uint64_t; UINT64_MAX is written as null. */
struct member {
    const char *name; /* NULL: the end */
    size_t offset;
};
void write_members(struct writer *writer, const struct member *members, const void *source);
void write_unsigned_if(struct writer *writer, bool known, const char *name, uint64_t value);
/* "node", and the frame that its path is listed under. */
void write_path(struct writer *writer, uint32_t node);
/* An object of all metrics, the derived ones too. */
void write_metrics(struct writer *writer, const char *name, const struct call_metrics *call);

/* json_detail.c: peaks, curves, distributions, exchanges, stacks, globals, samples, sources; each null
 * where there is none. */
void write_detail(struct writer *writer);
void write_peaks(struct writer *writer);
void write_distributions(struct writer *writer);
void write_exchanges(struct writer *writer);
void write_stacks(struct writer *writer);
void write_globals(struct writer *writer);
void write_samples(struct writer *writer);
void write_mappings(struct writer *writer);
/* json_regions.c */
void write_regions(struct writer *writer);
void write_marks(struct writer *writer);
/* json_functions.c. 0 or -ENOMEM. */
int write_functions(struct writer *writer);
int write_tree(struct writer *writer);

#endif

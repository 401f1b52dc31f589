/* What the files of the JSON report share. Inside the room. */
#ifndef TIDEMARK_REPORT_REPORT_WRITER_H
#define TIDEMARK_REPORT_REPORT_WRITER_H

#include "base/json.h"
#include "model/figure_json.h"
#include "profile/profile.h"
#include "aggregate/call_sites.h"
#include "report/report.h"

struct report_writer {
    struct json json;
    const struct profile *profile;
    const struct report_options *options;
    struct call_sites sites;
};

/* A table of a struct's members. The type of a field decides whether the member is a figure or a
 * plain number (uint64_t). */
struct member {
    const char *name; /* NULL: the end */
    size_t offset;
    bool is_figure;
};
#define MEMBER_AS(type, name, field)                                                               \
    {                                                                                              \
        name, offsetof(type, field),                                                               \
            _Generic(((type *)NULL)->field, struct figure                                          \
                     : true, uint64_t                                                              \
                     : false)                                                                      \
    }
#define MEMBER(type, field) MEMBER_AS(type, #field, field)
void report_json_members(struct report_writer *writer, const struct member *members,
                         const void *source);
void report_json_unsigned_if(struct report_writer *writer, bool known, const char *name,
                             uint64_t value);
/* Writes "node", and the frame that the node's path is listed under. */
void report_json_path(struct report_writer *writer, uint32_t node);
/* Writes an object of all metrics, including derived ones. */
void report_json_metrics(struct report_writer *writer, const char *name,
                         const struct call_metrics *call);

/* report_json_detail.c: peaks, curves, distributions, exchanges, stacks, globals, samples, sources.
 * Each is null where there are no rows. */
void report_json_detail(struct report_writer *writer);
void report_json_peaks(struct report_writer *writer);
void report_json_distributions(struct report_writer *writer);
void report_json_exchanges(struct report_writer *writer);
void report_json_stacks(struct report_writer *writer);
void report_json_globals(struct report_writer *writer);
void report_json_samples(struct report_writer *writer);
void report_json_mappings(struct report_writer *writer);
void report_json_devices(struct report_writer *writer);
/* report_json_owners.c */
void report_json_owners(struct report_writer *writer);
void report_json_container(struct report_writer *writer);
/* Lag and drag; null where none is known. */
void report_json_page_uses(struct report_writer *writer);
/* report_json_mapped.c: null where it is not known. 0 or -errno. */
int report_json_mapped(struct report_writer *writer);
/* report_json_regions.c */
void report_json_regions(struct report_writer *writer);
void report_json_marks(struct report_writer *writer);
/* report_json_types.c. 0 or -ENOMEM. */
int report_json_types(struct report_writer *writer);
/* report_json_fill.c. 0 or -ENOMEM. */
int report_json_fill(struct report_writer *writer);
/* report_json_functions.c. 0 or -ENOMEM. */
int report_json_functions(struct report_writer *writer);
int report_json_libraries(struct report_writer *writer);
int report_json_tree(struct report_writer *writer);

#endif

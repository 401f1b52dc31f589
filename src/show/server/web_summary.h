/* The resources that are computed for the web alone. Inside the room. */
#ifndef TIDEMARK_SERVER_WEB_SUMMARY_H
#define TIDEMARK_SERVER_WEB_SUMMARY_H

#include "base/json.h"
#include "base/strbuf.h"
#include "server/columns_document.h"
#include "server/resources.h"

/* Members of an object that is open: what the first page shows, and what the profile has. */
int summary_write(struct json *json, const struct resources *resources, const char *name);
/* The functions with most of each of the main metrics. 0 or -ENOMEM. */
int summary_write_top(struct json *json, const struct resources *resources, const char *name);

/* web_owners.c: who has the resident memory. 0 or -ENOMEM. */
int web_owners_write(struct json *json, const struct resources *resources, const char *name);

/* ranks.c: of a job, its processes and its nodes, and memory over time. */
int web_summary_write_ranks(struct json *json, const struct resources *resources, const char *name);
int resources_add_rank_timeline(struct columns_document *document, const struct profile *profile);

/* trace_moments.c: of a trace, who held memory at a moment: "at/NS", "at/peak". 0; -ENOENT: that is
 * no moment; -ENODATA: there is no trace, with a sentence; -ENOMEM. */
int resources_make_at(const struct resources *resources, const char *name, struct strbuf *out,
                      struct strbuf *why);
/* Likewise, of a window: blocks that began in it and are alive at its end. */
int resources_make_born(const struct resources *resources, struct strbuf *out, struct strbuf *why);

/* trace_blocks.c: likewise, of blocks of given sizes and ages, and of a thread:
 * "NS/SIZES/AGES/THREAD". */
int resources_make_alive(const struct resources *resources, const char *name, struct strbuf *out,
                         struct strbuf *why);

/* code.c: what call paths are made of: code, lines, functions, files, modules and their names. */
int resources_make_code(const struct resources *resources, struct strbuf *out);
/* look_columns.c: who had the resident memory, and of what type live blocks were, at each look. */
int resources_make_look_owners(const struct resources *resources, struct strbuf *out);
int resources_make_look_types(const struct resources *resources, struct strbuf *out);

#endif

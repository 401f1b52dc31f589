/* Memory over time, drawn in text. */
#ifndef TIDEMARK_REPORT_MEMORY_GRAPH_H
#define TIDEMARK_REPORT_MEMORY_GRAPH_H

#include "base/strbuf.h"
#include "profile/profile.h"
#include "format/style.h"

/* Adds a graph of the requested bytes (area) and the resident bytes (line); nothing without a
 * timeline. Each column shows the highest value of its time, so no peak is lost. */
void memory_graph_add(struct strbuf *out, const struct style *style, const struct profile *profile);

#endif

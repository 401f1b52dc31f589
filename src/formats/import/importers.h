/* The readers, one a file. Inside the room. */
#ifndef TIDEMARK_IMPORT_IMPORTERS_H
#define TIDEMARK_IMPORT_IMPORTERS_H

#include "import/gather.h"
#include "import/import.h"

bool import_is_heaptrack(const char *bytes, size_t count);
int import_heaptrack(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
bool import_is_massif(const char *bytes, size_t count);
int import_massif(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
bool import_is_dhat(const char *bytes, size_t count);
int import_dhat(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
bool import_is_jemalloc(const char *bytes, size_t count);
int import_jemalloc(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
bool import_is_pprof(const char *bytes, size_t count);
int import_pprof(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);
bool import_is_tracemalloc(const char *bytes, size_t count);
int import_tracemalloc(struct gather *gather, const char *bytes, size_t count, struct strbuf *why);

#endif

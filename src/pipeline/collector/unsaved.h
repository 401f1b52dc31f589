/* A list of recorded processes that have nothing on the disk yet, in memory that the collector
 * shares with `record`. When the collector is killed, `record` can name the processes that were
 * lost. A process has a place there from its hello until it has a file or a row, or will have
 * neither.
 *
 * One thread takes places; any thread gives one back. `record` reads the list after the collector's
 * death. */
#ifndef TIDEMARK_COLLECTOR_UNSAVED_H
#define TIDEMARK_COLLECTOR_UNSAVED_H

#include <stdint.h>
#include <sys/types.h>
#include "base/strbuf.h"

struct unsaved;

/* NULL: there is no memory, and no list is kept. */
struct unsaved *unsaved_map(void);
void unsaved_unmap(struct unsaved *unsaved);

/* A place; 0: there is none. */
uint32_t unsaved_begin(struct unsaved *unsaved, const char *program, uint64_t now_unix_ns);
void unsaved_end(struct unsaved *unsaved, uint32_t place);

/* unsaved_count(): how many processes there are. unsaved_oldest(): when the oldest of them began,
 * in ns since 1970; 0: there is none. unsaved_add_programs(): "perl 28, sh, and 3 more". */
uint32_t unsaved_count(const struct unsaved *unsaved);
uint64_t unsaved_oldest(const struct unsaved *unsaved);
void unsaved_add_programs(const struct unsaved *unsaved, struct strbuf *out);

#endif

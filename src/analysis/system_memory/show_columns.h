/* The columns of the table that `tidemark ps` prints, by name. */
#ifndef TIDEMARK_SYSTEM_MEMORY_SHOW_COLUMNS_H
#define TIDEMARK_SYSTEM_MEMORY_SHOW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/text_table.h"
#include "system_memory/processes.h"

enum { SHOW_COLUMNS_MOST = 24 };

/* Which, in order; the name comes behind them, always. */
struct show_columns {
    unsigned char at[SHOW_COLUMNS_MOST]; /* in show_columns.c's table */
    size_t count;
};

/* "pid,user,pss,pss%". 0, or -EINVAL and what is wrong in `why`. */
int show_columns_parse(struct show_columns *columns, const char *list, struct strbuf *why);
/* The same of a list that is known to be right. */
struct show_columns show_columns_of(const char *list);
/* Takes away one column; which goes by what is missed least. False: only the last is left. */
bool show_columns_drop(struct show_columns *columns);

struct text_column show_column_layout(const struct show_columns *columns, size_t index);
/* Blanks and width of all of them. */
size_t show_columns_width(const struct show_columns *columns);
/* Adds a row's cell of column `index`; `machine` gives the whole that shares are of. */
void show_column_add(struct text_row *cells, const struct show_columns *columns, size_t index,
                     const struct system_memory_row *row,
                     const struct system_memory_machine *machine);

#endif

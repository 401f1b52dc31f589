/* What a query may do: a list of what is allowed, so that what a later SQLite can do is refused.
 * Inside the room. */
#ifndef TIDEMARK_QUERY_ALLOWED_H
#define TIDEMARK_QUERY_ALLOWED_H

#include <sqlite3.h>

/* From now on. Memory is limited for the process, by what the machine has free. */
void allowed_begin(sqlite3 *database);

/* A virtual table is a program with a stranger's arguments, and stands in a profile for no reason.
 * 0, or -EBADMSG with a sentence in error_text(). */
int allowed_check_tables(sqlite3 *database);

#endif

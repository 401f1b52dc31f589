/* What a query may do: a list of what is allowed, so that new features of a later SQLite are
 * refused. Inside the room. */
#ifndef TIDEMARK_QUERY_ALLOWED_H
#define TIDEMARK_QUERY_ALLOWED_H

#include <sqlite3.h>

/* Restricts the database from now on. Memory is limited for the whole process, by what the machine
 * has free. */
void allowed_begin(sqlite3 *database);

/* Refuses a profile with virtual tables: a virtual table runs a program on a stranger's arguments,
 * and no recording makes one. 0, or -EBADMSG with a sentence in error_text(). */
int allowed_check_tables(sqlite3 *database);

#endif

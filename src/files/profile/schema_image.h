/* An empty profile as the bytes of its database: what SQLite would make of schema_create(), without
 * having it parse and run a hundred statements for each profile (doc/decisions/0106). The first
 * page lists the tables, the page of `block_column` has the names of columns, and each other page
 * is an empty table. unit/profile/schema_image compares it with SQLite's own. Inside the room. */
#ifndef TIDEMARK_PROFILE_SCHEMA_IMAGE_H
#define TIDEMARK_PROFILE_SCHEMA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

struct sqlite3;

/* `wal`: the database keeps a log beside it. Memory of sqlite3_malloc64(), *bytes long; NULL: there
 * is none. */
unsigned char *schema_image(bool wal, size_t *bytes);

/* What it says of a table; NULL: it has none of that name. Lives as long as the process. */
struct schema_table;
const struct schema_table *schema_image_table(const char *name);

/* Opens the empty profile as a database in memory that may grow. 0 or -ENOMEM. */
int schema_image_open(struct sqlite3 **database);

#endif

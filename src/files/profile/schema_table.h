/* What the text of a table's definition says about where its rows stand. Inside the room. */
#ifndef TIDEMARK_PROFILE_SCHEMA_TABLE_H
#define TIDEMARK_PROFILE_SCHEMA_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct schema_table {
    const char *sql; /* from the table's name on, of sql_bytes */
    size_t sql_bytes, name_bytes;
    size_t column_count;
    size_t key_count;   /* of the first columns, which are the key: of a table without rowids, or of
                         * its index; 0: it has none */
    int rowid_column;   /* the column that is the rowid; -1: none */
    bool has_rowids;    /* else its rows are an index */
    bool has_index;     /* of its key, beside it */
    size_t page, index; /* the pages that both begin at, from 0; set by schema_image.c */
};

/* `sql`: "NAME(COLUMN …,…)", without "CREATE TABLE". It is borrowed. False: the key is not of the
 * first columns. */
bool schema_table_read(struct schema_table *table, const char *sql, size_t bytes);
/* The number of a column from 0; -1: there is none of that name. */
int schema_table_column(const struct schema_table *table, const char *name, size_t bytes);

#endif

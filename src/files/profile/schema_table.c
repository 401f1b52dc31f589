/* Reads definitions of tables as schema_create() writes them: no blanks but between a column's name
 * and its type, and the key's columns last. */
#include "profile/schema_table.h"

#include <string.h>

static const char schema_table_key[] = "PRIMARY KEY";

static bool schema_table_begins(const char *at, size_t bytes, const char *word)
{
    return bytes >= strlen(word) && !memcmp(at, word, strlen(word));
}

/* The next of what commas divide, from *at to before *end: false at the end. Columns of a key are
 * in parentheses and belong together. */
static bool schema_table_next(const char **at, const char **end, const char *stop)
{
    int depth = 0;
    if (*end >= stop)
        return false;
    *at = *end + 1;
    for (*end = *at; *end < stop && (depth || **end != ','); (*end)++)
        depth += (**end == '(') - (**end == ')');
    return true;
}

int schema_table_column(const struct schema_table *table, const char *name, size_t bytes)
{
    const char *at, *end = table->sql + table->name_bytes;
    const char *stop = table->sql + table->sql_bytes;
    for (int i = 0; schema_table_next(&at, &end, stop); i++)
        if ((size_t)(end - at) > bytes && at[bytes] == ' ' && !memcmp(at, name, bytes))
            return i;
        else if ((size_t)(end - at) == bytes && !memcmp(at, name, bytes))
            return i;
    return -1;
}

static void schema_table_take_column(struct schema_table *table, const char *at, size_t bytes)
{
    if (memmem(at, bytes, " INTEGER PRIMARY KEY", 20))
        table->rowid_column = (int)table->column_count;
    else if (memmem(at, bytes, schema_table_key, strlen(schema_table_key)))
        table->key_count = 1;
    table->column_count++;
}

/* "PRIMARY KEY(COLUMN,…)". Where it is one INTEGER of a table with rowids, that is the rowid. */
static bool schema_table_take_key(struct schema_table *table, const char *at, size_t bytes)
{
    const char *name = at + strlen(schema_table_key), *name_end = name, *stop = at + bytes - 1;
    int column = -1;
    for (size_t i = 0; schema_table_next(&name, &name_end, stop); i++) {
        column = schema_table_column(table, name, (size_t)(name_end - name));
        if (column != (int)i)
            return false;
        table->key_count++;
    }
    const char *first = table->sql + table->name_bytes + 1;
    size_t length = strcspn(first, ",");
    if (table->has_rowids && table->key_count == 1 && memmem(first, length, " INTEGER", 8)) {
        table->rowid_column = column;
        table->key_count = 0;
    }
    return true;
}

bool schema_table_read(struct schema_table *table, const char *sql, size_t bytes)
{
    static const char without[] = ") WITHOUT ROWID";
    bool has_rowids = !memmem(sql, bytes, without, strlen(without));
    size_t tail = has_rowids ? 1 : strlen(without); /* from the last parenthesis on */
    *table = (struct schema_table){.sql = sql,
                                   .sql_bytes = bytes - tail,
                                   .name_bytes = strcspn(sql, "("),
                                   .rowid_column = -1,
                                   .has_rowids = has_rowids};
    const char *at, *end = sql + table->name_bytes, *stop = sql + table->sql_bytes;
    bool is_read = true;
    while (is_read && schema_table_next(&at, &end, stop))
        if (schema_table_begins(at, (size_t)(end - at), schema_table_key))
            is_read = schema_table_take_key(table, at, (size_t)(end - at));
        else
            schema_table_take_column(table, at, (size_t)(end - at));
    table->has_index = has_rowids && table->key_count;
    return is_read;
}

/* Holds the values of one row (values.h). A value keeps its type, its number or a pointer; SQLite
 * is given them all at once, so a statement never runs with a value of the row before. */
#include "profile/values.h"

#include <sqlite3.h>
#include <string.h>

void values_real(struct values *values, double real)
{
    values_add(values, (struct value){.type = VALUE_REAL, .real = real});
}

void values_text(struct values *values, const char *text)
{
    if (text)
        values_add(values, (struct value){VALUE_TEXT, strlen(text), {.data = text}});
    else
        values_null(values);
}

void values_name(struct values *values, const char *name, size_t size)
{
    size_t length = strnlen(name, size);
    if (length)
        values_add(values, (struct value){VALUE_TEXT, length, {.data = name}});
    else
        values_null(values);
}

void values_blob(struct values *values, const void *bytes, size_t count)
{
    values_add(values, (struct value){VALUE_BLOB, count, {.data = bytes ? bytes : ""}});
}

static void values_bind_one(const struct value *value, sqlite3_stmt *statement, int column)
{
    switch (value->type) {
    case VALUE_NULL:
        sqlite3_bind_null(statement, column);
        break;
    case VALUE_NUMBER:
        sqlite3_bind_int64(statement, column, value->number);
        break;
    case VALUE_REAL:
        sqlite3_bind_double(statement, column, value->real);
        break;
    case VALUE_TEXT:
        sqlite3_bind_text64(statement, column, value->data, value->bytes, SQLITE_STATIC,
                            SQLITE_UTF8);
        break;
    case VALUE_BLOB:
        sqlite3_bind_blob64(statement, column, value->data, value->bytes, SQLITE_STATIC);
        break;
    }
}

void values_bind(const struct values *values, sqlite3_stmt *statement)
{
    for (size_t i = 0; i < values->count; i++)
        values_bind_one(&values->at[i], statement, (int)i + 1);
}

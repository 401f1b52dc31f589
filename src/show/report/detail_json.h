/* Rows of the detail tables (profile/detail_columns.h) as JSON. Members have the names of the
 * profile's columns, and a column's type decides how it is written. */
#ifndef TIDEMARK_REPORT_DETAIL_JSON_H
#define TIDEMARK_REPORT_DETAIL_JSON_H

#include "base/json.h"
#include "profile/detail_columns.h"

/* Writes members of an open object: the columns of `row` from the one named `first` to the one
 * named `last`, both included (NULL: from the beginning, to the end). Call paths, modules and bytes
 * are left out, because each document has its own form of them. */
void detail_json_columns(struct json *json, enum detail table, const char *first, const char *last,
                         const void *row);
/* The same as elements of an open array. */
void detail_json_values(struct json *json, enum detail table, const char *first, const char *last,
                        const void *row);
/* Writes a member: an array of objects with all columns; null where there are no rows. */
void detail_json_rows(struct json *json, const char *name, enum detail table, const void *rows,
                      size_t count);

#endif

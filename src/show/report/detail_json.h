/* Rows of the detail tables (profile/detail_columns.h) as JSON: what a column is called in the
 * profile it is called here, and its type says how it is written. */
#ifndef TIDEMARK_REPORT_DETAIL_JSON_H
#define TIDEMARK_REPORT_DETAIL_JSON_H

#include "base/json.h"
#include "profile/detail_columns.h"

/* Members of an object that is open: the columns of `row` from the one called `first` to the one
 * called `last`, both included (NULL: from the beginning, to the end). Call paths, modules and
 * bytes are passed over: each document has its own form of them. */
void detail_json_columns(struct json *json, enum detail table, const char *first, const char *last,
                         const void *row);
/* The same as elements of an array that is open. */
void detail_json_values(struct json *json, enum detail table, const char *first, const char *last,
                        const void *row);
/* A member that is an array of objects with all columns; null: there are no rows. */
void detail_json_rows(struct json *json, const char *name, enum detail table, const void *rows,
                      size_t count);

#endif

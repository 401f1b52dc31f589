/* The database's layout: the one place that names its tables and columns. The text of the schema,
 * the statements that write and those that read, and the columns of blocks are all made from the
 * tables of fields below. doc/FORMAT-profile.md says what each means. */
#ifndef TIDEMARK_PROFILE_SCHEMA_H
#define TIDEMARK_PROFILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/own_file.h"
#include "base/strbuf.h"

#define SCHEMA_APPLICATION_ID OWN_FILE_APPLICATION_ID
#define SCHEMA_PAGE_BYTES     16384

/* How a number of a struct stands in its column. SQLite's integers are signed: numbers beyond
 * INT64_MAX are stored as INT64_MAX. */
enum field_kind {
    FIELD_PLAIN = 0, /* uint64_t; NULL reads as 0 */
    FIELD_FIGURE,    /* struct figure; the unknown is NULL */
    FIELD_ADDED,     /* likewise, and the column is not in the files of the first writers */
    FIELD_MOST,      /* struct figure, the highest of a level; the unknown is 0. A level is unknown
                        where its lowest is */
};

struct field {
    const char *column;
    size_t offset;
    enum field_kind kind;
};

/* Fields of struct call_metrics, program_metrics (without its total), thread_metrics (without tid)
 * and timeline_bucket. */
extern const struct field schema_call_fields[], schema_program_fields[], schema_thread_fields[],
    schema_bucket_fields[];
/* Those of timeline_bucket that profile_read_sums() has. */
extern const struct field schema_bucket_sum_fields[];
extern const size_t schema_bucket_sum_field_count;
extern const struct field schema_bucket_summary_fields[];
extern const size_t schema_bucket_summary_field_count;
extern const size_t schema_call_field_count, schema_program_field_count, schema_thread_field_count,
    schema_bucket_field_count;

/* The columns of a block of call paths. A block of sites has SCHEMA_SITE_PATH and then the fields
 * of struct call_metrics. */
#define SCHEMA_PATH_DISTANCE "parent_distance" /* id - parent */
#define SCHEMA_PATH_LOCATION "location"
#define SCHEMA_SITE_PATH     "path"
/* The same of a region: this, then as those of sites. */
#define SCHEMA_REGION "region"

/* The statements that make a recorded database, call paths and sites in blocks. */
void schema_create(struct strbuf *sql);
/* Those that make it one for people: paths and sites in rows, with the views. */
void schema_create_rows(struct strbuf *sql);

/* Names column `number` of the blocks in table `block`. */
void schema_name_column(struct strbuf *sql, const char *block, size_t number, const char *name);

/* "INSERT OR REPLACE INTO table VALUES (?,?…)" with `columns` values. */
void schema_insert(struct strbuf *sql, const char *table, size_t columns);

/* Appends the fields of `source`. */
struct values;
void schema_values(struct values *values, const void *source, const struct field *fields,
                   size_t count);

/* "SELECT first,column,… FROM table rest"; program: call fields and program fields. Added columns
 * for which `is_there` says no are NULL instead. */
typedef bool schema_has_column(void *context, const char *table, const char *column);
void schema_select(struct strbuf *sql, const char *table, const char *rest, const char *first,
                   const struct field *fields, size_t count, schema_has_column *is_there,
                   void *context);

/* "ALTER TABLE thread …" for the columns that a file of an earlier writer lacks: views name them.
 */
void schema_complete_threads(struct strbuf *sql, schema_has_column *is_there, void *context);

#endif

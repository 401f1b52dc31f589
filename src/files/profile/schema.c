/* Names every table and column of a profile (schema.h). Tables of fields hold a column's name, its
 * place in the struct and what its absence means. The SQL statements are printed from these tables.
 */
#include "profile/schema.h"

#include <string.h>
#include "profile/detail_tables.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "model/metrics.h"

#define COUNT(array) (sizeof array / sizeof(*(array)))

/* The offset of a field of that type; one of another type does not compile. */
#define OFFSET(row, field, ctype)                                                                  \
    (offsetof(row, field) + 0 * _Generic(&((row *)NULL)->field, ctype * : 1))
#define CTYPE_OF_FIELD_PLAIN  uint64_t
#define CTYPE_OF_FIELD_FIGURE struct figure
#define CTYPE_OF_FIELD_ADDED  struct figure
#define CTYPE_OF_FIELD_MOST   struct figure
#define FIELD(row, column, field, kind)                                                            \
    {                                                                                              \
        column, OFFSET(row, field, CTYPE_OF_##kind), kind                                          \
    }

/* Of a row of metrics.def that says FIRST, LATER or LOOKS. */
#define FIELD_OF_FIRST(column, place) {column, place, FIELD_FIGURE},
#define FIELD_OF_LATER(column, place) {column, place, FIELD_ADDED},
#define FIELD_OF_LOOKS(column, place)
const struct field schema_call_fields[] = {
#define METRIC(field, column, unit, merge, pages, added, ...)                                      \
    FIELD_OF_##added(column, offsetof(struct call_metrics, field))
#include "model/metrics.def"
};
const size_t schema_call_field_count = COUNT(schema_call_fields);

#define PROGRAM(field, kind) FIELD(struct program_metrics, #field, field, kind)
const struct field schema_program_fields[] = {
    PROGRAM(live_peak_count, FIELD_FIGURE),
    PROGRAM(foreign_frees, FIELD_PLAIN),
    PROGRAM(replaced_blocks, FIELD_PLAIN),
    PROGRAM(unmap_count, FIELD_FIGURE),
    PROGRAM(unmap_bytes, FIELD_FIGURE),
    PROGRAM(brk_count, FIELD_FIGURE),
    PROGRAM(brk_bytes, FIELD_FIGURE),
    PROGRAM(events, FIELD_PLAIN),
    PROGRAM(late_events, FIELD_PLAIN),
    PROGRAM(lost_events, FIELD_PLAIN),
    PROGRAM(malformed_events, FIELD_PLAIN),
    PROGRAM(all_peak_bytes, FIELD_ADDED),
    FIELD(struct program_metrics, "all_peak_ns", all_peak_ticks, FIELD_ADDED),
    PROGRAM(discard_count, FIELD_ADDED),
    PROGRAM(discard_bytes, FIELD_ADDED),
};
const size_t schema_program_field_count = COUNT(schema_program_fields);
_Static_assert(COUNT(schema_program_fields) * sizeof(uint64_t) + 2 * sizeof(struct call_metrics) ==
                   sizeof(struct program_metrics),
               "every metric has a column");

#define THREAD(column, field, kind) FIELD(struct thread_metrics, column, field, kind)
const struct field schema_thread_fields[] = {
    THREAD("start_ns", start_ticks, FIELD_PLAIN),
    THREAD("end_ns", end_ticks, FIELD_PLAIN),
    THREAD("alloc_count", alloc_count, FIELD_FIGURE),
    THREAD("alloc_bytes", alloc_bytes, FIELD_FIGURE),
    THREAD("free_count", free_count, FIELD_FIGURE),
    THREAD("free_bytes", free_bytes, FIELD_FIGURE),
    THREAD("waits", waits, FIELD_PLAIN),
    THREAD("wait_ns", wait_ticks, FIELD_PLAIN),
    THREAD("malloc_count", malloc_count, FIELD_ADDED),
    THREAD("calloc_count", calloc_count, FIELD_ADDED),
    THREAD("aligned_count", aligned_count, FIELD_ADDED),
    THREAD("new_count", new_count, FIELD_ADDED),
    THREAD("realloc_count", realloc_count, FIELD_ADDED),
    THREAD("live_bytes", live_bytes, FIELD_ADDED),
    THREAD("peak_bytes", peak_bytes, FIELD_ADDED),
    THREAD("peak_ns", peak_ticks, FIELD_ADDED),
    THREAD("freed_elsewhere_count", freed_elsewhere_count, FIELD_ADDED),
    THREAD("freed_elsewhere_bytes", freed_elsewhere_bytes, FIELD_ADDED),
    THREAD("alloc_time_ns", alloc_time, FIELD_ADDED),
    THREAD("free_time_ns", free_time, FIELD_ADDED),
    THREAD("stack_deepest_bytes", stack_deepest_bytes, FIELD_ADDED),
    THREAD("stack_touched_bytes", stack_touched_bytes, FIELD_ADDED),
    THREAD("pool_count", pool_count, FIELD_ADDED),
    THREAD("earlier_count", earlier_count, FIELD_ADDED),
};
const size_t schema_thread_field_count = COUNT(schema_thread_fields);
/* tid, seen_node, stack_node (with its padding) and name have columns of their own. */
_Static_assert(COUNT(schema_thread_fields) * sizeof(uint64_t) + 2 * sizeof(uint64_t) +
                       sizeof((struct thread_metrics){0}.name) ==
                   sizeof(struct thread_metrics),
               "every metric has a column");

#define BUCKET(column, field, kind) FIELD(struct timeline_bucket, column, field, kind)
#define LEVEL(name, level)                                                                         \
    BUCKET(name "_min", level.min, FIELD_FIGURE), BUCKET(name "_max", level.max, FIELD_MOST)
const struct field schema_bucket_fields[] = {
    LEVEL("requested", requested),
    LEVEL("blocks", blocks),
    LEVEL("physical", physical),
    LEVEL("virtual", virt),
    LEVEL("tool", tool),
    BUCKET("alloc_count", alloc_count, FIELD_FIGURE),
    BUCKET("alloc_bytes", alloc_bytes, FIELD_FIGURE),
    BUCKET("free_count", free_count, FIELD_FIGURE),
    BUCKET("free_bytes", free_bytes, FIELD_FIGURE),
    BUCKET("mapped_min", mapped.min, FIELD_ADDED),
    BUCKET("mapped_max", mapped.max, FIELD_ADDED),
    BUCKET("all_min", all.min, FIELD_ADDED),
    BUCKET("all_max", all.max, FIELD_ADDED),
};
const size_t schema_bucket_field_count = COUNT(schema_bucket_fields);
const struct field schema_bucket_sum_fields[] = {
    LEVEL("requested", requested),
    LEVEL("physical", physical),
};
const size_t schema_bucket_sum_field_count = COUNT(schema_bucket_sum_fields);
const struct field schema_bucket_summary_fields[] = {
    LEVEL("requested", requested),
    LEVEL("physical", physical),
    BUCKET("alloc_count", alloc_count, FIELD_FIGURE),
    BUCKET("free_count", free_count, FIELD_FIGURE),
};
const size_t schema_bucket_summary_field_count = COUNT(schema_bucket_summary_fields);
_Static_assert(COUNT(schema_bucket_fields) * sizeof(uint64_t) == sizeof(struct timeline_bucket),
               "every level has its columns");

static void schema_add_columns(struct strbuf *sql, const struct field *fields, size_t count,
                               const char *type)
{
    for (size_t i = 0; i < count; i++) {
        strbuf_add_char(sql, ',');
        strbuf_add_string(sql, fields[i].column);
        strbuf_add_string(sql, type);
    }
}

static void schema_create_table(struct strbuf *sql, const char *table, const char *first,
                                const struct field *fields, size_t count)
{
    strbuf_addf(sql, "CREATE TABLE %s(%s", table, first);
    schema_add_columns(sql, fields, count, " INTEGER");
    strbuf_add_string(sql, ");\n");
}

static const char fixed_tables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY,value) WITHOUT ROWID;\n"
    "CREATE TABLE module(id INTEGER PRIMARY KEY,path TEXT,build_id BLOB,start INTEGER,"
    "end INTEGER,bias INTEGER,quality INTEGER);\n"
    "CREATE TABLE file(id INTEGER PRIMARY KEY,path TEXT);\n"
    "CREATE TABLE function(id INTEGER PRIMARY KEY,name TEXT,linkage TEXT,file INTEGER);\n"
    "CREATE TABLE location(id INTEGER PRIMARY KEY,module INTEGER,address INTEGER,mark INTEGER);\n"
    "CREATE TABLE location_frame(location INTEGER,depth INTEGER,function INTEGER,line INTEGER,"
    "PRIMARY KEY(location,depth)) WITHOUT ROWID;\n"
    "CREATE TABLE path_block(first INTEGER PRIMARY KEY,count INTEGER,body BLOB);\n"
    "CREATE TABLE site_block(first INTEGER PRIMARY KEY,count INTEGER,body BLOB);\n"
    "CREATE TABLE mapped_site_block(first INTEGER PRIMARY KEY,count INTEGER,body BLOB);\n"
    "CREATE TABLE region_site_block(first INTEGER PRIMARY KEY,count INTEGER,body BLOB);\n"
    "CREATE TABLE block_column(block TEXT,number INTEGER,name TEXT,"
    "PRIMARY KEY(block,number)) WITHOUT ROWID;\n";

/* For people: names joined, times in seconds. Presenters read the tables. */
static const char views[] =
    "CREATE VIEW location_name AS SELECT location.id AS location,"
    " coalesce(function.name, CASE WHEN location.mark = 2 THEN '[max depth]'"
    " WHEN location.mark > 0 THEN '[unwalkable]'"
    " WHEN module.path = file.path THEN printf('%s:%d', file.path, location_frame.line)"
    " ELSE printf('%s+0x%x', coalesce(module.path, '?'),"
    " location.address) END) AS function, file.path AS file, location_frame.line AS line,"
    " module.path AS module FROM location"
    " LEFT JOIN location_frame ON location_frame.location = location.id AND"
    " location_frame.depth = 0"
    " LEFT JOIN function ON function.id = location_frame.function"
    " LEFT JOIN file ON file.id = function.file"
    " LEFT JOIN module ON module.id = location.module;\n"
    "CREATE VIEW call_sites AS SELECT location_name.function AS function,"
    " location_name.file AS file, location_name.line AS line, site.* FROM site"
    " JOIN path ON path.id = site.path"
    " LEFT JOIN location_name ON location_name.location = path.location;\n"
    "CREATE VIEW mapped_call_sites AS SELECT location_name.function AS function,"
    " location_name.file AS file, location_name.line AS line, mapped_site.* FROM mapped_site"
    " JOIN path ON path.id = mapped_site.path"
    " LEFT JOIN location_name ON location_name.location = path.location;\n"
    "CREATE VIEW call_paths AS SELECT site.path AS path, site.at_peak_bytes, site.live_bytes,"
    " site.alloc_count, site.alloc_bytes, (WITH RECURSIVE up(id, location, parent, depth) AS ("
    "SELECT id, location, parent, 0 FROM path WHERE path.id = site.path UNION ALL"
    " SELECT path.id, path.location, path.parent, depth + 1 FROM up JOIN path"
    " ON path.id = up.parent) SELECT group_concat(function, ' < ') FROM ("
    "SELECT function FROM up JOIN location_name ON location_name.location = up.location"
    " ORDER BY depth)) AS stack FROM site;\n"
    "CREATE VIEW top_functions AS SELECT location_name.function AS function,"
    " sum(site.at_peak_bytes) AS at_peak_bytes, sum(site.live_bytes) AS live_bytes,"
    " sum(site.alloc_count) AS alloc_count, sum(site.alloc_bytes) AS alloc_bytes,"
    " sum(site.temporary_count) AS temporary_count FROM site"
    " JOIN path ON path.id = site.path"
    " LEFT JOIN location_name ON location_name.location = path.location"
    " GROUP BY 1 ORDER BY 2 DESC;\n"
    "CREATE VIEW timeline_seconds AS SELECT bucket * (SELECT value FROM meta"
    " WHERE key = 'bucket_ns') / 1e9 AS seconds, timeline.* FROM timeline;\n"
    "CREATE VIEW loss AS"
    " SELECT 'lost_events' AS what, coalesce(sum(lost_events), 0) AS count FROM program"
    " UNION ALL SELECT 'late_events', coalesce(sum(late_events), 0) FROM program"
    " UNION ALL SELECT 'foreign_frees', coalesce(sum(foreign_frees), 0) FROM program"
    " UNION ALL SELECT 'replaced_blocks', coalesce(sum(replaced_blocks), 0) FROM program"
    " UNION ALL SELECT 'malformed_events', coalesce(sum(malformed_events), 0) FROM program"
    " UNION ALL SELECT key, value FROM meta WHERE key IN ('unwalkable', 'unattributed', "
    "'damaged_rings')"
    " UNION ALL SELECT 'unseen', length(value) - length(replace(value, char(10), '')) + 1"
    " FROM meta WHERE key = 'unseen';\n";

void schema_name_column(struct strbuf *sql, const char *block, size_t number, const char *name)
{
    strbuf_addf(sql, "INSERT INTO block_column VALUES('%s',%zu,'%s');\n", block, number, name);
}

static void schema_name_columns(struct strbuf *sql)
{
    schema_name_column(sql, "path_block", 0, SCHEMA_PATH_DISTANCE);
    schema_name_column(sql, "path_block", 1, SCHEMA_PATH_LOCATION);
    static const char *const sites[] = {"site_block", "mapped_site_block"};
    for (size_t of = 0; of < COUNT(sites); of++) {
        schema_name_column(sql, sites[of], 0, SCHEMA_SITE_PATH);
        for (size_t i = 0; i < schema_call_field_count; i++)
            schema_name_column(sql, sites[of], 1 + i, schema_call_fields[i].column);
    }
    schema_name_column(sql, "region_site_block", 0, SCHEMA_REGION);
    schema_name_column(sql, "region_site_block", 1, SCHEMA_SITE_PATH);
    for (size_t i = 0; i < schema_call_field_count; i++)
        schema_name_column(sql, "region_site_block", 2 + i, schema_call_fields[i].column);
}

void schema_create(struct strbuf *sql)
{
    strbuf_add_string(sql, fixed_tables);
    schema_name_columns(sql);
    strbuf_add_string(sql, "CREATE TABLE program(id INTEGER PRIMARY KEY");
    schema_add_columns(sql, schema_call_fields, schema_call_field_count, " INTEGER");
    schema_add_columns(sql, schema_program_fields, schema_program_field_count, " INTEGER");
    strbuf_add_string(sql, ");\n");
    schema_create_table(sql, "mapped_program", "id INTEGER PRIMARY KEY", schema_call_fields,
                        schema_call_field_count);
    schema_create_table(sql, "thread",
                        "id INTEGER PRIMARY KEY,tid INTEGER,name TEXT,stack_path INTEGER,"
                        "seen_path INTEGER",
                        schema_thread_fields, schema_thread_field_count);
    schema_create_table(sql, "timeline", "bucket INTEGER PRIMARY KEY", schema_bucket_fields,
                        schema_bucket_field_count);
    detail_create(sql);
}

/* Column by column: region_site.* would bring the region's number as a second column of its
 * name. */
static void schema_create_region_call_sites(struct strbuf *sql)
{
    strbuf_add_string(sql, "CREATE VIEW region_call_sites AS SELECT region.name AS region,"
                           " path_name.function, path_name.file, path_name.line, region_site.path");
    for (size_t i = 0; i < schema_call_field_count; i++)
        strbuf_addf(sql, ", region_site.%s", schema_call_fields[i].column);
    strbuf_add_string(sql, " FROM region_site JOIN region ON region.id = region_site.region"
                           " LEFT JOIN path_name ON path_name.path = region_site.path;\n");
}

void schema_create_rows(struct strbuf *sql)
{
    strbuf_add_string(sql, "CREATE TABLE path(id INTEGER PRIMARY KEY,parent INTEGER,"
                           "location INTEGER);\n");
    schema_create_table(sql, "site", "path INTEGER PRIMARY KEY", schema_call_fields,
                        schema_call_field_count);
    schema_create_table(sql, "mapped_site", "path INTEGER PRIMARY KEY", schema_call_fields,
                        schema_call_field_count);
    schema_create_table(sql, "region_site", "region INTEGER,path INTEGER", schema_call_fields,
                        schema_call_field_count);
    strbuf_add_string(sql, views);
    detail_create_rows(sql);
    detail_create_views(sql);
    schema_create_region_call_sites(sql);
}

void schema_insert(struct strbuf *sql, const char *table, size_t columns)
{
    strbuf_addf(sql, "INSERT OR REPLACE INTO %s VALUES(?", table);
    strbuf_add_repeated(sql, ",?", columns - 1);
    strbuf_add_char(sql, ')');
}

void schema_values(struct values *values, const void *source, const struct field *fields,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)source + fields[i].offset, sizeof value);
        bool unknown = fields[i].kind != FIELD_PLAIN && value == UINT64_MAX;
        if (unknown && fields[i].kind == FIELD_MOST)
            values_number(values, 0);
        else if (unknown)
            values_null(values);
        else
            values_number(values, value > INT64_MAX ? INT64_MAX : (int64_t)value);
    }
}

void schema_select(struct strbuf *sql, const char *table, const char *rest, const char *first,
                   const struct field *fields, size_t count, schema_has_column *is_there,
                   void *context)
{
    strbuf_addf(sql, "SELECT %s", first);
    for (size_t i = 0; i < count; i++) {
        bool there = fields[i].kind != FIELD_ADDED || is_there(context, table, fields[i].column);
        strbuf_addf(sql, ",%s", there ? fields[i].column : "NULL");
    }
    strbuf_addf(sql, " FROM %s %s", table, rest);
}

static void schema_complete(struct strbuf *sql, const char *column, const char *type,
                            schema_has_column *is_there, void *context)
{
    if (!is_there(context, "thread", column))
        strbuf_addf(sql, "ALTER TABLE thread ADD COLUMN %s %s;\n", column, type);
}

void schema_complete_threads(struct strbuf *sql, schema_has_column *is_there, void *context)
{
    schema_complete(sql, "name", "TEXT", is_there, context);
    schema_complete(sql, "stack_path", "INTEGER", is_there, context);
    schema_complete(sql, "seen_path", "INTEGER", is_there, context);
    for (size_t i = 0; i < schema_thread_field_count; i++)
        schema_complete(sql, schema_thread_fields[i].column, "INTEGER", is_there, context);
}

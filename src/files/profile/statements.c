/* Makes the SQL statements of the writer (statements.h). Those of fixed tables stand in a list;
 * those of detail tables follow from their columns in the descriptors. */
#include "profile/statements.h"

#include "profile/schema.h"

/* Are its blocks numbered, beside the key that they have in common? */
static bool statement_has_numbers(enum detail which)
{
    return which == DETAIL_RESIDENCIES || which == DETAIL_HEAP_PAGES;
}

static struct statement_shape statement_of_put(enum detail which)
{
    const struct detail_table *table = &detail_tables[which];
    static const char *const keyed[DETAIL_TABLES] = {
        [DETAIL_RESIDENCIES] = "sample,count,body,first",
        [DETAIL_HEAP_PAGES] = "sample,count,body,first",
        [DETAIL_CURVES] = "path,count,body",
        [DETAIL_RANK_STEPS] = "rank,count,body",
    };
    if (!table->blocks)
        return (struct statement_shape){table->name, false, NULL, table->count};
    return (struct statement_shape){table->blocks, false, keyed[which],
                                    statement_has_numbers(which) ? 4 : 3};
}

static struct statement_shape statement_of_drop(enum detail which)
{
    const struct detail_table *table = &detail_tables[which];
    struct statement_shape drop = {table->blocks ? table->blocks : table->name, true, NULL, 0};
    switch (which) {
    case DETAIL_VARIABLES:
    case DETAIL_SECTIONS:
    case DETAIL_MAPPINGS:
    case DETAIL_OWNERS:
    case DETAIL_CONTAINERS:
    case DETAIL_RESIDENCIES:
    case DETAIL_HEAP_PAGES:
    case DETAIL_ISLANDS:
    case DETAIL_HOLDERS:
    case DETAIL_SHARERS:
    case DETAIL_CHAINS:
    case DETAIL_BLOCK_TYPES:
    case DETAIL_BLOCK_FILLS:
    case DETAIL_CURVES:
    case DETAIL_RANK_STEPS: /* by what their rows begin with: module, sample, path, rank */
        drop.columns = table->columns[0].name;
        drop.count = 1;
        break;
    default:
        break;
    }
    return drop;
}

struct statement_shape statement_of(enum statement which)
{
    static const struct statement_shape fixed[PUT_DETAIL] = {
        [PUT_META] = {"meta", false, NULL, 2},
        [PUT_MODULE] = {"module", false, NULL, 7},
        [PUT_FILE] = {"file", false, NULL, 2},
        [PUT_FUNCTION] = {"function", false, NULL, 4},
        [PUT_LOCATION] = {"location", false, NULL, 4},
        [PUT_FRAME] = {"location_frame", false, NULL, 4},
        [DROP_FRAMES] = {"location_frame", true, "location", 1},
        [PUT_PATHS] = {"path_block", false, NULL, 3},
        [PUT_SITES] = {"site_block", false, NULL, 3},
        [PUT_MAPPED_SITES] = {"mapped_site_block", false, NULL, 3},
        [PUT_REGION_SITES] = {"region_site_block", false, NULL, 3},
        [PUT_PROGRAM] = {"program", false, NULL, 0},
        [PUT_MAPPED_PROGRAM] = {"mapped_program", false, NULL, 0},
        [PUT_THREAD] = {"thread", false, NULL, 0},
        [PUT_BUCKET] = {"timeline", false, NULL, 0},
        [DROP_BUCKETS] = {"timeline", true, NULL, 0},
    };
    if (which >= PUT_DETAIL) {
        enum detail detail = (enum detail)((which - PUT_DETAIL) / 2);
        return (which - PUT_DETAIL) % 2 ? statement_of_drop(detail) : statement_of_put(detail);
    }
    struct statement_shape statement = fixed[which];
    if (which == PUT_PROGRAM)
        statement.count = 1 + schema_call_field_count + schema_program_field_count;
    if (which == PUT_MAPPED_PROGRAM)
        statement.count = 1 + schema_call_field_count;
    if (which == PUT_THREAD)
        statement.count = 5 + schema_thread_field_count;
    if (which == PUT_BUCKET)
        statement.count = 1 + schema_bucket_field_count;
    return statement;
}

void statement_sql(struct strbuf *sql, const struct statement_shape *statement)
{
    if (statement->drops) {
        strbuf_addf(sql, "DELETE FROM %s", statement->table);
        if (statement->columns)
            strbuf_addf(sql, " WHERE %s=?", statement->columns);
    } else if (statement->columns) {
        strbuf_addf(sql, "INSERT OR REPLACE INTO %s(%s) VALUES(?", statement->table,
                    statement->columns);
        strbuf_add_repeated(sql, ",?", statement->count - 1);
        strbuf_add_char(sql, ')');
    } else {
        schema_insert(sql, statement->table, statement->count);
    }
}

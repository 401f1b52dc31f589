/* Limits what SQL may do (allowed.h). SQLite's authorizer permits reading, and the functions and
 * pragmas of two lists. Limits hold the memory and the length of values; virtual tables are
 * refused, because they would run code of their own. */
#include "query/allowed.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/allowance.h"
#include "base/error.h"

/* The longest text or blob. Embedded sources have at most 64 MiB. */
#define LONGEST_VALUE (256 << 20)

/* Both lists end with NULL. These functions compute from their arguments, and from nothing else. */
static const char *const allowed_functions[] = {
    "->", "->>", "abs", "avg", "char", "coalesce", "concat", "concat_ws", "count", "format", "glob",
    "group_concat", "hex", "if", "ifnull", "iif", "instr", "length", "like", "likelihood", "likely",
    "lower", "ltrim", "max", "min", "nullif", "octet_length", "printf", "quote", "random",
    "replace", "round", "rtrim", "sign", "sqlite_version", "string_agg", "substr", "substring",
    "sum", "total", "trim", "typeof", "unhex", "unicode", "unlikely", "upper", "zeroblob",
    /* mathematics */
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
    "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "median", "percentile", "percentile_cont",
    "percentile_disc",
    /* time */
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday",
    "strftime", "time", "timediff", "unixepoch",
    /* windows */
    "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile",
    "percent_rank", "rank", "row_number",
    /* JSON */
    "json", "json_array", "json_array_length", "json_error_position", "json_extract",
    "json_group_array", "json_group_object", "json_insert", "json_object", "json_patch",
    "json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_type",
    "json_valid", "subtype", NULL};

/* These pragmas describe tables and set nothing. */
static const char *const allowed_pragmas[] = {"table_info",    "table_xinfo",   "table_list",
                                              "function_list", "database_list", NULL};

static bool allowed_has(const char *const *list, const char *name)
{
    for (size_t i = 0; name && list[i]; i++)
        if (!sqlite3_stricmp(name, list[i]))
            return true;
    return false;
}

static int allowed_authorize(void *context, int action, const char *first, const char *second,
                             const char *database, const char *trigger)
{
    (void)context, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return allowed_has(allowed_functions, second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
        return allowed_has(allowed_pragmas, first) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

void allowed_begin(sqlite3 *database)
{
    uint64_t most = allowance_most();
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    sqlite3_hard_heap_limit64(most < INT64_MAX ? (sqlite3_int64)most : INT64_MAX);
    sqlite3_set_authorizer(database, allowed_authorize, NULL);
}

/* Only virtual tables have no page. */
int allowed_check_tables(sqlite3 *database)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(database,
                                    "SELECT 1 FROM sqlite_schema WHERE type='table' AND "
                                    "(rootpage=0 OR rootpage IS NULL) LIMIT 1",
                                    -1, &row, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    sqlite3_finalize(row);
    if (result == SQLITE_DONE)
        return 0;
    return error_set(-EBADMSG, result == SQLITE_ROW
                                   ? "the profile has virtual tables, which no recording makes: it "
                                     "is not asked"
                                   : "the profile is damaged: its list of tables cannot be read");
}

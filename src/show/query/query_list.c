/* Lists what SQL can ask of a profile: views and tables with their columns. Those with a sentence
 * here come first. Others, which a later version has made, follow without one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/strbuf.h"
#include "base/error.h"
#include "base/text.h"
#include "query/database.h"
#include "query/query.h"

static const struct query_list_known {
    const char *name, *what;
} known[] = {
    {"functions",
     "functions as the report counts them: frames of language libraries are passed over; "
     "columns named inclusive_ count what is asked for below too"},
    {"top_functions", "by innermost frame, most at the peak first"},
    {"call_paths", "call paths with metrics and their whole stack, innermost function first"},
    {"call_sites", "call paths with all their metrics and the innermost frame"},
    {"timeline", "memory over time, by bucket"},
    {"timeline_seconds", "the same, with seconds"},
    {"ledger", "where the resident memory was: a row for each sample and part"},
    {"peaks", "the separated peaks and who held what at each"},
    {"residency_by_function", "resident, untouched and pinned bytes of live blocks, by sample"},
    {"heap_pages",
     "the heap at the last sample with a ledger, page by page: occupancy, and who pins"},
    {"owners", "who has the resident memory, by sample: call paths, files, stacks, variables"},
    {"page_uses", "lag and drag of large blocks, by call path (record --heat)"},
    {"containers", "what the memory of the control group was made of, by sample"},
    {"variables", "the largest global and thread-local variables"},
    {"thread_exchanges", "blocks that one thread allocated and another freed"},
    {"loss", "what the recording is known to lack"},
    {"program", "the program's metrics, one row"},
    {"meta", "facts about the recording, by key"},
    {"thread", "threads"},
    {"site", "metrics by call path"},
    {"mapped_site", "metrics of what the program maps itself, by call path"},
    {"mapped_call_sites", "the same with the innermost frame"},
    {"mapped_program", "their sums, one row"},
    {"path", "the call tree"},
    {"path_name", "innermost function, file, line and module of each call path"},
    {"location_name", "the same of each code location"},
    {"distribution", "sizes, lifetimes, reallocs"},
    {"curve", "live bytes of single call paths over time"},
    {"sample", "looks at the process through /proc"},
    {"mapping", "mappings of a sample by kind and file"},
    {"live_class", "C++ classes that live blocks of a call path begin with"},
    {"call_type", "what a call's result is assigned to, or made into, by debug information"},
    {"live_fill", "how full vectors, strings and hash tables of a call path are"},
    {"page_use", "lag and drag of large blocks, by number of call path"},
    {"machine_memory", "memory of the machine and of the control group over time"},
    {"device_space", "memory of devices: what the program had of each space"},
    {"device_site", "memory of devices by call path"},
    {"device_level", "memory of devices over time"},
    {"residency", "what a sample says of a call path's live blocks"},
    {"owner", "a sample's resident memory by owner"},
    {"container", "a sample's control group by kind and name"},
    {"island", "lost blocks that nothing points to, by call path"},
    {"holder", "who keeps the live blocks of a sample"},
    {"sharer", "the holders of what no holder keeps alone"},
    {"chain", "how a block that was asked for is held"},
    {"heap_page", "pages of the heap, or stretches of them, by address"},
    {"source", "embedded source files"},
};
enum { KNOWN = sizeof known / sizeof *known };

static int query_list_columns_of(struct query *query, const char *table, struct strbuf *out)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(query->database, "SELECT name FROM pragma_table_info(?)", -1, &row,
                           NULL) != SQLITE_OK)
        return error_set(-EIO, "%s", sqlite3_errmsg(query->database));
    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    while (sqlite3_step(row) == SQLITE_ROW) {
        strbuf_add_string(out, out->length ? ", " : "");
        text_add_safe_string(out, (const char *)sqlite3_column_text(row, 0));
    }
    sqlite3_finalize(row);
    return 0;
}

static int query_list_show(struct query *query, const struct query_list_known *of, FILE *out,
                           size_t width)
{
    struct strbuf columns = STRBUF_INIT, text = STRBUF_INIT;
    int error = query_list_columns_of(query, of->name, &columns);
    if (!error && columns.length) {
        text_add_safe_string(&text, of->name);
        if (of->what) {
            strbuf_add_string(&text, "\n    ");
            text_add_wrapped(&text, of->what, 4, width);
        }
        strbuf_add_string(&text, "\n    ");
        text_add_wrapped(&text, columns.data, 4, width);
        fprintf(out, "%s\n", text.data);
    }
    strbuf_release(&columns);
    strbuf_release(&text);
    return error;
}

static bool query_list_is_known(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (!strcmp(known[i].name, name))
            return true;
    return false;
}

int query_list(struct query *query, FILE *out, size_t width)
{
    sqlite3_stmt *row;
    int error = 0;
    for (size_t i = 0; i < KNOWN && !error; i++)
        error = query_list_show(query, &known[i], out, width);
    if (error || sqlite3_prepare_v2(query->database,
                                    "SELECT name FROM sqlite_schema WHERE type IN ('table','view')"
                                    " AND name NOT LIKE 'sqlite_%' ORDER BY name",
                                    -1, &row, NULL) != SQLITE_OK)
        return error ? error : error_set(-EIO, "%s", sqlite3_errmsg(query->database));
    while (!error && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        if (!query_list_is_known(name))
            error = query_list_show(query, &(struct query_list_known){name, NULL}, out, width);
    }
    sqlite3_finalize(row);
    return error;
}

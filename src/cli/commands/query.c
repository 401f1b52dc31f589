/* The command `tidemark query`: SQL on a profile. The statement is an operand or standard input,
 * and the query room runs it without the right to write. Without a statement the tables are
 * listed. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/output.h"
#include "query/query.h"

enum { LONGEST_SQL = 1 << 20, USUAL_MOST_COLUMNS = 120 };

struct arguments {
    int format;
    uint64_t give_up;
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    {"format", 'f', OPTION_CHOICE, QUERY_FORMAT_CHOICE, "how rows are printed (default: table)",
     TO(format), false, NULL},
    {"json", 'j', OPTION_FLAG, NULL, "--format json", TO(json), false, NULL},
    {"give-up", 0, OPTION_NUMBER, "SECONDS",
     "end a query that gives no row for SECONDS; 0: never (default: 60)", TO(give_up), false, NULL},
    {"pager", 0, OPTION_SWITCH, NULL, "$PAGER or less, on a terminal (default: yes)", TO(pager),
     true, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "query",
    .synopsis = "[options] PROFILE [SQL|-]",
    .purpose =
        "Asks a profile in SQL, finished or still being recorded. There are a table for everything "
        "in it and views: functions, top_functions, call_paths, timeline, ledger and more; without "
        "SQL "
        "they are listed with their columns. Nothing can be written. With - the SQL is read from "
        "standard input.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark query run.tmk\n"
                "  tidemark query run.tmk 'SELECT * FROM top_functions LIMIT 10'\n"
                "  tidemark query -f csv run.tmk 'SELECT * FROM timeline_seconds' > timeline.csv\n",
};

static int cmd_query_read_sql(struct strbuf *sql)
{
    char bytes[4096];
    size_t got;
    while ((got = fread(bytes, 1, sizeof bytes, stdin)) && sql->length <= LONGEST_SQL)
        strbuf_add(sql, bytes, got);
    if (ferror(stdin))
        return output_complain("query", "cannot read the SQL from standard input");
    if (sql->length > LONGEST_SQL || strlen(sql->data) != sql->length)
        return output_complain(
            "query", "what comes from standard input is no SQL: it is longer than 1 MiB, or "
                     "binary");
    return 0;
}

static int cmd_query_ask(const char *path, const char *sql, const struct arguments *arguments)
{
    struct query *query;
    if (query_open(&query, path))
        return output_complain("query", error_text());
    query_give_up_after(query, arguments->give_up);
    enum query_format format = arguments->json ? QUERY_JSON : (enum query_format)arguments->format;
    struct term_pager pager = term_pager_open(arguments->pager && format == QUERY_TABLE);
    int error = sql ? query_run(query, sql, format, pager.out)
                    : query_list(query, pager.out, output_columns(0, USUAL_MOST_COLUMNS));
    int close_error = term_pager_close(&pager);
    query_close(query);
    if (error && error != -EPIPE)
        return output_complain("query", error_text());
    if (!error && close_error)
        return output_complain("query", "cannot write");
    return 0;
}

int cmd_query(int argc, char **argv)
{
    struct arguments arguments = {.pager = true, .give_up = 60};
    struct strbuf sql = STRBUF_INIT;
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc || operand + 2 < argc)
        return options_usage_error(&command, operand == argc
                                                 ? "no profile given"
                                                 : "more than a profile and SQL given: quote it");
    const char *text = operand + 1 < argc ? argv[operand + 1] : NULL;
    int status = 0;
    if (text && !strcmp(text, "-")) {
        status = cmd_query_read_sql(&sql);
        text = sql.data;
    }
    if (!status)
        status = cmd_query_ask(argv[operand], text, &arguments);
    strbuf_release(&sql);
    return status;
}

/* tidemark report: reads the profile, hands it to the report room. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "base/text.h"
#include "profile/profile.h"
#include "report/report.h"

struct arguments {
    struct report_options report;
    uint64_t top, depth, width;
    int sort, colour; /* sort: 0 is "all", then the metrics */
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    {"sort", 's', OPTION_CHOICE, "all|" REPORT_METRIC_CHOICE,
     "call sites by one metric instead of all sections (default: all)", TO(sort), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "call sites in each section (default: 5, with --sort 10)",
     TO(top), false, NULL},
    {"depth", 'd', OPTION_NUMBER, "N",
     "callers of each call site, in lines of descent; 0: none (default: 6)", TO(depth), false,
     NULL},
    {"filter", 'f', OPTION_STRING, "REGEX",
     "only call paths with a function, file or module that matches (extended expression)",
     TO(report.filter), false, NULL},
    {"hide-std", 0, OPTION_SWITCH, NULL,
     "leave out frames of the C, C++ and Rust libraries, so that your own function stands first "
     "(default: yes)",
     TO(report.hide_std), false, NULL},
    OPTION_GROUP("How to show it"),
    {"json", 'j', OPTION_FLAG, NULL, "JSON, as doc/REPORT-JSON.md describes", TO(json), false,
     NULL},
    {"color", 0, OPTION_CHOICE, "auto|always|never",
     "colour (default: auto; NO_COLOR is respected)", TO(colour), false, NULL},
    {"pager", 0, OPTION_SWITCH, NULL, "$PAGER or less, on a terminal (default: yes)", TO(pager),
     false, NULL},
    {"width", 'w', OPTION_NUMBER, "COLUMNS",
     "as wide as this, 72 at least (default: the terminal, else 80)", TO(width), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "report",
    .synopsis = "[options] PROFILE",
    .purpose = "Shows where the memory of a recorded program went: its peak, what was never freed, "
               "and the call sites that asked for most, each with its callers. The profile may "
               "still be being written.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark report run.tmk\n"
                "  tidemark report --sort leaked --top 20 run.tmk\n"
                "  tidemark report --filter 'parser\\.c' --json run.tmk | jq .program\n",
};

static int complain(const char *sentence)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, sentence);
    fprintf(stderr, "tidemark report: %s\n", safe.data);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

static void settle(struct arguments *arguments, FILE *out)
{
    struct report_options *report = &arguments->report;
    report->metric = arguments->sort - 1;
    report->top = arguments->top ? arguments->top : arguments->sort ? 10 : 5;
    report->depth = arguments->depth;
    report->colour = term_wants_colour((enum term_colour)arguments->colour, stdout);
    report->utf8 = term_is_utf8();
    size_t columns = term_columns(out);
    report->columns = arguments->width ? arguments->width : columns > 160 ? 160 : columns;
    if (report->columns < REPORT_LEAST_COLUMNS)
        report->columns = REPORT_LEAST_COLUMNS;
    if (report->columns > 1000)
        report->columns = 1000;
}

static int show(const struct profile *profile, const struct arguments *arguments)
{
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? report_json(pager.out, profile, &arguments->report)
                                : report_text(pager.out, profile, &arguments->report);
    int close_error = term_pager_close(&pager);
    if (!error && close_error) {
        fprintf(stderr, "tidemark report: cannot write: %s\n", strerror(-close_error));
        error = close_error;
    }
    return error ? OPTIONS_EXIT_FAILURE : 0;
}

int cmd_report(int argc, char **argv)
{
    struct arguments arguments = {.report.hide_std = true, .pager = true, .depth = 6};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand + 1 != argc)
        return options_usage_error(&command, operand == argc ? "no profile given"
                                                             : "more than one profile given");
    char why[160];
    if (report_filter_check(arguments.report.filter, why, sizeof why))
        return options_usage_error(&command, "--filter is no regular expression: %s", why);
    settle(&arguments, stdout);
    struct profile *profile;
    if (profile_read(&profile, argv[operand]))
        return complain(profile_error());
    const char *missing = report_metric_missing(profile, arguments.report.metric);
    int status = missing ? complain(missing) : show(profile, &arguments);
    profile_free(profile);
    return status;
}

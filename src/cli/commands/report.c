/* The command `tidemark report`. It reads a profile, or a list of the processes of a session,
 * and hands it to the report room. Options choose sections, columns, order and format. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/allocator.h"
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/level_options.h"
#include "commands/output.h"
#include "profile/profile.h"
#include "programs/programs.h"
#include "report/report.h"

enum by { BY_FUNCTION = 0, BY_TYPE, BY_LIBRARY }; /* BY_FUNCTION: as the other options say */

#define NOT_GIVEN UINT64_MAX /* of an option: 0 is one of its values */

struct arguments {
    struct report_options report;
    uint64_t top, depth, width;
    int sort, colour; /* sort: 0 is "all", then the metrics */
    int of;           /* enum memory_level */
    bool json, pager, functions, tree;
    int by; /* enum by */
    const char *region;
};

static int cmd_report_complain_about(const char *option, const char *word, const char *rest)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "'%s' is not right for --%s: %s", word, option, rest);
    output_complain("report", sentence.data);
    strbuf_release(&sentence);
    return -EINVAL;
}

/* The option that shows what the user asks for by this word; NULL: none, see the help. */
static const char *cmd_report_meant_by(const char *word)
{
    static const struct {
        const char *beginning, *meant;
    } meanings[] = {
        {"leak", "what was never freed is --sort leaked, what is lost says tidemark leaks"},
        {"lost", "what is lost says tidemark leaks"},
        {"realloc", "did you mean --show reallocs, or --sort realloc?"},
        {"function", "did you mean --show functions?"},
        {"site", "did you mean --show sites?"},
        {"size", "did you mean --show sizes?"},
        {"path", "did you mean --show paths?"},
        {"peak", "did you mean --show peaks?"},
        {"lifetime", "did you mean --show lifetimes?"},
        {"thread", "did you mean --show threads?"},
        {"stack", "did you mean --show stacks?"},
        {"global", "did you mean --show globals?"},
        {"variable", "did you mean --show globals?"},
        {"region", "did you mean --show regions?"},
        {"type", "did you mean --show types?"},
        {"resident", "did you mean --show residency, or --of resident?"},
        {"mmap", "did you mean --of mapped?"},
        {"map", "did you mean --of mapped?"},
        {"temporary", "did you mean --sort temporary?"},
        {"source", "source lines with figures are what tidemark annotate shows"},
        {"insight", "tidemark insight shows them"},
        {"own", "owners of resident memory: did you mean --show residency?"},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (!strncmp(word, meanings[i].beginning, strlen(meanings[i].beginning)))
            return meanings[i].meant;
    return NULL;
}

static int cmd_report_take_show(void *target, const char *value)
{
    struct report_options *report = target;
    char wrong[64];
    if (!report_show_parse(value, &report->show, wrong, sizeof wrong))
        return 0;
    const char *meant = cmd_report_meant_by(wrong);
    return cmd_report_complain_about("show", wrong,
                                     meant ? meant : "see tidemark report --help for the sections");
}

static int cmd_report_take_columns(void *target, const char *value)
{
    struct report_options *report = target;
    char wrong[64];
    if (!report_columns_parse(value, &report->more_columns, wrong, sizeof wrong))
        return 0;
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; report_column_name(i); i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "up to eight of ", report_column_name(i));
    cmd_report_complain_about("columns", wrong, names.data);
    strbuf_release(&names);
    return -EINVAL;
}

#define TO(field) OPTION_TO(struct arguments, field)

#define REPORT(field) TO(report.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    {"show", 0, OPTION_CALL, "SECTION,…",
     "sites, functions, libraries, tree, memory, peaks, paths, sizes, lifetimes, reallocs, "
     "threads, stacks, globals, residency, regions, types, fill, heat, numa or all",
     0, false, cmd_report_take_show},
    {"functions", 0, OPTION_FLAG, NULL, "--show functions", TO(functions), false, NULL},
    {"inclusive", 'i', OPTION_FLAG, NULL, "functions with all that is asked for below them",
     TO(report.inclusive), false, NULL},
    {"columns", 0, OPTION_CALL, "METRIC,…",
     "more of functions, and of sites: mean_size, largest, …", 0, false, cmd_report_take_columns},
    {"by", 0, OPTION_CHOICE, "function|type|library", "--show types, or libraries", TO(by), true,
     NULL},
    {"tree", 't', OPTION_FLAG, NULL, "--show tree: the call tree from the top", TO(tree), false,
     NULL},
    {"sort", 's', OPTION_CHOICE, "all|" METRIC_CHOICE,
     "by one metric (default: all; functions and tree: peak)", TO(sort), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "rows in each section (default: 3, on request 10)", TO(top),
     false, NULL},
    {"depth", 'd', OPTION_NUMBER, "N", "callers in a line; 0: none (default: 3, on request 6)",
     TO(depth), false, NULL},
    {"filter", 'f', OPTION_STRING, "REGEX", "only paths with a function, file, module that matches",
     TO(report.filter), false, NULL},
    REGION_ENTRY(TO, false),
    LEVEL_ENTRY(TO),
    {"startup", 0, OPTION_FLAG, NULL,
     "list what run-times and libraries ask for as they start, instead of one line",
     TO(report.startup), true, NULL},
    HIDE_STD_ENTRY(REPORT),
    OPTION_GROUP("How to show it"),
    OUTPUT_ENTRIES(TO, "REPORT-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "report",
    .synopsis = "[options] PROFILE | DIR | SESSION…",
    .purpose = "Shows where the memory of a recorded program went: its peak, what was never freed, "
               "and the call sites that asked for most, each with its callers. The profile may "
               "still be being written. Of a directory, a session file (.session.tmk) or several "
               "profiles it shows the programs that were recorded; SESSION@PID and DIR@PID are one "
               "process of them.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark report run.tmk\n"
                "  tidemark report .\n"
                "  tidemark report --sort leaked --top 20 run.tmk\n"
                "  tidemark report --inclusive --columns mean_size run.tmk\n"
                "  tidemark report --filter 'parser\\.c' --json run.tmk | jq .program\n",
};

static void cmd_report_settle(struct arguments *arguments)
{
    struct report_options *report = &arguments->report;
    report->metric = arguments->sort - 1;
    if (arguments->by == BY_LIBRARY)
        report->show |= 1u << REPORT_LIBRARIES;
    /* --columns is also for these sections */
    bool of_others = report->show & (1u << REPORT_SITES | 1u << REPORT_LIBRARIES);
    if (arguments->functions || (report->more_columns.count && !of_others) ||
        (report->inclusive && !report->show))
        report->show |= 1u << REPORT_FUNCTIONS;
    if (arguments->by == BY_TYPE)
        report->show |= 1u << REPORT_TYPES;
    if (arguments->tree)
        report->show |= 1u << REPORT_TREE;
    bool overview = !arguments->sort && !report->show && !arguments->json;
    size_t usual_top = overview ? 3 : arguments->json && !arguments->sort ? 5 : 10;
    report->top = arguments->top ? arguments->top : usual_top;
    report->brief = overview && arguments->depth == NOT_GIVEN;
    report->depth = arguments->depth == NOT_GIVEN ? 6 : arguments->depth;
    report->colour = term_wants_colour((enum term_colour)arguments->colour, stdout);
    report->utf8 = term_is_utf8();
    report->columns = output_columns(arguments->width, 160);
}

static int cmd_report_show(const struct profile *profile, const struct arguments *arguments)
{
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? report_json(pager.out, profile, &arguments->report)
                                : report_text(pager.out, profile, &arguments->report);
    return output_close("report", &pager, error);
}

/* ---- Many processes ------------------------------------------------------------------------ */

/* The option that is for one profile; NULL: none was given. */
static const char *cmd_report_of_one(const struct arguments *arguments)
{
    const struct report_options *report = &arguments->report;
    return report->show                 ? "--show, --functions, --tree and --by are"
           : report->filter             ? "--filter is"
           : arguments->region          ? "--region is"
           : arguments->of              ? "--of is"
           : report->inclusive          ? "--inclusive is"
           : report->more_columns.count ? "--columns is"
                                        : NULL;
}

/* -1: a list of processes cannot be sorted by that. */
static int cmd_report_order(int sort)
{
    const char *name = sort ? metrics[sort - 1].name : "peak";
    return !strcmp(name, "peak")    ? PROGRAMS_BY_PEAK
           : !strcmp(name, "count") ? PROGRAMS_BY_COUNT
           : !strcmp(name, "bytes") ? PROGRAMS_BY_BYTES
                                    : -1;
}

static int cmd_report_show_programs(const struct programs *programs, struct arguments *arguments)
{
    struct report_options *report = &arguments->report;
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    report->top = arguments->top;
    int error = arguments->json ? report_programs_json(pager.out, programs)
                                : report_programs_text(pager.out, programs, report);
    return output_close("report", &pager, error);
}

static int cmd_report_programs(char *const *paths, size_t count, struct arguments *arguments)
{
    const char *of_one = cmd_report_of_one(arguments), *path = paths[0];
    int order = cmd_report_order(arguments->sort);
    if (of_one && count > 1)
        return output_complainf("report", "%s for one profile, and there are %zu here", of_one,
                                count);
    if (of_one)
        return output_complainf("report",
                                "%s for one profile, and %s has many: choose one, as %s@PID",
                                of_one, path, path);
    if (order < 0)
        return output_complainf("report",
                                "%s has many processes: they are sorted by peak, count "
                                "or bytes",
                                count > 1 ? "what is given" : path);
    struct programs *programs;
    if (programs_read(&programs, paths, count, (enum programs_order)order))
        return output_complain("report", error_text());
    int status = cmd_report_show_programs(programs, arguments);
    programs_free(programs);
    return status;
}

/* ---- One ----------------------------------------------------------------------------------- */

static int cmd_report_profile(const char *path, const struct arguments *arguments)
{
    struct profile *profile;
    allocator_give_back();
    if (profile_read(&profile, path))
        return output_complain("report", error_text());
    int status = level_take("report", profile, arguments->of, arguments->region);
    if (!status && !filter_suits("report", profile, arguments->report.filter))
        status = OPTIONS_EXIT_FAILURE;
    const char *missing = status ? NULL : metric_missing(profile, arguments->report.metric);
    if (!status)
        status = missing ? output_complain("report", missing) : cmd_report_show(profile, arguments);
    profile_free(profile);
    return status;
}

int cmd_report(int argc, char **argv)
{
    struct arguments arguments = {.report.hide_std = true, .pager = true, .depth = NOT_GIVEN};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no profile given");
    if (!filter_is_right(&command, arguments.report.filter, &arguments.region))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.region && arguments.of)
        return options_usage_error(&command, "%s", level_and_region);
    cmd_report_settle(&arguments);
    size_t count = (size_t)(argc - operand);
    return count > 1 || programs_is(argv[operand])
               ? cmd_report_programs(argv + operand, count, &arguments)
               : cmd_report_profile(argv[operand], &arguments);
}

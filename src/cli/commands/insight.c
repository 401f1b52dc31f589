/* The command `tidemark insight`. It reads the profile, lets the rules look at it, and writes
 * what they found as text or JSON. An option says how severe an insight must be to be shown. */
#include "commands/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/output.h"
#include "insights/insight.h"
#include "profile/profile.h"

enum { USUAL_MOST_COLUMNS = 120 };

struct arguments {
    const char *filter;
    int least, colour;
    uint64_t width;
    bool json, pager, startup;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    {"least", 'l', OPTION_CHOICE, INSIGHT_SEVERITY_CHOICE,
     "the least severity that is shown (default: info, all)", TO(least), false, NULL},
    {"startup", 0, OPTION_FLAG, NULL, "what is about run-times and libraries as they start, too",
     TO(startup), false, NULL},
    FILTER_ENTRY(TO),
    OUTPUT_ENTRIES(TO, "REPORT-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "insight",
    .synopsis = "[options] PROFILE",
    .purpose = "Says what is wrong with a program's use of memory: leaks, churn, growth by too "
               "little, fragmentation and more, most severe first, each with the numbers and call "
               "paths that show it and with advice. At the end stands what could not be asked "
               "because it was not recorded. The profile may still be being written.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark insight run.tmk\n"
                "  tidemark insight --least warning run.tmk\n"
                "  tidemark insight --filter file:src/parser run.tmk\n"
                "  tidemark insight --json run.tmk | jq -r '.insights[] | [.id, .title] | @tsv'\n",
};

static struct insights_options cmd_insight_settle(const struct arguments *arguments)
{
    return (struct insights_options){
        .style = {term_wants_colour((enum term_colour)arguments->colour, stdout), term_is_utf8(),
                  output_columns(arguments->width, USUAL_MOST_COLUMNS)},
        .least = arguments->least,
    };
}

static int cmd_insight_show(const struct insights *insights, const struct arguments *arguments)
{
    struct insights_options options = cmd_insight_settle(arguments);
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? insights_json(pager.out, insights, &options)
                                : insights_text(pager.out, insights, &options);
    return output_close("insight", &pager, error);
}

static int cmd_insight_of(const struct profile *profile, const struct arguments *arguments)
{
    bool *passes;
    int status = filter_paths("insight", profile, arguments->filter, &passes);
    if (status)
        return status;
    struct insights *insights =
        arguments->startup || passes ? insights_find_all(profile) : insights_find(profile);
    if (insights && passes)
        insights_filter(insights, arguments->filter, passes);
    status = insights ? cmd_insight_show(insights, arguments)
                      : output_complain("insight", "out of memory");
    insights_free(insights);
    free(passes);
    return status;
}

int cmd_insight(int argc, char **argv)
{
    struct arguments arguments = {.pager = true};
    int operand = options_parse_one(&command, argc, argv, &arguments, "profile");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (!filter_is_right(&command, arguments.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    struct profile *profile;
    if (profile_read(&profile, argv[operand]))
        return output_complain("insight", error_text());
    int status = cmd_insight_of(profile, &arguments);
    profile_free(profile);
    return status;
}

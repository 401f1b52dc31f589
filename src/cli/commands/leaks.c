/* The command `tidemark leaks`. It reads the profile and the suppressions, finds the blocks that
 * are lost, and writes them as text or JSON. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/known_leaks.h"
#include "commands/output.h"
#include "commands/profile_of.h"
#include "leaks/leaks.h"
#include "profile/profile.h"

enum { USUAL_MOST_COLUMNS = 120, USUAL_TOP = 10 };

struct arguments {
    struct known_leaks suppressions;
    const char *filter;
    int colour;
    uint64_t width, top;
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_leaks_add_suppressions(void *target, const char *value)
{
    struct arguments *arguments = target;
    return known_leaks_name(&arguments->suppressions, value);
}

static const struct option_entry entries[] = {
    {"top", 'n', OPTION_NUMBER, "COUNT", "so many places at most (default: 10)", TO(top), false,
     NULL},
    FILTER_ENTRY(TO),
    {"suppressions", 'S', OPTION_CALL, "FILE",
     "known leaks, as LeakSanitizer or valgrind take them; may be repeated", 0, false,
     cmd_leaks_add_suppressions},
    OUTPUT_ENTRIES(TO, "LEAKS.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "leaks",
    .synopsis = "[options] PROFILE|PID",
    .purpose =
        "Shows which blocks are lost: at the program's end, or at the last snapshot of one "
        "that runs, no pointer led to them any more. Of a process that is being recorded: "
        "now. No rebuild is needed. What was still reachable then is no leak and only summed "
        "up.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark record -o run.tmk ./program && tidemark leaks run.tmk\n"
                "  tidemark leaks --json run.tmk | jq .lost.bytes\n"
                "  tidemark leaks $(pidof server)\n"
                "In CI: tidemark check with lost = 0 (doc/BUDGET.md).\n",
};

static int cmd_leaks_show(const struct leaks *leaks, const struct arguments *arguments)
{
    struct leaks_options options = {
        .style = {term_wants_colour((enum term_colour)arguments->colour, stdout), term_is_utf8(),
                  output_columns(arguments->width, USUAL_MOST_COLUMNS)},
        .top = arguments->top,
    };
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error =
        arguments->json ? leaks_json(pager.out, leaks) : leaks_text(pager.out, leaks, &options);
    return output_close("leaks", &pager, error);
}

static int cmd_leaks_find(const struct profile *profile, struct suppressions *suppressions,
                          const struct arguments *arguments)
{
    struct leaks leaks;
    const char *missing = leaks_missing(profile);
    if (missing)
        return output_complainf("leaks", "what is lost is not known: %s", missing);
    bool *passes;
    int status = filter_paths("leaks", profile, arguments->filter, &passes);
    if (status)
        return status;
    if (leaks_find(&leaks, profile, suppressions, arguments->filter, passes)) {
        free(passes);
        return output_complain("leaks", "out of memory");
    }
    status = cmd_leaks_show(&leaks, arguments);
    leaks_release(&leaks);
    free(passes);
    return status;
}

static int cmd_leaks_of(const char *path, const struct arguments *arguments)
{
    struct suppressions suppressions = {0};
    struct profile *profile;
    int status = 0;
    for (size_t i = 0; i < arguments->suppressions.count && !status; i++)
        status = known_leaks_read("leaks", &suppressions, arguments->suppressions.files[i]);
    if (!status)
        status = profile_of(&profile, "leaks", path, &(struct wire_wish){0});
    if (!status) {
        status = cmd_leaks_find(profile, &suppressions, arguments);
        profile_free(profile);
    }
    suppressions_release(&suppressions);
    return status;
}

int cmd_leaks(int argc, char **argv)
{
    struct arguments arguments = {.pager = true, .top = USUAL_TOP};
    int operand = options_parse(&command, argc, argv, &arguments);
    int status = operand < 0 ? OPTIONS_EXIT_STATUS(operand) : 0;
    if (operand >= 0 && operand + 1 != argc)
        status = options_usage_error(&command, operand == argc ? "no profile and no process given"
                                                               : "more than one profile given");
    else if (operand >= 0 && !filter_is_right(&command, arguments.filter, NULL))
        status = OPTIONS_EXIT_FAILURE;
    else if (operand >= 0)
        status = cmd_leaks_of(argv[operand], &arguments);
    free(arguments.suppressions.files);
    return status;
}

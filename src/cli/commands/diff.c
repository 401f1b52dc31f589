/* The command `tidemark diff`. It reads the profiles of two groups, which "--" separates, and
 * hands them to the diff room. The result is shown as text or as JSON. */
#include "commands/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/allocator.h"
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/level_options.h"
#include "commands/output.h"
#include "diff/diff.h"
#include "diff/diff_types.h"
#include "profile/profile.h"
#include "report/report.h"

enum { USUAL_MOST_COLUMNS = 140, USUAL_TOP = 10, USUAL_DEPTH = 3 };

struct arguments {
    const char *filter, *region;
    int sort, norm, colour, of, by;
    uint64_t top, depth, width;
    bool json, pager, inclusive, hide_std;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to compare"),
    {"sort", 's', OPTION_CHOICE, METRIC_CHOICE_SUMS,
     "the metric that functions and call paths are compared by (default: peak, or the first that "
     "is known)",
     TO(sort), false, NULL},
    {"per", 'p', OPTION_CHOICE, DIFF_NORM_CHOICE,
     "make runs of different length alike: by allocations, or by time (default: none)", TO(norm),
     false, NULL},
    {"inclusive", 'i', OPTION_FLAG, NULL, "functions with all that is asked for below them",
     TO(inclusive), false, NULL},
    {"by", 0, OPTION_CHOICE, "function|type",
     "type: what was alive, by types of objects, of two recordings", TO(by), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "rows of each list; in JSON 0: all (default: 10, in JSON all)",
     TO(top), false, NULL},
    {"depth", 'd', OPTION_NUMBER, "N", "callers of each call path (default: 3)", TO(depth), false,
     NULL},
    FILTER_ENTRY(TO),
    REGION_ENTRY(TO, false),
    LEVEL_ENTRY(TO),
    HIDE_STD_ENTRY(TO),
    OPTION_GROUP("How to show it"),
    OUTPUT_ENTRIES(TO, "DIFF-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "diff",
    .synopsis = "[options] OLD NEW…  or  OLD… -- NEW…",
    .purpose =
        "Shows what grew and what shrank from one recording to another, also of another build: "
        "functions are matched by name, call paths by the order of calls in each function. With "
        "several runs of each, means are compared and what is no more than noise is left out. "
        "Without -- the first profile is the old one.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark diff old.tmk new.tmk\n"
                "  tidemark diff --sort count --inclusive old.tmk new.tmk\n"
                "  tidemark diff old1.tmk old2.tmk old3.tmk -- new1.tmk new2.tmk new3.tmk\n",
};

enum { BY_FUNCTION, BY_TYPE };

static struct diff_show cmd_diff_show(const struct arguments *arguments)
{
    return (struct diff_show){{term_wants_colour((enum term_colour)arguments->colour, stdout),
                               term_is_utf8(),
                               output_columns(arguments->width, USUAL_MOST_COLUMNS)},
                              arguments->top != UINT64_MAX ? arguments->top
                              : arguments->json            ? 0
                                                           : USUAL_TOP,
                              arguments->depth};
}

static int cmd_diff_compare_types(const struct diff_run *runs, const struct arguments *arguments)
{
    struct diff_show show = cmd_diff_show(arguments);
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = (arguments->json ? diff_types_json : diff_types_text)(pager.out, runs[0].profile,
                                                                      runs[1].profile, &show);
    return output_close("diff", &pager, error);
}

static int cmd_diff_compare(const struct diff_run *runs, size_t count, const struct diff *owners,
                            const struct arguments *arguments)
{
    struct diff_options options = {arguments->sort, (enum diff_norm)arguments->norm,
                                   arguments->inclusive, arguments->hide_std, arguments->filter};
    struct diff_show show = cmd_diff_show(arguments);
    struct diff difference;
    if (diff_make(&difference, runs, count, &options))
        return output_complain("diff", "out of memory");
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? diff_json(pager.out, &difference, owners, &show)
                                : diff_text(pager.out, &difference, owners, &show);
    diff_release(&difference);
    return output_close("diff", &pager, error);
}

/* ---- Owners of resident memory, beside what was asked for ----------------------------------- */

/* Only beside the peak, the default: other metrics are of blocks alone. */
static bool cmd_diff_owners_known(const struct diff_run *runs, size_t count,
                                  const struct arguments *arguments)
{
    bool known = arguments->of == MEMORY_HEAP && !arguments->sort && !arguments->filter &&
                 !arguments->region;
    for (size_t i = 0; i < count && known; i++)
        known = profile_has_level(runs[i].profile, MEMORY_RESIDENT);
    return known;
}

static void cmd_diff_free_runs(struct diff_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        profile_free((struct profile *)runs[i].profile);
}

/* Reads the profiles a second time, as ones of that level. False: it cannot be done. */
static bool cmd_diff_read_resident(struct diff_run *resident, const struct diff_run *runs,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct profile *profile = NULL;
        resident[i] = runs[i];
        resident[i].profile = NULL;
        if (profile_read_owners(&profile, runs[i].name))
            return false;
        resident[i].profile = profile;
        if (profile_take_level(profile, MEMORY_RESIDENT))
            return false;
    }
    return true;
}

static int cmd_diff_compare_with_owners(const struct diff_run *runs, size_t count,
                                        const struct arguments *arguments)
{
    struct diff_run resident[DIFF_RUNS_MAX] = {0};
    struct diff_options options = {.norm = (enum diff_norm)arguments->norm, .hide_std = true};
    struct diff owners;
    bool known = cmd_diff_owners_known(runs, count, arguments) &&
                 cmd_diff_read_resident(resident, runs, count) &&
                 !diff_make(&owners, resident, count, &options);
    for (size_t i = 0; i < count && known; i++)
        profile_drop_paths((struct profile *)resident[i].profile);
    int status = cmd_diff_compare(runs, count, known ? &owners : NULL, arguments);
    if (known)
        diff_release(&owners);
    cmd_diff_free_runs(resident, count);
    return status;
}

static int cmd_diff_complain_missing(const char *file, const char *missing)
{
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "%s: %s", file, missing);
    int status = output_complain("diff", sentence.data);
    strbuf_release(&sentence);
    return status;
}

static int cmd_diff_take_part(const char *file, struct profile *profile,
                              const struct arguments *arguments)
{
    int error = arguments->region ? profile_cut_region(profile, arguments->region)
                                  : profile_take_level(profile, (enum memory_level)arguments->of);
    return error ? cmd_diff_complain_missing(file, error_text()) : 0;
}

/* Without --sort: the first metric that the first profile knows. */
static void cmd_diff_choose_metric(struct arguments *arguments, const struct profile *first)
{
    if (arguments->sort == METRIC_CHOICE_ALL)
        arguments->sort = (int)metric_choice_of(first, METRIC_CHOICE_ALL);
}

/* Levels other than the heap's are made of owners, which are much of a profile. */
static int cmd_diff_read(struct profile **profile, const char *file,
                         const struct arguments *arguments)
{
    return arguments->of == MEMORY_HEAP ? profile_read_figures(profile, file)
                                        : profile_read(profile, file);
}

static int cmd_diff_read_and_compare(char **files, size_t count, size_t old,
                                     struct arguments *arguments)
{
    struct diff_run runs[DIFF_RUNS_MAX] = {0};
    struct profile *profiles[DIFF_RUNS_MAX] = {0};
    bool *passes[DIFF_RUNS_MAX] = {0};
    int status = 0;
    allocator_give_back();
    for (size_t i = 0; i < count && !status; i++) {
        runs[i].name = files[i];
        runs[i].group = i < old ? DIFF_BEFORE : DIFF_AFTER;
        if (cmd_diff_read(&profiles[i], files[i], arguments)) {
            status = output_complain("diff", error_text());
            break;
        }
        runs[i].profile = profiles[i];
        status = cmd_diff_take_part(files[i], profiles[i], arguments);
        if (status)
            break;
        cmd_diff_choose_metric(arguments, profiles[0]);
        const char *missing = arguments->by == BY_TYPE
                                  ? diff_types_missing(profiles[i])
                                  : metric_missing(profiles[i], arguments->sort);
        status = missing ? cmd_diff_complain_missing(files[i], missing)
                         : filter_paths("diff", profiles[i], arguments->filter, &passes[i]);
        runs[i].wanted = passes[i];
    }
    if (!status)
        status = arguments->by == BY_TYPE ? cmd_diff_compare_types(runs, arguments)
                                          : cmd_diff_compare_with_owners(runs, count, arguments);
    for (size_t i = 0; i < count; i++) {
        profile_free(profiles[i]);
        free(passes[i]);
    }
    return status;
}

/* How many operands stand behind the first "--" of the command line; getopt moves it to the front.
 * 0: there is none, or nothing before it. */
static size_t cmd_diff_behind_dashes(int argc, char **argv, size_t operands)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--")) {
            size_t behind = (size_t)(argc - 1 - i);
            return behind < operands ? behind : 0;
        }
    return 0;
}

int cmd_diff(int argc, char **argv)
{
    struct arguments arguments = {.sort = METRIC_CHOICE_ALL,
                                  .pager = true,
                                  .hide_std = true,
                                  .top = UINT64_MAX,
                                  .depth = USUAL_DEPTH};
    char **as_given = calloc((size_t)argc + 1, sizeof *as_given);
    if (!as_given)
        return output_complain("diff", "out of memory");
    memcpy(as_given, argv, (size_t)argc * sizeof *as_given);
    int operand = options_parse(&command, argc, argv, &arguments);
    size_t count = operand < 0 ? 0 : (size_t)(argc - operand);
    size_t behind = operand < 0 ? 0 : cmd_diff_behind_dashes(argc, as_given, count);
    free(as_given);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (count < 2)
        return options_usage_error(&command, count
                                                 ? "only one profile given: with what shall it be "
                                                   "compared?"
                                                 : "no profiles given");
    if (arguments.by == BY_TYPE && count != 2)
        return options_usage_error(&command, "--by=type compares two recordings");
    if (arguments.by == BY_TYPE && arguments.filter)
        return options_usage_error(&command,
                                   "--filter is of functions and call paths, not of types");
    if (!filter_is_right(&command, arguments.filter, &arguments.region))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.region && arguments.of)
        return options_usage_error(&command, "%s", level_and_region);
    if (arguments.by == BY_TYPE && arguments.region)
        return options_usage_error(&command,
                                   "--region is of functions and call paths, not of types");
    if (count > DIFF_RUNS_MAX)
        return options_usage_error(&command, "more than %d profiles given", DIFF_RUNS_MAX);
    return cmd_diff_read_and_compare(argv + operand, count, behind ? count - behind : 1,
                                     &arguments);
}

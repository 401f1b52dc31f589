/* The command `tidemark annotate`. It reads the profile, finds out which function or file is
 * meant, and calls the report room for text or JSON. Source files are found with --source-path. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/level_options.h"
#include "commands/output.h"
#include "commands/source_path.h"
#include "profile/profile.h"
#include "report/annotation.h"
#include "report/report.h"

struct arguments {
    struct annotate_options annotate;
    struct source_paths paths;
    uint64_t context, top, width;
    const char *filter, *region;
    int metric, colour, of; /* of: enum memory_level */
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int cmd_annotate_add_source_path(void *target, const char *value);
static int cmd_annotate_add_columns(void *target, const char *value);

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    {"metric", 'm', OPTION_CHOICE, METRIC_CHOICE, "the figures (default: peak, or the first known)",
     TO(metric), false, NULL},
    {"with", 0, OPTION_CALL, "METRIC,…", "inclusive figures of these too (default: as many as fit)",
     0, false, cmd_annotate_add_columns},
    {"context", 'C', OPTION_NUMBER, "N",
     "lines around those with figures (default: 3, around FILE:LINE 10)", TO(context), false, NULL},
    {"full", 0, OPTION_FLAG, NULL, "the whole file, nothing folded", TO(annotate.full), false,
     NULL},
    {"top", 'n', OPTION_NUMBER, "N", "files, and lines, where no place is given (default: 10)",
     TO(top), false, NULL},
    {"hide-std", 0, OPTION_SWITCH, NULL,
     "frames of the C, C++, Rust and Python libraries count for the line that called them "
     "(default: yes)",
     TO(annotate.hide_std), false, NULL},
    {"callees", 0, OPTION_SWITCH, NULL,
     "below a line say what it calls where its text does not (default: yes)", TO(annotate.callees),
     false, NULL},
    FILTER_ENTRY(TO),
    REGION_ENTRY(TO, false),
    LEVEL_ENTRY(TO),
    OPTION_GROUP("Where the text is"),
    SOURCE_PATH_ENTRY(cmd_annotate_add_source_path),
    OPTION_GROUP("How to show it"),
    OUTPUT_ENTRIES(TO, "ANNOTATE-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "annotate",
    .synopsis = "[options] PROFILE [FUNCTION|FILE|FILE:LINE]",
    .purpose = "Prints source with the figures of each line: what was asked for by the line itself "
               "(exclusive) and by all that it calls (inclusive). Without a place: the files and "
               "lines that ask for most.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark annotate run.tmk\n"
                "  tidemark annotate run.tmk Mesh::refine --metric leaked\n"
                "  tidemark annotate run.tmk mesh.cpp:118 --source-path /build=$HOME/solver\n",
};

static int cmd_annotate_add_source_path(void *target, const char *value)
{
    struct arguments *arguments = target;
    return source_path_add(&command, &arguments->paths, value);
}

static int cmd_annotate_add_columns(void *target, const char *value)
{
    struct arguments *arguments = target;
    for (const char *at = value; *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < METRIC_CHOICES &&
               !(strlen(metrics[i].name) == length && !strncmp(metrics[i].name, at, length)))
            i++;
        if (i == METRIC_CHOICES) {
            options_usage_error(&command, "'%.*s' is not right for --with: expected some of %s",
                                (int)length, at, METRIC_CHOICE);
            return -EINVAL;
        }
        arguments->annotate.with[i] = true;
        at += length + (at[length] == ',');
    }
    return 0;
}

static void cmd_annotate_settle(struct arguments *arguments, const char *where)
{
    struct annotate_options *annotate = &arguments->annotate;
    annotate->where = where;
    uint64_t context = arguments->context;
    annotate->context = context == UINT64_MAX ? SIZE_MAX : context > 1u << 30 ? 1u << 30 : context;
    annotate->top = arguments->top > 100000 ? 100000 : arguments->top ? arguments->top : 10;
    annotate->paths = &arguments->paths;
    annotate->colour = term_wants_colour((enum term_colour)arguments->colour, stdout);
    annotate->utf8 = term_is_utf8();
    annotate->columns = output_columns(arguments->width, 160);
}

static int cmd_annotate_show(const struct annotation *annotation, const struct arguments *arguments)
{
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = arguments->json ? annotation_json(pager.out, annotation)
                                : annotation_text(pager.out, annotation);
    return output_close("annotate", &pager, error);
}

static int cmd_annotate_profile(const struct profile *profile, struct arguments *arguments)
{
    struct annotation annotation;
    struct strbuf why = STRBUF_INIT;
    bool *passes;
    int status = filter_paths("annotate", profile, arguments->filter, &passes);
    if (status)
        return status;
    arguments->annotate.metric = (int)metric_choice_of(profile, arguments->metric);
    arguments->annotate.filter = arguments->filter;
    arguments->annotate.passes = passes;
    status = annotate_open(&annotation, profile, &arguments->annotate, &why)
                 ? output_complain("annotate", why.data)
                 : cmd_annotate_show(&annotation, arguments);
    if (!why.length)
        annotate_close(&annotation);
    strbuf_release(&why);
    free(passes);
    return status;
}

int cmd_annotate(int argc, char **argv)
{
    struct arguments arguments = {.annotate = {.hide_std = true, .callees = true},
                                  .metric = METRIC_CHOICE_ALL,
                                  .context = UINT64_MAX,
                                  .pager = true};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc || operand + 2 < argc)
        return options_usage_error(&command, operand == argc
                                                 ? "no profile given"
                                                 : "more than a profile and a place given");
    if (!filter_is_right(&command, arguments.filter, &arguments.region))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.region && arguments.of)
        return options_usage_error(&command, "%s", level_and_region);
    cmd_annotate_settle(&arguments, operand + 1 < argc ? argv[operand + 1] : NULL);
    struct profile *profile;
    if (profile_read(&profile, argv[operand]))
        return output_complain("annotate", error_text());
    int status = level_take("annotate", profile, arguments.of, arguments.region);
    status = status ? status : cmd_annotate_profile(profile, &arguments);
    profile_free(profile);
    return status;
}

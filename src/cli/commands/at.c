/* The command `tidemark at`: who holds memory at a moment of a trace, or of all traces of a job. It
 * finds the moment in the trace. The offline room replays the trace up to it and lists the holders.
 */
#include "commands/commands.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/options.h"
#include "commands/level_options.h"
#include "aggregate/match.h"
#include "commands/filter_options.h"
#include "commands/job_choice.h"
#include "commands/moment_options.h"
#include "commands/output.h"
#include "heap_at/heap_at.h"
#include "heap_at/job_at.h"

struct arguments {
    const char *filter, *id, *node;
    uint64_t threads;
    struct holders_options holders;
    struct moments_arguments common;
    int of;
};

static int cmd_at_take_level(void *target, const char *value)
{
    return level_take_of_trace("at", &((struct arguments *)target)->of, value);
}

#define TO(field)     OPTION_TO(struct arguments, field)
#define COMMON(field) TO(common.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    TRACE_LEVEL_ENTRY(cmd_at_take_level),
    {"inclusive", 'i', OPTION_FLAG, NULL, "functions by all that is held below them",
     TO(holders.inclusive), false, NULL},
    {"paths", 'p', OPTION_FLAG, NULL, "call paths too", TO(holders.paths), false, NULL},
    {"libraries", 'l', OPTION_FLAG, NULL, "programs and libraries too", TO(holders.libraries),
     false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "rows in each table; 0: all (default: 15)", COMMON(top), false,
     NULL},
    {"depth", 'd', OPTION_NUMBER, "N", "callers of each call path (default: 6)", COMMON(depth),
     false, NULL},
    FILTER_ENTRY(TO),
    HIDE_STD_ENTRY(COMMON),
    OPTION_GROUP("Of a job"),
    {"id", 0, OPTION_STRING, "ID", "the job of that id, where a directory has several", TO(id),
     false, NULL},
    {"node", 0, OPTION_STRING, "NAME", "the ranks of that machine alone", TO(node), false, NULL},
    {"jobs", 'J', OPTION_NUMBER, "N", "traces read at once (default: one per processor)",
     TO(threads), false, NULL},
    OPTION_GROUP("How to show it"),
    OUTPUT_ENTRIES(COMMON, "TRACE-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};
#undef TO
#undef COMMON

static const struct options_command command = {
    .name = "at",
    .synopsis = "[options] TRACE|JOBDIR MOMENT",
    .purpose =
        "Shows who holds memory at a moment of a recorded trace (tidemark record --trace): the "
        "functions, with what they hold and what they held at the peak. MOMENT is a time "
        "(12.5s), a part of the run (73%), 'peak', a mark (mark:NAME) or an event (#123456). Of a "
        "job's directory it shows all ranks at that moment; 'node-peak' and 'job-peak' are when "
        "the ranks of each machine, or all, held most together.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark at run.tmt peak\n"
                "  tidemark at run.tmt 73% --paths\n"
                "  tidemark at run.tmt 12.5s --json | jq .functions[0]\n"
                "  tidemark at run64 mark:assembled\n",
};

static int cmd_at_show(const char *path, struct offline_moment *moment, struct arguments *arguments)
{
    struct holders holders;
    struct trace *trace = moments_open("at", path);
    int status = OPTIONS_EXIT_FAILURE;

    if (!trace)
        return status;
    if (moments_resolve("at", trace, moment, true)) {
        trace_close(trace);
        return status;
    }
    if (holders_init(&holders, trace, moment, (enum memory_level)arguments->of)) {
        output_complain("at", error_text());
    } else if (arguments->filter && holders_filter(&holders, arguments->filter)) {
        output_complain("at", error_text());
        holders_release(&holders);
    } else {
        struct term_pager pager = moments_pager(&arguments->common, &arguments->holders.style);
        int error = holders_show(pager.out, &holders, &arguments->holders);
        status = moments_close("at", &pager, error);
        holders_release(&holders);
    }
    trace_close(trace);
    return status;
}

static bool cmd_at_is_job(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static void cmd_at_show_progress(void *context, size_t done, size_t of)
{
    (void)context;
    if (done < of)
        term_progress("%zu of %zu traces read", done, of);
    else
        term_progress_end();
}

static int cmd_at_show_job(const char *path, const char *text, const struct offline_moment *moment,
                           const struct arguments *arguments)
{
    struct job_at_options options = {
        .style = arguments->holders.style,
        .moment = *moment,
        .moment_text = text,
        .of = (enum memory_level)arguments->of,
        .filter = arguments->filter,
        .node = arguments->node,
        .inclusive = arguments->holders.inclusive,
        .threads = arguments->threads < 1000 ? (unsigned)arguments->threads : 1000,
        .progress = isatty(STDERR_FILENO) ? cmd_at_show_progress : NULL,
    };
    struct manifest *manifest;
    const struct manifest_job *job;
    struct job_at at;
    int status = job_choice_find("tidemark at", &path, 1, arguments->id, NULL, &manifest, &job);
    if (status)
        return status;
    if (job_at_init(&at, job, &options)) {
        status = output_complain("at", error_text());
    } else {
        struct term_pager pager = moments_pager(&arguments->common, &options.style);
        status = moments_close("at", &pager, job_at_show(pager.out, &at, &options));
        job_at_release(&at);
    }
    manifest_free(manifest);
    return status;
}

/* What is of one trace has no meaning for a job, and the other way round. */
static int cmd_at_check_job(const struct arguments *arguments, const struct offline_moment *moment,
                            bool is_job)
{
    bool is_together = moment->kind == OFFLINE_NODE_PEAK || moment->kind == OFFLINE_JOB_PEAK;
    if (!is_job && (arguments->id || arguments->threads || arguments->node))
        return options_usage_error(&command, "--id, --node and --jobs are of a job: give its "
                                             "directory");
    if (!is_job && is_together)
        return options_usage_error(&command, "that moment is of all ranks of a job: give its "
                                             "directory");
    if (is_together && arguments->of != MEMORY_HEAP)
        return options_usage_error(&command, "when ranks held most together is known of the heap: "
                                             "tidemark job --of has bounds of the others");
    if (is_job && (arguments->holders.paths || arguments->holders.libraries))
        return options_usage_error(&command, "--paths and --libraries are of one trace: give that "
                                             "of a rank");
    if (is_job && moment->kind == OFFLINE_EVENT)
        return options_usage_error(&command, "an event is of one trace: give that of a rank, or a "
                                             "time, a part of the run, 'peak' or a mark");
    return 0;
}

int cmd_at(int argc, char **argv)
{
    struct arguments arguments = {.common = MOMENTS_ARGUMENTS(15, 6)};
    struct offline_moment moment;
    int operand = options_parse(&command, argc, argv, &arguments), status;

    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand + 2 != argc)
        return options_usage_error(&command, operand == argc       ? "no trace given"
                                             : operand + 1 == argc ? "no moment given"
                                                                   : "more than one moment given");
    if (!filter_is_right(&command, arguments.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    struct match_conditions conditions;
    match_conditions(&conditions, arguments.filter);
    if (conditions.size.is_said)
        return options_usage_error(&command, "--filter size: is known of single blocks: ask "
                                             "tidemark blocks --at=MOMENT");
    status = moments_parse(&command, argv[operand + 1], &moment);
    if (status)
        return status;
    bool is_job = cmd_at_is_job(argv[operand]);
    status = cmd_at_check_job(&arguments, &moment, is_job);
    if (status)
        return status;
    moments_settle(&arguments.common, &arguments.holders.style);
    if (is_job)
        return cmd_at_show_job(argv[operand], argv[operand + 1], &moment, &arguments);
    return cmd_at_show(argv[operand], &moment, &arguments);
}

/* The command `tidemark replay`: a trace becomes a profile again, or is run under other
 * allocators. Names of all profiles are settled and checked before the first trace is read. The
 * offline room does the work. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/human.h"
#include "base/now.h"
#include "base/options.h"
#include "base/own_file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "commands/moment_options.h"
#include "commands/output.h"
#include "commands/replay_under.h"
#include "offline/offline.h"
#include "trace/trace.h"

struct replay_options {
    const char *output, *from, *to;
    uint64_t jobs;
    bool quiet, pack;
    struct replay_under under;
    uint64_t width;
    int colour;
    bool json, pager;
};

#define TO(field) OPTION_TO(struct replay_options, field)

static int cmd_replay_add_under(void *target, const char *list)
{
    return replay_under_add(&((struct replay_options *)target)->under, list);
}

static const struct option_entry entries[] = {
    OPTION_GROUP("Profile"),
    {"output", 'o', OPTION_STRING, "FILE",
     "the profile to write, or a directory for several (default: beside the trace, "
     "NAME.replay.tmk)",
     TO(output), false, NULL},
    {"pack", 0, OPTION_SWITCH, NULL, "compress the profile (default: yes)", TO(pack), false, NULL},
    {"quiet", 'q', OPTION_FLAG, NULL, "say nothing but what is wrong", TO(quiet), false, NULL},
    OPTION_GROUP("Window"),
    {"from", 0, OPTION_STRING, "MOMENT",
     "only what happens from here: 12.5s, 30%, peak, mark:NAME, #123456 (an event)", TO(from),
     false, NULL},
    {"to", 0, OPTION_STRING, "MOMENT", "only what happens up to here, it included", TO(to), false,
     NULL},
    OPTION_GROUP("Speed"),
    {"jobs", 'J', OPTION_NUMBER, "N",
     "threads at work; the profile does not depend on it (default: one for each core)", TO(jobs),
     false, NULL},
    OPTION_GROUP("What if"),
    REPLAY_UNDER_ENTRIES(TO, cmd_replay_add_under),
    OPTION_GROUP("How --under shows it"),
    OUTPUT_ENTRIES(TO, "WHATIF-JSON.md"),
    OPTION_GROUP_END};
#undef TO

static const struct options_command command = {
    .name = "replay",
    .synopsis = "[options] TRACE…",
    .purpose =
        "Replays traces (tidemark record --trace) and writes their profiles: the same ones that "
        "the recordings wrote, or of a part of the run. Any day, on any machine: names and "
        "what /proc said are in the trace.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark replay run.tmt\n"
                "  tidemark replay run.tmt --from 30s --to peak -o rise.tmk\n"
                "  tidemark replay --under=glibc,jemalloc,mimalloc run.tmt\n"
                "  tidemark replay --under='glibc,MALLOC_ARENA_MAX=1 glibc' run.tmt\n",
};

/* ---- Names --------------------------------------------------------------------------------- */

static bool cmd_replay_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The trace's name with another end, in `directory` or (NULL) where the trace is. */
static void cmd_replay_name_profile(struct strbuf *name, const char *trace, const char *directory)
{
    const char *slash = strrchr(trace, '/');
    const char *base = directory && slash ? slash + 1 : trace;
    size_t length = strlen(base);
    if (length > 4 && !strcmp(base + length - 4, ".tmt"))
        length -= 4;
    if (directory)
        strbuf_addf(name, "%s/", directory);
    strbuf_add(name, base, length);
    strbuf_add_string(name, ".replay.tmk");
}

static void cmd_replay_choose_output(struct strbuf *name, const struct replay_options *options,
                                     const char *trace)
{
    if (options->output && !cmd_replay_is_directory(options->output))
        strbuf_add_string(name, options->output);
    else
        cmd_replay_name_profile(name, trace, options->output);
}

static bool cmd_replay_is_same_file(const struct stat *file, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && file->st_ino == other.st_ino && file->st_dev == other.st_dev;
}

/* Refuses a profile in the place of a trace, or of a profile that is written before it. */
static int cmd_replay_check_output(char **outputs, int index, char **traces, int count)
{
    struct stat there;
    bool exists = stat(outputs[index], &there) == 0;
    if (own_file_check(outputs[index]) == -EEXIST)
        return options_usage_error(&command,
                                   "%s is there already and is no file of Tidemark's: give "
                                   "another name as --output",
                                   outputs[index]);
    for (int i = 0; i < count; i++) {
        if (exists && cmd_replay_is_same_file(&there, traces[i]))
            return options_usage_error(&command,
                                       "the profile would take the place of the trace %s: "
                                       "give another name as --output",
                                       traces[i]);
        if (i < index && !strcmp(outputs[i], outputs[index]))
            return options_usage_error(&command,
                                       "the profiles of %s and %s would both be %s: replay "
                                       "them one by one, each with its --output",
                                       traces[i], traces[index], outputs[index]);
    }
    return 0;
}

static int cmd_replay_check_outputs(const struct replay_options *options, char **traces, int count)
{
    char **outputs = calloc((size_t)count, sizeof *outputs);
    int status = 0;
    for (int i = 0; outputs && i < count; i++) {
        struct strbuf name = STRBUF_INIT;
        cmd_replay_choose_output(&name, options, traces[i]);
        outputs[i] = strbuf_detach(&name);
    }
    for (int i = 0; outputs && i < count && !status; i++)
        status = cmd_replay_check_output(outputs, i, traces, count);
    for (int i = 0; outputs && i < count; i++)
        free(outputs[i]);
    free(outputs);
    return status;
}

/* ---- Progress ------------------------------------------------------------------------------ */

struct replay_progress {
    const char *path;
    uint64_t next_ns;
};

static void cmd_replay_show_progress(void *context, uint64_t events, uint64_t of_events)
{
    struct replay_progress *progress = context;
    uint64_t now = now_monotonic_ns();
    if (now < progress->next_ns)
        return;
    if (progress->next_ns) {
        term_progress("%s: %s of %s events", progress->path, human_count(events).text,
                      human_count(of_events).text);
    }
    progress->next_ns = now + 200000000u;
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static void cmd_replay_tell(const char *path, const struct offline_result *result, uint64_t ns)
{
    struct strbuf name = STRBUF_INIT;
    text_add_safe_string(&name, path);
    printf("%s: %s event%s in %s (%s a second)\n", name.data, human_count(result->events).text,
           result->events == 1 ? "" : "s", human_duration(ns).text,
           human_count(ns ? (uint64_t)((double)result->events * 1e9 / (double)ns) : 0).text);
    strbuf_release(&name);
}

static int cmd_replay_one(const struct replay_options *options, struct offline_options *rerun,
                          const char *path)
{
    struct strbuf output = STRBUF_INIT;
    struct replay_progress progress = {.path = path};
    struct offline_result result;
    struct trace *trace;
    uint64_t begin_ns = now_monotonic_ns();
    if (trace_open(&trace, path) < 0) {
        output_complain("replay", error_text());
        return OPTIONS_EXIT_FAILURE;
    }
    cmd_replay_choose_output(&output, options, path);
    rerun->progress = isatty(STDERR_FILENO) && !options->quiet ? cmd_replay_show_progress : NULL;
    rerun->context = &progress;
    struct offline_moment from = rerun->from;
    int error = offline_moment_resolve(trace, &from);
    if (!error)
        error = offline_moment_within(trace, &from);
    if (!error)
        error = offline_profile(trace, rerun, output.data, &result);
    term_progress_end();
    if (error)
        output_complain("replay", error_text());
    else if (*result.missing)
        output_complain("replay", result.missing);
    if (!error && !options->quiet)
        cmd_replay_tell(output.data, &result, now_monotonic_ns() - begin_ns);
    trace_close(trace);
    strbuf_release(&output);
    return error ? OPTIONS_EXIT_FAILURE : 0;
}

static int cmd_replay_all(const struct replay_options *options, char **traces, int count)
{
    if (count > 1 && options->output && !cmd_replay_is_directory(options->output))
        return options_usage_error(&command,
                                   "several traces need a directory as --output, and %s "
                                   "is none",
                                   options->output);
    struct offline_options rerun = {.jobs = options->jobs < 1000 ? (unsigned)options->jobs : 1000,
                                    .pack = options->pack};
    int status = moments_parse(&command, options->from, &rerun.from);
    if (!status)
        status = moments_parse(&command, options->to, &rerun.to);
    if (!status)
        status = cmd_replay_check_outputs(options, traces, count);
    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        int one = cmd_replay_one(options, &rerun, traces[i]);
        status = status ? status : one;
    }
    return status;
}

static int cmd_replay_run_under(struct replay_options *options, char **traces, int count)
{
    if (count > 1)
        return options_usage_error(&command, "--under takes one trace");
    if (options->output || options->from || options->to)
        return options_usage_error(&command, "--under writes no profile and runs the whole trace: "
                                             "leave --output, --from and --to out");
    return replay_under_run(&options->under, traces[0], options->json, options->colour,
                            options->pager, options->width);
}

int cmd_replay(int argc, char **argv)
{
    struct replay_options options = {
        .pack = true, .pager = true, .under.rounds = REPLAY_UNDER_USUAL_ROUNDS};
    int status, operand = options_parse(&command, argc, argv, &options);
    if (operand < 0)
        status = OPTIONS_EXIT_STATUS(operand);
    else if (operand == argc)
        status = options_usage_error(&command, "no trace given");
    else if (options.under.candidates.count)
        status = cmd_replay_run_under(&options, argv + operand, argc - operand);
    else if (options.under.rounds != REPLAY_UNDER_USUAL_ROUNDS || options.under.order ||
             options.under.touch || options.under.patience_ns || options.json)
        status = options_usage_error(&command, "--rounds, --order, --touch, --patience and --json "
                                               "are about allocators: give --under too");
    else
        status = cmd_replay_all(&options, argv + operand, argc - operand);
    whatif_candidates_release(&options.under.candidates);
    return status;
}

/* The options of `tidemark record`: the table, the parsers of its special values, and the checks
 * between options (record_options.h). The result is a struct collector_options. */
#include "commands/record_options.h"
#include "commands/output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/old_file.h"
#include "jobdir/rank_choice.h"
#include "job/job_kept.h"
#include "base/human.h"
#include "base/error.h"
#include "base/own_file.h"
#include "base/memory.h"
#include "base/words.h"
#include "collector/heat.h"
#include "collector/process_image.h"
#include "collector/output_name.h"
#include "collector/memory_bound.h"
#include "collector/overhead_budget.h"
#include "collector/pool_functions.h"
#include "commands/launch.h"
#include "wire/wire.h"

#define SAMPLE_MOST_BYTES (1u << 30)

#define TO(field) OPTION_TO(struct record_options, field)

/* "USR1", "SIGUSR1", "10". */
static int record_take_signal(void *target, const char *value)
{
    struct record_options *options = target;
    const char *name = strncmp(value, "SIG", 3) == 0 ? value + 3 : value;
    char *end;
    long number = strtol(value, &end, 10);
    options->snapshot_signal = *value && !*end && number > 0 && number < NSIG ? (int)number : 0;
    for (int i = 1; i < NSIG && !options->snapshot_signal; i++)
        if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0)
            options->snapshot_signal = i;
    switch (options->snapshot_signal) {
    case 0:
        fprintf(stderr, "tidemark %s: '%s' is no signal: --snapshot-signal takes USR1, say\n",
                options->command->name, value);
        return -EINVAL;
    case SIGKILL:
    case SIGSTOP:
    case SIGCHLD:
        fprintf(stderr,
                "tidemark %s: SIG%s cannot ask for snapshots: --snapshot-signal takes USR1, say\n",
                options->command->name, sigabbrev_np(options->snapshot_signal));
        return -EINVAL;
    }
    return 0;
}

static int record_take_budget(void *target, const char *value)
{
    struct record_options *options = target;
    if (overhead_budget_parse(value, &options->budget_millionths) == 0)
        return 0;
    fprintf(stderr,
            "tidemark %s: '%s' is not right for --budget-cpu: expected a share such as 1%% or "
            "0.5%%\n",
            options->command->name, value);
    return -EINVAL;
}

static int record_take_trigger(void *target, const char *value)
{
    struct record_options *options = target;
    char why[160];
    if (options->trigger_count == TRIGGERS_MAX) {
        fprintf(stderr, "tidemark %s: --snapshot-at can be given %d times\n",
                options->command->name, TRIGGERS_MAX);
        return -EINVAL;
    }
    if (trigger_parse(value, &options->triggers[options->trigger_count], why) < 0) {
        fprintf(stderr, "tidemark %s: --snapshot-at: %s\n", options->command->name, why);
        return -EINVAL;
    }
    options->trigger_count++;
    return 0;
}

/* "list" prints the names of the shipped lists and ends. */
static int record_take_functions(void *target, const char *value)
{
    char directory[PATH_MAX];
    ((struct record_options *)target)->allocator_functions = value;
    if (strcmp(value, "list") != 0)
        return 0;
    DIR *lists = launch_find_lists(directory) ? opendir(directory) : NULL;
    for (struct dirent *entry; lists && (entry = readdir(lists)) != NULL;)
        if (entry->d_name[0] != '.')
            puts(entry->d_name);
    if (lists)
        closedir(lists);
    exit(0);
}

static const struct option_entry entries[] = {
    OPTION_GROUP("Output"),
    {"output", 'o', OPTION_STRING, "FILE",
     "write the profile to FILE; %p pid, %h host, %r MPI rank, %n program, %q{VAR} variable "
     "(default: " OUTPUT_NAME_DEFAULT ")",
     TO(output), false, NULL},
    {"force", 0, OPTION_FLAG, NULL, "FILE may be no recording: it is kept as .old all the same",
     TO(force), true, NULL},
    {"job", 0, OPTION_STRING, "DIR",
     "profiles of an MPI job's ranks into DIR/JOB, for tidemark job", TO(job), false, NULL},
    {"job-id", 0, OPTION_STRING, "NAME", "with --job: the job's name (default: the launcher's)",
     TO(job_id), true, NULL},
    {"job-collector", 0, OPTION_CHOICE, "rank|node",
     "with --job: a collector for each rank, or one for all ranks of a node (default: node)",
     TO(collector), true, NULL},
    {"ranks", 0, OPTION_STRING, "LIST",
     "with --job: record these ranks only, 0,5-8 or 0-:16 (every 16th); others run bare", TO(ranks),
     true, NULL},
    {"quiet", 'q', OPTION_FLAG, NULL, "no summary at the end", TO(quiet), false, NULL},
    {"wait", 0, OPTION_FLAG, NULL, "for daemons too, which run on in the background", TO(waits),
     true, NULL},
    {"pack", 0, OPTION_SWITCH, NULL, "compress the finished profile (default: yes)", TO(pack), true,
     NULL},
    {"separate", 0, OPTION_SWITCH, NULL,
     "a file of its own for every process, not rows of one file for the small ones (default: no)",
     TO(separate), true, NULL},
    {"trace", 0, OPTION_SWITCH, NULL,
     "keep every event as well, in a trace (.tmt) beside the profile (default: no)", TO(trace),
     false, NULL},
    {"compress", 0, OPTION_STRING, "HOW",
     "how the trace is compressed: zstd, zstd:1 to zstd:22, lz4 or none (default: zstd:3)",
     TO(compress), true, NULL},
    OPTION_GROUP("What is recorded"),
    {"follow", 0, OPTION_SWITCH, NULL, "children too, each has its profile (default: yes)",
     TO(follow), false, NULL},
    {"only", 0, OPTION_STRING, "NAME,…", "only programs called so: python3, 'cc1*'", TO(only),
     false, NULL},
    {"stacks", 0, OPTION_CHOICE, "auto|unwind|fp|none|instrument",
     "how call paths are found (default: auto: by unwind tables; by function hooks where that "
     "fails)",
     TO(stacks), false, NULL},
    {"free-stacks", 0, OPTION_SWITCH, NULL,
     "call paths of frees too: the report shows where memory is freed (default: no)",
     TO(free_stacks), false, NULL},
    {"native", 0, OPTION_SWITCH, NULL,
     "call paths of Python, Perl, PHP and Ruby show the interpreter's own frames too (default: no)",
     TO(native), true, NULL},
    {"devices", 0, OPTION_SWITCH, NULL,
     "memory that the drivers of CUDA and HIP hand out, beside the heap (default: yes)",
     TO(devices), true, NULL},
    {"timed", 0, OPTION_SWITCH, NULL,
     "the time that each call spends in the allocator too; +40 ns a pair (default: no)", TO(timed),
     true, NULL},
    {"embed-sources", 0, OPTION_SWITCH, NULL,
     "the source files of call paths go into the profile, for tidemark annotate (default: no)",
     TO(embed_sources), true, NULL},
    {"looks", 0, OPTION_SWITCH, NULL,
     "look at what is resident, at peaks and at the end; the program's exit waits for the last "
     "look "
     "(default: yes)",
     TO(looks), true, NULL},
    {"held", 0, OPTION_SWITCH, NULL,
     "at the end, find out who holds which blocks, however many there are (default: where that "
     "takes less than 1 % of the run)",
     TO(held), true, NULL},
    {"page-content", 0, OPTION_SWITCH, NULL,
     "looks read the pages too, for tidemark content: zeros, copies, what compresses; nothing of "
     "them is kept (default: no)",
     TO(page_content), true, NULL},
    {"heat", 0, OPTION_DURATION, "TIME",
     "ask each TIME which pages were written: looks say what is cold (default: never)", TO(heat_ns),
     true, NULL},
    {"types", 0, OPTION_SWITCH, NULL,
     "look at what live blocks are at peaks too, not only at the end (default: no)", TO(types),
     true, NULL},
    {"max-depth", 0, OPTION_NUMBER, "N", "keep the N innermost frames (default: all)",
     TO(max_depth), true, NULL},
    {"sample", 0, OPTION_BYTES, "SIZE",
     "record one allocation in every SIZE bytes, 512K say: figures are estimates (default: record "
     "all)",
     TO(sample_bytes), false, NULL},
    {"allocator", 0, OPTION_CHOICE, "own|bfm",
     "the malloc that the program runs on: its own, or BFM, best fit with a bounded worst case "
     "(default: own)",
     TO(allocator), true, NULL},
    {"allocator-functions", 0, OPTION_CALL, "LIST",
     "functions of allocators that the program brings: 'arena_alloc(2) arena_free', @FILE, or a "
     "list "
     "that is shipped: apr, talloc … ('list' shows them)",
     0, true, record_take_functions},
    {"events", 0, OPTION_CHOICE, "all|pages",
     "with --allocator=bfm: every call, or only blocks of more than 512 bytes and one small block "
     "for each 8 KiB of them: malloc is BFM's, unslowed; what is held is estimated (default: all)",
     TO(events), true, NULL},
    {"budget-cpu", 0, OPTION_CALL, "PERCENT",
     "cost so much of the program's CPU time at most, 1% say: exact while that will do, then by "
     "samples",
     0, false, record_take_budget},
    {"collector-memory", 0, OPTION_BYTES, "SIZE",
     "memory that the collector may have beside the program: exact while that will do, then by "
     "samples (default: an eighth of a control group's limit that it cannot leave)",
     TO(memory_bytes), true, NULL},
    {"for", 0, OPTION_DURATION, "TIME", "recording ends after TIME; the program goes on",
     TO(for_ns), false, NULL},
    {"until", 0, OPTION_STRING, "MARK", "or at a mark (tidemark_mark) of that name; or pattern",
     TO(until), false, NULL},
    {"start-on", 0, OPTION_STRING, "MARK", "recording begins at such a mark", TO(start_on), false,
     NULL},
    {"snapshot-at", 0, OPTION_CALL, "LEVEL",
     "a profile of that moment: rss=2G, requested=1G, count=10M, time=30s, free=10%, oom …", 0,
     false, record_take_trigger},
    {"snapshot-signal", 0, OPTION_CALL, "SIGNAL",
     "when tidemark gets SIGNAL, USR1 say; the program does not get it then", 0, true,
     record_take_signal},
    OPTION_GROUP("When the collector cannot keep up"),
    {"on-full", 0, OPTION_CHOICE, "wait|drop",
     "a thread whose buffer is full waits, or drops events and counts them (default: wait)",
     TO(on_full), true, NULL},
    {"ring", 0, OPTION_BYTES, "SIZE", "buffer of each thread (default: 256K)", TO(ring_bytes), true,
     NULL},
    {"exit-wait", 0, OPTION_DURATION, "TIME",
     "longest wait of the program at exit, for the last look and, with LD_PRELOAD by hand, for the "
     "profile (default: 10s)",
     TO(exit_wait_ns), true, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

const struct options_command record_command = {
    .name = "record",
    .synopsis = "[options] [--] PROGRAM [ARGUMENTS…]",
    .purpose =
        "Runs PROGRAM and records every allocation that it makes. Its input, output, signals "
        "and exit status are its own. Each process image that it starts gets a profile of "
        "its own, for `tidemark report`.",
    .entries = entries,
    .stop_at_operand = true,
    .epilogue = "Examples:\n"
                "  tidemark record ./solver input.dat\n"
                "  tidemark record --only=cc1plus -o build.%p.tmk make -j2\n"
                "  mpirun -n 64 tidemark record --job=runs ./solver input.dat\n",
};

struct record_options record_options_default(void)
{
    struct collector_options usual = COLLECTOR_OPTIONS_INIT;
    return (struct record_options){
        .command = &record_command,
        .output = usual.output,
        .collector = RECORD_COLLECTOR_NODE,
        .follow = usual.follow,
        .looks = usual.looks,
        .devices = usual.devices,
        .pack = usual.pack,
        .ring_bytes = usual.ring_bytes,
        .exit_wait_ns = (uint64_t)usual.exit_wait_ms * 1000000,
        .for_ns = RECORD_UNLIMITED,
    };
}

static bool record_is_power_of_two(uint64_t value)
{
    return value && (value & (value - 1)) == 0;
}

/* Reads --compress; false: there is no such compression. */
static bool record_parse_compress(const char *text, enum trace_compression *compression, int *level)
{
    uint64_t number;
    text = text ? text : "zstd";
    *level = 0;
    *compression = strcmp(text, "lz4") == 0    ? TRACE_LZ4
                   : strcmp(text, "none") == 0 ? TRACE_STORED
                                               : TRACE_ZSTD;
    if (*compression != TRACE_ZSTD || strcmp(text, "zstd") == 0)
        return true;
    if (strncmp(text, "zstd:", 5) != 0 || human_parse_number(text + 5, &number) || number < 1 ||
        number > 22)
        return false;
    *level = (int)number;
    return true;
}

static bool record_is_trace_name(const char *name)
{
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".tmt") == 0;
}

/* Can the id be the name of a directory on any file system? */
static bool record_is_job_id(const char *id)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                               "0123456789-._@+=";
    size_t length = strlen(id);
    return length > 0 && length < 128 && *id != '.' && strspn(id, safe) == length;
}

static int record_check_job(const struct record_options *options)
{
    struct record_options usual = record_options_default();
    if (options->job_id && !options->job)
        return options_usage_error(options->command, "--job-id names a job in a directory: give "
                                                     "--job=DIR too");
    struct rank_choice list;
    if (options->ranks && !options->job)
        return options_usage_error(options->command, "--ranks chooses among the ranks of a job: "
                                                     "give --job=DIR too");
    if (options->ranks && rank_choice_parse(options->ranks, &list) < 0)
        return options_usage_error(options->command,
                                   "'%s' is not right for --ranks: it reads like 0,5-8 or 0-:16",
                                   options->ranks);
    if (options->job_id && !record_is_job_id(options->job_id))
        return options_usage_error(options->command, "--job-id takes letters, digits and any of "
                                                     "-._@+=, at most 127, no dot first");
    if (options->job && !*options->job)
        return options_usage_error(options->command, "--job needs the name of a directory");
    if (options->job && strcmp(options->output, usual.output) != 0)
        return options_usage_error(options->command,
                                   "--job names the profiles itself: leave -o out");
    return 0;
}

/* Of --allocator-functions. A process runs one command, so there is one list. */
static struct pool_functions record_pool_functions;

static int record_check_functions(const struct record_options *options)
{
    const char *other = options->sample_bytes        ? "--sample records few"
                        : options->budget_millionths ? "--budget-cpu may come to record few"
                        : options->events            ? "--events=pages records few"
                                                     : NULL;
    static char directory[PATH_MAX];
    if (!options->allocator_functions)
        return 0;
    if (other)
        return options_usage_error(
            options->command, "%s, --allocator-functions follows every block: choose one", other);
    memset(&record_pool_functions, 0, sizeof record_pool_functions);
    if (launch_find_lists(directory))
        record_pool_functions.directory = directory;
    return pool_functions_parse(&record_pool_functions, options->allocator_functions) == 0
               ? 0
               : options_usage_error(options->command, "%s", error_text());
}

static int record_check_pages(const struct record_options *options)
{
    const char *other = options->sample_bytes        ? "--sample draws from every call"
                        : options->trace             ? "--trace keeps every call"
                        : options->timed             ? "--timed times every call"
                        : options->free_stacks       ? "--free-stacks follows every free"
                        : options->budget_millionths ? "--budget-cpu starts with every call"
                                                     : NULL;
    if (!options->events)
        return 0;
    if (!options->allocator)
        return options_usage_error(options->command,
                                   "--events=pages needs BFM, which tells of them: "
                                   "give --allocator=bfm too");
    if (other)
        return options_usage_error(options->command, "%s, --events=pages records few: choose one",
                                   other);
    return 0;
}

/* The kernel would do little else if it were asked more often. */
static int record_check_heat(const struct record_options *options)
{
    enum { LEAST_NS = 10000000 };
    const char *missing = options->heat_ns ? heat_missing() : NULL;
    if (options->heat_ns && options->heat_ns < LEAST_NS)
        return options_usage_error(options->command, "--heat needs 10ms at least");
    if (missing)
        return output_complainf("record", "--heat: %s", missing);
    return 0;
}

static int record_check_budget(const struct record_options *options)
{
    if (!options->budget_millionths)
        return 0;
    if (options->sample_bytes)
        return options_usage_error(options->command,
                                   "--sample says how many are recorded, --budget-cpu "
                                   "finds it out: choose one");
    if (options->trace)
        return options_usage_error(options->command,
                                   "--trace keeps every event, whatever that costs: it "
                                   "does not go with --budget-cpu");
    if (options->timed)
        return options_usage_error(options->command,
                                   "--timed times every call, --budget-cpu may record "
                                   "few: choose one");
    return 0;
}

static int record_check_memory(const struct record_options *options)
{
    if (!options->memory_bytes)
        return 0;
    if (options->memory_bytes < MEMORY_BOUND_LEAST)
        return options_usage_error(options->command, "--collector-memory needs 16M at least");
    if (options->trace)
        return options_usage_error(options->command,
                                   "--trace keeps every event, whatever that takes: it does not go "
                                   "with --collector-memory");
    if (options->timed)
        return options_usage_error(options->command,
                                   "--timed times every call, --collector-memory may come to "
                                   "record few: choose one");
    return 0;
}

static int record_check_window(const struct record_options *options)
{
    if (options->for_ns == 0)
        return options_usage_error(options->command, "--for=0 would record nothing");
    if ((options->until && !*options->until) || (options->start_on && !*options->start_on))
        return options_usage_error(options->command, "--%s needs the name of a mark, or a pattern",
                                   options->until && !*options->until ? "until" : "start-on");
    if (options->start_on && options->trace)
        return options_usage_error(options->command,
                                   "--trace keeps all events, --start-on forgets the first ones: "
                                   "leave one out (tidemark replay --from mark:NAME cuts a trace)");
    return 0;
}

static int record_check_only(const struct record_options *options)
{
    if (options->only && !options->follow)
        return options_usage_error(options->command,
                                   "--only chooses among the program and its children, "
                                   "--no-follow leaves only the program: choose one");
    if (options->only && (!*options->only || *options->only == ',' || strstr(options->only, ",,") ||
                          options->only[strlen(options->only) - 1] == ','))
        return options_usage_error(options->command,
                                   "--only needs the names of programs, with commas "
                                   "between them");
    if (options->only && strchr(options->only, '/'))
        return options_usage_error(options->command, "--only takes names, not paths: python3, not "
                                                     "/usr/bin/python3");
    return 0;
}

static int record_check_trace(const struct record_options *options, const char *command)
{
    if (options->job || !options->trace || strchr(options->output, '%'))
        return 0;
    char *name = process_image_trace_name(options->output);
    int error = own_file_check(name);
    if (error == -EEXIST)
        fprintf(stderr,
                "tidemark %s: cannot write the trace %s: it is there already and is no file of "
                "Tidemark's; choose another name\n",
                command, name);
    free(name);
    return error == -EEXIST ? OPTIONS_EXIT_FAILURE : 0;
}

int record_options_check_output(const struct record_options *options, const char *command)
{
    char *place = NULL;
    int error = options->job ? 0 : output_name_obstacle(options->output, &place);
    if (error == -EEXIST && options->force)
        error = old_file_keep(options->output, NULL);
    if (error == -EEXIST)
        fprintf(stderr,
                "tidemark %s: cannot write the profile %s: it is there already and is no file of "
                "Tidemark's; choose another name%s\n",
                command, options->output,
                strcmp(command, "record") ? "" : ", or --force, which keeps it as .old");
    else if (error == -EINVAL)
        fprintf(stderr,
                "tidemark %s: cannot write the profile %s: it is there already and is no regular "
                "file; choose another name\n",
                command, options->output);
    else if (error)
        fprintf(stderr,
                "tidemark %s: cannot write the profile %s: no file can be made in %s: %s; -o says "
                "where else\n",
                command, options->output, place, strerror(-error));
    free(place);
    return error ? OPTIONS_EXIT_FAILURE : record_check_trace(options, command);
}

int record_options_check(const struct record_options *options)
{
    enum trace_compression compression;
    int level;
    int refused = record_check_job(options);
    if (refused == 0)
        refused = record_check_window(options);
    if (refused == 0)
        refused = record_check_budget(options);
    if (!refused)
        refused = record_check_memory(options);
    if (refused == 0)
        refused = record_check_only(options);
    if (refused != 0)
        return refused;
    const char *wrong = output_name_check(options->output);
    if (wrong)
        return options_usage_error(options->command, "the output name '%s' is not usable: %s",
                                   options->output, wrong);
    if (!record_parse_compress(options->compress, &compression, &level))
        return options_usage_error(options->command,
                                   "--compress takes zstd, zstd:LEVEL (1 to 22), lz4 or none, not "
                                   "'%s'",
                                   options->compress);
    if (options->compress && !options->trace)
        return options_usage_error(options->command,
                                   "--compress says how a trace is compressed: give --trace too");
    if (options->trace && record_is_trace_name(options->output))
        return options_usage_error(options->command,
                                   "-o names the profile (.tmk); the trace gets the same name with "
                                   ".tmt");
    if (!record_is_power_of_two(options->ring_bytes) || options->ring_bytes < WIRE_MIN_RING_BYTES ||
        options->ring_bytes > WIRE_MAX_RING_BYTES)
        return options_usage_error(options->command, "--ring takes a power of two from %uK to %uK",
                                   WIRE_MIN_RING_BYTES >> 10, WIRE_MAX_RING_BYTES >> 10);
    if (options->sample_bytes > SAMPLE_MOST_BYTES)
        return options_usage_error(options->command,
                                   "--sample takes a size from 1 to 1G; 512K is usual");
    if (options->sample_bytes && options->timed)
        return options_usage_error(options->command,
                                   "--timed times every call, --sample records few: choose one");
    refused = record_check_pages(options);
    if (refused == 0)
        refused = record_check_functions(options);
    if (refused == 0)
        refused = record_check_heat(options);
    if (refused != 0)
        return refused;
    if (options->max_depth > UINT32_MAX)
        return options_usage_error(options->command, "--max-depth is too large");
    if (options->exit_wait_ns / 1000000 > INT32_MAX)
        return options_usage_error(options->command, "--exit-wait takes 24 days at most: 576h");
    return 0;
}

/* Words as main() gets them: "record" is the first, and NULL stands behind the last. They are parts
 * of `text`. NULL: a quote is open. */
static char **record_split_words(char *text, int *count)
{
    char **words = memory_zeroed(strlen(memory_need(text)) / 2 + 3, sizeof *words);
    int split = words_split(text, words + 1);
    words[0] = (char *)"record";
    *count = split + 1;
    if (split >= 0)
        return words;
    fprintf(stderr,
            "tidemark: a quote in TIDEMARK_OPTIONS is not closed, or a backslash ends it\n");
    free(words);
    return NULL;
}

/* There is no program to start: "-o my runs/x.tmk" without quotes would write to "my". */
static bool record_parse_words(char **words, int count, struct record_options *options)
{
    int operand = options_parse(&record_command, count, words, options);
    if (operand >= 0 && operand < count)
        options_usage_error(&record_command,
                            "TIDEMARK_OPTIONS has options alone, and '%s' is none (blanks part "
                            "words, quotes keep them)",
                            words[operand]);
    return operand == count;
}

void record_options_from_environment(struct record_options *options)
{
    int count = 0;
    const char *text = getenv("TIDEMARK_OPTIONS");
    *options = record_options_default();
    char *copy = strdup(text ? text : ""); /* never freed: options point into it */
    char **words = record_split_words(copy, &count);
    bool wrong =
        !words || !record_parse_words(words, count, options) || record_options_check(options) != 0;
    free(words);
    if (!wrong && options->allocator) {
        options_usage_error(
            &record_command,
            "a library that was preloaded by hand cannot change the "
            "allocator: preload libtidemark.so and libbfm.so, or libtidemark-bfm.so");
        wrong = true;
    }
    if (!wrong && options->only) {
        options_usage_error(&record_command,
                            "--only is for tidemark record: a library that was preloaded "
                            "by hand records every program that it is preloaded to");
        wrong = true;
    }
    if (wrong) {
        fprintf(stderr, "tidemark: recording as usual, without TIDEMARK_OPTIONS='%s'\n", text);
        *options = record_options_default();
    }
}

void record_say_missing_functions(void)
{
    struct strbuf names = STRBUF_INIT;
    pool_functions_add_missing(&record_pool_functions, &names);
    if (names.length)
        fprintf(stderr,
                "  not there    %s: beside the C library no module of a recorded program has such "
                "a symbol (was it stripped?)\n",
                names.data);
    strbuf_release(&names);
}

/* Of a job: its ranks are added up from what is kept behind their profiles. A profile without that
 * is read whole, so a lack of room here costs `tidemark job` time and nothing else. */
static void record_keep_digest(const char *path)
{
    job_kept_write(path);
}

struct collector_options record_collector_options(const struct record_options *options)
{
    struct collector_options wanted = COLLECTOR_OPTIONS_INIT;
    wanted.output = options->output;
    wanted.job = options->job;
    wanted.job_id = options->job_id;
    wanted.recorded_ranks = options->ranks;
    wanted.follow = options->follow;
    wanted.only = options->only;
    wanted.pool_functions = options->allocator_functions ? &record_pool_functions : NULL;
    wanted.looks = options->looks;
    wanted.page_content = options->page_content;
    wanted.held = options->held;
    wanted.types = options->types;
    wanted.heat_ns = options->heat_ns;
    wanted.pack = options->pack;
    wanted.packed = options->job ? record_keep_digest : NULL;
    wanted.separate = options->separate;
    wanted.trace = options->trace;
    record_parse_compress(options->compress, &wanted.trace_compression, &wanted.trace_level);
    wanted.drop = options->on_full == WIRE_ON_FULL_DROP;
    wanted.stacks = options->stacks;
    wanted.free_stacks = options->free_stacks;
    wanted.native = options->native;
    wanted.devices = options->devices;
    wanted.timed = options->timed;
    wanted.embed_sources = options->embed_sources;
    wanted.max_depth = (uint32_t)options->max_depth;
    wanted.ring_bytes = (uint32_t)options->ring_bytes;
    wanted.sample_bytes = options->sample_bytes;
    memcpy(wanted.triggers, options->triggers, sizeof wanted.triggers);
    wanted.trigger_count = options->trigger_count;
    wanted.budget_millionths = (uint32_t)options->budget_millionths;
    wanted.memory_bytes = options->memory_bytes;
    wanted.start_on = options->start_on;
    wanted.until = options->until;
    wanted.for_ns = options->for_ns == RECORD_UNLIMITED ? 0 : options->for_ns;
    wanted.exit_wait_ms = (uint32_t)(options->exit_wait_ns / 1000000);
    return wanted;
}

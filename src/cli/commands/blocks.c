/* The command `tidemark blocks`: the blocks that are alive at a moment of a trace. It reads
 * options into a question, and the offline room replays the trace. On a terminal it shows how
 * far the replay is. */
#include "commands/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/human.h"
#include "base/options.h"
#include "commands/level_options.h"
#include "commands/moment_options.h"
#include "commands/output.h"
#include "heap_at/heap_at.h"
#include "commands/filter_options.h"

struct arguments {
    struct blocks_options blocks;
    struct moments_arguments common;
    const char *at;
    int order, of;
};

static int cmd_blocks_take_level(void *target, const char *value)
{
    return level_take_of_trace("blocks", &((struct arguments *)target)->of, value);
}

#define TO(field)     OPTION_TO(struct arguments, field)
#define COMMON(field) TO(common.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("Which blocks"),
    TRACE_LEVEL_ENTRY(cmd_blocks_take_level),
    {"at", 'a', OPTION_STRING, "MOMENT",
     "alive then: 12.5s, 73%, peak, mark:NAME, #123456 (an event) (default: the end)", TO(at),
     false, NULL},
    {"min-size", 0, OPTION_BYTES, "BYTES", "only those of so many bytes or more",
     TO(blocks.least_bytes), false, NULL},
    {"older-than", 0, OPTION_DURATION, "TIME", "only those that have lived so long, or longer",
     TO(blocks.least_age_ns), false, NULL},
    {"thread", 0, OPTION_NUMBER, "TID", "only those that this thread allocated", TO(blocks.tid),
     false, NULL},
    {"filter", 'f', OPTION_STRING, "REGEX",
     "only those whose call path has a function, file or module that matches; size:, age:, thread:",
     TO(blocks.pattern), false, NULL},
    {"function", 0, OPTION_STRING, "REGEX", "--filter", TO(blocks.pattern), true, NULL},
    OPTION_GROUP("Which of them first"),
    {"sort", 's', OPTION_CHOICE, BLOCKS_ORDER_CHOICE,
     "the largest, oldest, lowest, or path by path (default: size)", TO(order), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "so many; 0: all (default: 20; JSON: all)", COMMON(top), false,
     NULL},
    {"depth", 'd', OPTION_NUMBER, "N", "callers of each (default: 0)", COMMON(depth), false, NULL},
    HIDE_STD_ENTRY(COMMON),
    OPTION_GROUP("How to show it"),
    OUTPUT_ENTRIES(COMMON, "TRACE-JSON.md"),
    {"paths-once", 0, OPTION_FLAG, NULL,
     "JSON: a path's frames with the first of its blocks only: a fifth of the output, or less",
     TO(blocks.paths_once), false, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};
#undef TO
#undef COMMON

static const struct options_command command = {
    .name = "blocks",
    .synopsis = "[options] TRACE",
    .purpose =
        "Lists the blocks, or with --of the mappings, that are alive at a moment of a recorded "
        "trace (tidemark record --trace), by size, age, address or call path. The trace is "
        "replayed up to there.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark blocks run.tmt\n"
                "  tidemark blocks run.tmt --at peak --sort age --older-than 10s --depth 5\n"
                "  tidemark blocks run.tmt --filter 'cache::' --json | jq .size_bytes\n",
};

enum { USUAL_TOP = 20 };
#define NOT_GIVEN UINT64_MAX /* of an option: 0 is one of its values */

static void cmd_blocks_show_progress(void *context, uint64_t events, uint64_t of_events)
{
    uint64_t *next = context;

    if (events >= of_events && *next)
        term_progress_end();
    if (events < *next || events >= of_events)
        return;
    if (events)
        term_progress("%s of %s events", human_count(events).text, human_count(of_events).text);
    *next = events + 2000000;
}

/* Where output goes on in its file; negative: it is none. What is appended goes to the file's end,
 * whatever the offset was before. */
static off_t cmd_blocks_place(void)
{
    struct stat file;

    if (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND && !fstat(STDOUT_FILENO, &file))
        return file.st_size;
    return lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

/* Of large output to a file, most of which is frames that were written before. `begin`: where it
 * began. */
static void cmd_blocks_say_once(const struct arguments *arguments, off_t begin)
{
    enum { MUCH = 16 << 20 };
    bool repeats = arguments->common.json && !arguments->blocks.paths_once && begin >= 0;
    off_t written = repeats ? cmd_blocks_place() - begin : 0;

    if (written >= MUCH && isatty(STDERR_FILENO))
        fprintf(stderr,
                "tidemark blocks: %s, because each block has the frames of its call path; with "
                "--paths-once only the first block of a path has them\n",
                human_bytes((uint64_t)written).text);
}

static int cmd_blocks_show(const char *path, struct arguments *arguments)
{
    struct trace *trace = moments_open("blocks", path);
    uint64_t next = 0;
    int status;

    if (!trace)
        return OPTIONS_EXIT_FAILURE;
    if (moments_resolve("blocks", trace, &arguments->blocks.at, true)) {
        trace_close(trace);
        return OPTIONS_EXIT_FAILURE;
    }
    struct term_pager pager = moments_pager(&arguments->common, &arguments->blocks.style);
    if (isatty(STDERR_FILENO) && !pager.pid) {
        arguments->blocks.progress = cmd_blocks_show_progress;
        arguments->blocks.context = &next;
    }
    off_t begin = cmd_blocks_place();
    int error = block_list_show(pager.out, trace, &arguments->blocks);
    cmd_blocks_say_once(arguments, begin);
    status = moments_close("blocks", &pager, error);
    moments_say_cut("blocks", trace);
    trace_close(trace);
    return status;
}

int cmd_blocks(int argc, char **argv)
{
    struct arguments arguments = {.common = MOMENTS_ARGUMENTS(NOT_GIVEN, 0),
                                  .blocks.tid = UINT64_MAX};
    int operand = options_parse_one(&command, argc, argv, &arguments, "trace"), status;

    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    status = moments_parse(&command, arguments.at, &arguments.blocks.at);
    if (status)
        return status;
    if (!filter_of_trace(&command, arguments.blocks.pattern, &arguments.blocks.conditions))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.common.top == NOT_GIVEN)
        arguments.common.top = arguments.common.json ? 0 : USUAL_TOP;
    if (arguments.of != MEMORY_HEAP &&
        (arguments.blocks.tid != UINT64_MAX || arguments.blocks.conditions.has_thread))
        return options_usage_error(&command, "which thread has mapped something is not known: "
                                             "--thread is for --of=heap");
    if (arguments.blocks.paths_once && !arguments.common.json)
        return options_usage_error(&command, "--paths-once is for --json");
    arguments.blocks.of = (enum memory_level)arguments.of;
    arguments.blocks.order = (enum blocks_order)arguments.order;
    moments_settle(&arguments.common, &arguments.blocks.style);
    return cmd_blocks_show(argv[operand], &arguments);
}

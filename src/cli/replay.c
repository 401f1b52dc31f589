/* tidemark replay: a trace once more, under other allocators. */
#include "cli/commands.h"

#include "base/options.h"
#include "cli/output.h"
#include "cli/replay_under.h"

struct arguments {
    struct replay_under under;
    uint64_t width;
    int colour;
    bool json, pager;
};

#define TO(field) OPTION_TO(struct arguments, field)

static int add_under(void *target, const char *list)
{
    return replay_under_add(&((struct arguments *)target)->under, list);
}

static const struct option_entry entries[] = {
    OPTION_GROUP("What if"),
    REPLAY_UNDER_ENTRIES(TO, add_under),
    OPTION_GROUP("Output"),
    OUTPUT_ENTRIES(TO, "WHATIF-JSON.md"),
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "replay",
    .synopsis = "--under=ALLOCATOR,… [options] TRACE",
    .purpose = "Runs the allocations of a trace, with the threads that made them, under other "
               "allocators, and shows peak memory, waste and time of each side by side.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark replay --under=glibc,jemalloc,tcmalloc,mimalloc run.tmt\n"
                "  tidemark replay --under='glibc,MALLOC_ARENA_MAX=1 glibc' run.tmt\n"
                "  tidemark replay --under=./mine.so --json run.tmt | jq '.allocators[0]'\n",
};

static int run(int argc, char **argv, struct arguments *arguments)
{
    int operand = options_parse(&command, argc, argv, arguments);

    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand + 1 != argc)
        return options_usage_error(&command, operand == argc ? "no trace given"
                                                             : "more than one trace given");
    if (!arguments->under.candidates.count)
        return options_usage_error(&command, "no allocators given: --under=glibc,jemalloc");
    return replay_under_run(&arguments->under, argv[operand], arguments->json, arguments->colour,
                            arguments->pager, arguments->width);
}

int cmd_replay(int argc, char **argv)
{
    struct arguments arguments = {.pager = true};
    int status = run(argc, argv, &arguments);

    whatif_candidates_release(&arguments.under.candidates);
    return status;
}

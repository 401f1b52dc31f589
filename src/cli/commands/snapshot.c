/* tidemark snapshot: asks the collector of a recorded process for a snapshot, and says where it
 * is. */
#include "commands/commands.h"

#include <stdio.h>
#include "base/human.h"
#include "base/options.h"
#include "commands/ask_snapshot.h"

struct snapshot_options {
    uint64_t timeout_ns;
};

static const struct option_entry entries[] = {
    {"timeout", 0, OPTION_DURATION, "TIME", "wait so long for it (default: 1min)",
     OPTION_TO(struct snapshot_options, timeout_ns), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "snapshot",
    .synopsis = "[options] PID",
    .purpose =
        "Has a profile written of what a recorded process is at now, beside its own, and prints "
        "its name. The process goes on, and so does its recording. PID is the process's, or the "
        "pid of the tidemark that records it: then of all that it records.",
    .entries = entries,
    .epilogue = "Example:\n"
                "  tidemark report $(tidemark snapshot $(pidof -s server))\n",
};

static void cmd_snapshot_print(void *context, const char *path)
{
    (void)context;
    puts(path);
}

int cmd_snapshot(int argc, char **argv)
{
    struct snapshot_options options = {.timeout_ns = 60000000000u};
    int operand = options_parse_one(&command, argc, argv, &options, "process");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    struct ask_snapshot ask = {
        .command = "snapshot", .timeout_ns = options.timeout_ns, .tell = cmd_snapshot_print};
    if (human_parse_pid(argv[operand], &ask.pid))
        return options_usage_error(&command, "'%s' is no process id", argv[operand]);
    return ask_snapshot(&ask) ? OPTIONS_EXIT_FAILURE : 0;
}

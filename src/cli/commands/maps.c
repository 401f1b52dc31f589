/* The command `tidemark maps`: what is mapped into a process, and what it costs. It reads the
 * process's smaps once, and writes text, JSON or CSV. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "system_memory/show.h"
#include "commands/output.h"
#include "commands/proc_output.h"

struct arguments {
    struct proc_arguments common;
    int order;
    bool all;
};

#define TO(field)     OPTION_TO(struct arguments, field)
#define COMMON(field) TO(common.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    {"all", 'a', OPTION_FLAG, NULL, "each mapping, not only sums by file", TO(all), false, NULL},
    {"sort", 's', OPTION_CHOICE, MAPS_ORDER_CHOICE,
     "the largest first; by name; with --all by address (default: pss)", TO(order), false, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "so many files of each kind; 0: all (default: 8)", COMMON(top),
     false, NULL},
    OPTION_GROUP("How to show it"),
    PROC_FORMAT_ENTRY(COMMON),
    OUTPUT_ENTRIES(COMMON, "PS-JSON.md"),
    OPTION_GROUP_END};
#undef TO
#undef COMMON

static const struct options_command command = {
    .name = "maps",
    .synopsis = "[options] PID",
    .purpose =
        "Shows what is mapped into a process and what it costs, by kind (heap, anonymous, "
        "text, data, stacks, files, shared memory …) and by file. Each mapping is of one kind, "
        "so the kinds add up.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark maps 1234\n"
                "  tidemark maps 1234 --all --sort address\n"
                "  tidemark maps $$ --json | jq '.kinds[] | [.kind, .pss_bytes]'\n",
};

static int cmd_maps_print(const struct maps *maps, const struct arguments *arguments)
{
    struct show_options options = proc_settle(&arguments->common);
    struct term_pager pager = proc_pager(&arguments->common);
    int error = 0;
    if (arguments->common.format == PROC_JSON)
        error = show_maps_json(pager.out, maps);
    else if (arguments->common.format == PROC_CSV)
        show_maps_csv(pager.out, maps);
    else
        show_maps_text(pager.out, maps, &options);
    return proc_close(&command, &pager, error);
}

/* Why there are no mappings. */
static int cmd_maps_complain(pid_t pid, int error, const struct maps *maps)
{
    char user[64];
    if (error == -EACCES) {
        system_memory_user_name(maps->status.uid, user, sizeof user);
        return output_complainf(
            command.name, "process %d cannot be read for lack of permission: it is of user '%s'",
            (int)pid, user);
    }
    if (error != -ESRCH)
        return output_complainf(command.name, "cannot read process %d: %s", (int)pid,
                                strerror(-error));
    if (maps->status.is_kernel)
        return output_complainf(command.name,
                                "process %d is a thread of the kernel: it maps nothing", (int)pid);
    if (maps->status.state == 'Z')
        return output_complainf(command.name,
                                "process %d is a zombie: it has ended and maps nothing", (int)pid);
    return output_complainf(command.name, "there is no process %d", (int)pid);
}

int cmd_maps(int argc, char **argv)
{
    struct arguments arguments = {.common = PROC_ARGUMENTS};
    struct maps maps;
    pid_t pid;
    int operand = options_parse_one(&command, argc, argv, &arguments, "process");
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (arguments.order == MAPS_ADDRESS && !arguments.all)
        return options_usage_error(&command, "--sort=address needs --all: sums have no address");
    int status = proc_take_pid(&command, argv[operand], &pid);
    if (status)
        return status;
    proc_settle_arguments(&arguments.common, 8);
    int error = maps_take(&maps, pid, (enum maps_order)arguments.order, arguments.all);
    status = error ? cmd_maps_complain(pid, error, &maps) : cmd_maps_print(&maps, &arguments);
    maps_release(&maps);
    return status;
}

/* The command `tidemark events`: prints what happened, one event a line. It turns options into a
 * filter, and the offline room reads the trace and writes the lines. */
#include "commands/commands.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/options.h"
#include "commands/moment_options.h"
#include "commands/output.h"
#include "heap_at/heap_at.h"
#include "commands/filter_options.h"

enum { PIPE_COLUMNS = 160 };

struct arguments {
    struct events_options events;
    struct moments_arguments common;
    const char *from, *to;
};

static int cmd_events_take_kinds(void *target, const char *value)
{
    struct arguments *arguments = target;
    char wrong[64];

    if (!events_kinds_parse(value, &arguments->events.kinds, wrong, sizeof wrong))
        return 0;
    fprintf(stderr, "tidemark events: '%s' is no kind of event: " EVENTS_KIND_CHOICE "\n", wrong);
    return -EINVAL;
}

static int cmd_events_take_address(void *target, const char *value)
{
    struct arguments *arguments = target;
    uint64_t *address = &arguments->events.address;
    char *end;

    bool is_hexadecimal = value[0] == '0' && (value[1] | 0x20) == 'x';
    errno = 0;
    *address = strtoull(value, &end, is_hexadecimal ? 16 : 10);
    if (isdigit((unsigned char)*value) && !*end && !errno && *address)
        return 0;
    fprintf(stderr, "tidemark events: '%s' is no address, such as 0x55d0c0de1230\n", value);
    return -EINVAL;
}

#define TO(field)     OPTION_TO(struct arguments, field)
#define COMMON(field) TO(common.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("Which events"),
    {"from", 0, OPTION_STRING, "MOMENT",
     "only from here on: 12.5s, 73%, peak, mark:NAME, #123456 (an event)", TO(from), false, NULL},
    {"to", 0, OPTION_STRING, "MOMENT", "only up to here, it included", TO(to), false, NULL},
    {"kind", 'k', OPTION_CALL, "KIND,…", EVENTS_KIND_CHOICE, 0, false, cmd_events_take_kinds},
    {"thread", 0, OPTION_NUMBER, "TID", "only those of this thread", TO(events.tid), false, NULL},
    {"min-size", 0, OPTION_BYTES, "BYTES", "only requests of so many bytes or more",
     TO(events.least_bytes), false, NULL},
    {"max-size", 0, OPTION_BYTES, "BYTES", "only requests of so many bytes or fewer",
     TO(events.most_bytes), false, NULL},
    {"address", 'a', OPTION_CALL, "ADDRESS",
     "the story of this address: every block that it lay in, and how long it lived", 0, false,
     cmd_events_take_address},
    {"filter", 'f', OPTION_STRING, "REGEX",
     "only those whose call path has a function, file or module that matches; size:, thread:",
     TO(events.pattern), false, NULL},
    {"function", 0, OPTION_STRING, "REGEX", "--filter", TO(events.pattern), true, NULL},
    OPTION_GROUP("How to show them"),
    {"stacks", 0, OPTION_FLAG, NULL, "with their whole call paths", TO(events.stacks), false, NULL},
    HIDE_STD_ENTRY(COMMON),
    OUTPUT_ENTRIES(COMMON, "TRACE-JSON.md"),
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};
#undef TO
#undef COMMON

static const struct options_command command = {
    .name = "events",
    .synopsis = "[options] TRACE",
    .purpose =
        "Prints the events of a recorded trace (tidemark record --trace), one a line, in the "
        "order in which they happened.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark events run.tmt --from 12s --to 12.1s\n"
                "  tidemark events run.tmt --kind mmap,brk --stacks\n"
                "  tidemark events run.tmt --address 0x55d0c0de1230\n"
                "  tidemark events run.tmt --min-size 1M --json | jq .size_bytes\n",
};

int cmd_events(int argc, char **argv)
{
    struct arguments arguments = {.common = MOMENTS_ARGUMENTS(0, 0),
                                  .events.tid = UINT64_MAX,
                                  .events.most_bytes = UINT64_MAX};
    int operand = options_parse_one(&command, argc, argv, &arguments, "trace"), status;
    uint64_t shown = 0;
    struct trace *trace;

    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (!filter_of_trace(&command, arguments.events.pattern, &arguments.events.conditions))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.events.conditions.age.is_said)
        return options_usage_error(&command, "--filter age: is of blocks that live at a moment: "
                                             "ask tidemark blocks");
    if (arguments.events.least_bytes > arguments.events.most_bytes)
        return options_usage_error(&command,
                                   "--min-size is larger than --max-size: no event is like "
                                   "that");
    status = moments_parse(&command, arguments.from, &arguments.events.from);
    if (!status)
        status = moments_parse(&command, arguments.to, &arguments.events.to);
    if (status)
        return status;
    if (!arguments.common.width && !isatty(STDOUT_FILENO))
        arguments.common.width = PIPE_COLUMNS;
    moments_settle(&arguments.common, &arguments.events.style);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is the end, and no failure */
    trace = moments_open("events", argv[operand]);
    if (!trace)
        return OPTIONS_EXIT_FAILURE;
    if (moments_resolve("events", trace, &arguments.events.from, true) ||
        moments_resolve("events", trace, &arguments.events.to, false)) {
        trace_close(trace);
        return OPTIONS_EXIT_FAILURE;
    }
    struct term_pager pager = moments_pager(&arguments.common, &arguments.events.style);
    arguments.events.shown = &shown;
    status = moments_close("events", &pager, events_show(pager.out, trace, &arguments.events));
    if (!status && !shown && !arguments.common.json)
        fputs("tidemark events: no event of the trace is like that\n", stderr);
    moments_say_cut("events", trace);
    trace_close(trace);
    return status;
}

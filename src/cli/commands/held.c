/* The command `tidemark held`. It reads one profile, or two, or has one written of a process that
 * is being recorded, and shows who keeps the live blocks. */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/options.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/output.h"
#include "commands/profile_of.h"
#include "held_by/held_by.h"
#include "profile/profile.h"

enum { USUAL_MOST_COLUMNS = 120, USUAL_TOP = 10, USUAL_DEPTH = 3 };

struct arguments {
    int by, colour;
    uint64_t width, top, depth, path_to;
    bool json, pager;
    const char *filter;
};

#define TO(field) OPTION_TO(struct arguments, field)

/* Digits alone are decimal, as JSON prints an address. */
static int cmd_held_take_address(void *target, const char *value)
{
    struct arguments *arguments = target;
    char *end;
    errno = 0;
    arguments->path_to = strtoull(value, &end, strpbrk(value, "abcdefxABCDEFX") ? 16 : 10);
    if (!errno && *value && !*end && arguments->path_to)
        return 0;
    output_complainf("held", "'%s' is no address (such as 0x55d0c1a2b3c0)", value);
    return -EINVAL;
}

static const struct option_entry entries[] = {
    {"by", 'b', OPTION_CHOICE, HELD_BY_CHOICE,
     "the tree of holders; what each call path keeps; libraries; types (default: holder)", TO(by),
     false, NULL},
    {"top", 'n', OPTION_NUMBER, "COUNT", "so many rows at most below each (default: 10)", TO(top),
     false, NULL},
    {"depth", 'd', OPTION_NUMBER, "COUNT", "so many levels (default: 3)", TO(depth), false, NULL},
    {"path-to", 'p', OPTION_CALL, "ADDRESS",
     "of a process: the chain of pointers from a root to the block there", 0, false,
     cmd_held_take_address},
    FILTER_ENTRY(TO),
    OUTPUT_ENTRIES(TO, "HELD.md"),
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "held",
    .synopsis = "[options] PROFILE|PID [PROFILE]",
    .purpose = "Shows who keeps the live blocks, by what would go if it let go: variables, stacks, "
               "mappings, and below them the call paths of blocks. Of a recording at its end or "
               "its last snapshot; of a process that is being recorded, now; of two profiles, what "
               "has grown and who holds it.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark held $(pidof server)\n"
                "  tidemark record --held -o run.tmk ./program && tidemark held run.tmk\n"
                "  tidemark held server.snap-1.tmk server.snap-2.tmk\n"
                "  tidemark held --path-to 0x55d0c1a2b3c0 $(pidof server)\n",
};

static int cmd_held_write(FILE *out, const struct held_by *holders,
                          const struct arguments *arguments)
{
    struct held_by_options options = {
        .style = {term_wants_colour((enum term_colour)arguments->colour, stdout), term_is_utf8(),
                  output_columns(arguments->width, USUAL_MOST_COLUMNS)},
        .top = arguments->top,
        .depth = arguments->depth,
    };
    if (arguments->path_to)
        return arguments->json ? held_by_chain_json(out, holders)
                               : held_by_chain_text(out, holders, &options.style);
    return arguments->json ? held_by_json(out, holders) : held_by_text(out, holders, &options);
}

static int cmd_held_show(const struct held_by *holders, const struct arguments *arguments)
{
    struct term_pager pager = term_pager_open(arguments->pager && !arguments->json);
    int error = cmd_held_write(pager.out, holders, arguments);
    return output_close("held", &pager, error);
}

static int cmd_held_show_passing(const struct profile *now, const struct profile *before,
                                 const struct arguments *arguments,
                                 const struct held_by_passing *passing)
{
    struct held_by holders;
    if (held_by_find(&holders, now, before, (enum held_by_what)arguments->by,
                     passing->filter ? passing : NULL))
        return output_complain("held", "out of memory");
    int status = cmd_held_show(&holders, arguments);
    held_by_release(&holders);
    return status;
}

static int cmd_held_find(const struct profile *now, const struct profile *before,
                         const struct arguments *arguments)
{
    const char *missing = held_by_missing(now);
    bool *passes[2] = {NULL, NULL};
    if (!missing && before)
        missing = held_by_missing(before);
    if (missing)
        return output_complainf("held", "who holds what is not known: %s", missing);
    if (arguments->path_to && !held_by_has_chain(now))
        return output_complainf("held",
                                "0x%llx is in no block that is known and held: nothing leads there",
                                (unsigned long long)arguments->path_to);
    int status = filter_paths("held", now, arguments->filter, &passes[0]);
    if (!status && before)
        status = filter_paths("held", before, arguments->filter, &passes[1]);
    const struct held_by_passing passing = {arguments->filter, passes[0], passes[1]};
    if (!status)
        status = cmd_held_show_passing(now, before, arguments, &passing);
    free(passes[0]);
    free(passes[1]);
    return status;
}

/* Of two profiles the first is the older. */
static int cmd_held_of(char **operands, int count, const struct arguments *arguments)
{
    struct profile *now = NULL, *before = NULL;
    bool is_process = profile_of_is_process(operands[count - 1]);
    if (arguments->path_to && !is_process)
        return output_complain("held",
                               "--path-to needs a process that is being recorded: a profile "
                               "keeps who holds what, and not each pointer");
    int status = 0;
    if (count == 2)
        status = profile_of(&before, "held", operands[0], &(struct wire_wish){0});
    if (!status)
        status = profile_of(&now, "held", operands[count - 1],
                            &(struct wire_wish){.path_to = arguments->path_to});
    if (!status)
        status = cmd_held_find(now, before, arguments);
    profile_free(now);
    profile_free(before);
    return status;
}

int cmd_held(int argc, char **argv)
{
    struct arguments arguments = {.pager = true, .top = USUAL_TOP, .depth = USUAL_DEPTH};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no profile and no process given");
    if (operand + 2 < argc)
        return options_usage_error(&command, "more than two profiles given");
    if (!filter_is_right(&command, arguments.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    if (arguments.filter && (arguments.by == HELD_BY_LIBRARY || arguments.path_to))
        return options_usage_error(&command,
                                   "--filter is of call paths: not with --by=library or --path-to");
    return cmd_held_of(argv + operand, argc - operand, &arguments);
}

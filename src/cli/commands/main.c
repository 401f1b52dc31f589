/* tidemark: finds the subcommand in the table and calls it. A new command is an entry here, a file
 * beside, and a page in man/. */
#include "commands/commands.h"
#include "commands/launch.h"
#include "commands/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/defaults.h"
#include "base/options.h"
#include "base/term_guard.h"
#include "base/text.h"

static int commands_main_cmd_help(int argc, char **argv);
static int commands_main_cmd_version(int argc, char **argv);

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose; /* NULL: hidden */
};

static const struct command commands[] = {
    {"record", cmd_record, "run a program and record where its memory goes"},
    {"attach", cmd_attach, "record a program that is running already, and leave it again"},
    {"count", cmd_count, "run a program and count its allocations: no stacks, next to no cost"},
    {"collect", cmd_collect, NULL},
    {"report", cmd_report, "show a profile: peak, leaks, top call sites and their callers"},
    {"insight", cmd_insight, "say what is wrong with a program's use of memory, and what to do"},
    {"leaks", cmd_leaks, "show which blocks are lost: no pointer leads to them any more"},
    {"held", cmd_held, "show who keeps the live blocks, and what would go if it let go"},
    {"content", cmd_content, "show what pages hold that need not be there: zeros, copies"},
    {"annotate", cmd_annotate, "show source with the figures of each line"},
    {"plot", cmd_plot, "draw memory over time, call paths, ranks, sizes"},
    {"top", cmd_top, "watch a program that is being recorded"},
    {"snapshot", cmd_snapshot, "have a profile written of what a recorded program is at now"},
    {"diff", cmd_diff, "show what grew and what shrank between recordings"},
    {"check", cmd_check, "check a recording against a budget or an earlier one, for CI"},
    {"serve", cmd_serve, "show profiles in the browser"},
    {"html", cmd_html, "write the web view of profiles as one HTML file"},
    {"viewer", cmd_viewer, "write a page that shows the profiles that are dropped on it"},
    {"replay", cmd_replay, "turn a trace into a profile again; or run it under other allocators"},
    {"at", cmd_at, "show who holds memory at a moment of a trace"},
    {"blocks", cmd_blocks, "list the blocks that are alive at a moment of a trace"},
    {"events", cmd_events, "print the events of a trace, filtered"},
    {"job", cmd_job, "show the ranks of an MPI job as one: imbalance, nodes, scaling"},
    {"ps", cmd_ps, "show how much memory the processes of this machine have"},
    {"maps", cmd_maps, "show what is mapped into a process and what it costs"},
    {"query", cmd_query, "ask a profile in SQL"},
    {"export", cmd_export, "write a profile in the format of another tool"},
    {"import", cmd_import, "make a profile of another tool's recording"},
    {"unpack", cmd_unpack, "turn a profile into a plain SQLite database"},
    {"bundle", cmd_bundle, "make a directory to record with where nothing is installed"},
    {"doctor", cmd_doctor, "say what works on this machine, and what to do where it does not"},
    {"help", commands_main_cmd_help, "show this text, or how to use a command"},
    {"version", commands_main_cmd_version, "show the version"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const struct command *commands_main_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static void commands_main_print_usage(FILE *out)
{
    fputs("Usage: tidemark COMMAND [ARGUMENTS…]\n"
          "Shows where a program's memory went: who asked for it, when, and for how long.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].purpose)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].purpose);
    fputs("\nExamples:\n"
          "  tidemark record ./program arguments\n"
          "  tidemark report tidemark.program.1234.tmk\n\n"
          "'tidemark help COMMAND' says more.\n",
          out);
}

static size_t commands_main_list_shown(const char *names[COMMAND_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].purpose)
            names[count++] = commands[i].name;
    return count;
}

/* The section [names] of the user's configuration: for every command. */
static const struct option_entry name_entries[] = {WRAPPER_ENTRIES, OPTION_GROUP_END};
static const struct options_command names_section = {.name = "names", .entries = name_entries};

static int commands_main_load_defaults(const char *command)
{
    const char *names[COMMAND_COUNT + 1];
    struct strbuf why = STRBUF_INIT;
    size_t count = commands_main_list_shown(names);
    names[count++] = names_section.name;
    int error = defaults_load(names, count, &why);
    if (!error)
        error = defaults_apply(&names_section, NULL, &why);
    if (error)
        fprintf(stderr, "tidemark %s: %s\n", command, why.data);
    strbuf_release(&why);
    return error;
}

static int commands_main_complain_unknown(const char *name)
{
    const char *names[COMMAND_COUNT];
    size_t count = commands_main_list_shown(names);
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, name);
    const char *nearest = options_nearest(name, names, count);
    const char *what = *name == '-' ? "option" : "command";
    if (nearest)
        fprintf(stderr, "tidemark: unknown %s '%s', did you mean '%s'?\n", what, safe.data,
                nearest);
    else
        fprintf(stderr, "tidemark: unknown %s '%s'\nTry 'tidemark help'.\n", what, safe.data);
    strbuf_release(&safe);
    return OPTIONS_EXIT_FAILURE;
}

static int commands_main_cmd_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("tidemark " TIDEMARK_VERSION);
    return 0;
}

/* For completion: name and purpose, tab-separated. */
static int commands_main_dump_commands(void)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].purpose)
            printf("%s\t%s\n", commands[i].name, commands[i].purpose);
    return 0;
}

static int commands_main_cmd_help(int argc, char **argv)
{
    if (argc < 2 || *argv[1] == '-' || !strcmp(argv[1], "help") || !strcmp(argv[1], "version")) {
        commands_main_print_usage(stdout);
        return 0;
    }
    const struct command *command = commands_main_find(argv[1]);
    if (!command)
        return commands_main_complain_unknown(argv[1]);
    char help[] = "--help";
    char *const arguments[] = {argv[1], help, NULL};
    return command->run(2, (char **)arguments);
}

/* With a smaller stack a command would end by SIGSEGV somewhere. The sentence is written without
 * stdio, whose buffer is on the stack. */
static bool commands_main_stack_is_too_small(void)
{
    static const char text[] =
        "tidemark: the stack may have less than 64 KiB (ulimit -s), in which "
        "it cannot work: raise the limit\n";
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= 64 << 10)
        return false;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return true; /* standard error is closed */
    return true;
}

static bool commands_main_takes_defaults(const struct command *command)
{
    return command->run != commands_main_cmd_help && command->run != commands_main_cmd_version;
}

/* Flushing what a command left in stdout's buffer may fail: a full disk. */
static int commands_main_finish(int status)
{
    errno = 0;
    bool failed = ferror(stdout) || fflush(stdout) != 0;
    FILE *raw = term_guard_raw();
    failed = ferror(raw) || fflush(raw) != 0 || failed;
    term_guard_end();
    if (status != 0 || !failed || output_reader_is_gone())
        return status;
    fprintf(stderr, "tidemark: cannot write: %s\n", errno ? strerror(errno) : "to standard output");
    return OPTIONS_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    launch_hear_children();
    term_guard_begin();
    if (!name) {
        commands_main_print_usage(stderr);
        return OPTIONS_EXIT_FAILURE;
    }
    if (!strcmp(name, "--dump-commands"))
        return commands_main_finish(commands_main_dump_commands());
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version") || !strcmp(name, "-V"))
        name = "version";
    const struct command *command = commands_main_find(name);
    if (!command)
        return commands_main_complain_unknown(name);
    if (commands_main_stack_is_too_small())
        return OPTIONS_EXIT_FAILURE;
    if (commands_main_takes_defaults(command) && commands_main_load_defaults(name) < 0)
        return OPTIONS_EXIT_FAILURE;
    return commands_main_finish(command->run(argc - 1, argv + 1));
}

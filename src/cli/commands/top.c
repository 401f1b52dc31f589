/* The command `tidemark top`. It finds the profile that is meant, by its path or by a process's
 * number, and hands it to the top room. The screen or plain lines are chosen by standard output. */
#include "commands/commands.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/human.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/filter_options.h"
#include "commands/output.h"
#include "top/top.h"

struct arguments {
    struct top_options top;
    uint64_t rows, width;
    int sort, colour;
    bool plain;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    OPTION_GROUP("What to show"),
    {"sort", 's', OPTION_CHOICE, TOP_SORT_CHOICE, "call sites by this (default: live)", TO(sort),
     false, NULL},
    {"filter", 'f', OPTION_STRING, "REGEX",
     "only call paths with a function, file or module that matches", TO(top.filter), false, NULL},
    {"hide-std", 0, OPTION_SWITCH, NULL,
     "leave out frames of the C, C++, Rust and Python libraries (default: yes)", TO(top.hide_std),
     false, NULL},
    OPTION_GROUP("How to show it"),
    {"interval", 'i', OPTION_DURATION, "TIME",
     "between two looks (default: 1s; a profile is written every two seconds)", TO(top.interval_ns),
     false, NULL},
    {"plain", 0, OPTION_FLAG, NULL, "lines, as where there is no terminal", TO(plain), false, NULL},
    {"count", 'n', OPTION_NUMBER, "N", "lines: so many looks (default: until the recording ends)",
     TO(top.count), false, NULL},
    {"rows", 'r', OPTION_NUMBER, "N", "lines: call sites in a look (default: 5)", TO(rows), false,
     NULL},
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE, "colour (default: auto; NO_COLOR is respected)",
     TO(colour), true, NULL},
    {"width", 'w', OPTION_NUMBER, "COLUMNS", "of lines (default: the terminal, else 100)",
     TO(width), true, NULL},
    WRAPPER_ENTRIES,
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "top",
    .synopsis = "[options] [PID|PROFILE|DIR…]",
    .purpose =
        "Watches a program that is being recorded: memory over time, and the call sites that "
        "hold most, grow, or allocate most often. PID is of the program, or of the `tidemark "
        "record` that runs it; h shows the keys.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark record -o run.tmk ./server & tidemark top run.tmk\n"
                "  tidemark top $(pidof server) --sort growth\n"
                "  tidemark top\n"
                "  tidemark top run.tmk -n 10 -i 5s >growth.txt\n",
};

static void cmd_top_settle(struct arguments *arguments)
{
    struct top_options *top = &arguments->top;
    size_t columns = isatty(STDOUT_FILENO) ? term_columns(stdout) : 100;
    top->sort = (enum top_sort)arguments->sort;
    top->rows = arguments->rows ? arguments->rows : 5;
    top->interval_ns = top->interval_ns ? top->interval_ns : 1000000000;
    top->interval_ns = top->interval_ns < 10000000 ? 10000000 : top->interval_ns;
    columns = arguments->width ? arguments->width : columns;
    top->style = (struct style){
        .colour = term_wants_colour((enum term_colour)arguments->colour, stdout),
        .utf8 = term_is_utf8(),
        .columns = columns < 40     ? 40
                   : columns > 1000 ? 1000
                                    : columns,
    };
    if (top->count || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        arguments->plain = true;
}

/* A number is a process, unless a file has that name. */
static bool cmd_top_is_pid(const char *word, pid_t *pid)
{
    return !human_parse_pid(word, pid) && access(word, F_OK);
}

static bool cmd_top_is_profile(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".tmk") &&
           !(length > 12 && !strcmp(name + length - 12, ".session.tmk"));
}

/* Every profile of a directory, as of a job's ranks. */
static int cmd_top_add_directory(struct top_paths *paths, const char *name, struct strbuf *why)
{
    DIR *directory = opendir(name);
    size_t before = paths->count;
    if (!directory) {
        strbuf_addf(why, "cannot read %s: %s", name, strerror(errno));
        return -errno;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct strbuf path = STRBUF_INIT;
        strbuf_addf(&path, "%s/%s", name, entry->d_name);
        if (cmd_top_is_profile(entry->d_name))
            top_paths_add(paths, path.data);
        strbuf_release(&path);
    }
    closedir(directory);
    if (paths->count > before)
        return 0;
    strbuf_addf(why, "there is no profile in %s", name);
    return -ENOENT;
}

static int cmd_top_add(struct top_paths *paths, const char *word, struct strbuf *why)
{
    struct strbuf path = STRBUF_INIT;
    struct stat status;
    pid_t pid;
    int error = 0;
    if (cmd_top_is_pid(word, &pid))
        error = top_find(pid, &path, why);
    else if (stat(word, &status) == 0 && S_ISDIR(status.st_mode))
        return cmd_top_add_directory(paths, word, why);
    else
        strbuf_add_string(&path, word);
    if (!error)
        top_paths_add(paths, path.data);
    strbuf_release(&path);
    return error;
}

static int cmd_top_show(struct arguments *arguments, struct top_paths *paths, struct strbuf *why)
{
    struct top_options *top = &arguments->top;
    if (paths->count == 1) {
        top->path = paths->items[0];
        return arguments->plain ? top_plain(top, why) : top_screen(top, why);
    }
    for (size_t i = 0; i < paths->count; i++)
        if (access(paths->items[i], R_OK)) {
            strbuf_addf(why, "cannot read %s: %s", paths->items[i], strerror(errno));
            return -errno;
        }
    top->paths = (const char *const *)paths->items;
    top->path_count = paths->count;
    return arguments->plain ? top_plain_overview(top, why) : top_overview(top, why);
}

static int cmd_top_watch(struct arguments *arguments, char **words, int count)
{
    struct top_paths paths = {0};
    struct strbuf why = STRBUF_INIT;
    int error = 0;
    for (int i = 0; !error && i < count; i++)
        error = cmd_top_add(&paths, words[i], &why);
    if (!error)
        error = cmd_top_show(arguments, &paths, &why);
    int status = error ? output_complain("top", why.length ? why.data : strerror(-error)) : 0;
    top_paths_release(&paths);
    strbuf_release(&why);
    return status;
}

int cmd_top(int argc, char **argv)
{
    struct arguments arguments = {.top.hide_std = true};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (!filter_is_right(&command, arguments.top.filter, NULL))
        return OPTIONS_EXIT_FAILURE;
    cmd_top_settle(&arguments);
    return cmd_top_watch(&arguments, argv + operand, argc - operand);
}

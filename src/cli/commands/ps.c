/* The command `tidemark ps`: what memory the processes of this machine have. It turns options
 * into a question, reads each process once, and writes text, JSON or CSV. */
#include "commands/commands.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "system_memory/show.h"
#include "commands/output.h"
#include "commands/proc_output.h"
#include "commands/ps_watch.h"
#include "procfs/proc_file.h"

struct arguments {
    struct proc_arguments common;
    int by, order;
    bool reverse, bars, tree, watch;
    const char *columns, *root, *save, *record;
    uint64_t every_ns, for_ns;
    struct show_columns chosen;
    const char *name, *user, *cgroup, *mapping;
};

#define TO(field)     OPTION_TO(struct arguments, field)
#define COMMON(field) TO(common.field)

static const struct option_entry entries[] = {
    OPTION_GROUP("Which processes"),
    {"name", 0, OPTION_STRING, "REGEX", "those whose name or command line matches", TO(name), false,
     NULL},
    {"user", 'u', OPTION_STRING, "USER,…", "those of these users, by name or number", TO(user),
     false, NULL},
    {"cgroup", 'g', OPTION_STRING, "REGEX", "those whose control group matches", TO(cgroup), true,
     NULL},
    {"mapping", 'm', OPTION_STRING, "REGEX",
     "count only mappings whose file or name matches, and the processes that have some",
     TO(mapping), false, NULL},
    {"root", 0, OPTION_STRING, "DIR", "of another machine: its /proc, or what --save has made",
     TO(root), true, NULL},
    {"save", 0, OPTION_STRING, "DIR",
     "copy what --root reads into a new directory, and show nothing", TO(save), true, NULL},
    OPTION_GROUP("How to count and sort them"),
    {"by", 'b', OPTION_CHOICE, SYSTEM_MEMORY_BY_CHOICE,
     "a line for each of these (default: process)", TO(by), false, NULL},
    {"sort", 's', OPTION_CHOICE, SYSTEM_MEMORY_ORDER_CHOICE,
     "the largest first; names from a to z (default: pss)", TO(order), false, NULL},
    {"reverse", 'r', OPTION_FLAG, NULL, "the smallest first", TO(reverse), true, NULL},
    {"top", 'n', OPTION_NUMBER, "N", "so many; 0: all (default: 20; JSON, CSV, --tree: all)",
     COMMON(top), false, NULL},
    OPTION_GROUP("More than once"),
    {"watch", 0, OPTION_FLAG, NULL, "look again and again, with what grew since the start",
     TO(watch), false, NULL},
    {"every", 'e', OPTION_DURATION, "TIME",
     "between two looks (default: 2s; with --record alone: 10s)", TO(every_ns), true, NULL},
    {"record", 0, OPTION_STRING, "FILE",
     "add each look to FILE, which `tidemark plot` draws over time", TO(record), false, NULL},
    {"for", 0, OPTION_DURATION, "TIME", "so long (default: until it is interrupted)", TO(for_ns),
     true, NULL},
    OPTION_GROUP("How to show it"),
    {"columns", 'o', OPTION_STRING, "NAME,…",
     "these columns, e.g. pid,pss,pss%,anon,swap,locked,huge", TO(columns), false, NULL},
    {"tree", 't', OPTION_FLAG, NULL,
     "each process below who started it, with what all of these have", TO(tree), false, NULL},
    {"bars", 0, OPTION_FLAG, NULL, "bars for the eye: own memory and the part of what is shared",
     TO(bars), true, NULL},
    PROC_FORMAT_ENTRY(COMMON),
    OUTPUT_ENTRIES_FROM(COMMON, "PS-JSON.md", "40"),
    OPTION_GROUP_END};
#undef TO
#undef COMMON

static const struct options_command command = {
    .name = "ps",
    .synopsis = "[options] [PID…]",
    .purpose =
        "Shows how much memory the processes of this machine have: PSS, USS, RSS and swap, by "
        "process, name, user, control group, mapping or library; and what of the machine's "
        "memory is in no process. Nothing has to be recorded.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark ps\n"
                "  tidemark ps --by user\n"
                "  tidemark ps --by library -n 10 --name firefox\n"
                "  tidemark ps --tree -o pid,tree,pss,swap\n"
                "  tidemark ps --watch --sort growth\n"
                "  tidemark ps --every 10s --record day.jsonl & tidemark plot day.jsonl\n",
};

/* What was asked for, as system_memory_take() wants it. */
struct ps_question {
    struct system_memory_request request;
    regex_t name, cgroup, mapping;
    pid_t *pids;
    uid_t *users;
};

static int cmd_ps_take_pattern(const char *option, const char *text, regex_t *pattern,
                               const regex_t **to)
{
    char why[160];
    if (!text)
        return 0;
    int error = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, pattern, why, sizeof why);
        return options_usage_error(&command, "--%s is no regular expression: %s", option, why);
    }
    *to = pattern;
    return 0;
}

static bool cmd_ps_find_user(const char *name, uid_t *uid)
{
    uint64_t number;
    const char *end;
    const struct passwd *user = getpwnam(name);
    if (user)
        *uid = user->pw_uid;
    else if (proc_number(name, &number, &end) && !*end && number < UINT32_MAX)
        *uid = (uid_t)number;
    else
        return false;
    return true;
}

static int cmd_ps_take_users(struct ps_question *question, const char *list)
{
    struct strbuf copy = STRBUF_INIT;
    int status = 0;
    char *place = NULL;
    if (!list)
        return 0;
    strbuf_add_string(&copy, list);
    question->users = calloc(copy.length + 1, sizeof *question->users);
    question->request.users = question->users;
    for (char *name = strtok_r(copy.data, ",", &place); question->users && name && !status;
         name = strtok_r(NULL, ",", &place)) {
        struct strbuf safe = STRBUF_INIT;
        text_add_safe_string(&safe, name);
        if (!cmd_ps_find_user(name, &question->users[question->request.user_count++]))
            status = options_usage_error(&command, "there is no user '%s'", safe.data);
        strbuf_release(&safe);
    }
    if (!status && !question->request.user_count)
        status = options_usage_error(&command, "--user names no user");
    strbuf_release(&copy);
    return status;
}

static int cmd_ps_take_pids(struct ps_question *question, int count, char **words)
{
    question->pids = calloc((size_t)count + 1, sizeof *question->pids);
    question->request.pids = question->pids;
    for (int i = 0; question->pids && i < count; i++) {
        int status = proc_take_pid(&command, words[i], &question->pids[i]);
        if (status)
            return status;
        question->request.pid_count++;
    }
    return 0;
}

static int cmd_ps_take_question(struct ps_question *question, const struct arguments *arguments,
                                int count, char **words)
{
    struct system_memory_request *request = &question->request;
    int status = cmd_ps_take_pattern("name", arguments->name, &question->name, &request->name);
    if (!status)
        status =
            cmd_ps_take_pattern("cgroup", arguments->cgroup, &question->cgroup, &request->cgroup);
    if (!status)
        status = cmd_ps_take_pattern("mapping", arguments->mapping, &question->mapping,
                                     &request->mapping);
    if (!status)
        status = cmd_ps_take_users(question, arguments->user);
    if (!status)
        status = cmd_ps_take_pids(question, count, words);
    request->root = arguments->root;
    request->libraries = arguments->by == SYSTEM_MEMORY_BY_LIBRARY;
    request->pieces = request->libraries || arguments->by == SYSTEM_MEMORY_BY_MAPPING;
    return status;
}

static void cmd_ps_question_release(struct ps_question *question)
{
    if (question->request.name)
        regfree(&question->name);
    if (question->request.cgroup)
        regfree(&question->cgroup);
    if (question->request.mapping)
        regfree(&question->mapping);
    free(question->pids);
    free(question->users);
}

/* Says which of the named processes do not exist. The others are shown all the same. */
static void cmd_ps_complain_missing(const struct system_memory *system)
{
    for (size_t i = 0; i < system->count; i++)
        if (system->processes[i].state == SYSTEM_MEMORY_GONE)
            fprintf(stderr, "tidemark ps: there is no process %d\n",
                    (int)system->processes[i].status.pid);
}

static int cmd_ps_print(const struct system_memory *system, const struct system_memory_table *table,
                        const struct arguments *arguments)
{
    struct show_options options = proc_settle(&arguments->common);
    struct term_pager pager = proc_pager(&arguments->common);
    int error = 0;
    options.bars = arguments->bars;
    options.columns = arguments->chosen;
    options.style.columns = proc_narrow_columns(&arguments->common, options.style.columns);
    if (arguments->common.format == PROC_JSON)
        error = show_system_memory_json(pager.out, system, table, &options);
    else if (arguments->common.format == PROC_CSV)
        show_system_memory_csv(pager.out, table, &options);
    else
        show_system_memory_text(pager.out, system, table, &options);
    return proc_close(&command, &pager, error);
}

static int cmd_ps_show(const struct ps_question *question, const struct arguments *arguments)
{
    struct system_memory system;
    struct system_memory_table table;
    int status;
    int error = system_memory_take(&system, &question->request);
    if (error)
        return output_complainf(command.name, "cannot read %s: %s",
                                arguments->root ? "what --root names" : "/proc", strerror(-error));
    if (question->request.pid_count)
        cmd_ps_complain_missing(&system);
    error = system_memory_tabulate(&table, &system, (enum system_memory_by)arguments->by,
                                   (enum system_memory_order)arguments->order, arguments->reverse);
    if (!error && arguments->tree && (error = system_memory_make_tree(&table)))
        system_memory_table_release(&table);
    if (error) {
        status = output_complainf(command.name, "%s", strerror(-error));
    } else {
        bool nothing =
            question->request.pid_count && system.state_counts[SYSTEM_MEMORY_GONE] == system.count;
        status = nothing ? OPTIONS_EXIT_FAILURE : cmd_ps_print(&system, &table, arguments);
        system_memory_table_release(&table);
    }
    system_memory_release(&system);
    return status;
}

/* How it is shown. */
static int cmd_ps_take_layout(struct arguments *arguments)
{
    struct strbuf why = STRBUF_INIT;
    int status = 0;
    if (arguments->columns && arguments->common.format != PROC_TEXT)
        status = options_usage_error(&command, "JSON and CSV have all columns: no --columns there");
    else if (arguments->columns && show_columns_parse(&arguments->chosen, arguments->columns, &why))
        status = options_usage_error(&command, "--columns: %s", why.data);
    else if (arguments->tree && arguments->by != SYSTEM_MEMORY_BY_PROCESS)
        status = options_usage_error(&command, "--tree is of processes: not with --by");
    strbuf_release(&why);
    return status;
}

static bool cmd_ps_looks_again(const struct arguments *arguments)
{
    return arguments->watch || arguments->record || arguments->every_ns;
}

/* What does not go with looking again, or with looking once: NULL, or a sentence. */
static const char *cmd_ps_misfit(const struct arguments *arguments)
{
    bool again = cmd_ps_looks_again(arguments);
    if (!again && arguments->for_ns)
        return "--for goes with --watch or --record";
    if (!again && arguments->order == SYSTEM_MEMORY_GROWTH)
        return "--sort growth goes with --watch: one look shows no growth";
    if (again && (arguments->root || arguments->save))
        return "--watch and --record look at this machine as it is: not with --root or --save";
    if (again && arguments->common.format != PROC_TEXT)
        return "--watch shows a table: for programs there is --record, which writes JSON";
    if (arguments->every_ns && arguments->every_ns < 100000000)
        return "--every takes 100ms at least";
    return NULL;
}

static int cmd_ps_watch(const struct ps_question *question, const struct arguments *arguments)
{
    struct ps_watching watching = {
        .command = command.name,
        .request = &question->request,
        .common = &arguments->common,
        .columns = arguments->chosen,
        .by = (enum system_memory_by)arguments->by,
        .order = (enum system_memory_order)arguments->order,
        .reverse = arguments->reverse,
        .tree = arguments->tree,
        .bars = arguments->bars,
        .watch = arguments->watch || !arguments->record,
        .record = arguments->record,
        .for_ns = arguments->for_ns,
    };
    watching.every_ns = arguments->every_ns ? arguments->every_ns
                        : watching.watch    ? 2000000000
                                            : 10000000000;
    return ps_watch(&watching);
}

static int cmd_ps_save(const char *directory)
{
    size_t processes;
    int error = system_memory_save(directory, &processes);
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, directory);
    int status = 0;
    if (error)
        status =
            output_complainf(command.name, "cannot save to '%s': %s", safe.data, strerror(-error));
    else
        printf("%zu processes are saved: tidemark ps --root %s\n", processes, safe.data);
    strbuf_release(&safe);
    return status;
}

int cmd_ps(int argc, char **argv)
{
    struct arguments arguments = {.common = PROC_ARGUMENTS};
    struct ps_question question = {0};
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    proc_settle_arguments(&arguments.common, arguments.tree ? 0 : 20);
    const char *wrong = cmd_ps_misfit(&arguments);
    if (wrong)
        return options_usage_error(&command, "%s", wrong);
    int status = cmd_ps_take_layout(&arguments);
    if (!status && arguments.save)
        return cmd_ps_save(arguments.save);
    if (!status)
        status = cmd_ps_take_question(&question, &arguments, argc - operand, argv + operand);
    question.request.starts = cmd_ps_looks_again(&arguments);
    if (!status)
        status = cmd_ps_looks_again(&arguments) ? cmd_ps_watch(&question, &arguments)
                                                : cmd_ps_show(&question, &arguments);
    cmd_ps_question_release(&question);
    return status;
}

/* tidemark attach: records a program that is running already, until it ends, Ctrl-C, or `tidemark
 * attach --detach`; the program runs on. The attach room (attach/attach.h) puts the recorder into
 * the program. This file runs the collector meanwhile. */
#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/error.h"
#include "attach/attach.h"
#include "base/human.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "commands/launch.h"
#include "commands/record_options.h"
#include "collector/collector.h"
#include "profile/profile.h"
#include "profile/profile_for_summary.h"
#include "report/report.h"

enum { ATTACH_EXIT_REFUSED = 126, MOST_OPTIONS = 64 };

struct attach_options {
    struct record_options record; /* first: the offsets of record's table hold here */
    bool detach;
};

/* ---- Options: of record's those that make sense for one running process ---- */

static const char *const shared_options[] = {"output",       "quiet",
                                             "pack",         "trace",
                                             "compress",     "follow",
                                             "stacks",       "free-stacks",
                                             "timed",        "embed-sources",
                                             "looks",        "max-depth",
                                             "sample",       "budget-cpu",
                                             "for",          "until",
                                             "start-on",     "snapshot-at",
                                             "on-full",      "ring",
                                             "page-content", "held",
                                             "types",        "native",
                                             "devices",      "allocator-functions"};

static bool cmd_attach_is_shared(const struct option_entry *entry)
{
    if (entry->kind == OPTION_TITLE)
        return true;
    for (size_t i = 0; i < sizeof shared_options / sizeof *shared_options; i++)
        if (!strcmp(entry->name, shared_options[i]))
            return true;
    return false;
}

/* So that --help fits a screen. */
static bool cmd_attach_is_rare_here(const struct option_entry *entry)
{
    return entry->kind != OPTION_TITLE &&
           (!strcmp(entry->name, "embed-sources") || !strcmp(entry->name, "start-on") ||
            !strcmp(entry->name, "snapshot-at") || !strcmp(entry->name, "allocator-functions"));
}

static const struct option_entry *cmd_attach_table(void)
{
    static struct option_entry entries[MOST_OPTIONS] = {
        {"detach", 'd', OPTION_FLAG, NULL,
         "end the recording of the process, and wait until its profile is complete",
         OPTION_TO(struct attach_options, detach), false, NULL}};
    size_t count = 1;
    const struct option_entry *entry = record_command.entries;
    for (; entry->kind != OPTION_END && count + 1 < MOST_OPTIONS; entry++)
        if (cmd_attach_is_shared(entry)) {
            entries[count] = *entry;
            entries[count++].rare |= cmd_attach_is_rare_here(entry);
        }
    entries[count] = (struct option_entry)OPTION_GROUP_END;
    return entries;
}

static struct options_command command = {
    .name = "attach",
    .synopsis = "[options] PID",
    .purpose = "Records a program that is running already, until it ends, Ctrl-C is pressed, or "
               "`tidemark attach --detach PID` is called; the program runs on. What it allocated "
               "before is not known, and neither counts nor is missed.",
    .epilogue = "Examples:\n"
                "  tidemark attach 4711\n"
                "  tidemark attach --sample=512K -o server.tmk $(pidof redis-server)\n"
                "  tidemark attach --detach 4711\n",
};

/* ---- An operation, while we collect ---- */

struct operation {
    int (*run)(const struct operation *operation);
    pid_t pid;
    const char *library, *session;
    int status;
    struct strbuf sentence; /* the thread's error_text(), if it failed */
    int done[2];            /* a pipe, closed at the end */
};

static int cmd_attach_run_begin(const struct operation *operation)
{
    return attach_begin(operation->pid, operation->library, operation->session);
}

static int cmd_attach_run_end(const struct operation *operation)
{
    return attach_end(operation->pid);
}

static void *cmd_attach_operation_thread(void *context)
{
    struct operation *operation = context;
    operation->status = operation->run(operation);
    operation->sentence = STRBUF_INIT;
    if (operation->status < 0)
        strbuf_add_string(&operation->sentence, error_text());
    close(operation->done[1]);
    return NULL;
}

/* Runs an operation in a thread of its own, and collects meanwhile: the process may wait for its
 * collector during the operation. */
static int cmd_attach_operate(struct collector *collector, struct operation *operation,
                              int (*run)(const struct operation *))
{
    pthread_t thread;
    operation->run = run;
    if (pipe2(operation->done, O_CLOEXEC) < 0)
        return error_set(-errno, "cannot make a pipe: %s", strerror(errno));
    int error = pthread_create(&thread, NULL, cmd_attach_operation_thread, operation);
    if (error) {
        close(operation->done[0]);
        close(operation->done[1]);
        return error_set(-error, "cannot start a thread: %s", strerror(error));
    }
    while (!collector_wait(collector, operation->done[0], -1))
        ;
    pthread_join(thread, NULL);
    close(operation->done[0]);
    if (operation->status < 0)
        error_set(operation->status, "%s", operation->sentence.data);
    strbuf_release(&operation->sentence);
    return operation->status;
}

static int cmd_attach_refuse(void)
{
    fprintf(stderr, "tidemark attach: %s\n", error_text());
    return ATTACH_EXIT_REFUSED;
}

/* ---- Recording ---- */

/* While the collector is stopped (Ctrl-Z), the process would wait in the middle of a call, or as
 * soon as its rings are full. A closed standard error must not end the recording. */
static void cmd_attach_ignore_stops(void)
{
    static const int signals[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
}

static int cmd_attach_watch_signals(void)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGQUIT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Tells the recorder to leave the process. Where that fails (a debugger has come), the collector
 * leaves: then nothing reads what is recorded. True: the recorder has left. */
static bool cmd_attach_leave(struct collector *collector, struct operation *operation)
{
    if (cmd_attach_operate(collector, operation, cmd_attach_run_end) == 0)
        return true;
    if (collector_running(collector) > 0)
        fprintf(
            stderr,
            "tidemark attach: %s; the recorder stays in front of its functions and does nothing\n",
            error_text());
    collector_leave(collector);
    return false;
}

/* True: we have ended the recording, and the process lives. */
static bool cmd_attach_run(struct collector *collector, struct operation *operation, int signals)
{
    bool left = false;
    struct signalfd_siginfo signal;
    while (collector_active(collector) > 0) {
        if (!collector_wait(collector, signals, 200) ||
            read(signals, &signal, sizeof signal) != sizeof signal)
            continue;
        /* Asked twice (its children are left too), or the profile is being completed. */
        if (left || collector_over(collector))
            collector_leave(collector);
        else
            left = cmd_attach_leave(collector, operation);
    }
    /* The time is up, or the mark came: the recorder is still in front of the program's
     * functions. */
    if (collector_over(collector) && !left)
        left = cmd_attach_operate(collector, operation, cmd_attach_run_end) == 0;
    return left;
}

static void cmd_attach_say_result(const struct process_image_result *result, bool quiet)
{
    struct profile *profile;
    if (result->error)
        fprintf(stderr, "tidemark: %s\n", result->error);
    if (result->trace_error)
        fprintf(stderr, "tidemark: %s\n", result->trace_error);
    if (quiet || !result->path)
        return;
    if (profile_read_for_summary(&profile, result->path) < 0) {
        fprintf(stderr, "tidemark: %s\n", error_text());
        return;
    }
    report_summary(stderr, profile, result->path);
    profile_free(profile);
    if (result->trace)
        fprintf(stderr, "  trace        %s (%s)\n", result->trace,
                human_bytes(result->trace_bytes).text);
}

static int cmd_attach_conclude(struct collector *collector, bool quiet)
{
    int status = 0;
    const char *over = collector_over(collector);
    for (size_t i = 0; i < collector_result_count(collector); i++) {
        const struct process_image_result *result = collector_result(collector, i);
        cmd_attach_say_result(result, quiet || !result->first);
        if (result->error)
            status = OPTIONS_EXIT_FAILURE;
    }
    if (!quiet)
        record_say_missing_functions();
    if (over && !quiet)
        fprintf(stderr, "tidemark: recording ended %s; the program goes on\n", over);
    collector_close(collector);
    return status;
}

static int cmd_attach_record(const struct attach_options *options, struct operation *operation)
{
    struct collector *collector;
    struct collector_options wanted = record_collector_options(&options->record);
    int signals = cmd_attach_watch_signals();
    collector_prepare_limits();
    int status = collector_open(&collector, &wanted, NULL);
    if (status < 0 || signals < 0) {
        fprintf(stderr, "tidemark attach: cannot collect: %s\n",
                collector_open_error(status < 0 ? status : -errno));
        return OPTIONS_EXIT_FAILURE;
    }
    operation->session = collector_name(collector);
    if (cmd_attach_operate(collector, operation, cmd_attach_run_begin) < 0) {
        collector_close(collector);
        return cmd_attach_refuse();
    }
    if (!options->record.quiet)
        fprintf(
            stderr,
            "tidemark: process %d is being recorded; Ctrl-C ends that, and the process runs on\n",
            (int)operation->pid);
    if (cmd_attach_run(collector, operation, signals))
        attach_forget(operation->pid); /* if that fails, the next attach does it */
    return cmd_attach_conclude(collector, options->record.quiet);
}

static int cmd_attach_detach(pid_t pid)
{
    if (attach_end(pid) < 0 || attach_wait_safe(pid) < 0)
        return cmd_attach_refuse();
    attach_forget(pid);
    return 0;
}

int cmd_attach(int argc, char **argv)
{
    struct attach_options options = {.record = record_options_default()};
    struct operation operation = {.pid = 0};
    char library[PATH_MAX];
    command.entries = cmd_attach_table();
    options.record.command = &command;
    int operand = options_parse(&command, argc, argv, &options);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&command, "no process given");
    if (operand + 1 < argc)
        return options_usage_error(&command, "one process at a time");
    if (human_parse_pid(argv[operand], &operation.pid))
        return options_usage_error(&command, "'%s' is no process id", argv[operand]);
    int refused = record_options_check(&options.record);
    if (refused)
        return refused;
    if (!launch_find_library("attach", "libtidemark.so", library))
        return OPTIONS_EXIT_FAILURE;
    if (attach_check(operation.pid, library) < 0)
        return cmd_attach_refuse();
    refused = options.detach ? 0 : record_options_check_output(&options.record, "attach");
    if (refused)
        return refused;
    operation.library = library;
    cmd_attach_ignore_stops();
    return options.detach ? cmd_attach_detach(operation.pid)
                          : cmd_attach_record(&options, &operation);
}

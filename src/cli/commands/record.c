/* tidemark record: starts a program with the recorder preloaded, and stands in for it towards the
 * caller (signals, job control, exit status). A process of its own (apart.h) collects from the
 * program and its children. At the end it prints the summary. */
#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/now.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "commands/apart.h"
#include "commands/background.h"
#include "commands/collect.h"
#include "commands/collect_node.h"
#include "commands/held_stderr.h"
#include "commands/launch.h"
#include "commands/record_options.h"
#include "commands/shared_limits.h"
#include "commands/stand_in.h"
#include "collector/collector.h"
#include "collector/own_group.h"
#include "collector/job_place.h"
#include "jobdir/rank_choice.h"
#include "procfs/launcher.h"
#include "profile/profile.h"
#include "profile/profile_for_summary.h"
#include "report/report.h"
#include "wire/wire.h"

/* The state of record, and that of its collector, each in its own process (apart.h). */
struct record_job {
    struct collector
        *collector; /* record closes its own as soon as the collector's process has it */
    struct apart apart;
    sigset_t old_mask;
    int signals; /* record's: signalfd */
    pid_t child;
    bool ended;
    int wait_status;
    struct background background;
    uint64_t end_ns; /* CLOCK_MONOTONIC: when the program ended; 0: it runs */
    bool summed_up;
    bool quiet;
    bool alone;          /* the collector's: record is gone */
    int snapshot_signal; /* not passed on; 0: none */
    char session[108];   /* the collector's name */
    /* after a death of the collector */
    unsigned renewals; /* how many collectors have followed the first one */
    char *output;      /* output pattern of the newest one; NULL: it is the first */
    struct apart dead; /* the first that died */
    bool had_ended;    /* the program had ended before that */
};

/* If someone kills collectors again and again, no more are started. */
enum { RENEWALS_MAX = 3 };

/* ---- Starting ---- */

/* The libraries to preload: one, or two. */
struct libraries {
    char recorder[PATH_MAX], allocator[PATH_MAX]; /* "": the program's own */
};

/* With both, malloc is the recorder's, which calls that of the library behind it. Where pages are
 * recorded, one library is both. */
static bool cmd_record_find_libraries(struct libraries *libraries,
                                      const struct record_options *options)
{
    *libraries->allocator = '\0';
    if (options->events)
        return launch_find_preload("record", "libtidemark-bfm.so", libraries->recorder);
    return launch_find_preload("record", "libtidemark.so", libraries->recorder) &&
           (!options->allocator ||
            launch_find_preload("record", "libbfm.so.0", libraries->allocator));
}

static void cmd_record_preload(const struct libraries *libraries)
{
    if (*libraries->allocator)
        launch_preload_of_session(libraries->allocator);
    launch_preload_of_session(libraries->recorder);
}

static void cmd_record_run_child(struct record_job *job, char **argv,
                                 const struct libraries *libraries, int failure)
{
    cmd_record_preload(libraries);
    setenv(WIRE_SESSION_VARIABLE, job->session, 1);
    sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
    launch_become(argv[0], argv);
    int error = errno;
    if (write(failure, &error, sizeof error) != sizeof error)
        _exit(OPTIONS_EXIT_FAILURE);
    _exit(LAUNCH_EXIT_NOT_FOUND);
}

/* 0, or the exit status for a program that could not be started. */
static int cmd_record_start_child(struct record_job *job, char **argv,
                                  const struct libraries *libraries)
{
    int failure[2], error = 0;
    if (pipe2(failure, O_CLOEXEC) < 0 || (job->child = fork()) < 0) {
        fprintf(stderr, "tidemark record: cannot start a process: %s\n", strerror(errno));
        return OPTIONS_EXIT_FAILURE;
    }
    if (job->child == 0)
        cmd_record_run_child(job, argv, libraries, failure[1]);
    close(failure[1]);
    ssize_t got;
    do
        got = read(failure[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(failure[0]);
    if (got != sizeof error) {
        apart_tell(&job->apart, APART_STARTED, job->child);
        return 0;
    }
    waitpid(job->child, NULL, 0);
    return launch_say_cannot("record", argv[0], error);
}

/* ---- The summary ---- */

static void cmd_record_add_error(struct strbuf *line, const struct process_image_result *result)
{
    if (result->error)
        strbuf_add_string(line, result->error);
    if (result->error && result->trace_error)
        strbuf_add_string(line, "; ");
    if (result->trace_error)
        strbuf_addf(line, "%s; %s%s", result->trace_error,
                    result->trace ? "what came before that is in it" : "there is no trace",
                    result->error ? "" : ", and the profile is whole");
}

/* The number of results from `at` on that have an error and the program of result `at`. 0: result
 * `at` has no error, or a result from `first` on with that program stands before it. */
static size_t cmd_record_alike(const struct collector *collector, size_t first, size_t at)
{
    const char *program = collector_result(collector, at)->program;
    size_t count = 0;
    for (size_t i = first; i < collector_result_count(collector); i++) {
        const struct process_image_result *other = collector_result(collector, i);
        if ((!other->error && !other->trace_error) || strcmp(other->program, program) != 0)
            continue;
        if (i < at)
            return 0;
        if (i == at || count)
            count++;
    }
    return count;
}

/* Names the programs of the other processes with an error, from result `first` on. */
static void cmd_record_add_others(struct strbuf *line, const struct collector *collector,
                                  size_t first, size_t others)
{
    enum { PROGRAMS_NAMED = 4 };
    size_t named = 0, programs = 0;
    strbuf_addf(line, " (and %zu more process%s", others, others == 1 ? "" : "es");
    for (size_t i = first; i < collector_result_count(collector) && programs < PROGRAMS_NAMED;
         i++) {
        size_t alike = cmd_record_alike(collector, first, i);
        if (!alike)
            continue;
        strbuf_add_string(line, programs++ ? ", " : ": ");
        text_add_safe_string(line, collector_result(collector, i)->program);
        if (alike > 1)
            strbuf_addf(line, " %zu", alike);
        named += alike;
    }
    if (named && named < others)
        strbuf_addf(line, ", and %zu more", others - named);
    strbuf_add_string(line, ")");
}

/* One line for all: the first error explains the others. */
static void cmd_record_say_errors(struct collector *collector)
{
    struct strbuf line = STRBUF_INIT;
    size_t others = collector_rows_without_room(collector), first = 0;
    if (others)
        strbuf_addf(&line, "%s", error_text());
    others -= others > 0;
    for (size_t i = 0; i < collector_result_count(collector); i++) {
        const struct process_image_result *result = collector_result(collector, i);
        if (!result->error && !result->trace_error)
            continue;
        if (line.length) {
            others++;
            continue;
        }
        cmd_record_add_error(&line, result);
        first = i + 1;
    }
    if (others)
        cmd_record_add_others(&line, collector, first, others);
    if (line.length)
        fprintf(stderr, "tidemark: %s\n", line.data);
    strbuf_release(&line);
}

/* The program that was asked for, or what it became by exec (a wrapper script, env). NULL: it never
 * connected. */
static const struct process_image_result *cmd_record_main_result(const struct record_job *job)
{
    const struct process_image_result *found = NULL;
    for (size_t i = 0; i < collector_result_count(job->collector); i++) {
        const struct process_image_result *result = collector_result(job->collector, i);
        if (result->pid == job->child && (!found || !result->replaced))
            found = result;
    }
    return found;
}

/* With --only the program itself may not be recorded. */
static const struct process_image_result *
cmd_record_largest_result(const struct collector *collector)
{
    const struct process_image_result *found = NULL;
    for (size_t i = 0; i < collector_result_count(collector); i++) {
        const struct process_image_result *result = collector_result(collector, i);
        if (result->path && (!found || result->peak_bytes > found->peak_bytes))
            found = result;
    }
    return found;
}

/* When the process ended, in ns since 1970; 0: not known. */
static uint64_t cmd_record_end_of(const struct process_image_result *result)
{
    struct profile *profile;
    if (!result->path || profile_read_meta(&profile, result->path) < 0)
        return 0;
    uint64_t start = facts_number(profile, PROFILE_META_START);
    uint64_t duration = facts_number(profile, PROFILE_META_DURATION);
    profile_free(profile);
    return start && duration ? start + duration : 0;
}

/* A daemon goes into the background: the process that was started ends with status 0, and a fork of
 * it that holds more runs on. Then that fork is the one to show. */
static const struct process_image_result *
cmd_record_daemon_result(const struct record_job *job,
                         const struct process_image_result *main_result)
{
    const uint64_t outlives_ns = 100000000;
    const struct process_image_result *found = main_result;
    if (!main_result || !job->ended || job->wait_status || collector_over(job->collector))
        return main_result;
    uint64_t end = 0; /* read when there is one to compare with: most programs are alone */
    for (size_t i = 0; i < collector_result_count(job->collector); i++) {
        const struct process_image_result *result = collector_result(job->collector, i);
        if (result->peak_bytes <= found->peak_bytes || result->pid == job->child ||
            strcmp(result->program, main_result->program) != 0)
            continue;
        if (!end && !(end = cmd_record_end_of(main_result)))
            return main_result;
        if (cmd_record_end_of(result) > end + outlives_ns)
            found = result;
    }
    return found;
}

/* A script or a compiler's driver holds next to nothing, and means the program that it ran: that is
 * the one to show. Of one that a signal has killed its own end is what matters. */
static const struct process_image_result *
cmd_record_driven_result(const struct record_job *job,
                         const struct process_image_result *main_result)
{
    const uint64_t least_bytes = 1u << 20, times = 16;
    const struct process_image_result *largest = cmd_record_largest_result(job->collector);
    bool is_killed = job->ended && WIFSIGNALED(job->wait_status);
    bool is_driver = main_result && main_result->path && largest && !is_killed &&
                     strcmp(largest->program, main_result->program) != 0 &&
                     main_result->peak_bytes < least_bytes && largest->peak_bytes >= least_bytes &&
                     largest->peak_bytes / times >= main_result->peak_bytes;
    return is_driver ? largest : main_result;
}

static void cmd_record_say_unrecorded(const struct record_job *job,
                                      const struct record_options *options, const char *program)
{
    size_t passed_over = collector_passed_over(job->collector);
    if (passed_over > 0)
        fprintf(stderr,
                "tidemark: nothing was recorded: of %zu program%s that ran none is called '%s' "
                "(--only)\n",
                passed_over, passed_over == 1 ? "" : "s", options->only);
    else
        fprintf(stderr,
                "tidemark: '%s' was not recorded: it ran without the recorder (does it clear its "
                "environment, or start itself by other means?)\n",
                program);
}

static void cmd_record_say_trace(const struct process_image_result *shown)
{
    if (shown->trace)
        fprintf(stderr, "  trace        %s (%s)\n", shown->trace,
                human_bytes(shown->trace_bytes).text);
}

/* The file that was asked for is of the program itself. */
static void cmd_record_say_starter(const struct process_image_result *main_result,
                                   const struct process_image_result *shown)
{
    struct strbuf line = STRBUF_INIT;
    if (!main_result || main_result == shown || !main_result->path || main_result->small)
        return;
    strbuf_add_string(&line, "  started by   ");
    text_add_safe_string(&line, main_result->program);
    strbuf_addf(&line, " (pid %d): %s\n", (int)main_result->pid, main_result->path);
    fputs(line.data, stderr);
    strbuf_release(&line);
}

/* Names the largest of the other processes: whoever records a driver or a script means the program
 * that it runs. */
static void cmd_record_say_others(const struct collector *collector,
                                  const struct process_image_result *main_result,
                                  const struct process_image_result *shown)
{
    struct strbuf line = STRBUF_INIT;
    size_t count = 0;
    const struct process_image_result *largest = NULL;
    for (size_t i = 0; i < collector_result_count(collector); i++) {
        const struct process_image_result *result = collector_result(collector, i);
        if (result == shown || !result->path || result->small)
            continue;
        count++;
        if (!largest || result->peak_bytes > largest->peak_bytes)
            largest = result;
    }
    if (count == 0)
        return;
    char label[32] = "another";
    if (count > 1)
        snprintf(label, sizeof label, "%zu others", count);
    strbuf_addf(&line, "  %-12s %s", label, count > 1 ? "the largest is " : "");
    text_add_safe_string(&line, largest->program);
    strbuf_addf(&line, " (pid %d), peak %s: %s\n", (int)largest->pid,
                human_bytes(largest->peak_bytes).text, largest->path);
    fputs(line.data, stderr);
    strbuf_release(&line);
    if (count > 1)
        cmd_record_say_starter(main_result, shown);
}

static void cmd_record_say_small(const struct collector *collector,
                                 const struct process_image_result *shown)
{
    const char *path;
    size_t count = collector_rows(collector, &path);
    char program[64];
    uint64_t peak_bytes;
    pid_t largest = collector_largest_row(collector, program, &peak_bytes);
    if (!count)
        return;
    fprintf(stderr, "  small        %zu small process%s in %s\n", count,
            count == 1 ? " is" : "es are", path);
    if (largest && peak_bytes > shown->peak_bytes)
        fprintf(stderr, "               more than that had %s, %s: tidemark report %s@%d\n",
                program, human_bytes(peak_bytes).text, path, (int)largest);
}

/* Says how many processes have no profile, since their memory is missing in sums of profiles. */
static void cmd_record_say_unfollowed(const struct collector *collector)
{
    static const char *const why[] = {
        [WIRE_UNFOLLOWED_ENVIRONMENT] = "with an emptied environment",
        [WIRE_UNFOLLOWED_PRELOAD] = "with LD_PRELOAD taken away or replaced",
        [WIRE_UNFOLLOWED_PRIVILEGED] = "with privileges (setuid)",
        [WIRE_UNFOLLOWED_UNLOADABLE] =
            "statically linked, of 32 bits, for another machine or with a sanitizer",
        [WIRE_UNFOLLOWED_HIDDEN] =
            "where Tidemark's library cannot be opened (chroot, another user)",
    };
    struct strbuf line = STRBUF_INIT;
    uint32_t all = 0;
    for (enum wire_unfollowed kind = 0; kind < WIRE_UNFOLLOWED_KINDS; kind++) {
        uint32_t count = collector_unfollowed(collector, kind);
        if (count)
            strbuf_addf(&line, "%s%u %s", all ? ", " : "", count, why[kind]);
        all += count;
    }
    if (all)
        fprintf(stderr, "  not recorded %s\n", line.data);
    strbuf_release(&line);
}

enum { MANY_PROFILES = 10 };

/* Can a shell and --only take the name as it is? */
static bool cmd_record_is_plain_name(const char *name)
{
    return *name &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-") ==
               strlen(name);
}

/* A wrapper or a build leaves dozens of profiles, of which one program's are wanted: most likely
 * those of the program that held most. */
static void cmd_record_say_only(const struct collector *collector)
{
    size_t profiles = 0, alike = 0;
    const struct process_image_result *largest = cmd_record_largest_result(collector);
    const char *name = largest ? largest->program : "";
    for (size_t i = 0; i < collector_result_count(collector); i++) {
        const struct process_image_result *result = collector_result(collector, i);
        profiles += result->path && !result->small;
        alike += result->path && !result->small && !strcmp(result->program, name);
    }
    if (profiles < MANY_PROFILES || 2 * alike > profiles || !cmd_record_is_plain_name(name))
        return;
    fprintf(stderr, "  too many?    --only=%s leaves out all else that runs\n", name);
}

/* As a shell that ends by executing the server, or a version manager in front of an interpreter. */
static void cmd_record_say_executed(const struct profile *profile,
                                    const struct record_options *options)
{
    const char *end = profile_get(profile, PROFILE_META_END);
    if (!options->follow && end && !strcmp(end, "exec"))
        fputs("  not recorded what it executed in its place: that takes a recording without "
              "--no-follow\n",
              stderr);
}

static void cmd_record_say_summary(const struct record_job *job,
                                   const struct record_options *options,
                                   const struct process_image_result *shown)
{
    const struct collector *collector = job->collector;
    struct profile *profile;
    if (!shown->path)
        return;
    if (profile_read_for_summary(&profile, shown->path) < 0) {
        fprintf(stderr, "tidemark: %s\n", error_text());
        return;
    }
    report_summary(stderr, profile, shown->path);
    cmd_record_say_executed(profile, options);
    profile_free(profile);
    cmd_record_say_trace(shown);
    cmd_record_say_others(collector, cmd_record_main_result(job), shown);
    cmd_record_say_small(collector, shown);
    cmd_record_say_unfollowed(collector);
    record_say_missing_functions();
    if (!options->only)
        cmd_record_say_only(collector);
}

static void cmd_record_say_job(const struct collector *collector, const char *directory)
{
    size_t count = 0;
    for (size_t i = 0; i < collector_result_count(collector); i++)
        count += collector_result(collector, i)->path != NULL;
    fprintf(stderr, "tidemark: %zu profile%s in %s: tidemark job %s shows them\n", count,
            count == 1 ? "" : "s", directory, directory);
}

/* Called when recording is over, which may be long before the program is. */
static void cmd_record_sum_up(struct record_job *job, const struct record_options *options,
                              const char *program)
{
    const struct process_image_result *shown =
        cmd_record_driven_result(job, cmd_record_daemon_result(job, cmd_record_main_result(job)));
    const char *over = collector_over(job->collector);
    job->summed_up = true;
    collector_rows_without_room(job->collector); /* adds rows for them while there is room */
    if (!shown && options->only)
        shown = cmd_record_largest_result(job->collector);
    /* cmd_record_say_errors() says why */
    bool failed = options->only && collector_result_count(job->collector);
    if (!shown && !failed && !collector_turned_away(job->collector))
        cmd_record_say_unrecorded(job, options, program);
    else if (options->job && !options->quiet)
        cmd_record_say_job(job->collector, options->job);
    else if (shown && !options->quiet)
        cmd_record_say_summary(job, options, shown);
    if (!options->quiet)
        cmd_record_say_errors(job->collector);
    if (over && !job->ended && !options->quiet)
        fprintf(stderr, "tidemark: recording ended %s; the program goes on\n", over);
    if (options->until && !over && !options->quiet)
        fprintf(stderr, "tidemark: no mark '%s' came: recorded to the end\n", options->until);
}

/* ---- Standing in for it ---- */

static int cmd_record_watch_signals(struct record_job *job)
{
    sigset_t watched;
    stand_in_signals(&watched);
    if (job->snapshot_signal)
        sigaddset(&watched, job->snapshot_signal);
    sigprocmask(SIG_BLOCK, &watched, &job->old_mask);
    job->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return job->signals < 0 ? -errno : 0;
}

static void cmd_record_see_child(struct record_job *job)
{
    int status;
    pid_t ended = 0;
    while (!job->ended && job->child > 0 && (ended = waitpid(job->child, &status, WNOHANG)) < 0 &&
           errno == EINTR)
        ;
    if (ended <= 0 || ended != job->child || (!WIFEXITED(status) && !WIFSIGNALED(status)))
        return;
    job->ended = true;
    job->wait_status = status;
    apart_tell(&job->apart, APART_ENDED, status);
}

static void cmd_record_pass_on(struct record_job *job, const struct signalfd_siginfo *signal)
{
    siginfo_t received = {.si_signo = (int)signal->ssi_signo, .si_code = signal->ssi_code};
    int number = received.si_signo;
    if (number == job->snapshot_signal)
        apart_tell(&job->apart, APART_SNAPSHOT, number);
    else if (number != SIGCHLD)
        stand_in_pass_on(&received, job->ended ? 0 : job->child);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP)
        apart_tell(&job->apart, APART_LEAVE, 0);
}

/* Waits for the end of the program or of the collector, a signal, or a file that is begun. */
static void cmd_record_wait(struct record_job *job)
{
    struct signalfd_siginfo signal;
    struct pollfd polls[] = {{.fd = job->signals, .events = POLLIN},
                             {.fd = job->apart.silent ? -1 : job->apart.socket, .events = POLLIN}};
    poll(polls, sizeof polls / sizeof *polls, -1);
    apart_hear_begun(&job->apart);
    while (read(job->signals, &signal, sizeof signal) == sizeof signal)
        cmd_record_pass_on(job, &signal);
}

/* ---- Collecting for it ---- */

static void cmd_record_hear_end(struct record_job *job, int status)
{
    job->ended = true;
    job->end_ns = now_monotonic_ns();
    job->wait_status = status;
    if (WIFSIGNALED(status))
        collector_tell_end(job->collector, job->child, IMAGE_END_SIGNAL, WTERMSIG(status));
    else
        collector_tell_end(job->collector, job->child, IMAGE_END_EXIT, WEXITSTATUS(status));
}

/* When the program has ended, or the time is over, the user may end the waiting for its children
 * and for names of functions. */
static void cmd_record_hear_leave(struct record_job *job)
{
    if (!job->ended && !collector_over(job->collector))
        return;
    if (job->ended)
        held_stderr_end(); /* the user waits: show what is said from now on */
    collector_leave(job->collector);
}

static void cmd_record_hear(struct record_job *job, const struct apart_message *message)
{
    switch ((enum apart_news)message->news) {
    case APART_STARTED:
        job->child = message->value;
        collector_own_child(job->collector, job->child);
        break;
    case APART_ENDED:
        cmd_record_hear_end(job, message->value);
        break;
    case APART_SNAPSHOT:
        snapshot_on_signal(job->collector, message->value);
        break;
    case APART_LEAVE:
        cmd_record_hear_leave(job);
        break;
    }
}

static void cmd_record_hear_all(struct record_job *job)
{
    struct apart_message message;
    int heard;
    while ((heard = apart_hear(&job->apart, &message)) > 0)
        cmd_record_hear(job, &message);
    if (heard == 0)
        return;
    apart_release(&job->apart); /* the processes that still run are recorded to their ends */
    collector_own_child(job->collector, 0);
    job->alone = job->ended = true;
}

/* On a terminal the summary is seen at once, else when the program has ended. */
static void cmd_record_sum_up_early(struct record_job *job, const struct record_options *options,
                                    const char *program)
{
    if (held_stderr_terminal() >= 0)
        held_stderr_end();
    cmd_record_sum_up(job, options, program);
}

/* Sums up the program while its daemons are recorded to their ends. */
static void cmd_record_sum_up_foreground(struct record_job *job,
                                         const struct record_options *options, const char *program)
{
    const struct process_image_result *started = cmd_record_main_result(job);
    bool is_its_daemon = !job->wait_status && background_has(job->collector, started);
    if (!is_its_daemon && !job->summed_up)
        cmd_record_sum_up(job, options, program);
    if (is_its_daemon && !job->quiet && options->job)
        cmd_record_say_job(job->collector, options->job);
    if (is_its_daemon && !job->quiet)
        cmd_record_say_errors(job->collector);
    if (!job->quiet)
        background_say(job->collector, is_its_daemon ? started : NULL);
    job->summed_up = true;
}

/* Called when only daemons are left. */
static void cmd_record_go_on_alone(struct record_job *job, const struct record_options *options,
                                   const char *program)
{
    cmd_record_sum_up_foreground(job, options, program);
    held_stderr_end();
    background_let_go();
    apart_go_on_alone(&job->apart);
    job->alone = true;
}

static void cmd_record_say_still_running(struct record_job *job, int *terminal)
{
    const uint64_t patience_ns = 1000000000;
    size_t running = collector_running(job->collector);
    if (*terminal < 0 || !running || now_monotonic_ns() - job->end_ns < patience_ns)
        return;
    dprintf(*terminal,
            "tidemark: the program has ended; %zu of its processes still run and are recorded "
            "(Ctrl-C leaves them)\n",
            running);
    *terminal = -1;
}

static void cmd_record_run_to_end(struct record_job *job, const struct record_options *options,
                                  const char *program)
{
    enum { ASK_MS = 100 };
    int terminal = held_stderr_terminal();
    while (!job->ended || collector_active(job->collector) > 0) {
        if (collector_over(job->collector) && !collector_active(job->collector) && !job->summed_up)
            cmd_record_sum_up_early(job, options, program);
        bool is_asked = job->end_ns && !job->alone;
        if (collector_wait(job->collector, job->apart.socket, is_asked ? ASK_MS : -1))
            cmd_record_hear_all(job);
        if (!job->end_ns || job->alone)
            continue;
        cmd_record_say_still_running(job, &terminal);
        if (background_is_all(&job->background, job->collector))
            cmd_record_go_on_alone(job, options, program);
    }
}

/* Never returns. */
static void cmd_record_collect(struct record_job *job, const struct record_options *options,
                               const char *program)
{
    close(job->signals);
    collector_prepare_limits();
    collector_tell_begun(job->collector, job->apart.socket, job->apart.unsaved);
    if (job->renewals)
        held_stderr_prepare(true); /* the first collector's file has all there is to say */
    held_stderr_begin();
    own_group_take_along(getppid());
    apart_say_ready(&job->apart);
    cmd_record_run_to_end(job, options, program);
    held_stderr_end();
    if (!job->summed_up && !job->alone && job->child)
        cmd_record_sum_up(job, options, program);
    collector_close(job->collector);
    _exit(0);
}

/* 0: the new process collects; else -errno, or the pid of a collector that has ended. */
static pid_t cmd_record_fork_collector(struct record_job *job, const struct record_options *options,
                                       const char *program)
{
    pid_t pid = apart_fork(&job->apart);
    if (pid == 0)
        cmd_record_collect(job, options, program);
    collector_close(job->collector); /* the new process has it */
    job->collector = NULL;
    return pid > 0 && apart_wait_until_ready(&job->apart) ? 0 : pid;
}

/* 0, or the exit status when the collector cannot be started. */
static int cmd_record_start_collector(struct record_job *job, const struct record_options *options,
                                      const char *program)
{
    snprintf(job->session, sizeof job->session, "%s", collector_name(job->collector));
    held_stderr_prepare(options->quiet);
    pid_t pid = cmd_record_fork_collector(job, options, program);
    if (pid == 0)
        return 0;
    fprintf(stderr, "tidemark record: cannot collect: %s\n",
            pid < 0 ? strerror(-pid) : "its process ended at once");
    return OPTIONS_EXIT_FAILURE;
}

/* ---- When the collector dies ---- */

static bool cmd_record_was_killed(const struct apart *apart)
{
    return WIFSIGNALED(apart->wait_status) && WTERMSIG(apart->wait_status) == SIGKILL;
}

/* A collector that ends by a fault or a limit of its own would do so again. The window of the
 * recording, and what a job's directory says of its ranks, were known to the dead one alone. */
static bool cmd_record_may_renew(const struct record_job *job, const struct record_options *options)
{
    return !job->ended && job->renewals < RENEWALS_MAX && cmd_record_was_killed(&job->apart) &&
           !options->job && !options->start_on && !options->until &&
           options->for_ns == RECORD_UNLIMITED && !options->trigger_count;
}

/* "run.tmk" becomes "run-2.tmk": the file of the dead collector stays as it is. */
static char *cmd_record_next_output(const char *pattern, unsigned number)
{
    size_t length = strlen(pattern);
    bool has_suffix = length > 4 && strcmp(pattern + length - 4, ".tmk") == 0;
    char *output;
    if (asprintf(&output, "%.*s-%u%s", (int)(has_suffix ? length - 4 : length), pattern, number,
                 has_suffix ? ".tmk" : "") < 0)
        memory_exhausted();
    return output;
}

/* Starts a collector under the session's name, for processes that begin from now on. Those that run
 * already go on unrecorded. */
static bool cmd_record_renew(struct record_job *job, const struct record_options *options)
{
    struct collector_options wanted = record_collector_options(options);
    struct apart died = job->apart;
    pid_t child = job->child;
    char *output = cmd_record_next_output(wanted.output, job->renewals + 2);
    wanted.output = output;
    if (collector_open(&job->collector, &wanted, job->session) < 0) {
        free(output);
        return false;
    }
    job->renewals++;
    job->child = 0; /* the new collector has no program of its own to sum up */
    bool renewed = cmd_record_fork_collector(job, options, NULL) == 0;
    job->child = child;
    if (!renewed) {
        job->apart = died;
        free(output);
        return false;
    }
    apart_release(&died);
    free(job->output);
    job->output = output;
    return true;
}

/* True: another collector has taken over. */
static bool cmd_record_see_death(struct record_job *job, const struct record_options *options,
                                 bool had_ended)
{
    bool is_first = !job->dead.ended;
    apart_finish_files(&job->apart);
    if (is_first) {
        job->dead = job->apart; /* a copy with `lost` alone, for the sentence */
        job->dead.begun = STRBUF_INIT;
        job->dead.unsaved = NULL;
        job->had_ended = had_ended;
        job->apart.lost = STRBUF_INIT;
    }
    return cmd_record_may_renew(job, options) && cmd_record_renew(job, options);
}

/* The sentence about a dead collector depends on whether the program had ended before. */
static int cmd_record_stand_in(struct record_job *job, const struct record_options *options)
{
    bool finished = false;
    while (!job->ended || !(job->apart.ended || job->apart.goes_on)) {
        bool had_ended = job->ended;
        cmd_record_wait(job);
        cmd_record_see_child(job);
        if (!finished && apart_see_end(&job->apart, false)) {
            finished = true;
            if (apart_died(&job->apart) && cmd_record_see_death(job, options, had_ended))
                finished = false;
        }
    }
    if (job->dead.ended) {
        held_stderr_tell();
        if (!job->quiet)
            apart_say_death(&job->dead, job->had_ended, job->output);
        strbuf_release(&job->dead.lost);
    }
    int status = job->wait_status;
    apart_release(&job->apart);
    free(job->output);
    return launch_end_like(status);
}

/* ---- A rank of a job ---- */

/* Root may use what a disk keeps for root. Some disks do not say how large they are. */
static bool cmd_record_has_room(const char *directory)
{
    struct statvfs disk;
    return statvfs(directory, &disk) < 0 || !disk.f_blocks ||
           (geteuid() ? disk.f_bavail : disk.f_bfree);
}

/* Said by rank 0 alone: once for a whole job. */
static void cmd_record_announce(const struct record_options *options, const struct launcher *rank)
{
    const char *id = options->job_id ? options->job_id : rank->job_id;
    if (options->quiet || rank->rank != 0)
        return;
    fprintf(stderr,
            "tidemark: recording the ranks' profiles into %s%s%s: tidemark job %s shows "
            "them\n",
            options->job, *id ? "/" : "", id, options->job);
    if (!cmd_record_has_room(options->job))
        fprintf(stderr, "tidemark: no room is left there: profiles will be missing\n");
}

/* This process becomes the program. */
static int cmd_record_become(char **argv)
{
    launch_become(argv[0], argv);
    return launch_say_cannot("record", argv[0], errno);
}

/* Ranks that --ranks leaves out are started without the recorder. */
static bool cmd_record_is_left_out(const struct record_options *options,
                                   const struct launcher *rank)
{
    struct rank_choice list;
    return options->ranks && rank->name && rank_choice_parse(options->ranks, &list) == 0 &&
           !rank_choice_has(&list, rank->rank);
}

/* The words as main() got them; word `operand` is the program. */
struct command_line {
    char **words;
    int operand;
};

/* May ranks share a collector? These options are about one rank: when it is recorded, how much
 * memory its collector may have, and which signals or functions it takes. */
static bool cmd_record_shares(const struct record_options *options)
{
    return options->collector == RECORD_COLLECTOR_NODE && options->for_ns == RECORD_UNLIMITED &&
           !options->start_on && !options->until && !options->trigger_count &&
           !options->snapshot_signal && !options->memory_bytes && !options->allocator_functions;
}

/* 0: the node's collector expects this process; else it needs a collector of its own. */
static int cmd_record_join_node(const struct record_options *options, const struct launcher *rank,
                                const struct command_line *line,
                                const struct collector_options *wanted, char *name, size_t bytes)
{
    char address[COLLECT_NODE_ADDRESS_BYTES];
    const char *id = options->job_id ? options->job_id : rank->job_id;
    if (!cmd_record_shares(options) || collect_node_is_limited() ||
        !collect_node_address(address, options->job, id, line->words, (size_t)line->operand))
        return -ENOTSUP;
    return collect_on_node(wanted, address, name, bytes);
}

/* Under an MPI launcher this process becomes the program, and the collector runs beside it. A
 * SIGKILL of the launcher then ends the rank itself; with this process in between it would leave
 * the program running. Returns the exit status for a program that could not be started. */
static int cmd_record_become_rank(const struct record_options *options, const struct launcher *rank,
                                  const struct command_line *line,
                                  const struct libraries *libraries)
{
    char name[108];
    struct collector_options wanted = record_collector_options(options);
    wanted.exit_waits = true;
    int error = cmd_record_join_node(options, rank, line, &wanted, name, sizeof name);
    if (error)
        error = collect_in_background(&wanted, options->snapshot_signal, name, sizeof name);
    if (error) {
        fprintf(stderr, "tidemark record: cannot collect: %s\n", strerror(-error));
        return OPTIONS_EXIT_FAILURE;
    }
    cmd_record_announce(options, rank);
    cmd_record_preload(libraries);
    setenv(WIRE_SESSION_VARIABLE, name, 1);
    return cmd_record_become(line->words + line->operand);
}

/* With lower limits there is no collector. With much lower ones there is no program either: its
 * loader finds no room for the recorder and complains of the C library. */
static int cmd_record_refuse(const struct record_options *options, const char *program)
{
    static const struct launch_needs needs = {.address_space = 32 << 20, .data = 12 << 20};
    int refused = record_options_check(options);
    if (refused == 0)
        refused = launch_refuse("record", program);
    if (refused == 0)
        refused = launch_refuse_limits("record", &needs);
    return refused ? refused : record_options_check_output(options, "record");
}

int cmd_record(int argc, char **argv)
{
    struct record_options options = record_options_default();
    held_stderr_keep_numbers();
    int operand = options_parse(&record_command, argc, argv, &options);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    if (operand == argc)
        return options_usage_error(&record_command, "no program given");
    int refused = cmd_record_refuse(&options, argv[operand]);
    if (refused != 0)
        return refused;
    struct launcher rank;
    launcher_of(&rank, getpid());
    if (cmd_record_is_left_out(&options, &rank))
        return cmd_record_become(argv + operand);
    if (options.ranks && !rank.name)
        return options_usage_error(&record_command,
                                   "--ranks: this process is no rank; put record behind the "
                                   "launcher: mpirun … tidemark record --job=DIR --ranks=LIST …");
    struct libraries libraries;
    if (!cmd_record_find_libraries(&libraries, &options))
        return OPTIONS_EXIT_FAILURE;
    if (options.job && job_place_prepare(options.job) < 0) {
        fprintf(stderr, "tidemark record: %s\n", error_text());
        return OPTIONS_EXIT_FAILURE;
    }
    if (options.job && rank.name)
        return cmd_record_become_rank(&options, &rank, &(struct command_line){argv, operand},
                                      &libraries);
    struct record_job job = {.signals = -1,
                             .snapshot_signal = options.snapshot_signal,
                             .quiet = options.quiet,
                             .background = {.session = getsid(0), .is_waited_for = options.waits}};
    const char *complaint = triggers_complaint(options.triggers, options.trigger_count, getpid());
    if (complaint) /* of an option, before the program starts: -q is for later sentences */
        fprintf(stderr, "tidemark record: %s\n", complaint);
    if (!options.quiet)
        shared_limits_say("record");
    struct collector_options wanted = record_collector_options(&options);
    int status = cmd_record_watch_signals(&job);
    if (status == 0)
        status = collector_open(&job.collector, &wanted, NULL);
    if (status < 0) {
        fprintf(stderr, "tidemark record: cannot collect: %s\n", collector_open_error(status));
        return OPTIONS_EXIT_FAILURE;
    }
    status = cmd_record_start_collector(&job, &options, argv[operand]);
    if (status == 0)
        status = cmd_record_start_child(&job, argv + operand, &libraries);
    if (status != 0) {
        apart_release(&job.apart);
        apart_see_end(&job.apart, true);
        return status;
    }
    return cmd_record_stand_in(&job, &options);
}

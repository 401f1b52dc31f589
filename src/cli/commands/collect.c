/* tidemark collect: the collector of a session that a preloaded library has started by itself
 * (recorder/starter.c). Not for people; its options come from TIDEMARK_OPTIONS, as `tidemark
 * record` takes them. Ends when the last process of the session has. */
#include "commands/commands.h"
#include "commands/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "base/now.h"
#include "base/options.h"
#include "commands/record_options.h"
#include "collector/collector.h"
#include "collector/job_place.h"
#include "profile/profile.h"
#include "wire/wire.h"

struct collect_options {
    uint64_t ready_fd, starter_fd;
};

static const struct option_entry entries[] = {
    {"ready-fd", 0, OPTION_NUMBER, "N", "descriptor to say that it listens",
     OPTION_TO(struct collect_options, ready_fd), false, NULL},
    {"starter-fd", 0, OPTION_NUMBER, "N", "pidfd of who starts it, if that is open",
     OPTION_TO(struct collect_options, starter_fd), false, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "collect",
    .synopsis = "--ready-fd N",
    .purpose = "Collects for programs that were started with LD_PRELOAD=libtidemark.so.",
    .entries = entries,
};

/* How long a session waits for its first process. */
enum { FIRST_PATIENCE_MS = 60000 };

/* ---- Snapshots by signal ---- */

void snapshot_on_signal(struct collector *collector, int number)
{
    char why[32];
    const char *name = sigabbrev_np(number); /* NULL: a real-time signal */
    if (name)
        snprintf(why, sizeof why, "SIG%s", name);
    else
        snprintf(why, sizeof why, "signal %d", number);
    collector_snapshot(collector, why);
}

/* A signalfd of SIGTERM and of `number` (0: none). -1: there is no descriptor left. */
static int cmd_collect_watch_signal(int number)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    if (number)
        sigaddset(&watched, number);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* SIGTERM makes the collector leave the programs and complete their profiles. If none runs any
 * more, the collector leaves a second time, which gives up the names of functions. True: SIGTERM
 * has come, and processes that are not recorded are not waited for. */
static bool cmd_collect_take_signals(struct collector *collector, int signals)
{
    bool leaves = false;
    struct signalfd_siginfo signal;
    while (read(signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo != SIGTERM) {
            snapshot_on_signal(collector, (int)signal.ssi_signo);
            continue;
        }
        leaves = true;
        collector_leave(collector);
        if (collector_running(collector) == 0)
            collector_leave(collector);
    }
    return leaves;
}

/* ---- Until all have ended ---- */

/* How often to look whether a process that is not recorded has ended. */
enum { LOOK_MS = 1000 };

static bool cmd_collect_has_ended(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    return pidfd < 0 || poll(&end, 1, 0) != 0;
}

/* Collects until all have ended. `starter`: a pidfd of the process that started this one; -1: not
 * known. That process is the first to be recorded, or it starts those that are (with --only, or
 * where it has no recorder itself). While it lives, others may still come. `signals`: of
 * cmd_collect_watch_signal(). */
static void cmd_collect_run(struct collector *collector, int starter, int signals)
{
    while (starter >= 0 && collector_active(collector) == 0 &&
           !collector_wait(collector, starter, -1))
        ;
    if (collector_active(collector) == 0)
        collector_wait(collector, -1, FIRST_PATIENCE_MS);
    bool waits = true;
    while (collector_active(collector) > 0 || (waits && !cmd_collect_has_ended(starter))) {
        if (collector_wait(collector, signals, LOOK_MS) &&
            cmd_collect_take_signals(collector, signals))
            waits = false;
        waits = waits && !collector_over(collector);
    }
}

/* The descriptor that the starter has left open; -1: there is none. To be asked before we open any
 * of our own, which would get its number. */
static int cmd_collect_starter(uint64_t fd)
{
    return fd > 2 && fd <= INT_MAX && fcntl((int)fd, F_GETFD) >= 0 ? (int)fd : -1;
}

/* The process that started this one connects at once. If it ends without that, no other will come.
 * `starter`: its pidfd; -1: there is none. */
static void cmd_collect_run_for(struct collector *collector, int starter, int signals)
{
    bool known = starter >= 0;
    bool ended = false;
    while (known && !ended && collector_active(collector) == 0)
        ended = collector_wait(collector, starter, -1);
    if (ended && collector_active(collector) == 0)
        collector_wait(collector, -1, 0); /* messages from before its end */
    if (known)
        close(starter);
    if (!ended || collector_active(collector) > 0)
        cmd_collect_run(collector, -1, signals);
}

static void cmd_collect_say_ready(int fd)
{
    if (write(fd, "", 1) < 0)
        errno = 0; /* the waiting process reads the pipe's end, and runs unrecorded */
    close(fd);
}

/* Standard error is the program's. If it is a pipe, its reader waits until all processes have
 * closed it. */
static void cmd_collect_leave_stderr(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && null != STDERR_FILENO) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
}

/* ---- In the background ---- */

/* Closes all descriptors but `kept`: they are the program's, or its launcher's, which may wait for
 * their end. */
static void cmd_collect_leave_descriptors(int kept)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (kept > 3)
        close_range(3, (unsigned)kept - 1, 0);
    close_range((unsigned)kept + 1, ~0u, 0);
}

/* The rank that starts the collector is bound to its processor, and perhaps to the memory beside
 * it. The collector is for all ranks, so it lifts both bindings. Of "all" processors the kernel
 * takes those that the user may use. */
static void cmd_collect_leave_binding(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0);
}

/* Waits a little after the last rank, so that a later one finds the collector and its names of
 * functions. */
static void cmd_collect_run_for_node(struct collector *collector, int signals)
{
    enum { LINGER_MS = 500 };
    uint64_t until_ns = 0;
    bool waits = true;
    do {
        bool is_active = collector_active(collector) > 0;
        if (is_active)
            until_ns = now_monotonic_ns() + LINGER_MS * 1000000ull;
        if (collector_wait(collector, signals, is_active ? LOOK_MS : LINGER_MS) &&
            cmd_collect_take_signals(collector, signals))
            waits = false;
        if (!waits)
            collector_expect_nobody(collector);
    } while (collector_active(collector) > 0 || (waits && now_monotonic_ns() < until_ns));
}

/* Never returns. `ready`: the descriptor that the session's name is written to. */
static void collect_alone(const struct collector_options *options, int snapshot_signal, int ready,
                          pid_t starter)
{
    struct collector *collector;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    cmd_collect_leave_descriptors(ready);
    if (options->node)
        cmd_collect_leave_binding();
    collector_prepare_limits();
    int signals = cmd_collect_watch_signal(snapshot_signal);
    int pidfd = options->node ? -1 : (int)syscall(SYS_pidfd_open, starter, 0);
    if (collector_open(&collector, options, NULL) < 0)
        _exit(OPTIONS_EXIT_FAILURE);
    if (options->node)
        collector_expect_rank(collector, starter);
    const char *name = collector_name(collector);
    bool told = write(ready, name, strlen(name) + 1) == (ssize_t)strlen(name) + 1;
    close(ready);
    if (options->node)
        cmd_collect_run_for_node(collector, signals);
    else if (told)
        cmd_collect_run(collector, pidfd, signals);
    collector_close(collector);
    _exit(0);
}

/* Signals of a terminal and of a process group are for the program alone. A node's collector stays
 * in the session of its ranks. Linux shares processors between sessions first (sched_autogroup),
 * and a session of ranks that sleep for 100 us at a time got 96 % of all processor time (decision
 * 910). */
static void cmd_collect_leave_signals(const struct collector_options *options)
{
    if (!options->node || setpgid(0, 0) < 0)
        setsid();
}

int collect_in_background(const struct collector_options *options, int snapshot_signal, char *name,
                          size_t bytes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int ready = fcntl(ends[1], F_DUPFD_CLOEXEC, 3); /* out of the way of standard streams */
    close(ends[1]);
    pid_t starter = getpid(), child = fork();
    if (child == 0) {
        cmd_collect_leave_signals(options);
        if (fork() == 0)
            collect_alone(options, snapshot_signal, ready, starter);
        _exit(0);
    }
    int error = child < 0 ? -errno : 0;
    close(ready);
    if (child > 0)
        waitpid(child, NULL, 0);
    ssize_t got;
    do
        got = read(ends[0], name, bytes);
    while (got < 0 && errno == EINTR);
    close(ends[0]);
    if (!error && (got <= 0 || name[got - 1]))
        error = -ECHILD;
    return error;
}

/* ---- The command ---- */

int cmd_collect(int argc, char **argv)
{
    struct collect_options collect = {0};
    int result = options_parse(&command, argc, argv, &collect);
    if (result < 0)
        return OPTIONS_EXIT_STATUS(result);
    int starter = cmd_collect_starter(collect.starter_fd);
    const char *session = getenv(WIRE_SESSION_VARIABLE);
    if (!session)
        return options_usage_error(&command, "this command is for the recorder's own use");
    struct record_options options;
    record_options_from_environment(&options);
    if (options.job && job_place_prepare(options.job) < 0 && !options.quiet)
        fprintf(stderr, "tidemark: this process is not recorded: %s\n", error_text());
    if (options.quiet)
        cmd_collect_leave_stderr();
    if (record_options_check_output(&options, "record") != 0)
        return OPTIONS_EXIT_FAILURE; /* the program runs, and is not recorded for nothing */
    cmd_collect_leave_stderr();
    collector_prepare_limits();
    struct collector_options wanted = record_collector_options(&options);
    wanted.exit_waits = true;
    /* This process is a session of its own, so a terminal's signals do not reach it. A service
     * manager's SIGTERM does: then the programs are left and their profiles completed. */
    struct collector *collector;
    int status = collector_open(&collector, &wanted, session);
    if (status < 0)
        return OPTIONS_EXIT_FAILURE;
    int signals = cmd_collect_watch_signal(options.snapshot_signal);
    cmd_collect_say_ready((int)collect.ready_fd);
    cmd_collect_run_for(collector, starter, signals);
    collector_close(collector);
    return 0;
}

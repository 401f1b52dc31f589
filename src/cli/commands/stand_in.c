/* Replaces a failing collector by a process that only waits for the program (stand_in.h). Fatal
 * signals and an unforeseen exit call execv() with strings that were prepared beforehand. */
#include "commands/stand_in.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/options.h"
#include "commands/commands.h"
#include "commands/held_stderr.h"
#include "commands/launch.h"

/* ---- Signals that are the program's ---- */

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};

void stand_in_signals(sigset_t *watched)
{
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(watched, forwarded[i]);
}

void stand_in_pass_on(const siginfo_t *signal, pid_t child)
{
    int number = signal->si_signo;
    /* What the terminal sends goes to the whole foreground group: the program has it already. */
    if (signal->si_code != SI_KERNEL && child > 0 && number != SIGWINCH)
        kill(child, number);
    if (number == SIGTSTP)
        raise(SIGSTOP); /* the shell sees the job stopped; SIGCONT wakes both */
}

/* ---- Becoming it ---- */

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};

/* Made beforehand: where it is read there may be no memory. */
static struct {
    char path[PATH_MAX], child[16], status[16], stderr_number[16];
    pid_t owner;
    atomic_bool under_way, ended, released;
} prepared;

/* libdw ends the process that finds no memory, by exit() with a sentence of its own. */
enum { BY_EXIT = 0 };

static void cmd_stand_in_write_text(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nobody is there to be told */
}

static void cmd_stand_in_say_why(int number)
{
    cmd_stand_in_write_text("tidemark record: the collector cannot go on (");
    cmd_stand_in_write_text(number == SIGABRT || number == BY_EXIT ? "see above"
                                                                   : sigdescr_np(number));
    cmd_stand_in_write_text("); ");
    cmd_stand_in_write_text(atomic_load(&prepared.ended)
                                ? "the program had ended, its profile is not complete\n"
                                : "the program goes on, not recorded from here on\n");
}

/* In whatever thread it happens; the others run on until exec takes them away. */
static void cmd_stand_in_become(int number)
{
    char *const argv[] = {(char *)"tidemark",
                          (char *)"stand-in",
                          prepared.child,
                          prepared.stderr_number,
                          atomic_load(&prepared.ended) ? prepared.status : NULL,
                          NULL};
    if (getpid() != prepared.owner) { /* between fork and exec */
        if (number != BY_EXIT)
            signal(number, SIG_DFL);
        return;
    }
    if (atomic_exchange(&prepared.under_way, true))
        for (;;)
            pause();
    cmd_stand_in_say_why(number);
    held_stderr_hand_over();
    execv(prepared.path, argv);
    cmd_stand_in_write_text(
        "tidemark record: and cannot wait for it, as its own program is not there any more\n");
    held_stderr_end();
    _exit(OPTIONS_EXIT_FAILURE);
}

static void cmd_stand_in_exit_unforeseen(void)
{
    if (!atomic_load(&prepared.released))
        cmd_stand_in_become(BY_EXIT);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

void stand_in_prepare(pid_t child)
{
    struct sigaction action = {.sa_handler = cmd_stand_in_become};
    if (sanitized || !launch_own_path(prepared.path))
        return;
    prepared.owner = getpid();
    snprintf(prepared.child, sizeof prepared.child, "%d", (int)child);
    snprintf(prepared.stderr_number, sizeof prepared.stderr_number, "%d", held_stderr_number());
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
    atexit(cmd_stand_in_exit_unforeseen);
}

void stand_in_tell_end(int wait_status)
{
    snprintf(prepared.status, sizeof prepared.status, "%d", wait_status);
    atomic_store(&prepared.ended, true);
}

void stand_in_release(void)
{
    atomic_store(&prepared.released, true);
    if (sanitized)
        return;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
}

/* ---- Being it ---- */

static int cmd_stand_in_wait_for(pid_t child)
{
    sigset_t watched;
    siginfo_t signal;
    int status;
    stand_in_signals(&watched);
    sigprocmask(SIG_SETMASK, &watched, NULL); /* as we got it, but without the signal that killed */
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return status;
        if (ended < 0)
            return OPTIONS_EXIT_FAILURE << 8;
        if (sigwaitinfo(&watched, &signal) > 0 && signal.si_signo != SIGCHLD)
            stand_in_pass_on(&signal, child);
    }
}

int cmd_stand_in(int argc, char **argv)
{
    pid_t child = argc > 2 ? (pid_t)atoi(argv[1]) : 0;
    if (child <= 0) {
        fputs("tidemark stand-in: this command is for the use of 'tidemark record'\n", stderr);
        return OPTIONS_EXIT_FAILURE;
    }
    held_stderr_take_over(atoi(argv[2]));
    int status = argc > 3 ? atoi(argv[3]) : cmd_stand_in_wait_for(child);
    held_stderr_end();
    return launch_end_like(status);
}

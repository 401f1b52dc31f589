/* The two processes of one `tidemark record` (apart.h). The collector sends one message for each
 * file (COLLECTOR_FILE_…). A message of one zero byte says that the collector is ready. */
#include "commands/apart.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/human.h"
#include "base/now.h"
#include "collector/collector.h"
#include "profile/profile.h"

/* A message of this one byte says that the collector goes on without record. */
#define APART_GOES_ON '.'

static void apart_become_collector(struct apart *apart, int socket)
{
    static const struct rlimit no_core = {0, 0};
    setsid(); /* signals of the terminal and of a process group are for the program alone */
    prctl(PR_SET_NAME, "tidemark-coll");
    setrlimit(RLIMIT_CORE, &no_core); /* no core file of ours among the program's files */
    apart->socket = socket;
}

pid_t apart_fork(struct apart *apart)
{
    int ends[2];
    *apart = (struct apart){.socket = -1, .begun = STRBUF_INIT, .lost = STRBUF_INIT};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    apart->unsaved = unsaved_map();
    pid_t pid = fork();
    int error = errno;
    close(ends[pid == 0 ? 0 : 1]);
    if (pid < 0)
        close(ends[0]);
    if (pid < 0)
        return -error;
    if (pid == 0) {
        apart_become_collector(apart, ends[1]);
        return 0;
    }
    apart->socket = ends[0];
    apart->pid = pid;
    return pid;
}

void apart_release(struct apart *apart)
{
    if (apart->socket >= 0)
        close(apart->socket);
    apart->socket = -1;
    strbuf_release(&apart->begun);
    strbuf_release(&apart->lost);
    if (apart->pid) /* in the collector, process images still have their places there */
        unsaved_unmap(apart->unsaved);
    apart->unsaved = NULL;
}

/* ---- In record ---- */

bool apart_wait_until_ready(struct apart *apart)
{
    char byte;
    ssize_t got;
    do
        got = recv(apart->socket, &byte, sizeof byte, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        return true;
    apart_release(apart); /* while it is open, the collector waits for us */
    apart_see_end(apart, true);
    return false;
}

/* Tries again while the kernel has no memory for the message. After the last try the socket is shut
 * down, and the other process goes on as if this one were gone. */
static void apart_send(const struct apart *apart, const void *message, size_t bytes)
{
    enum { TRIES = 20 };
    const struct timespec pause = {0, 5 * 1000 * 1000};
    for (int tries = 0; send(apart->socket, message, bytes, MSG_NOSIGNAL) < 0; tries++) {
        if (errno == EPIPE || errno == ECONNRESET)
            return; /* the caller finds out by itself that the other process has ended */
        if (tries == TRIES) {
            shutdown(apart->socket, SHUT_RDWR);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

void apart_tell(const struct apart *apart, enum apart_news news, int value)
{
    struct apart_message message = {news, value};
    apart_send(apart, &message, sizeof message);
}

void apart_hear_begun(struct apart *apart)
{
    char path[PATH_MAX];
    ssize_t got;
    while ((got = recv(apart->socket, path, sizeof path, MSG_DONTWAIT)) > 0)
        if (got == 1 && *path == APART_GOES_ON)
            apart->goes_on = true;
        else
            strbuf_add(&apart->begun, path, (size_t)got);
    if (got == 0)
        apart->silent = true;
}

bool apart_see_end(struct apart *apart, bool wait)
{
    pid_t ended = 0;
    while (!apart->ended &&
           (ended = waitpid(apart->pid, &apart->wait_status, wait ? 0 : WNOHANG)) < 0 &&
           errno == EINTR)
        ;
    if (ended == apart->pid || ended < 0)
        apart->ended = true;
    return apart->ended;
}

bool apart_died(const struct apart *apart)
{
    return apart->ended && apart->wait_status != 0;
}

/* The collector has begun a file that is an incomplete profile. */
static bool apart_is_incomplete(const char *path)
{
    struct profile *profile;
    if (profile_read_meta(&profile, path) < 0)
        return false;
    bool is = !profile->complete;
    profile_free(profile);
    return is;
}

/* Is that the profile of the program that the user named? It also says what became of the other
 * processes. */
static bool apart_is_meant(const struct apart *apart, const char *path)
{
    const char *end = apart->begun.data + apart->begun.length;
    for (const char *file = apart->begun.data; file < end; file += strlen(file) + 1)
        if (*file == COLLECTOR_FILE_MEANT && strcmp(file + 1, path) == 0)
            return true;
    return false;
}

static bool apart_has_begun(const struct apart *apart, const char *path)
{
    const char *end = apart->begun.data + apart->begun.length;
    for (const char *file = apart->begun.data; file < end; file += strlen(file) + 1)
        if (*file != COLLECTOR_FILE_MEANT && strcmp(file + 1, path) == 0 &&
            (*file == COLLECTOR_FILE_BEGUN || apart_is_incomplete(path)))
            return true;
    return false;
}

/* Adds how many processes were lost to `why`, and their programs to apart->lost. The names of the
 * programs are for the user's terminal alone: `why` goes into a profile, which may be passed on. */
static void apart_add_lost(struct apart *apart, struct strbuf *why)
{
    uint32_t count = unsaved_count(apart->unsaved);
    uint64_t now = now_ns(CLOCK_REALTIME), since = unsaved_oldest(apart->unsaved);
    if (!count)
        return;
    strbuf_addf(why,
                "; %u process%s of which nothing was saved %s lost with it (begun %s%s before)",
                count, count == 1 ? "" : "es", count == 1 ? "is" : "are",
                count == 1 ? "" : "up to ", human_duration(now > since ? now - since : 0).text);
    strbuf_addf(&apart->lost, "; lost: %u process%s of which nothing was saved (", count,
                count == 1 ? "" : "es");
    unsaved_add_programs(apart->unsaved, &apart->lost);
    strbuf_add_char(&apart->lost, ')');
}

void apart_finish_files(struct apart *apart)
{
    struct strbuf why = STRBUF_INIT, all = STRBUF_INIT;
    int status = apart->wait_status;
    if (WIFSIGNALED(status))
        strbuf_addf(&why, "the collector was killed by SIG%s",
                    sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    else
        strbuf_add_string(&why, "the collector ended by itself");
    strbuf_add_string(&all, why.data);
    apart_add_lost(apart, &all);
    apart_hear_begun(apart);
    for (size_t at = 0; at < apart->begun.length;) {
        const char *file = apart->begun.data + at;
        if (*file == COLLECTOR_FILE_SOON)
            profile_finish_cut(file + 1, apart_is_meant(apart, file + 1) ? all.data : why.data);
        else if (*file == COLLECTOR_FILE_MEANT && !apart_has_begun(apart, file + 1))
            profile_write_cut(file + 1, all.data);
        at += strlen(file) + 1;
    }
    strbuf_release(&why);
    strbuf_release(&all);
}

void apart_say_death(const struct apart *apart, bool had_ended, const char *next)
{
    int number = WIFSIGNALED(apart->wait_status) ? WTERMSIG(apart->wait_status) : SIGABRT;
    const char *why = number == SIGABRT ? "see above" : sigdescr_np(number);
    fprintf(stderr, "tidemark record: the collector cannot go on (%s); %s%s%s%s\n",
            why ? why : "signal",
            had_ended ? "the program had ended, its profile is not complete"
                      : "the program goes on, not recorded from here on",
            apart->lost.length ? apart->lost.data : "",
            next ? "; what it starts is recorded beside: " : "", next ? next : "");
}

/* ---- In the collector ---- */

void apart_say_ready(const struct apart *apart)
{
    apart_send(apart, "", 1);
}

void apart_go_on_alone(struct apart *apart)
{
    const char message = APART_GOES_ON;
    apart_send(apart, &message, sizeof message);
    apart_release(apart);
}

int apart_hear(const struct apart *apart, struct apart_message *message)
{
    ssize_t got = recv(apart->socket, message, sizeof *message, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof *message)
        return 1;
    return got < 0 && errno != ECONNRESET ? 0 : -1;
}

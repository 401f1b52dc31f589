/* Asks collectors for snapshots (ask_snapshot.h). The kernel lists the names of their sockets. Each
 * that answers has the process or says that it has not, and answers once more for each snapshot. */
#include "commands/ask_snapshot.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/options.h"
#include "base/text.h"
#include "wire/wire.h"

struct asking {
    const struct ask_snapshot *ask;
    int patience_ms;
    size_t sessions, denied; /* collectors that answered; that are another user's */
    size_t written, failed;
};

static int ask_snapshot_connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strlen(name);
    if (bytes + 1 > sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + 1, name, bytes);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* 1: there is one; 0: it has hung up; -1: it says nothing. */
static int ask_snapshot_next_answer(int fd, int patience_ms, char *text, size_t bytes)
{
    struct pollfd told = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&told, 1, patience_ms);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return -1;
    ssize_t got = recv(fd, text, bytes - 1, 0);
    if (got <= 0)
        return 0;
    text[got] = 0;
    return 1;
}

/* What lies below the directory that we are in reads better, and works as well, without that. */
static const char *ask_snapshot_as_seen_from_here(const char *path)
{
    char here[PATH_MAX];
    size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    return length > 1 && strncmp(path, here, length) == 0 && path[length] == '/' && path[length + 1]
               ? path + length + 1
               : path;
}

static void ask_snapshot_take_answer(struct asking *asking, const char *text)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text + 1);
    if (*text == WIRE_ANSWER_PATH && strcmp(safe.data, text + 1) == 0) {
        asking->ask->tell(asking->ask->context, ask_snapshot_as_seen_from_here(text + 1));
        asking->written++;
    } else if (*text == WIRE_ANSWER_PATH) {
        fprintf(stderr, "tidemark %s: a snapshot with a name that no terminal should see: %s\n",
                asking->ask->command, safe.data);
        asking->failed++;
    } else if (*text == WIRE_ANSWER_ERROR) {
        fprintf(stderr, "tidemark %s: %s\n", asking->ask->command, safe.data);
        asking->failed++;
    }
    strbuf_release(&safe);
}

static bool ask_snapshot_is_of(uid_t user, pid_t pid)
{
    struct stat process;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &process) == 0 && process.st_uid == user;
}

/* Who listens is the collector itself: the kernel says its pid. Anybody can listen by such a name,
 * so root believes only its own collectors, and those of the user whose process it asks for. */
static bool ask_snapshot_is_collector(int fd, pid_t pid, bool *ours)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    *ours =
        known && (peer.uid == geteuid() || (geteuid() == 0 && ask_snapshot_is_of(peer.uid, pid)));
    return known && peer.pid == pid;
}

static void ask_snapshot_ask_session(struct asking *asking, const char *name)
{
    static char text[WIRE_ANSWER_BYTES + 1];
    bool ours;
    int got, fd = ask_snapshot_connect_to(name);
    if (fd < 0)
        return;
    struct wire_hello hello = {.magic = WIRE_MAGIC, .reason = WIRE_HELLO_SNAPSHOT};
    hello.wish = asking->ask->wish;
    hello.parent =
        ask_snapshot_is_collector(fd, asking->ask->pid, &ours) ? 0 : (uint32_t)asking->ask->pid;
    asking->denied += !ours;
    if (ours && send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello) {
        asking->sessions++;
        while ((got = ask_snapshot_next_answer(fd, asking->patience_ms, text, sizeof text)) == 1)
            ask_snapshot_take_answer(asking, text);
        if (got < 0) {
            fprintf(stderr, "tidemark %s: no answer in time; the snapshot may still come\n",
                    asking->ask->command);
            asking->failed++;
        }
    }
    close(fd);
}

/* "…: 00000002 00000000 00010000 0005 01 4242 @tidemark-0123…": those that listen (flag 10000). */
static void ask_snapshot_ask_all(struct asking *asking)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    char *line = NULL;
    size_t room = 0;
    while (sockets && getline(&line, &room, sockets) > 0) {
        char name[108], flags[16];
        if (sscanf(line, "%*s %*s %*s %15s %*s %*s %*s @%107[!-~]", flags, name) == 2 &&
            strtoul(flags, NULL, 16) & 0x10000 && strncmp(name, "tidemark-", 9) == 0)
            ask_snapshot_ask_session(asking, name);
    }
    free(line);
    if (sockets)
        fclose(sockets);
}

static void ask_snapshot_say_nobody(const struct asking *asking)
{
    const char *command = asking->ask->command;
    int pid = (int)asking->ask->pid;
    if (kill(asking->ask->pid, 0) && errno == ESRCH)
        fprintf(stderr, "tidemark %s: there is no process %d\n", command, pid);
    else
        fprintf(stderr, "tidemark %s: process %d is not being recorded%s\n", command, pid,
                asking->denied ? " by this user (there are recordings of another one's)"
                               : ": start it with tidemark record");
}

int ask_snapshot(const struct ask_snapshot *ask)
{
    uint64_t patience_ms = ask->timeout_ns / 1000000;
    struct asking asking = {.ask = ask,
                            .patience_ms = patience_ms < INT32_MAX ? (int)patience_ms : INT32_MAX};
    ask_snapshot_ask_all(&asking);
    if (!asking.written && !asking.failed)
        ask_snapshot_say_nobody(&asking);
    return asking.written && !asking.failed ? 0 : -1;
}

bool ask_snapshot_parse_pid(const char *text, pid_t *pid)
{
    char *end;
    long number = strtol(text, &end, 10);
    *pid = (pid_t)number;
    return *text && !*end && number > 0 && number <= INT32_MAX;
}

/* Of a collector's own pid there may be several: one is read. */
static void ask_snapshot_keep(void *context, const char *path)
{
    struct strbuf *kept = context;
    if (kept->length)
        unlink(path);
    else
        strbuf_add_string(kept, path);
}

int ask_snapshot_of(const char *command, pid_t pid, const struct wire_wish *wish,
                    struct strbuf *path)
{
    enum { PATIENCE_S = 60 };
    struct ask_snapshot ask = {.command = command,
                               .pid = pid,
                               .wish = *wish,
                               .timeout_ns = PATIENCE_S * 1000000000ull,
                               .tell = ask_snapshot_keep,
                               .context = path};
    return ask_snapshot(&ask) || !path->length ? OPTIONS_EXIT_FAILURE : 0;
}

/* Asks collectors for snapshots (ask_snapshot.h). The kernel lists the names of their sockets. All
 * collectors are asked at once. Each says whether it records the process, and then answers once for
 * each snapshot. A collector that closes the connection after a snapshot ends the waiting, since a
 * process has one collector: the others may be stopped, or late. */
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
#include "base/array.h"
#include "base/memory.h"
#include "base/now.h"
#include "base/options.h"
#include "base/text.h"
#include "procfs/process.h"
#include "wire/wire.h"

enum { AGAIN_MS = 50 }; /* until a collector whose queue was full is called again */

struct ask_snapshot_session {
    char name[108];
    int fd; /* -1: to be called again */
    bool done, has_it;
};

struct asking {
    const struct ask_snapshot *ask;
    uint64_t patience_ns, until_ns;
    struct ask_snapshot_session *sessions;
    size_t count, room;
    struct pollfd *polls;
    size_t denied; /* collectors that are another user's */
    size_t written, failed;
};

/* 0; -EAGAIN: its queue is full; or another -errno. */
static int ask_snapshot_connect_to(const char *name, int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strlen(name);
    if (bytes + 1 > sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path + 1, name, bytes);
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    if (*fd < 0)
        return -errno;
    if (connect(*fd, (struct sockaddr *)&address, length) == 0)
        return 0;
    int error = -errno;
    close(*fd);
    *fd = -1;
    return error;
}

/* Shortens a path below the current directory to a relative one. */
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

/* Is the peer the process `pid`, so that a collector's own pid was given? `ours`: the peer can be
 * trusted. Anybody can listen by such a name, so each user trusts only own collectors, and root
 * also those of the user whose process it asks for. */
static bool ask_snapshot_is_collector(int fd, pid_t pid, bool *ours)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    *ours =
        known && (peer.uid == geteuid() || (geteuid() == 0 && ask_snapshot_is_of(peer.uid, pid)));
    return known && peer.pid == pid;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void ask_snapshot_end(struct ask_snapshot_session *session)
{
    if (session->fd >= 0)
        close(session->fd);
    session->fd = -1;
    session->done = true;
}

static void ask_snapshot_call(struct asking *asking, struct ask_snapshot_session *session)
{
    bool ours;
    int error = ask_snapshot_connect_to(session->name, &session->fd);
    session->done = error && error != -EAGAIN;
    if (error)
        return;
    struct wire_hello hello = {.magic = WIRE_MAGIC, .reason = WIRE_HELLO_SNAPSHOT};
    hello.wish = asking->ask->wish;
    hello.parent = ask_snapshot_is_collector(session->fd, asking->ask->pid, &ours)
                       ? 0
                       : (uint32_t)asking->ask->pid;
    asking->denied += !ours;
    if (!ours || send(session->fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        ask_snapshot_end(session);
}

static void ask_snapshot_hear(struct asking *asking, struct ask_snapshot_session *session)
{
    static char text[WIRE_ANSWER_BYTES + 1];
    ssize_t got = recv(session->fd, text, sizeof text - 1, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        ask_snapshot_end(session);
        return;
    }
    text[got] = 0;
    session->has_it |= *text == WIRE_ANSWER_PATH || *text == WIRE_ANSWER_ERROR;
    ask_snapshot_take_answer(asking, text);
    asking->until_ns = now_monotonic_ns() + asking->patience_ns;
}

/* Is there a collector left that may have the process? */
static bool ask_snapshot_waits(const struct asking *asking)
{
    bool waits = false;
    for (size_t i = 0; i < asking->count; i++) {
        if (asking->sessions[i].done && asking->sessions[i].has_it)
            return false;
        waits |= !asking->sessions[i].done;
    }
    return waits;
}

/* Calls the collectors that are not connected yet. Returns how many milliseconds to wait for an
 * answer: less where a collector must be called again. */
static int ask_snapshot_prepare(struct asking *asking, uint64_t now_ns)
{
    bool again = false;
    for (size_t i = 0; i < asking->count; i++) {
        struct ask_snapshot_session *session = &asking->sessions[i];
        if (!session->done && session->fd < 0)
            ask_snapshot_call(asking, session);
        again |= !session->done && session->fd < 0;
        asking->polls[i] = (struct pollfd){.fd = session->fd, .events = POLLIN};
    }
    uint64_t left_ms = (asking->until_ns - now_ns) / 1000000 + 1;
    return again && left_ms > AGAIN_MS ? AGAIN_MS : left_ms < INT32_MAX ? (int)left_ms : INT32_MAX;
}

static void ask_snapshot_hear_all(struct asking *asking)
{
    uint64_t now_ns = now_monotonic_ns();
    asking->until_ns = now_ns + asking->patience_ns;
    while (ask_snapshot_waits(asking) && now_ns < asking->until_ns) {
        int wait_ms = ask_snapshot_prepare(asking, now_ns);
        bool waits = ask_snapshot_waits(asking); /* not for other users' collectors */
        int ready = waits ? poll(asking->polls, asking->count, wait_ms) : 0;
        for (size_t i = 0; ready > 0 && i < asking->count; i++)
            if (asking->polls[i].revents)
                ask_snapshot_hear(asking, &asking->sessions[i]);
        now_ns = now_monotonic_ns();
    }
    if (ask_snapshot_waits(asking)) {
        fprintf(stderr, "tidemark %s: no answer in time; the snapshot may still come\n",
                asking->ask->command);
        asking->failed++;
    }
    for (size_t i = 0; i < asking->count; i++)
        ask_snapshot_end(&asking->sessions[i]);
}

/* "…: 00000002 00000000 00010000 0005 01 4242 @tidemark-0123…": those that listen (flag 10000). */
static void ask_snapshot_list(struct asking *asking)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    char *line = NULL;
    size_t room = 0;
    while (sockets && getline(&line, &room, sockets) > 0) {
        struct ask_snapshot_session session = {.fd = -1};
        char flags[16];
        if (sscanf(line, "%*s %*s %*s %15s %*s %*s %*s @%107[!-~]", flags, session.name) != 2 ||
            !(strtoul(flags, NULL, 16) & 0x10000) || strncmp(session.name, "tidemark-", 9) != 0)
            continue;
        array_need_room(&asking->sessions, &asking->room, asking->count, sizeof session);
        asking->sessions[asking->count++] = session;
    }
    free(line);
    if (sockets)
        fclose(sockets);
}

static void ask_snapshot_ask_all(struct asking *asking)
{
    ask_snapshot_list(asking);
    asking->polls = memory_resize(NULL, asking->count + 1, sizeof *asking->polls);
    ask_snapshot_hear_all(asking);
    free(asking->polls);
    free(asking->sessions);
}

/* Complains if the process does not exist. False: it does. */
static bool ask_snapshot_complain_gone(const struct ask_snapshot *ask)
{
    if (kill(ask->pid, 0) == 0 || errno != ESRCH)
        return false;
    fprintf(stderr, "tidemark %s: there is no process %d\n", ask->command, (int)ask->pid);
    return true;
}

/* ---- Who is not asked for ------------------------------------------------------------------- */

/* The recorder's library, or a collector's executable: one may ask for a collector too. */
static int ask_snapshot_see_mapping(const struct process_mapping *mapping, void *context)
{
    const char *slash = strrchr(mapping->path, '/');
    bool *maps = context;
    *maps = true;
    return slash && (!strncmp(slash + 1, "libtidemark", 11) || !strncmp(slash + 1, "tidemark", 8));
}

/* Nothing of ours is mapped there, so that no collector has it. False where that is not known. */
static bool ask_snapshot_is_unrecorded(pid_t pid)
{
    bool maps = false;
    return process_maps(pid, ask_snapshot_see_mapping, &maps) == 0 && maps;
}

static void ask_snapshot_say_nobody(const struct asking *asking)
{
    const char *command = asking->ask->command;
    int pid = (int)asking->ask->pid;
    if (ask_snapshot_complain_gone(asking->ask))
        return;
    fprintf(stderr, "tidemark %s: process %d is not being recorded%s\n", command, pid,
            asking->denied ? " by this user (there are recordings of another one's)"
                           : ": start it with tidemark record");
}

int ask_snapshot(const struct ask_snapshot *ask)
{
    enum { MOST_S = 1 << 30 };
    uint64_t most_ns = MOST_S * 1000000000ull;
    struct asking asking = {.ask = ask,
                            .patience_ns = ask->timeout_ns < most_ns ? ask->timeout_ns : most_ns};
    /* First of all, because a stranger that listens by such a name and never answers is waited for.
     */
    if (ask_snapshot_complain_gone(ask))
        return -1;
    if (!ask_snapshot_is_unrecorded(ask->pid))
        ask_snapshot_ask_all(&asking);
    if (!asking.written && !asking.failed)
        ask_snapshot_say_nobody(&asking);
    return asking.written && !asking.failed ? 0 : -1;
}

/* A collector's own pid gives a snapshot of each process: the first is kept, the others are
 * removed. */
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

/* Asks the node's collector for its session's name, or starts the collector under a lock. The lock
 * is the name of an abstract socket, as the address is (collect_node.h). */
#include "commands/collect_node.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/strbuf.h"
#include "commands/collect.h"
#include "procfs/process.h"
#include "wire/wire.h"

/* ---- Limits ---- */

static bool collect_node_has_limit(__rlimit_resource_t resource, bool is_raised)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 &&
           (is_raised ? limit.rlim_max : limit.rlim_cur) != RLIM_INFINITY;
}

/* Collectors raise the first two as far as they may (collector_prepare_limits()). */
bool collect_node_is_limited(void)
{
    return collect_node_has_limit(RLIMIT_AS, true) || collect_node_has_limit(RLIMIT_DATA, true) ||
           collect_node_has_limit(RLIMIT_CPU, false);
}

/* ---- The address ---- */

static bool collect_node_add_file(struct strbuf *out, const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return false;
    strbuf_addf(out, "%llx:%llx", (unsigned long long)status.st_dev,
                (unsigned long long)status.st_ino);
    strbuf_add_char(out, '\0');
    return true;
}

static void collect_node_add_text(struct strbuf *out, const char *text)
{
    strbuf_add(out, text, strlen(text) + 1);
}

bool collect_node_address(char address[COLLECT_NODE_ADDRESS_BYTES], const char *directory,
                          const char *job_id, char **words, size_t word_count)
{
    static const char *const spaces[] = {"/proc/self/ns/pid", "/proc/self/ns/mnt",
                                         "/proc/self/ns/user", "/proc/self/root"};
    struct strbuf all = STRBUF_INIT;
    char *host = NULL;
    bool known = *job_id && collect_node_add_file(&all, directory) && process_host_name(&host) == 0;
    for (size_t i = 0; known && i < sizeof spaces / sizeof *spaces; i++)
        known = collect_node_add_file(&all, spaces[i]);
    if (known) {
        collect_node_add_text(&all, TIDEMARK_VERSION);
        collect_node_add_text(&all, host);
        collect_node_add_text(&all, job_id);
        for (size_t i = 0; i < word_count; i++)
            collect_node_add_text(&all, words[i]);
        snprintf(address, COLLECT_NODE_ADDRESS_BYTES, "tidemark-node-%u-%016llx",
                 (unsigned)geteuid(), (unsigned long long)hash_bytes(all.data, all.length));
    }
    free(host);
    strbuf_release(&all);
    return known;
}

/* ---- Asking ---- */

static socklen_t collect_node_fill(struct sockaddr_un *name, const char *address)
{
    size_t bytes = strlen(address);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(name->sun_path + 1, address, bytes);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
}

/* Anybody may listen by that name. */
static bool collect_node_is_ours(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* -ECONNREFUSED: the collector ends at this moment, and has not taken this rank. */
static int collect_node_hear_name(int fd, char *name, size_t bytes)
{
    struct wire_hello hello = {.magic = WIRE_MAGIC, .reason = WIRE_HELLO_RANK};
    ssize_t got = send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
    while (got > 0 && (got = recv(fd, name, bytes, 0)) < 0 && errno == EINTR)
        ;
    if (got > 0)
        return name[got - 1] ? -EBADMSG : 0;
    return got == 0 || errno == ECONNRESET || errno == EPIPE ? -ECONNREFUSED : -errno;
}

/* -ECONNREFUSED: there is none. */
static int collect_node_ask(const char *address, char *name, size_t bytes)
{
    struct sockaddr_un at;
    socklen_t length = collect_node_fill(&at, address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct timeval patience = {.tv_sec = 10}; /* who listens by that name may take nobody */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int error = connect(fd, (const struct sockaddr *)&at, length) < 0 ? -errno : 0;
    if (!error && !collect_node_is_ours(fd))
        error = -EPERM;
    if (!error)
        error = collect_node_hear_name(fd, name, bytes);
    close(fd);
    return error;
}

/* ---- Starting ---- */

static int collect_node_socket(const char *address, struct sockaddr_un *at, socklen_t *length)
{
    char lock[COLLECT_NODE_ADDRESS_BYTES + 8];
    snprintf(lock, sizeof lock, "%s-start", address);
    *length = collect_node_fill(at, lock);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Who has the lock listens, so that others can ask who that is. -EPERM: another user has it.
 * -ECONNREFUSED: nobody listens, which for a rank of ours is so only between two calls. */
static int collect_node_ask_lock(const char *address)
{
    struct sockaddr_un at;
    socklen_t length;
    int fd = collect_node_socket(address, &at, &length);
    if (fd < 0)
        return -errno;
    int error = connect(fd, (const struct sockaddr *)&at, length) < 0 ? -errno : 0;
    if (!error && !collect_node_is_ours(fd))
        error = -EPERM;
    close(fd);
    return error;
}

/* The lock under which the collector is started; -1: somebody else has it. */
static int collect_node_lock(const char *address)
{
    struct sockaddr_un at;
    socklen_t length;
    int fd = collect_node_socket(address, &at, &length);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, length) == 0 && listen(fd, 4096) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Asks again under the lock: another rank may have started the collector since the first question.
 * `silent`: how often in a row the lock was taken and nobody listened. */
static int collect_node_start(const struct collector_options *options, char *name, size_t bytes,
                              unsigned *silent)
{
    enum { SILENT_MOST = 200 };
    int lock = collect_node_lock(options->node);
    if (lock < 0) {
        int error = collect_node_ask_lock(options->node);
        *silent = error == -ECONNREFUSED ? *silent + 1 : 0;
        return error == -EPERM || *silent > SILENT_MOST ? -EPERM : -ECONNREFUSED;
    }
    *silent = 0;
    int error = collect_node_ask(options->node, name, bytes);
    if (error == -ECONNREFUSED)
        error = collect_in_background(options, 0, name, bytes);
    close(lock);
    return error;
}

int collect_on_node(const struct collector_options *options, const char *address, char *name,
                    size_t bytes)
{
    enum { TRIES = 1000 };
    const struct timespec pause = {0, 3000000};
    struct collector_options wanted = *options;
    wanted.node = address;
    int error = -ECONNREFUSED;
    unsigned silent = 0;
    for (int i = 0; i < TRIES && error == -ECONNREFUSED; i++) {
        error = collect_node_ask(address, name, bytes);
        if (error == -ECONNREFUSED)
            error = collect_node_start(&wanted, name, bytes, &silent);
        if (error == -ECONNREFUSED)
            nanosleep(&pause, NULL);
    }
    return error;
}
